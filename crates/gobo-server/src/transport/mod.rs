//! Transport: the sockets that a daemon listens on, and the connections on them.

mod accept;
mod activity;
mod authority;
mod backoff;
mod connection;
mod listen;
mod one_write;
mod peer;

pub(crate) use accept::{InThePlain, Incoming};
pub(crate) use activity::Activity;
#[cfg(test)]
pub(crate) use activity::Inactivity;
pub(crate) use backoff::{Backoff, is_of_connection};
pub(crate) use connection::{Connection, Connections};
pub(crate) use listen::{SocketFile, adopt_tcp, adopt_unix, listen_on_each, listen_on_tcp, listen_on_unix};
pub(crate) use one_write::OneWrite;
pub(crate) use peer::{Peer, Shown};
