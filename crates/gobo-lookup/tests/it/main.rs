//! Lookups over temporary stores: with a daemon and without one, with a local worker and without one, and with all that can
//! happen to them.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../../../gobo-server/tests/it/daemon.rs"]
#[expect(dead_code, reason = "the tests of the server need the rest of it")]
mod daemon;
mod disk;
mod fixture;
#[path = "../../../gobo-engine/tests/it/full_verdicts.rs"]
mod full_verdicts;
mod local;
mod order;
#[path = "../../../gobo-engine/tests/it/tiny.rs"]
mod tiny;
