//! The client over temporary stores, with a daemon and without one, on one host and on two.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod blocking;
mod by_digest;
#[path = "../../../gobo-server/tests/it/daemon.rs"]
#[expect(dead_code, reason = "the tests of the server need the rest of it")]
mod daemon;
#[path = "../../../gobo-engine/tests/it/full_verdicts.rs"]
mod full_verdicts;
mod metadata;
mod resolve;
#[path = "../../../gobo-engine/tests/it/tiny.rs"]
mod tiny;
