//! Texts whose reading is known.

use serde_json::Value;

use super::{Subject, constraint, lexers, report, texts};
use crate::subject::{accepts, allowed};
use gobo_oracle::Tokens;
use gobo_types::{Binding, CompileError, Lexer, LookAhead, RefusalKind};

/// What Lark 1.3.1 takes, as `lark_lexers.py` beside the file wrote it: grammars of every construct, and all texts over a few
/// characters.
#[test]
fn texts_are_those_of_lark() {
    for line in include_str!("../../../crates/gobo-grammar/tests/data/lark_lexers.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| case[name].as_str().unwrap();
        let constraint = constraint(field("grammar"), field("lexer").parse().unwrap());
        if let Err(error) = report(&constraint) {
            let is_empty =
                matches!(&error, CompileError::Refused(of) if of.kind == RefusalKind::Unsatisfiable);
            assert!(is_empty && case["texts"] == Value::Array(Vec::new()), "{error}: {line:.200}");
            continue;
        }
        let subject = Subject::new(&constraint, &[]);
        let most = usize::try_from(case["most"].as_u64().unwrap()).unwrap();
        let mut expected: Vec<&str> =
            case["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
        expected.sort_unstable();
        for text in texts(field("chars"), most) {
            let is_text = expected.binary_search(&text.as_str()).is_ok();
            assert_eq!(subject.accepts(&text), is_text, "{text:?} of {line:.200}");
        }
    }
}

/// A mask allows a token exactly if a text goes on with it, wherever lexemes end in the token.
#[test]
fn tokens_span_lexemes() {
    let grammar =
        "start: (\"let\" NAME \"=\" INT \";\")+\nNAME: /[a-z]+/\nINT: /[0-9]+/\nWS: /[ ]+/\n%ignore WS";
    let words: Vec<&[u8]> = vec![
        b"let",
        b"le",
        b"t a",
        b"a=1;",
        b"a =1; let",
        b"leta=1",
        b"lets",
        b" let b=22",
        b"  x = ",
        b"1",
        b";",
        b"=",
        b"a",
        b" ",
        b"1;let",
        b"1a",
        b"let let",
    ];
    let tokens = Tokens::of(&words);
    for lexer in lexers() {
        let matcher = crate::subject::matcher(&constraint(grammar, lexer), &tokens);
        let binding = Binding::new(vec![], tokens.len());
        let shown = |matcher: &gobo_artifact::Matcher| -> Vec<&str> {
            let ids = allowed(matcher, &binding).into_iter();
            ids.map(|id| std::str::from_utf8(words[id as usize]).unwrap()).collect()
        };
        let is_contextual = matches!(lexer, Lexer::Contextual(_));
        // Nothing but `let` can come first, so the contextual lexer reads no name there; after it, nothing but a name.
        let first = if is_contextual {
            vec!["let", "le", "leta=1", "lets", " let b=22", " ", "let let"]
        } else {
            vec!["let", "le", " let b=22", " ", "let let"]
        };
        assert_eq!(shown(&matcher), first, "{lexer}");
        let mut after = matcher.clone();
        after.advance(0).unwrap();
        let next = if is_contextual {
            vec!["let", "le", "a=1;", "a =1; let", "leta=1", "lets", "  x = ", "a", " "]
        } else {
            vec!["  x = ", " "]
        };
        assert_eq!(shown(&after), next, "{lexer}");
        assert!(accepts(&matcher, &[0, 13, 4, 8, 9, 10]), "{lexer}");
    }
}

/// A text may end inside of what could be a longer lexeme, and a guard dies in the second byte of a character.
#[test]
fn guards_hold_for_whole_characters() {
    let grammar = "start: (A | B)+\nA: /[aé]+/\nB: \"è\"";
    for lexer in lexers() {
        let subject = Subject::new(&constraint(grammar, lexer), &[]);
        for (text, is_text) in [("a", true), ("aéa", true), ("éè", true), ("aèa", true), ("", false)] {
            assert_eq!(subject.accepts(text), is_text, "{lexer} {text:?}");
        }
        let half = subject.after("a\u{e9}").unwrap();
        assert!(half.is_complete());
    }
}

/// What is decided later than the look-ahead is left out, and the report says so.
#[test]
fn what_is_decided_too_late_is_left_out_and_reported() {
    let grammar = "start: A A?\nA: \"a\"\nWS: /[ ]+/\nC: /[ ]*#/\n%ignore WS\n%ignore C";
    let of = |characters| {
        let lexer = Lexer::Basic(LookAhead::new(characters).unwrap());
        (Subject::new(&constraint(grammar, lexer), &[]), report(&constraint(grammar, lexer)).unwrap())
    };
    let (short, narrow) = of(1);
    assert!(short.accepts("a a") && short.accepts("a#a") && short.accepts("a #a"));
    assert_eq!(narrow.narrowed.len(), 0, "{:?}", narrow.narrowed);
    let grammar = "start: A (B | A)?\nA: \"x\"\nB: /xx*y/\n%ignore \" \"";
    for (characters, taken) in [(1, 1), (3, 3), (8, 8)] {
        let lexer = Lexer::Basic(LookAhead::new(characters).unwrap());
        let constraint = constraint(grammar, lexer);
        let subject = Subject::new(&constraint, &[]);
        assert!(subject.accepts("x x"), "{lexer}");
        assert!(subject.accepts("x xxy"), "{lexer} {taken}");
        assert!(!subject.accepts("xxy"), "{lexer}");
    }
    let grammar = "start: A+ D?\nA: \"x\"\nB: /x+y/\nD: \"d\" B";
    let lexer = Lexer::Basic(LookAhead::new(2).unwrap());
    let constraint = constraint(grammar, lexer);
    let subject = Subject::new(&constraint, &[]);
    assert!(subject.accepts("xxx") && subject.accepts("xdxy") && !subject.accepts("xxy"));
    let report = report(&constraint).unwrap();
    assert!(report.narrowed.is_empty(), "the unused terminal B is no rival: {:?}", report.narrowed);
    let grammar = "start: A+ | B\nA: \"x\"\nB: /x+y/";
    let constraint = super::constraint(grammar, lexer);
    let subject = Subject::new(&constraint, &[]);
    assert!(subject.accepts("xxx") && subject.accepts("xxxxxy") && !subject.accepts("xxxxxx"));
    let narrowed = super::report(&constraint).unwrap().narrowed;
    assert!(narrowed.len() == 1 && narrowed[0].why.contains("whether A ends or B goes on"), "{narrowed:?}");
}

#[test]
fn what_no_lexer_reads_is_refused_by_name() {
    for (grammar, words) in [
        ("start: A\nA: /a*/", "the terminal A has the empty text"),
        ("start: A B\nA: /a/\nB: /\\bb/", "the terminal B looks at what stands before it"),
        ("start: /[a-z]+/ & ~/if/", "& is of llguidance's dialect"),
        ("start: %regex {\"substring_chars\": \"abc\"}", "%regex is of llguidance's dialect"),
        ("%llguidance {\"allow_initial_skip\": true}\nstart: \"a\"", "%llguidance"),
        ("%declare A\nstart: A", "declared alone"),
        ("start: \"\" \"a\"", "the empty text"),
    ] {
        for lexer in lexers() {
            let refusal = report(&constraint(grammar, lexer)).unwrap_err().to_string();
            assert!(refusal.contains(words), "{grammar:?} {lexer}: {refusal}");
        }
    }
}

/// What is ambiguous, or decided by shifting, is said.
#[test]
fn conflicts_are_said() {
    let notes = |grammar| {
        let report = report(&constraint(grammar, lexers()[0])).unwrap();
        report.notes.into_iter().map(|note| note.why).collect::<Vec<_>>()
    };
    let shifted = notes("start: s\ns: \"i\" s \"e\" s | \"i\" s | \"x\"");
    assert!(shifted.len() == 1 && shifted[0].contains("decided by shifting"), "{shifted:?}");
    let undecided = notes("start: a | b\na: \"x\"\nb: \"x\"");
    assert!(undecided.len() == 1 && undecided[0].contains("(a and b)"), "{undecided:?}");
    assert_eq!(notes("start: a | b\na.1: \"x\"\nb: \"x\""), Vec::<String>::new());
}
