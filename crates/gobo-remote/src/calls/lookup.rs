//! One look for a key: a GET within its budget, whose body goes into a temporary file of the store as it comes.
//!
//! There is no HEAD before it: 94 % of what a build cache's backend had to answer were such questions (bazel-remote, issue 919). What is not
//! there is remembered for some seconds only, since another host may be compiling it.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use gobo_store::PendingIndex;
use gobo_types::{ArtifactDigest, IndexKey, error_chain};
use metrics::histogram;
use object_store::{GetResult, ObjectStoreExt as _};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

use super::body::{Body, Stopped};
use super::call::{Trouble, in_short};
use super::shared::Shared;
use crate::breaker::{CallEnd, Permit};
use crate::bucket::{Answer, Content, OverBudgetContent, Put, add, count};
use crate::object::{Decoder, Envelope, Failure, Kind, Rejected, Sink};

/// From the beginning of a lookup to its answer, those that were given up left out.
const LOOKUP: &str = "gobo_remote_lookup_seconds";

/// A lookup under way. Dropping it gives it up: what it was to call is dropped uncalled, unless it is being called.
#[derive(Debug)]
#[must_use = "dropping a lookup gives it up"]
pub struct Lookup {
    pub(super) given_up: CancellationToken,
    /// `None`: there is nobody to look.
    pub(super) task: Option<AbortHandle>,
}

impl Drop for Lookup {
    fn drop(&mut self) {
        self.given_up.cancel();
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// What a lookup calls with its answer.
pub(super) type Then = Box<dyn FnOnce(Answer) + Send>;

/// One lookup, of one key.
pub(super) struct Look {
    pub(super) shared: Arc<Shared>,
    pub(super) key: IndexKey,
    pub(super) given_up: CancellationToken,
    pub(super) begun: Instant,
    /// How long it may take.
    pub(super) budget: Duration,
    /// Whether it asks whatever is known of the bucket.
    pub(super) is_patient: bool,
    pub(super) then: Option<Then>,
}

impl Look {
    /// Asks the bucket, and calls what is to be called.
    pub(super) async fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        if !self.is_patient && shared.absent.has(&self.key, self.begun) {
            count(&shared.counters.remembered_absent);
            return self.answer(Answer::Absent);
        }
        let permit = match shared.reads.admit(self.begun) {
            Some(permit) => permit,
            None if self.is_patient => shared.reads.aside(),
            None => {
                count(&shared.counters.skipped);
                return self.answer(Answer::Unknown);
            }
        };
        let name = shared.names.index(&self.key);
        let got = timeout_at(self.deadline(), async {
            let _place = shared.places.acquire().await;
            let object = shared.bucket.get(&name).await?;
            Ok((object, Arc::clone(&shared.bodies).acquire_owned().await))
        });
        match got.await {
            Ok(Ok((object, body))) => {
                // The disk and the decompressor block, so the body is not for the threads that wait for the network.
                let handle = Handle::current();
                let received = handle.clone().spawn_blocking(move || {
                    self.receive(object, permit, &handle);
                    drop(body);
                });
                if let Err(error) = received.await {
                    tracing::error!(error = error_chain(&error), "a lookup in the bucket panicked");
                }
            }
            Ok(Err(error)) => {
                let trouble = Trouble::of(&error);
                permit.tell(trouble.end());
                self.failed(trouble, &error);
            }
            Err(_) => {
                permit.tell(CallEnd::Failed);
                count(&shared.counters.timeouts);
                self.answer(Answer::Unknown);
            }
        }
    }

    fn deadline(&self) -> tokio::time::Instant {
        (self.begun + self.budget).into()
    }

    fn answer(&mut self, answer: Answer) {
        if let Some(then) = self.then.take() {
            histogram!(LOOKUP).record(self.begun.elapsed());
            then(answer);
        }
    }

    fn failed(&mut self, trouble: Trouble, error: &object_store::Error) {
        let counters = &self.shared.counters;
        match trouble {
            Trouble::Absent => {
                count(&counters.absent);
                self.shared.absent.put(self.key, Instant::now());
                return self.answer(Answer::Absent);
            }
            Trouble::Denied => {
                count(&counters.denied);
                tracing::error!(
                    error = in_short(error),
                    "the bucket refuses these credentials; lookups pause for half a minute"
                );
            }
            Trouble::Present | Trouble::Failed => {
                count(&counters.failed);
                tracing::debug!(key = %self.key, error = in_short(error), "a lookup in the bucket failed");
            }
        }
        self.answer(Answer::Unknown);
    }

    /// Takes the body of an object. Blocks.
    fn receive(mut self, object: GetResult, permit: Permit, handle: &Handle) {
        let written = SystemTime::from(object.meta.last_modified);
        match self.content(object, handle) {
            Ok(answer) => {
                permit.tell(CallEnd::Answered);
                let counters = &self.shared.counters;
                let is_index = matches!(answer, Answer::Index { .. });
                count(if is_index { &counters.indices } else { &counters.verdicts });
                let refreshed = self.refreshed(written, &answer);
                self.answer(answer);
                // What was found is in this host's store by now, from where it is put.
                if let Some(put) = refreshed {
                    self.shared.enqueue(put, None);
                }
            }
            Err(Ended::Stopped(Stopped::GivenUp)) => {}
            Err(Ended::Rejected(why)) => {
                permit.tell(CallEnd::Answered);
                self.shared.counters.reject(why);
                tracing::warn!(key = %self.key, %why, "an object of the bucket is not used");
                self.answer(Answer::Rejected(why));
            }
            Err(Ended::Kept(error)) => {
                // This host's trouble says nothing of the bucket.
                permit.tell(CallEnd::Answered);
                count(&self.shared.counters.failed);
                tracing::warn!(key = %self.key, %error, "what was found in the bucket cannot be kept");
                self.answer(Answer::Unknown);
            }
            Err(Ended::Stopped(Stopped::Late)) => {
                permit.tell(CallEnd::Failed);
                count(&self.shared.counters.timeouts);
                self.answer(Answer::Unknown);
            }
            Err(Ended::Stopped(Stopped::Call(error))) => {
                let trouble = Trouble::of(&error);
                permit.tell(trouble.end());
                self.failed(trouble, &error);
            }
        }
    }

    fn content(&self, object: GetResult, handle: &Handle) -> Result<Answer, Ended> {
        let mut decoder = Decoder::new(Receiver { look: self, to: None });
        let mut body = Body::new(object, self.deadline());
        while let Some(piece) = body.next(handle, &self.given_up)? {
            add(&self.shared.counters.read_bytes, piece.len() as u64);
            decoder.push(&piece)?;
        }
        let (head, receiver) = decoder.finish()?;
        match receiver.to {
            Some(To::Index(file, _)) => Ok(Answer::Index { file, digest: ArtifactDigest(head.digest) }),
            Some(To::Verdict(content)) => {
                verdict(head.kind, &content).ok_or(Ended::Rejected(Rejected::Unsound))
            }
            None => Err(Ended::Rejected(Rejected::Head)),
        }
    }

    /// An object that a rule of the bucket may remove soon is put again while it is in use.
    fn refreshed(&self, written: SystemTime, answer: &Answer) -> Option<Put> {
        let age = SystemTime::now().duration_since(written).unwrap_or(Duration::ZERO);
        if age < self.shared.config.limits.ttl / 2 {
            return None;
        }
        let content = match answer {
            Answer::Index { .. } => Content::Index,
            Answer::Refused(refusal) => Content::Refused(refusal.clone()),
            Answer::OverBudget(over, limits) => Content::OverBudget(over.clone(), *limits),
            _ => return None,
        };
        Some(Put { key: self.key, content, replaces: true })
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        if self.then.is_some() {
            count(&self.shared.counters.given_up);
        }
    }
}

/// Why a body did not become an answer.
#[derive(Debug)]
enum Ended {
    Stopped(Stopped),
    Rejected(Rejected),
    Kept(io::Error),
}

impl From<Stopped> for Ended {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Rejected(why) => Self::Rejected(why),
            Failure::Kept(error) => Self::Kept(error),
        }
    }
}

/// Where the content of a looked-up object goes.
struct Receiver<'a> {
    look: &'a Look,
    to: Option<To>,
}

enum To {
    Index(PendingIndex, File),
    Verdict(Vec<u8>),
}

impl Sink for Receiver<'_> {
    fn open(&mut self, head: &Envelope) -> Result<(), Failure> {
        let Look { shared, key, .. } = self.look;
        head.admit(&key.0, shared.config.trust.as_ref())?;
        self.to = Some(match head.kind {
            Kind::Index => {
                let file = shared.store.begin_index(key).map_err(io::Error::other)?;
                let written = File::options().write(true).open(file.path())?;
                To::Index(file, written)
            }
            Kind::Refused | Kind::OverBudget => To::Verdict(Vec::new()),
            Kind::Vocabulary | Kind::Manifest => return Err(Rejected::OtherKey.into()),
        });
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.to {
            Some(To::Index(_, file)) => file.write_all(bytes),
            Some(To::Verdict(content)) => {
                content.extend(bytes);
                Ok(())
            }
            None => Ok(()),
        }
    }
}

fn verdict(kind: Kind, content: &[u8]) -> Option<Answer> {
    if kind == Kind::Refused {
        return serde_json::from_slice(content).ok().map(|refusal| Answer::Refused(Box::new(refusal)));
    }
    let OverBudgetContent { limits, verdict } = serde_json::from_slice(content).ok()?;
    Some(Answer::OverBudget(Box::new(verdict), limits))
}
