//! Finds indices and vocabularies of this host, without any call.

use std::sync::Arc;
use std::time::Instant;

use gobo_artifact::{Index, Vocabulary};
use gobo_types::{Binding, Constraint, IndexKey, SchemaOptions, VocabularyDigest, index_key};

use crate::answer::Source;
use crate::client::Client;
use crate::error::ClientError;
use crate::local::Bound;
use crate::resolved::Resolved;
use crate::vocabulary_ref::VocabularyRef;

/// A vocabulary, and the binding of the name that it was found by, or of the caller.
type VocabularyAndBinding = (Arc<Vocabulary>, Arc<Binding>);

impl Client {
    /// Finds an index on this host and nowhere else: no call, at most three files opened, none if they are mapped
    /// already. `None`: the vocabulary or the index is not here, or its file is damaged and was set aside.
    ///
    /// # Errors
    /// [`ClientError::Store`] if a file is there and cannot be read.
    ///
    /// ```
    /// use gobo_client::Constraint;
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let constraint = Constraint::regex("a+b");
    /// assert!(client.find("tiny", &constraint)?.is_none());
    /// client.resolve("tiny", &constraint).await?;
    /// assert!(client.find("tiny", &constraint)?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn find<'a>(
        &self,
        vocabulary: impl Into<VocabularyRef<'a>>,
        constraint: &Constraint,
    ) -> Result<Option<Resolved>, ClientError> {
        let begun = Instant::now();
        let Some(bound) = self.bound(vocabulary.into())? else { return Ok(None) };
        let key = bound.vocabulary.index_key(constraint);
        let Some(index) = self.open_index(&key)? else { return Ok(None) };
        Ok(Some(self.resolved(index, bound, Source::Map, key, begun)))
    }

    /// Finds an index on this host by its key, as [`Client::find`] does. One that was found before and is mapped still costs a
    /// lookup: no I/O, no hashing of texts.
    ///
    /// # Errors
    /// [`ClientError::Store`] if the file is there and cannot be read.
    ///
    /// ```
    /// use gobo_client::Constraint;
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let resolved = client.resolve("tiny", &Constraint::regex("a+b")).await?;
    /// let index = client.find_key(&resolved.key)?.expect("it was resolved just now");
    /// assert_eq!(index.key(), resolved.key);
    /// # Ok(())
    /// # }
    /// ```
    pub fn find_key(&self, key: &IndexKey) -> Result<Option<Arc<Index>>, ClientError> {
        self.open_index(key)
    }

    /// The index of a key, if this client has it mapped: a look into a table, no I/O. [`Client::find_key`] opens the file of one
    /// that it has not.
    ///
    /// ```
    /// use gobo_client::Constraint;
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let resolved = client.resolve("tiny", &Constraint::regex("a+b")).await?;
    /// assert!(client.find_mapped(&resolved.key).is_some());
    /// // Another client of the same store begins with nothing.
    /// let other = gobo_client::Client::builder().store(client.store().root()).connect()?;
    /// assert!(other.find_mapped(&resolved.key).is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn find_mapped(&self, key: &IndexKey) -> Option<Arc<Index>> {
        self.indices.get(key)
    }

    /// A vocabulary on this host, mapped, and the default binding of its name, or the caller's: what a matcher needs beside an
    /// index. `None` if it is not here.
    ///
    /// # Errors
    /// [`ClientError::Store`] if the name or the vocabulary is there and cannot be read.
    ///
    /// ```
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let (vocabulary, binding) = client.find_vocabulary("tiny")?.expect("the daemon imported it");
    /// assert!(binding.logits_width >= vocabulary.len());
    /// assert!(client.find_vocabulary("another")?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn find_vocabulary<'a>(
        &self,
        vocabulary: impl Into<VocabularyRef<'a>>,
    ) -> Result<Option<VocabularyAndBinding>, ClientError> {
        Ok(self.bound(vocabulary.into())?.map(|bound| (bound.vocabulary, bound.binding)))
    }

    /// The key of a schema's index over a vocabulary; `None` if its name is not on this host. The same as from
    /// [`Constraint::schema`], for callers that get the same texts again and again: a text that was given before, byte for byte and
    /// with the same options, is not parsed and hashed again. Up to 512 texts of at most 64 KiB are remembered, and none that
    /// have documents beside them.
    ///
    /// # Errors
    /// [`ClientError::Store`] if the name or the vocabulary is there and cannot be read.
    ///
    /// ```
    /// use gobo_client::{Constraint, SchemaOptions};
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let (schema, options) = (r#"{"type": "boolean"}"#, SchemaOptions::default());
    /// let resolved = client.resolve("tiny", &Constraint::schema(schema, options.clone())).await?;
    /// assert_eq!(client.key_of_schema("tiny", schema, &options)?, Some(resolved.key));
    /// # Ok(())
    /// # }
    /// ```
    pub fn key_of_schema<'a>(
        &self,
        vocabulary: impl Into<VocabularyRef<'a>>,
        schema: &str,
        options: &SchemaOptions,
    ) -> Result<Option<IndexKey>, ClientError> {
        let digest = match vocabulary.into() {
            VocabularyRef::Name(name) => self.named(name)?.map(|named| named.digest),
            VocabularyRef::Digest { digest, .. } => Some(*digest),
        };
        let derive = || Constraint::schema(schema, options.clone()).digest();
        Ok(digest.map(|digest| index_key(&digest, &self.texts.digest(schema, options, derive))))
    }

    pub(crate) fn resolved(
        &self,
        index: Arc<Index>,
        bound: Bound,
        source: Source,
        key: IndexKey,
        begun: Instant,
    ) -> Resolved {
        Resolved {
            index,
            vocabulary: bound.vocabulary,
            binding: bound.binding,
            source,
            key,
            path: self.store.index_path(&key),
            resolve_us: micros(begun),
        }
    }

    /// A vocabulary of this host. By digest no name is looked at.
    pub(crate) fn bound(&self, vocabulary: VocabularyRef<'_>) -> Result<Option<Bound>, ClientError> {
        let (digest, binding) = match vocabulary {
            VocabularyRef::Name(name) => return self.named(name),
            VocabularyRef::Digest { digest, binding } => (*digest, binding),
        };
        let vocabulary = self.open_vocabulary(&digest)?;
        Ok(vocabulary.map(|vocabulary| Bound { digest, vocabulary, binding: Arc::clone(binding) }))
    }

    fn named(&self, name: &str) -> Result<Option<Bound>, ClientError> {
        if let Some(named) = self.names.get(name) {
            return Ok(Some(named));
        }
        let Some(found) = self.store.get_name(name)? else { return Ok(None) };
        let Some(vocabulary) = self.open_vocabulary(&found.vocabulary)? else { return Ok(None) };
        let named = Bound { digest: found.vocabulary, vocabulary, binding: Arc::new(found.binding) };
        self.names.keep(name, named.clone());
        Ok(Some(named))
    }

    pub(crate) fn open_index(&self, key: &IndexKey) -> Result<Option<Arc<Index>>, ClientError> {
        if let Some(open) = self.indices.get(key) {
            return Ok(Some(open));
        }
        Ok(self.store.open_index(key)?.map(|index| self.indices.keep(*key, index)))
    }

    pub(crate) fn open_vocabulary(
        &self,
        digest: &VocabularyDigest,
    ) -> Result<Option<Arc<Vocabulary>>, ClientError> {
        if let Some(open) = self.vocabularies.get(digest) {
            return Ok(Some(open));
        }
        Ok(self.store.open_vocabulary(digest)?.map(|vocabulary| self.vocabularies.keep(*digest, vocabulary)))
    }
}

/// The time since `begun`, in microseconds.
pub(crate) fn micros(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX)
}
