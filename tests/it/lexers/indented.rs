//! Grammars with blocks of indented lines, under both lexers.

use gobo_oracle::{Lexed, LexedBlocks as Blocks, LexedPattern as Pattern, LexedTerminal as Terminal};
use gobo_types::{CompileError, Indentation, RefusalKind};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use super::random::agrees;
use super::{Subject, constraint, lexers, report, texts};
use crate::cases::config;

const BLOCKS: &str = "%declare _INDENT _DEDENT";

/// Statements that are a word, a call over several lines, or a block.
fn statements() -> String {
    format!(
        "start: (_NL | stmt)*\nstmt: e _NL | \"if\" e \":\" (e _NL | _NL _INDENT stmt+ _DEDENT)\ne: NAME | e \"(\" [e (\",\" e)*] \")\"\n\
         NAME: /[a-z]+/\n_NL: (/(\\r?\\n[\\t ]*)+/ | /#[^\\n]*/)+\n%ignore \" \"\n{BLOCKS}"
    )
}

#[test]
fn blocks_are_those_of_lark() {
    for line in include_str!("../../../crates/gobo-grammar/tests/data/lark_indented.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| case[name].as_str().unwrap();
        let number = |name: &str| case[name].as_u64().unwrap();
        let list = |name: &str| -> Vec<&str> {
            case[name].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
        };
        let [by, depth] = ["by", "depth"].map(|name| u8::try_from(number(name)).unwrap());
        let constraint = constraint(field("grammar"), field("lexer").parse().unwrap());
        let constraint = constraint.indented(Indentation::new(by, depth).unwrap());
        let subject = Subject::new(&constraint, &["\n ", "a\n"]);
        let mut expected = list("texts");
        expected.sort_unstable();
        for text in texts(field("chars"), usize::try_from(number("most")).unwrap()) {
            let is_text = expected.binary_search(&text.as_str()).is_ok();
            assert_eq!(subject.accepts(&text), is_text, "{text:?} of {line:.300}");
        }
        for (texts, is_text) in [(list("taken"), true), (list("refused"), false)] {
            for text in texts {
                assert_eq!(subject.accepts(text), is_text, "{text:?} of {line:.300}");
            }
        }
    }
}

#[test]
fn lines_say_which_blocks_end() {
    let grammar = statements();
    for lexer in lexers() {
        let constraint = constraint(&grammar, lexer).indented(Indentation::new(4, 3).unwrap());
        let subject = Subject::new(&constraint, &["\n    ", "\n\n\n", "):\n"]);
        let three = "if a:\n    if b:\n        if c:\n            x\n";
        for (text, is_text) in [
            (three.to_owned(), true),
            (format!("{three}y\n"), true),
            (format!("{three}    y\n"), true),
            (format!("{three}        y\n    z\n"), true),
            // Between two levels.
            (format!("{three}  y\n"), false),
            (format!("{three}                y\n"), false),
            // Blank lines and comments have any blanks.
            (format!("{three}\n   \n  # but\n\t\n    y\n"), true),
            (format!("{three}  "), false),
            (format!("{three}    "), true),
            // A tab is eight blanks.
            ("if a:\n    if b:\n\tx\n\ty\n    z\n".to_owned(), true),
            ("if a:\n\tx\n".to_owned(), false),
            // Newlines in brackets.
            ("f(a,\n b,\n\n  c(\n)\n       )\nx\n".to_owned(), true),
            ("if f(\n  a):\n    f(\nb)\nx\n".to_owned(), true),
            ("f(a\n".to_owned(), false),
            // The last newline, which this grammar needs.
            ("x".to_owned(), false),
            ("if a:\n    x".to_owned(), false),
            ("if a: x\ny\n".to_owned(), true),
            ("if a:\nx\n".to_owned(), false),
            (" x\n".to_owned(), true),
            ("\n  x\n".to_owned(), false),
            // One level too deep.
            ("if a:\n    if b:\n        if c:\n            if d:\n                x\n".to_owned(), false),
        ] {
            assert_eq!(subject.accepts(&text), is_text, "{lexer}: {text:?}");
        }
        let inside = subject.after("if a:\n    if b:\n        x\n").unwrap();
        assert!(inside.allows(256) && inside.allows(257) && !inside.allows(258), "{lexer}");
        let narrowed = report(&constraint).unwrap().narrowed;
        assert!(
            narrowed.iter().any(|entry| entry.why.contains("by 4 blanks") && entry.why.contains("3 levels"))
        );
    }
}

#[test]
fn what_has_no_blocks_is_refused_by_name() {
    let stmt = "stmt: \"a\" _NL | \"b\" _NL _INDENT stmt+ _DEDENT";
    for (grammar, words) in [
        (format!("start: \"a\" _INDENT \"b\" _DEDENT\n{BLOCKS}"), "_NEWLINE or _NL"),
        (format!("start: stmt\n{stmt}\n_NL: /\\n */\n%ignore _NL\n{BLOCKS}"), "newlines are ignored"),
        (format!("start: stmt \"(\" | \")\"\n{stmt}\n_NL: /\\n */\n{BLOCKS}"), "brackets that do not match"),
        (format!("start: stmt A\n{stmt}\nA: /[\\n]+/\n_NL: \"\\n\"\n{BLOCKS}"), "is a text of A too"),
        ("start: \"a\" _NL _INDENT \"b\"\n_NL: /\\n */\n%declare _INDENT".to_owned(), "declared alone"),
    ] {
        for lexer in lexers() {
            let refusal = report(&constraint(&grammar, lexer)).unwrap_err().to_string();
            assert!(refusal.contains(words), "{grammar:?} {lexer}: {refusal}");
        }
    }
    let plain = constraint("start: \"a\"", lexers()[0]).indented(Indentation::new(2, 2).unwrap());
    let CompileError::Refused(refusal) = report(&plain).unwrap_err() else { panic!("a refusal") };
    assert_eq!(refusal.kind, RefusalKind::Unsupported);
    assert!(refusal.reason.contains("does not declare _INDENT"), "{refusal}");
}

pub(super) const CHARS: &str = "ab\n ()";

/// Parts of a body: symbols that stand together.
fn part() -> impl Strategy<Value = Vec<&'static str>> {
    let rule = || select(vec!["x", "y"]);
    prop_oneof![
        6 => select(vec!["A", "B", "AB"]).prop_map(|terminal| vec![terminal]),
        3 => rule().prop_map(|rule| vec![rule]),
        4 => Just(vec!["_NL"]),
        4 => rule().prop_map(|rule| vec!["_NL", "_INDENT", rule, "_DEDENT"]),
        2 => rule().prop_map(|rule| vec!["OPEN", rule, "CLOSE"]),
        1 => select(vec![vec!["_INDENT"], vec!["_DEDENT"], vec!["_NL", "_INDENT"]]),
    ]
}

pub(super) fn grammar() -> impl Strategy<Value = Lexed> {
    let bodies = || vec(vec(part(), 0..4).prop_map(|parts| parts.concat()), 1..4);
    let newline = select(vec![(0, false), (1, false), (1, true)]);
    (vec(bodies(), 3), newline, 1..3_usize, 1..3_usize, any::<bool>()).prop_map(
        |(rules, (least, is_tight), by, depth, ignores)| {
            let text = |text: &str| Pattern::Text(text.to_owned());
            let repeat =
                |pattern, min, max| Pattern::Repeat { pattern: Box::new(pattern), min, max, lazy: false };
            let blanks = repeat(text(" "), 0, None);
            let line = Pattern::Concat(vec![text("\n"), blanks]);
            let newline =
                if least == 0 { line } else { repeat(line, 1, if is_tight { Some(2) } else { None }) };
            let terminal = |name: &str, pattern, is_ignored| Terminal {
                name: name.to_owned(),
                pattern,
                priority: 0,
                is_ignored,
                is_lazy: false,
            };
            let mut terminals = vec![
                terminal("A", text("a"), false),
                terminal("B", text("b"), false),
                terminal("AB", repeat(Pattern::Chars(vec!['a', 'b'], false), 2, None), false),
                terminal("OPEN", text("("), false),
                terminal("CLOSE", text(")"), false),
                terminal("_NL", newline, false),
            ];
            if ignores {
                terminals.push(terminal("WS", repeat(text(" "), 1, None), true));
            }
            let mut productions = Vec::new();
            for (name, bodies) in ["start", "x", "y"].into_iter().zip(rules) {
                for body in bodies {
                    let production = (name.to_owned(), body.into_iter().map(str::to_owned).collect());
                    if !productions.contains(&production) {
                        productions.push(production);
                    }
                }
            }
            let blocks = Some(Blocks { newline: "_NL".to_owned(), by, depth });
            Lexed { terminals, productions, blocks }
        },
    )
}

/// Texts of lines.
pub(super) fn long() -> impl Strategy<Value = Vec<String>> {
    let line = (0..4_usize, select(vec!["a", "b", "", "ab", "(a", "a)", "(", ")", " "]));
    let lines = vec(line, 2..7).prop_map(|lines| {
        let lines = lines.into_iter().map(|(blanks, text)| format!("{}{text}", " ".repeat(blanks)));
        lines.collect::<Vec<_>>().join("\n")
    });
    vec(lines, 0..60)
}

/// Short texts, and some of lines.
pub(super) fn texts_of_lines(runner: &mut TestRunner) -> Vec<String> {
    let mut all = texts(CHARS, 4);
    all.extend(long().new_tree(runner).unwrap().current());
    all
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn blocks_are_those_of_the_naive_reader(grammar in grammar(), long in long()) {
        agrees(&grammar, CHARS, 4, &long)?;
    }
}
