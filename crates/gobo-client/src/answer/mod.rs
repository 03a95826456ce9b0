//! The answers of a daemon, in types of this crate.
//!
//! Keys and digests are the types of `gobo-types`, durations and times those of the standard library. Sizes are bytes. An
//! answer that cannot be read is an error of kind `Version`.

mod garbage;
mod index;
mod status;
mod vocabulary;

pub(crate) use garbage::GarbagePart;
pub use garbage::{CatalogRebuild, GarbageEvent, GarbageIndex, GarbageSummary, PinnedIndex};
pub use index::{Checked, IndexDescription, IndexEntry, IndexLocation, Source};
pub use status::{DaemonStatus, RemoteStatus, UpstreamStatus};
pub use vocabulary::VocabularyInfo;
