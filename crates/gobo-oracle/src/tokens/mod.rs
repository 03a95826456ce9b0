//! Vocabularies: tokens as byte strings, and which texts they can write.

pub(crate) mod spelling;
pub(crate) mod vocabulary;
