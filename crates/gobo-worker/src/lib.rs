//! Compiles constraints to indices, in this process or in worker processes. Knows no store.
//!
//! | module | what it does |
//! |---|---|
//! | `lower` | constraint → automaton and report, by the reader of its kind |
//! | `diagnose` | which part of a constraint has no text or needs too much: by compiling changed ones |
//! | `compile` | constraint × vocabulary → index, on this thread |
//! | `process` | the same in a child process with hard limits: both sides of the socket |
//! | `pass_time` | the processor time of a pass, in proportion to its counted budget |
#![forbid(unsafe_code)]

mod compile;
mod diagnose;
mod lower;
mod misread;
mod pass_time;
mod process;
mod regex;

pub use compile::{CompileFn, compile_alone, compile_constraint};
pub use diagnose::diagnose;
pub use lower::lower;
pub use pass_time::{PassTime, thread_clock};
pub use process::{
    EndCounters, Failure, Job, Made, WorkerConfig, WorkerError, WorkerProcess, run_worker, run_worker_with,
};
