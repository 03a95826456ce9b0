//! JSON Schema: a corpus of schemas with instances, beside llguidance.

pub mod args;
pub mod corpus;
pub mod coverage;
pub mod outcome;
pub mod tables;
pub mod time_plot;

pub use corpus::Entry;
pub use outcome::{Outcome, Run};

/// The peer of these measurements.
pub const PEER: &str = "llguidance";
