//! The phases that steps and bytes are charged to: an exceeded budget names one of them.

/// Reading: text to values, references, keywords to nodes.
pub(crate) const READING: &str = "reading the schema";

/// Lowering: formulas, outcomes, grammar rules.
pub(crate) const LOWERING: &str = "lowering the schema";
