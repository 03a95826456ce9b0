//! The daemon over temporary stores, as its clients see it: over its Unix socket and over TCP.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod adopted;
mod again;
mod authority;
mod daemon;
mod faults;
#[path = "../../../gobo-engine/tests/it/full_verdicts.rs"]
mod full_verdicts;
mod import;
mod limits;
mod operate;
mod outcomes;
mod python;
mod raw;
mod sockets;
#[path = "../../../gobo-engine/tests/it/tiny.rs"]
mod tiny;
mod tls;
mod upkeep;
