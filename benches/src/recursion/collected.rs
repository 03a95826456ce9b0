//! Grammars of whole languages as others have published them, each under a lexer, and the library's own.

use anyhow::Context;
use gobo_types::{Constraint, Dialect, Lexer, LookAhead};
use serde_json::Value;

use super::cases::{Limits, RecursiveCase, case, read, texts};
use crate::cases::{PeerGrammar, Recursive};
use crate::vocabularies::data;

/// A name, the file among the grammars of the data, a lexer, the folder of texts, and what is asked.
type Collected = (&'static str, &'static str, Lexer, &'static str, Limits);

const fn limits(compile_ms: f64, file_mib: f64, fill_us: (f64, f64)) -> Limits {
    Limits {
        compile_ms,
        file_kib: file_mib * 1024.0,
        fill_p50_ns: fill_us.0 * 1e3,
        fill_p99_ns: fill_us.1 * 1e3,
        advance_p50_ns: None,
    }
}

const BASIC: Lexer = Lexer::Basic(LookAhead::DEFAULT);
const CONTEXTUAL: Lexer = Lexer::Contextual(LookAhead::DEFAULT);

const COLLECTED: [Collected; 7] = [
    ("go_basic", "syncode--go.lark", BASIC, "go", limits(400.0, 4.0, (4.0, 15.0))),
    ("go_contextual", "syncode--go.lark", CONTEXTUAL, "go", limits(800.0, 4.0, (4.0, 15.0))),
    ("python_basic", "syncode--python.lark", BASIC, "python", limits(1000.0, 8.0, (4.0, 15.0))),
    ("python_contextual", "syncode--python.lark", CONTEXTUAL, "python", limits(2000.0, 8.0, (4.0, 15.0))),
    ("syncode_c_basic", "syncode--c.lark", BASIC, "syncode_c", limits(100.0, 1.0, (3.0, 8.0))),
    ("syncode_c_contextual", "syncode--c.lark", CONTEXTUAL, "syncode_c", limits(100.0, 1.0, (3.0, 8.0))),
    ("rfc_longest", "llguidance--rfc.lark", Lexer::Longest, "rfc", limits(500.0, 4.0, (2.0, 8.0))),
];

/// The library's queries in SQL.
const SQL: Limits = limits(100.0, 3.0, (2.0, 8.0));

/// As gobo takes it, and llguidance.
fn lark(grammar: String, lexer: Lexer) -> Recursive {
    let start = Dialect::Lark.default_start();
    Recursive {
        constraint: Constraint::grammar(Dialect::Lark, &grammar, start, Some(lexer), Vec::new()),
        llguidance: PeerGrammar::Lark(grammar),
        xgrammar: None,
    }
}

/// A grammar of the library, with the texts beside it.
fn of_library(id: &str, limits: Limits) -> anyhow::Result<RecursiveCase> {
    let library = include_str!("../../../crates/gobo-cli/library/grammars.jsonl");
    let cases = library.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    let found = cases.into_iter().find(|case| case["id"] == id);
    let found = found.with_context(|| format!("the library has no {id}"))?;
    let text = |field: &str| found[field].as_str().map(str::to_owned).with_context(|| field.to_owned());
    let recursive = lark(text("grammar")?, text("lexer")?.parse()?);
    let texts = found["accept"].as_array().into_iter().flatten().enumerate();
    let texts = texts.filter_map(|(at, text)| Some((at.to_string(), text.as_str()?.to_owned())));
    case(id, recursive, texts.collect(), limits)
}

/// All whose files are there, in the order of the tables.
///
/// # Errors
/// A folder of texts that cannot be read.
pub fn all() -> anyhow::Result<Vec<RecursiveCase>> {
    let mut cases = vec![of_library("sql-select", SQL)?];
    for (name, file, lexer, folder, limits) in COLLECTED {
        let path = data().join("grammars").join(file);
        if !path.exists() {
            eprintln!("!!! {name} IS NOT MEASURED: there is no {}", path.display());
            continue;
        }
        let recursive = lark(read(&path)?, lexer);
        // A file of Go or Python ends with a line feed.
        let texts = texts(folder)?.into_iter().map(|(name, text)| (name, text + "\n")).collect();
        cases.push(case(name, recursive, texts, limits)?);
    }
    Ok(cases)
}
