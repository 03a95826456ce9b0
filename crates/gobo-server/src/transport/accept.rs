//! Accepts connections, as long as the system has descriptors for them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio_stream::Stream;

use super::authority::LocalAuthority;
use super::backoff::{Backoff, is_of_connection};
use super::connection::{Connection, Connections};
use super::one_write::OneWrite;
use super::peer::{Peer, Shown};

/// A listening socket.
pub(crate) trait Listener {
    type Io;

    /// A connection, and what the system says of its other end.
    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(Self::Io, Shown)>>;
}

impl Listener for UnixListener {
    type Io = LocalAuthority<UnixStream>;

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(Self::Io, Shown)>> {
        let (stream, _) = ready!(Self::poll_accept(self, context))?;
        // The user that connected, whoever uses the descriptor since.
        let shown = stream
            .peer_cred()
            .map_or(Shown::Nothing, |process| Shown::Process { uid: process.uid(), gid: process.gid() });
        Poll::Ready(Ok((LocalAuthority::new(stream), shown)))
    }
}

impl Listener for TcpListener {
    type Io = TcpStream;

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(TcpStream, Shown)>> {
        let (stream, _) = ready!(Self::poll_accept(self, context))?;
        // Without it each reply waits for the acknowledgement of the previous one. A failure means that the client has gone.
        let _ = stream.set_nodelay(true);
        Poll::Ready(Ok((stream, Shown::Nothing)))
    }
}

/// The stream of connections of one socket. It has no end.
pub(crate) struct Incoming<L> {
    listener: L,
    connections: Arc<Connections>,
    backoff: Backoff,
}

impl<L> Incoming<L> {
    pub(crate) fn new(listener: L, connections: Arc<Connections>) -> Self {
        Self { listener, connections, backoff: Backoff::default() }
    }
}

impl<L: Listener + Unpin> Stream for Incoming<L> {
    type Item = (Connection<L::Io>, Shown);

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            ready!(this.backoff.poll(context));
            match ready!(this.listener.poll_accept(context)) {
                Ok((io, shown)) => {
                    this.backoff.end();
                    if let Some(connection) = this.connections.admit(io) {
                        return Poll::Ready(Some((connection, shown)));
                    }
                }
                Err(error) if is_of_connection(&error) => {}
                Err(error) => {
                    // Most likely out of descriptors: an unused connection gives its own back.
                    this.connections.make_room();
                    this.backoff.begin(&error);
                }
            }
        }
    }
}

/// The same, for the transport: what arrives is what is read.
pub(crate) struct InThePlain<L>(pub(crate) Incoming<L>);

impl<L: Listener + Unpin> Stream for InThePlain<L> {
    type Item = io::Result<OneWrite<Connection<L::Io>>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let accepted = ready!(Pin::new(&mut self.0).poll_next(context));
        Poll::Ready(accepted.map(|(io, shown)| {
            let peer = Arc::new(Peer { activity: Arc::clone(io.activity()), shown });
            Ok(OneWrite { io, peer })
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::time::Instant;
    use tokio_stream::StreamExt as _;

    use super::*;
    use crate::limits::ServeLimits;

    /// A socket without descriptors, until it has been asked so often.
    struct Refusing(Cell<u32>);

    impl Listener for Refusing {
        type Io = UnixStream;

        fn poll_accept(&self, _: &mut Context<'_>) -> Poll<io::Result<(UnixStream, Shown)>> {
            self.0.set(self.0.get() - 1);
            Poll::Ready(match self.0.get() {
                0 => Ok((UnixStream::pair().unwrap().0, Shown::Nothing)),
                1 => Err(io::ErrorKind::ConnectionAborted.into()),
                _ => Err(io::Error::from_raw_os_error(24)),
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_system_that_refuses_is_asked_less_and_less_often() {
        let connections = Connections::new(ServeLimits::default());
        let mut incoming = Incoming::new(Refusing(Cell::new(12)), connections);
        let begun = Instant::now();
        assert!(incoming.next().await.is_some());
        // 10, 20, … 640 ms and then a second each.
        let expected: u64 = (0..7).map(|nth| 10 << nth).sum::<u64>() + 3000;
        let waited = begun.elapsed().as_millis();
        assert!((u128::from(expected)..u128::from(expected) + 20).contains(&waited), "{waited}");
    }
}
