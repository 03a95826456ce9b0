//! The picture of both documents: compile times of gobo and its peers.

use gobo_measure::dots::{DotPlot, Group, Mark, Row};
use gobo_measure::palette::colour;

use super::newest::Records;
use super::peers::{CONTESTANTS, VOCABULARY, compiled, words};

pub(super) fn compile(records: &Records) -> String {
    let record = records.of("table");
    let row = |name: &str| {
        let mark = |who: &str| {
            let at = [VOCABULARY, name, who];
            match (record.p50(at, "compile_ns"), record.note(at, "compile_ns")) {
                (Some(p50), _) => Mark::Time { p50, p99: None },
                (None, Some(note)) => Mark::failed(note),
                (None, None) => Mark::Absent,
            }
        };
        Row { name: words(name).replace('`', ""), marks: CONTESTANTS.map(mark).to_vec() }
    };
    let labels = ["gobo: all masks", "llguidance: the first mask", "outlines-core: all masks"];
    DotPlot {
        title: "From a constraint to its masks",
        subtitles: vec![record.origin.caption(), format!("{VOCABULARY}, one thread, medians")],
        caption: "time, logarithmic",
        series: labels.iter().enumerate().map(|(at, label)| (*label, colour(at))).collect(),
        groups: vec![Group { name: String::new(), rows: compiled(record).into_iter().map(row).collect() }],
    }
    .draw()
}
