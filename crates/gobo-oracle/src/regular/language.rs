//! The byte strings of a regular constraint, by partial derivatives.
//!
//! A state is the set of partial derivatives of the expression by the text so far (Antimirov 1996, *Partial derivatives of
//! regular expressions and finite automaton constructions*, section 3), made as the text is walked. Invariant: some text
//! leads from each state to acceptance, because derivatives without any text are left out. A step costs one pass over the
//! terms of the state the first time, and O(1) from then on.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use gobo_types::{Constraint, MatchMode, RegexDialect, Source};
use regex_syntax::utf8::Utf8Sequences;

use crate::interner::Interner;
use crate::regular::error::LanguageError;
use crate::regular::pattern::Pattern;

/// A state of a [`Language`]: what may still come after some text. Equal states, equal futures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateId(u32);

/// A set of byte strings of the same shape as a UTF-8 sequence: one range of bytes after the other.
type ByteRanges = Vec<(u8, u8)>;

/// An expression; its parts are numbers of other expressions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Node {
    /// One of these sequences, none of them empty. No sequence at all: no text.
    Letters(Vec<ByteRanges>),
    /// Only at the start of the text.
    Start,
    /// Only at the end of the text.
    End,
    /// All, in order. None: the empty text.
    Concat(Vec<u32>),
    /// Any one.
    Alternation(Vec<u32>),
    /// `min` to `max` times in a row.
    Repeat { inner: u32, min: u32, max: Option<u32> },
}

/// What is still to be written: an expression, then another term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Term {
    head: u32,
    tail: u32,
}

/// The term of the empty text.
const DONE: u32 = 0;

/// What a term comes to before the next byte.
#[derive(Debug, Clone)]
struct Expansion {
    /// The terms it may go on as, each with letters at its head.
    letters: Vec<u32>,
    /// Whether the text may end here.
    accepts: bool,
}

/// A set of terms, of which any may be fulfilled: the letters that may come next, and whether the text may end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    letters: BTreeSet<u32>,
    accepts: bool,
}

/// Where in a text an anchor is tried.
#[derive(Debug, Clone, Copy)]
struct Anchors {
    at_start: bool,
    at_end: bool,
}

const UNKNOWN: u32 = u32::MAX;
const DEAD: u32 = u32::MAX - 1;

/// The byte strings that a constraint accepts, as an automaton made while it is walked.
///
/// A partial derivative is a list of expressions to be written one after the other. Anchors are part of expressions like
/// anything else. Whether one holds is known when it comes to the front: `^` holds before the first byte alone, `$` only
/// when nothing is written any more.
///
/// Terms that no text fulfils are left out of states, so a state exists exactly if some bytes lead from it to the end.
#[derive(Debug)]
pub struct Language {
    nodes: Interner<Node>,
    terms: Interner<Term>,
    /// Of terms after the first byte.
    expansions: HashMap<u32, Rc<Expansion>>,
    fulfillable: HashMap<u32, bool>,
    states: Interner<State>,
    /// `[states][256]`
    next: Vec<[u32; 256]>,
    start: StateId,
}

impl Language {
    /// The language of a constraint.
    ///
    /// # Errors
    /// [`LanguageError`] if the pattern is malformed or looks around in another way than by text anchors.
    pub fn new(constraint: &Constraint) -> Result<Self, LanguageError> {
        let mut language = Self {
            nodes: Interner::default(),
            terms: Interner::default(),
            expansions: HashMap::new(),
            fulfillable: HashMap::new(),
            states: Interner::default(),
            next: Vec::new(),
            start: StateId(0),
        };
        let root = match &constraint.source {
            Source::Choice { items } => language.choice(items),
            Source::Regex { pattern, mode, dialect: RegexDialect::Rust, and, not }
                if and.is_empty() && not.is_empty() =>
            {
                let root = language.node_of(&Pattern::read(pattern)?);
                match mode {
                    MatchMode::Full => root,
                    MatchMode::Search => language.anywhere(root),
                }
            }
            Source::Regex { .. }
            | Source::Grammar { .. }
            | Source::Json { .. }
            | Source::Tag { .. }
            | Source::Schema { .. } => {
                return Err(LanguageError::NotRegular);
            }
        };
        // The number of `DONE`; its head is never looked at.
        language.terms.intern(Term { head: UNKNOWN, tail: DONE });
        let root = language.term(root, DONE);
        let start = language.expand(root, true);
        language.start = language.state([&start]);
        Ok(language)
    }

    /// Where the empty text stands.
    pub fn start(&self) -> StateId {
        self.start
    }

    /// Where the text stands after one more byte; nothing if no text of the language begins so.
    pub fn step(&mut self, StateId(state): StateId, byte: u8) -> Option<StateId> {
        let slot = &self.next[state as usize][usize::from(byte)];
        let next = if *slot == UNKNOWN { self.derive(state, byte) } else { *slot };
        (next != DEAD).then_some(StateId(next))
    }

    /// [`step`](Self::step) for each of `bytes`.
    pub fn walk(&mut self, state: StateId, bytes: &[u8]) -> Option<StateId> {
        bytes.iter().try_fold(state, |state, &byte| self.step(state, byte))
    }

    /// Whether the text may end here.
    pub fn accepts(&self, StateId(state): StateId) -> bool {
        self.states.get(state).accepts
    }

    /// Whether any text of the language begins with what led here. False for no state but a dead start.
    pub fn is_alive(&self, StateId(state): StateId) -> bool {
        let state = self.states.get(state);
        state.accepts || !state.letters.is_empty()
    }

    /// Whether `text` is in the language.
    pub fn contains(&mut self, text: &[u8]) -> bool {
        self.walk(self.start, text).is_some_and(|state| self.accepts(state))
    }

    /// How many states have been seen so far.
    pub fn states(&self) -> usize {
        self.next.len()
    }

    fn node(&mut self, node: Node) -> u32 {
        self.nodes.intern(node).0
    }

    fn term(&mut self, head: u32, tail: u32) -> u32 {
        self.terms.intern(Term { head, tail }).0
    }

    fn choice(&mut self, items: &[String]) -> u32 {
        let exact = |item: &String| item.bytes().map(|byte| (byte, byte)).collect();
        let letters = items.iter().filter(|item| !item.is_empty()).map(exact).collect();
        let mut options = vec![self.node(Node::Letters(letters))];
        if items.iter().any(String::is_empty) {
            options.push(self.node(Node::Concat(vec![])));
        }
        self.node(Node::Alternation(options))
    }

    /// Any characters, a match, any characters.
    fn anywhere(&mut self, root: u32) -> u32 {
        let inner = self.node(Node::Letters(utf8_sequences('\0', char::MAX)));
        let any = self.node(Node::Repeat { inner, min: 0, max: None });
        self.node(Node::Concat(vec![any, root, any]))
    }

    fn node_of(&mut self, pattern: &Pattern) -> u32 {
        let node = match pattern {
            Pattern::Chars(runs) => {
                Node::Letters(runs.iter().flat_map(|&(first, last)| utf8_sequences(first, last)).collect())
            }
            Pattern::Start => Node::Start,
            Pattern::End => Node::End,
            Pattern::Repeat { inner, min, max } => {
                Node::Repeat { inner: self.node_of(inner), min: *min, max: *max }
            }
            Pattern::Concat(parts) => Node::Concat(self.nodes_of(parts)),
            Pattern::Alternation(parts) => Node::Alternation(self.nodes_of(parts)),
        };
        self.node(node)
    }

    fn nodes_of(&mut self, parts: &[Pattern]) -> Vec<u32> {
        parts.iter().map(|part| self.node_of(part)).collect()
    }

    /// All terms with letters in front, or nothing left, that `term` may turn into without a byte being written.
    fn unfold(&mut self, term: u32, place: Anchors) -> (Vec<u32>, bool) {
        let (mut letters, mut done) = (Vec::new(), false);
        let (mut waiting, mut seen) = (vec![term], HashSet::new());
        while let Some(term) = waiting.pop() {
            // A loop that writes nothing comes back to a term already seen.
            if !seen.insert(term) {
                continue;
            }
            if term == DONE {
                done = true;
                continue;
            }
            let Term { head, tail } = *self.terms.get(term);
            match &*self.nodes.get(head) {
                Node::Letters(_) => letters.push(term),
                Node::Start if place.at_start => waiting.push(tail),
                Node::End if place.at_end => waiting.push(tail),
                Node::Start | Node::End => {}
                Node::Concat(parts) => {
                    waiting.push(parts.iter().rev().fold(tail, |tail, &part| self.term(part, tail)));
                }
                Node::Alternation(parts) => {
                    for &part in parts {
                        waiting.push(self.term(part, tail));
                    }
                }
                &Node::Repeat { inner, min, max } => {
                    if min == 0 {
                        waiting.push(tail);
                    }
                    if max != Some(0) {
                        let (min, max) = (min.saturating_sub(1), max.map(|max| max - 1));
                        let again = self.node(Node::Repeat { inner, min, max });
                        let tail = if max == Some(0) { tail } else { self.term(again, tail) };
                        waiting.push(self.term(inner, tail));
                    }
                }
            }
        }
        (letters, done)
    }

    fn expand(&mut self, term: u32, at_start: bool) -> Expansion {
        // Before a byte the text is not at its end; at its end no byte follows. So each question is asked apart.
        let (letters, _) = self.unfold(term, Anchors { at_start, at_end: false });
        let (_, accepts) = self.unfold(term, Anchors { at_start, at_end: true });
        Expansion { letters, accepts }
    }

    /// [`expand`](Self::expand) after the first byte, memoised.
    fn expansion(&mut self, term: u32) -> Rc<Expansion> {
        if let Some(known) = self.expansions.get(&term) {
            return Rc::clone(known);
        }
        let expansion = Rc::new(self.expand(term, false));
        self.expansions.insert(term, Rc::clone(&expansion));
        expansion
    }

    /// What must follow when the letters at the head of `term` are written; nothing if there are no letters to write.
    fn after_letters(&self, term: u32) -> Option<u32> {
        let Term { head, tail } = *self.terms.get(term);
        match &*self.nodes.get(head) {
            Node::Letters(letters) => (!letters.is_empty()).then_some(tail),
            other => unreachable!("an expansion has letters in front, found {other:?}"),
        }
    }

    /// Whether some bytes fulfil `term` after the first byte. Depth-first search until one end is found.
    fn is_fulfillable(&mut self, term: u32) -> bool {
        let mut came_from = HashMap::from([(term, None)]);
        let mut waiting = vec![term];
        while let Some(at) = waiting.pop() {
            let expansion = self.expansion(at);
            if expansion.accepts || self.fulfillable.get(&at) == Some(&true) {
                let mut way = Some(at);
                while let Some(on_the_way) = way {
                    self.fulfillable.insert(on_the_way, true);
                    way = came_from[&on_the_way];
                }
                return true;
            }
            for &letters in &expansion.letters {
                if let Some(tail) = self.after_letters(letters) {
                    came_from.entry(tail).or_insert_with(|| {
                        waiting.push(tail);
                        Some(at)
                    });
                }
            }
        }
        // Everything ahead was looked at, and no end was found from any of it.
        self.fulfillable.extend(came_from.keys().map(|&term| (term, false)));
        false
    }

    fn state<'a>(&mut self, expansions: impl IntoIterator<Item = &'a Expansion>) -> StateId {
        let mut state = State { letters: BTreeSet::new(), accepts: false };
        for expansion in expansions {
            state.accepts |= expansion.accepts;
            for &term in &expansion.letters {
                let Some(tail) = self.after_letters(term) else { continue };
                let known = self.fulfillable.get(&tail).copied();
                if known.unwrap_or_else(|| self.is_fulfillable(tail)) {
                    state.letters.insert(term);
                }
            }
        }
        let (id, is_new) = self.states.intern(state);
        if is_new {
            self.next.push([UNKNOWN; 256]);
        }
        StateId(id)
    }

    /// The partial derivatives of a state by a byte.
    fn derive(&mut self, state: u32, byte: u8) -> u32 {
        let mut derivatives = BTreeSet::new();
        for &term in &self.states.get(state).letters {
            let Term { head, tail } = *self.terms.get(term);
            let Node::Letters(letters) = &*self.nodes.get(head) else {
                unreachable!("states have letters in front")
            };
            let begun = letters.iter().filter(|letter| (letter[0].0..=letter[0].1).contains(&byte));
            let (done, rest): (Vec<_>, Vec<_>) =
                begun.map(|letter| letter[1..].to_vec()).partition(Vec::is_empty);
            if !done.is_empty() {
                derivatives.insert(tail);
            }
            if !rest.is_empty() {
                let rest = self.node(Node::Letters(rest));
                derivatives.insert(self.term(rest, tail));
            }
        }
        let expansions: Vec<_> = derivatives.iter().map(|&term| self.expansion(term)).collect();
        let StateId(next) = self.state(expansions.iter().map(Rc::as_ref));
        let next = if self.is_alive(StateId(next)) { next } else { DEAD };
        self.next[state as usize][usize::from(byte)] = next;
        next
    }
}

/// The characters from `first` to `last` as UTF-8.
fn utf8_sequences(first: char, last: char) -> Vec<ByteRanges> {
    let ranges = |sequence: regex_syntax::utf8::Utf8Sequence| {
        sequence.as_slice().iter().map(|range| (range.start, range.end)).collect()
    };
    Utf8Sequences::new(first, last).map(ranges).collect()
}

#[cfg(test)]
mod tests {
    use regex_syntax::ast::AssertionKind;

    use super::*;

    fn check(constraint: &Constraint, accept: &[&str], reject: &[&str]) {
        let mut language = Language::new(constraint).unwrap();
        for text in accept {
            assert!(language.contains(text.as_bytes()), "{constraint:?} accepts {text:?}");
        }
        for text in reject {
            assert!(!language.contains(text.as_bytes()), "{constraint:?} rejects {text:?}");
        }
    }

    fn regex(pattern: &str, accept: &[&str], reject: &[&str]) {
        check(&Constraint::regex(pattern), accept, reject);
    }

    #[test]
    fn every_alternative_stays_alive() {
        regex("a|ab", &["a", "ab"], &["", "b", "abb"]);
        regex("(a|ab)(c|bcd)", &["ac", "abc", "abcd", "abbcd"], &["ab", "abcdd"]);
        regex("(a*?|b)*?c", &["c", "aac", "abac"], &["a"]);
    }

    #[test]
    fn anchors_hold_at_the_ends_of_the_text_and_nowhere_else() {
        regex("^abc$", &["abc"], &["ab", "abcd"]);
        regex("(^a|b)*", &["", "a", "ab", "abb", "bb"], &["ba", "aa"]);
        regex("(a$|b)*", &["", "a", "ba", "bb"], &["ab", "aa"]);
        regex(r"(\Aa|\z|b)+", &["", "a", "ab"], &["ba"]);
        regex("(^|a){2}b", &["b", "ab", "aab"], &["aaab"]);
        regex("a?^b", &["b"], &["ab"]);
        for dead in ["a^b", "a$b", "$a", "a^", r"a\Ab?", "[^\\s\\S]", "a[^\\s\\S]"] {
            let language = Language::new(&Constraint::regex(dead)).unwrap();
            assert!(!language.is_alive(language.start()), "{dead}");
        }
    }

    #[test]
    fn repetitions_of_what_may_be_empty() {
        regex("(a?){2}", &["", "a", "aa"], &["aaa"]);
        regex("((a|){2,3}b?){2}", &["", "aaaaaa", "aabaab", "bb"], &["aaaaaaa", "bbb"]);
        regex("(a*)*b", &["b", "aab"], &["a"]);
        regex("a{2,}", &["aa", "aaaaa"], &["a"]);
        regex("a{0}", &[""], &["a"]);
    }

    #[test]
    fn characters_are_their_utf8_bytes() {
        regex("[^a]", &["é", "中", "😀", "\n"], &["", "a", "éé"]);
        regex("(?i)k", &["k", "K", "\u{212a}"], &["x"]);
        regex(".", &["\r", "é"], &["\n"]);
        let mut language = Language::new(&Constraint::regex("é|è")).unwrap();
        let half = language.step(language.start(), 0xc3).unwrap();
        assert!(!language.accepts(half));
        assert_eq!(language.step(half, 0xa7), None);
        assert!(!language.contains(&[0xc3]));
    }

    #[test]
    fn search_and_choices() {
        check(&Constraint::search("b"), &["b", "ab", "bc", "ébé"], &["", "a"]);
        check(&Constraint::search("^b"), &["b", "bc"], &["ab"]);
        check(&Constraint::search("b$"), &["b", "ab"], &["bc"]);
        check(&Constraint::search(""), &["", "é"], &[]);
        check(&Constraint::choice(["a", "ab", ""]), &["", "a", "ab"], &["b", "abb"]);
    }

    #[test]
    fn other_look_around_is_not_guessed_at() {
        assert!(matches!(
            Language::new(&Constraint::regex(r"\ba")),
            Err(LanguageError::Unsupported(AssertionKind::WordBoundary))
        ));
        assert!(matches!(Language::new(&Constraint::regex("(")), Err(LanguageError::Malformed(_))));
    }
}
