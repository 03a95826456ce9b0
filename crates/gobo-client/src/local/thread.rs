//! A thread for a job that waits for a disk.

use std::thread;

use tokio::sync::oneshot;

use crate::error::ClientError;

/// Runs a job that waits for a disk on a thread of its own: publishing is rare, and an executor's thread must not sync files.
pub(crate) async fn on_thread<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ClientError> {
    let (sender, receiver) = oneshot::channel();
    let run = move || {
        // A caller that left does not want the result.
        let _ = sender.send(job());
    };
    thread::Builder::new().name("gobo-publish".into()).spawn(run).map_err(ClientError::Thread)?;
    let gone = |_| ClientError::Thread(std::io::Error::other("it panicked"));
    receiver.await.map_err(gone)
}
