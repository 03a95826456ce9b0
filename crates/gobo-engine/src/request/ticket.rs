use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// A claim on a result that somebody else works on.
///
/// A thread waits for it with [`Ticket::wait`]; a task awaits it, on any executor. Dropping it says that the result is
/// wanted no more: see [`Engine::submit`](crate::Engine::submit) for what that stops.
#[must_use = "dropping a ticket says that its result is not wanted"]
pub struct Ticket<T>(State<T>);

enum State<T> {
    Ready(Option<T>),
    Pending(Pin<Box<dyn Future<Output = T> + Send>>),
}

impl<T> Ticket<T> {
    pub(crate) fn ready(value: T) -> Self {
        Self(State::Ready(Some(value)))
    }

    pub(crate) fn pending(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self(State::Pending(Box::pin(future)))
    }

    /// Blocks this thread until the result is there. Not for an executor's threads, which await the ticket instead,
    /// nor for the engine's own workers, which may be what it waits for.
    pub fn wait(self) -> T
    where
        T: Unpin,
    {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        let mut ticket = self;
        loop {
            match Pin::new(&mut ticket).poll(&mut context) {
                Poll::Ready(value) => return value,
                Poll::Pending => thread::park(),
            }
        }
    }
}

impl<T: Unpin> Future for Ticket<T> {
    type Output = T;

    /// # Panics
    /// If it is polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut self.0 {
            State::Ready(value) => Poll::Ready(value.take().expect("a ticket is not polled after its end")),
            State::Pending(future) => future.as_mut().poll(context),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn a_thread_waits_for_what_another_sends() {
        let (sender, receiver) = oneshot::channel();
        let ticket = Ticket::pending(async { receiver.await.unwrap() });
        let other = thread::spawn(move || sender.send(7).unwrap());
        assert_eq!(ticket.wait(), 7);
        other.join().unwrap();
        assert_eq!(Ticket::ready(8).wait(), 8);
    }
}
