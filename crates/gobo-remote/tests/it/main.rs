//! Objects and their bucket: what is written, what is read, and everything that may lie there instead.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bucket;
mod faults;
mod faulty;
#[path = "../../../gobo-store/tests/it/fixture.rs"]
#[expect(dead_code, reason = "the tests of the store use the rest")]
mod fixture;
mod keys;
mod objects;
