//! The methods of a client that call the daemon, and the calls that a daemon sends on.

mod admin;
mod batch;
mod forward;
mod import;
mod resolve;

pub use batch::{Batch, BatchItem};
pub use forward::{ForwardedRequest, Forwarder};
pub use import::VocabularyImport;
