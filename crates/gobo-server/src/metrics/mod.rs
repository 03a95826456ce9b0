//! The metrics of a daemon: its counts and times as Prometheus reads them.

mod export;
mod gauge;
mod remote;
mod upstream;

pub(crate) use export::record;
