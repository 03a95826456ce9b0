//! Case files: constraints with texts, the expected answer for each, and their replay.

mod case;
mod replay;

pub(crate) use case::Case;
pub(crate) use replay::{Replay, Replayed};
