//! Numbers for people: counters of requests and workers, gauges of the store.

mod counters;
mod store;

pub use counters::Stats;
pub(crate) use counters::{COMPILE, Counters, QUEUE, RESOLVE, record};
pub(crate) use store::Gauges;
pub use store::StoreStats;
