//! Case files: constraints with texts, the expected answer for each, and their replay; libraries of constraints.

mod case;
mod library;
mod replay;

pub(crate) use case::Case;
pub(crate) use library::{Entry, Library, Unreadable, Walk};
pub(crate) use replay::{Replay, Replayed};
