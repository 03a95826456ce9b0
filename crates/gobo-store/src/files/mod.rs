//! The files of a store: how they are published, opened, checked and set aside.
//!
//! [`atomic_write`] is the protocol by which every file appears. Over it, [`publish`] and [`open`] have the operations on
//! indices and vocabularies, [`vocabulary_names`], [`pins`] and [`identity`] those on small files. [`check`] decides whether a file is
//! sound; a file that is not goes to [`quarantine`], and a verified one may get a [`stamp`]. This floor uses `directory`,
//! and knows no catalog.

mod atomic_write;
pub(crate) mod check;
mod identity;
mod open;
mod pins;
mod publish;
pub(crate) mod quarantine;
mod stamp;
mod vocabulary_names;

pub(crate) use atomic_write::TEMP_PREFIX;
pub use atomic_write::write_file;
pub use publish::PendingIndex;
pub use quarantine::{Quarantine, Trimmed};
pub use vocabulary_names::NamedVocabulary;
