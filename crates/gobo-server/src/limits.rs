//! Limits of all callers together.

use std::time::Duration;

/// Limits of all callers of a daemon together, whatever they ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServeLimits {
    /// Most connections of the Unix socket, and of TCP as well. Beyond, the connection whose client has been inactive for longest
    /// makes room: one without a call, else one with unfinished requests or unread answers. If the daemon works for all of them,
    /// the new one is closed. Default 1,024, some 30 KiB each.
    pub connections: usize,
    /// Most calls at a time on one connection; a client waits before it sends more. Default 100, the least that clients expect; a
    /// call that was turned away costs some 2 KiB until its client has read the status.
    pub streams: u32,
    /// Most calls at a time on all connections; more are turned away, except the first four of each connection. Default 4,096,
    /// some 16 KiB each.
    pub calls: usize,
    /// Most bytes that requests hold from their first byte to their answer, decoded or not, and long answers until they are
    /// read. A quarter is kept for requests below 64 KiB; more are turned away, except requests of up to 8 KiB. Default 128 MiB.
    pub request_bytes: u64,
    /// How long a client may take for the preface of HTTP/2, before its connection is closed. Default 10 seconds.
    pub handshake: Duration,
    /// How long a request may take to arrive whole, from its head. Default 30 seconds.
    pub body: Duration,
    /// How long a client may leave an answer unread, before its connection is closed. Default 60 seconds.
    pub unread: Duration,
    /// How long a connection stays open without a call. Default 10 minutes.
    pub idle: Duration,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            connections: 1024,
            streams: 100,
            calls: 4096,
            request_bytes: 128 << 20,
            handshake: Duration::from_secs(10),
            body: Duration::from_secs(30),
            unread: Duration::from_secs(60),
            idle: Duration::from_secs(600),
        }
    }
}
