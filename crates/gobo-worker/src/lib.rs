//! Compiles constraints to indices, in this process or in worker processes. Knows no store.
//!
//! | module | what it does |
//! |---|---|
//! | `lower`, `tokens` | constraint → automaton and report, by the reader of its kind; the ids of its token edges |
//! | `outline` | the rules, tags and extensions that a text stands in |
//! | `tags` | structural tags → grammar |
//! | `diagnose` | which part of a constraint has no text or needs too much: by compiling changed ones |
//! | `compile`, `lettered` | constraint × vocabulary → index, on this thread; vocabularies with letters for token edges |
//! | `process` | the same in a child process with hard limits: both sides of the socket |
//! | `pass_time` | the processor time of a pass, in proportion to its counted budget |
#![forbid(unsafe_code)]

mod compile;
mod diagnose;
mod lettered;
mod lower;
mod misread;
mod outline;
mod pass_time;
mod process;
mod regex;
mod tags;
mod tokens;

pub use compile::{CompileFn, compile_alone, compile_constraint};
pub use diagnose::diagnose;
pub use lettered::compile_lowered;
pub use lower::{lower, lower_over};
pub use outline::open_rules;
pub use pass_time::{PassTime, thread_clock};
pub use process::{
    EndCounters, Failure, Job, Made, WorkerConfig, WorkerError, WorkerProcess, run_worker, run_worker_with,
};
