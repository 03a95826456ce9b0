//! Tables of `benches`: compile times, steps, grammars with calls, schemas, tokenizers, each beside the peers.

use std::fmt::Write;

use super::figures::over;
use super::markdown::{bytes, cell, ratio, retimed, table, tables, time};
use super::newest::{Record, Records};

/// The constraints of the table and what they are, in its order.
pub(super) const CONSTRAINTS: [(&str, &str); 17] = [
    ("colours", "choice of 7 colours"),
    ("datetime_ascii", "date-time, `[0-9]`"),
    ("datetime_unicode", "date-time, Unicode `\\d`"),
    ("ipv4_ascii", "IPv4, `[0-9]`"),
    ("ipv4_unicode", "IPv4, Unicode `\\d`"),
    ("quoted", "quoted text"),
    ("json_object", "JSON object (llguidance: from its schema)"),
    ("bounded_200", "string of up to 200 characters"),
    ("bounded_10000", "string of up to 10,000 characters"),
    ("words_10000", "choice of 10,000 words"),
    ("letters_64", "`\\p{L}{1,64}`"),
    ("words_50", "`(\\w+\\s?){1,50}`"),
    ("email", "e-mail address"),
    ("url", "URL"),
    ("iso_8601", "ISO 8601 with all options"),
    ("any_2000", "`(?s:.{0,2000})`"),
    ("two_scripts", "`[\\p{Greek}\\p{Cyrillic}]{1,40}`"),
];

/// The vocabulary of the tables that show one.
pub(super) const VOCABULARY: &str = "o200k_base";

pub(super) const CONTESTANTS: [&str; 3] = ["gobo", "llguidance", "outlines-core"];

/// The median times of the contestants, or why there is none.
pub(super) fn compile_cells(record: &Record, constraint: &str) -> [String; 3] {
    CONTESTANTS.map(|who| {
        let at = [VOCABULARY, constraint, who];
        match (record.p50(at, "compile_ns"), record.note(at, "compile_ns")) {
            (None, Some(note)) => note.to_owned(),
            (nanoseconds, _) => {
                let is_error = record.note(at, "walk_error").is_some_and(|note| note.contains("error"));
                time(nanoseconds) + if is_error { ", then an error" } else { "" }
            }
        }
    })
}

/// The name of a constraint for people; constraints that joined the table later have the record's.
pub(super) fn words(constraint: &str) -> &str {
    CONSTRAINTS.iter().find(|(name, _)| *name == constraint).map_or(constraint, |(_, words)| words)
}

/// The constraints that gobo was asked to compile, in the order of the record.
pub(super) fn compiled(record: &Record) -> Vec<&str> {
    let names = record.values("constraint").into_iter();
    let is_asked = |name: &&str| {
        let at = [VOCABULARY, *name, "gobo"];
        record.p50(at, "compile_ns").is_some() || record.note(at, "compile_ns").is_some()
    };
    names.filter(is_asked).collect()
}

pub(super) fn compile(records: &Records) -> String {
    let record = records.of("table");
    let vocabularies = record.values("vocabulary");
    let rows = compiled(record).into_iter().map(|name| {
        let ratio_of = |vocabulary: &&str| {
            let time = |who| record.p50([vocabulary, name, who], "compile_ns");
            Some(time("gobo")? / time("llguidance")?)
        };
        let ratios: Vec<f64> = vocabularies.iter().filter_map(ratio_of).collect();
        let least = ratios.iter().copied().reduce(f64::min);
        let most = ratios.iter().copied().reduce(f64::max);
        let mut row = vec![words(name).to_owned()];
        row.extend(compile_cells(record, name));
        row.extend([ratio(least), ratio(most)]);
        row
    });
    let heading = [
        "constraint",
        "gobo, all masks",
        "llguidance, first mask",
        "outlines-core, all masks",
        "best",
        "worst",
    ];
    let over = vocabularies.join("`, `");
    format!(
        "Medians over `{VOCABULARY}` ({}); *best* and *worst* are gobo's time over llguidance's, over `{over}`.\n\n{}",
        record.epoch(),
        table(&heading, rows)
    )
}

pub(super) fn steps(records: &Records) -> String {
    let record = records.of("table");
    let rows = record.values("vocabulary").into_iter().map(|vocabulary| {
        let all = |who, measure, part| record.figure([vocabulary, "all", who], measure, part);
        let gobo = |measure, part| all("gobo", measure, part);
        let opened = |file: &str| {
            let of = |measure| record.p50([vocabulary, file, "gobo"], measure);
            format!("{} ({} ×)", time(of("open_ns")), over(of("open_ns"), of("map_and_copy_ns")))
        };
        let fill = |part| {
            let (fill, copy) = (gobo("copy_fill_ns", part), gobo("copy_copy_ns", part));
            format!("{} ({} ×)", time(fill), over(fill, copy))
        };
        vec![
            format!("`{vocabulary}`"),
            fill("p50"),
            fill("p99"),
            time(gobo("advance_ns", "p50")),
            time(gobo("advance_ns", "p99")),
            time(all("llguidance", "advance_ns", "p50")),
            opened("smallest_file"),
            opened("largest_file"),
            bytes(gobo("corpus_file_bytes", "p50")),
            over(gobo("one_thread_ms", "min"), gobo("two_threads_ms", "min")),
            over(gobo("arithmetic_one_thread_ms", "min"), gobo("arithmetic_two_threads_ms", "min")),
        ]
    });
    let heading = [
        "vocabulary",
        "fill p50 (over a copy)",
        "fill p99 (over a copy)",
        "advance p50",
        "advance p99",
        "llguidance advance p50",
        "open smallest file (over map and copy)",
        "open largest file",
        "corpus: median file",
        "two threads over one",
        "… arithmetic",
    ];
    format!("Over the texts of all constraints ({}).\n\n{}", record.epoch(), table(&heading, rows))
}

pub(super) fn recursion(records: &Records) -> String {
    beside_grammars(records.of("recursion"))
}

pub(super) fn grammars(records: &Records) -> String {
    match records.0.get("grammars") {
        Some(record) => beside_grammars(record),
        None => "No record has been made yet: `benches/record.sh MACHINE grammars` makes it.".into(),
    }
}

/// A line for each vocabulary and constraint, beside the peers that read grammars.
fn beside_grammars(record: &Record) -> String {
    let mut rows = Vec::new();
    for vocabulary in record.values("vocabulary") {
        for name in record.values("constraint") {
            let at = |who| [vocabulary, name, who];
            let compile = |who| match (record.p50(at(who), "compile_ns"), record.note(at(who), "compile_ns"))
            {
                (None, Some(note)) => note.split(':').next().unwrap_or(note).to_owned(),
                (nanoseconds, _) => time(nanoseconds),
            };
            let both = |who, measure| {
                let part = |part| record.figure(at(who), measure, part);
                part("p50")
                    .map_or_else(|| "–".into(), |p50| format!("{}, {}", time(Some(p50)), time(part("p99"))))
            };
            // Single texts have no compile, and the unit of the machine has no masks.
            let is_compiled = ["gobo", "llguidance"].iter().any(|who| compile(who) != "–");
            if !is_compiled || record.p50(at("gobo"), "fill_ns").is_none() {
                continue;
            }
            rows.push(vec![
                format!("`{vocabulary}`, {name}"),
                compile("gobo"),
                bytes(record.p50(at("gobo"), "file_bytes")),
                both("gobo", "fill_ns"),
                time(record.p50(at("gobo"), "advance_ns")),
                compile("llguidance"),
                both("llguidance", "walk_fill_ns"),
                compile("xgrammar"),
                both("xgrammar", "walk_fill_ns"),
            ]);
        }
    }
    let heading = [
        "constraint",
        "gobo, all masks",
        "file",
        "fill p50, p99",
        "advance",
        "llguidance, first mask",
        "… fill p50, p99",
        "XGrammar, compile",
        "… fill p50, p99",
    ];
    format!("Medians ({}).\n\n{}", record.epoch(), table(&heading, rows))
}

/// Share, median and 95th percentile of both contestants over all schemas that each compiles.
pub(super) fn schema_compiles(record: &Record) -> [[String; 3]; 2] {
    let tables = tables(&record.report, "Compile");
    let [shares, times] = &tables[..] else {
        panic!("two tables of compiles in the report of {}", record.path)
    };
    ["gobo", "llguidance"].map(|who| {
        let time = |column| {
            let found = cell(times, &[who, "all it compiles"], column, 0);
            found.and_then(|cell| retimed(&cell)).unwrap_or_else(|| panic!("no {column} of {who}"))
        };
        let share = cell(shares, &[who], "share compiled", 0).expect("a share");
        [share, time("p50"), time("p95")]
    })
}

/// Median and 99th percentile of a mask of both contestants, over the texts that both accept.
pub(super) fn schema_masks(record: &Record) -> [[String; 2]; 2] {
    let tables = tables(&record.report, "Masks along the valid instances");
    ["gobo fill: p50", "llguidance warm: p50"].map(|column| {
        [0, 1].map(|after| {
            let found = cell(&tables[0], &["texts that both accept"], column, after);
            found.and_then(|cell| retimed(&cell)).unwrap_or_else(|| panic!("no {column}"))
        })
    })
}

pub(super) fn schema(records: &Records) -> String {
    let record = records.of("schema");
    let mut text = String::new();
    let _ = writeln!(text, "As the record's report has them ({}).\n", record.epoch());
    for heading in
        ["Compile", "gobo / llguidance", "What a compile yields", "Masks along", "Verdicts over", "Subsets"]
    {
        let tables = tables(&record.report, heading);
        assert!(!tables.is_empty(), "no table of {heading} in the report of {}", record.path);
        for cells in tables {
            let names: Vec<&str> = cells[0].iter().map(String::as_str).collect();
            text += &table(&names, cells[1..].to_vec());
            text.push('\n');
        }
    }
    text
}

pub(super) fn vocabulary(records: &Records) -> String {
    let record = records.of("vocabulary");
    let mut tokenizers: Vec<&str> =
        record.values("benchmark").into_iter().filter_map(|name| Some(name.split_once('/')?.0)).collect();
    tokenizers.dedup();
    let rows = tokenizers.into_iter().map(|name| {
        let of =
            |what: &str| record.table.find(&[("benchmark", &format!("{name}/{what}"))])?.number("median_ns");
        let parse = of("parse_as_json_value");
        vec![
            format!("`{name}`"),
            time(of("import")),
            over(of("import"), parse),
            time(of("import_and_build")),
            over(of("import_and_build"), parse),
            time(of("open")),
            time(of("ready_to_compile")),
        ]
    });
    let heading = [
        "tokenizer",
        "import",
        "over parsing its JSON",
        "import and build",
        "over parsing its JSON",
        "open the vocabulary file",
        "ready to compile",
    ];
    format!("Medians ({}).\n\n{}", record.epoch(), table(&heading, rows))
}
