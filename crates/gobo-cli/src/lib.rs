//! What gobo's command lines share: the options that name a store, a budget, a constraint and a tokenizer, how they are read,
//! and what is printed. `gobo` adds the commands; `gobo-bench` adds the measurements of them.
#![forbid(unsafe_code)]

pub mod constraint;
#[expect(clippy::doc_markdown, reason = "these comments are help texts, which people read in a terminal")]
pub mod options;
pub mod output;
pub mod schema;
pub mod vocabulary;
