//! From formulas over tests of numbers or strings to languages of texts.
//!
//! Each test is a regular language: of the texts of numbers ([`bounds`], [`multiples`], listed numbers) or of strings as
//! values (patterns, lengths, listed strings). [`combine`] forms the language of the formula by a product construction;
//! [`numbers`] and [`strings`] choose how the result is written, [`plain`] how programs write numbers, [`counted`] where lengths are
//! counted beside the states, and [`yaml`] strings as YAML writes them.

pub(crate) mod bounds;
pub(crate) mod combine;
pub(crate) mod counted;
pub(crate) mod lengths;
pub(crate) mod multiples;
pub(crate) mod numbers;
pub(crate) mod plain;
pub(crate) mod strings;
pub(crate) mod yaml;
