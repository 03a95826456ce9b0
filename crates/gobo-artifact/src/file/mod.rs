//! Files as the system has them: opened without waiting, mapped read-only, and what the file system tells of them.
//!
//! Nothing here knows what a file of gobo holds; that is [`layout`](crate::layout). The one unsafe block of the shipped code
//! stands in `map.rs`.

mod aligned;
mod map;
mod regular;

pub use aligned::{AlignedBytes, SECTION_ALIGN};
pub(crate) use map::Backing;
pub use map::FileState;
pub use regular::{Links, OpenError, OpenRegular, kind_name};
