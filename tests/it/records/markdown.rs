//! Figures and tables as markdown.

use std::fmt::Write;

/// Nanoseconds in the unit that a person would use, with three digits; `–` where there are none.
pub(super) fn time(nanoseconds: Option<f64>) -> String {
    let Some(nanoseconds) = nanoseconds else { return "–".into() };
    let (unit, name) = match nanoseconds {
        ..1e3 => (1.0, "ns"),
        ..1e6 => (1e3, "µs"),
        ..1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let decimals = if name == "ns" { 0 } else { decimals(nanoseconds / unit) };
    format!("{:.decimals$} {name}", nanoseconds / unit)
}

/// Bytes, with three digits.
pub(super) fn bytes(bytes: Option<f64>) -> String {
    let Some(bytes) = bytes else { return "–".into() };
    let (unit, name) = match bytes {
        ..1024.0 => (1.0, "B"),
        ..1_048_576.0 => (1024.0, "KiB"),
        _ => (1_048_576.0, "MiB"),
    };
    let decimals = if name == "B" { 0 } else { decimals(bytes / unit) };
    format!("{:.decimals$} {name}", bytes / unit)
}

/// A ratio, with three digits.
pub(super) fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "–".into(), |ratio| format!("{ratio:.*}", decimals(ratio)))
}

fn decimals(value: f64) -> usize {
    match value {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    }
}

/// A table; all columns but the first are numbers.
pub(super) fn table(heading: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut text = format!("| {} |\n|---|{}\n", heading.join(" | "), "---:|".repeat(heading.len() - 1));
    for row in rows {
        assert_eq!(row.len(), heading.len(), "{row:?}");
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

/// The cells of the first table below a heading of a report: its heading, then its rows.
pub(super) fn cells(report: &str, heading: &str) -> Vec<Vec<String>> {
    let below = report.split_once(&format!("## {heading}")).map_or("", |(_, below)| below);
    let below = below.split("\n## ").next().unwrap_or_default();
    let lines =
        below.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
    lines.filter(|line| !line.starts_with("|--")).map(cells).collect()
}
