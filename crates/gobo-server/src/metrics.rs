//! A page of numbers in the text format of Prometheus, over HTTP.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use gobo_engine::{Engine, Stats, StoreStats};
use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder};

use crate::ServeError;

/// How often counters and gauges are brought up to date. Histograms are so at once.
const EVERY: Duration = Duration::from_secs(1);

/// Upper bounds of the buckets of every histogram, in seconds: 1, 2 and 5 of each power of ten.
const BUCKETS: [f64; 22] = [
    1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0,
    10.0, 20.0, 50.0, 100.0,
];

/// Answers on `address` from now on, for this whole process, with the numbers of `engine`. To be called inside a tokio
/// runtime, once in a process.
///
/// # Errors
/// [`ServeError::Metrics`] if the address cannot be listened on, or the process has a recorder already.
pub(crate) fn serve(address: SocketAddr, engine: &Arc<Engine>) -> Result<(), ServeError> {
    let failed = |source: BuildError| ServeError::Metrics { address, source: Box::new(source) };
    let builder = PrometheusBuilder::new().with_http_listener(address);
    let builder =
        builder.set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &BUCKETS).map_err(failed)?;
    let (recorder, exporter) = builder.build().map_err(failed)?;
    let taken = metrics::set_global_recorder(recorder);
    taken.map_err(|error| ServeError::Metrics { address, source: error.to_string().into() })?;
    describe();
    tokio::spawn(exporter);
    tokio::spawn(keep_up(Arc::downgrade(engine)));
    Ok(())
}

async fn keep_up(engine: Weak<Engine>) {
    while let Some(engine) = engine.upgrade() {
        publish(&engine.stats(), engine.panics());
        publish_store(&engine.store_stats());
        drop(engine);
        tokio::time::sleep(EVERY).await;
    }
}

fn publish(stats: &Stats, panics: u64) {
    // Taken apart, so that a new number cannot be forgotten here.
    let Stats {
        hits,
        negative_hits,
        misses,
        compiled,
        refused,
        unavailable,
        failed,
        later_passes,
        in_flight,
        queued,
        oldest_wait,
        shed_queue,
        shed_quota,
        shed_deadline,
        killed_wall_clock,
        killed_processor_time,
        killed_cancelled,
        killed_nonsense,
        died,
        retired,
    } = *stats;
    for (source, count) in [("host", hits), ("verdict", negative_hits), ("compile", misses)] {
        counter!("gobo_resolves_total", "source" => source).absolute(count);
    }
    for (verdict, count) in
        [("index", compiled), ("refused", refused), ("unavailable", unavailable), ("failed", failed)]
    {
        counter!("gobo_compiles_total", "verdict" => verdict).absolute(count);
    }
    counter!("gobo_later_passes_total").absolute(later_passes);
    for (reason, count) in [("queue", shed_queue), ("quota", shed_quota), ("deadline", shed_deadline)] {
        counter!("gobo_shed_total", "reason" => reason).absolute(count);
    }
    for (reason, count) in [
        ("wall_clock", killed_wall_clock),
        ("processor_time", killed_processor_time),
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

#[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
fn set(name: &'static str, value: u64) {
    gauge!(name).set(value as f64);
}

fn describe() {
    for (name, what) in [
        ("gobo_resolves_total", "Resolves by where the answer was: a file, a remembered verdict, a compile."),
        ("gobo_compiles_total", "Compiles by how they ended; refused includes over budget."),
        ("gobo_later_passes_total", "Compiles that went back behind cheaper ones with a larger budget."),
        ("gobo_shed_total", "Compiles turned away at once, by reason."),
        ("gobo_workers_ended_total", "Worker processes that were replaced, by reason."),
        ("gobo_panics_total", "Panics that were contained: each is a bug."),
        ("gobo_store_evicted_total", "Indices evicted."),
        ("gobo_store_evicted_bytes_total", "Their bytes."),
        ("gobo_store_rebuilds_total", "Times the catalog was made anew from the files."),
        ("gobo_store_flushes_total", "Times the catalog was put on the disk."),
        ("gobo_store_scrubbed_total", "Files verified by the scrubber."),
        ("gobo_store_scrubbed_bytes_total", "Their bytes."),
        ("gobo_store_scrub_passes_total", "Passes of the scrubber over all files."),
        ("gobo_store_damaged_total", "Files that the scrubber found damaged."),
        ("gobo_store_audited_total", "Indices compiled again, alone, and compared."),
        (
            "gobo_store_audits_differing_total",
            "Audited indices with other bytes: each is a bug, or somebody's hand.",
        ),
        ("gobo_store_audits_undecided_total", "Audits that could not tell."),
        ("gobo_store_quarantined_total", "Files and catalogs moved to quarantine."),
        ("gobo_store_upkeep_failures_total", "Parts of upkeep that failed; each is tried again."),
    ] {
        describe_counter!(name, what);
    }
    for (name, what) in [
        ("gobo_store_indices", "Indices on record now."),
        ("gobo_store_bytes", "Their bytes."),
        ("gobo_store_max_bytes", "Bytes above which eviction begins."),
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
