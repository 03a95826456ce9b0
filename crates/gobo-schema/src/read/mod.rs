//! From the text of a schema to nodes.
//!
//! A text is parsed to a value ([`parse`], [`value`]); [`documents`] finds the schema resources in the schema and in the
//! documents supplied with it, and resolves references between them; [`nodes`] interns subschemas; [`keywords`] reads the
//! keywords of a subschema, when they are first asked for, into the normalised form of [`node`]. [`report`] says what became of them.

pub(crate) mod content;
pub(crate) mod decimal;
pub(crate) mod documents;
pub(crate) mod entries;
pub(crate) mod keywords;
pub(crate) mod location;
pub(crate) mod meta_schemas;
pub(crate) mod node;
pub(crate) mod nodes;
pub(crate) mod parse;
pub(crate) mod report;
pub(crate) mod uri;
pub(crate) mod value;
pub(crate) mod vocabulary;
