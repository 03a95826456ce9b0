//! The memory of a client in this process, so that a resolve of a mapped index does no I/O.

mod names;
mod open_files;
mod schema_digests;
mod thread;

pub(crate) use names::{Bound, Names};
pub(crate) use open_files::OpenFiles;
pub(crate) use schema_digests::SchemaDigests;
pub(crate) use thread::on_thread;
