//! Grammars of files: those of `GOBO_DATA` under both lexers.

use gobo_types::{CompileError, Constraint, Dialect, GrammarDocument, Lexer};

use super::{Subject, lexers, report};
use crate::data::data_dir;

fn file(name: &str) -> String {
    std::fs::read_to_string(data_dir().join("grammars").join(name)).unwrap()
}

/// The grammar of a file; that of outlines imports its own `common`.
fn constraint(name: &str, lexer: Lexer) -> Constraint {
    let documents = if name.starts_with("outlines") {
        vec![GrammarDocument { name: "common".to_owned(), text: file("outlines--common.lark") }]
    } else {
        Vec::new()
    };
    Constraint::grammar(Dialect::Lark, file(name), "start", Some(lexer), documents)
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn files_have_indices_that_leave_nothing_out() {
    for (name, taken, refused) in [
        (
            "syncode--json.lark",
            vec!["{\"a\": [1, 2.5e3, true, null], \"b\": {}}", "[ ]", "[\"\"]", " [-1]\n"],
            vec!["{\"a\" 1}", "[1,]", "[tru]", "[1 2]"],
        ),
        ("outlines--json.lark", vec!["{\"a\": [1, true]}", "\"x\""], vec!["{a: 1}", "[1,]"]),
        ("outlines--arithmetic.lark", vec!["1+2*(3.5-4)", "- 1", "1 /2"], vec!["1 2", "1+", "(1"]),
        (
            "syncode--c.lark",
            vec![
                "int main(){ return 1 + x; }",
                "void f(int a, char b) { if (a < b) { a = b; } else { } }",
                "int f(){/* a * b */}",
            ],
            vec!["int main({}", "int f(){ return; }", "int f(){ g h; }"],
        ),
        (
            "syncode--prover9.lark",
            vec!["Predicates:P(x):::p\nPremises:∀x (P(x)):::q\nConclusion:P(a):::r\n"],
            vec!["Predicates:P(x)", "Premises:P(x):::q\n"],
        ),
    ] {
        for lexer in lexers() {
            let constraint = constraint(name, lexer);
            let report = report(&constraint).unwrap_or_else(|error| panic!("{name} {lexer}: {error}"));
            assert!(report.narrowed.is_empty(), "{name} {lexer}: {:?}", report.narrowed);
            let subject = Subject::new(&constraint, &["  ", "return", ");"]);
            for text in &taken {
                assert!(subject.accepts(text), "{name} {lexer}: {text:?}");
            }
            for text in &refused {
                assert!(!subject.accepts(text), "{name} {lexer}: {text:?}");
            }
        }
    }
}

/// Large grammars end in an index or in a verdict with a place.
#[test]
#[ignore = "needs GOBO_DATA"]
fn large_files_end_in_verdicts() {
    for name in ["syncode--go.lark", "syncode--python.lark", "lark--lark.lark", "lark--python2.lark"] {
        for lexer in lexers() {
            match report(&constraint(name, lexer)) {
                Ok(_) | Err(CompileError::OverBudget(_)) => {}
                Err(CompileError::Refused(refusal)) => assert!(!refusal.place.is_empty(), "{refusal}"),
                Err(other) => panic!("{name} {lexer}: {other}"),
            }
        }
    }
}
