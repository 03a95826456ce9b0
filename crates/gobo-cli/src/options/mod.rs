//! Options that the command lines share, as they are declared. Their comments are help texts.

mod constraint;
mod global;
mod schema;
mod units;

pub use constraint::{Builtin, ConstraintArgs, GrammarArgs, Match, RegexArgs, SourceArgs, Start};
pub use global::{Global, StoreWriters};
pub use schema::{Defaults, SchemaArgs};
pub use units::{Bound, bound, count, duration, group, host_and_port, log_filter, size};
