//! Compiles in processes of their own, which can be killed.
//!
//! Counted budgets end a compile that costs too much, the same on every host. The hard limits of a process are a second net:
//! address space, processor time (of each pass in proportion to its steps, `pass_timeout`), wall clock. Whatever a constraint
//! does to its compiler, a worker process dies of it and not the daemon; it is replaced, and who waits is told *unavailable*.
//!
//! A worker is a child with one socket, its standard input. Frames of JSON travel both ways ([`wire`]): a job names the
//! mapped vocabulary file, the constraint, its budget, and the temporary file for the index; the answer says what was
//! made. The child writes that file and nothing else; its parent verifies and publishes it. When the parent is gone, the
//! socket ends, and the child with it; where the parent was forked, and its copy still holds the socket, the system ends the child.

mod child;
mod parent;
mod pass_timeout;
mod wire;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub use child::{WorkerError, run_worker, run_worker_with};
pub use parent::{EndCounters, Failure, WorkerProcess};
pub use wire::{Job, Made};

/// How worker processes are started, and what each may use. `WorkerConfig::new(program)` is a working one.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// The program, which calls [`run_worker`].
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Most bytes of address space, mapped files included. Default 4 GiB: several times what the default budget of bytes
    /// comes to. A compile that needs more ends unavailable.
    pub address_space_bytes: u64,
    /// Most processor time of one compile. Default 60 seconds: some three times what the default budget of steps takes.
    pub processor_time: Duration,
    /// Most time by the clock of one compile, when the worker is killed. Default 120 seconds.
    pub wall_clock: Duration,
    /// A worker that holds more private memory than this after a compile is replaced, so that the memory of a costly
    /// compile goes back to the system. Default 128 MiB.
    pub retire_bytes: u64,
}

impl WorkerConfig {
    /// The defaults over a program.
    pub fn new(program: impl Into<PathBuf>, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            address_space_bytes: 4 << 30,
            processor_time: Duration::from_secs(60),
            wall_clock: Duration::from_secs(120),
            retire_bytes: 128 << 20,
        }
    }
}
