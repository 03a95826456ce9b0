//! A thread for what waits for a disk.

use std::thread;

use tokio::sync::oneshot;

use crate::error::ClientError;

/// Runs what waits for a disk on a thread of its own: publishing is rare, and an executor's thread must not sync files.
pub(crate) async fn on_thread<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ClientError> {
    let (sender, receiver) = oneshot::channel();
    let run = move || {
        // Who left does not want it.
        let _ = sender.send(job());
    };
    thread::Builder::new().name("gobo-publish".into()).spawn(run).map_err(ClientError::Thread)?;
    let gone = |_| ClientError::Thread(std::io::Error::other("it panicked"));
    receiver.await.map_err(gone)
}
