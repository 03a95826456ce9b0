//! Handshakes beside the accept loop: a bounded number, each for a bounded time.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::Stream;

use super::certificates::{Certificates, names};
use crate::limits::ServeLimits;
use crate::transport::{Connection, Incoming, OneWrite, Peer, Shown};
use crate::watched::Watched;

/// How handshakes have ended since the start.
#[derive(Debug, Default)]
pub(crate) struct HandshakeCounts {
    /// Well.
    pub(crate) done: AtomicU64,
    /// By an error of either side.
    pub(crate) failed: AtomicU64,
    /// They had not ended in time.
    pub(crate) late: AtomicU64,
    /// They made room for others.
    pub(crate) displaced: AtomicU64,
}

type Stranger = Connection<TcpStream>;
type Known = OneWrite<TlsStream<Stranger>>;

/// The connections of a socket whose handshakes have ended well.
///
/// When there are as many handshakes as there may be, the oldest makes room for the next: clients that connect and say nothing cannot keep
/// others waiting, as they would in a queue, and who is as fast as a network is done before that many have come.
pub(crate) struct Secured {
    incoming: Incoming<TcpListener>,
    certificates: Arc<Watched<Certificates>>,
    limits: ServeLimits,
    counts: Arc<HandshakeCounts>,
    under_way: JoinSet<Option<Known>>,
    /// In the order in which they began, ended ones too.
    begun: VecDeque<AbortHandle>,
}

impl Secured {
    pub(crate) fn new(
        incoming: Incoming<TcpListener>,
        certificates: Arc<Watched<Certificates>>,
        limits: ServeLimits,
        counts: Arc<HandshakeCounts>,
    ) -> Self {
        Self { incoming, certificates, limits, counts, under_way: JoinSet::new(), begun: VecDeque::new() }
    }

    fn begin(&mut self, stranger: Stranger) {
        while self.under_way.len() >= self.limits.handshakes.max(1) {
            let Some(oldest) = self.begun.pop_front() else { break };
            if !oldest.is_finished() {
                oldest.abort();
                self.counts.displaced.fetch_add(1, Ordering::Relaxed);
                break;
            }
        }
        // Those at the front that have ended need no place.
        while self.begun.front().is_some_and(AbortHandle::is_finished) {
            self.begun.pop_front();
        }
        let (config, counts) = (Arc::clone(&self.certificates.get().config), Arc::clone(&self.counts));
        let within = self.limits.handshake;
        let handshake = async move {
            match tokio::time::timeout(within, TlsAcceptor::from(config).accept(stranger)).await {
                Ok(Ok(stream)) => {
                    counts.done.fetch_add(1, Ordering::Relaxed);
                    Some(known(stream))
                }
                Ok(Err(error)) => {
                    counts.failed.fetch_add(1, Ordering::Relaxed);
                    tracing::debug!(%error, "a TLS handshake failed");
                    None
                }
                Err(_) => {
                    counts.late.fetch_add(1, Ordering::Relaxed);
                    None
                }
            }
        };
        self.begun.push_back(self.under_way.spawn(handshake));
    }
}

/// A connection with what its client has shown.
fn known(io: TlsStream<Stranger>) -> Known {
    let (stranger, session) = io.get_ref();
    let shown = match session.peer_certificates().and_then(<[_]>::first) {
        Some(certificate) => Shown::Certificate(names(certificate)),
        None => Shown::Nothing,
    };
    let peer = Arc::new(Peer { activity: Arc::clone(stranger.activity()), shown });
    OneWrite { io, peer }
}

impl Stream for Secured {
    type Item = io::Result<Known>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            while let Poll::Ready(Some(ended)) = self.under_way.poll_join_next(context) {
                if let Ok(Some(known)) = ended {
                    return Poll::Ready(Some(Ok(known)));
                }
            }
            match Pin::new(&mut self.incoming).poll_next(context) {
                Poll::Ready(Some((stranger, _))) => self.begin(stranger),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
