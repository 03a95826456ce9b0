//! Tests of the compiler through matchers.
#![expect(clippy::unwrap_used, reason = "test code")]

mod counted;
mod products;
