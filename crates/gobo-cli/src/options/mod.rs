//! Options that the command lines share, as they are declared. Their comments are help texts.

mod constraint;
mod global;
mod schema;

pub use constraint::{Builtin, ConstraintArgs, Match, SourceArgs, Start};
pub use global::{Global, StoreWriters};
pub use schema::{SchemaArgs, SchemaDefaults};
