//! Times of masks as a picture, on a logarithmic axis: a dot at the median, a line to the 99th percentile.

use gobo_measure::Origin;
use gobo_measure::dots::{DotPlot, Group, Mark, Row};
use gobo_measure::palette::{REFERENCE, colour};

use super::RecursiveCase;
use crate::record::Record;

/// Contestant, measure, label.
const SERIES: [(&str, &str, &str); 4] = [
    ("gobo", "copy_ns", "copy of a dense row"),
    ("gobo", "fill_ns", "gobo"),
    ("llguidance", "walk_fill_ns", "llguidance"),
    ("xgrammar", "walk_fill_ns", "XGrammar"),
];

/// A group for each vocabulary, with a row for each constraint.
pub fn draw(record: &Record, cases: &[RecursiveCase], origin: &Origin) -> String {
    let row = |vocabulary: &str, name: &str| Row {
        name: name.to_owned(),
        marks: SERIES
            .map(|(who, measure, _)| {
                let place = (vocabulary, name, who);
                match record.mark(place, measure, |spread| Some(spread.p99)) {
                    // Without an index there are no masks: the reason stands at the compile.
                    Mark::Absent => record.failure(place, "compile_ns"),
                    mark => mark,
                }
            })
            .to_vec(),
    };
    let group = |vocabulary: &str| Group {
        name: vocabulary.to_owned(),
        rows: cases.iter().map(|case| row(vocabulary, &case.case.name)).collect(),
    };
    let colours = [REFERENCE, colour(0), colour(1), colour(2)];
    DotPlot {
        title: "Masks of constraints with calls",
        subtitles: vec![origin.caption()],
        caption: "one mask: dot at the median, end of the line at the 99th percentile",
        series: SERIES.iter().zip(colours).map(|((.., label), colour)| (*label, colour)).collect(),
        groups: record.vocabularies().into_iter().map(group).collect(),
    }
    .draw()
}
