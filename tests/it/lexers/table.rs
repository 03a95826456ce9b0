//! What the grammars of `GOBO_DATA` cost under each lexer: the table in `docs/grammars.md` is made again here; `UPDATE=1` writes it.

use std::fmt::Write as _;
use std::path::Path;

use gobo_artifact::{Index, Vocabulary};
use gobo_compiler::CompileOptions;
use gobo_types::{
    Budget, CompileError, CompileLimits, Constraint, Dialect, GrammarDocument, Lexer, LookAhead,
};

use crate::data::data_dir;
use crate::documents::stands_in;

/// Files that others import have no texts of their own.
const IMPORTED: &str = "--common.lark";

/// The rule of whole texts of those that have another than the dialect's.
const STARTS: [(&str, &str); 1] = [("lark--python2.lark", "file_input")];

/// The grammars of the folder under each lexer that is theirs, by name.
fn grammars(folder: &Path) -> Vec<(String, Option<Lexer>, Constraint)> {
    let look_ahead = LookAhead::default();
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(IMPORTED))
        .collect();
    names.sort();
    let mut all = Vec::new();
    for name in names {
        let (dialect, lexers) = match name.rsplit_once('.').map(|of| of.1) {
            Some("gbnf") => (Dialect::Gbnf, vec![None]),
            Some("ebnf") => (Dialect::Ebnf, vec![None]),
            Some("lark") => {
                let lexers =
                    [Lexer::None, Lexer::Contextual(look_ahead), Lexer::Basic(look_ahead), Lexer::Longest];
                (Dialect::Lark, lexers.map(Some).to_vec())
            }
            _ => continue,
        };
        let start = STARTS.iter().find(|of| of.0 == name).map_or(dialect.default_start(), |of| of.1);
        let project = name.split_once("--").map_or("", |of| of.0);
        let common = format!("{project}{IMPORTED}");
        let documents = if folder.join(&common).exists() && dialect == Dialect::Lark {
            vec![GrammarDocument { name: "common".to_owned(), text: read(&common) }]
        } else {
            Vec::new()
        };
        for lexer in lexers {
            let constraint = Constraint::grammar(dialect, read(&name), start, lexer, documents.clone());
            all.push((name.clone(), lexer, constraint));
        }
    }
    all
}

/// Class, states, return states, what is left out, and the bytes of the file.
fn cells(vocabulary: &Vocabulary, constraint: &Constraint) -> Result<String, CompileError> {
    let budget = Budget::new(CompileLimits::default());
    let lowered = gobo_worker::lower(constraint, &budget)?;
    let options = CompileOptions { threads: 1, cache: None, ..CompileOptions::default() };
    let compiled = gobo_compiler::compile(vocabulary, constraint, &lowered, &options, &budget)?;
    let index = Index::from_bytes(compiled.bytes()).unwrap();
    let returns = index.call_root().unwrap().map_or(0, |calls| calls.returns.len());
    let narrowed = match lowered.report.narrowed.len() {
        0 => "nothing".to_owned(),
        places => places.to_string(),
    };
    Ok(format!(
        "{} | {} | {returns} | {narrowed} | {} KiB",
        index.class().name(),
        compiled.stats.states,
        compiled.bytes().len().div_ceil(1024)
    ))
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn the_table_of_grammars_is_that_of_the_documentation() {
    let table = gobo_tokenizer::builtin("o200k_base").unwrap().table;
    let vocabulary = Vocabulary::from_bytes(&table.build().unwrap()).unwrap();
    let mut text = "| grammar | lexer | class | states | return states | left out | file |\n|---|---|---|---:|---:|---|---:|\n".to_owned();
    for (name, lexer, constraint) in grammars(&data_dir().join("grammars")) {
        let lexer = lexer.map_or("", Lexer::name);
        let cells = match cells(&vocabulary, &constraint) {
            Ok(cells) => cells,
            Err(CompileError::OverBudget(over)) => format!("over budget: {} | | | | ", over.phase),
            Err(CompileError::Refused(refusal)) => format!("refused: {} | | | | ", refusal.reason),
            Err(other) => panic!("{name}: {other}"),
        };
        writeln!(text, "| `{name}` | {lexer} | {cells} |").unwrap();
    }
    stands_in("docs/grammars.md", "grammars", "lexers/table", &text);
}
