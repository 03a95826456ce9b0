//! Exponential backoff of a socket on which the system accepts nothing.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

/// The first delay after the system gave no connection, and the longest. Without a delay the system refuses again at once, for as
/// long as the connection that it could not give waits.
const FIRST_DELAY: Duration = Duration::from_millis(10);
const LONGEST_DELAY: Duration = Duration::from_secs(1);

/// When to ask the system again.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    timer: Option<Pin<Box<Sleep>>>,
    /// The last delay; `None` after a success.
    last: Option<Duration>,
}

impl Backoff {
    /// Ready once the delay is over, and at once where there is none.
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

    /// The system refused: doubles the delay. Logs the first refusal.
    pub(crate) fn begin(&mut self, error: &io::Error) {
        if self.last.is_none() {
            tracing::warn!(%error, "no connection can be accepted; those that are open are served");
        }
        let delay = self.last.map_or(FIRST_DELAY, |last| (last * 2).min(LONGEST_DELAY));
        self.last = Some(delay);
        self.timer = Some(Box::pin(sleep(delay)));
    }
}

/// Whether an error concerns one connection, which ended before it was accepted.
pub(crate) fn is_of_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    )
}
