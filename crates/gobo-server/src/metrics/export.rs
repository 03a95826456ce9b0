//! The numbers of a daemon, for a page in the text format of Prometheus.

use std::sync::{Arc, Weak};
use std::time::Duration;

use gobo_engine::{Engine, Stats, StoreStats};
use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use super::edge::Edge;
use super::gauge::set;
use super::{edge, remote, upstream};
use crate::admission::{Usage, UsageNow};
use crate::error::ServeError;

/// The interval at which counters and gauges are updated. Histograms are updated at once.
const EVERY: Duration = Duration::from_secs(1);

/// Upper bounds of the buckets of every histogram, in seconds: 1, 2 and 5 of each power of ten.
const BUCKETS: [f64; 22] = [
    1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0,
    10.0, 20.0, 50.0, 100.0,
];

/// Records the numbers of this whole process and of `engine` from now on, and returns what writes the page of them. To be called inside a
/// tokio runtime, once in a process.
///
/// # Errors
/// [`ServeError::Recorder`] if the process has a recorder already.
pub(crate) fn record(
    engine: &Arc<Engine>,
    usage: Usage,
    edge: Edge,
) -> Result<impl Fn() -> String + Clone + Send + Sync + 'static, ServeError> {
    let failed = ServeError::Recorder;
    let buckets = Matcher::Suffix("_seconds".into());
    let builder = PrometheusBuilder::new().set_buckets_for_metric(buckets, &BUCKETS);
    let recorder = builder.map_err(|error| failed(error.into()))?.build_recorder();
    let numbers = recorder.handle();
    metrics::set_global_recorder(recorder).map_err(|error| failed(error.to_string().into()))?;
    describe();
    let page = numbers.clone();
    tokio::spawn(keep_up(Arc::downgrade(engine), usage, edge, numbers));
    Ok(move || page.render())
}

async fn keep_up(engine: Weak<Engine>, usage: Usage, edge: Edge, numbers: PrometheusHandle) {
    while let Some(engine) = engine.upgrade() {
        publish(&engine.stats(), engine.panics());
        publish_store(&engine.store_stats());
        if let Some(remote) = engine.remote() {
            remote::publish(&remote.stats());
        }
        if let Some(stats) = engine.upstream_stats() {
            upstream::publish(&stats);
        }
        publish_usage(&usage.now());
        edge::publish(&edge, &usage.handshakes);
        drop(engine);
        // Moves the samples of histograms to their buckets.
        numbers.run_upkeep();
        tokio::time::sleep(EVERY).await;
    }
}

fn publish(stats: &Stats, panics: u64) {
    // Taken apart, so that a new number cannot be forgotten here.
    let Stats {
        hits,
        negative_hits,
        misses,
        fetched,
        forwarded,
        fetched_verdicts,
        compiled,
        refused,
        unavailable,
        failed,
        later_passes,
        out_of_proportion,
        in_flight,
        queued,
        oldest_wait,
        shed_queue,
        shed_quota,
        shed_deadline,
        killed_wall_clock,
        killed_processor_time,
        killed_pass_time,
        killed_cancelled,
        killed_nonsense,
        died,
        retired,
    } = *stats;
    // Of those who waited, who was answered neither by the pool nor by the bucket was answered by a compile.
    let made = misses.saturating_sub(fetched + forwarded);
    for (source, count) in [
        ("host", hits),
        ("verdict", negative_hits),
        ("remote", fetched),
        ("upstream", forwarded),
        ("compile", made),
    ] {
        counter!("gobo_resolves_total", "source" => source).absolute(count);
    }
    for (verdict, count) in
        [("index", compiled), ("refused", refused), ("unavailable", unavailable), ("failed", failed)]
    {
        counter!("gobo_compiles_total", "verdict" => verdict).absolute(count);
    }
    counter!("gobo_remote_verdicts_total").absolute(fetched_verdicts);
    counter!("gobo_later_passes_total").absolute(later_passes);
    counter!("gobo_out_of_proportion_total").absolute(out_of_proportion);
    for (reason, count) in [("queue", shed_queue), ("quota", shed_quota), ("deadline", shed_deadline)] {
        counter!("gobo_shed_total", "reason" => reason).absolute(count);
    }
    for (reason, count) in [
        ("wall_clock", killed_wall_clock),
        ("processor_time", killed_processor_time),
        ("pass_time", killed_pass_time),
        ("cancelled", killed_cancelled),
        ("nonsense", killed_nonsense),
        ("died", died),
        ("retired", retired),
    ] {
        counter!("gobo_workers_ended_total", "reason" => reason).absolute(count);
    }
    counter!("gobo_panics_total").absolute(panics);
    set("gobo_in_flight", in_flight);
    set("gobo_queued", queued);
    gauge!("gobo_oldest_wait_seconds").set(oldest_wait.as_secs_f64());
}

fn publish_store(stats: &StoreStats) {
    let StoreStats {
        indices,
        bytes,
        max_bytes,
        verdicts,
        verdict_bytes,
        verdicts_evicted,
        pinned,
        evicted,
        evicted_bytes,
        removed_but_mapped_bytes,
        rebuilds,
        is_catalog_off_disk,
        flushes,
        scrubbed,
        scrubbed_bytes,
        scrub_passes,
        scrub_damaged,
        audited,
        audits_differing,
        audits_undecided,
        quarantined,
        quarantine_bytes,
        upkeep_failures,
    } = *stats;
    for (name, now) in [
        ("gobo_store_indices", indices),
        ("gobo_store_bytes", bytes),
        ("gobo_store_verdicts", verdicts),
        ("gobo_store_verdict_bytes", verdict_bytes),
        ("gobo_store_pinned", pinned),
        ("gobo_store_removed_but_mapped_bytes", removed_but_mapped_bytes),
        ("gobo_store_quarantine_bytes", quarantine_bytes),
        ("gobo_store_catalog_off_disk", u64::from(is_catalog_off_disk)),
    ] {
        set(name, now);
    }
    if let Some(max_bytes) = max_bytes {
        set("gobo_store_max_bytes", max_bytes);
    }
    for (name, count) in [
        ("gobo_store_verdicts_evicted_total", verdicts_evicted),
        ("gobo_store_evicted_total", evicted),
        ("gobo_store_evicted_bytes_total", evicted_bytes),
        ("gobo_store_rebuilds_total", rebuilds),
        ("gobo_store_flushes_total", flushes),
        ("gobo_store_scrubbed_total", scrubbed),
        ("gobo_store_scrubbed_bytes_total", scrubbed_bytes),
        ("gobo_store_scrub_passes_total", scrub_passes),
        ("gobo_store_damaged_total", scrub_damaged),
        ("gobo_store_audited_total", audited),
        ("gobo_store_audits_differing_total", audits_differing),
        ("gobo_store_audits_undecided_total", audits_undecided),
        ("gobo_store_quarantined_total", quarantined),
        ("gobo_store_upkeep_failures_total", upkeep_failures),
    ] {
        counter!(name).absolute(count);
    }
}

fn publish_usage(now: &UsageNow) {
    let UsageNow {
        connections,
        connections_turned_away,
        connections_closed,
        calls,
        calls_turned_away,
        request_bytes,
    } = *now;
    set("gobo_connections", connections);
    set("gobo_calls", calls);
    set("gobo_request_bytes", request_bytes);
    counter!("gobo_connections_turned_away_total").absolute(connections_turned_away);
    counter!("gobo_connections_closed_total").absolute(connections_closed);
    counter!("gobo_calls_turned_away_total").absolute(calls_turned_away);
}

fn describe() {
    remote::describe();
    upstream::describe();
    edge::describe();
    for (name, what) in [
        (
            "gobo_resolves_total",
            "Resolves by where the answer was: a file, a remembered verdict, the bucket, a compile.",
        ),
        ("gobo_compiles_total", "Compiles by how they ended; refused includes over budget."),
        ("gobo_remote_verdicts_total", "Verdicts that the bucket had."),
        ("gobo_later_passes_total", "Compiles that went back after cheaper ones with a larger budget."),
        ("gobo_shed_total", "Compiles turned away at once, by reason."),
        ("gobo_workers_ended_total", "Worker processes that were replaced, by reason."),
        ("gobo_connections_turned_away_total", "Connections closed at once for want of room."),
        (
            "gobo_connections_closed_total",
            "Connections closed because their clients were inactive, or to make room.",
        ),
        (
            "gobo_calls_turned_away_total",
            "Calls turned away because too many, or too large ones, were under way.",
        ),
        ("gobo_panics_total", "Panics that were contained: each is a bug."),
        ("gobo_store_verdicts_evicted_total", "Verdicts forgotten for want of room."),
        ("gobo_store_evicted_total", "Indices evicted."),
        ("gobo_store_evicted_bytes_total", "Their bytes."),
        ("gobo_store_rebuilds_total", "Times the catalog was rebuilt from the files."),
        ("gobo_store_flushes_total", "Times the catalog was flushed to the disk."),
        ("gobo_store_scrubbed_total", "Files verified by the scrubber."),
        ("gobo_store_scrubbed_bytes_total", "Their bytes."),
        ("gobo_store_scrub_passes_total", "Passes of the scrubber over all files."),
        ("gobo_store_damaged_total", "Files that the scrubber found damaged."),
        ("gobo_store_audited_total", "Indices compiled again, alone, and compared."),
        (
            "gobo_store_audits_differing_total",
            "Audited indices with other bytes: each is a bug, or a file that was altered.",
        ),
        ("gobo_store_audits_undecided_total", "Audits without a result."),
        ("gobo_store_quarantined_total", "Files and catalogs moved to quarantine."),
        ("gobo_store_upkeep_failures_total", "Parts of upkeep that failed; each is tried again."),
    ] {
        describe_counter!(name, what);
    }
    for (name, what) in [
        ("gobo_connections", "Connections now."),
        ("gobo_calls", "Calls under way now."),
        ("gobo_request_bytes", "Bytes that the requests under way and long answers hold."),
        ("gobo_store_indices", "Indices on record now."),
        ("gobo_store_bytes", "Their bytes."),
        ("gobo_store_max_bytes", "Bytes above which eviction begins."),
        ("gobo_store_verdicts", "Refusals and over-budget verdicts that are remembered now."),
        ("gobo_store_verdict_bytes", "Bytes of their records."),
        ("gobo_store_pinned", "Pins now."),
        ("gobo_store_removed_but_mapped_bytes", "Bytes of removed indices that processes still have mapped."),
        ("gobo_store_quarantine_bytes", "Bytes in quarantine."),
        ("gobo_store_catalog_off_disk", "1 while the catalog is without the disk, which has no room for it."),
    ] {
        describe_gauge!(name, what);
    }
    describe_gauge!("gobo_in_flight", "Compiles and imports on a worker now.");
    describe_gauge!("gobo_queued", "Compiles and imports that wait for a worker now.");
    for (name, what) in [
        ("gobo_resolve_seconds", "From a miss to its answer."),
        ("gobo_queue_seconds", "Before a worker, each pass by itself."),
        ("gobo_compile_seconds", "On a worker, each pass by itself."),
    ] {
        describe_histogram!(name, Unit::Seconds, what);
    }
    describe_gauge!(
        "gobo_oldest_wait_seconds",
        Unit::Seconds,
        "How long the oldest waiting compile has waited."
    );
}
