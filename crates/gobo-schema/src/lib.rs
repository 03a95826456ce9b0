//! JSON texts as grammars: those of any value, and those of the values that a JSON Schema allows.
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
//! | `text` | characters, numbers, known values | expressions over their spellings |
//! | `evaluate` | a node and a known value | whether the value satisfies it |
//! | `formula` | literals of one type of values | a Boolean formula over atoms |
//! | `scalar` | a formula of numbers or strings | the language of their texts |
//! | `lower` | the root node | the rules of a grammar |
//!
//! [`schema`](schema()) runs all of them; [`json`] needs `text` alone.
#![forbid(unsafe_code)]

mod any_json;
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

pub use any_json::{json, narrowed};
pub use policy_form::PolicyForm;
pub use schema::schema;
pub use text::plain::plain_text;
