//! Limits of all callers together.

use std::time::Duration;

/// Limits of all callers of a daemon together, whatever they ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServeLimits {
    /// Most connections of the Unix socket, and of TCP as well. Beyond, the connection whose client has been inactive for longest
    /// makes room: one without a call, else one with unfinished requests or unread answers. If the daemon works for all of them,
    /// the new one is closed. Default 1,024, some 30 KiB each.
    pub connections: usize,
    /// Most calls at a time on one connection; a client waits before it sends more. Default 256; a call that was turned away costs some
    /// 2 KiB until its client has read the status.
    pub streams: u32,
    /// Most calls at a time on all connections; more are turned away, except the first four of each connection. Default 4,096,
    /// some 16 KiB each.
    pub calls: usize,
    /// Most bytes that requests hold from their first byte to their answer, decoded or not, and long answers until they are
    /// read. A quarter is kept for requests below 64 KiB; more are turned away, except requests of up to 8 KiB. Default 128 MiB.
    pub request_bytes: u64,
    /// Most files at a time that are sent to callers. More are turned away. Default 256, each with a chunk of 1 MiB at most,
    /// which counts in `request_bytes`.
    pub fetches: usize,
    /// Most TLS handshakes at a time; the one that has lasted longest makes room. Default 256.
    pub handshakes: usize,
    /// How long a TLS handshake may take. Default 5 seconds.
    pub handshake: Duration,
    /// How long a client may take from connecting to its first call, before its connection is closed. Default 10 seconds.
    pub first_call: Duration,
    /// How long a request may take to arrive whole, from its head. Default 30 seconds.
    pub body: Duration,
    /// How long a client may leave an answer unread, before its connection is closed. Default 60 seconds.
    pub unread: Duration,
    /// How long a connection stays open without a call. Default 10 minutes.
    pub idle: Duration,
    /// How old a connection over TCP may become: then its client is told to make another one, and shows anew who it is. Default 1 hour.
    pub age: Duration,
    /// How long calls of such a connection may still take. Default 30 seconds.
    pub age_grace: Duration,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            connections: 1024,
            streams: 256,
            calls: 4096,
            request_bytes: 128 << 20,
            fetches: 256,
            handshakes: 256,
            handshake: Duration::from_secs(5),
            first_call: Duration::from_secs(10),
            body: Duration::from_secs(30),
            unread: Duration::from_secs(60),
            idle: Duration::from_secs(600),
            age: Duration::from_secs(3600),
            age_grace: Duration::from_secs(30),
        }
    }
}
