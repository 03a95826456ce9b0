//! The connections of a socket: a bounded number, each closed once its client has been inactive for too long.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep};

use super::activity::{Activity, Inactivity};
use crate::limits::ServeLimits;

/// The connections of one socket.
#[derive(Debug)]
pub(crate) struct Connections {
    limits: ServeLimits,
    /// Most of them, by now.
    most: AtomicUsize,
    open: Mutex<Open>,
    /// Connections that were closed at once.
    turned_away: AtomicU64,
    /// Connections that were closed for their inactivity, or to make room.
    closed: AtomicU64,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    by_number: HashMap<u64, Handle>,
}

#[derive(Debug)]
struct Handle {
    activity: Arc<Activity>,
    /// Closes it.
    _close: oneshot::Sender<()>,
}

impl Connections {
    pub(crate) fn new(limits: ServeLimits) -> Arc<Self> {
        let [turned_away, closed] = [0; 2].map(AtomicU64::new);
        let most = AtomicUsize::new(limits.connections);
        Arc::new(Self { limits, most, open: Mutex::default(), turned_away, closed })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connections now.
    pub(crate) fn count(&self) -> u64 {
        self.lock().by_number.len() as u64
    }

    /// Connections that were closed at once for want of room.
    pub(crate) fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// Connections that were closed for their inactivity, or to make room.
    pub(crate) fn closed(&self) -> u64 {
        self.closed.load(Ordering::Relaxed)
    }

    /// Has at most so many from the next one on.
    pub(crate) fn allow(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// Admits a new connection. `None`: there is no room, and it is closed.
    pub(crate) fn admit<T>(self: &Arc<Self>, io: T) -> Option<Connection<T>> {
        let (close, closing) = oneshot::channel();
        let activity = Activity::new();
        let mut open = self.lock();
        // More than one may have to go, where fewer are allowed than before.
        while open.by_number.len() >= self.most.load(Ordering::Relaxed) {
            if !self.close_most_inactive(&mut open) {
                self.turned_away.fetch_add(1, Ordering::Relaxed);
                return None;
            }
        }
        let number = open.next;
        open.next += 1;
        open.by_number.insert(number, Handle { activity: Arc::clone(&activity), _close: close });
        drop(open);
        Some(Connection {
            io,
            number,
            connections: Arc::clone(self),
            activity,
            timer: Box::pin(tokio::time::sleep(self.limits.first_call)),
            closing: Some(closing),
        })
    }

    /// Closes the connection whose client has been inactive for longest, if any is inactive: its descriptor is needed.
    pub(crate) fn make_room(&self) -> bool {
        self.close_most_inactive(&mut self.lock())
    }

    fn close_most_inactive(&self, open: &mut Open) -> bool {
        let waited =
            open.by_number.iter().filter_map(|(number, handle)| match handle.activity.inactivity() {
                Inactivity::Idle(still) => Some((true, still, *number)),
                Inactivity::Unfinished(still) | Inactivity::Unread(still) => Some((false, still, *number)),
                Inactivity::None => None,
            });
        // Of equals the oldest.
        let most_inactive =
            waited.max_by_key(|(is_idle, still, number)| (*is_idle, *still, Reverse(*number)));
        let Some((.., number)) = most_inactive else { return false };
        self.closed.fetch_add(1, Ordering::Relaxed);
        // The connection sees that its handle is gone.
        open.by_number.remove(&number).is_some()
    }
}

/// A connection that reports the end of its stream once it is to be closed: its calls end as if the client had gone.
#[derive(Debug)]
pub(crate) struct Connection<T> {
    io: T,
    number: u64,
    connections: Arc<Connections>,
    activity: Arc<Activity>,
    /// When to check its inactivity again.
    timer: Pin<Box<Sleep>>,
    /// `None` once it is to be closed.
    closing: Option<oneshot::Receiver<()>>,
}

impl<T> Connection<T> {
    /// Its calls.
    pub(crate) fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// Whether it is to be closed. If not, its task is woken for the next check.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        let Some(closing) = &mut self.closing else { return true };
        if Pin::new(closing).poll(context).is_ready() {
            self.closing = None;
            return true;
        }
        while self.timer.as_mut().poll(context).is_ready() {
            let Some(wait) = self.patience() else {
                self.connections.closed.fetch_add(1, Ordering::Relaxed);
                self.closing = None;
                return true;
            };
            self.timer.as_mut().reset(Instant::now() + wait);
        }
        false
    }

    /// Time until the next check; `None`: it is to be closed now.
    fn patience(&self) -> Option<Duration> {
        let ServeLimits { unread, idle, .. } = self.connections.limits;
        if !self.activity.has_begun() {
            return None;
        }
        let left = match self.activity.inactivity() {
            Inactivity::Idle(still) => idle.checked_sub(still)?,
            Inactivity::Unread(still) => unread.checked_sub(still)?,
            // Requests have timers of their own.
            Inactivity::Unfinished(_) | Inactivity::None => unread,
        };
        // An answer may become unread at any time. At least a millisecond: inactivity is counted in milliseconds.
        Some(left.min(unread).max(Duration::from_millis(1)))
    }
}

impl<T> Drop for Connection<T> {
    fn drop(&mut self) {
        self.connections.lock().by_number.remove(&self.number);
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Connection<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.closing.is_some() {
            if let Poll::Ready(read) = Pin::new(&mut self.io).poll_read(context, into) {
                return Poll::Ready(read);
            }
            if !self.is_over(context) {
                return Poll::Pending;
            }
        }
        // The end of the stream.
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Connection<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.closing.is_none() {
            // Nobody reads its answers any more.
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.io).poll_shutdown(context))?;
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::UnixStream;

    use super::*;

    fn limits() -> ServeLimits {
        ServeLimits { connections: 2, ..ServeLimits::default() }
    }

    /// Reads until there is nothing more, by a clock that jumps to the next timer.
    async fn lasts(connection: &mut Connection<UnixStream>) -> Duration {
        let begun = Instant::now();
        while connection.read_u8().await.is_ok() {}
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_call_is_not_waited_for() {
        let connections = Connections::new(limits());
        for sent in [0, 10, 1000] {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let mut connection = connections.admit(ours).unwrap();
            theirs.write_all(&vec![0; sent]).await.unwrap();
            let lasted = lasts(&mut connection).await;
            assert!((10..11).contains(&lasted.as_secs()), "{sent} bytes: {lasted:?}");
        }
        assert_eq!((connections.closed(), connections.count()), (3, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_call_is_closed_and_one_with_a_call_is_not() {
        // Inactivity is measured by the real clock, which cannot be paused: limits are zero or practically endless.
        let limits = ServeLimits { idle: Duration::ZERO, unread: Duration::from_secs(3600), ..limits() };
        let connections = Connections::new(limits);
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut connection = connections.admit(ours).unwrap();
        connection.activity.begin();
        let late = tokio::time::timeout(Duration::from_secs(7200), lasts(&mut connection)).await;
        assert!(late.is_err(), "{late:?}");
        connection.activity.end();
        lasts(&mut connection).await;
        assert_eq!(connections.closed(), 1);
    }

    #[tokio::test]
    async fn fewer_connections_hold_from_the_next_one_on() {
        let connections = Connections::new(ServeLimits { connections: 4, ..limits() });
        let pairs: Vec<_> = (0..6).map(|_| UnixStream::pair().unwrap()).collect();
        let mut ours = pairs.into_iter().map(|(ours, _)| ours);
        let open: Vec<_> = ours.by_ref().take(4).map(|ours| connections.admit(ours).unwrap()).collect();
        open[3].activity.begin();
        connections.allow(2);
        assert_eq!(connections.count(), 4, "nobody is cut off at once");
        let fifth = connections.admit(ours.next().unwrap());
        assert!(fifth.is_some() && connections.count() == 2, "{}", connections.count());
        connections.allow(1);
        // The one with a call stays.
        assert!(connections.admit(ours.next().unwrap()).is_none());
        assert_eq!((connections.count(), connections.turned_away()), (1, 1));
    }

    #[tokio::test]
    async fn who_has_no_call_makes_room_and_who_has_one_does_not() {
        let connections = Connections::new(limits());
        let pair = || UnixStream::pair().unwrap();
        let (first, second, third) = (pair(), pair(), pair());
        let mut first = connections.admit(first.0).unwrap();
        let second = connections.admit(second.0).unwrap();
        second.activity.begin();
        let third = connections.admit(third.0).unwrap();
        assert!(first.read_u8().await.is_err(), "it was closed");
        assert_eq!((connections.count(), connections.closed()), (2, 1));
        drop(first);
        assert_eq!(connections.count(), 2);
        third.activity.begin();
        assert!(connections.admit(pair().0).is_none());
        assert_eq!(connections.turned_away(), 1);
        second.activity.mark_unfinished(true);
        assert!(connections.admit(pair().0).is_some(), "who does not go on makes room too");
        let second = connections.admit(pair().0).unwrap();
        second.activity.begin();
        third.activity.end();
        assert!(connections.make_room() && !connections.make_room());
        drop((second, third));
        assert_eq!(connections.count(), 0);
    }

    #[test]
    fn an_answer_that_is_not_read_counts_from_its_last_piece() {
        let activity = Activity::new();
        assert!(matches!(activity.inactivity(), Inactivity::Idle(_)));
        activity.begin();
        assert_eq!(activity.inactivity(), Inactivity::None);
        activity.mark_unread(true);
        assert!(matches!(activity.inactivity(), Inactivity::Unread(_)));
        activity.mark_unread(false);
        assert_eq!(activity.inactivity(), Inactivity::None);
    }
}
