//! Compiled indices against the naive index, row by row and step by step.

use std::collections::{HashMap, VecDeque};

use gobo_artifact::Matcher;
use gobo_compiler::CompileOptions;
use gobo_oracle::{Language, NaiveIndex, Row, StateId, Tokens, spellable};
use gobo_types::{Budget, CompileError, CompileLimits, Constraint, RefusalKind, Source};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseError, TestRunner};

use crate::cases::{Case, case, config, wide_case};
use crate::subject::{Answer, answer, compile, expected, index_of, vocabulary_of};

/// States of a naive index; past them a case is thrown away.
const MAX_NAIVE_STATES: usize = 1_000;

/// States compared per case, nearest to the start first.
const MAX_COMPARED_STATES: usize = 300;

/// Which refusal the constraint must get, if any.
fn verdict(
    constraint: &Constraint,
    tokens: &Tokens,
    language: &Language,
    naive: &NaiveIndex,
) -> Option<RefusalKind> {
    // A choice with an item that cannot be written is refused although the others can: its author counts on all.
    let each_item = match &constraint.source {
        Source::Choice { items } => items.iter().all(|item| spellable(item.as_bytes(), tokens)),
        Source::Regex { .. }
        | Source::Grammar { .. }
        | Source::Json { .. }
        | Source::Tag { .. }
        | Source::Schema { .. } => true,
    };
    if !language.is_alive(language.start()) {
        Some(RefusalKind::Unsatisfiable)
    } else if naive.is_satisfiable() && each_item {
        None
    } else {
        Some(RefusalKind::Unspellable)
    }
}

/// The oracle's view of `case`, and a matcher at the start of the compiled index; none if both sides refuse.
pub(crate) fn both(case: &Case) -> Result<(Language, NaiveIndex, Option<Matcher>), TestCaseError> {
    let mut language = Language::new(&case.constraint)
        .map_err(|error| TestCaseError::fail(format!("the generator made a bad pattern: {error}")))?;
    let naive = NaiveIndex::build(&mut language, &case.tokens, MAX_NAIVE_STATES)
        .ok_or_else(|| TestCaseError::reject("more states than the oracle is asked to look at"))?;
    let vocabulary = vocabulary_of(&case.tokens);
    let bytes = match compile(&vocabulary, &case.constraint, 1) {
        Err(CompileError::OverBudget(_)) => return Err(TestCaseError::reject("over budget")),
        result => result,
    };
    let bytes = match (bytes, verdict(&case.constraint, &case.tokens, &language, &naive)) {
        (Ok(bytes), None) => bytes,
        (Err(CompileError::Refused(refusal)), Some(kind)) => {
            prop_assert_eq!(refusal.kind, kind, "{}", refusal);
            return Ok((language, naive, None));
        }
        (result, expected) => {
            let found = result.map(|bytes| bytes.len());
            return Err(TestCaseError::fail(format!("expected refusal {expected:?}, found {found:?}")));
        }
    };
    let matcher = Matcher::new(index_of(&bytes), vocabulary, &case.binding)
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    Ok((language, naive, Some(matcher)))
}

/// Walks the index and the naive index side by side, breadth first, and compares everything that can be asked.
fn compare(
    case: &Case,
    language: &mut Language,
    naive: &NaiveIndex,
    start: Matcher,
) -> Result<(), TestCaseError> {
    let binding = &case.binding;
    let mut known: HashMap<_, Answer> = HashMap::new();
    let mut waiting = VecDeque::from([(naive.start(), start, vec![])]);
    while let Some((state, matcher, path)) = waiting.pop_front() {
        let row = naive.row(state).expect("only states that survived are walked to");
        let here = expected(row, binding);
        prop_assert_eq!(answer(&matcher, binding), here.clone(), "the mask after tokens {:?}", path);
        prop_assert_eq!(matcher.is_complete(), row.complete, "completeness after tokens {:?}", path);
        // Another way to a state seen before: its mask is compared, its steps need not be again.
        if known.contains_key(&state) || known.len() == MAX_COMPARED_STATES {
            continue;
        }
        known.insert(state, here.clone());
        check_forced(case, language, state, row, &matcher)?;
        // Beyond the width, too: any number may come from a sampler.
        for id in 0..binding.logits_width + 2 {
            let mut next = matcher.clone();
            let step = next.advance(id);
            let valid = matcher.validate(&[id]);
            if let Some(&target) = row.allowed.get(&id) {
                prop_assert!(step.is_ok(), "token {} after {:?}: {:?}", id, path, step);
                prop_assert_eq!(valid, 1, "token {} after {:?}", id, path);
                waiting.push_back((target, next, [path.as_slice(), &[id]].concat()));
            } else if row.complete && binding.is_eos(id) {
                prop_assert!(step.is_ok(), "EOS {} after {:?}: {:?}", id, path, step);
                prop_assert_eq!(valid, 1, "EOS {} after {:?}", id, path);
            } else {
                prop_assert!(step.is_err(), "token {} was taken after {:?}", id, path);
                prop_assert_eq!(valid, 0, "token {} after {:?}", id, path);
                prop_assert_eq!(answer(&next, binding), here.clone(), "after a refused step");
            }
        }
    }
    Ok(())
}

/// Forced bytes are those that every text goes on with: no allowed token may write anything else. Where the language
/// itself leaves one byte, they cannot be missing; where the vocabulary leaves one, they may be longer.
fn check_forced(
    case: &Case,
    language: &mut Language,
    state: StateId,
    row: &Row,
    matcher: &Matcher,
) -> Result<(), TestCaseError> {
    let mut forced = vec![];
    matcher.forced(&mut forced);
    let ordinary: HashMap<_, _> = case.tokens.ordinary().collect();
    for id in row.allowed.keys() {
        let bytes = ordinary[id];
        prop_assert!(bytes.starts_with(&forced) || forced.starts_with(bytes), "{:?}, token {}", forced, id);
    }
    let mut live = (0..=255).filter(|&byte| language.step(state, byte).is_some());
    let only = live.next().filter(|_| live.next().is_none() && !row.complete);
    if let Some(byte) = only {
        prop_assert_eq!(forced.first(), Some(&byte));
    }
    prop_assert!(!row.complete || forced.is_empty());
    Ok(())
}

proptest! {
    #![proptest_config(config(240))]

    #[test]
    fn every_row_and_every_step(case in case()) {
        let (mut language, naive, matcher) = both(&case)?;
        if let Some(matcher) = matcher {
            compare(&case, &mut language, &naive, matcher)?;
        }
    }
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn every_row_of_wide_classes_and_long_words(case in wide_case()) {
        let (mut language, naive, matcher) = both(&case)?;
        if let Some(matcher) = matcher {
            compare(&case, &mut language, &naive, matcher)?;
        }
    }
}

proptest! {
    #![proptest_config(config(80))]

    #[test]
    fn bytes_and_verdicts_do_not_depend_on_threads(case in case()) {
        let vocabulary = vocabulary_of(&case.tokens);
        let one = compile(&vocabulary, &case.constraint, 1);
        for threads in [2, 3] {
            prop_assert_eq!(&compile(&vocabulary, &case.constraint, threads), &one, "{} threads", threads);
        }
    }
}

/// Random cases seldom make rows that many threads share work on; this one has hundreds of rows.
#[test]
fn threads_write_the_same_file_when_there_is_work_for_them() {
    let mut tokens = Tokens::new();
    for first in 0..=255 {
        tokens.push(&[first], false);
    }
    for first in b"abcdefgh " {
        for second in b"abcdefgh " {
            tokens.push(&[*first, *second], false);
            tokens.push(&[*first, *second, *first], false);
        }
    }
    let vocabulary = vocabulary_of(&tokens);
    let pattern = r"[a-h]{1,30}(?: [ab]{0,5}\d{2,4}){0,9}|.{3,60}x";
    let constraint = Constraint::regex(pattern);
    let one = compile(&vocabulary, &constraint, 1).unwrap();
    for threads in 2..6 {
        assert!(compile(&vocabulary, &constraint, threads).unwrap() == one, "{threads} threads");
    }
    // Nor does the budget see them: a verdict would depend on the host.
    let counted = |threads| {
        let budget = Budget::new(CompileLimits::default());
        let lowered = gobo_worker::lower(&constraint, &budget).unwrap();
        let options = CompileOptions { threads, cache: None, ..CompileOptions::default() };
        gobo_compiler::compile(&vocabulary, &constraint, &lowered, &options, &budget).unwrap().stats
    };
    let alone = counted(1);
    (2..6).for_each(|threads| assert_eq!(counted(threads), alone, "{threads} threads"));
}

/// Agreement means little on cases that are all refused or trivial.
#[test]
fn the_random_cases_are_of_every_sort() {
    let mut runner = TestRunner::deterministic();
    let (mut verdicts, mut large, mut struck_out, mut padded) = (HashMap::new(), 0, 0, 0);
    for _ in 0..500 {
        let case = case().new_tree(&mut runner).expect("few cases are filtered").current();
        let mut language = Language::new(&case.constraint).expect("patterns are well-formed");
        let Some(naive) = NaiveIndex::build(&mut language, &case.tokens, MAX_NAIVE_STATES) else { continue };
        let verdict = verdict(&case.constraint, &case.tokens, &language, &naive);
        *verdicts.entry(verdict).or_insert(0) += 1;
        if verdict.is_none() {
            large += usize::from(naive.states() > 10);
            struck_out += usize::from(naive.struck_out() > 0);
            padded += usize::from(case.binding.eos.iter().any(|&id| id >= case.tokens.len()));
        }
    }
    println!(
        "{verdicts:?}, more than ten states: {large}, states struck out: {struck_out}, padded EOS: {padded}"
    );
    assert!(verdicts[&None] > 150 && verdicts.len() == 3);
    assert!(large > 20 && struck_out > 20 && padded > 20);
}
