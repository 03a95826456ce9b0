//! The thread of a blocking client.

use std::io;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::Lost;

/// The name of the thread, as the system shows it.
const NAME: &str = "gobo-client";

/// A thread that is started when it is first needed, and ends when nobody needs it any more.
#[derive(Debug, Default)]
pub(crate) struct Background {
    running: Mutex<Option<Arc<Running>>>,
}

impl Background {
    /// The thread, running.
    pub(crate) fn running(&self) -> Result<Arc<Running>, Lost> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*running {
            return Ok(Arc::clone(running));
        }
        let started = Arc::new(Running::start().map_err(Lost::Thread)?);
        *running = Some(Arc::clone(&started));
        Ok(started)
    }
}

/// A thread that runs futures, until the last handle to it is dropped: then it drops those that have not ended.
#[derive(Debug)]
pub(crate) struct Running {
    handle: Handle,
    /// Dropped with the last handle, which the thread notices.
    _stop: oneshot::Sender<()>,
}

impl Running {
    fn start() -> io::Result<Self> {
        let (started, start) = mpsc::sync_channel(1);
        let (stop, stopped) = oneshot::channel::<()>();
        // The runtime is made and dropped on its own thread: neither is allowed on every thread of a caller.
        let run = move || match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => {
                let _ = started.send(Ok(runtime.handle().clone()));
                runtime.block_on(async {
                    let _ = stopped.await;
                });
                // A look-up of a host's name may take long, and nobody wants its result.
                runtime.shutdown_background();
            }
            Err(error) => {
                let _ = started.send(Err(error));
            }
        };
        thread::Builder::new().name(NAME.into()).spawn(run)?;
        let handle = start.recv().map_err(|_| io::Error::other("it panicked"))??;
        Ok(Self { handle, _stop: stop })
    }

    /// Begins a future, which goes on until it ends or is aborted.
    pub(super) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.handle.spawn(future).abort_handle()
    }

    /// Runs a future, and waits for its end on the calling thread. `None`: it has not ended within `timeout`, and is dropped.
    pub(crate) fn run<T: From<Lost> + Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
        timeout: Option<Duration>,
    ) -> Option<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let task = self.spawn(async move {
            // A caller that left does not want the result.
            let _ = sender.send(future.await);
        });
        let ended = match timeout {
            None => receiver.recv().map_err(mpsc::RecvTimeoutError::from),
            Some(timeout) => receiver.recv_timeout(timeout),
        };
        match ended {
            Ok(value) => Some(value),
            Err(mpsc::RecvTimeoutError::Disconnected) => Some(Lost::Panicked.into()),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                task.abort();
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    type Ended = Result<u32, Lost>;

    #[test]
    fn a_future_runs_on_the_named_thread_and_is_waited_for() {
        let background = Background::default();
        let running = background.running().unwrap();
        let name = async { Ok::<_, Lost>(thread::current().name().map(str::to_owned)) };
        assert_eq!(running.run(name, None).unwrap().unwrap().as_deref(), Some(NAME));
        assert!(Arc::ptr_eq(&running, &background.running().unwrap()), "started once");
    }

    #[test]
    fn a_future_that_is_late_is_dropped_and_one_that_panics_is_told() {
        let running = Background::default().running().unwrap();
        let (dropped, told) = mpsc::channel::<()>();
        let late = async move {
            let _dropped = dropped;
            pending::<Ended>().await
        };
        assert!(running.run(late, Some(Duration::from_millis(10))).is_none());
        assert!(told.recv().is_err(), "its sender is gone");
        let panicked: Option<Ended> = running.run(async { panic!("on purpose") }, None);
        assert!(matches!(panicked, Some(Err(Lost::Panicked))));
        assert!(matches!(running.run(async { Ended::Ok(1) }, None), Some(Ok(1))), "the thread goes on");
    }

    #[test]
    fn the_last_handle_ends_the_thread() {
        let running = Background::default().running().unwrap();
        let (dropped, told) = mpsc::channel::<()>();
        running.spawn(async move {
            let _dropped = dropped;
            pending::<()>().await;
        });
        drop(running);
        assert!(told.recv().is_err(), "what ran on it is dropped");
    }
}
