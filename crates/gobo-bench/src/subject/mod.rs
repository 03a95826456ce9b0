//! The system under test: a daemon in a process of its own, an engine in this process, the connections to them, and what the
//! operating system says of processes.
pub(crate) mod caller;
pub(crate) mod daemon;
pub(crate) mod in_process;
pub(crate) mod process;
pub(crate) mod program;
