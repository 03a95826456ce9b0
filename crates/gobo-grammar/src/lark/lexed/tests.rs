//! Tests.
use gobo_automata::Dfa;
use gobo_types::{Budget, CompileError, CompileLimits, Dialect, GrammarDocument, Lexer, LookAhead, TextStart};

use crate::written::{Read, Written};

fn read(grammar: &str, lexer: Lexer) -> Result<Read, CompileError> {
    let data = "/work/shared/data/grammars/";
    let documents: Vec<GrammarDocument> = Vec::new();
    let _ = data;
    Written { dialect: Dialect::Lark, grammar, start: "start", lexer: Some(lexer), documents: &documents }
        .read(&Budget::new(CompileLimits::default()))
}

#[test]
fn stats() {
    let Ok(names) = std::env::var("LX") else { return };
    for name in names.split(',') {
        let grammar = std::fs::read_to_string(format!("/work/shared/data/grammars/{name}.lark")).unwrap();
        for lexer in [Lexer::Basic(LookAhead::default()), Lexer::Contextual(LookAhead::default())] {
            let start = std::time::Instant::now();
            match read(&grammar, lexer) {
                Ok(read) => {
                    println!("{name} {lexer}: {} rules, {} families, narrowed {:?}, notes {:?} {:?}", read.grammar.rules.len(), read.families.len(), read.narrowed, read.notes, start.elapsed());
                    let budget = Budget::new(CompileLimits::default());
                    match Dfa::grammar(&read.grammar, TextStart::Exact, &budget) {
                        Ok(dfa) => println!("   dfa {} states calls {} {:?} steps {}", dfa.len(), dfa.has_calls(), start.elapsed(), budget.steps()),
                        Err(error) => println!("   {error}"),
                    }
                }
                Err(error) => println!("{name} {lexer}: {error} {:?}", start.elapsed()),
            }
        }
    }
}

/// A grammar, a lexer, and which texts over a few characters the grammar has.
#[derive(serde::Deserialize)]
struct Case {
    grammar: String,
    lexer: Lexer,
    chars: String,
    most: usize,
    texts: Vec<String>,
}

/// What Lark 1.3.1 takes, as `tests/data/lark_lexers.py` wrote it.
#[test]
fn texts_are_those_of_lark() {
    let mut wrong = 0;
    for line in include_str!("../../../tests/data/lark_lexers.jsonl").lines() {
        let Case { grammar, lexer, chars, most, texts } = serde_json::from_str(line).unwrap();
        let read = match read(&grammar, lexer) {
            Ok(read) => read,
            Err(error) => { println!("{grammar:?} {lexer}: {error}"); wrong += 1; continue; }
        };
        let budget = Budget::new(CompileLimits::default());
        let dfa = Dfa::grammar(&read.grammar, TextStart::Exact, &budget).unwrap();
        let dfa = if dfa.has_calls() { dfa.expand_calls(&budget).unwrap() } else { Some(dfa) };
        let Some(dfa) = dfa else { println!("recursive {grammar:?}"); continue };
        let mut of_length = vec![String::new()];
        let mut taken: Vec<String> = Vec::new();
        for _ in 0..=most {
            taken.extend(of_length.iter().filter(|text| dfa.accepts(text.as_bytes())).cloned());
            of_length = of_length
                .iter()
                .flat_map(|text| chars.chars().map(move |char| format!("{text}{char}")))
                .collect();
        }
        if taken != texts {
            wrong += 1;
            let more: Vec<_> = taken.iter().filter(|text| !texts.contains(text)).take(6).collect();
            let fewer: Vec<_> = texts.iter().filter(|text| !taken.contains(text)).take(6).collect();
            println!("{grammar:?} {lexer}: more {more:?} fewer {fewer:?} {:?}", read.narrowed);
        }
    }
    assert_eq!(wrong, 0);
}
