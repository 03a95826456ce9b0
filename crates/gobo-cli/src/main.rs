//! The gobo command line.
fn main() {}
