//! Conversions between messages and the types of `gobo-types`, a file for each type.
//!
//! Both directions stand together. Reading checks everything ([`error`]): nothing is guessed, and nothing unknown is ignored.

mod binding;
mod constraint;
mod error;
mod fields;
mod limits;
mod report;
mod schema;
mod verdict;

pub use error::ConvertError;
pub use fields::digest;
pub use limits::limits_or;
