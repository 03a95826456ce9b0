//! The thread on which the calls of a blocking client run, and what their callers hold meanwhile.
//!
//! Three threads may look at one call: the one that asked, one that waits, and the client's. The value is a pointer that is set
//! once ([`Pending`]): a poll is one atomic load, whatever the client's thread does at that moment. What a process that was
//! forked does with all this is said in [`process`].

mod lost;
mod pending;
mod process;
mod thread;

pub use lost::Lost;
pub use pending::Pending;
pub(crate) use process::PerProcess;
pub(crate) use thread::{Background, Running};
