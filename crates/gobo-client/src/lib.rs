//! Finds an index on this host, else asks the daemon, and hands out matchers.
//!
//! ```
//! use gobo_client::{Client, Constraint};
//!
//! # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (_client, folder) = doc::client().await;
//! # let store = folder.path();
//! let client = Client::builder().store(store).connect()?;
//! let resolved = client.resolve("tiny", &Constraint::regex("[0-9]{4}-[0-9]{2}")).await?;
//! let matcher = client.matcher(&resolved)?;
//! let mut mask = vec![0; matcher.mask_words()];
//! matcher.fill(&mut mask)?;
//! # Ok(())
//! # }
//! ```
//!
//! A program that is not made of tasks, such as an inference engine's scheduler, takes a [`BlockingClient`]: its calls block, or give
//! a [`Pending`] to look at now and then.
//!
//! A file of this host's store is opened without any call, so an index that was compiled once serves on while the daemon
//! is down. A file from another host is verified to its last byte before it is published here.
#![forbid(unsafe_code)]

mod answer;
mod background;
mod blocking;
mod builder;
mod calls;
mod client;
mod daemon;
mod error;
mod find;
mod local;
mod resolved;
mod vocabulary_ref;

pub use answer::{
    CatalogRebuild, Checked, DaemonStatus, GarbageEvent, GarbageIndex, GarbageSummary, IndexDescription,
    IndexEntry, IndexLocation, PinnedIndex, RemoteStatus, Source, UpstreamStatus, VocabularyInfo,
};
pub use background::{Lost, Pending};
pub use blocking::BlockingClient;
pub use builder::ClientBuilder;
pub use calls::{Batch, BatchItem, ForwardedRequest, Forwarder, VocabularyImport};
pub use client::Client;
pub use daemon::{Credentials, OneFrame};
pub use error::ClientError;
pub use gobo_artifact::{BatchError, Fill, Index, IndexClass, Matcher, MatcherError, Vocabulary, fill_batch};
pub use gobo_store::{NamedVocabulary, Store, StoreError};
pub use gobo_types::{
    ArtifactDigest, Binding, CompileError, CompileLimits, Constraint, ConstraintDigest, ErrorKind, IndexKey,
    OverBudget, Refusal, Report, ReportEntry, SchemaDocument, SchemaOptions, TokenId, VocabularyDigest,
};
pub use resolved::Resolved;
pub use vocabulary_ref::VocabularyRef;
