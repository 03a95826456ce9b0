//! The client: a store, a connection, and what was found before.

use std::sync::Arc;
use std::time::Instant;

use gobo_artifact::{Fill, Index, Matcher, MatcherError, Vocabulary};
use gobo_store::Store;
use gobo_types::{IndexKey, VocabularyDigest};
use metrics::histogram;

use crate::daemon::Connection;
use crate::local::{Maps, Names, Texts};
use crate::resolved::Resolved;

/// Most vocabularies that stay mapped while nobody uses them.
const OPEN_VOCABULARIES: usize = 256;

/// Finds indices: on this host without a call, else through the daemon, else as a stream of bytes that are verified
/// and published here. Any number of tasks and threads may share one behind an [`Arc`]; what was mapped once is handed
/// out again without I/O.
///
/// Its calls to the daemon belong to the tokio runtime that made the first of them. What resolves and first masks take is
/// told to the recorder of the crate `metrics` that the program has installed, if any: `gobo_client_resolve_seconds` by source
/// (`map`, `host`, `compile`, `stream`) and `gobo_client_first_mask_seconds`.
#[derive(Debug)]
pub struct Client {
    pub(crate) store: Store,
    pub(crate) daemon: Connection,
    pub(crate) max_file_bytes: u64,
    pub(crate) indices: Maps<IndexKey, Index>,
    pub(crate) vocabularies: Maps<VocabularyDigest, Vocabulary>,
    pub(crate) names: Names,
    pub(crate) texts: Texts,
}

impl Client {
    pub(crate) fn new(store: Store, daemon: Connection, open_indices: usize, max_file_bytes: u64) -> Self {
        Self {
            store,
            daemon,
            max_file_bytes,
            indices: Maps::new(open_indices),
            vocabularies: Maps::new(OPEN_VOCABULARIES),
            names: Names::default(),
            texts: Texts::default(),
        }
    }

    /// The store on this host. O(1).
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The daemon's address: `unix:PATH` or `http://HOST:PORT`. O(1).
    pub fn address(&self) -> &str {
        self.daemon.address()
    }

    /// A matcher at the start of the constraint, for the default binding.
    ///
    /// # Errors
    /// [`MatcherError`] if the binding does not fit the vocabulary.
    pub fn matcher(&self, resolved: &Resolved) -> Result<Matcher, MatcherError> {
        Matcher::new(Arc::clone(&resolved.index), Arc::clone(&resolved.vocabulary), &resolved.binding)
    }

    /// A matcher at the start of the constraint, and its first mask in `row` ([`Matcher::mask_words`] words): what every
    /// request begins with.
    ///
    /// # Errors
    /// [`MatcherError`] if the binding does not fit the vocabulary, `row` has another length, or the index is damaged.
    pub fn first_mask(&self, resolved: &Resolved, row: &mut [u32]) -> Result<(Matcher, Fill), MatcherError> {
        let begun = Instant::now();
        let matcher = self.matcher(resolved)?;
        let fill = matcher.fill(row)?;
        histogram!("gobo_client_first_mask_seconds").record(begun.elapsed());
        Ok((matcher, fill))
    }
}
