//! Schemas: the subschema and the keywords that have no value, or that need too much.
//!
//! Works on the whole JSON document. [`document`] knows which of its parts can be left out, and writes it without them.

mod contradiction;
mod document;
mod expensive;
mod words;

pub(super) use contradiction::without_text;
pub(super) use expensive::over_budget;
