//! Commands that run a daemon or ask one: serve, config check, get, prewarm, pull, remote doctor, demo.

mod collector;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod get;
pub(crate) mod prewarm;
pub(crate) mod pull;
pub(crate) mod serve;
mod supervisor;
mod upstream;
