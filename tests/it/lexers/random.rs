//! Random grammars, on all short texts and some long ones.

use gobo_oracle::{Lexed, LexedPattern as Pattern, LexedTerminal as Terminal};
use gobo_types::{CompileError, Constraint, Indentation};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{Subject, constraint, lexers, report, texts};
use crate::cases::config;
use crate::subject::compile;

/// The characters of all texts.
pub(super) const CHARS: &str = "ab1 ";

fn leaf() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        4 => select(vec!["a", "b", "ab", "1", "aa", "ba"]).prop_map(|text| Pattern::Text(text.to_owned())),
        3 => (select(vec!["ab", "a", "b1", "1", " ", "a1"]), prop::bool::weighted(0.15))
            .prop_map(|(chars, negated)| Pattern::Chars(chars.chars().collect(), negated)),
    ]
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let inner = leaf().prop_recursive(2, 6, 3, |inner| {
        let times = select(vec![(0, None), (1, None), (0, Some(1)), (2, Some(2)), (1, Some(2))]);
        prop_oneof![
            3 => vec(inner.clone(), 2..4).prop_map(Pattern::Concat),
            3 => vec(inner.clone(), 2..3).prop_map(Pattern::Alternate),
            4 => (inner, times, prop::bool::weighted(0.3)).prop_map(|(pattern, (min, max), lazy)| {
                Pattern::Repeat { pattern: Box::new(pattern), min, max, lazy }
            }),
        ]
    });
    let around = prop_oneof![
        6 => Just(None),
        1 => (leaf(), any::<bool>()).prop_map(|(pattern, negated)| {
            Some(Pattern::Ahead { pattern: Box::new(pattern), negated })
        }),
        1 => (select(vec!['a', 'b', '1']), any::<bool>())
            .prop_map(|(char, negated)| Some(Pattern::Behind { char, negated })),
    ];
    (inner, around).prop_map(|(pattern, around)| match around {
        Some(around) => Pattern::Concat(vec![pattern, around]),
        None => pattern,
    })
}

fn terminal() -> impl Strategy<Value = (Pattern, i32, bool)> {
    let text = select(vec!["a", "b", "ab", "1", "aab"]).prop_map(|text| Pattern::Text(text.to_owned()));
    let pattern = prop_oneof![2 => text, 3 => pattern()];
    (pattern, prop_oneof![4 => Just(0), 1 => -1..2], prop::bool::weighted(0.2))
}

const NAMES: [&str; 3] = ["start", "x", "y"];

/// Grammars whose terminals have texts, and none the empty one.
pub(super) fn grammar() -> impl Strategy<Value = Lexed> {
    of_terminals(terminal()).prop_map(|mut grammar| {
        let is_empty = |terminal: &Terminal| terminal.pattern.widths().0 == 0;
        let dropped: Vec<String> =
            grammar.terminals.iter().filter(|of| is_empty(of)).map(|of| of.name.clone()).collect();
        grammar.terminals.retain(|terminal| !is_empty(terminal));
        let mut productions: Vec<(String, Vec<String>)> = Vec::new();
        for (name, body) in grammar.productions {
            let body = body.into_iter().filter(|symbol| !dropped.contains(symbol)).collect();
            if !productions.contains(&(String::clone(&name), Vec::clone(&body))) {
                productions.push((name, body));
            }
        }
        Lexed { terminals: grammar.terminals, productions, blocks: None }
    })
}

/// Grammars with these terminals.
pub(super) fn of_terminals(
    terminal: impl Strategy<Value = (Pattern, i32, bool)>,
) -> impl Strategy<Value = Lexed> {
    let terminals = vec(terminal, 2..5);
    terminals.prop_flat_map(|terminals| {
        let count = terminals.len();
        let symbol =
            prop_oneof![5 => (0..count).prop_map(Ok), 2 => (1..NAMES.len()).prop_map(Err), 1 => Just(Err(0))];
        let bodies = vec(vec(symbol, 0..4), 1..4);
        (Just(terminals), vec(bodies, NAMES.len())).prop_map(|(terminals, rules)| {
            let terminals: Vec<Terminal> = (terminals.into_iter().enumerate())
                .map(|(at, (pattern, priority, is_ignored))| Terminal {
                    name: format!("T{at}"),
                    pattern,
                    priority,
                    is_ignored,
                    is_lazy: false,
                })
                .collect();
            let mut productions = Vec::new();
            for (name, bodies) in NAMES.iter().zip(rules) {
                for body in bodies {
                    let symbols = body.into_iter().map(|symbol| match symbol {
                        Ok(terminal) => format!("T{terminal}"),
                        Err(rule) => NAMES[rule].to_owned(),
                    });
                    let production = ((*name).to_owned(), symbols.collect());
                    if !productions.contains(&production) {
                        productions.push(production);
                    }
                }
            }
            Lexed { terminals, productions, blocks: None }
        })
    })
}

/// What is compared of a grammar under Lark's lexers: whether there was an index.
pub(super) fn agrees(
    grammar: &Lexed,
    chars: &str,
    most: usize,
    long: &[String],
) -> Result<bool, TestCaseError> {
    let lark = grammar.to_lark();
    let indentation = indentation(grammar);
    for lexer in lexers() {
        let Some(reader) = grammar.reader(lexer.name() == "contextual") else { return Ok(false) };
        let constraint = constraint(&lark, lexer).indented(indentation);
        if !reads_as(&constraint, &|text| reader.reads(text), (chars, most), long)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How lines of a grammar's texts are indented.
pub(super) fn indentation(grammar: &Lexed) -> Indentation {
    grammar.blocks.as_ref().map_or_else(Indentation::default, |blocks| {
        let [by, depth] = [blocks.by, blocks.depth].map(|number| u8::try_from(number).unwrap());
        Indentation::new(by, depth).unwrap()
    })
}

/// Compares a grammar under a lexer with a reader, on all texts over some characters up to a length and some long ones, and its masks with
/// the texts that are taken: whether there was an index.
pub(super) fn reads_as(
    constraint: &Constraint,
    reads: &dyn Fn(&str) -> bool,
    (chars, most): (&str, usize),
    long: &[String],
) -> Result<bool, TestCaseError> {
    let shown = constraint.text();
    let report = match report(constraint) {
        Ok(report) => report,
        Err(CompileError::Refused(refusal)) if refusal.reason.contains("what stands before it") => {
            return Ok(false);
        }
        Err(CompileError::Refused(refusal)) if refusal.reason.contains("no text") => {
            let found = texts(chars, most).into_iter().find(|text| reads(text));
            prop_assert_eq!(found, None, "{}", shown);
            return Ok(false);
        }
        Err(error) => return Err(TestCaseError::fail(format!("{shown}: {error}"))),
    };
    let words = ["ab", "a1", "1 ", " a", "aab1", "b a", "\n ", "a\n", "a\n b", "\n  (", ")\n"];
    let tokens = super::tokens(&words);
    if compile(&crate::subject::vocabulary_of(&tokens), constraint, 1).is_err() {
        return Ok(false);
    }
    let subject = Subject::new(constraint, &words);
    let mut taken = Vec::new();
    let is_narrow = report.narrowed.iter().any(|entry| entry.keyword != "indentation");
    for text in texts(chars, most).iter().chain(long) {
        let (found, expected) = (subject.accepts(text), reads(text));
        prop_assert!(!found || expected, "{:?} is taken\n{}", text, shown);
        prop_assert!(found || !expected || is_narrow, "{:?} is lost\n{}", text, shown);
        if found {
            taken.push(text.clone());
        }
    }
    // A mask shows every token with which a text goes on.
    for text in taken.iter().filter(|text| text.len() <= most) {
        for at in 0..text.len() {
            let matcher = subject.after(&text[..at]).expect("a text is taken to its end");
            for (offset, word) in words.iter().enumerate() {
                let id = u32::try_from(256 + offset).unwrap();
                let goes_on = text[at..].starts_with(word);
                prop_assert!(!goes_on || matcher.allows(id), "{:?} after {:?}\n{}", word, &text[..at], shown);
            }
        }
    }
    Ok(true)
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn texts_are_those_of_the_naive_reader(
        grammar in grammar(),
        long in vec(vec(select(CHARS.chars().collect::<Vec<char>>()), 6..14).prop_map(String::from_iter), 0..40),
    ) {
        agrees(&grammar, CHARS, 5, &long)?;
    }
}
