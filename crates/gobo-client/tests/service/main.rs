//! Client and daemon together, over temporary stores: Unix socket and TCP, one host and two.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod again;
mod daemon;
mod faults;
mod limits;
mod operate;
mod resolve;
#[path = "../../../gobo-engine/tests/tiny/mod.rs"]
mod tiny;
mod upkeep;
