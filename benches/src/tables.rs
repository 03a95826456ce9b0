//! The figures for people: markdown.

use std::fmt::Write;

use crate::cases::{Case, Goal};
use crate::record::Record;
use crate::run::ALL;
use crate::spread::Spread;
use crate::targets;

pub(crate) fn time(ns: f64) -> String {
    match ns {
        ns if ns < 10_000.0 => format!("{ns:.0} ns"),
        ns if ns < 10_000_000.0 => format!("{:.3} ms", ns / 1e6),
        ns => format!("{:.1} ms", ns / 1e6),
    }
}

pub(crate) fn bytes(bytes: f64) -> String {
    match bytes {
        bytes if bytes < 10_240.0 => format!("{bytes:.0} B"),
        bytes if bytes < 10_485_760.0 => format!("{:.1} KiB", bytes / 1024.0),
        bytes => format!("{:.1} MiB", bytes / 1_048_576.0),
    }
}

/// The whole report.
pub fn report(record: &Record, cases: &[Case]) -> String {
    let mut text = String::new();
    compile(&mut text, record, cases);
    steps(&mut text, record, cases);
    sizes(&mut text, record, cases);
    collections(&mut text, record);
    differences(&mut text, record, cases);
    goals(&mut text, record, cases);
    text
}

/// A table of constraints by vocabularies, in which each cell is made by `cell`.
pub(crate) fn table(
    text: &mut String,
    record: &Record,
    names: &[&str],
    columns: &str,
    cell: impl Fn(&str, &str) -> Option<String>,
) {
    let _ = writeln!(text, "| vocabulary | constraint | {columns} |");
    let _ = writeln!(text, "|---|---|{}", "---|".repeat(columns.split('|').count()));
    for vocabulary in record.vocabularies() {
        for name in names {
            if let Some(cells) = cell(vocabulary, name) {
                let _ = writeln!(text, "| {vocabulary} | {name} | {cells} |");
            }
        }
    }
}

fn names(cases: &[Case]) -> Vec<&str> {
    cases.iter().map(|case| case.name.as_str()).collect()
}

fn compile(text: &mut String, record: &Record, cases: &[Case]) {
    text.push_str("\n## Compile: text to first mask, one thread, median (least)\n\n");
    let columns = "gobo, complete index | llguidance, lazy | outlines-core | gobo / llguidance | target";
    table(text, record, &names(cases), columns, |vocabulary, name| {
        let figure = |who| {
            let row = record.row((vocabulary, name, who), "compile_ns");
            row.map_or_else(String::new, |row| match &row.figure {
                Ok(spread) => format!("{} ({})", time(spread.p50), time(spread.min)),
                Err(reason) => reason.replace('|', "\\|"),
            })
        };
        let ratio = |part: fn(Spread) -> f64| {
            let time = |who| record.get((vocabulary, name, who), "compile_ns").map(part);
            time("gobo").zip(time("llguidance")).map(|(gobo, peer)| gobo / peer)
        };
        let ratios = ratio(|time| time.p50).zip(ratio(|time| time.min));
        let ratios = ratios.map_or_else(String::new, |(median, least)| format!("{median:.3} ({least:.3})"));
        let goal = match cases.iter().find(|case| case.name == name)?.goal {
            Goal::OfLlguidance(limit) => format!("{limit:.3}"),
            Goal::Milliseconds(limit) => format!("{limit} ms"),
            Goal::None => String::new(),
        };
        let (gobo, llguidance, outlines) = (figure("gobo"), figure("llguidance"), figure("outlines-core"));
        Some(format!("{gobo} | {llguidance} | {outlines} | {ratios} | {goal}"))
    });
}

fn steps(text: &mut String, record: &Record, cases: &[Case]) {
    text.push_str("\n## A step: fill one mask, and take one token; p50 / p99\n\n");
    let columns = "gobo fill | copies of the same rows | ratio | llguidance fill | … cold | outlines-core fill \
                   | gobo advance | llguidance advance | outlines-core advance";
    let names: Vec<&str> = names(cases).into_iter().chain([ALL]).collect();
    table(text, record, &names, columns, |vocabulary, name| {
        let pair = |who: &str, measure: &str| {
            let at = (vocabulary, name, who);
            if let Some(spread) = record.get(at, measure) {
                return format!("{} / {}", time(spread.p50), time(spread.p99));
            }
            let failed = record.row(at, "walk_error").filter(|_| measure == "walk_fill_ns");
            let reason = failed.and_then(|row| row.figure.as_ref().err());
            reason.map_or_else(String::new, |reason| reason.replace('|', "\\|"))
        };
        let (fill, copy) = ("copy_fill_ns", "copy_copy_ns");
        let gobo = |measure| record.get((vocabulary, name, "gobo"), measure);
        let ratio = gobo(fill).zip(gobo(copy));
        let advance = if name == ALL { "advance_ns" } else { "walk_advance_ns" };
        let cells = [
            pair("gobo", fill),
            pair("gobo", copy),
            ratio.map_or_else(String::new, |(fill, copy)| {
                format!("{:.2} / {:.2}", fill.p50 / copy.p50, fill.p99 / copy.p99)
            }),
            pair("llguidance", "walk_fill_ns"),
            pair("llguidance", "walk_cold_fill_ns"),
            pair("outlines-core", "walk_fill_ns"),
            pair("gobo", advance),
            pair("llguidance", advance),
            pair("outlines-core", advance),
        ];
        Some(cells.join(" | "))
    });
}

fn sizes(text: &mut String, record: &Record, cases: &[Case]) {
    text.push_str("\n## Files and memory\n\n");
    let columns = "file | states | rows computed | rows stored | bytes charged | heap, most at once \
                   | llguidance heap | outlines-core heap";
    table(text, record, &names(cases), columns, |vocabulary, name| {
        let fact = |who, measure| Some(record.get((vocabulary, name, who), measure)?.p50);
        let size = |who, measure| fact(who, measure).map_or_else(String::new, bytes);
        let count = |measure| fact("gobo", measure).map_or_else(String::new, |count| format!("{count}"));
        fact("gobo", "file_bytes")?;
        let cells = [
            size("gobo", "file_bytes"),
            count("states"),
            count("row_computations"),
            count("distinct_rows"),
            size("gobo", "charged_bytes"),
            size("gobo", "peak_bytes"),
            size("llguidance", "peak_bytes"),
            size("outlines-core", "peak_bytes"),
        ];
        Some(cells.join(" | "))
    });
}

fn collections(text: &mut String, record: &Record) {
    text.push_str("\n## Open to first mask; collections\n\n");
    text.push_str(
        "| vocabulary | smallest file: open | map and copy a row | largest file | open | map and copy a row \
         | corpus: median file | p99 | without an index | library | one thread | two | ratio of least | … of arithmetic |\n",
    );
    text.push_str("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for vocabulary in record.vocabularies() {
        let get = |constraint, measure| record.get((vocabulary, constraint, "gobo"), measure);
        let median = |constraint, measure| {
            get(constraint, measure).map_or_else(String::new, |spread| time(spread.p50))
        };
        let count = |measure| get(ALL, measure).map_or_else(String::new, |count| format!("{}", count.p50));
        let ms = |measure| {
            get(ALL, measure).map_or_else(String::new, |ms| format!("{:.0} ({:.0}) ms", ms.p50, ms.min))
        };
        let ratio = |one, two| {
            let both = get(ALL, one).zip(get(ALL, two));
            both.map_or_else(String::new, |(one, two)| format!("{:.2}", one.min / two.min))
        };
        let corpus = get(ALL, "corpus_file_bytes");
        let cells = [
            median("smallest_file", "open_ns"),
            median("smallest_file", "map_and_copy_ns"),
            get("largest_file", "file_bytes").map_or_else(String::new, |size| bytes(size.p50)),
            median("largest_file", "open_ns"),
            median("largest_file", "map_and_copy_ns"),
            corpus.map_or_else(String::new, |spread| bytes(spread.p50)),
            corpus.map_or_else(String::new, |spread| bytes(spread.p99)),
            count("corpus_without_index"),
            count("library_constraints"),
            ms("one_thread_ms"),
            ms("two_threads_ms"),
            ratio("one_thread_ms", "two_threads_ms"),
            ratio("arithmetic_one_thread_ms", "arithmetic_two_threads_ms"),
        ];
        let _ = writeln!(text, "| {vocabulary} | {} |", cells.join(" | "));
    }
}

fn differences(text: &mut String, record: &Record, cases: &[Case]) {
    text.push_str("\n## Masks along the texts that differ from a peer's, on the very same regex\n\n");
    text.push_str("outlines-core knows one EOS: the bits of further ones are left out there.\n\n");
    text.push_str("| vocabulary | constraint | peer | masks | different | bits only gobo | bits only the peer | first |\n");
    text.push_str("|---|---|---|---|---|---|---|---|\n");
    let (mut compared, mut different) = (0.0, 0.0);
    for vocabulary in record.vocabularies() {
        for case in cases {
            for peer in ["llguidance", "outlines-core"] {
                let at = (vocabulary, case.name.as_str(), peer);
                let note = |measure| {
                    let row = record.row(at, measure)?;
                    row.figure.as_ref().err().map(|note| note.replace('|', "\\|"))
                };
                let count = |measure| record.get(at, measure).map_or(0.0, |count| count.p50);
                compared += count("masks_compared");
                different += count("masks_different");
                let example = note("masks_example").or_else(|| note("masks"));
                if let Some(example) = example {
                    let counts =
                        ["masks_compared", "masks_different", "bits_only_gobo", "bits_only_peer"].map(count);
                    let counts = counts.map(|count| format!("{count}")).join(" | ");
                    let _ =
                        writeln!(text, "| {vocabulary} | {} | {peer} | {counts} | {example} |", case.name);
                }
            }
        }
    }
    let _ = writeln!(text, "\n{compared} masks compared, {different} different.");
}

fn goals(text: &mut String, record: &Record, cases: &[Case]) {
    text.push_str("\n## Targets, each at its worst vocabulary\n\n");
    targets::list(text, &targets::all(record, cases));
}
