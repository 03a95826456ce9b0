//! Numbers of the store.

use std::sync::atomic::AtomicU64;

/// Numbers of a store, for a page of metrics. Reading them costs some loads: what takes more is refreshed in the rounds of
/// upkeep. Counts are since the engine was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreStats {
    /// Indices on record now.
    pub indices: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of indices above which eviction begins; `None`: never.
    pub max_bytes: Option<u64>,
    /// Verdicts that are remembered now.
    pub verdicts: u64,
    /// Bytes of their records.
    pub verdict_bytes: u64,
    /// Verdicts that were forgotten for want of room.
    pub verdicts_evicted: u64,
    /// Pins now, those of indices that are not in the store included.
    pub pinned: u64,
    /// Indices that were evicted.
    pub evicted: u64,
    /// Their bytes.
    pub evicted_bytes: u64,
    /// Bytes of removed indices that processes still have mapped, as of the last round.
    pub removed_but_mapped_bytes: u64,
    /// How often the catalog was built again from the files: at the start because it was lost, damaged or not understood, or
    /// later at somebody's wish.
    pub rebuilds: u64,
    /// Whether the catalog is without the disk now, which had no room for it: what it learns is lost with the process.
    pub is_catalog_off_disk: bool,
    /// How often the catalog was put on the disk.
    pub flushes: u64,
    /// Files that the scrubber verified.
    pub scrubbed: u64,
    /// Their bytes.
    pub scrubbed_bytes: u64,
    /// Passes of the scrubber over all files.
    pub scrub_passes: u64,
    /// Files that the scrubber found damaged.
    pub scrub_damaged: u64,
    /// Indices that were compiled again, alone, and compared: see [`audit`](crate::audit()).
    pub audited: u64,
    /// Those of them whose bytes were others, which went to quarantine: each is a bug, or somebody's hand.
    pub audits_differing: u64,
    /// Those of which nobody could tell.
    pub audits_undecided: u64,
    /// Files and catalogs that were moved to quarantine, by whatever found them.
    pub quarantined: u64,
    /// Bytes in quarantine, as of the last round.
    pub quarantine_bytes: u64,
    /// Parts of a round or passes that failed; each is tried again.
    pub upkeep_failures: u64,
}

/// What upkeep counts, and what it looked up last.
#[derive(Default)]
pub(crate) struct Gauges {
    pub(crate) evicted: AtomicU64,
    pub(crate) evicted_bytes: AtomicU64,
    pub(crate) rebuilds: AtomicU64,
    pub(crate) scrubbed: AtomicU64,
    pub(crate) scrubbed_bytes: AtomicU64,
    pub(crate) passes: AtomicU64,
    pub(crate) damaged: AtomicU64,
    pub(crate) audited: AtomicU64,
    pub(crate) differing: AtomicU64,
    pub(crate) undecided: AtomicU64,
    pub(crate) failures: AtomicU64,
    pub(crate) pinned: AtomicU64,
    pub(crate) mapped_bytes: AtomicU64,
    pub(crate) quarantine_bytes: AtomicU64,
}
