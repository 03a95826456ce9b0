//! The upkeep of a daemon's store: evictions, pins, and the catalog built again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gobo_proto::v1::collect_garbage_reply::Part;
use gobo_proto::{digest, v1};
use gobo_types::IndexKey;

use crate::error::ClientError;

/// One event of a collection of garbage, as it happens.
///
/// [`Client::collect_garbage`](crate::Client::collect_garbage) has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GarbageEvent {
    /// The first event: the indices before anything was removed.
    Found {
        /// Number of indices.
        indices: u64,
        /// Their size in bytes.
        bytes: u64,
    },
    /// An index that was removed, or would be.
    Removed(GarbageIndex),
    /// An index whose turn it was and that stays, because it is pinned.
    Pinned(GarbageIndex),
    /// An index whose turn it was and that stays, because it was published or used within the grace.
    InGrace(GarbageIndex),
}

/// An index before eviction.
///
/// [`Client::collect_garbage`](crate::Client::collect_garbage) has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GarbageIndex {
    /// The index key.
    pub key: IndexKey,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// When it was last used, as far as is known, to the millisecond.
    pub last_used: SystemTime,
}

/// The sum of a collection of garbage.
///
/// [`Client::collect_garbage`](crate::Client::collect_garbage) has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GarbageSummary {
    /// Indices before.
    pub indices: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Indices that were removed, or would be.
    pub removed: u64,
    /// Their size in bytes.
    pub removed_bytes: u64,
    /// Indices that stay because they are pinned.
    pub pinned: u64,
    /// Their size in bytes.
    pub pinned_bytes: u64,
    /// Indices that stay because of the grace.
    pub in_grace: u64,
    /// Their size in bytes.
    pub in_grace_bytes: u64,
    /// Files and catalogs that were removed from quarantine.
    pub quarantine_removed: u64,
    /// Their size in bytes.
    pub quarantine_removed_bytes: u64,
}

/// One message of the stream.
pub(crate) enum GarbagePart {
    Event(GarbageEvent),
    Done(GarbageSummary),
}

impl GarbagePart {
    pub(crate) fn read(reply: v1::CollectGarbageReply) -> Result<Self, ClientError> {
        Ok(Self::Event(match reply.part.ok_or_else(|| ClientError::missing("part"))? {
            Part::Found(v1::GarbageFound { indices, bytes }) => GarbageEvent::Found { indices, bytes },
            Part::Removed(index) => GarbageEvent::Removed(GarbageIndex::read(&index)?),
            Part::Pinned(index) => GarbageEvent::Pinned(GarbageIndex::read(&index)?),
            Part::InGrace(index) => GarbageEvent::InGrace(GarbageIndex::read(&index)?),
            Part::Done(sum) => return Ok(Self::Done(GarbageSummary::read(sum))),
        }))
    }
}

impl GarbageIndex {
    fn read(index: &v1::GarbageIndex) -> Result<Self, ClientError> {
        Ok(Self {
            key: digest("part.key", &index.key).map_err(ClientError::unreadable)?,
            bytes: index.bytes,
            last_used: UNIX_EPOCH + Duration::from_millis(index.last_used_unix_ms),
        })
    }
}

impl GarbageSummary {
    fn read(sum: v1::GarbageSummary) -> Self {
        let v1::GarbageSummary {
            indices,
            bytes,
            removed,
            removed_bytes,
            pinned,
            pinned_bytes,
            in_grace,
            in_grace_bytes,
            quarantine_removed,
            quarantine_removed_bytes,
        } = sum;
        Self {
            indices,
            bytes,
            removed,
            removed_bytes,
            pinned,
            pinned_bytes,
            in_grace,
            in_grace_bytes,
            quarantine_removed,
            quarantine_removed_bytes,
        }
    }
}

/// A pin.
///
/// [`Client::pins`](crate::Client::pins) lists them, and has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinnedIndex {
    /// The index key.
    pub key: IndexKey,
    /// Size of the index in bytes; `None` if it is not in the store now.
    pub bytes: Option<u64>,
}

impl PinnedIndex {
    pub(crate) fn read(pin: &v1::PinnedIndex) -> Result<Self, ClientError> {
        let key = digest("pins.key", &pin.key).map_err(ClientError::unreadable)?;
        Ok(Self { key, bytes: pin.bytes })
    }
}

/// The sums of a catalog that was built again from the files.
///
/// The answer of [`Client::rebuild_catalog`](crate::Client::rebuild_catalog), which has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogRebuild {
    /// Sound indices, all of them in the catalog now.
    pub indices: u64,
    /// Sound vocabularies.
    pub vocabularies: u64,
    /// Files that failed verification and were moved to quarantine.
    pub quarantined: u64,
    /// Size of the sound files in bytes.
    pub bytes: u64,
    /// The time that it took.
    pub elapsed: Duration,
}

impl CatalogRebuild {
    pub(crate) fn read(reply: v1::RebuildCatalogReply) -> Self {
        let v1::RebuildCatalogReply { indices, vocabularies, quarantined, bytes, elapsed_us } = reply;
        Self { indices, vocabularies, quarantined, bytes, elapsed: Duration::from_micros(elapsed_us) }
    }
}
