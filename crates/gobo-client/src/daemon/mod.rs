//! The daemon's end of the wire: one connection, and the streams that come over it.

mod connection;
mod credentials;
mod fetch;
mod one_frame;
mod repeat;
#[cfg(feature = "tls")]
mod tls;

pub(crate) use connection::{Connection, OnBehalf, TraceParent, wanted};
pub use credentials::Credentials;
pub(crate) use fetch::{Fetched, announced_digest, receive};
pub use one_frame::OneFrame;
