//! How values are spelled: expressions over the characters of JSON texts (RFC 8259), under a policy.
//!
//! [`strings`] has the escapes of characters, [`numbers`] the grammar of numbers, [`layout`] the whitespace between tokens,
//! [`values`] the texts of one known value. [`plain`] rewrites a text, and shares nothing with the others.

pub(crate) mod layout;
pub(crate) mod numbers;
pub(crate) mod plain;
pub(crate) mod strings;
pub(crate) mod values;
