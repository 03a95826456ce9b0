//! The shortest text that one of two automata accepts and the other does not: breadth-first search of their product, with pairs that
//! are known to be equivalent merged (Hopcroft & Karp 1971).

use std::collections::{BTreeSet, HashSet};

use gobo_types::ErrorKind;

use crate::bytes::dfa::Dfa;
use crate::ids::StateId;

/// Most pairs of states that a comparison visits unless it is told otherwise: 2^22, some 150 MiB.
pub const MAX_PAIRS: u32 = 1 << 22;

/// A deterministic automaton over bytes, wherever its tables lie: in memory as a [`Dfa`] or in a file.
///
/// [`StateId::DEAD`] accepts nothing and leads only to itself. All methods are O(1).
pub trait ByteAutomaton {
    /// The state of the empty text; [`StateId::DEAD`] if no text is accepted.
    fn start(&self) -> StateId;

    /// The state after `byte`.
    fn next(&self, state: StateId, byte: u8) -> StateId;

    /// Whether a text may end in `state`.
    fn is_accepting(&self, state: StateId) -> bool;

    /// The class of `byte`. Bytes of one class lead to the same state from every state.
    fn class(&self, byte: u8) -> u8;
}

impl ByteAutomaton for Dfa {
    fn start(&self) -> StateId {
        self.start
    }

    fn next(&self, state: StateId, byte: u8) -> StateId {
        Dfa::next(self, state, byte)
    }

    fn is_accepting(&self, state: StateId) -> bool {
        self.accepting[state]
    }

    fn class(&self, byte: u8) -> u8 {
        self.classes[usize::from(byte)]
    }
}

/// One of the two automata of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

/// A text that one of two automata accepts and the other does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The text.
    pub text: Vec<u8>,
    /// Which side accepts it.
    pub taken_by: Side,
}

/// The automata were neither found equal nor told apart within the limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("comparing needs more than {limit} pairs of states (limit max_pairs)")]
pub struct TooManyPairs {
    /// The limit.
    pub limit: u32,
}

impl TooManyPairs {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Limit
    }
}

/// The shortest text on which `a` and `b` differ, or `None` if they accept the same texts.
///
/// Among texts of the same number of bytes it is the first one by this order of bytes: visible ASCII, then the space,
/// then all others, each ascending. So a person can read it wherever possible, and it is always the same one.
///
/// A breadth-first search over pairs of states, one of each side, that some text leads to: O(pairs * joint classes).
/// Of two minimal automata, equal ones have as many pairs as states; different ones at most the product of both, and
/// only the pairs nearer than the difference are visited.
///
/// # Errors
/// [`TooManyPairs`] if more than `max_pairs` pairs would have to be visited.
pub fn difference(
    a: &impl ByteAutomaton,
    b: &impl ByteAutomaton,
    max_pairs: u32,
) -> Result<Option<Difference>, TooManyPairs> {
    let taken_by = |(in_a, in_b)| match (a.is_accepting(in_a), b.is_accepting(in_b)) {
        (true, false) => Some(Side::A),
        (false, true) => Some(Side::B),
        _ => None,
    };
    let start = (a.start(), b.start());
    if let Some(taken_by) = taken_by(start) {
        return Ok(Some(Difference { text: Vec::new(), taken_by }));
    }
    let letters = letters(a, b);
    let mut seen = HashSet::from([start]);
    let mut visits = vec![Visit { pair: start, before: 0, byte: 0 }];
    let mut at = 0;
    while let Some(&Visit { pair: (in_a, in_b), .. }) = visits.get(at as usize) {
        for &byte in &letters {
            let pair = (a.next(in_a, byte), b.next(in_b, byte));
            // From there on neither side accepts anything.
            if pair == (StateId::DEAD, StateId::DEAD) || !seen.insert(pair) {
                continue;
            }
            // Asked where a pair is found, not where it is gone on from: that would be a whole length later.
            if let Some(taken_by) = taken_by(pair) {
                return Ok(Some(Difference { text: text(&visits, at, byte), taken_by }));
            }
            if visits.len() >= max_pairs as usize {
                return Err(TooManyPairs { limit: max_pairs });
            }
            visits.push(Visit { pair, before: at, byte });
        }
        at += 1;
    }
    Ok(None)
}

/// A pair of states, and how it was come by first.
struct Visit {
    pair: (StateId, StateId),
    /// The visit that led here, by its place in the list; the first one leads to itself.
    before: u32,
    byte: u8,
}

/// One byte of each set that neither side tells apart: the first one in the order of preference, and in that order.
fn letters(a: &impl ByteAutomaton, b: &impl ByteAutomaton) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..=u8::MAX).collect();
    bytes.sort_by_key(|byte| (!byte.is_ascii_graphic(), *byte != b' ', *byte));
    let mut known = BTreeSet::new();
    bytes.retain(|&byte| known.insert((a.class(byte), b.class(byte))));
    bytes
}

/// The bytes that lead to the visit at `at`, and one more.
fn text(visits: &[Visit], mut at: u32, last: u8) -> Vec<u8> {
    let mut text = vec![last];
    while at != 0 {
        let visit = &visits[at as usize];
        text.push(visit.byte);
        at = visit.before;
    }
    text.reverse();
    text
}

#[cfg(test)]
mod tests {
    use gobo_types::{Budget, CompileLimits, MatchMode, TextStart};

    use super::*;

    fn dfa(pattern: &str) -> Dfa {
        Dfa::regex(pattern, MatchMode::Full, TextStart::Exact, &Budget::new(CompileLimits::default()))
            .unwrap()
    }

    fn nothing() -> Dfa {
        Dfa {
            classes: Box::new([0; 256]),
            stride: 1,
            row_of: vec![0],
            deltas: vec![gobo_types::NO_STEP],
            chars: None,
            calls: None,
            accepting: vec![false].into(),
            start: StateId::DEAD,
        }
    }

    /// What tells `a` and `b` apart, after a look from the other side too.
    fn between(a: &Dfa, b: &Dfa) -> Option<(Vec<u8>, Side)> {
        let found = difference(a, b, MAX_PAIRS).unwrap().map(|found| (found.text, found.taken_by));
        let swapped = difference(b, a, MAX_PAIRS).unwrap().map(|found| match found.taken_by {
            Side::A => (found.text, Side::B),
            Side::B => (found.text, Side::A),
        });
        assert_eq!(found, swapped, "the order of the sides must not matter");
        found
    }

    #[test]
    fn one_language_in_two_spellings_is_equal() {
        for (a, b) in [
            ("", "()"),
            ("(a|b)*", "(a*b*)*"),
            ("(?s:.*)", r"[\x00-\x{10ffff}]*"),
            ("a|ab|abc", "a(b|bc)?"),
            ("(?i:k)", "[kK\u{212a}]"),
            ("(ab){3,}", "ababab(ab)*"),
        ] {
            assert_eq!(between(&dfa(a), &dfa(b)), None, "{a} and {b}");
        }
        assert_eq!(between(&nothing(), &nothing()), None);
    }

    #[test]
    fn the_difference_is_the_shortest_and_its_taker_is_named() {
        use Side::{A, B};
        let long = "x".repeat(300);
        for (a, b, text, taken_by) in [
            ("a*", "a+", "", A),
            ("a+", "a*", "", B),
            ("a{0,3}", "a{0,4}", "aaaa", B),
            ("[0-9]{4}", "[0-9]{4}|x", "x", B),
            ("a|bb", "a|cc", "bb", A),
            ("x{1,299}", "x{1,300}", long.as_str(), B),
            ("[0-9]+", r"\d+", "\u{660}", B),
            ("(a{7})*", "(a{5})*", "aaaaa", B),
        ] {
            assert_eq!(between(&dfa(a), &dfa(b)), Some((text.into(), taken_by)), "{a} and {b}");
        }
    }

    #[test]
    fn an_empty_side_takes_nothing() {
        assert_eq!(between(&dfa("b|ab"), &nothing()), Some((b"b".to_vec(), Side::A)));
        assert_eq!(between(&nothing(), &dfa("")), Some((vec![], Side::B)));
    }

    #[test]
    fn of_the_shortest_the_most_readable_then_the_first() {
        for (a, b, text) in [
            ("(?s:.)", "[b-z]", "!"),
            ("(?s:.)", "[!-~]", " "),
            ("(?s:.)", "[ -~]", "\0"),
            ("[ \t]x", "zzz", " x"),
            ("[ab][cd]", "[ab]d", "ac"),
            ("a[\n~]|b[!]", "zzz", "a~"),
        ] {
            assert_eq!(between(&dfa(a), &dfa(b)), Some((text.into(), Side::A)), "{a} and {b}");
        }
    }

    #[test]
    fn equal_minimal_automata_cost_one_pair_for_each_state_and_not_one_more() {
        let (a, b) = (dfa("[ab]*a[ab]{8}"), dfa("(a|b)*a(a|b){8}"));
        let live = u32::try_from(a.len() - 1).unwrap();
        assert_eq!(difference(&a, &b, live), Ok(None));
        let error = difference(&a, &b, live - 1).unwrap_err();
        assert_eq!((error.limit, error.kind()), (live - 1, ErrorKind::Limit));
        assert!(error.to_string().contains("max_pairs"), "{error}");
        // A difference within the limit is found whatever lies beyond.
        assert!(difference(&a, &dfa("[ab]*b[ab]{8}"), live).unwrap().is_some());
    }
}
