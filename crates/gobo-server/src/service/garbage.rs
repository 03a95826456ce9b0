//! Eviction as a stream of replies.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use gobo_engine::{Candidate, CollectEvent, CollectRequest, Engine, Garbage, Spared};
use gobo_proto::v1;
use gobo_proto::v1::collect_garbage_reply::Part;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Status;

use super::reply::bytes;
use crate::status;

pub(crate) type GarbageStream = UnboundedReceiverStream<Result<v1::CollectGarbageReply, Status>>;

/// Collects on one of the engine's threads. A slow caller does not delay it: unread replies wait in memory, some 80 bytes for each
/// index. A caller that leaves does not stop it.
pub(crate) fn collect(engine: &Arc<Engine>, request: CollectRequest) -> GarbageStream {
    let (sender, replies) = mpsc::unbounded_channel();
    let collecting = Arc::clone(engine);
    let results = sender.clone();
    let ticket = engine.run(move || {
        let send = |part| {
            // The caller has left: the work is done all the same.
            let _ = sender.send(Ok(v1::CollectGarbageReply { part: Some(part) }));
        };
        let garbage = collecting.collect(&request, &mut |event| {
            if let Some(part) = part(event) {
                send(part);
            }
        })?;
        send(Part::Done(garbage_summary(&garbage)));
        Ok(())
    });
    tokio::spawn(async move {
        if let Err(error) = ticket.await {
            let _ = results.send(Err(status::of_engine(&error)));
        }
    });
    UnboundedReceiverStream::new(replies)
}

fn part(event: CollectEvent) -> Option<Part> {
    match event {
        CollectEvent::Scanned { indices, bytes } => Some(Part::Found(v1::GarbageFound { indices, bytes })),
        CollectEvent::Removed(candidate) => Some(Part::Removed(index(&candidate))),
        CollectEvent::Spared(candidate, Spared::Pinned) => Some(Part::Pinned(index(&candidate))),
        CollectEvent::Spared(candidate, Spared::InGrace) => Some(Part::InGrace(index(&candidate))),
        CollectEvent::Chosen(_) | CollectEvent::Forgotten(_) => None,
    }
}

fn index(candidate: &Candidate) -> v1::GarbageIndex {
    let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
    v1::GarbageIndex {
        key: bytes(candidate.key.as_bytes()),
        bytes: candidate.bytes,
        last_used_unix_ms: u64::try_from(since(candidate.last_used).as_millis()).unwrap_or(u64::MAX),
    }
}

/// The result of a collection as a message.
fn garbage_summary(garbage: &Garbage) -> v1::GarbageSummary {
    let Garbage { indices, quarantine } = garbage;
    v1::GarbageSummary {
        indices: indices.indices,
        bytes: indices.bytes,
        removed: indices.removed,
        removed_bytes: indices.removed_bytes,
        pinned: indices.pinned,
        pinned_bytes: indices.pinned_bytes,
        in_grace: indices.in_grace,
        in_grace_bytes: indices.in_grace_bytes,
        quarantine_removed: quarantine.removed,
        quarantine_removed_bytes: quarantine.removed_bytes,
    }
}
