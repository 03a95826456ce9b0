//! The report of an index, for a person to read.
use std::collections::HashMap;

use gobo_types::{Report, ReportEntry};

use crate::output::{self, grouped};

/// Prints a report with at most `places` places of each list; an empty list is left out.
pub(crate) fn print_report(report: &Report, places: usize) -> anyhow::Result<()> {
    let lists: [(&str, &[ReportEntry]); 6] = [
        ("enforced", &report.enforced),
        ("narrowed", &report.narrowed),
        ("unspellable", &report.unspellable),
        ("annotation", &report.annotations),
        ("widened", &report.widened),
        ("note", &report.notes),
    ];
    for (name, entries) in lists {
        for line in list(name, entries, places) {
            output::line(line)?;
        }
    }
    Ok(())
}

/// Notes for a person at most so many; the rest is counted.
const NOTES_SHOWN: usize = 5;

/// Says on stderr what the author of a constraint probably did not mean.
pub(crate) fn note_misspelt(report: &Report) {
    for entry in report.notes.iter().take(NOTES_SHOWN) {
        let place = if entry.pointer.is_empty() { String::new() } else { format!(" ({})", entry.pointer) };
        output::note(format_args!("note: {}{place}", entry.why));
    }
    if let Some(more @ 1..) = report.notes.len().checked_sub(NOTES_SHOWN) {
        output::note(format_args!("note: and {} more; --json has all", grouped(more as u64)));
    }
}

/// One list of a report: sentence by sentence where all are about the whole constraint, else by place, in the order in which
/// the places first appear.
fn list(name: &str, entries: &[ReportEntry], shown: usize) -> Vec<String> {
    if entries.iter().all(|entry| entry.pointer.is_empty()) {
        return entries.iter().map(|entry| format!("\n{name}: {}: {}", entry.keyword, entry.why)).collect();
    }
    let mut order = Vec::new();
    let mut places: HashMap<&str, Vec<&ReportEntry>> = HashMap::new();
    for entry in entries {
        let here = places.entry(&entry.pointer).or_default();
        if here.is_empty() {
            order.push(entry.pointer.as_str());
        }
        here.push(entry);
    }
    let mut lines = vec![format!("\n{name}: {} at {} places", grouped_len(entries), grouped_len(&order))];
    for &pointer in order.iter().take(shown) {
        lines.push(if pointer.is_empty() { "  the whole".to_owned() } else { format!("  {pointer}") });
        lines.extend(places[pointer].iter().map(|entry| format!("    {}: {}", entry.keyword, entry.why)));
    }
    if order.len() > shown {
        lines.push(format!("  … {} more places; --json has all", grouped((order.len() - shown) as u64)));
    }
    lines
}

fn grouped_len<T>(items: &[T]) -> String {
    grouped(items.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(pointer: &str, keyword: &str) -> ReportEntry {
        ReportEntry { pointer: pointer.into(), ..ReportEntry::whole(keyword, "why") }
    }

    #[test]
    fn entries_of_one_place_stand_together() {
        let entries = [entry("", "schema"), entry("/a", "type"), entry("/b", "enum"), entry("/a", "minimum")];
        let expected = [
            "\nenforced: 4 at 3 places",
            "  the whole",
            "    schema: why",
            "  /a",
            "    type: why",
            "    minimum: why",
            "  /b",
            "    enum: why",
        ];
        assert_eq!(list("enforced", &entries, usize::MAX), expected);
        assert_eq!(list("enforced", &entries, 2)[6..], ["  … 1 more places; --json has all"]);
        assert_eq!(list("narrowed", &entries[..1], 0), ["\nnarrowed: schema: why"]);
        assert!(list("widened", &[], 2).is_empty());
    }
}
