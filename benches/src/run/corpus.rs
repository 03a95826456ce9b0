//! Collections: their files' sizes, and their compile by one thread and by two.

use std::time::Duration;

use super::{ALL, Peer};
use crate::ask::{Ask, Sequence};
use crate::library;
use crate::record::Record;
use crate::spread::Spread;
use crate::vocabularies::Source;

/// A library is many quick constraints; one that takes this long would be all that is measured.
const QUICK_NS: f64 = 50e6;
const LIBRARY: Duration = Duration::from_secs(120);

/// A library by one thread and by two, in turns.
pub fn threads(
    gobo: &mut Peer,
    source: &Source,
    compiled: &[Sequence],
    record: &mut Record,
) -> anyhow::Result<()> {
    let time = |name: &str| record.get((&source.name, name, "gobo"), "compile_ns").map(|time| time.p50);
    let quick = |sequence: &&Sequence| time(&sequence.case.name).is_some_and(|ns| ns < QUICK_NS);
    let cases: Vec<_> = compiled.iter().filter(quick).map(|sequence| &sequence.case).collect();
    let library = library::everyday(&cases)?;
    let at = (&*source.name, ALL, "gobo");
    record.push(at, "library_constraints", Ok(Spread::exact(library.len() as f64)));
    match gobo.ask_within(&Ask::Threads { cases: library, rounds: 7 }, LIBRARY) {
        Ok(answer) => {
            for (measure, samples) in &answer.samples {
                record.push(at, measure, Spread::of(samples).ok_or_else(|| "no samples".into()));
            }
        }
        Err(reason) => record.push(at, "one_thread_ms", Err(reason)),
    }
    Ok(())
}

/// The sizes of the corpus's files; the regexes that have none are counted.
pub fn sizes(gobo: &mut Peer, source: &Source, record: &mut Record) {
    let (mut sizes, mut without) = (Vec::new(), 0.0);
    for case in library::corpus() {
        match gobo.ask(&Ask::Compile { case, runs: 1, spend_ms: 0 }) {
            Ok(answer) => sizes.extend(answer.facts.get("file_bytes")),
            Err(_) => without += 1.0,
        }
    }
    let at = (&*source.name, ALL, "gobo");
    record.push(at, "corpus_file_bytes", Spread::of(&sizes).ok_or_else(|| "no corpus".into()));
    record.push(at, "corpus_without_index", Ok(Spread::exact(without)));
}
