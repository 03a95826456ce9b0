//! Vocabularies by the name, the path or the index that a person gives.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use gobo_artifact::Vocabulary;
use gobo_store::Store;
use gobo_tokenizer::{BUILTIN, EncodeError, Encoder, ImportOptions, Imported};
use gobo_types::Binding;

use crate::options::Global;
use crate::output::{human_us, note};

/// How alike two names are, by Jaro and Winkler, for one to be meant by the other.
const LIKE: f64 = 0.7;

/// Most names that are proposed.
const PROPOSED: usize = 3;

/// A vocabulary ready to compile with, and how its model uses it.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The tokenizer as it was named.
    pub name: String,
    /// The kind of tokenizer, for a person to read.
    pub kind: String,
    /// The table of tokens.
    pub vocabulary: Arc<Vocabulary>,
    /// Special tokens and the width of logits.
    pub binding: Binding,
    /// How long its first use took: it was imported now.
    pub imported_in: Option<Duration>,
    source: Tokenizer,
}

/// The tokenizer itself, for its own encoding.
#[derive(Debug, Clone)]
enum Tokenizer {
    Builtin(String),
    Path(PathBuf),
    Unknown,
}

impl Loaded {
    /// The vocabulary that `tokenizer` names: a name in the store, a built-in name, or a path. A name wins over a path;
    /// `./NAME` is always a path.
    ///
    /// A built-in vocabulary is published into the store when it is first used, and mapped from then on; where the store
    /// cannot be written, each process imports it.
    ///
    /// # Errors
    /// If nothing has that name, or it cannot be read as a tokenizer.
    pub fn open(tokenizer: &str, global: &Global) -> anyhow::Result<Self> {
        if let Some(loaded) = Self::known(tokenizer, global)? {
            return Ok(loaded);
        }
        if BUILTIN.contains(&tokenizer) {
            let begun = Instant::now();
            match Self::publish_builtin(tokenizer, global) {
                Ok(Some(loaded)) => return Ok(Self { imported_in: Some(begun.elapsed()), ..loaded }),
                Ok(None) => {}
                Err(error) => tracing::debug!("cannot keep the vocabulary {tokenizer}: {error:#}"),
            }
        }
        Self::import(tokenizer, global)
    }

    /// As [`Self::open`], and nothing is written into the store.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_only(tokenizer: &str, global: &Global) -> anyhow::Result<Self> {
        Self::known(tokenizer, global)?.map_or_else(|| Self::import(tokenizer, global), Ok)
    }

    /// The vocabulary of a name in the store at hand.
    fn known(tokenizer: &str, global: &Global) -> anyhow::Result<Option<Self>> {
        if tokenizer.contains('/') {
            return Ok(None);
        }
        global.existing_store()?.map_or(Ok(None), |store| Self::from_store(&store, tokenizer))
    }

    /// The vocabulary of a built-in name or a path, imported now.
    fn import(tokenizer: &str, global: &Global) -> anyhow::Result<Self> {
        let begun = Instant::now();
        if let Some(imported) = gobo_tokenizer::builtin(tokenizer) {
            return Self::from_import(tokenizer, &imported, Tokenizer::Builtin(tokenizer.into()), begun);
        }
        let path = Path::new(tokenizer);
        if !path.exists() {
            return Err(unknown_tokenizer(tokenizer, global.existing_store()?.as_ref()));
        }
        let imported = gobo_tokenizer::import(path, &ImportOptions::default())?;
        Self::from_import(tokenizer, &imported, Tokenizer::Path(path.into()), begun)
    }

    /// Imports a built-in vocabulary into the store at hand, for the processes that come after this one too.
    fn publish_builtin(name: &str, global: &Global) -> anyhow::Result<Option<Self>> {
        let store = Store::open(global.store_dir()?)?;
        gobo_engine::publish_builtin(&store, name)?;
        Self::from_store(&store, name)
    }

    /// Says to a person if this took long because it was the first use of a built-in vocabulary: it will not again.
    pub fn note_first_use(&self) {
        if let (Some(took), Tokenizer::Builtin(name)) = (self.imported_in, &self.source) {
            let took = human_us(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
            note(format_args!("first use of {name}: imported in {took}"));
        }
    }

    fn from_import(
        name: &str,
        imported: &Imported,
        source: Tokenizer,
        begun: Instant,
    ) -> anyhow::Result<Self> {
        let vocabulary = Vocabulary::from_bytes(&imported.table.build()?).context("the built vocabulary")?;
        Ok(Self {
            name: name.into(),
            kind: imported.kind.into(),
            vocabulary: Arc::new(vocabulary),
            binding: imported.binding(),
            imported_in: Some(begun.elapsed()),
            source,
        })
    }

    /// The vocabulary of a name in the store, `None` if there is no such name.
    fn from_store(store: &Store, name: &str) -> anyhow::Result<Option<Self>> {
        let Ok(Some(named)) = store.get_name(name) else { return Ok(None) };
        // Verified, by this process or one before: an index compiled from a damaged vocabulary would be wrong.
        let Some(vocabulary) = store.open_verified_vocabulary(&named.vocabulary)? else {
            if BUILTIN.contains(&name) && named.source.is_none() {
                return Ok(None);
            }
            bail!(
                "the store names {name:?} and lacks its file\nhint: import it again with `gobo tokenizer import`"
            );
        };
        let source = match named.source {
            Some(path) => Tokenizer::Path(path.into()),
            None if BUILTIN.contains(&name) => Tokenizer::Builtin(name.into()),
            None => Tokenizer::Unknown,
        };
        Ok(Some(Self {
            name: name.into(),
            kind: named.kind,
            vocabulary: Arc::new(vocabulary),
            binding: named.binding,
            imported_in: None,
            source,
        }))
    }

    /// The vocabulary that an index was compiled for: from the store that the index lies in, the store at hand, or a
    /// built-in one.
    ///
    /// # Errors
    /// If no store at hand has the vocabulary, or it cannot be read.
    pub fn of_index(index: &gobo_artifact::Index, file: &Path, global: &Global) -> anyhow::Result<Self> {
        let digest = index.vocabulary_digest();
        // <store>/v0/index/ab/<key>.gobo
        let own = file.canonicalize().ok().and_then(|file| Some(file.ancestors().nth(4)?.to_owned()));
        let own = own.filter(|root| root.join("v0/vocab").is_dir()).map(Store::open).transpose()?;
        for store in [own, global.existing_store()?].into_iter().flatten() {
            for name in store.list_names()? {
                let is_it = store.get_name(&name)?.is_some_and(|named| named.vocabulary == digest);
                if is_it && let Some(loaded) = Self::from_store(&store, &name)? {
                    return Ok(loaded);
                }
            }
        }
        for &name in BUILTIN {
            let loaded = Self::open(name, global)?;
            if loaded.vocabulary.digest() == digest {
                return Ok(loaded);
            }
        }
        bail!(
            "{} needs vocabulary {digest}, which is in no store here\nhint: name it with --tokenizer",
            file.display()
        )
    }

    /// The bytes of an ordinary token; `None` for special tokens and holes.
    pub fn ordinary_bytes(&self, id: u32) -> Option<&[u8]> {
        Some(self.vocabulary.bytes(id)).filter(|bytes| !bytes.is_empty() && !self.vocabulary.is_special(id))
    }

    /// The source of the tokenizer, for a person to read.
    pub fn source_name(&self) -> String {
        match &self.source {
            Tokenizer::Builtin(name) => format!("{name}, built in"),
            Tokenizer::Path(path) => path.display().to_string(),
            Tokenizer::Unknown => "unknown".into(),
        }
    }

    /// The tokenizer's own encoder; `None` where its file is no longer known.
    ///
    /// # Errors
    /// If the file of the tokenizer cannot be read.
    pub fn encoder(&self) -> Result<Option<Encoder>, EncodeError> {
        match &self.source {
            Tokenizer::Builtin(name) => Ok(Encoder::builtin(name)),
            Tokenizer::Path(path) => Encoder::open(path).map(Some),
            Tokenizer::Unknown => Ok(None),
        }
    }
}

/// The error of a tokenizer that is not there, with the names that are most like it.
pub fn unknown_tokenizer(given: &str, store: Option<&Store>) -> anyhow::Error {
    let stored = store.and_then(|store| store.list_names().ok()).unwrap_or_default();
    let like = like(given, stored.into_iter().chain(BUILTIN.iter().map(|&name| name.to_owned())));
    let meant =
        if like.is_empty() { String::new() } else { format!("\nhint: did you mean {}?", like.join(", ")) };
    anyhow!(
        "no tokenizer {given:?}: it is no name in the store, no built-in name and no path{meant}\n\
         hint: `gobo tokenizer list` shows the names, `gobo tokenizer import PATH` adds one"
    )
}

/// The names that are most like the one that was given, the likest first.
pub fn like(given: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let lower = given.to_lowercase();
    let alike = |name: String| (strsim::jaro_winkler(&lower, &name.to_lowercase()), name);
    let mut names: Vec<(f64, String)> = names.map(alike).filter(|(alike, _)| *alike >= LIKE).collect();
    names.sort_by(|(one, first), (two, second)| two.total_cmp(one).then_with(|| first.cmp(second)));
    names.dedup();
    names.truncate(PROPOSED);
    names.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_understood() {
        let of = |given| like(given, BUILTIN.iter().copied().chain(["qwen2.5"]).map(str::to_owned));
        assert_eq!(of("o200k")[0], "o200k_base");
        assert_eq!(of("cl100k-base")[0], "cl100k_base");
        assert_eq!(of("Qwen2.5"), ["qwen2.5"]);
        assert!(of("something else").is_empty());
    }
}
