//! Vocabulary files that callers send.
//!
//! A wrong vocabulary makes wrong masks, so nothing that is sent is believed. The file is verified to its last byte, which
//! shows that its parts agree with each other and with its digest. Then it is built again from its table of tokens alone,
//! and both have to be equal: rows that indices share lie in the file and do not follow from the table's digest, and a
//! file with others would part this store from the stores of other hosts. What is published are the bytes that were built
//! here. Cost: O(bytes × log ids), some three times the file in memory.

use std::sync::{Arc, PoisonError};

use gobo_artifact::Vocabulary;
use gobo_artifact::file::AlignedBytes;
use gobo_store::{NamedVocabulary, Store};
use gobo_types::{Binding, VocabularyDigest};
use gobo_vocab::{MAX_VOCABULARY_LEN, TokenTable};

use super::builtin::is_builtin;
use crate::EngineError;
use crate::inner::Inner;
use crate::vocabularies::{Existing, OpenVocabulary, VocabularyRef, check_existing, put_name};

/// Most names, and most vocabulary files, of a store that takes another one from a caller. Vocabularies are never evicted.
pub const MAX_VOCABULARIES: usize = 1024;

/// Most ids that end a text.
const MAX_EOS: usize = 1024;

/// Widest logits: a mask of them has 1 MiB.
const MAX_LOGITS_WIDTH: usize = 2 * MAX_VOCABULARY_LEN;

/// Longest kind of tokenizer.
const MAX_KIND_BYTES: usize = 64;

/// What a caller says of a vocabulary file that it sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRequest {
    /// The name that is to stand for it.
    pub name: String,
    /// What kind of tokenizer it came from, for a person.
    pub kind: String,
    /// The default binding of the name.
    pub binding: Binding,
    /// The digest of its table.
    pub vocabulary: VocabularyDigest,
    /// Whether the name may stand for something else now.
    pub existing: Existing,
}

impl ImportRequest {
    /// Refuses what no file makes right.
    fn check(&self) -> Result<(), EngineError> {
        let refuse = |field, why: String| Err(EngineError::BadImport { field, why });
        Store::check_name(&self.name)?;
        if is_builtin(&self.name) {
            return refuse("name", format!("{:?} is the name of a built-in vocabulary", self.name));
        }
        let is_kind = |kind: &str| kind.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        if self.kind.is_empty() || self.kind.len() > MAX_KIND_BYTES || !is_kind(&self.kind) {
            return refuse(
                "tokenizer_kind",
                format!("it is not 1 to {MAX_KIND_BYTES} visible characters of ASCII"),
            );
        }
        let Binding { eos, bos, pad, logits_width } = &self.binding;
        if *logits_width as usize > MAX_LOGITS_WIDTH {
            return refuse("binding.logits_width", format!("{logits_width} is more than {MAX_LOGITS_WIDTH}"));
        }
        if eos.len() > MAX_EOS {
            return refuse("binding.eos", format!("{} ids are more than {MAX_EOS}", eos.len()));
        }
        if let Some(id) = eos.iter().chain(bos).chain(pad).find(|id| *id >= logits_width) {
            return refuse("binding", format!("id {id} lies beyond logits of width {logits_width}"));
        }
        Ok(())
    }

    /// The vocabulary in `bytes`, if it is the one that was announced, and its file, built again.
    fn build(&self, bytes: Vec<u8>) -> Result<(Vocabulary, AlignedBytes), EngineError> {
        let vocabulary = Vocabulary::from_bytes(&bytes).map_err(EngineError::BadFile)?;
        drop(bytes);
        vocabulary.verify().map_err(EngineError::BadFile)?;
        if vocabulary.digest() != self.vocabulary {
            let why =
                format!("the file is of {}, and {} was announced", vocabulary.digest(), self.vocabulary);
            return Err(EngineError::BadImport { field: "vocabulary_digest", why });
        }
        if self.binding.logits_width < vocabulary.len() {
            let why = format!("{} is less than {} ids", self.binding.logits_width, vocabulary.len());
            return Err(EngineError::BadImport { field: "binding.logits_width", why });
        }
        let mut table = TokenTable::with_capacity(vocabulary.len() as usize);
        let refuse = |source| EngineError::Vocabulary { name: self.name.clone(), source };
        for id in 0..vocabulary.len() {
            table.insert(id, vocabulary.bytes(id).to_vec(), vocabulary.is_special(id)).map_err(refuse)?;
        }
        // What no table says is taken as it was sent: it has been checked for itself.
        let encoder = vocabulary.encoder_parts();
        let built = table.build_beside(encoder).map_err(refuse)?;
        if *built != *vocabulary.file_bytes() {
            return Err(EngineError::OtherBuild { vocabulary: self.vocabulary });
        }
        Ok((vocabulary, built))
    }
}

impl Inner {
    /// Refuses an import for reasons that are known before its file has come.
    pub(crate) fn admit_import(&self, request: &ImportRequest) -> Result<(), EngineError> {
        request.check()?;
        check_existing(&self.store, &request.name, &request.vocabulary, &request.binding, request.existing)?;
        self.has_room_for(request)
    }

    fn has_room_for(&self, request: &ImportRequest) -> Result<(), EngineError> {
        let limit = MAX_VOCABULARIES;
        let names = self.store.list_names()?;
        let is_new_name = !names.contains(&request.name);
        let is_new_file = !self.store.vocabulary_path(&request.vocabulary).exists();
        if is_new_name && names.len() >= limit
            || is_new_file && self.store.scan_vocabularies().count() >= limit
        {
            return Err(EngineError::TooManyVocabularies { limit });
        }
        Ok(())
    }

    pub(crate) fn import_file(
        &self,
        request: &ImportRequest,
        bytes: Vec<u8>,
    ) -> Result<Arc<OpenVocabulary>, EngineError> {
        request.check()?;
        let (vocabulary, built) = request.build(bytes)?;
        let root = vocabulary.root();
        let named = NamedVocabulary {
            vocabulary: request.vocabulary,
            binding: request.binding.clone(),
            kind: request.kind.clone(),
            tokens: root.tokens,
            special: root.special,
            source: None,
            source_digest: None,
        };
        {
            // One at a time, so that the number of files is exact and a name that is refused leaves no file.
            let _alone = self.naming.lock().unwrap_or_else(PoisonError::into_inner);
            self.admit_import(request)?;
            self.store.publish_vocabulary(&request.vocabulary, &built)?;
            put_name(&self.store, &request.name, &named, request.existing)?;
        }
        self.vocabularies.forget(&request.name);
        let wanted = VocabularyRef::Name(request.name.clone());
        let unknown = || EngineError::UnknownVocabulary { name: request.name.clone() };
        self.vocabularies.find(&self.store, &wanted)?.ok_or_else(unknown)
    }
}
