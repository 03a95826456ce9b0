//! Tests of the compiler through matchers.

mod counted;
mod products;
