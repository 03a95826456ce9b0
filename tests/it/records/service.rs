//! Tables of `gobo-bench`: the daemon under load, under attack, and under `kill -9`.

use super::figures::over;
use super::markdown::{ratio, table, time};
use super::newest::{Record, Records};

/// All rows, each beside its floor, in the order of the record.
pub(super) fn load(records: &Records) -> String {
    let record = records.of("load");
    let rows = record.table.rows().map(|row| {
        let us = |column| row.number(column).map(|us| us * 1e3);
        let count = |column| row.number(column).map_or_else(|| "–".into(), |count| format!("{count:.0}"));
        vec![
            format!("`{}`", row.get("name").unwrap_or_default()),
            count("n"),
            count("seconds"),
            time(us("p50_us")),
            time(us("p99_us")),
            time(us("floor_p50_us")),
            time(us("floor_p99_us")),
            over(us("p50_us"), us("floor_p50_us")),
            over(us("p99_us"), us("floor_p99_us")),
            count("per_s"),
            count("floor_per_s"),
            count("failed"),
        ]
    });
    let heading = [
        "row",
        "calls",
        "seconds",
        "p50",
        "p99",
        "floor p50",
        "floor p99",
        "p50 ratio",
        "p99 ratio",
        "calls/s",
        "floor calls/s",
        "failed",
    ];
    format!("({})\n\n{}", record.epoch(), table(&heading, rows))
}

/// The figures of the records whose kind begins so, with their targets.
pub(super) fn figures_of(records: &Records, kind: &str) -> String {
    let all = records.0.iter().filter(|(name, _)| name.starts_with(kind));
    all.map(|(_, record)| figures(record)).collect::<Vec<_>>().join("\n")
}

fn figures(record: &Record) -> String {
    let rows = record.comments().map(|[name, value, unit, target, verdict]| {
        let value = value.trim_end_matches('0').trim_end_matches('.');
        let verdict = if verdict == "missed" { "**missed**" } else { verdict };
        [format!("`{name}`").as_str(), &format!("{value} {unit}"), target, verdict]
            .map(|cell| cell.trim().to_owned())
            .to_vec()
    });
    format!(
        "`{}` ({}).\n\n{}",
        record.origin.command,
        record.epoch(),
        table(&["figure", "value", "target", ""], rows)
    )
}

/// Each attack: the good tenant's 99th percentiles over those without it, failed calls, memory and disk.
pub(super) fn hostile(records: &Records) -> String {
    let record = records.of("hostile");
    let value = |name: &str| {
        let found = record.comments().find(|fields| fields[0] == name);
        found.and_then(|fields| fields[1].parse::<f64>().ok())
    };
    let rows =
        record.values("name").into_iter().filter_map(|name| name.strip_suffix("_miss")).map(|attack| {
            let of = |what: &str| value(&format!("{attack}_{what}"));
            let mib = |what: &str| of(what).map_or_else(|| "–".into(), |mib| format!("{mib:.0} MiB"));
            let served = if of("serves_after") == Some(1.0) { "yes" } else { "**no**" };
            vec![
                format!("`{attack}`"),
                ratio(of("miss_p99_ratio")),
                ratio(of("hit_p99_ratio")),
                of("errors").map_or_else(|| "–".into(), |errors| format!("{errors:.0}")),
                mib("daemon_above_idle"),
                mib("disk_above_idle"),
                served.to_owned(),
            ]
        });
    let heading = [
        "attack",
        "misses, p99 ratio",
        "hits, p99 ratio",
        "failed calls",
        "memory above idle",
        "disk above idle",
        "serves after it",
    ];
    format!("({})\n\n{}", record.epoch(), table(&heading, rows))
}
