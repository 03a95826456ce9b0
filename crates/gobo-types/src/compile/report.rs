//! Reports: which parts of a constraint an index enforces.

use serde::{Deserialize, Serialize};

/// One entry of a report: a location in the constraint, a construct, and a reason.
#[derive(
    Debug, Clone, PartialEq, Eq, Serialize, Deserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize,
)]
pub struct ReportEntry {
    /// JSON pointer into a schema; empty for the constraint as a whole.
    pub pointer: String,
    /// The keyword or construct.
    pub keyword: String,
    /// Why it is in its list, for a person.
    pub why: String,
}

/// The parts of a constraint that an index enforces, and those that it does not. A report is complete.
#[derive(
    Debug,
    Clone,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub struct Report {
    /// Enforced exactly.
    pub enforced: Vec<ReportEntry>,
    /// Valid texts shut out by policy, or by a limit of the matcher.
    pub narrowed: Vec<ReportEntry>,
    /// Texts of the constraint that no token sequence of the vocabulary can write.
    pub unspellable: Vec<ReportEntry>,
    /// Annotations by their standard: they constrain nothing.
    pub annotations: Vec<ReportEntry>,
    /// Texts let through although the constraint forbids them; only at the caller's request.
    pub widened: Vec<ReportEntry>,
}

impl Report {
    /// The keyword of [`Self::ambiguity`].
    pub const AMBIGUITY: &str = "ambiguity";

    /// The warning that texts may have more configurations than a matcher keeps; it is one of those that are narrowed.
    pub fn ambiguity(&self) -> Option<&ReportEntry> {
        self.narrowed.iter().find(|entry| entry.keyword == Self::AMBIGUITY && entry.pointer.is_empty())
    }
}

impl ReportEntry {
    /// An entry about the constraint as a whole.
    pub fn whole(keyword: impl Into<String>, why: impl Into<String>) -> Self {
        Self { pointer: String::new(), keyword: keyword.into(), why: why.into() }
    }
}
