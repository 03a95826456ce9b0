//! Every target of every record, met or missed.

use super::markdown::cells;
use super::newest::Records;

struct Line {
    kind: String,
    target: String,
    measured: String,
    /// Met or missed; nothing where the machine could not tell.
    is_met: Option<bool>,
}

/// Kinds whose targets stand in a table of their report; those of the other kinds stand in comments of the CSV file.
const WITH_REPORT: [&str; 3] = ["table", "recursion", "schema"];

/// The targets of all records, in the order of the kinds.
fn lines(records: &Records) -> Vec<Line> {
    let mut lines = Vec::new();
    for kind in WITH_REPORT {
        let rows = cells(&records.of(kind).report, "Targets").into_iter().skip(1);
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
    for kind in ["load", "storm", "soak", "hostile"] {
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

pub(super) fn table(records: &Records, up: &str) -> String {
    let (met, missed) = counts(records);
    let lines = lines(records);
    let row = |line: &Line| {
        let record = records.of(&line.kind);
        let verdict = match line.is_met {
            Some(true) => "met",
            Some(false) => "**missed**",
            None => "not judged",
        };
        let record = format!("[{}]({up}{}), {}", line.kind, record.path, record.epoch());
        vec![line.target.clone(), line.measured.clone(), verdict.into(), record]
    };
    // The hundred targets of the attacks are all the same eight; the misses among them are shown one by one.
    let is_shown = |line: &&Line| line.kind != "hostile" || line.is_met != Some(true);
    let hidden = lines.iter().filter(|line| !is_shown(line)).count();
    let shown =
        super::markdown::table(&["target", "measured", "", "record"], lines.iter().filter(is_shown).map(row));
    format!(
        "{} targets: {met} met, {missed} missed. Not in this table: the {hidden} of attacks that are met.\n\n{}",
        met + missed,
        shown.replace("---:|", "---|")
    )
}
