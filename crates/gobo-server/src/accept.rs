//! New connections, as long as there are descriptors for them.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::time::{Sleep, sleep};
use tokio_stream::Stream;

use crate::connection::{Connection, Connections};

/// How long nobody is let in at first after the system gave no connection, and at most: it says so at once each time, for as long
/// as the one that it could not give waits.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A socket that connections come from.
pub(crate) trait Listener {
    type Io;

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<Self::Io>>;
}

impl Listener for UnixListener {
    type Io = UnixStream;

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<UnixStream>> {
        Self::poll_accept(self, context).map_ok(|(stream, _)| stream)
    }
}

impl Listener for TcpListener {
    type Io = TcpStream;

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<TcpStream>> {
        let (stream, _) = ready!(Self::poll_accept(self, context))?;
        // Else each reply waits for the acknowledgement of the one before. A connection that has gone already ends by itself.
        let _ = stream.set_nodelay(true);
        Poll::Ready(Ok(stream))
    }
}

/// When to ask the system again that has refused.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    timer: Option<Pin<Box<Sleep>>>,
    /// How long the last one was; `None` while all is well.
    last: Option<Duration>,
}

impl Pause {
    /// Ready once a pause is over, and where there is none.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(timer) = &mut self.timer {
            ready!(timer.as_mut().poll(context));
            self.timer = None;
        }
        Poll::Ready(())
    }

    /// The system gave a connection.
    pub(crate) fn end(&mut self) {
        self.last = None;
    }

    /// The system refused: each time the pause is twice as long. Says so at the first.
    pub(crate) fn begin(&mut self, error: &io::Error) {
        if self.last.is_none() {
            tracing::warn!(%error, "no connection can be accepted; those that are open are served");
        }
        let pause = self.last.map_or(FIRST_PAUSE, |last| (last * 2).min(LONGEST_PAUSE));
        self.last = Some(pause);
        self.timer = Some(Box::pin(sleep(pause)));
    }
}

/// Whether an error is about one connection that had gone before it was accepted.
pub(crate) fn is_of_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    )
}

/// The connections of one socket. It does not end.
pub(crate) struct Incoming<L> {
    listener: L,
    connections: Arc<Connections>,
    pause: Pause,
}

impl<L> Incoming<L> {
    pub(crate) fn new(listener: L, connections: Arc<Connections>) -> Self {
        Self { listener, connections, pause: Pause::default() }
    }
}

impl<L: Listener + Unpin> Stream for Incoming<L> {
    type Item = io::Result<Connection<L::Io>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            ready!(this.pause.poll(context));
            match ready!(this.listener.poll_accept(context)) {
                Ok(io) => {
                    this.pause.end();
                    if let Some(connection) = this.connections.admit(io) {
                        return Poll::Ready(Some(Ok(connection)));
                    }
                }
                Err(error) if is_of_connection(&error) => {}
                Err(error) => {
                    // Out of descriptors, most likely: one that nobody uses may be one too many.
                    this.connections.make_room();
                    this.pause.begin(&error);
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
