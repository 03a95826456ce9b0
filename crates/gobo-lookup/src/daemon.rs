//! Asks the daemon for an index, and decides when nobody answers there.
//!
//! A daemon that compiles is silent for seconds, and so is one that hangs, or a host behind a dead network. What tells them
//! apart is an empty call, which a daemon answers from threads that never compile: after a quarter of a request's time without
//! an answer the daemon is pinged, and if that is not answered within another quarter, it is *deaf*. Then the request goes on
//! while there is time for a compile here, and those that follow within ten seconds do not ask it at all.
//!
//! A daemon that turns a request away is asked once more, if it says that this may help within a second: its queue is longer
//! than that only where it has more work than it can do, and the worker here has none of it.
//!
//! A daemon that lacks the vocabulary is sent it, once for all requests that wait for it.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use gobo_client::{Client, ClientError, CompileError, Resolved, VocabularyImport, VocabularyRef};
use gobo_types::{Binding, Constraint, ErrorKind, VocabularyDigest, error_chain};

use crate::found::Bound;
use crate::stats::Reason;

/// How long a daemon that was deaf is not asked.
const DEAF_FOR: Duration = Duration::from_secs(10);

/// The longest advice to come again that is followed.
const LONGEST_ADVICE: Duration = Duration::from_secs(1);

/// How long a daemon may be silent, and then how long it may take to answer an empty call, where requests have as long as
/// it takes; where they have less, a quarter of that.
const PATIENCE: Duration = Duration::from_millis(2500);

/// However little time requests have: a busy machine is no deaf daemon.
const LEAST_PATIENCE: Duration = Duration::from_millis(500);

/// Why the daemon gave no index.
pub(crate) enum Turned {
    /// There is none.
    Verdict(CompileError),
    /// The next in order has its turn.
    Next(Reason, String),
}

/// What this process knows of the daemon.
pub(crate) struct Daemon {
    patience: Duration,
    deaf_until: Mutex<Option<Instant>>,
    /// The vocabularies that it was sent; locked while one is sent.
    sent: tokio::sync::Mutex<HashSet<VocabularyDigest>>,
}

impl Daemon {
    /// One that is asked on behalf of requests that may take so long.
    pub(crate) fn new(timeout: Option<Duration>) -> Self {
        let patience = timeout.map_or(PATIENCE, |timeout| (timeout / 4).max(LEAST_PATIENCE));
        Self { patience, deaf_until: Mutex::default(), sent: tokio::sync::Mutex::default() }
    }

    /// Whether it gave no sign of life a moment ago.
    pub(crate) fn is_deaf(&self) -> bool {
        let deaf_until = self.deaf_until.lock().unwrap_or_else(PoisonError::into_inner);
        deaf_until.is_some_and(|until| Instant::now() < until)
    }

    /// Has the daemon find or compile an index, and brings it to this host.
    pub(crate) async fn ask(
        &self,
        client: &Client,
        bound: &Bound,
        constraint: &Constraint,
    ) -> Result<Resolved, Turned> {
        let (mut may_send, mut may_retry) = (true, true);
        loop {
            let Some(answer) = self.ask_once(client, bound, constraint).await else {
                let until = Instant::now() + DEAF_FOR;
                *self.deaf_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
                let why = format!("it does not answer at {}, not even an empty call", client.address());
                return Err(Turned::Next(Reason::DeafDaemon, why));
            };
            let error = match answer {
                Ok(resolved) => return Ok(resolved),
                Err(error) => error,
            };
            match &error {
                ClientError::UnknownVocabulary { .. } if may_send => {
                    may_send = false;
                    self.send(client, bound).await?;
                    continue;
                }
                ClientError::Daemon { .. } | ClientError::Verdict(CompileError::Unavailable { .. })
                    if may_retry && error.kind() == ErrorKind::Busy =>
                {
                    may_retry = false;
                    if let Some(after) = error.retry_after().filter(|after| *after <= LONGEST_ADVICE) {
                        tokio::time::sleep(after).await;
                        continue;
                    }
                }
                _ => {}
            }
            return Err(turned(error));
        }
    }

    /// One call; `None`: the daemon is deaf.
    async fn ask_once(
        &self,
        client: &Client,
        bound: &Bound,
        constraint: &Constraint,
    ) -> Option<Result<Resolved, ClientError>> {
        let digest = bound.vocabulary.digest();
        let vocabulary = VocabularyRef::Digest { digest: &digest, binding: &bound.binding };
        let mut answer = pin!(client.resolve(vocabulary, constraint));
        loop {
            tokio::select! {
                answer = &mut answer => return Some(answer),
                () = tokio::time::sleep(self.patience) => {}
            }
            let sign_of_life = tokio::time::timeout(self.patience, client.ping());
            tokio::select! {
                answer = &mut answer => return Some(answer),
                // An error is an answer too, or the call above is about to end with it.
                sign = sign_of_life => if sign.is_err() { return None },
            }
        }
    }

    /// Sends the daemon a vocabulary, unless another request just did.
    async fn send(&self, client: &Client, bound: &Bound) -> Result<(), Turned> {
        let digest = bound.vocabulary.digest();
        let mut sent = self.sent.lock().await;
        if sent.contains(&digest) {
            return Ok(());
        }
        let import = VocabularyImport {
            // A daemon knows vocabularies by names alone. This one says nothing but the digest, and nobody has it make masks, whatever
            // models share the vocabulary.
            name: format!("by-digest-{digest}"),
            tokenizer_kind: if bound.kind.is_empty() { "unknown".into() } else { bound.kind.clone() },
            vocabulary: bound.vocabulary.clone(),
            binding: Binding { logits_width: bound.vocabulary.len(), ..Binding::default() },
            replace: false,
        };
        let imported = client.import_vocabulary(&import).await;
        imported.map_err(|error| Turned::Next(Reason::NoVocabulary, error_chain(&error)))?;
        sent.insert(digest);
        Ok(())
    }
}

/// What an error of the daemon means for the request.
fn turned(error: ClientError) -> Turned {
    let why = error_chain(&error);
    let reason = match error {
        ClientError::Verdict(verdict @ (CompileError::Refused(_) | CompileError::OverBudget(_))) => {
            return Turned::Verdict(verdict);
        }
        ClientError::Unreachable { .. } => Reason::NoDaemon,
        ClientError::UnknownVocabulary { .. } => Reason::NoVocabulary,
        ClientError::Timeout { .. } => Reason::LateDaemon,
        ClientError::Store(_) => Reason::StoreFailed,
        ClientError::TooLarge { .. } | ClientError::Stream { .. } | ClientError::Vanished { .. } => {
            Reason::StreamFailed
        }
        other => match other.kind() {
            ErrorKind::Busy => Reason::BusyDaemon,
            ErrorKind::Deadline | ErrorKind::Cancelled => Reason::LateDaemon,
            ErrorKind::Version => Reason::OtherVersion,
            _ => Reason::DaemonFailed,
        },
    };
    Turned::Next(reason, why)
}
