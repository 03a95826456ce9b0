//! Work whose time grows with the length of a request, done without delaying other tasks.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Requests of at most this many bytes are decoded, hashed and copied within some 50 microseconds.
const LONG_BYTES: usize = 64 << 10;

/// Runs `work` on a request of this many `bytes`. If the request is long, other tasks of this thread move to another thread
/// first: they would wait for milliseconds.
pub(crate) fn in_place<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let has_other_threads = || Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
    if bytes > LONG_BYTES && has_other_threads() { block_in_place(work) } else { work() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_go_on_during_long_work() {
        let answer = tokio::spawn(async {
            let (sender, receiver) = std::sync::mpsc::channel();
            tokio::spawn(async move { sender.send(7) });
            in_place(LONG_BYTES + 1, || receiver.recv())
        });
        assert_eq!(answer.await.unwrap(), Ok(7));
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_works_in_turn() {
        assert_eq!(in_place(usize::MAX, || 7), 7);
    }
}
