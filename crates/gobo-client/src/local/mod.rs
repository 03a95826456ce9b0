//! The memory of a client in this process, so that a resolve of a mapped index does no I/O.

mod maps;
mod names;
mod texts;
mod thread;

pub(crate) use maps::Maps;
pub(crate) use names::{Named, Names};
pub(crate) use texts::Texts;
pub(crate) use thread::on_thread;
