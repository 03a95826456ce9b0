//! The shortest difference of two automata against every text in turn, each asked of the oracle's languages.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use gobo_artifact::Index;
use gobo_automata::{ByteAutomaton, Dfa, Difference, MAX_PAIRS, Side, StateId, difference};
use gobo_oracle::{Language, Tokens, spellable};
use gobo_types::{Budget, CompileError, CompileLimits, Constraint, DenseId as _, NO_STEP, RefusalKind};
use gobo_worker::lower;
use proptest::prelude::*;

use crate::cases::{Case, case, config, constraint, pattern};
use crate::subject;

/// Texts tried per case.
const MAX_TEXTS: usize = 4_000;

/// The automaton of an index file.
struct OfIndex(Arc<Index>);

impl ByteAutomaton for OfIndex {
    fn start(&self) -> StateId {
        StateId::from_number(self.0.start())
    }

    fn next(&self, state: StateId, byte: u8) -> StateId {
        StateId::from_number(self.0.next_state(state.number(), byte))
    }

    fn is_accepting(&self, state: StateId) -> bool {
        self.0.is_complete(state.number())
    }

    fn class(&self, byte: u8) -> u8 {
        self.0.byte_class(byte)
    }
}

/// What trying one text after the other has shown.
enum Tried {
    /// The first text on which the languages differ.
    Differ(Difference),
    /// No text that either side accepts is left.
    Equal,
    /// They agree on all texts before this one.
    AgreeBefore(Vec<u8>),
}

/// Every text that either language can still go on with, by length, then by the documented order of bytes.
fn try_texts(a: &mut Language, b: &mut Language) -> Tried {
    let bytes: Vec<u8> =
        (b'!'..=b'~').chain([b' ']).chain(0..b' ').chain(b'~' + 1..=u8::MAX).collect::<Vec<_>>();
    assert_eq!(bytes.iter().collect::<BTreeSet<_>>().len(), 256);
    let mut waiting = VecDeque::from([(vec![], Some(a.start()), Some(b.start()))]);
    for _ in 0..MAX_TEXTS {
        let Some((text, in_a, in_b)) = waiting.pop_front() else { return Tried::Equal };
        let accepted =
            (in_a.is_some_and(|state| a.accepts(state)), in_b.is_some_and(|state| b.accepts(state)));
        match accepted {
            (true, false) => return Tried::Differ(Difference { text, taken_by: Side::A }),
            (false, true) => return Tried::Differ(Difference { text, taken_by: Side::B }),
            _ => {}
        }
        for &byte in &bytes {
            let next_a = in_a.and_then(|state| a.step(state, byte));
            let next_b = in_b.and_then(|state| b.step(state, byte));
            if next_a.is_some() || next_b.is_some() {
                waiting.push_back(([text.as_slice(), &[byte]].concat(), next_a, next_b));
            }
        }
    }
    waiting.pop_front().map_or(Tried::Equal, |(text, ..)| Tried::AgreeBefore(text))
}

/// The automaton of a constraint, one of no text for what no text satisfies.
fn automaton(constraint: &Constraint) -> Result<Dfa, TestCaseError> {
    match lower(constraint, &Budget::new(CompileLimits::default())) {
        Ok(lowered) => Ok(lowered.dfa),
        Err(CompileError::Refused(refusal)) if refusal.kind == RefusalKind::Unsatisfiable => Ok(Dfa {
            classes: Box::new([0; 256]),
            stride: 1,
            row_of: vec![0],
            deltas: vec![NO_STEP],
            chars: None,
            calls: None,
            accepting: vec![false].into(),
            start: StateId::DEAD,
        }),
        Err(other) => Err(TestCaseError::fail(other.to_string())),
    }
}

fn language(constraint: &Constraint) -> Result<Language, TestCaseError> {
    Language::new(constraint).map_err(|error| TestCaseError::fail(error.to_string()))
}

fn compare(a: &Constraint, b: &Constraint) -> Result<(), TestCaseError> {
    let found = difference(&automaton(a)?, &automaton(b)?, MAX_PAIRS).unwrap();
    let (mut a, mut b) = (language(a)?, language(b)?);
    match (try_texts(&mut a, &mut b), found) {
        (Tried::Differ(expected), found) => prop_assert_eq!(found, Some(expected)),
        (Tried::Equal | Tried::AgreeBefore(_), None) => {}
        (Tried::Equal, Some(found)) => prop_assert!(false, "{:?} tells equal languages apart", found),
        (Tried::AgreeBefore(text), Some(found)) => {
            prop_assert!(found.text.len() >= text.len(), "{:?} is no difference", found);
            let taken = (a.contains(&found.text), b.contains(&found.text));
            prop_assert_eq!(taken, (found.taken_by == Side::A, found.taken_by == Side::B));
        }
    }
    Ok(())
}

/// Pairs that are equal in other words, that differ late, and that have nothing to do with each other.
fn pairs() -> impl Strategy<Value = (Constraint, Constraint)> {
    let related = (pattern(), pattern(), 0..6).prop_map(|(p, q, how)| {
        let (a, b) = match how {
            0 => (p.clone(), format!("(?:{p})|(?:{p}|[a&&b])")),
            1 => (format!("(?:{p})|(?:{q})"), format!("(?:{q})|(?:{p})")),
            2 => (format!("(?:{p})|(?:{q})"), p),
            3 => (format!("(?:{p}){{0,2}}"), format!("(?:{p}){{0,3}}")),
            4 => (format!("(?:{p})*"), format!("(?:(?:{p})+)?")),
            _ => (format!("aab(?:{p})(?:{q})"), format!("aab(?:{q})(?:{p})")),
        };
        (Constraint::regex(a), Constraint::regex(b))
    });
    prop_oneof![3 => related, 1 => (constraint(), constraint())]
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn the_difference_is_the_first_text_on_which_the_languages_differ((a, b) in pairs()) {
        compare(&a, &b)?;
    }
}

proptest! {
    #![proptest_config(config(100))]

    /// An index lacks the texts that its vocabulary cannot write, and takes none that its constraint does not.
    #[test]
    fn an_index_lacks_only_what_its_vocabulary_cannot_write(Case { constraint, tokens, .. } in case()) {
        let vocabulary = subject::vocabulary_of(&tokens);
        let Ok(file) = subject::compile(&vocabulary, &constraint, 1) else { return Ok(()) };
        let (index, dfa) = (OfIndex(subject::index_of(&file)), automaton(&constraint)?);
        prop_assert_eq!(difference(&index, &index, MAX_PAIRS), Ok(None));
        if let Some(found) = difference(&index, &dfa, MAX_PAIRS).unwrap() {
            prop_assert_eq!(found.taken_by, Side::B);
            prop_assert!(!spellable(&found.text, &tokens), "{:?}", found);
        }
    }
}

#[test]
fn an_index_and_its_constraint_differ_where_a_token_is_missing() {
    let mut tokens = Tokens::new();
    for token in ["a", "b", "ab"] {
        tokens.push(token.as_bytes(), false);
    }
    let file = subject::compile(&subject::vocabulary_of(&tokens), &Constraint::regex("[abc]+"), 1).unwrap();
    let index = OfIndex(subject::index_of(&file));
    let against = |pattern: &str| {
        difference(&index, &automaton(&Constraint::regex(pattern)).unwrap(), MAX_PAIRS).unwrap()
    };
    assert_eq!(against("[abc]+"), Some(Difference { text: b"c".to_vec(), taken_by: Side::B }));
    assert_eq!(against("[ab]+"), None);
    assert_eq!(against("[ab]{1,3}"), Some(Difference { text: b"aaaa".to_vec(), taken_by: Side::A }));
}
