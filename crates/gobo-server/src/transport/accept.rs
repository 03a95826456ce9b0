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

/// A listening socket.
pub(crate) trait Listener {
    type Io;

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<Self::Io>>;
}

impl Listener for UnixListener {
    type Io = LocalAuthority<UnixStream>;

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<Self::Io>> {
        Self::poll_accept(self, context).map_ok(|(stream, _)| LocalAuthority::new(stream))
    }
}

impl Listener for TcpListener {
    type Io = TcpStream;

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<TcpStream>> {
        let (stream, _) = ready!(Self::poll_accept(self, context))?;
        // Without it each reply waits for the acknowledgement of the previous one. A failure means that the client has gone.
        let _ = stream.set_nodelay(true);
        Poll::Ready(Ok(stream))
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
    type Item = io::Result<Connection<L::Io>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            ready!(this.backoff.poll(context));
            match ready!(this.listener.poll_accept(context)) {
                Ok(io) => {
                    this.backoff.end();
                    if let Some(connection) = this.connections.admit(io) {
                        return Poll::Ready(Some(Ok(connection)));
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

        fn poll_accept(&self, _: &mut Context<'_>) -> Poll<io::Result<UnixStream>> {
            self.0.set(self.0.get() - 1);
            Poll::Ready(match self.0.get() {
                0 => Ok(UnixStream::pair().unwrap().0),
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
        assert!(incoming.next().await.unwrap().is_ok());
        // 10, 20, … 640 ms and then a second each.
        let expected: u64 = (0..7).map(|nth| 10 << nth).sum::<u64>() + 3000;
        let waited = begun.elapsed().as_millis();
        assert!((u128::from(expected)..u128::from(expected) + 20).contains(&waited), "{waited}");
    }
}
