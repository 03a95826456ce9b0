//! The figures of the recursion run for people: markdown.

use std::fmt::Write;

use gobo_measure::Target;

use super::RecursiveCase;
use crate::record::Record;
use crate::run::recursion::{MACHINE, UNIT, names};
use crate::spread::Spread;
use crate::tables::{bytes, table, time};
use crate::targets::{Line, Measured, line, list};

/// What the machine of the targets takes for each unit.
const HOT_COPY_NS: f64 = 220.0;
const UNIT_NS: f64 = 720_000.0;

/// How figures of this run become figures of that machine.
#[derive(Clone, Copy)]
struct Scale<'a> {
    record: &'a Record,
}

impl Scale<'_> {
    /// Of masks and advances: by the hot copy of the same vocabulary's turn.
    fn step(&self, vocabulary: &str) -> f64 {
        let hot = self.record.get((vocabulary, MACHINE, "gobo"), "hot_copy_ns");
        hot.map_or(1.0, |hot| HOT_COPY_NS / hot.p50)
    }

    /// Of compiles: by llguidance's first mask of the unit.
    fn compile(&self) -> f64 {
        let unit = self.record.get(("llama-3.1", UNIT, "llguidance"), "compile_ns");
        unit.map_or(1.0, |unit| UNIT_NS / unit.p50)
    }
}

/// The whole report.
pub fn report(record: &Record, cases: &[RecursiveCase]) -> String {
    let mut text = String::new();
    machine(&mut text, record);
    compiles(&mut text, record, cases);
    steps(&mut text, record, cases);
    nesting(&mut text, record, cases);
    differences(&mut text, record, cases);
    text.push_str(
        "\n## Targets, each at its worst vocabulary\n\nTimes are scaled as said above; those measured stand behind \
         them.\n\n",
    );
    list(&mut text, &targets(record, cases));
    text
}

fn machine(text: &mut String, record: &Record) {
    let scale = Scale { record };
    text.push_str("\n## The machine in this run\n\n");
    if let Some(unit) = record.get(("llama-3.1", UNIT, "llguidance"), "compile_ns") {
        let _ = writeln!(
            text,
            "llguidance to the first mask of the seven colours, llama-3.1: {} (targets: {}); compile times scale by {:.2}.",
            time(unit.p50),
            time(UNIT_NS),
            scale.compile()
        );
    }
    for vocabulary in record.vocabularies() {
        if let Some(hot) = record.get((vocabulary, MACHINE, "gobo"), "hot_copy_ns") {
            let _ = writeln!(
                text,
                "A hot copy of 16 KiB, during {vocabulary}: {} (targets: {}); steps scale by {:.2}.",
                time(hot.p50),
                time(HOT_COPY_NS),
                scale.step(vocabulary)
            );
        }
    }
}

fn compiles(text: &mut String, record: &Record, cases: &[RecursiveCase]) {
    text.push_str("\n## Compile, one thread, median (least); what it yields\n\n");
    text.push_str("gobo: text to the bytes of the file. llguidance: to the first mask. XGrammar: its compile, one thread, no cache. What is over 15 s there is compiles and all steps together.\n\n");
    let columns = "gobo | … scaled | llguidance | XGrammar | class | file | states | rows stored";
    table(text, record, &names(cases), columns, |vocabulary, name| {
        let figure = |who| match &record.row((vocabulary, name, who), "compile_ns")?.figure {
            Ok(spread) => Some(format!("{} ({})", time(spread.p50), time(spread.min))),
            Err(reason) => Some(reason.replace('|', "\\|")),
        };
        let gobo = |measure| Some(record.get((vocabulary, name, "gobo"), measure)?.p50);
        let count = |measure| gobo(measure).map_or_else(String::new, |count| count.to_string());
        let class = gobo("class").map(|class| match class {
            0.0 => "regular",
            1.0 => "deterministic",
            _ => "ambiguous",
        });
        let scaled = gobo("compile_ns").map(|ns| time(ns * Scale { record }.compile()));
        let cells = [
            figure("gobo")?,
            scaled.unwrap_or_default(),
            figure("llguidance").unwrap_or_default(),
            figure("xgrammar").unwrap_or_default(),
            class.unwrap_or_default().to_owned(),
            gobo("file_bytes").map_or_else(String::new, bytes),
            count("states"),
            count("distinct_rows"),
        ];
        Some(cells.join(" | "))
    });
}

fn pair(record: &Record, at: (&str, &str, &str), measure: &str) -> String {
    match (record.get(at, measure), record.row(at, "walk_error")) {
        (Some(spread), _) => format!("{} / {}", time(spread.p50), time(spread.p99)),
        (None, Some(row)) => {
            row.figure.as_ref().err().map_or_else(String::new, |why| why.replace('|', "\\|"))
        }
        (None, None) => String::new(),
    }
}

fn steps(text: &mut String, record: &Record, cases: &[RecursiveCase]) {
    text.push_str("\n## A step: fill one mask, and take one token; p50 / p99\n\n");
    text.push_str(
        "Slowest: the place whose median over the rounds is highest. Unions: masks of more than one row, and their p99 \
         as so many copies. XGrammar is called from Python, which is part of its times.\n\n",
    );
    let columns = "masks | gobo fill | slowest | copies of dense rows | unions | … p99 / copy | rows: p99, most \
                   | configurations: most | llguidance fill | … cold | XGrammar fill | gobo advance | llguidance advance \
                   | XGrammar advance";
    table(text, record, &names(cases), columns, |vocabulary, name| {
        let gobo = |measure| record.get((vocabulary, name, "gobo"), measure);
        let at = |who| (vocabulary, name, who);
        let (fill, copy) = (gobo("fill_ns")?, gobo("copy_ns")?);
        let rows = gobo("rows")?;
        let unions = gobo("union_fill_ns");
        let most = |measure| gobo(measure).map_or(0.0, |count| count.p50);
        let cells = [
            rows.n.to_string(),
            format!("{} / {}", time(fill.p50), time(fill.p99)),
            time(most("fill_slowest_ns")),
            format!("{} / {}", time(copy.p50), time(copy.p99)),
            unions.map_or_else(String::new, |unions| {
                format!(
                    "{:.0} %: {} / {}",
                    100.0 * unions.n as f64 / fill.n as f64,
                    time(unions.p50),
                    time(unions.p99)
                )
            }),
            unions.map_or_else(String::new, |unions| format!("{:.1}", unions.p99 / copy.p50)),
            format!("{}, {}", rows.p99, most("most_rows")),
            most("most_configurations").to_string(),
            pair(record, at("llguidance"), "walk_fill_ns"),
            pair(record, at("llguidance"), "walk_cold_fill_ns"),
            pair(record, at("xgrammar"), "walk_fill_ns"),
            pair(record, at("gobo"), "advance_ns"),
            pair(record, at("llguidance"), "walk_advance_ns"),
            pair(record, at("xgrammar"), "walk_advance_ns"),
        ];
        Some(cells.join(" | "))
    });
}

fn nesting(text: &mut String, record: &Record, cases: &[RecursiveCase]) {
    text.push_str("\n## Text by text: cost against depth\n\n");
    let texts: Vec<String> = cases
        .iter()
        .flat_map(|case| case.text_names.iter().map(|text| format!("{}/{text}", case.case.name)))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let columns =
        "masks | deepest stack | fill p50 / p99 | advance a token | rows: most | configurations: most";
    table(text, record, &texts, columns, |vocabulary, name| {
        let gobo = |measure| record.get((vocabulary, name, "gobo"), measure);
        let cells = [
            gobo("rows")?.n.to_string(),
            gobo("most_depth")?.p50.to_string(),
            pair(record, (vocabulary, name, "gobo"), "fill_ns"),
            time(gobo("advance_ns")?.p50),
            gobo("most_rows")?.p50.to_string(),
            gobo("most_configurations")?.p50.to_string(),
        ];
        Some(cells.join(" | "))
    });
}

fn differences(text: &mut String, record: &Record, cases: &[RecursiveCase]) {
    text.push_str(
        "\n## Masks along the texts beside a peer's, bit for bit\n\nXGrammar reads the very same grammar, and for JSON \
         one of the same language. llguidance has a lexer, which takes the longest token; its grammar of `sql` is the nearest in \
         its dialect, it has none of `c`, and its JSON takes blanks and escapes of its own.\n\n\
         | vocabulary | constraint | peer | masks | different | bits only gobo | bits only the peer | first |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let mut without = 0.0;
    for vocabulary in record.vocabularies() {
        for case in cases {
            let name = &*case.case.name;
            without += record
                .get((vocabulary, name, "gobo"), "without_next_token")
                .map_or(0.0, |without| without.p50);
            for peer in ["llguidance", "xgrammar"] {
                let at = (vocabulary, name, peer);
                let Some(compared) = record.get(at, "masks_compared") else { continue };
                let count = |measure| record.get(at, measure).map_or(0.0, |count| count.p50);
                let example = record.row(at, "masks_example").and_then(|row| row.figure.as_ref().err());
                let _ = writeln!(
                    text,
                    "| {vocabulary} | {name} | {peer} | {} | {} | {} | {} | {} |",
                    compared.p50,
                    count("masks_different"),
                    count("bits_only_gobo"),
                    count("bits_only_peer"),
                    example.map_or_else(String::new, |example| example.replace('|', "\\|"))
                );
            }
        }
    }
    let _ = writeln!(text, "\nMasks of gobo that lack the next token of the text: {without}.");
}

/// All lines, constraint by constraint.
fn targets(record: &Record, cases: &[RecursiveCase]) -> Vec<Line> {
    let scale = Scale { record };
    let mut lines = Vec::new();
    for case in cases {
        let (name, limits) = (&*case.case.name, case.limits);
        let each = |figure: &dyn Fn(&str) -> Option<(f64, String)>| -> Measured<'_> {
            let vocabularies = record.vocabularies().into_iter();
            vocabularies.filter_map(figure).collect()
        };
        let gobo = |vocabulary: &str, measure: &str| record.get((vocabulary, name, "gobo"), measure);
        // A constraint that has no index misses its targets by all means.
        let compile = |vocabulary: &str| {
            let row = record.row((vocabulary, name, "gobo"), "compile_ns")?;
            let Ok(spread) = &row.figure else { return Some((f64::INFINITY, vocabulary.to_owned())) };
            let ms = spread.p50 / 1e6;
            Some((ms * scale.compile(), format!("{vocabulary}: {ms:.3}")))
        };
        let limit = limits.compile_ms;
        lines.push(line(
            format!("compile {name} ≤ {limit} ms"),
            " ms",
            Target::AtMost(limit),
            each(&compile),
        ));
        let file =
            |vocabulary: &str| Some((gobo(vocabulary, "file_bytes")?.p50 / 1024.0, vocabulary.to_owned()));
        let limit = limits.file_kib;
        lines.push(line(format!("file of {name} ≤ {limit} KiB"), " KiB", Target::AtMost(limit), each(&file)));
        let step = |measure: &'static str, part: fn(&Spread) -> f64| {
            move |vocabulary: &str| {
                let ns = part(&gobo(vocabulary, measure)?);
                Some((ns * scale.step(vocabulary), format!("{vocabulary}: {ns:.0}")))
            }
        };
        for (part, pick, limit) in [
            ("p50", (|spread| spread.p50) as fn(&Spread) -> f64, limits.fill_p50_ns),
            ("p99", |spread| spread.p99, limits.fill_p99_ns),
        ] {
            let target = format!("masks of {name}: {part} ≤ {limit} ns");
            lines.push(line(target, " ns", Target::AtMost(limit), each(&step("fill_ns", pick))));
        }
        let Some(limit) = limits.advance_p50_ns else { continue };
        let copies = |vocabulary: &str| {
            let ratio = gobo(vocabulary, "union_fill_ns")?.p99 / gobo(vocabulary, "copy_ns")?.p50;
            Some((ratio, vocabulary.to_owned()))
        };
        let target = format!("masks of {name} that are unions: p99 ≤ 4 copies of a dense row");
        lines.push(line(target, " ×", Target::AtMost(4.0), each(&copies)));
        let target = format!("advance in {name}: p50 ≤ {limit} ns a token");
        lines.push(line(
            target,
            " ns",
            Target::AtMost(limit),
            each(&step("advance_ns", |spread| spread.p50)),
        ));
    }
    lines
}
