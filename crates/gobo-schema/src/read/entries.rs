//! What is said of keywords while they are read and lowered; [`report`](super::report) makes the report of it.

use crate::read::location::Location;

/// An entry of the report, with its location.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) location: Location,
    pub(crate) keyword: String,
    pub(crate) why: String,
}

/// What became of the keywords that were read.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// The subschemas whose keywords were read, an entry without a keyword for each.
    pub(crate) read: Vec<Entry>,
    /// The keywords that are enforced.
    pub(crate) enforced: Vec<Entry>,
    pub(crate) narrowed: Vec<Entry>,
    pub(crate) annotations: Vec<Entry>,
    pub(crate) widened: Vec<Entry>,
    /// Policies that shut out texts at single places.
    pub(crate) policies: Vec<Entry>,
}
