//! The state of a daemon.

use std::path::PathBuf;
use std::time::Duration;

use gobo_proto::v1;

/// The state of a daemon, and its counters since it started.
///
/// The answer of [`Client::status`](crate::Client::status), which has an example.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DaemonStatus {
    /// The root of the store on the daemon's host, with links resolved.
    pub store: PathBuf,
    /// Number of vocabulary names.
    pub vocabularies: u64,
    /// Number of indices in the catalog.
    pub indices: u64,
    /// Size of all indices in the catalog, in bytes.
    pub bytes: u64,
    /// Resolves since the start that found a file.
    pub hits: u64,
    /// Resolves since the start that had to wait: for a compile, or until the file of another process was verified; shared
    /// ones included.
    pub misses: u64,
    /// Compiles and imports on a worker now.
    pub in_flight: u64,
    /// Compiles and imports waiting for a worker now.
    pub queued: u64,
    /// Compiles since the start that ended in an index.
    pub compiled: u64,
    /// Compiles since the start that ended refused or over budget.
    pub refused: u64,
    /// Since the start.
    pub uptime: Duration,
    /// Version of the daemon.
    pub version: String,
    /// Number of workers.
    pub workers: u32,
    /// Resolves since the start that found a cached verdict.
    pub negative_hits: u64,
    /// Compiles since the start that ended unavailable, those that were turned away included.
    pub unavailable: u64,
    /// Compiles since the start that failed.
    pub failed: u64,
    /// Compiles since the start that were turned away at once: by a full queue, a quota, a deadline.
    pub shed: u64,
    /// Worker processes since the start that were killed or died, and were replaced.
    pub killed: u64,
    /// For how long the compile that has waited longest has waited.
    pub oldest_wait: Duration,
    /// Bytes of indices above which eviction begins; `None`: never.
    pub max_bytes: Option<u64>,
    /// Indices evicted since the start.
    pub evicted: u64,
    /// Their bytes.
    pub evicted_bytes: u64,
    /// Pins, those of indices that are not in the store included.
    pub pinned: u64,
    /// Bytes of removed indices that processes of the daemon's host still have mapped.
    pub removed_but_mapped_bytes: u64,
    /// How often since the start the catalog was built again from the files.
    pub rebuilds: u64,
    /// Files and catalogs moved to quarantine since the start.
    pub quarantined: u64,
    /// Indices since the start that were compiled again, alone, and compared.
    pub audited: u64,
    /// Those of them whose bytes were others, which went to quarantine.
    pub audits_differing: u64,
    /// Those that ended without a verdict.
    pub audits_undecided: u64,
    /// Passes since the start that were ended because they used more processor time than their steps allow: bugs of gobo.
    pub out_of_proportion: u64,
    /// Refusals and over-budget verdicts that are remembered.
    pub verdicts: u64,
    /// Bytes of their records.
    pub verdict_bytes: u64,
    /// Verdicts since the start that were forgotten for want of room.
    pub verdicts_evicted: u64,
    /// Connections that are open.
    pub connections: u64,
    /// Connections since the start that were closed at once for want of room.
    pub connections_turned_away: u64,
    /// Connections since the start that were closed because nothing came of them, or to make room.
    pub connections_closed: u64,
    /// Calls under way, this one included.
    pub calls: u64,
    /// Calls since the start that were turned away for want of room.
    pub calls_turned_away: u64,
    /// Bytes that the requests under way and long answers hold.
    pub request_bytes: u64,
    /// Resolves since the start, of those that had to wait, whose index the bucket of several hosts had.
    pub fetched: u64,
    /// Verdicts since the start that it had.
    pub fetched_verdicts: u64,
    /// The bucket; `None` without one.
    pub remote: Option<RemoteStatus>,
    /// Resolves since the start, of those that had to wait, whose index the upstream had or compiled.
    pub forwarded: u64,
    /// The pool of daemons that compiles for it; `None` without one.
    pub upstream: Option<UpstreamStatus>,
}

/// The bucket that a daemon shares with other hosts, as its message has it.
pub type RemoteStatus = v1::RemoteStatus;

/// The pool of daemons that compiles for a daemon, as its message has it.
pub type UpstreamStatus = v1::UpstreamStatus;

impl DaemonStatus {
    pub(crate) fn read(status: v1::StatusReply) -> Self {
        Self {
            store: status.store.into(),
            vocabularies: status.vocabularies,
            indices: status.indices,
            bytes: status.bytes,
            hits: status.hits,
            misses: status.misses,
            in_flight: status.in_flight,
            queued: status.queued,
            compiled: status.compiled,
            refused: status.refused,
            uptime: Duration::from_micros(status.uptime_us),
            version: status.version,
            workers: status.workers,
            negative_hits: status.negative_hits,
            unavailable: status.unavailable,
            failed: status.failed,
            shed: status.shed,
            killed: status.killed,
            oldest_wait: Duration::from_micros(status.oldest_wait_us),
            max_bytes: status.max_bytes,
            evicted: status.evicted,
            evicted_bytes: status.evicted_bytes,
            pinned: status.pinned,
            removed_but_mapped_bytes: status.removed_but_mapped_bytes,
            rebuilds: status.rebuilds,
            quarantined: status.quarantined,
            audited: status.audited,
            audits_differing: status.audits_differing,
            audits_undecided: status.audits_undecided,
            out_of_proportion: status.out_of_proportion,
            verdicts: status.verdicts,
            verdict_bytes: status.verdict_bytes,
            verdicts_evicted: status.verdicts_evicted,
            connections: status.connections,
            connections_turned_away: status.connections_turned_away,
            connections_closed: status.connections_closed,
            calls: status.calls,
            calls_turned_away: status.calls_turned_away,
            request_bytes: status.request_bytes,
            fetched: status.fetched,
            fetched_verdicts: status.fetched_verdicts,
            remote: status.remote,
            forwarded: status.forwarded,
            upstream: status.upstream,
        }
    }
}
