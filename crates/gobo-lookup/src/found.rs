//! Vocabularies that a caller names, and indices that it is given.

use std::path::PathBuf;
use std::sync::Arc;

use gobo_artifact::{Index, Vocabulary};
use gobo_types::{Binding, IndexKey};

/// A vocabulary, mapped, with the binding that a caller uses it under.
#[derive(Debug, Clone)]
pub struct Bound {
    /// A name of the store that stands for it, if one is known.
    pub name: Option<String>,
    /// The kind of tokenizer from which it was imported; empty where only its digest is known.
    pub kind: String,
    /// The vocabulary.
    pub vocabulary: Arc<Vocabulary>,
    /// The ids that end a text, and the number of logits.
    pub binding: Arc<Binding>,
}

/// An index, mapped or in memory, with all that a matcher needs.
#[derive(Debug, Clone)]
pub struct Found {
    /// The index.
    pub index: Arc<Index>,
    /// The vocabulary that it was compiled for, as the caller gave it.
    pub bound: Bound,
    /// How it was come by.
    pub source: FoundSource,
    /// Its key.
    pub key: IndexKey,
    /// Its file on this host. `None`: it is in the memory of this process alone.
    pub path: Option<PathBuf>,
}

/// How an index was come by, from the nearest to the farthest.
///
/// ```
/// use gobo_lookup::FoundSource;
///
/// assert_eq!(FoundSource::ALL.map(FoundSource::name), ["map", "host", "remote", "upstream", "compile", "stream", "local"]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FoundSource {
    /// Mapped by this process before, or in its memory.
    Map,
    /// A file of this host, opened now; by the word of its daemon where it was not there when it was looked for.
    Host,
    /// The daemon of this host fetched it from the bucket that it shares with others.
    Remote,
    /// The daemon of this host had it from the pool of daemons that compiles for it.
    Upstream,
    /// The daemon of this host compiled it.
    Compile,
    /// Streamed from a daemon on another host, verified, and published here.
    Stream,
    /// Compiled by the local worker.
    Local,
}

impl FoundSource {
    /// All of them, in their order.
    pub const ALL: [Self; 7] =
        [Self::Map, Self::Host, Self::Remote, Self::Upstream, Self::Compile, Self::Stream, Self::Local];

    /// Its word in counters: `map`, `host`, `remote`, `upstream`, `compile`, `stream` or `local`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::Host => "host",
            Self::Remote => "remote",
            Self::Upstream => "upstream",
            Self::Compile => "compile",
            Self::Stream => "stream",
            Self::Local => "local",
        }
    }
}

impl From<gobo_client::Source> for FoundSource {
    fn from(source: gobo_client::Source) -> Self {
        match source {
            // A client calls `Map` what it finds without a call. It is asked for what was not mapped a moment ago.
            gobo_client::Source::Map | gobo_client::Source::Host => Self::Host,
            gobo_client::Source::Remote => Self::Remote,
            gobo_client::Source::Upstream => Self::Upstream,
            gobo_client::Source::Compile => Self::Compile,
            gobo_client::Source::Stream => Self::Stream,
        }
    }
}

/// An index before it is handed to one of those who asked for it.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub(crate) index: Arc<Index>,
    pub(crate) source: FoundSource,
    pub(crate) path: Option<PathBuf>,
}
