//! The grammar of JSON texts (RFC 8259), under a policy of whitespace and spelling: of any value, and the parts that the grammar of a
//! schema is made of.

mod any_value;
pub mod layout;
pub mod numbers;
pub mod strings;
mod truncated;

pub use any_value::{json, narrowed};
pub use truncated::truncated;
