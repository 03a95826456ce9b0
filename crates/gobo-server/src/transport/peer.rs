//! The other end of a connection: what it does, and what it has shown of itself.

use std::sync::Arc;

use super::activity::Activity;

/// The other end of a connection, for every call on it.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Its calls.
    pub(crate) activity: Arc<Activity>,
    /// What it has shown.
    pub(crate) shown: Shown,
}

/// What the transport knows of who has connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shown {
    /// The user and the group of a process of this host, as the system says.
    Process {
        /// Its effective user.
        uid: u32,
        /// Its effective group.
        gid: u32,
    },
    /// Nothing: a connection over TCP, encrypted or not.
    Nothing,
    /// The names in its certificate, which was verified: those of the kinds URI and DNS, in their order.
    Certificate(Vec<String>),
}
