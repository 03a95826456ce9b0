//! The compile table as a picture: the time of each contestant for each constraint, over one vocabulary after the other.

use gobo_measure::Origin;
use gobo_measure::dots::{DotPlot, Group, Row};
use gobo_measure::palette::colour;

use crate::cases::Case;
use crate::record::Record;

/// Contestant, label.
const SERIES: [(&str, &str); 3] = [
    ("gobo", "gobo, complete index"),
    ("llguidance", "llguidance, first mask"),
    ("outlines-core", "outlines-core, complete index"),
];

pub fn draw(record: &Record, cases: &[Case], origin: &Origin) -> String {
    let row = |vocabulary: &str, case: &Case| Row {
        name: case.name.clone(),
        marks: SERIES
            .map(|(who, _)| record.mark((vocabulary, &case.name, who), "compile_ns", |_| None))
            .to_vec(),
    };
    let group = |vocabulary: &str| Group {
        name: vocabulary.to_owned(),
        rows: cases.iter().map(|case| row(vocabulary, case)).collect(),
    };
    DotPlot {
        title: "From a constraint to its index, or to the first mask",
        subtitles: vec![origin.caption()],
        caption: "time to compile on one thread, median",
        series: SERIES.iter().enumerate().map(|(at, (_, label))| (*label, colour(at))).collect(),
        groups: record.vocabularies().into_iter().map(group).collect(),
    }
    .draw()
}
