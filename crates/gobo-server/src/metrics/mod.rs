//! The metrics of a daemon: its counts and times as Prometheus reads them.

mod edge;
mod export;
mod gauge;
mod remote;
mod upstream;

pub(crate) use edge::Edge;
pub(crate) use export::record;
