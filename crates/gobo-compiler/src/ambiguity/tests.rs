use std::sync::Arc;

use gobo_artifact::{Index, MAX_CONFIGURATIONS, Matcher, MatcherError, Vocabulary};
use gobo_automata::Lowered;
use gobo_types::{Binding, Budget, CompileError, CompileLimits, Constraint, Report};
use gobo_vocab::TokenTable;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::most_configurations;
use crate::{CompileOptions, compile};

/// The letters of the grammars here, each a token with its place as its number.
const LETTERS: &str = "ab()+-0 ";

fn lowered(grammar: &str) -> Result<Lowered, CompileError> {
    gobo_worker::lower(&Constraint::gbnf(grammar, "root"), &Budget::new(CompileLimits::default()))
}

fn most(lowered: &Lowered) -> Option<usize> {
    let Some(calls) = &lowered.dfa.calls else { return Some(1) };
    most_configurations(&lowered.dfa, calls, MAX_CONFIGURATIONS, &Budget::new(CompileLimits::default()))
        .unwrap()
}

fn matcher(grammar: &str, lowered: &Lowered) -> Matcher {
    let mut table = TokenTable::new();
    for (id, letter) in (0..).zip(LETTERS.bytes()) {
        table.insert(id, vec![letter], false).unwrap();
    }
    let vocabulary = Arc::new(Vocabulary::from_bytes(&table.build().unwrap()).unwrap());
    let constraint = Constraint::gbnf(grammar, "root");
    let budget = Budget::new(CompileLimits::default());
    let compiled = compile(&vocabulary, &constraint, lowered, &CompileOptions::default(), &budget).unwrap();
    let index = Arc::new(Index::from_bytes(compiled.bytes()).unwrap());
    Matcher::new(index, vocabulary, &Binding::new(vec![], 8)).unwrap()
}

fn is_warned_of(report: &Report) -> bool {
    report.ambiguity().is_some_and(|warning| warning.why.contains("64"))
}

/// Grammars, and the most configurations of their texts as far as that is found.
const BOUNDS: &[(&str, Option<usize>)] = &[
    // No calls, or one way only.
    ("root ::= [ab]+", Some(1)),
    (r#"root ::= "(" root ")" | "a""#, Some(1)),
    (r#"root ::= "(" root ")" | "(" root "0" | "a""#, Some(1)),
    // What begins a rule again where it may end is a loop.
    ("root ::= root s [+-] s root | s \"0\" s | \"(\" root \")\"\ns ::= \" \"*", Some(1)),
    // What a bracket began is told by the next letter.
    ("root ::= p | q\np ::= \"(\" \"a\" p? \")\"\nq ::= \"(\" \"b\" q? \"0\"", Some(2)),
    ("root ::= p | q\np ::= \"(\" \"a\" p? \")\" | \"0\"\nq ::= \"(\" \"b\" root \"-\"", Some(2)),
    // Blanks behind an operand are before a sign, or at the end.
    ("root ::= s e s\ne ::= e s [+-] s e | \"(\" s e s \")\" | \"0\" | \"-\" s e\ns ::= \" \"*", Some(2)),
    // What the two have in common inside is read as deep as it is.
    (
        "root ::= p | q\np ::= \"(\" v \"+\" | \"+\" p \"0\"\nq ::= \"(\" v \"-\" | \"-\" q \"0\"\n\
         v ::= \"a\" v* \"b\" | \"0\"",
        Some(2),
    ),
    // An else of any of the texts around: the others are covered by one.
    (r#"root ::= "a" root | "a" root "b" root | "0""#, Some(1)),
    // Where the middle is, only the end tells.
    (r#"root ::= "a" root "a" | "b" root "b" | "a" | "b""#, None),
    // Blanks before an operand are its own, or those of any of the texts that begin with it.
    ("root ::= s root [+-] root s | \"0\"\ns ::= \" \"*", None),
    // A list is what is assigned to, or what is assigned: two ways at each bracket.
    (
        "root ::= p \"-\" e | e\np ::= \"a\" | \"(\" (p (\"+\" p)*)? \")\"\ne ::= \"a\" | \"0\" | \"(\" (e (\"+\" e)*)? \")\"",
        None,
    ),
];

/// What has no bound is said to have none, and the report of its index says so; what has one is found to.
#[test]
fn bounds_of_grammars() {
    for &(grammar, expected) in BOUNDS {
        let lowered = lowered(grammar).unwrap();
        assert_eq!(most(&lowered), expected, "{grammar}");
        let matcher = matcher(grammar, &lowered);
        assert_eq!(is_warned_of(&matcher.index().report().unwrap()), expected.is_none(), "{grammar}");
    }
}

/// A search that would take too long ends, and a warning is given.
#[test]
fn the_search_is_bounded_and_charged() {
    let lowered = lowered(r#"root ::= "a" root "a" | "b" root "b" | "a" | "b""#).unwrap();
    let calls = lowered.dfa.calls.as_ref().unwrap();
    let search = |max_steps| {
        let budget = Budget::new(CompileLimits { max_steps, ..CompileLimits::default() });
        most_configurations(&lowered.dfa, calls, MAX_CONFIGURATIONS, &budget)
    };
    assert!(matches!(search(100), Err(CompileError::OverBudget(_))));
    assert_eq!(search(2 * super::MAX_WORK), Ok(None));
}

fn grammar() -> impl Strategy<Value = String> {
    let item = prop_oneof![
        5 => prop::sample::select(&["\"a\"", "\"b\"", "\"(\"", "\")\"", "\"+\"", "\"0\"", "\" \""][..]).prop_map(String::from),
        3 => prop::sample::select(&["root", "p", "q"][..]).prop_map(String::from),
        1 => prop::sample::select(&["p?", "(\"a\" q)*", "\" \"*", "(root \"b\")?"][..]).prop_map(String::from),
    ];
    let rule = prop::collection::vec(prop::collection::vec(item, 1..4), 1..4).prop_map(|alternatives| {
        let all: Vec<String> = alternatives.iter().map(|items| items.join(" ")).collect();
        all.join(" | ")
    });
    (rule.clone(), rule.clone(), rule).prop_map(|(root, p, q)| {
        format!("root ::= {root} | \"a\"\np ::= {p} | \"b\"\nq ::= {q} | \"(\" q \")\" | \"0\"")
    })
}

/// Walks random texts: no matcher has more configurations than are said to be the most, and none meets the limit unless that
/// was said.
fn walk(grammar: &str, seeds: &[Vec<u8>]) -> Result<(), TestCaseError> {
    let Ok(lowered) = lowered(grammar) else { return Ok(()) };
    let most = most(&lowered);
    let mut matcher = matcher(grammar, &lowered);
    for seed in seeds {
        matcher.reset();
        for &byte in seed {
            let allowed: Vec<u32> = (0..8).filter(|id| matcher.allows(*id)).collect();
            if allowed.is_empty() {
                break;
            }
            match matcher.advance(allowed[usize::from(byte) % allowed.len()]) {
                Err(MatcherError::Configurations { .. }) => {
                    prop_assert_eq!(most, None, "{}", grammar);
                    break;
                }
                taken => taken.unwrap(),
            }
            let found = matcher.configurations().len();
            prop_assert!(most.is_none_or(|most| found <= most), "{}: {} of {:?}", grammar, found, most);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_random_text_has_more(
        grammar in grammar(),
        seeds in prop::collection::vec(prop::collection::vec(any::<u8>(), 60), 6),
    ) {
        walk(&grammar, &seeds)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 25, ..ProptestConfig::default() })]

    #[test]
    fn no_text_of_these_has_more(seed in prop::collection::vec(any::<u8>(), 300)) {
        for (grammar, _) in BOUNDS {
            walk(grammar, std::slice::from_ref(&seed))?;
        }
    }
}
