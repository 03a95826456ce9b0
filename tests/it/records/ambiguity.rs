//! Texts of 2,000 bytes that can be read in very many ways.

use super::markdown::{bytes, table, time};
use super::newest::{Record, Records};

/// A line for each text and cut: masks and advances of its last tenth, and what its stacks are.
pub(super) fn figures(records: &Records) -> String {
    let Some(record) = records.0.get("ambiguity") else {
        return "No record has been made yet: `benches/record.sh MACHINE ambiguity` makes it.".into();
    };
    let rows = record.values("constraint").into_iter().map(|name| row(record, name));
    let heading = ["text, cut", "steps", "fill", "advance", "frames", "nodes", "memory"];
    let notes = record.origin.notes.join("; ");
    format!("Median and 99th percentile ({}); {notes}.\n\n{}", record.epoch(), table(&heading, rows))
}

fn row(record: &Record, name: &str) -> Vec<String> {
    let at = ["o200k_base", name, "gobo"];
    let times = |measure: &str| {
        let figure = |part| time(record.figure(at, measure, part));
        format!("{}, {}", figure("p50"), figure("p99"))
    };
    let count =
        |measure: &str| record.p50(at, measure).map_or_else(|| "–".into(), |count| format!("{count:.0}"));
    vec![
        format!("`{name}`"),
        count("steps"),
        times("fill_last_ns"),
        times("advance_last_ns"),
        count("frames"),
        count("nodes"),
        bytes(record.p50(at, "heap_bytes")),
    ]
}
