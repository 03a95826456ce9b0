//! Lowered automata against the oracle's language, byte by byte: no vocabulary, so a fault here is lowering's.

use std::collections::{HashMap, HashSet, VecDeque};

use gobo_automata::StateId;
use gobo_oracle::Language;
use gobo_types::{Budget, CompileError, CompileLimits, Constraint, RefusalKind};
use gobo_worker::lower;
use proptest::prelude::*;

use crate::cases::{config, constraint};

/// Pairs of states compared per case.
const MAX_PAIRS: usize = 3_000;

fn compare(constraint: &Constraint) -> Result<(), TestCaseError> {
    let mut language = Language::new(constraint)
        .map_err(|error| TestCaseError::fail(format!("the generator made a bad pattern: {error}")))?;
    let dfa = match lower(constraint, &Budget::new(CompileLimits::default())) {
        Ok(lowered) => lowered.dfa,
        Err(CompileError::Refused(refusal)) => {
            prop_assert_eq!(refusal.kind, RefusalKind::Unsatisfiable, "{}", refusal);
            prop_assert!(!language.is_alive(language.start()), "{}", refusal);
            return Ok(());
        }
        Err(other) => return Err(TestCaseError::reject(other.to_string())),
    };
    prop_assert!(language.is_alive(language.start()), "an automaton of no text");
    // Pairs of states that one text leads to. Texts that lead the oracle to one state have one future, so between two
    // characters they must lead a minimal automaton to one state.
    let mut seen = HashSet::from([(language.start(), dfa.start)]);
    let mut between = HashMap::from([(language.start(), dfa.start)]);
    let mut waiting = VecDeque::from([(language.start(), dfa.start, vec![])]);
    while let Some((state, at, text)) = waiting.pop_front() {
        prop_assert_eq!(dfa.accepting[at], language.accepts(state), "after {:?}", text);
        for byte in 0..=255 {
            let next = dfa.next(at, byte);
            let Some(expected) = language.step(state, byte) else {
                prop_assert_eq!(next, StateId::DEAD, "{:?} after {:?}", byte, text);
                continue;
            };
            prop_assert_ne!(next, StateId::DEAD, "{:?} after {:?}", byte, text);
            let text = [text.as_slice(), &[byte]].concat();
            if std::str::from_utf8(&text).is_ok() {
                let before = *between.entry(expected).or_insert(next);
                prop_assert_eq!(next, before, "after {:?}", text);
            }
            if seen.len() < MAX_PAIRS && seen.insert((expected, next)) {
                waiting.push_back((expected, next, text));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn an_automaton_is_the_language(constraint in constraint()) {
        compare(&constraint)?;
    }
}
