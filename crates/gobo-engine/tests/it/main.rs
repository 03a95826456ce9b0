//! The engine over temporary stores: requests, its workers, its upkeep, and a store that others have changed.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod adopted;
mod engine;
#[path = "../../../gobo-remote/tests/it/faulty.rs"]
#[expect(dead_code, reason = "the tests of the bucket need all faults")]
mod faulty;
mod full_disk;
mod full_verdicts;
mod opened;
mod pull;
mod remote;
mod replaced;
mod tiny;
mod traces;
mod upkeep;
mod upstream;
mod workers;
