//! What there is to say of a bucket: where it is, how it is used, what is put there and found, what is counted.

mod address;
mod answer;
mod config;
mod put;
mod shard;
mod stats;

pub use address::{Bucket, connect};
pub use answer::Answer;
pub(crate) use answer::OverBudgetContent;
pub use config::{Limits, Mode, RemoteConfig};
pub use put::{Content, Put};
pub use shard::Shard;
pub use stats::RemoteStats;
pub(crate) use stats::{Counters, add, count};
