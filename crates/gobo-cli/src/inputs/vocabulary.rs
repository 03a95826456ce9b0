//! Vocabularies by the name, the path or the index that a person gives.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use gobo_artifact::Vocabulary;
use gobo_store::Store;
use gobo_tokenizer::{BUILTIN, EncodeError, Encoder, ImportOptions, Imported};
use gobo_types::Binding;

use crate::options::Global;

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
    /// # Errors
    /// If nothing has that name, or it cannot be read as a tokenizer.
    pub fn open(tokenizer: &str, global: &Global) -> anyhow::Result<Self> {
        if !tokenizer.contains('/')
            && let Some(store) = global.existing_store()?
            && let Some(loaded) = Self::from_store(&store, tokenizer)?
        {
            return Ok(loaded);
        }
        if let Some(imported) = gobo_tokenizer::builtin(tokenizer) {
            return Self::from_import(tokenizer, &imported, Tokenizer::Builtin(tokenizer.into()));
        }
        let path = Path::new(tokenizer);
        if !path.exists() {
            bail!(
                "no tokenizer {tokenizer:?}: not a built-in name ({}), not a name in the store, not a path\n\
                 hint: `gobo tokenizer list` shows the names, `gobo tokenizer import PATH` adds one",
                BUILTIN.join(", ")
            );
        }
        let imported = gobo_tokenizer::import(path, &ImportOptions::default())?;
        Self::from_import(tokenizer, &imported, Tokenizer::Path(path.into()))
    }

    fn from_import(name: &str, imported: &Imported, source: Tokenizer) -> anyhow::Result<Self> {
        let vocabulary = Vocabulary::from_bytes(&imported.table.build()?).context("the built vocabulary")?;
        Ok(Self {
            name: name.into(),
            kind: imported.kind.into(),
            vocabulary: Arc::new(vocabulary),
            binding: imported.binding(),
            source,
        })
    }

    /// The vocabulary of a name in the store, `None` if there is no such name.
    fn from_store(store: &Store, name: &str) -> anyhow::Result<Option<Self>> {
        let Ok(Some(named)) = store.get_name(name) else { return Ok(None) };
        // Verified: an index compiled from a damaged vocabulary would be wrong.
        let Some(vocabulary) = store.verify_vocabulary(&named.vocabulary)? else {
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
        for name in BUILTIN {
            let imported = gobo_tokenizer::builtin(name).filter(|imported| imported.table.digest() == digest);
            if let Some(imported) = imported {
                return Self::from_import(name, &imported, Tokenizer::Builtin(name.into()));
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
