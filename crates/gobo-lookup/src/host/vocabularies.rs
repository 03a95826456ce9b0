//! Vocabularies of this host: opened, published, and their files for a worker to compile with.
//!
//! A vocabulary belongs into the store, where every process of this host maps it. Where the store cannot be written it goes
//! into the temporary folder of this process, and where that cannot be made into its memory: masks can be computed all the
//! same, and a worker, which needs a file, cannot be given one then.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use gobo_artifact::Vocabulary;
use gobo_store::{NamedVocabulary, Store, StoreError};
use gobo_tokenizer::Imported;
use gobo_types::{Binding, IndexKey, VocabularyDigest, error_chain};

use super::scratch::Scratch;
use crate::error::LookupError;
use crate::found::Bound;
use crate::stats::{Reason, SharedCounters};

/// The vocabularies of the store and of the temporary folder.
pub(crate) struct Vocabularies {
    store: Store,
    scratch: Arc<Scratch>,
    counters: SharedCounters,
    /// Those that somebody has mapped.
    mapped: Mutex<HashMap<VocabularyDigest, Weak<Vocabulary>>>,
}

impl Vocabularies {
    pub(crate) fn new(store: Store, scratch: Arc<Scratch>, counters: SharedCounters) -> Self {
        Self { store, scratch, counters, mapped: Mutex::default() }
    }

    fn mapped(&self) -> MutexGuard<'_, HashMap<VocabularyDigest, Weak<Vocabulary>>> {
        self.mapped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a name of the store stands for, else the built-in vocabulary of that name, which is published.
    pub(crate) fn by_name(&self, name: &str) -> Result<Option<Bound>, LookupError> {
        if Store::check_name(name).is_err() {
            return Ok(None);
        }
        let named = match self.store.get_name(name) {
            // A name whose file is damaged stands for nothing.
            Err(StoreError::BrokenName { .. }) => None,
            named => named?,
        };
        if let Some(named) = named
            && let Some(vocabulary) = self.open(&named.vocabulary)?
        {
            let (name, binding) = (Some(name.to_owned()), Arc::new(named.binding));
            return Ok(Some(Bound { name, kind: named.kind, vocabulary, binding }));
        }
        let builtin = gobo_tokenizer::builtin(name);
        builtin.map(|imported| self.publish(Some(name), &imported)).transpose()
    }

    /// The vocabulary of a digest, under a binding of the caller's.
    pub(crate) fn by_digest(
        &self,
        digest: &VocabularyDigest,
        binding: Binding,
    ) -> Result<Option<Bound>, LookupError> {
        let vocabulary = self.open(digest)?;
        let binding = Arc::new(binding);
        Ok(vocabulary.map(|vocabulary| Bound { name: None, kind: String::new(), vocabulary, binding }))
    }

    fn open(&self, digest: &VocabularyDigest) -> Result<Option<Arc<Vocabulary>>, LookupError> {
        if let Some(mapped) = self.mapped().get(digest).and_then(Weak::upgrade) {
            return Ok(Some(mapped));
        }
        let opened = match (self.store.open_vocabulary(digest), self.scratch.existing()) {
            (Ok(Some(vocabulary)), _) => Some(vocabulary),
            (missing, None) => missing?,
            (missing, Some(scratch)) => match scratch.open_vocabulary(digest)? {
                Some(vocabulary) => Some(vocabulary),
                None => missing?,
            },
        };
        Ok(opened.map(|vocabulary| self.remember(vocabulary)))
    }

    fn remember(&self, vocabulary: Vocabulary) -> Arc<Vocabulary> {
        let vocabulary = Arc::new(vocabulary);
        let mut mapped = self.mapped();
        mapped.retain(|_, open| open.strong_count() > 0);
        mapped.insert(vocabulary.digest(), Arc::downgrade(&vocabulary));
        vocabulary
    }

    /// Publishes an imported tokenizer, and lets a name stand for it. O(bytes) if it is not here yet.
    pub(crate) fn publish(&self, name: Option<&str>, imported: &Imported) -> Result<Bound, LookupError> {
        let digest = imported.table.digest();
        let opened = self.open(&digest).inspect_err(|error| self.store_failed(&digest, error));
        let vocabulary = match opened {
            Ok(Some(vocabulary)) => vocabulary,
            Ok(None) | Err(_) => self.build(name, imported)?,
        };
        let binding = imported.binding();
        let name = name.filter(|name| self.put_name(name, imported.kind, &vocabulary, &binding));
        let (name, kind) = (name.map(str::to_owned), imported.kind.to_owned());
        Ok(Bound { name, kind, vocabulary, binding: Arc::new(binding) })
    }

    fn build(&self, name: Option<&str>, imported: &Imported) -> Result<Arc<Vocabulary>, LookupError> {
        let called = || name.unwrap_or(imported.kind).to_owned();
        let bytes = imported.table.build();
        let bytes = bytes.map_err(|source| LookupError::Vocabulary { name: called(), source })?;
        let digest = imported.table.digest();
        let published = self.store.publish_vocabulary(&digest, &bytes).map_err(LookupError::from);
        let published = published.or_else(|error| {
            self.store_failed(&digest, &error);
            self.scratch.store()?.publish_vocabulary(&digest, &bytes).map_err(LookupError::from)
        });
        if published.is_ok()
            && let Some(vocabulary) = self.open(&digest)?
        {
            return Ok(vocabulary);
        }
        let in_memory = Vocabulary::from_bytes(&bytes);
        let in_memory = in_memory.map_err(|source| {
            let (path, source) = (self.store.vocabulary_path(&digest), Box::new(source));
            StoreError::Artifact { path, source }
        })?;
        Ok(self.remember(in_memory))
    }

    /// Whether `name` stands for the vocabulary now.
    fn put_name(&self, name: &str, kind: &str, vocabulary: &Vocabulary, binding: &Binding) -> bool {
        let means_it = |named: NamedVocabulary| {
            named.vocabulary == vocabulary.digest() && named.binding == *binding && named.kind == kind
        };
        if self.store.get_name(name).is_ok_and(|named| named.is_some_and(means_it)) {
            return true;
        }
        let named = NamedVocabulary {
            vocabulary: vocabulary.digest(),
            binding: binding.clone(),
            kind: kind.to_owned(),
            tokens: vocabulary.root().tokens,
            special: vocabulary.root().special,
            source: None,
            source_digest: None,
        };
        // A name is for other processes; this one has what it stands for.
        let put = self.store.put_name(name, &named).map_err(LookupError::from);
        put.inspect_err(|error| self.store_failed(&vocabulary.digest(), error)).is_ok()
    }

    /// The file of a vocabulary, verified to its last byte now or, as a stamp beside it says, before: a wrong byte would make
    /// wrong masks under a right key. Written where there is none.
    pub(crate) fn file_of(&self, bound: &Bound) -> Result<PathBuf, LookupError> {
        let digest = bound.vocabulary.digest();
        let scratch = self.scratch.existing();
        for store in [Some(&self.store), scratch.as_ref()].into_iter().flatten() {
            if matches!(store.open_verified_vocabulary(&digest), Ok(Some(_))) {
                return Ok(store.vocabulary_path(&digest));
            }
        }
        let bytes = bound.vocabulary.file_bytes();
        match self.store.publish_verified_vocabulary(&digest, bytes) {
            Ok(_) => Ok(self.store.vocabulary_path(&digest)),
            Err(error) => {
                self.store_failed(&digest, &error.into());
                let scratch = self.scratch.store()?;
                scratch.publish_verified_vocabulary(&digest, bytes)?;
                Ok(scratch.vocabulary_path(&digest))
            }
        }
    }

    fn store_failed(&self, digest: &VocabularyDigest, error: &LookupError) {
        // The key of a vocabulary stands in the place of an index's: it is for a log.
        let key = IndexKey(digest.0);
        self.counters.fell_back(Reason::StoreFailed, &key, &error_chain(error));
    }
}
