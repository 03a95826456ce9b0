//! Tokenizer files to vocabularies: files that people published, files that the tests write, and files that are none.
#![forbid(unsafe_code)]
#![cfg(test)]

mod bad_files;
mod cuts;
mod memory;
mod model_folder;
mod real_files;
mod special_list;
mod twins;
