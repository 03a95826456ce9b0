//! The client: a store, a connection, and open files.

use std::sync::Arc;
use std::time::Instant;

use gobo_artifact::{Fill, Index, Matcher, MatcherError, Vocabulary};
use gobo_store::Store;
use gobo_types::{IndexKey, VocabularyDigest};
use metrics::histogram;

use crate::daemon::Connection;
use crate::local::{Names, OpenFiles, SchemaDigests};
use crate::resolved::Resolved;

/// Most vocabularies that stay mapped while nobody uses them.
const OPEN_VOCABULARIES: usize = 256;

/// Finds indices: on this host without a call, else through the daemon, else as a stream of bytes that are verified
/// and published here. Any number of tasks and threads may share one behind an [`Arc`]; a file that was mapped once is handed
/// out again without I/O.
///
/// Its calls to the daemon belong to the tokio runtime that made the first of them. What resolves and first masks take is
/// told to the recorder of the crate `metrics` that the program has installed, if any: `gobo_client_resolve_seconds` by source
/// (`map`, `host`, `compile`, `stream`) and `gobo_client_first_mask_seconds`.
///
/// ```
/// use gobo_client::{Client, Constraint, Source};
///
/// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (client, _folder) = doc::client().await;
/// let constraint = Constraint::regex("(yes|no)+");
/// let compiled = client.resolve("tiny", &constraint).await?;
/// assert_eq!(compiled.source, Source::Compile);
/// // Without a call from now on, in this process and in every other one on this host.
/// assert_eq!(client.resolve("tiny", &constraint).await?.source, Source::Map);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Client {
    pub(crate) store: Store,
    pub(crate) daemon: Connection,
    pub(crate) max_file_bytes: u64,
    pub(crate) indices: OpenFiles<IndexKey, Index>,
    pub(crate) vocabularies: OpenFiles<VocabularyDigest, Vocabulary>,
    pub(crate) names: Names,
    pub(crate) texts: SchemaDigests,
}

impl Client {
    pub(crate) fn new(store: Store, daemon: Connection, open_indices: usize, max_file_bytes: u64) -> Self {
        Self {
            store,
            daemon,
            max_file_bytes,
            indices: OpenFiles::new(open_indices),
            vocabularies: OpenFiles::new(OPEN_VOCABULARIES),
            names: Names::default(),
            texts: SchemaDigests::default(),
        }
    }

    /// A client with the same options, and nothing of what this one has in memory: for a process that was forked from this one's.
    /// Reads nothing that has a lock.
    pub(crate) fn fresh(&self) -> Self {
        Self::new(self.store.clone(), self.daemon.fresh(), self.indices.capacity(), self.max_file_bytes)
    }

    /// The store on this host. O(1).
    ///
    /// ```
    /// use gobo_client::Client;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let client = Client::builder().store(folder.path()).connect()?;
    /// assert_eq!(client.store().root(), folder.path());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The daemon's address: `unix:PATH` or `http://HOST:PORT`. O(1).
    ///
    /// ```
    /// use gobo_client::Client;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let client = Client::builder().store(folder.path()).server("http://gobo.example:50051").connect()?;
    /// assert_eq!(client.address(), "http://gobo.example:50051");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn address(&self) -> &str {
        self.daemon.address()
    }

    /// A matcher at the empty text, for the binding that was resolved with. Costs the memory of 256 steps back: O(1).
    ///
    /// # Errors
    /// [`MatcherError`] if the binding does not fit the vocabulary.
    ///
    /// ```
    /// use gobo_client::Constraint;
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let resolved = client.resolve("tiny", &Constraint::regex("a+b")).await?;
    /// let mut matcher = client.matcher(&resolved)?;
    /// matcher.advance_bytes(b"aa")?;
    /// assert!(!matcher.is_complete());
    /// # Ok(())
    /// # }
    /// ```
    pub fn matcher(&self, resolved: &Resolved) -> Result<Matcher, MatcherError> {
        Matcher::new(Arc::clone(&resolved.index), Arc::clone(&resolved.vocabulary), &resolved.binding)
    }

    /// A matcher at the empty text, and its first mask in `row` ([`Matcher::mask_words`] words of 32 bits): what every request
    /// begins with.
    ///
    /// # Errors
    /// [`MatcherError`] if the binding does not fit the vocabulary, `row` has another length, or the index is damaged.
    ///
    /// ```
    /// use gobo_client::{Constraint, Fill};
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let resolved = client.resolve("tiny", &Constraint::regex("a+b")).await?;
    /// // A row of the batch that goes to the device: one bit for each logit.
    /// let mut row = vec![0; resolved.binding.mask_words()];
    /// let (matcher, fill) = client.first_mask(&resolved, &mut row)?;
    /// assert_eq!(fill, Fill::Masked);
    /// assert_eq!(matcher.mask_words(), row.len());
    /// # Ok(())
    /// # }
    /// ```
    pub fn first_mask(&self, resolved: &Resolved, row: &mut [u32]) -> Result<(Matcher, Fill), MatcherError> {
        let begun = Instant::now();
        let matcher = self.matcher(resolved)?;
        let fill = matcher.fill(row)?;
        histogram!("gobo_client_first_mask_seconds").record(begun.elapsed());
        Ok((matcher, fill))
    }
}
