//! Reports: which parts of a constraint an index enforces.

use serde::{Deserialize, Serialize};

/// One entry of a report: a location in the constraint, a construct, and a reason.
#[derive(
    Debug,
    Clone,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
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
    /// Parts that are probably not what their author meant, such as a misspelt keyword. They constrain nothing.
    pub notes: Vec<ReportEntry>,
}

impl Report {
    /// How many notes a person is told of at once, and an answer that is no report has at most.
    pub const NOTES_TOLD: usize = 8;
    /// Longest pointer of a note that is told of so, in bytes.
    const MAX_POINTER_TOLD: usize = 1024;

    /// The first notes, at most [`Self::NOTES_TOLD`] and each with a pointer of at most 1 KiB. O(notes).
    ///
    /// ```
    /// use gobo_types::{Report, ReportEntry};
    ///
    /// let notes = vec![ReportEntry::whole("maxlength", "did you mean maxLength?"); 9];
    /// assert_eq!(Report { notes, ..Report::default() }.notes_told().count(), Report::NOTES_TOLD);
    /// ```
    pub fn notes_told(&self) -> impl Iterator<Item = &ReportEntry> {
        let is_short = |entry: &&ReportEntry| entry.pointer.len() <= Self::MAX_POINTER_TOLD;
        self.notes.iter().filter(is_short).take(Self::NOTES_TOLD)
    }
}

impl ReportEntry {
    /// An entry about the constraint as a whole.
    pub fn whole(keyword: impl Into<String>, why: impl Into<String>) -> Self {
        Self { pointer: String::new(), keyword: keyword.into(), why: why.into() }
    }
}
