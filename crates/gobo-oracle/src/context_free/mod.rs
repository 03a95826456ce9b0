//! Context-free constraints: grammars over characters, readers of GBNF and of JSON, Earley's recogniser.

pub(crate) mod earley;
pub(crate) mod gbnf;
pub(crate) mod grammar;
pub(crate) mod json;
pub(crate) mod sorted_tokens;
