//! What an explanation says against the oracles: where a text stands, which tokens may come next, and where it ends.

use std::collections::BTreeSet;

use gobo_artifact::Matcher;
use gobo_explain::{Question, Way, explain, ids_of, neighbourhood, steps};
use gobo_types::{CompileLimits, Constraint, TokenId};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::cases::{case, config};
use crate::judge::{Judge, Verdict, Words};
use crate::oracle_agrees::both;
use crate::subject::{Answer, expected};

fn ids(answer: &Answer) -> Vec<TokenId> {
    match answer {
        Answer::Ended => Vec::new(),
        Answer::Mask(words) => ids_of(words),
    }
}

/// Explains a text, and each token after it, where `expected` may come next.
fn check(start: &Matcher, text: &[u8], expected: &[TokenId], is_complete: bool) -> Result<(), TestCaseError> {
    let question = |token| Question { before: &[], text, token, limits: CompileLimits::default() };
    let explained = explain(&mut start.clone(), &question(None))
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(explained.taken, text.len());
    prop_assert!(explained.is_whole() && explained.dead_end().is_none());
    prop_assert_eq!(&explained.allowed, expected);
    prop_assert_eq!(explained.is_complete, is_complete);
    for id in 0..start.vocabulary().len() {
        let explained = explain(&mut start.clone(), &question(Some(id)))
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        let said = explained.token.unwrap_or_default();
        prop_assert_eq!(said.contains("is allowed"), expected.contains(&id), "{}", said);
        prop_assert_eq!(said.contains("is refused"), !expected.contains(&id), "{}", said);
    }
    Ok(())
}

/// The text token by token: the tokens are the text as far as it goes, and each was allowed among so many.
fn check_steps(start: &Matcher, text: &[u8]) -> Result<(), TestCaseError> {
    let steps = steps(&mut start.clone(), text, usize::MAX)
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    let mut matcher = start.clone();
    let mut written = Vec::new();
    for step in &steps.tokens {
        prop_assert_eq!(step.from, written.len());
        let mut mask = vec![0; matcher.mask_words()];
        prop_assert!(matcher.fill(&mut mask).is_ok());
        prop_assert_eq!(step.allowed, ids_of(&mask).len());
        prop_assert!(matcher.advance(step.id).is_ok());
        written.extend_from_slice(&step.bytes);
    }
    prop_assert_eq!(steps.taken, written.len());
    prop_assert!(text.starts_with(&written));
    prop_assert_eq!(steps.refused.is_none(), written.len() == text.len());
    Ok(())
}

/// The picture has the ways of the index, and those alone.
fn check_picture(start: &Matcher, most: usize) -> Result<(), TestCaseError> {
    let index = start.index();
    let around = start.state().unwrap_or(0);
    let graph = neighbourhood(index, around, most).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let shown: BTreeSet<u32> = graph.nodes.iter().map(|node| node.state).collect();
    prop_assert!(shown.contains(&around) && shown.len() <= most.max(1) && shown.len() == graph.nodes.len());
    for node in &graph.nodes {
        prop_assert_eq!(node.is_complete, index.is_complete(node.state));
        let mut cut = false;
        for byte in 0..=u8::MAX {
            let to = index.next_state(node.state, byte);
            let has = graph.edges.iter().any(|edge| {
                edge.from == node.state
                    && edge.to == to
                    && matches!(&edge.way, Way::Bytes(bytes) if bytes.contains(&byte))
            });
            prop_assert_eq!(has, to != 0 && shown.contains(&to), "byte {} of state {}", byte, node.state);
            cut |= to != 0 && !shown.contains(&to);
        }
        prop_assert!(node.is_cut || !cut);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn of_regular_constraints(case in case(), choices in prop::collection::vec(any::<prop::sample::Index>(), 0..6), tail in any::<[u8; 3]>()) {
        let (_, naive, matcher) = both(&case)?;
        if let Some(start) = matcher {
            let (mut state, mut text) = (naive.start(), Vec::new());
            for choice in &choices {
                let row = naive.row(state).expect("only states that survived are walked to");
                if row.allowed.is_empty() {
                    break;
                }
                let (id, next) = row.allowed.iter().nth(choice.index(row.allowed.len())).expect("it is one of them");
                text.extend_from_slice(start.vocabulary().bytes(*id));
                state = *next;
            }
            let row = naive.row(state).expect("only states that survived are walked to");
            let mut wanted = ids(&expected(row, &case.binding));
            // A mask has no bit for an EOS beyond its words.
            wanted.sort_unstable();
            check(&start, &text, &wanted, row.complete)?;
            check_steps(&start, &text)?;
            check_steps(&start, &[&*text, &tail].concat())?;
            for most in [1, 3, 60] {
                check_picture(&start, most)?;
            }
        }
    }
}

#[test]
fn of_grammars_with_calls() {
    let words: &[&[u8]] = &[b"[[", b"],", b"]]", b"x,", b",x", b"(1", b"1)", b"+1", b"aa", b"aba"];
    for (grammar, texts) in [
        (
            "root ::= \"[\" (item (\",\" item)*)? \"]\"\nitem ::= root | \"x\"",
            &["", "[", "[[x,[", "[[]]", "[x,x"][..],
        ),
        ("root ::= \"a\" root \"a\" | \"b\" root \"b\" | \"a\" | \"b\"", &["", "a", "ab", "aba", "aabaa"]),
        ("root ::= root \"+\" root | \"(\" root \")\" | \"1\"", &["", "1", "(1+1", "((1)", "1+1"]),
    ] {
        let constraint = Constraint::gbnf(grammar, "root");
        let mut judge = Judge::new(&constraint, &Words::of(words));
        let Ok(Verdict::Index(start)) = judge.compile() else { panic!("{grammar}") };
        for text in texts {
            let mut place = judge.start();
            for byte in text.bytes() {
                let id =
                    (0..start.vocabulary().len()).find(|&id| start.vocabulary().bytes(id) == [byte]).unwrap();
                place = judge.after(place, id).unwrap();
            }
            let wanted = ids(&judge.expected(place));
            let is_complete = judge.earley.contains(text.as_bytes());
            let fault = |error: TestCaseError| -> ! { panic!("{grammar}\n{text}: {error}") };
            check(&start, text.as_bytes(), &wanted, is_complete).unwrap_or_else(|error| fault(error));
            check_steps(&start, text.as_bytes()).unwrap_or_else(|error| fault(error));
            check_steps(&start, format!("{text}?").as_bytes()).unwrap_or_else(|error| fault(error));
            check_picture(&start, 60).unwrap_or_else(|error| fault(error));
        }
    }
}
