//! The program `gobo`, as a command and as a daemon.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test code")]

#[path = "../../../gobo-server/tests/it/authority.rs"]
mod authority;
mod cli;
mod command_line;
mod daemon;
mod edge;
mod fleet;
#[path = "../gobo/mod.rs"]
mod gobo;
mod history;
mod hostile_store;
mod import;
mod messages;
mod names;
mod out;
mod page;
mod prewarm;
mod prometheus;
mod stopping;
mod supervisor;
mod tracing;
