//! The calls to a bucket, each within its budget, and none that anybody has to wait for longer.

mod absent;
mod address;
mod answer;
mod breaker;
mod call;
mod lookup;
mod remote;
mod shard;
mod shelf;
mod stats;
mod upload;

pub use address::{Bucket, connect};
pub use answer::Answer;
pub use lookup::Lookup;
pub use remote::{Limits, Mode, Remote, RemoteConfig};
pub use shard::Shard;
pub use stats::RemoteStats;
pub use upload::{Content, Put};
