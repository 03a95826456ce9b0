//! Every target of every record, met or missed.

use std::fmt::Write;

use super::markdown::tables;
use super::newest::Records;

struct Line {
    kind: String,
    target: String,
    measured: String,
    /// Met or missed; nothing where the machine could not tell.
    is_met: Option<bool>,
}

/// Kinds whose targets stand in a table of their report; those of the other kinds stand in comments of the CSV file.
const WITH_REPORT: [&str; 4] = ["table", "recursion", "grammars", "schema"];
const WITHOUT: [&str; 11] = [
    "load",
    "storm",
    "fleet",
    "fleet-storm",
    "soak",
    "hostile",
    "tags",
    "extensions",
    "canonical",
    "ambiguity",
    "python",
];
/// Those of which there may be no record yet: `python` needs engines that not every machine has.
const MAYBE: [&str; 8] =
    ["fleet", "fleet-storm", "grammars", "tags", "extensions", "canonical", "ambiguity", "python"];

/// Those of `kinds` that have a record, and those that have to have one.
fn recorded(records: &Records, kinds: &[&'static str]) -> Vec<&'static str> {
    kinds.iter().copied().filter(|kind| !MAYBE.contains(kind) || records.0.contains_key(*kind)).collect()
}

/// The targets of all records, in the order of the kinds.
fn lines(records: &Records) -> Vec<Line> {
    let mut lines = Vec::new();
    for kind in recorded(records, &WITH_REPORT) {
        let tables = tables(&records.of(kind).report, "Targets");
        let rows = tables.into_iter().next().expect("a table of targets").into_iter().skip(1);
        lines.extend(rows.map(|row| Line {
            kind: kind.to_owned(),
            target: row[0].clone(),
            measured: row[1..row.len() - 1].join(", "),
            is_met: match row[row.len() - 1].as_str() {
                "yes" => Some(true),
                "**no**" => Some(false),
                _ => None,
            },
        }));
    }
    for kind in recorded(records, &WITHOUT) {
        for [name, value, unit, target, verdict] in records.of(kind).comments() {
            if target.is_empty() {
                continue;
            }
            let value = value.trim_end_matches('0').trim_end_matches('.');
            lines.push(Line {
                kind: kind.to_owned(),
                target: format!("`{name}` {target} {unit}").trim().to_owned(),
                measured: format!("{value} {unit}").trim().to_owned(),
                is_met: Some(verdict == "met"),
            });
        }
    }
    lines
}

/// How many are met, and how many missed.
pub(super) fn counts(records: &Records) -> (usize, usize) {
    let lines = lines(records);
    let count = |met| lines.iter().filter(|line| line.is_met == Some(met)).count();
    (count(true), count(false))
}

/// A table for each record. The targets of the attacks are the same for each attack: only the misses among them are shown.
pub(super) fn table(records: &Records, up: &str) -> String {
    let (met, missed) = counts(records);
    let all = lines(records);
    let mut text = format!("{} targets: {met} met, {missed} missed.\n", met + missed);
    for kind in recorded(records, &[&WITH_REPORT[..], &WITHOUT].concat()) {
        let (record, lines) = (records.of(kind), all.iter().filter(|line| line.kind == kind));
        let count = |met| lines.clone().filter(|line| line.is_met == Some(met)).count();
        let (met, missed) = (count(true), count(false));
        let _ = writeln!(
            text,
            "\n**[{kind}]({up}{})**, {}: {met} met, {missed} missed.",
            record.path,
            record.epoch()
        );
        let is_shown = |line: &&Line| kind != "hostile" || line.is_met != Some(true);
        let rows = lines.filter(is_shown).map(|line| {
            let verdict = match line.is_met {
                Some(true) => "met",
                Some(false) => "**missed**",
                None => "not judged",
            };
            vec![line.target.clone(), line.measured.clone(), verdict.into()]
        });
        let heading = if kind == "hostile" { "target that is missed" } else { "target" };
        let _ = write!(text, "\n{}", super::markdown::table(&[heading, "measured", ""], rows));
    }
    text.replace("---:|", "---|")
}
