//! What README.md shows, and the list of records.

use std::fmt::Write;

use super::markdown::{ratio, table, time};
use super::newest::{Record, Records};
use super::{PICTURE, peers, targets};

/// The lines of the README: what, gobo's figure, what stands beside it, whose record it is.
pub(super) fn summary(records: &Records, up: &str) -> String {
    let mut rows = Vec::new();
    let load = records.of("load");
    let mut hit = |words: &str, name: &str| {
        let Some(row) = load.table.find(&[("name", name)]) else { return };
        let us = |column| time(row.number(column).map(|us| us * 1e3));
        let beside =
            if name.starts_with("host") { "opening the file and reading a row" } else { "an empty call" };
        rows.push(vec![
            words.to_owned(),
            format!("{}, p99 {}", us("p50_us"), us("p99_us")),
            format!("{beside}: {}, p99 {}", us("floor_p50_us"), us("floor_p99_us")),
            link(load, up),
        ]);
    };
    hit("a hit of thousands of indices, Unix socket", "unix_rotation");
    hit("… the first after a restart", "unix_rotation_first");
    hit("a hit of one hot index, Unix socket", "unix_socket");
    hit("… on the same host, key to first mask, no call", "host_open");
    let compiles = records.of("table");
    for (name, words) in peers::CONSTRAINTS {
        if !["colours", "datetime_unicode", "json_object", "url"].contains(&name) {
            continue;
        }
        let [gobo, llguidance, outlines] = peers::compile_cells(compiles, name);
        let beside = format!("llguidance, first mask: {llguidance}; outlines-core: {outlines}");
        rows.push(vec![format!("all masks of: {words}"), gobo, beside, link(compiles, up)]);
    }
    let schema = records.of("schema");
    let [gobo, peer] = peers::schema_compiles(schema);
    rows.push(vec![
        "JSON Schemas of public collections that get an index".into(),
        gobo[0].clone(),
        format!("llguidance: {}", peer[0]),
        link(schema, up),
    ]);
    rows.push(vec![
        "… compiled, median and 95th percentile".into(),
        format!("{}, {}", gobo[1], gobo[2]),
        format!("llguidance, first mask: {}, {}", peer[1], peer[2]),
        link(schema, up),
    ]);
    let [fill, mask] = peers::schema_masks(schema);
    rows.push(vec![
        "… a mask, median and p99".into(),
        fill.join(", "),
        format!("llguidance: {}", mask.join(", ")),
        link(schema, up),
    ]);
    let (met, missed) = targets::counts(records);
    let mut text = format!("Of {} targets {met} are met and {missed} missed: ", met + missed);
    let _ = writeln!(text, "[all of them]({up}docs/performance.md#targets). {}\n", stale(records));
    text += &table(&["", "gobo", "beside it", "record"], rows).replace("---:|", "---|");
    let _ = writeln!(
        text,
        "\n![Time to compile, gobo and two peers]({up}{PICTURE})\n\nHow these were measured, and everything else: \
         [docs/performance.md]({up}docs/performance.md)."
    );
    text
}

/// How far the records are behind the compiler.
fn stale(records: &Records) -> String {
    let now = gobo_types::COMPILER_EPOCH;
    let older: Vec<&str> = records
        .0
        .iter()
        .filter(|(_, record)| record.origin.compiler_epoch != now)
        .map(|(kind, _)| kind.as_str())
        .collect();
    if older.is_empty() {
        return format!("All records are of the present compiler, epoch {now}.");
    }
    format!(
        "The compiler is at epoch {now}. These records are of an older epoch, so today's times and sizes may differ from theirs: {}.",
        older.join(", ")
    )
}

fn link(record: &Record, up: &str) -> String {
    format!("[{}]({up}{}), {}", record.origin.date, record.path, record.epoch())
}

/// Where every figure comes from.
pub(super) fn records(records: &Records, up: &str) -> String {
    let rows = records.0.iter().map(|(kind, record)| {
        let origin = &record.origin;
        vec![
            format!("[{kind}]({up}{})", record.path),
            format!("`{}`", origin.commit),
            origin.date.clone(),
            record.epoch(),
            origin.machine.clone(),
            format!("`{}`", origin.command),
            origin.notes.join("; "),
        ]
    });
    let heading = ["record", "commit", "date", "compiler", "machine", "command", "notes"];
    format!("{}\n\n{}", stale(records), table(&heading, rows).replace("---:|", "---|"))
}

/// A time over another.
pub(super) fn over(time: Option<f64>, unit: Option<f64>) -> String {
    ratio(time.zip(unit).map(|(time, unit)| time / unit))
}
