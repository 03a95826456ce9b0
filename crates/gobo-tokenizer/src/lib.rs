//! Tokenizer files to vocabularies
