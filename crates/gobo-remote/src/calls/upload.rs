//! Writing, behind the answer: a queue of keys and two tasks. What is written is read from the store when its turn comes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use gobo_types::Digest;
use metrics::histogram;
use object_store::{ObjectStore as _, PutMode, PutPayload};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, mpsc};
use tokio::time::{sleep, timeout};

use super::call::{Trouble, in_short};
use super::shared::{Queued, Shared};
use crate::breaker::CallEnd;
use crate::bucket::{Content, OverBudgetContent, Put, add, count};
use crate::object::{Kind, seal};

/// From the beginning of one write to its end.
const UPLOAD: &str = "gobo_remote_upload_seconds";

/// How often it is looked whether the bucket may be tried again.
const POLL: Duration = Duration::from_millis(200);

/// The rest of the queue, which the tasks share.
pub(super) type Queue = Arc<Mutex<mpsc::Receiver<Queued>>>;

/// Writes what comes until the queue is closed and empty. `_alive` is dropped then.
pub(super) async fn work(shared: Arc<Shared>, queue: Queue, _alive: std::sync::mpsc::Sender<()>) {
    loop {
        let next = queue.lock().await.recv().await;
        let Some(Queued { put, told }) = next else { return };
        let begun = Instant::now();
        let ended = shared.write(put).await;
        if let Some(told) = told {
            told(begun.elapsed(), ended);
        }
        shared.outstanding.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shared {
    /// How it ended, in a word.
    async fn write(self: &Arc<Self>, put: Put) -> &'static str {
        let permit = loop {
            match self.writes.admit(Instant::now()) {
                Some(permit) => break permit,
                // Meanwhile the queue fills, and what is beyond it is dropped.
                None => sleep(POLL).await,
            }
        };
        let begun = Instant::now();
        let shared = Arc::clone(self);
        let name = self.names.index(&put.key);
        let mode = if put.replaces { PutMode::Overwrite } else { PutMode::Create };
        let key = put.key;
        let made = Handle::current().spawn_blocking(move || shared.object(&put)).await;
        let Some(object) = made.ok().flatten() else {
            // It was evicted meanwhile, or is damaged.
            count(&self.counters.write_failures);
            return "gone";
        };
        let bytes = object.len() as u64;
        let call = self.bucket.put_opts(&name, PutPayload::from(object), mode.into());
        let trouble = match timeout(self.config.limits.upload, call).await {
            Ok(Ok(_)) => {
                permit.tell(CallEnd::Answered);
                count(&self.counters.written);
                add(&self.counters.written_bytes, bytes);
                self.absent.remove(&key);
                histogram!(UPLOAD).record(begun.elapsed());
                return "written";
            }
            Ok(Err(error)) => {
                let trouble = Trouble::of(&error);
                match trouble {
                    Trouble::Denied => {
                        tracing::error!(
                            error = in_short(&error),
                            "the bucket refuses to be written to with these credentials"
                        );
                    }
                    Trouble::Absent | Trouble::Failed => {
                        tracing::warn!(%key, error = in_short(&error), "an object cannot be written to the bucket");
                    }
                    Trouble::Present => {}
                }
                trouble
            }
            Err(_) => {
                tracing::warn!(%key, "writing an object to the bucket takes too long, and is given up");
                Trouble::Failed
            }
        };
        permit.tell(trouble.end());
        let (counter, ended) = match trouble {
            Trouble::Present => (&self.counters.present, "present"),
            Trouble::Denied => (&self.counters.denied, "denied"),
            Trouble::Absent | Trouble::Failed => (&self.counters.write_failures, "failed"),
        };
        count(counter);
        ended
    }

    /// The bytes of an object. `None`: there is nothing to write any more. Blocks, O(bytes).
    fn object(&self, put: &Put) -> Option<Vec<u8>> {
        let signer = self.config.signer.as_deref();
        let key: Digest = put.key.0;
        let sealed = match &put.content {
            Content::Index => {
                let index = self.store.open_index(&put.key).ok()??;
                // Nobody is handed from here what this host would not use itself.
                index.verify().ok()?;
                seal(Kind::Index, key, index.file_bytes(), signer)
            }
            Content::Refused(refusal) => seal(Kind::Refused, key, &serde_json::to_vec(refusal).ok()?, signer),
            Content::OverBudget(verdict, limits) => {
                let content = OverBudgetContent { limits: *limits, verdict: (**verdict).clone() };
                seal(Kind::OverBudget, key, &serde_json::to_vec(&content).ok()?, signer)
            }
        };
        sealed.inspect_err(|error| tracing::warn!(key = %put.key, %error, "an object cannot be made")).ok()
    }
}
