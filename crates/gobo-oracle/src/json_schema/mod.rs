//! JSON Schema: which of the texts of a valid value the policy of a schema allows.

mod documents;
pub(crate) mod error;
mod patterns;
pub(crate) mod policy;
pub(crate) mod spell;
mod survey;
