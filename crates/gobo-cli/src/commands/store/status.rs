use std::thread;
use std::time::Duration;

use anyhow::bail;
use gobo_client::{Client, DaemonStatus, RemoteStatus, UpstreamStatus};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::args::{Global, StatusArgs};
use crate::backend::Backend;
use crate::output::{self, Outcome, grouped, human_bytes, human_us};

pub(crate) fn run(global: &Global, args: &StatusArgs) -> anyhow::Result<Outcome> {
    let backend = Backend::open(global)?;
    if let Some(seconds) = args.watch {
        let Backend::Daemon(runtime, client) = backend else {
            bail!("there is no daemon to watch\nhint: `gobo serve` starts one");
        };
        return watch(global, &runtime, &client, seconds);
    }
    let status = match backend {
        Backend::Daemon(runtime, client) => {
            let status = runtime.block_on(client.status())?;
            of_daemon(&status, client.address())
        }
        Backend::Here(engine) => {
            let (indices, bytes) = engine.usage()?;
            json!({
                "store": engine.store().root(), "vocabularies": engine.store().list_names()?.len(),
                "indices": indices, "bytes": bytes, "hits": 0, "misses": 0, "in_flight": 0, "queued": 0,
                "daemon": null,
            })
        }
    };
    if global.json {
        output::line(&status)?;
        return Ok(Outcome::Yes);
    }
    for (key, value) in status.as_object().into_iter().flatten() {
        let shown = match (key.as_str(), value.as_u64(), value.as_str()) {
            (key, Some(bytes), _) if key.ends_with("bytes") => human_bytes(bytes),
            (_, Some(number), _) => grouped(number),
            (_, _, Some(text)) => text.to_owned(),
            ("daemon", ..) => "none runs here".to_owned(),
            _ => "none".to_owned(),
        };
        output::line(format_args!("{key:<24} {shown}"))?;
    }
    Ok(Outcome::Yes)
}

fn of_daemon(status: &DaemonStatus, address: &str) -> Value {
    let mut value = json!({
        "store": status.store, "vocabularies": status.vocabularies, "indices": status.indices,
        "bytes": status.bytes, "hits": status.hits, "negative_hits": status.negative_hits,
        "misses": status.misses, "in_flight": status.in_flight, "queued": status.queued,
        "oldest_wait_us": micros(status.oldest_wait), "compiled": status.compiled, "refused": status.refused,
        "unavailable": status.unavailable, "failed": status.failed, "shed": status.shed,
        "killed": status.killed, "out_of_proportion": status.out_of_proportion, "max_bytes": status.max_bytes, "evicted": status.evicted,
        "evicted_bytes": status.evicted_bytes, "pinned": status.pinned,
        "removed_but_mapped_bytes": status.removed_but_mapped_bytes, "rebuilds": status.rebuilds,
        "quarantined": status.quarantined, "audited": status.audited, "audits_differing": status.audits_differing,
        "audits_undecided": status.audits_undecided,
        "verdicts": status.verdicts, "verdict_bytes": status.verdict_bytes,
        "verdicts_evicted": status.verdicts_evicted, "connections": status.connections,
        "connections_turned_away": status.connections_turned_away,
        "connections_closed": status.connections_closed, "calls": status.calls,
        "calls_turned_away": status.calls_turned_away, "request_bytes": status.request_bytes, "daemon": address, "version": status.version, "workers": status.workers,
        "uptime_s": status.uptime.as_secs(),
    });
    if let (Value::Object(all), Some(remote)) = (&mut value, &status.remote) {
        all.extend([
            ("fetched".to_owned(), status.fetched.into()),
            ("fetched_verdicts".to_owned(), status.fetched_verdicts.into()),
        ]);
        all.extend(of_remote(remote));
    }
    if let (Value::Object(all), Some(upstream)) = (&mut value, &status.upstream) {
        all.insert("forwarded".to_owned(), status.forwarded.into());
        all.extend(of_upstream(upstream));
    }
    value
}

/// The numbers of the pool, each under a name of its own.
fn of_upstream(upstream: &UpstreamStatus) -> Vec<(String, Value)> {
    let numbers = json!({
        "address": upstream.address, "indices": upstream.indices, "reports": upstream.reports,
        "verdicts": upstream.verdicts, "busy": upstream.busy, "late": upstream.late, "down": upstream.down,
        "failed": upstream.failed, "other_version": upstream.other_version, "skipped": upstream.skipped,
        "given_up": upstream.given_up, "under_way": upstream.under_way, "paused": u64::from(upstream.is_paused),
    });
    named("upstream", &numbers)
}

/// The numbers of the bucket, each under a name of its own.
fn of_remote(remote: &RemoteStatus) -> Vec<(String, Value)> {
    let numbers = json!({
        "bucket": remote.bucket, "mode": if remote.writes { "write" } else { "read" },
        "indices": remote.indices, "verdicts": remote.verdicts, "absent": remote.absent,
        "remembered_absent": remote.remembered_absent, "rejected": remote.rejected, "failed": remote.failed,
        "timeouts": remote.timeouts, "denied": remote.denied, "skipped": remote.skipped, "given_up": remote.given_up,
        "read_bytes": remote.read_bytes, "written": remote.written, "written_bytes": remote.written_bytes,
        "present": remote.present, "write_failures": remote.write_failures, "dropped": remote.dropped,
        "queued": remote.queued, "reading_paused": u64::from(remote.is_reading_paused),
        "writing_paused": u64::from(remote.is_writing_paused),
    });
    named("remote", &numbers)
}

fn named(part: &str, numbers: &Value) -> Vec<(String, Value)> {
    let numbers = numbers.as_object().cloned().unwrap_or_default();
    numbers.into_iter().map(|(name, number)| (format!("{part}_{name}"), number)).collect()
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Lines under one heading.
const PAGE: u64 = 20;

/// Prints a line at each interval: rates since the previous line, and current counts.
fn watch(global: &Global, runtime: &Runtime, client: &Client, seconds: u64) -> anyhow::Result<Outcome> {
    let mut before = runtime.block_on(client.status())?;
    for line in 0.. {
        thread::sleep(Duration::from_secs(seconds));
        let now = runtime.block_on(client.status())?;
        if global.json {
            output::line(of_daemon(&now, client.address()))?;
            continue;
        }
        if line % PAGE == 0 {
            output::line("hits/s verdict/s miss/s made/s shed/s killed run queue  oldest indices     bytes")?;
        }
        let rate = |of: fn(&DaemonStatus) -> u64| of(&now).saturating_sub(of(&before)).div_ceil(seconds);
        output::line(format_args!(
            "{:>6} {:>9} {:>6} {:>6} {:>6} {:>6} {:>3} {:>5} {:>7} {:>7} {:>9}",
            rate(|of| of.hits),
            rate(|of| of.negative_hits),
            rate(|of| of.misses),
            rate(|of| of.compiled),
            rate(|of| of.shed),
            now.killed,
            now.in_flight,
            now.queued,
            human_us(micros(now.oldest_wait)),
            grouped(now.indices),
            human_bytes(now.bytes),
        ))?;
        before = now;
    }
    Ok(Outcome::Yes)
}
