//! Imports a tokenizer: into the store at hand, or into that of a daemon.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use gobo_artifact::Vocabulary;
use gobo_client::{Client, ClientError, ErrorKind, VocabularyImport, VocabularyInfo};
use gobo_engine::Existing;
use gobo_store::Store;
use gobo_tokenizer::ImportOptions;

use super::show::{describe, print, show};
use crate::args::Global;
use crate::backend::{self, TAKEN};
use crate::output::Outcome;

/// How often a busy daemon is asked again, and after which time where it advises none.
const RETRIES: u32 = 8;
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// Publishes the vocabulary in the store at hand.
pub(super) fn local(
    global: &Global,
    path: &Path,
    name: Option<String>,
    options: &ImportOptions,
    existing: Existing,
) -> anyhow::Result<Outcome> {
    let store = Store::open(global.store_dir()?)?;
    let name = backend::import(&store, path, name, options, existing)?;
    show(global, &name)
}

/// Builds the vocabulary here, sends it, and writes nothing here.
pub(super) fn remote(
    global: &Global,
    address: &str,
    path: &Path,
    name: Option<String>,
    options: &ImportOptions,
    existing: Existing,
) -> anyhow::Result<Outcome> {
    let imported = gobo_tokenizer::import(path, options)?;
    let vocabulary = Vocabulary::from_bytes(&imported.table.build()?).context("the built vocabulary")?;
    let import = VocabularyImport {
        name: backend::name_or_default(name, path)?,
        tokenizer_kind: imported.kind.to_owned(),
        vocabulary: Arc::new(vocabulary),
        binding: imported.binding(),
        replace: existing == Existing::Replace,
    };
    let runtime = backend::runtime()?;
    let client = Client::builder().store(global.store_dir()?).server(address).connect()?;
    let sent = runtime.block_on(send(&client, &import));
    match sent {
        Ok(info) => {
            let binding = info.binding.as_ref().unwrap_or(&import.binding);
            print(global, &describe(&info.name, &info.tokenizer_kind, &import.vocabulary, binding))?;
            Ok(Outcome::Yes)
        }
        Err(error) if error.kind() == ErrorKind::Exists => bail!("{error}\n{TAKEN}"),
        Err(error) => Err(error.into()),
    }
}

/// Sends it, and asks a busy daemon again.
async fn send(client: &Client, import: &VocabularyImport) -> Result<VocabularyInfo, ClientError> {
    let mut retries = 0;
    loop {
        match client.import_vocabulary(import).await {
            Err(error @ ClientError::Daemon { .. })
                if error.kind() == ErrorKind::Busy && retries < RETRIES =>
            {
                retries += 1;
                tokio::time::sleep(error.retry_after().unwrap_or(RETRY_AFTER) * retries).await;
            }
            other => return other,
        }
    }
}
