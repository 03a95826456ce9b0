//! JSON texts as grammars: those of any value, and those of the values that a JSON Schema allows.
//!
//! A schema speaks of values, a grammar of texts. What stands between the two, which texts of a value are allowed, is
//! policy, and is told in the report.
#![forbid(unsafe_code)]

mod any;
mod array;
mod brackets;
mod compare;
mod content;
mod decimal;
mod document;
mod ecma;
mod evaluate;
mod expand;
mod formats;
mod formula;
mod implied;
mod items;
mod json;
mod keywords;
mod listed;
mod lowering;
mod members;
mod node;
mod object;
mod outcomes;
mod place;
mod plain;
mod policy_form;
mod scalars;
mod schema;
mod spelling;
mod uri;

pub use any::{json, narrowed};
pub use plain::plain_text;
pub use policy_form::PolicyForm;
pub use schema::schema;
