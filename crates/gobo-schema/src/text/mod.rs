//! How known values are spelled: expressions over the characters of JSON texts, under a policy.
//!
//! The grammar of strings and numbers, and the whitespace between tokens, are those of [`gobo_grammar::json`]. [`numbers`] has the texts of one
//! number, [`values`] those of one value. [`plain`] rewrites a text, and shares nothing with the others. [`yaml`] writes values as YAML.

pub(crate) mod numbers;
pub(crate) mod plain;
pub(crate) mod values;
pub(crate) mod yaml;
