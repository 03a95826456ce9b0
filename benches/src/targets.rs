//! The targets of the table, each beside the worst figure over all vocabularies.

use std::fmt::Write;

use gobo_measure::{Target, Verdict};

use crate::cases::{Case, Goal};
use crate::record::Record;
use crate::run::ALL;

/// One line of the list.
pub struct Line {
    pub target: String,
    pub measured: String,
    /// `None` if it was not measured.
    pub verdict: Option<Verdict>,
}

/// A figure for each place where it could be had.
pub(crate) type Measured<'a> = Vec<(f64, String)>;

/// The line of a target: the worst figure with its place, and the best beside it.
pub(crate) fn line(words: String, unit: &str, target: Target, mut measured: Measured<'_>) -> Line {
    measured.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut best, mut worst) = (measured.first(), measured.last());
    if target.wants_more() {
        (best, worst) = (worst, best);
    }
    let show = |value: f64| if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") };
    let text = match (worst, best) {
        (Some((worst, at)), _) if worst.is_infinite() => format!("no index ({at})"),
        (Some((worst, at)), Some((best, _))) if measured.len() > 1 => {
            format!("{}{unit} ({at}; best {})", show(*worst), show(*best))
        }
        (Some((worst, at)), _) => format!("{}{unit} ({at})", show(*worst)),
        _ => "not measured".into(),
    };
    Line { target: words, measured: text, verdict: worst.map(|(worst, _)| target.verdict(*worst)) }
}

/// The lines as a table in markdown.
pub(crate) fn list(text: &mut String, lines: &[Line]) {
    text.push_str("| target | measured | met? |\n|---|---|---|\n");
    for Line { target, measured, verdict } in lines {
        let met = match verdict {
            None => "-",
            Some(Verdict::Met) => "yes",
            Some(Verdict::Missed | Verdict::Broken) => "**no**",
        };
        let _ = writeln!(text, "| {target} | {measured} | {met} |");
    }
}

/// All lines of the table.
pub fn all(record: &Record, cases: &[Case]) -> Vec<Line> {
    let vocabularies = record.vocabularies();
    let each = |figure: &dyn Fn(&str) -> Option<f64>| -> Measured<'_> {
        vocabularies.iter().filter_map(|name| Some((figure(name)?, (*name).to_owned()))).collect()
    };
    let gobo = |vocabulary: &str, constraint: &str, measure: &str| {
        record.get((vocabulary, constraint, "gobo"), measure)
    };
    let mut lines: Vec<Line> = cases.iter().filter_map(|case| compile(record, case)).collect();

    lines.push(line(
        "file of bounded_10000 ≤ 4 MiB".into(),
        " MiB",
        Target::AtMost(4.0),
        each(&|name| Some(gobo(name, "bounded_10000", "file_bytes")?.p50 / 1_048_576.0)),
    ));
    let fills = |percentile: fn(&crate::spread::Spread) -> f64| -> Measured<'_> {
        let places = vocabularies.iter().flat_map(|name| {
            let constraints = cases.iter().map(|case| case.name.as_str()).chain([ALL]);
            constraints.map(move |constraint| (*name, constraint))
        });
        let ratio = |(name, constraint): (&str, &str)| {
            let fill = percentile(&gobo(name, constraint, "copy_fill_ns")?);
            let copy = percentile(&gobo(name, constraint, "copy_copy_ns")?);
            Some((fill / copy, format!("{name}, {constraint}")))
        };
        places.filter_map(ratio).collect()
    };
    lines.push(line(
        "fill p50 ≤ 1.25 × copies of the same rows".into(),
        " ×",
        Target::AtMost(1.25),
        fills(|s| s.p50),
    ));
    lines.push(line(
        "fill p99 ≤ 2 × copies of the same rows".into(),
        " ×",
        Target::AtMost(2.0),
        fills(|s| s.p99),
    ));
    let most_allocations = |name: &str| {
        let all = cases.iter().filter_map(|case| gobo(name, &case.name, "walk_allocations_per_step"));
        all.map(|spread| spread.p50).reduce(f64::max)
    };
    lines.push(line("no allocation in a step".into(), "", Target::Exactly(0.0), each(&most_allocations)));
    let advance = |name: &str| gobo(name, ALL, "advance_ns");
    lines.push(line(
        "advance p50 over the texts ≤ 30 ns a token".into(),
        " ns",
        Target::AtMost(30.0),
        each(&|name| Some(advance(name)?.p50)),
    ));
    lines.push(line(
        "advance p99 over the texts ≤ 100 ns a token".into(),
        " ns",
        Target::AtMost(100.0),
        each(&|name| Some(advance(name)?.p99)),
    ));
    for file in ["smallest_file", "largest_file"] {
        let ratio =
            |name: &str| Some(gobo(name, file, "open_ns")?.p50 / gobo(name, file, "map_and_copy_ns")?.p50);
        let target = format!("open to first mask ≤ 2 × map and copy a row, {}", file.replace('_', " "));
        lines.push(line(target, " ×", Target::AtMost(2.0), each(&ratio)));
    }
    lines.push(line(
        "corpus: median file ≤ 64 KiB".into(),
        " KiB",
        Target::AtMost(64.0),
        each(&|name| Some(gobo(name, ALL, "corpus_file_bytes")?.p50 / 1024.0)),
    ));
    lines.push(line(
        "file of json_object ≤ 256 KiB".into(),
        " KiB",
        Target::AtMost(256.0),
        each(&|name| Some(gobo(name, "json_object", "file_bytes")?.p50 / 1024.0)),
    ));
    lines.push(line(
        "heap of a compile of json_object < 32 MiB".into(),
        " MiB",
        Target::Below(32.0),
        each(&|name| Some(gobo(name, "json_object", "peak_bytes")?.p50 / 1_048_576.0)),
    ));
    lines.push(threads(record));
    lines
}

fn compile(record: &Record, case: &Case) -> Option<Line> {
    let time =
        |vocabulary: &str, who: &str| Some(record.get((vocabulary, &case.name, who), "compile_ns")?.p50);
    let names = record.vocabularies();
    // A compile that was given up misses its target by all means.
    let failed = names.iter().find(|name| {
        record.row((name, &case.name, "gobo"), "compile_ns").is_some_and(|row| row.figure.is_err())
    });
    let given_up = failed.map(|name| (f64::INFINITY, (*name).to_owned()));
    let (target, unit, limit, measured): (_, _, _, Measured<'_>) = match case.goal {
        Goal::None => return None,
        Goal::OfLlguidance(limit) => {
            let ratio =
                |name: &&str| Some((time(name, "gobo")? / time(name, "llguidance")?, (*name).to_owned()));
            let target = format!("compile {} ≤ {limit:.3} × llguidance", case.name);
            (target, " ×", limit, names.iter().filter_map(ratio).collect())
        }
        Goal::Milliseconds(limit) => {
            let ms = |name: &&str| Some((time(name, "gobo")? / 1e6, (*name).to_owned()));
            (
                format!("compile {} ≤ {limit} ms", case.name),
                " ms",
                limit,
                names.iter().filter_map(ms).collect(),
            )
        }
    };
    Some(line(target, unit, Target::AtMost(limit), measured.into_iter().chain(given_up).collect()))
}

/// Two threads against one. Where neighbours leave no second core to arithmetic either, nothing is shown.
fn threads(record: &Record) -> Line {
    let least = |name: &str, measure: &str| Some(record.get((name, ALL, "gobo"), measure)?.min);
    let rates = |name: &&str| {
        let library = least(name, "one_thread_ms")? / least(name, "two_threads_ms")?;
        let machine = least(name, "arithmetic_one_thread_ms")? / least(name, "arithmetic_two_threads_ms")?;
        Some((library, machine, (*name).to_owned()))
    };
    let rates: Vec<_> = record.vocabularies().iter().filter_map(rates).collect();
    let worst = rates.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    Line {
        target: "a library by two threads at ≥ 1.8 × the rate of one, least times".into(),
        measured: worst.map_or_else(
            || "not measured".into(),
            |(library, machine, name)| format!("{library:.2} × ({name}; arithmetic: {machine:.2} ×)"),
        ),
        verdict: worst.and_then(|(library, machine, _)| {
            let rate = Target::AtLeast(1.8);
            let verdict = rate.verdict(*library);
            (verdict.is_met() || rate.verdict(*machine).is_met()).then_some(verdict)
        }),
    }
}
