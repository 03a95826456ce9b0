//! Grammars of whole languages as others have published them, under Lark's lexers, and the library's own.

use gobo_types::{Constraint, Dialect, Lexer, LookAhead};

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

const COLLECTED: [Collected; 6] = [
    ("go_basic", "syncode--go.lark", BASIC, "go", limits(400.0, 4.0, (4.0, 15.0))),
    ("go_contextual", "syncode--go.lark", CONTEXTUAL, "go", limits(800.0, 4.0, (4.0, 15.0))),
    ("python_basic", "syncode--python.lark", BASIC, "python", limits(1000.0, 8.0, (4.0, 15.0))),
    ("python_contextual", "syncode--python.lark", CONTEXTUAL, "python", limits(2000.0, 8.0, (4.0, 15.0))),
    ("syncode_c_basic", "syncode--c.lark", BASIC, "syncode_c", limits(100.0, 1.0, (3.0, 8.0))),
    ("syncode_c_contextual", "syncode--c.lark", CONTEXTUAL, "syncode_c", limits(100.0, 1.0, (3.0, 8.0))),
];

/// All whose files are there, in the order of the tables.
///
/// # Errors
/// A folder of texts that cannot be read.
pub fn all() -> anyhow::Result<Vec<RecursiveCase>> {
    let mut cases = Vec::new();
    for (name, file, lexer, folder, limits) in COLLECTED {
        let path = data().join("grammars").join(file);
        if !path.exists() {
            eprintln!("!!! {name} IS NOT MEASURED: there is no {}", path.display());
            continue;
        }
        let grammar = read(&path)?;
        let start = Dialect::Lark.default_start();
        let recursive = Recursive {
            constraint: Constraint::grammar(Dialect::Lark, &grammar, start, Some(lexer), Vec::new()),
            llguidance: PeerGrammar::Lark(grammar),
            xgrammar: None,
        };
        // A file of Go or Python ends with a line feed.
        let texts = texts(folder)?.into_iter().map(|(name, text)| (name, text + "\n")).collect();
        cases.push(case(name, recursive, texts, limits)?);
    }
    Ok(cases)
}
