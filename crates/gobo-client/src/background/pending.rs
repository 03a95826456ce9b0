//! A call under way.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use once_cell::race::OnceBox;
use tokio::task::AbortHandle;

use super::process::Owned;
use super::{Lost, Running};

/// A call under way on the thread of a [`BlockingClient`](crate::BlockingClient): polled, waited for, or dropped.
///
/// It always ends with a value. If the call panics, or this process is a fork of the one that made it, the value is made of a
/// [`Lost`], which is what `T: From<Lost>` is for. Clones are handles to one call, for any number of threads; when the last is
/// dropped the call is cancelled, and the daemon notices that its caller left.
///
/// ```
/// use std::time::Duration;
/// use gobo_client::{Client, Constraint};
///
/// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (_client, folder) = doc::client().await;
/// let client = Client::builder().store(folder.path()).connect_blocking()?;
/// let pending = client.request("tiny", Constraint::regex("[a-z]{1,20}"));
/// // A scheduler looks at each of its steps, and goes on with other requests meanwhile.
/// if pending.poll().is_none() {
///     println!("not yet");
/// }
/// let ended = pending.wait(Some(Duration::from_secs(60))).expect("a minute is enough");
/// assert!(ended.is_ok());
/// # Ok(())
/// # }
/// ```
pub struct Pending<T> {
    call: Arc<Call<T>>,
    /// The task; none where the value was there from the beginning.
    task: Option<Owned<Task>>,
}

/// What the caller and the client's thread share.
struct Call<T> {
    /// Set once.
    value: OnceBox<T>,
    /// Held for no longer than it takes to look at `value`.
    waiting: Mutex<()>,
    ended: Condvar,
}

/// The side of the callers: dropped with their last handle.
#[derive(Debug)]
struct Task {
    abort: AbortHandle,
    /// So that the thread lives at least as long as the call.
    _running: Arc<Running>,
}

impl Drop for Task {
    fn drop(&mut self) {
        self.abort.abort();
    }
}

impl<T> Call<T> {
    fn open() -> Self {
        Self { value: OnceBox::new(), waiting: Mutex::new(()), ended: Condvar::new() }
    }

    fn end(&self, value: T) {
        if self.value.set(Box::new(value)).is_ok() {
            // Whoever saw no value before is waiting now.
            drop(self.waiting.lock());
            self.ended.notify_all();
        }
    }
}

/// The side of the client's thread: ends the call when it is dropped, whatever happened before.
struct Ending<T: From<Lost>>(Arc<Call<T>>);

impl<T: From<Lost>> Ending<T> {
    fn end(&self, value: T) {
        self.0.end(value);
    }
}

impl<T: From<Lost>> Drop for Ending<T> {
    fn drop(&mut self) {
        if self.0.value.get().is_none() {
            // By a panic, or because no handle is left and nobody sees it.
            self.end(Lost::Panicked.into());
        }
    }
}

impl<T: From<Lost> + Send + Sync + 'static> Pending<T> {
    /// Begins a call.
    pub(crate) fn begin(running: Arc<Running>, future: impl Future<Output = T> + Send + 'static) -> Self {
        let call = Arc::new(Call::open());
        let ending = Ending(Arc::clone(&call));
        let abort = running.spawn(async move {
            let value = future.await;
            ending.end(value);
        });
        Self { call, task: Some(Owned::new(Task { abort, _running: running })) }
    }
}

impl<T: From<Lost>> Pending<T> {
    /// A call that has ended already.
    pub(crate) fn ended(value: T) -> Self {
        let call = Call::open();
        call.end(value);
        Self { call: Arc::new(call), task: None }
    }

    /// The value, if the call has ended. Takes no lock: one atomic load, and while there is no value yet a system call
    /// (`getpid`), since after a fork none will come.
    pub fn poll(&self) -> Option<&T> {
        let value = self.call.value.get();
        if value.is_none() && self.task.as_ref().is_some_and(|task| !task.is_here()) {
            return Some(self.call.value.get_or_init(|| Box::new(Lost::Forked.into())));
        }
        value
    }

    /// The value, once the call has ended; `None` if it has not after `timeout`. Without a timeout it waits as long as it takes.
    /// The call goes on after a timeout, and may be waited for again. Any number of threads may wait at once.
    ///
    /// A future that runs on the thread of a client must not wait for another call of the same client: it would wait for itself.
    pub fn wait(&self, timeout: Option<Duration>) -> Option<&T> {
        if let Some(value) = self.poll() {
            return Some(value);
        }
        let waiting = self.call.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let is_open = |(): &mut ()| self.call.value.get().is_none();
        match timeout {
            None => drop(self.call.ended.wait_while(waiting, is_open)),
            Some(timeout) => drop(self.call.ended.wait_timeout_while(waiting, timeout, is_open)),
        }
        self.call.value.get()
    }
}

impl<T> Clone for Pending<T> {
    fn clone(&self) -> Self {
        Self { call: Arc::clone(&self.call), task: self.task.clone() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("value", &self.call.value.get()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use tokio::sync::oneshot;

    use super::*;
    use crate::background::Background;

    type Ended = Result<u32, Lost>;

    fn running() -> Arc<Running> {
        Background::default().running().unwrap()
    }

    #[test]
    fn many_threads_wait_for_one_value() {
        let (sender, receiver) = oneshot::channel();
        let pending = Pending::begin(running(), async { Ended::Ok(receiver.await.unwrap()) });
        assert!(pending.poll().is_none());
        assert!(pending.wait(Some(Duration::from_millis(1))).is_none());
        thread::scope(|scope| {
            for nth in 0..16 {
                let pending = pending.clone();
                let timeout = (nth % 2 == 0).then_some(Duration::MAX);
                scope.spawn(move || assert!(matches!(pending.wait(timeout), Some(Ok(7)))));
            }
            sender.send(7).unwrap();
        });
        assert!(matches!(pending.poll(), Some(Ok(7))));
    }

    #[test]
    fn a_panic_ends_the_call_and_a_ready_value_needs_none() {
        let pending: Pending<Ended> = Pending::begin(running(), async { panic!("on purpose") });
        assert!(matches!(pending.wait(None), Some(Err(Lost::Panicked))));
        assert!(matches!(Pending::<Ended>::ended(Ok(1)).poll(), Some(Ok(1))));
    }

    #[test]
    fn the_last_handle_cancels_the_call_and_no_other_does() {
        let (dropped, told) = mpsc::channel::<()>();
        let pending: Pending<Ended> = Pending::begin(running(), async move {
            let _dropped = dropped;
            std::future::pending().await
        });
        drop(pending.clone());
        assert!(matches!(told.try_recv(), Err(mpsc::TryRecvError::Empty)));
        drop(pending);
        assert!(told.recv().is_err(), "the future is dropped");
    }

    #[test]
    fn a_call_outlives_the_handle_to_its_thread() {
        let (sender, receiver) = oneshot::channel();
        let background = Background::default();
        let pending =
            Pending::begin(background.running().unwrap(), async { Ended::Ok(receiver.await.unwrap()) });
        drop(background);
        sender.send(7).unwrap();
        assert!(matches!(pending.wait(None), Some(Ok(7))));
    }
}
