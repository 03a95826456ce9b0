//! The wheel inside engines, beside their own backends.

use super::markdown::{bytes, ratio, table, time};
use super::newest::Records;

/// Who stands in the columns, in their order.
const CONTESTANTS: [&str; 4] = ["gobo", "xgrammar", "llguidance", "floor"];

/// A line for each part and case: median and 99th percentile of each contestant, and what gobo's figure is of.
pub(super) fn figures(records: &Records) -> String {
    let Some(record) = records.0.get("python") else {
        return "No record has been made yet: `benches/record.sh` makes it where engines are.".into();
    };
    let mut cases: Vec<(&str, &str)> = Vec::new();
    for row in record.table.rows() {
        let case = (row.get("part").unwrap_or_default(), row.get("case").unwrap_or_default());
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    let rows = cases.into_iter().map(|(part, case)| {
        let of = |who| record.table.find(&[("part", part), ("case", case), ("contestant", who)]);
        let cell = |who| {
            let Some(row) = of(who) else { return "–".to_owned() };
            let figure = |column| in_unit(row.get("unit").unwrap_or_default(), row.number(column));
            if row.get("n") == Some("1") {
                figure("p50")
            } else {
                format!("{}, {}", figure("p50"), figure("p99"))
            }
        };
        let note = of("gobo").and_then(|row| row.get("note")).unwrap_or_default();
        let mut cells = vec![format!("{part}: {case}")];
        cells.extend(CONTESTANTS.map(cell));
        cells.push(note.to_owned());
        cells
    });
    let heading = ["", "gobo", "XGrammar", "llguidance", "floor", ""];
    let table = table(&heading, rows);
    format!("Median and 99th percentile ({}); {}.\n\n{table}", record.epoch(), record.origin.notes.join("; "))
}

fn in_unit(unit: &str, value: Option<f64>) -> String {
    match unit {
        "us" => time(value.map(|us| us * 1e3)),
        "ms" => time(value.map(|ms| ms * 1e6)),
        "MiB" => bytes(value.map(|mib| mib * 1_048_576.0)),
        _ => ratio(value),
    }
}

#[test]
fn a_record_of_python_is_shown_and_its_targets_are_counted() {
    let text = "# commit 1234567; date 2026-11-24; compiler epoch 10; machine m; command c; load average before 0.10\n\
                part,case,contestant,unit,n,min,p50,p99,note\n\
                batch,512 rows,gobo,us,400,900.000,1000.000,1500.000,\n\
                batch,512 rows,floor,us,400,800.000,1000.000,1400.000,memcpy\n\
                # batch_of_512_p50_ratio,1.000,times memcpy,at most 1.3,met\n\
                process,the wheel,gobo,MiB,1,4.500,4.500,4.500,\"a, b\"\n";
    let record = super::newest::Record {
        path: "r.csv".into(),
        origin: gobo_measure::Origin::parse(text.lines().next().unwrap()).unwrap(),
        table: gobo_measure::Table::parse(text),
        report: String::new(),
    };
    assert_eq!(record.comments().count(), 1);
    let shown = figures(&Records([("python".to_owned(), record)].into()));
    assert!(
        shown.contains("| batch: 512 rows | 1.00 ms, 1.50 ms | – | – | 1.00 ms, 1.40 ms |  |"),
        "{shown}"
    );
    assert!(shown.contains("| process: the wheel | 4.50 MiB | – | – | – | a, b |"), "{shown}");
}
