//! Stores, vocabularies and indices: found on this host, opened, and described.
#![expect(non_camel_case_types, reason = "these are the names in C")]

use std::ffi::{CStr, CString};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use ::gobo_store::Store;
use gobo_artifact::{Index, Vocabulary};
use gobo_types::{Binding, IndexKey, TokenId, VocabularyDigest};

use crate::constraint;
use crate::status::{Failure, c_text, gobo_status};
use crate::structs::{gobo_index_facts, gobo_vocabulary_facts};

use gobo_status::{GOBO_INTERNAL, GOBO_INVALID, GOBO_NOT_FOUND};

/// A store of this host: a folder of vocabularies and indices.
pub struct gobo_store(Store);

impl gobo_store {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Self(Store::open(path)?))
    }

    /// The vocabulary of a name, with the binding of the name.
    pub(crate) fn vocabulary_by_name(&self, name: &str) -> Result<gobo_vocabulary, Failure> {
        let root = self.0.root().display();
        let named = self.0.get_name(name)?.ok_or_else(|| {
            let hint = "`gobo tokenizer import` imports one";
            not_found(format!("the store {root} has no vocabulary named {name:?}; hint: {hint}"))
        })?;
        Ok(gobo_vocabulary::new(self.vocabulary(&named.vocabulary)?, named.binding))
    }

    pub(crate) fn vocabulary_by_digest(&self, digest: &str) -> Result<gobo_vocabulary, Failure> {
        Ok(gobo_vocabulary::unbound(self.vocabulary(&digest.parse()?)?))
    }

    fn vocabulary(&self, digest: &VocabularyDigest) -> Result<Vocabulary, Failure> {
        let root = self.0.root().display();
        self.0.open_vocabulary(digest)?.ok_or_else(|| {
            not_found(format!("the store {root} has no sound file of the vocabulary {digest}"))
        })
    }

    /// The index of a constraint over a vocabulary.
    pub(crate) fn index(
        &self,
        vocabulary: &gobo_vocabulary,
        constraint: &str,
    ) -> Result<gobo_index, Failure> {
        let constraint = constraint::read(constraint)?;
        let key = vocabulary.vocabulary.index_key(&constraint);
        self.open_index(vocabulary, &key)
    }

    pub(crate) fn index_by_key(
        &self,
        vocabulary: &gobo_vocabulary,
        key: &str,
    ) -> Result<gobo_index, Failure> {
        self.open_index(vocabulary, &key.parse()?)
    }

    fn open_index(&self, vocabulary: &gobo_vocabulary, key: &IndexKey) -> Result<gobo_index, Failure> {
        let root = self.0.root().display();
        let index = self.0.open_index(key)?.ok_or_else(|| {
            let hint = "`gobo get` and `gobo prewarm` compile it";
            not_found(format!("the store {root} has no sound file of the index {key}; hint: {hint}"))
        })?;
        gobo_index::new(index, vocabulary)
    }
}

fn not_found(message: String) -> Failure {
    Failure::new(GOBO_NOT_FOUND, message)
}

/// A vocabulary: the bytes of every token id, and a default binding.
pub struct gobo_vocabulary {
    vocabulary: Arc<Vocabulary>,
    binding: Binding,
    digest: CString,
}

impl gobo_vocabulary {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Self::unbound(Vocabulary::open(path)?))
    }

    /// With no id that ends a text, and as many logits as ids.
    fn unbound(vocabulary: Vocabulary) -> Self {
        let binding = Binding::new(Vec::new(), vocabulary.len());
        Self::new(vocabulary, binding)
    }

    fn new(vocabulary: Vocabulary, binding: Binding) -> Self {
        let digest = c_text(&vocabulary.digest().to_string());
        Self { vocabulary: Arc::new(vocabulary), binding, digest }
    }

    pub(crate) fn facts(&self) -> gobo_vocabulary_facts {
        gobo_vocabulary_facts {
            size: size_of::<gobo_vocabulary_facts>(),
            digest: self.digest.as_ptr(),
            eos: self.binding.eos.as_ptr(),
            eos_count: self.binding.eos.len(),
            length: self.vocabulary.len(),
            logits_width: self.binding.logits_width,
        }
    }

    /// The bytes of a token, and whether it is special.
    pub(crate) fn token(&self, id: TokenId) -> Result<(&[u8], bool), Failure> {
        let length = self.vocabulary.len();
        if id >= length {
            return Err(Failure::new(
                GOBO_INVALID,
                format!("token {id} lies beyond a vocabulary of length {length}"),
            ));
        }
        Ok((self.vocabulary.bytes(id), self.vocabulary.is_special(id)))
    }
}

/// An index: for every state of a constraint the allowed ids of one vocabulary.
pub struct gobo_index {
    pub(crate) index: Arc<Index>,
    pub(crate) vocabulary: Arc<Vocabulary>,
    /// That of the vocabulary.
    pub(crate) binding: Binding,
    key: CString,
    vocabulary_digest: CString,
    constraint_kind: CString,
    /// Decoded at its first use.
    report: OnceLock<CString>,
}

impl gobo_index {
    pub(crate) fn open(vocabulary: &gobo_vocabulary, path: &Path) -> Result<Self, Failure> {
        Self::new(Index::open(path)?, vocabulary)
    }

    fn new(index: Index, vocabulary: &gobo_vocabulary) -> Result<Self, Failure> {
        let (expected, found) = (index.vocabulary_digest(), vocabulary.vocabulary.digest());
        if expected != found {
            return Err(Failure::new(
                GOBO_INVALID,
                format!("the index belongs to vocabulary {expected}, not to {found}"),
            ));
        }
        Ok(Self {
            key: c_text(&index.key().to_string()),
            vocabulary_digest: vocabulary.digest.clone(),
            constraint_kind: c_text(index.constraint_kind()),
            report: OnceLock::new(),
            vocabulary: Arc::clone(&vocabulary.vocabulary),
            binding: vocabulary.binding.clone(),
            index: Arc::new(index),
        })
    }

    pub(crate) fn facts(&self) -> gobo_index_facts {
        gobo_index_facts {
            size: size_of::<gobo_index_facts>(),
            key: self.key.as_ptr(),
            vocabulary: self.vocabulary_digest.as_ptr(),
            constraint_kind: self.constraint_kind.as_ptr(),
            file_bytes: self.index.file_bytes().len() as u64,
            states: self.index.states(),
            rows: self.index.rows(),
        }
    }

    /// The report as JSON.
    pub(crate) fn report(&self) -> Result<&CStr, Failure> {
        if let Some(report) = self.report.get() {
            return Ok(report);
        }
        let json = serde_json::to_string(&self.index.report()?)
            .map_err(|error| Failure::new(GOBO_INTERNAL, format!("cannot encode the report: {error}")))?;
        Ok(self.report.get_or_init(|| c_text(&json)))
    }
}
