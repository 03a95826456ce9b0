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

/// The tables below a heading of a report, in order: of each the cells of its heading, then those of its rows.
pub(super) fn tables(report: &str, heading: &str) -> Vec<Vec<Vec<String>>> {
    let below = report.split_once(&format!("## {heading}")).map_or("", |(_, below)| below);
    let below = below.split("\n## ").next().unwrap_or_default();
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
    let mut tables: Vec<Vec<Vec<String>>> = Vec::new();
    let mut is_inside = false;
    for line in below.lines() {
        if line.starts_with('|') && !is_inside {
            tables.push(Vec::new());
        }
        is_inside = line.starts_with('|');
        if let Some(table) = tables.last_mut().filter(|_| is_inside && !line.starts_with("|--")) {
            table.push(cells(line));
        }
    }
    tables
}

/// The cell of a column in the first row that begins with these cells. An empty heading continues the columns before it, so a column
/// is named by its place after a named one.
pub(super) fn cell(table: &[Vec<String>], row: &[&str], column: &str, after: usize) -> Option<String> {
    let place = table.first()?.iter().position(|name| name == column)? + after;
    let row = table.iter().find(|cells| cells.iter().zip(row).all(|(cell, wanted)| cell == wanted))?;
    row.get(place).cloned()
}

/// A time of a report in the form of [`time`]: `5646 ns` is `5.65 µs`.
pub(super) fn retimed(cell: &str) -> Option<String> {
    let (value, unit) = cell.split_once(' ')?;
    let unit = match unit {
        "ns" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(time(Some(value.parse::<f64>().ok()? * unit)))
}
