//! Finds an index on this host, else asks the daemon, and hands out matchers.
//!
//! ```no_run
//! use gobo_client::Client;
//! use gobo_types::Constraint;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::builder().store("/var/lib/gobo").connect()?;
//! let resolved = client.resolve("o200k_base", &Constraint::regex("[0-9]{4}-[0-9]{2}")).await?;
//! let matcher = client.matcher(&resolved)?;
//! let mut mask = vec![0; matcher.mask_words()];
//! matcher.fill(&mut mask)?;
//! # Ok(())
//! # }
//! ```
//!
//! A file of this host's store is opened without any call, so what was compiled once serves on when the daemon is
//! down. What comes from another host is verified to its last byte before it is published here.
#![forbid(unsafe_code)]

mod admin;
mod batch;
mod builder;
mod client;
mod error;
mod fetch;
mod maps;
mod names;
mod one_frame;
mod texts;
mod thread;

pub use batch::{Batch, BatchItem};
pub use builder::ClientBuilder;
pub use client::{Client, Resolved, Source};
pub use error::ClientError;
pub use one_frame::OneFrame;
