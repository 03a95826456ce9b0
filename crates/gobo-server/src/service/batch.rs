//! Many resolves in one call.

use std::collections::VecDeque;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use gobo_engine::{Engine, OpenVocabulary, Outcome, Priority, Request, Ticket};
use gobo_proto::v1;
use gobo_types::{CompileError, CompileLimits, Constraint};
use tokio_stream::Stream;
use tonic::Status;

use super::caller::Caller;
use super::reply::{StoreName, location};

/// One batch under way. At most a window of its constraints is with the engine at once, so a large batch neither fills the
/// queue nor is turned away by it. The window moves only as the client reads.
pub(crate) struct Batch {
    pub(crate) engine: Arc<Engine>,
    pub(crate) vocabulary: Arc<OpenVocabulary>,
    pub(crate) limits: CompileLimits,
    pub(crate) priority: Priority,
    pub(crate) caller: Caller,
    pub(crate) store: StoreName,
    /// Not submitted yet, with their positions.
    pub(crate) waiting: VecDeque<(u32, Constraint)>,
    /// Submitted and not done.
    pub(crate) running: Vec<(u32, Ticket<Outcome>)>,
    pub(crate) done: u32,
    pub(crate) total: u32,
}

impl Batch {
    /// Enough to keep every worker busy while one reply is on its way.
    fn window(&self) -> usize {
        (self.engine.config().workers * 2).min(self.engine.config().queue_length).max(1)
    }

    fn fill(&mut self) {
        while self.running.len() < self.window() {
            let Some((position, constraint)) = self.waiting.pop_front() else { return };
            let request = Request {
                limits: Some(self.limits),
                priority: self.priority,
                // Each constraint of a stream has as long as the stream has.
                ..self.caller.request(Arc::clone(&self.vocabulary), constraint)
            };
            self.running.push((position, self.engine.submit(request)));
        }
    }

    fn reply(&mut self, position: u32, outcome: Outcome) -> v1::ResolveBatchReply {
        use v1::resolve_batch_reply::Outcome as Reply;

        self.done += 1;
        let mut retry_after_us = None;
        let outcome = match outcome {
            Ok(found) => Reply::Index(location(found, self.vocabulary.binding(), &self.store)),
            Err(CompileError::Refused(refusal)) => Reply::Refused((*refusal).into()),
            Err(CompileError::OverBudget(over)) => Reply::OverBudget((*over).into()),
            Err(CompileError::Unavailable { why, retry_after }) => {
                let micros = |after: Duration| u64::try_from(after.as_micros()).unwrap_or(u64::MAX);
                retry_after_us = retry_after.map(micros);
                Reply::Unavailable(why.into())
            }
            Err(error) => Reply::Failed(error.to_string()),
        };
        v1::ResolveBatchReply {
            position,
            outcome: Some(outcome),
            done: self.done,
            total: self.total,
            retry_after_us,
        }
    }
}

impl Stream for Batch {
    type Item = Result<v1::ResolveBatchReply, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.fill();
        for at in 0..self.running.len() {
            let (position, ticket) = &mut self.running[at];
            let position = *position;
            if let Poll::Ready(outcome) = Pin::new(ticket).poll(context) {
                drop(self.running.swap_remove(at));
                // At once, so that the engine is not idle while the reply is written.
                self.fill();
                return Poll::Ready(Some(Ok(self.reply(position, outcome))));
            }
        }
        if self.running.is_empty() { Poll::Ready(None) } else { Poll::Pending }
    }
}
