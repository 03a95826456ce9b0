//! Tests: what Lark takes. Grammars whose rules call themselves are in `tests/it/lexers`.

use gobo_types::{Budget, CompileLimits, Dialect, Indentation, Lexer, NamedClasses, TextStart};

use crate::written::{Read, Written};

/// A grammar, a lexer, and which texts over a few characters the grammar has.
#[derive(serde::Deserialize)]
struct Case {
    grammar: String,
    lexer: Lexer,
    chars: String,
    most: usize,
    texts: Vec<String>,
}

fn read(grammar: &str, lexer: Lexer) -> Read {
    let (dialect, lexer, indentation) = (Dialect::Lark, Some(lexer), Indentation::default());
    let classes = NamedClasses::NONE;
    let written = Written { dialect, grammar, start: "start", lexer, indentation, documents: &[], classes };
    written
        .read(&Budget::new(CompileLimits::default()))
        .unwrap_or_else(|error| panic!("{grammar:?}: {error}"))
}

/// What Lark 1.3.1 takes, as `tests/data/lark_lexers.py` wrote it.
#[test]
fn texts_are_those_of_lark() {
    let mut compared = 0;
    for line in include_str!("../../../tests/data/lark_lexers.jsonl").lines() {
        let Case { grammar, lexer, chars, most, texts } = serde_json::from_str(line).unwrap();
        let read = read(&grammar, lexer);
        let budget = Budget::new(CompileLimits::default());
        let dfa = read.texts.dfa(TextStart::Exact, &budget).unwrap();
        let Some(dfa) = (if dfa.has_calls() { dfa.expand_calls(&budget).unwrap() } else { Some(dfa) }) else {
            continue;
        };
        compared += 1;
        let mut of_length = vec![String::new()];
        let mut taken: Vec<String> = Vec::new();
        for _ in 0..=most {
            taken.extend(of_length.iter().filter(|text| dfa.accepts(text.as_bytes())).cloned());
            of_length = of_length
                .iter()
                .flat_map(|text| chars.chars().map(move |char| format!("{text}{char}")))
                .collect();
        }
        assert_eq!(taken, texts, "{grammar:?} {lexer}");
    }
    assert!(compared > 80, "{compared}");
}

/// A lexeme that ends before what follows is followed by just that, also where its text stands again in the state of no text.
#[test]
fn a_stop_follows() {
    let read = read("start: t \"<e>\"\nt[stop=\"<e>\"]: /[a-z<>]*/", Lexer::Longest);
    let dfa = read.texts.dfa(TextStart::Exact, &Budget::new(CompileLimits::default())).unwrap();
    for (text, is_text) in
        [("<e>", true), ("f<e>", true), ("f<<e>", true), ("f<e><e>", false), ("f", false), ("f<e", false)]
    {
        assert_eq!(dfa.accepts(text.as_bytes()), is_text, "{text:?}");
    }
}
