//! Ambiguity: texts of 2,000 bytes with very many ways to be read, whose stacks are joined in a graph.
//!
//! A text is walked token by token, cut by longest match and cut into single bytes. Each step is a mask and then an advance, with a
//! time for each. Masks and advances cost more the longer the text is: beside the figures of all steps there are those of the last
//! tenth, from byte 1,800 on, and the targets are about these.

use gobo_artifact::Matcher;
use gobo_measure::Target;
use gobo_types::Constraint;

use crate::cases::{Case, Goal, PeerGrammar, Recursive};
use crate::clock::Clock;
use crate::contestants::{Contestant as _, Gobo};
use crate::heap::watch;
use crate::record::Record;
use crate::run::Tokens;
use crate::spread::Spread;
use crate::vocabularies::Source;

/// Bytes of each text.
pub const BYTES: usize = 2_000;
/// Where the last part of a text begins.
const LAST: usize = BYTES - BYTES / 10;
/// Walks of each text that are timed, after one that is not.
const ROUNDS: usize = 5;

/// A name, a grammar, and letters that are repeated to a text of 2,000 bytes.
const CASES: [(&str, &str, &str); 3] = [
    ("arities", r#"root ::= "a" root root | "a""#, "a"),
    ("palindromes", r#"root ::= "a" root "a" | "b" root "b" | "a" | "b""#, "a"),
    ("palindromes_of_two", r#"root ::= "a" root "a" | "b" root "b" | "a" | "b""#, "aabab"),
];

/// What the figures of the last part should be: its name with the case and the cut in front, the measure, and the unit.
const TARGETS: [(&str, Target, f64, &str); 3] = [
    ("fill_last_ns", Target::AtMost(0.5), 1e6, "ms"),
    ("advance_last_ns", Target::AtMost(0.5), 1e6, "ms"),
    ("heap_bytes", Target::AtMost(16.0), 1_048_576.0, "MiB"),
];

/// The names of the figures, in their order.
pub const MEASURES: [&str; 10] = [
    "steps",
    "fill_ns",
    "fill_last_ns",
    "advance_ns",
    "advance_last_ns",
    "configurations",
    "frames",
    "nodes",
    "kept_nodes",
    "heap_bytes",
];

fn case(name: &str, grammar: &str) -> Case {
    let recursive = Recursive {
        constraint: Constraint::gbnf(grammar, "root"),
        llguidance: PeerGrammar::Unknown,
        xgrammar: Some(grammar.to_owned()),
    };
    Case { recursive: Some(Box::new(recursive)), ..Case::regex(name, "", Goal::None, &[]) }
}

/// Measures all cases over one vocabulary.
pub fn measure(source: &Source, record: &mut Record) -> anyhow::Result<()> {
    let gobo = Gobo::new(source)?;
    let tokens = Tokens::of(&gobo.vocabulary);
    for (name, grammar, letters) in CASES {
        let text = letters.repeat(BYTES.div_ceil(letters.len()));
        let text = &text[..BYTES];
        let matcher = gobo.matcher_of(&case(name, grammar))?;
        let bytes = text.char_indices().flat_map(|(at, char)| tokens.greedy(&text[at..at + char.len_utf8()]));
        for (cut, ids) in [("tokens", tokens.greedy(text)), ("bytes", bytes.collect())] {
            let name = format!("{name}/{cut}");
            eprintln!("{}: {name}", source.name);
            walk(&gobo, &matcher, &ids, (&source.name, &name, "gobo"), record)?;
        }
    }
    Ok(())
}

/// One text in one cut.
fn walk(
    gobo: &Gobo,
    matcher: &Matcher,
    ids: &[u32],
    at: (&str, &str, &str),
    record: &mut Record,
) -> anyhow::Result<()> {
    let mut mask = vec![0; gobo.mask_words()];
    let (end, heap) = watch(|| -> anyhow::Result<Matcher> {
        let mut matcher = matcher.clone();
        for &id in ids {
            matcher.fill(&mut mask)?;
            matcher.advance(id)?;
        }
        Ok(matcher)
    });
    let (mut end, clock) = (end?, Clock::calibrated());
    let facts = [
        ("steps", ids.len() as f64),
        ("configurations", end.configuration_count() as f64),
        ("frames", end.stack_frames() as f64),
        ("nodes", end.stack_nodes() as f64),
        ("kept_nodes", end.kept_nodes() as f64),
        ("heap_bytes", heap.peak_bytes as f64),
    ];
    let (mut fills, mut advances) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        end.reset();
        let mut read = 0;
        for &id in ids {
            let (filled, fill_ns) = clock.time(|| end.fill(&mut mask));
            let (advanced, advance_ns) = clock.time(|| end.advance(id));
            filled?;
            advanced?;
            // The first walk meets memory that was never touched.
            if round > 0 {
                fills.push((read, fill_ns));
                advances.push((read, advance_ns));
            }
            read += gobo.vocabulary.bytes(id).len();
        }
    }
    for (measure, samples) in [("fill", &fills), ("advance", &advances)] {
        for (part, from) in [("ns", 0), ("last_ns", LAST)] {
            let times = samples.iter().filter(|(read, _)| *read >= from).map(|(_, ns)| *ns);
            let figure = Spread::of(&times.collect::<Vec<_>>()).ok_or_else(|| "no samples".to_owned());
            record.push(at, &format!("{measure}_{part}"), figure);
        }
    }
    for (fact, value) in facts {
        record.push(at, fact, Ok(Spread::exact(value)));
    }
    Ok(())
}

/// The targets, as comments of the record: name, value, unit, target, verdict.
pub fn targets(record: &Record) -> Vec<String> {
    let mut lines = Vec::new();
    let mut places: Vec<(&str, &str)> = Vec::new();
    for row in &record.rows {
        let place = (row.vocabulary.as_str(), row.constraint.as_str());
        if !places.contains(&place) {
            places.push(place);
        }
    }
    for (vocabulary, name) in places {
        for (measure, target, unit, unit_name) in TARGETS {
            let Some(spread) = record.get((vocabulary, name, "gobo"), measure) else { continue };
            let value = spread.p99 / unit;
            let (what, verdict) =
                (measure.rsplit_once('_').map_or(measure, |(what, _)| what), target.verdict(value));
            let name = name.replace('/', "_");
            lines.push(format!("{name}_{what}_p99,{value:.3},{unit_name},{target},{}", verdict.name()));
        }
    }
    lines
}
