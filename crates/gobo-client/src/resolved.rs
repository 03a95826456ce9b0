//! An index that a client found, with all that a matcher needs.

use std::path::PathBuf;
use std::sync::Arc;

use gobo_artifact::{Index, Vocabulary};
use gobo_types::{Binding, IndexKey};

use crate::answer::Source;

/// An index on this host, mapped, with all that a matcher needs.
///
/// ```
/// use gobo_client::{Constraint, Matcher};
///
/// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (client, _folder) = doc::client().await;
/// let resolved = client.resolve("tiny", &Constraint::regex("a+b")).await?;
/// // What `Client::matcher` does; another binding may stand here.
/// let matcher = Matcher::new(resolved.index.clone(), resolved.vocabulary.clone(), &resolved.binding)?;
/// assert!(!matcher.is_complete());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The index.
    pub index: Arc<Index>,
    /// The vocabulary that it was compiled for.
    pub vocabulary: Arc<Vocabulary>,
    /// The default binding of the vocabulary's name; the caller's where the vocabulary was asked for by digest.
    pub binding: Arc<Binding>,
    /// Where it was found.
    pub source: Source,
    /// The index key.
    pub key: IndexKey,
    /// The file on this host.
    pub path: PathBuf,
    /// The time of this resolve, in microseconds.
    pub resolve_us: u64,
}
