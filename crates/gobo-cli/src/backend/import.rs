//! Tokenizers on their way into a store: that of this host, or a daemon's.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use gobo_artifact::Vocabulary;
use gobo_client::{Client, ClientError, ErrorKind, VocabularyImport, VocabularyInfo};
use gobo_engine::{EngineError, Existing};
use gobo_store::Store;
use gobo_tokenizer::ImportOptions;
use gobo_types::Digest;

/// How often a busy daemon is asked again, and after which time where it advises none.
const RETRIES: u32 = 8;
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// Imports a tokenizer into the store; its name there.
pub(crate) fn import(
    store: &Store,
    path: &Path,
    name: Option<String>,
    options: &ImportOptions,
    existing: Existing,
) -> anyhow::Result<String> {
    let imported = gobo_tokenizer::import(path, options)?;
    let name = name_or_default(name, path)?;
    let in_folder = TOKENIZER_FILES.iter().map(|file| path.join(file)).find(|file| file.is_file());
    let file = in_folder.filter(|_| path.is_dir()).unwrap_or_else(|| path.to_owned());
    let source = path.canonicalize()?.display().to_string();
    let digest = Digest::of(&std::fs::read(file)?);
    match gobo_engine::publish_vocabulary(store, &name, &imported, Some((source, digest)), existing) {
        Ok(_) => Ok(name),
        Err(error @ EngineError::NameTaken { .. }) => bail!("{error}\n{TAKEN}"),
        Err(error) => Err(error.into()),
    }
}

/// What to do about a name that stands for something else.
const TAKEN: &str =
    "hint: `gobo tokenizer import --replace` gives the name its new meaning; --name N takes another one";

/// The name that was given, else the one that the path gives.
fn name_or_default(name: Option<String>, path: &Path) -> anyhow::Result<String> {
    name.or_else(|| default_name(path)).context("the path gives no name\nhint: --name N")
}

/// The files of a tokenizer in a model's folder, in the order of an import.
const TOKENIZER_FILES: [&str; 4] = ["tokenizer.json", "tekken.json", "tokenizer.model", "spiece.model"];

/// The folder of a file that is always called so, otherwise the path's own last part without its ending.
fn default_name(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let name = if TOKENIZER_FILES.contains(&path.file_name()?.to_str()?) {
        path.parent()?.file_name()?
    } else if path.is_dir() {
        path.file_name()?
    } else {
        path.file_stem()?
    };
    Some(name.to_str()?.to_owned())
}

/// The vocabulary of a tokenizer, built here, to be sent to a daemon.
pub(crate) fn read(
    path: &Path,
    name: Option<String>,
    options: &ImportOptions,
    existing: Existing,
) -> anyhow::Result<VocabularyImport> {
    let imported = gobo_tokenizer::import(path, options)?;
    let vocabulary = Vocabulary::from_bytes(&imported.table.build()?).context("the built vocabulary")?;
    Ok(VocabularyImport {
        name: name_or_default(name, path)?,
        tokenizer_kind: imported.kind.to_owned(),
        vocabulary: Arc::new(vocabulary),
        binding: imported.binding(),
        replace: existing == Existing::Replace,
    })
}

/// Sends a vocabulary, and asks a busy daemon again. Nothing is written on this host.
pub(crate) async fn send(client: &Client, import: &VocabularyImport) -> anyhow::Result<VocabularyInfo> {
    let mut retries = 0;
    loop {
        match client.import_vocabulary(import).await {
            Err(error @ ClientError::Daemon { .. })
                if error.kind() == ErrorKind::Busy && retries < RETRIES =>
            {
                retries += 1;
                tokio::time::sleep(error.retry_after().unwrap_or(RETRY_AFTER) * retries).await;
            }
            Err(error) if error.kind() == ErrorKind::Exists => bail!("{error}\n{TAKEN}"),
            other => return Ok(other?),
        }
    }
}
