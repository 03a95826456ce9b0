use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gobo_client::{ClientError, CompileError, Credentials, ErrorKind, ForwardedRequest, Forwarder};
use gobo_engine::{Checked, Forward, Forwarded, Priority, Upstream};
use gobo_types::error_chain;
use tokio::runtime::Handle;

/// How often a call under way looks whether anybody wants it still.
const LOOK: Duration = Duration::from_millis(50);

/// A pool that is called over gRPC.
#[derive(Debug)]
pub(super) struct Pool {
    forwarder: Arc<Forwarder>,
    runtime: Handle,
    /// Most time of one call.
    budget: Duration,
}

impl Pool {
    /// A pool at this address, called from tasks of `runtime`.
    pub(super) fn new(
        address: &str,
        credentials: Credentials,
        runtime: Handle,
        budget: Duration,
    ) -> Result<Self, ClientError> {
        Ok(Self { forwarder: Arc::new(Forwarder::new(address, credentials)?), runtime, budget })
    }
}

impl Upstream for Pool {
    fn address(&self) -> &str {
        self.forwarder.address()
    }

    fn forward(&self, call: Forward, done: Box<dyn FnOnce(Forwarded) + Send>) {
        let (forwarder, runtime, budget) = (Arc::clone(&self.forwarder), self.runtime.clone(), self.budget);
        self.runtime.spawn(async move {
            let forwarded = tokio::select! {
                forwarded = forward(&forwarder, &call, budget) => forwarded,
                // Giving the call up cancels it there, too, unless others want it.
                () = cancelled(&call.cancelled) => return,
            };
            // Publishing waits for the disk.
            runtime.spawn_blocking(move || done(forwarded));
        });
    }
}

async fn cancelled(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        tokio::time::sleep(LOOK).await;
    }
}

async fn forward(forwarder: &Forwarder, call: &Forward, budget: Duration) -> Forwarded {
    let within = Instant::now() + budget;
    let deadline = call.deadline.map_or(within, |deadline| deadline.min(within));
    let request = ForwardedRequest {
        key: &call.key,
        vocabulary: &call.vocabulary.vocabulary,
        constraint: &call.constraint,
        limits: call.limits,
        tenant: &call.tenant,
        deadline,
        is_prewarm: call.priority == Priority::Prewarm,
        trace_parent: call.trace_parent.as_deref(),
    };
    let answer = async {
        if call.is_check {
            let checked = forwarder.check(&request).await?;
            return Ok(Forwarded::Report(Box::new(Checked {
                key: checked.key,
                bytes: checked.bytes,
                states: checked.states,
                rows: checked.rows,
                report: checked.report,
                // What the other has published is not in this store.
                is_published: false,
                compile_us: u64::try_from(checked.compile.as_micros()).unwrap_or(u64::MAX),
            })));
        }
        let (file, digest) = forwarder.fetch(&request, &call.store).await?;
        Ok(Forwarded::Index { file, digest })
    };
    // The transport keeps the deadline of each call; here of all of them together.
    let answer = match tokio::time::timeout_at(deadline.into(), answer).await {
        Ok(answer) => answer,
        Err(_) => Err(ClientError::Timeout { address: forwarder.address().to_owned() }),
    };
    answer.unwrap_or_else(|error| failed(error, deadline < within))
}

/// `is_callers`: the deadline is that of the caller, and no fault of the pool.
fn failed(error: ClientError, is_callers: bool) -> Forwarded {
    let why = error_chain(&error);
    match error {
        ClientError::Verdict(verdict @ (CompileError::Refused(_) | CompileError::OverBudget(_))) => {
            Forwarded::Verdict(verdict)
        }
        ClientError::Verdict(busy @ CompileError::Unavailable { .. }) => Forwarded::Busy(busy),
        ClientError::Daemon { kind: ErrorKind::Busy, message, retry_after: Some(after) } => {
            Forwarded::Busy(CompileError::Unavailable { why: message.into(), retry_after: Some(after) })
        }
        // A daemon that shuts down, a balancer without daemons; one that lets this host do nothing, which is no answer to a call either.
        ClientError::Unreachable { .. }
        | ClientError::Daemon { kind: ErrorKind::Busy | ErrorKind::Denied, .. } => Forwarded::Down(why),
        ClientError::Timeout { .. } | ClientError::Daemon { kind: ErrorKind::Deadline, .. } => {
            if is_callers {
                Forwarded::Late
            } else {
                Forwarded::Down(why)
            }
        }
        error if matches!(error.kind(), ErrorKind::Version | ErrorKind::Unsupported) => {
            Forwarded::OtherVersion(why)
        }
        _ => Forwarded::Failed(why),
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::{Digest, IndexKey, Refusal, RefusalKind};

    use super::*;

    fn daemon(kind: ErrorKind, retry_after: Option<Duration>) -> ClientError {
        ClientError::Daemon { kind, message: "as the test wants it".into(), retry_after }
    }

    #[test]
    fn each_error_of_a_pool_has_its_consequence() {
        let refusal = Refusal::new(RefusalKind::Malformed, "", "as the test wants it");
        assert!(matches!(failed(ClientError::Verdict(refusal.into()), false), Forwarded::Verdict(_)));
        let after = Some(Duration::from_secs(1));
        assert!(matches!(
            failed(daemon(ErrorKind::Busy, after), false),
            Forwarded::Busy(CompileError::Unavailable { retry_after, .. }) if retry_after == after
        ));
        assert!(matches!(failed(daemon(ErrorKind::Busy, None), false), Forwarded::Down(_)));
        let key = |byte| IndexKey(Digest([byte; 32]));
        let other = ClientError::OtherKey { expected: key(1), found: key(2) };
        assert!(matches!(failed(other, false), Forwarded::OtherVersion(_)));
        assert!(matches!(failed(daemon(ErrorKind::Unsupported, None), false), Forwarded::OtherVersion(_)));
        let late = || ClientError::Timeout { address: "there".into() };
        assert!(matches!(failed(late(), true), Forwarded::Late));
        assert!(matches!(failed(late(), false), Forwarded::Down(_)));
        assert!(matches!(failed(daemon(ErrorKind::Internal, None), false), Forwarded::Failed(_)));
        assert!(matches!(failed(daemon(ErrorKind::Denied, None), false), Forwarded::Down(_)));
    }
}
