//! JSON Schema: which of the texts of a valid value the policy of a schema allows.

pub(crate) mod blanks;
mod documents;
pub(crate) mod error;
mod patterns;
pub(crate) mod policy;
pub(crate) mod spell;
mod survey;
