//! The parts that gobo's command lines share: `options` that name a store, a budget, a constraint and a tokenizer, the
//! `inputs` that they name, the `output`, the `exit` status, and the `diagnostics` of constraints that have no index. `gobo` adds the commands; `gobo-bench` adds the measurements of them.
#![forbid(unsafe_code)]

pub mod diagnostics;
pub mod exit;
pub mod inputs;
#[expect(clippy::doc_markdown, reason = "these comments are help texts, which people read in a terminal")]
pub mod options;
pub mod output;
