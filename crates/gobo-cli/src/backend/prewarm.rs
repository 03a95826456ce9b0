//! Resolves many constraints, in batches through a daemon, or through an engine's queue.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use gobo_client::{Client, ClientError};
use gobo_engine::Priority;
use gobo_types::{CompileError, Constraint, ErrorKind, Source};

use super::{Backend, Warm, Warmed, request};

/// Most prewarm requests handed to the engine ahead of the answers, and most bytes of their texts: half of what one tenant may
/// have waiting. A place is given back a moment after its answer.
const WINDOW: usize = 256;
const WINDOW_BYTES: usize = 32 << 20;

/// Most constraints of one batch call.
const BATCH: usize = 256;

/// How often a batch without progress is resumed, and the first delay.
const RESUMES: u32 = 8;
const RESUME_AFTER: Duration = Duration::from_millis(200);

/// The longest wait that a daemon's advice is followed for.
const MOST_ADVISED: Duration = Duration::from_secs(30);

/// Most bytes of one batch call, with room for what frames them.
const BATCH_BYTES: usize = gobo_proto::MAX_MESSAGE_BYTES / 2;

impl Backend {
    /// Resolves many, calling `done` with the position and the answer of each as they come.
    pub(crate) fn prewarm(
        &self,
        name: &str,
        constraints: &[Constraint],
        mut done: impl FnMut(usize, Warmed),
    ) -> anyhow::Result<()> {
        match self {
            Self::Daemon(runtime, client) => runtime.block_on(async {
                for range in batches(constraints, BATCH_BYTES)? {
                    prewarm_batch(client, name, constraints, range, &mut done).await?;
                }
                Ok(())
            }),
            Self::Here(engine) => {
                let mut waiting = Waiting::new();
                let bytes_of = |position: usize| constraints[position].text().len();
                let mut bytes = 0;
                for (position, constraint) in constraints.iter().enumerate() {
                    bytes += bytes_of(position);
                    while let Some(&(first, _)) = waiting.front()
                        && (waiting.len() == WINDOW || bytes > WINDOW_BYTES)
                    {
                        next(&mut waiting, &mut done);
                        bytes -= bytes_of(first);
                    }
                    waiting.push_back((
                        position,
                        engine.submit(request(engine, name, constraint, Priority::Prewarm)?),
                    ));
                }
                while !waiting.is_empty() {
                    next(&mut waiting, &mut done);
                }
                Ok(())
            }
        }
    }
}

/// Prewarms one batch through a daemon, and resumes where it is cut off: what was answered stays answered, what was
/// compiled meanwhile is found, and what is unavailable for now is asked for again a few times, not before the daemon advises.
async fn prewarm_batch(
    client: &Client,
    name: &str,
    constraints: &[Constraint],
    range: Range<usize>,
    done: &mut impl FnMut(usize, Warmed),
) -> anyhow::Result<()> {
    let mut left: Vec<usize> = range.collect();
    let mut tries = 0;
    while !left.is_empty() {
        let asked: Vec<Constraint> = left.iter().map(|at| constraints[*at].clone()).collect();
        let mut answered = vec![false; left.len()];
        let is_last = tries == RESUMES;
        let mut advised = Duration::ZERO;
        let end = async {
            let mut batch = client.resolve_batch(name, &asked, true).await?;
            while let Some(item) = batch.next().await? {
                if let Err(CompileError::Unavailable { retry_after: Some(after), .. }) = &item.outcome {
                    advised = advised.max(*after);
                }
                let warmed = item.outcome.map(|location| Warm {
                    key: location.key,
                    is_hit: location.source == gobo_client::Source::Host,
                });
                if is_last || !matches!(warmed, Err(CompileError::Unavailable { .. })) {
                    answered[item.position] = true;
                    done(left[item.position], warmed);
                }
            }
            Ok::<_, ClientError>(())
        };
        match end.await {
            Err(error) if is_last || error.kind() != ErrorKind::Busy => return Err(error.into()),
            Err(error) => advised = advised.max(error.retry_after().unwrap_or_default()),
            Ok(()) => {}
        }
        // Progress gives new patience.
        tries = if answered.contains(&true) { 0 } else { tries + 1 };
        let mut keep = answered.iter().map(|answered| !answered);
        left.retain(|_| keep.next().unwrap_or(false));
        if !left.is_empty() {
            tokio::time::sleep(advised.min(MOST_ADVISED).max(RESUME_AFTER * (tries + 1))).await;
        }
    }
    Ok(())
}

/// Cuts constraints into batches. Whatever is too large for any is a batch of its own.
fn batches(constraints: &[Constraint], most_bytes: usize) -> anyhow::Result<Vec<Range<usize>>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    let (mut bytes, mut documents) = (0, 0);
    for (at, constraint) in constraints.iter().enumerate() {
        // A message writes the same texts without escapes, and is smaller.
        let length = serde_json::to_vec(constraint)?.len();
        let beside = match &constraint.source {
            Source::Schema { options, .. } | Source::Tag { options, .. } => options.documents.len(),
            _ => 0,
        };
        match batches.last_mut() {
            Some(batch)
                if batch.len() < BATCH
                    && bytes + length <= most_bytes
                    && documents + beside <= gobo_proto::MAX_DOCUMENTS =>
            {
                batch.end = at + 1;
                bytes += length;
                documents += beside;
            }
            _ => {
                batches.push(at..at + 1);
                bytes = length;
                documents = beside;
            }
        }
    }
    Ok(batches)
}

type Waiting = VecDeque<(usize, gobo_engine::Ticket<gobo_engine::Outcome>)>;

fn next(waiting: &mut Waiting, done: &mut impl FnMut(usize, Warmed)) {
    if let Some((position, ticket)) = waiting.pop_front() {
        let warm = |resolved: gobo_engine::Resolved| Warm {
            key: resolved.key,
            is_hit: resolved.source == gobo_engine::Source::Host,
        };
        done(position, ticket.wait().map(warm));
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::{SchemaDocument, SchemaOptions};

    use super::*;

    #[test]
    fn batches_hold_every_constraint_once_and_in_order() {
        let long = Constraint::regex("a".repeat(900));
        let short = Constraint::regex("a");
        let all = [&short, &short, &long, &long, &short, &short].map(Clone::clone);
        assert_eq!(batches(&all, 1100).unwrap(), [0..3, 3..6]);
        assert_eq!(batches(&all, 10).unwrap(), [0..1, 1..2, 2..3, 3..4, 4..5, 5..6]);
        assert_eq!(batches(&vec![short; BATCH + 1], BATCH_BYTES).unwrap(), [0..BATCH, BATCH..BATCH + 1]);
        assert!(batches(&[], 10).unwrap().is_empty());
        let document = SchemaDocument { uri: "x:y".into(), document: "{}".into() };
        let documents = vec![document; gobo_proto::MAX_DOCUMENTS / 2];
        let beside = Constraint::schema("true", SchemaOptions { documents, ..SchemaOptions::default() });
        assert_eq!(batches(&vec![beside; 3], usize::MAX).unwrap(), [0..2, 2..3]);
    }
}
