//! JSON Schema: which of the texts of a valid value the policy of a schema allows.
//! [`numbers`] judges texts of numbers by their exact value.

pub(crate) mod blanks;
mod decimal;
mod documents;
pub(crate) mod error;
pub(crate) mod numbers;
mod patterns;
pub(crate) mod policy;
pub(crate) mod spell;
mod survey;
