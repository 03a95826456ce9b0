//! The counts of connections, calls and bytes that callers take of a daemon.

use std::sync::Arc;

use super::gate::Gate;
use crate::limits::ServeLimits;
use crate::tls::HandshakeCounts;
use crate::transport::Connections;

/// The accounts that callers are admitted by.
#[derive(Debug, Clone)]
pub(crate) struct Usage {
    /// All calls.
    pub(crate) gate: Arc<Gate>,
    /// The connections of the Unix socket.
    pub(crate) unix: Arc<Connections>,
    /// Those of TCP, counted apart: a caller that fills one socket leaves the other free.
    pub(crate) tcp: Arc<Connections>,
    /// The TLS handshakes of TCP.
    pub(crate) handshakes: Arc<HandshakeCounts>,
}

/// The numbers of [`Usage`] at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UsageNow {
    /// Connections that are open.
    pub(crate) connections: u64,
    /// Connections since the start that were closed at once for want of room.
    pub(crate) connections_turned_away: u64,
    /// Connections since the start that were closed because nothing came of them.
    pub(crate) connections_closed: u64,
    /// Calls under way.
    pub(crate) calls: u64,
    /// Calls since the start that were turned away for want of room.
    pub(crate) calls_turned_away: u64,
    /// Bytes that requests and long answers hold.
    pub(crate) request_bytes: u64,
}

impl Usage {
    pub(crate) fn new(limits: ServeLimits) -> Self {
        let [unix, tcp] = [0; 2].map(|_| Connections::new(limits));
        Self { gate: Gate::new(limits), unix, tcp, handshakes: Arc::default() }
    }

    /// Takes over most connections, calls and bytes.
    pub(crate) fn allow(&self, limits: &ServeLimits) {
        self.gate.allow(limits.calls, limits.request_bytes);
        for connections in [&self.unix, &self.tcp] {
            connections.allow(limits.connections);
        }
    }

    pub(crate) fn now(&self) -> UsageNow {
        let Self { gate, unix, tcp, .. } = self;
        UsageNow {
            connections: unix.count() + tcp.count(),
            connections_turned_away: unix.turned_away() + tcp.turned_away(),
            connections_closed: unix.closed() + tcp.closed(),
            calls: gate.calls(),
            calls_turned_away: gate.turned_away(),
            request_bytes: gate.bytes(),
        }
    }
}
