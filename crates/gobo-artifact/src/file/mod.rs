//! Files as the system has them: opened without waiting, mapped read-only, each with its state in the file system.
//!
//! Nothing here knows the contents of a file; that is [`layout`](crate::layout). The one unsafe block of
//! this crate stands in `map.rs`.

mod aligned;
mod map;
mod regular;

pub use aligned::{AlignedBytes, SECTION_ALIGN};
pub(crate) use map::Backing;
pub use map::FileState;
pub use regular::{Links, OpenError, OpenRegular, kind_name};
