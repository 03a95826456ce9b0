//! JSON Schema: the JSON texts of the values that a schema allows, as a grammar.
//!
//! A schema speaks of values, a grammar of texts. Which texts of a value are allowed is policy, which the report states.
//!
//! The floors, from the lowest:
//!
//! | floor | from | to |
//! |---|---|---|
//! | `ecma` | a pattern of ECMA-262 | the language of the strings that it matches |
//! | `formats` | the name of a format | the language of its strings |
//! | `read` | the text of a schema | nodes: subschemas with normalised keywords |
//! | `text` | known values | expressions over their spellings, made of `gobo_grammar::json` |
//! | `evaluate` | a node and a known value | whether the value satisfies it |
//! | `formula` | literals of one type of values | a Boolean formula over atoms |
//! | `scalar` | a formula of numbers or strings | the language of their texts |
//! | `lower` | the root node | the rules of a grammar |
//!
//! [`schema`](schema()) runs all of them.
#![forbid(unsafe_code)]

mod advice;
mod ecma;
mod evaluate;
mod formats;
mod formula;
mod lower;
mod phase;
mod policy_form;
mod read;
mod scalar;
mod schema;
mod text;

pub use ecma::ecma_regex;
pub use lower::parameters::Style;
pub use policy_form::PolicyForm;
pub use read::vocabulary::SCHEMAS as SCHEMA_KEYWORDS;
pub use schema::{Arguments, arguments, embedded, schema, schema_by_states, subschema};
pub use text::plain::plain_text;
pub use text::yaml::{yaml_text, yaml_text_as_written};
