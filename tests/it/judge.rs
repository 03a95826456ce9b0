//! Earley's recogniser as the judge of every token at a prefix.

use std::collections::{HashSet, VecDeque};

use gobo_artifact::{Matcher, MatcherError};
use gobo_oracle::{Earley, SetId, SortedTokens, Tokens};
use gobo_types::{Binding, CompileError, Constraint, RefusalKind, TokenId};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::subject::{Answer, answer, compile, expected_of, index_of, vocabulary_of};

/// Where a text stands: at a set of the oracle, or behind an EOS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    At(SetId),
    Ended,
}

/// What became of a compile, where the oracle has nothing against it.
pub(crate) enum Verdict {
    Index(Box<Matcher>),
    /// Refused, and no text satisfies the constraint.
    Empty,
    OverBudget,
}

/// What became of a step, where the oracle has nothing against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    To(Place),
    Refused,
}

/// The oracle's answers for one constraint, vocabulary and binding.
pub(crate) struct Judge {
    pub(crate) constraint: Constraint,
    pub(crate) earley: Earley,
    pub(crate) tokens: Tokens,
    pub(crate) sorted: SortedTokens,
    pub(crate) binding: Binding,
}

impl Judge {
    /// Over `words` and each byte of which some text has one, so that tokens can write what bytes can.
    pub(crate) fn new(constraint: &Constraint, words: &Words) -> Self {
        let earley = Earley::of(constraint).unwrap_or_else(|error| panic!("{constraint:?}: {error}"));
        let tokens = words.with_each_of(&earley.live_bytes().into_iter().collect::<Vec<_>>());
        let sorted = SortedTokens::new(&tokens);
        assert!(sorted.have_each_of(&earley.live_bytes()), "else tokens may be dead where bytes are alive");
        let special = tokens.entries().filter(|(_, _, special)| *special).map(|(id, ..)| id);
        let padding = tokens.len()..tokens.len() + words.padding;
        let eos = special.chain(padding).take(words.eos).collect();
        let binding = Binding::new(eos, tokens.len() + words.padding);
        Self { constraint: constraint.clone(), earley, tokens, sorted, binding }
    }

    pub(crate) fn compile(&self) -> Result<Verdict, TestCaseError> {
        let vocabulary = vocabulary_of(&self.tokens);
        match (compile(&vocabulary, &self.constraint, 1), self.earley.is_satisfiable()) {
            (Ok(bytes), true) => {
                let matcher = Matcher::new(index_of(&bytes), vocabulary, &self.binding).unwrap();
                Ok(Verdict::Index(Box::new(matcher)))
            }
            (Err(CompileError::OverBudget(_)), _) => Ok(Verdict::OverBudget),
            (Err(CompileError::Refused(refusal)), false) if refusal.kind == RefusalKind::Unsatisfiable => {
                Ok(Verdict::Empty)
            }
            (found, satisfiable) => {
                let found = found.map(|bytes| bytes.len());
                Err(TestCaseError::fail(format!("satisfiable: {satisfiable}, and found {found:?}")))
            }
        }
    }

    pub(crate) fn start(&self) -> Place {
        Place::At(self.earley.start())
    }

    pub(crate) fn after(&mut self, place: Place, id: TokenId) -> Option<Place> {
        let Place::At(set) = place else { return None };
        if self.binding.is_eos(id) {
            return self.earley.accepts(set).then_some(Place::Ended);
        }
        let (_, bytes, special) = self.tokens.entries().nth(id as usize)?;
        if special || bytes.is_empty() {
            return None;
        }
        self.earley.walk(set, bytes).map(Place::At)
    }

    pub(crate) fn expected(&mut self, place: Place) -> Answer {
        let Place::At(set) = place else { return Answer::Ended };
        let ids = self.sorted.allowed(&mut self.earley, set);
        let eos = if self.earley.accepts(set) { self.binding.eos.as_slice() } else { &[] };
        expected_of(ids.iter().chain(eos).copied(), &self.binding)
    }

    /// The mask at `place`, all of it, and whether the text is complete there.
    pub(crate) fn check(&mut self, place: Place, matcher: &Matcher) -> Result<(), TestCaseError> {
        let complete = match place {
            Place::At(set) => self.earley.accepts(set),
            Place::Ended => true,
        };
        let found = answer(matcher, &self.binding);
        prop_assert_eq!(&found, &self.expected(place));
        prop_assert!(found != Answer::Ended || complete, "no way on, and not complete");
        prop_assert_eq!(matcher.is_complete(), complete);
        prop_assert_eq!(matcher.is_ended(), place == Place::Ended);
        Ok(())
    }

    /// Takes `id` from `place`. What is refused leaves the matcher where it is.
    pub(crate) fn take(
        &mut self,
        place: Place,
        matcher: &mut Matcher,
        id: TokenId,
    ) -> Result<Taken, TestCaseError> {
        let valid = matcher.validate(&[id]);
        let allows = matcher.allows(id);
        let before = answer(matcher, &self.binding);
        let next = self.after(place, id);
        let taken = match (matcher.advance(id), next) {
            (Ok(()), Some(next)) => Taken::To(next),
            (Err(MatcherError::Refused { id: refused }), None) if refused == id => Taken::Refused,
            (Err(MatcherError::Ended), None) if place == Place::Ended => Taken::Refused,
            (found, next) => {
                return Err(TestCaseError::fail(format!("token {id}: {found:?} in place of {next:?}")));
            }
        };
        prop_assert_eq!(valid == 1, matches!(taken, Taken::To(_)), "validate of token {}", id);
        prop_assert_eq!(allows, next.is_some(), "whether token {} is allowed", id);
        if !matches!(taken, Taken::To(_)) {
            prop_assert_eq!(answer(matcher, &self.binding), before, "after token {} was refused", id);
        }
        Ok(taken)
    }

    /// Whether `text` cut into `ids` is taken to its end exactly if it is a text.
    pub(crate) fn judge_text(
        &mut self,
        start: &Matcher,
        text: &[u8],
        ids: &[TokenId],
    ) -> Result<bool, TestCaseError> {
        let (mut matcher, mut place) = (start.clone(), self.start());
        for &id in ids {
            match self.take(place, &mut matcher, id)? {
                Taken::To(next) => place = next,
                Taken::Refused => {
                    prop_assert!(!self.earley.contains(text), "{:?} was refused", text.escape_ascii());
                    return Ok(false);
                }
            }
        }
        prop_assert_eq!(matcher.is_complete(), self.earley.contains(text), "{:?}", text.escape_ascii());
        Ok(matcher.is_complete())
    }

    /// Every token at every prefix, those of few tokens first, until `most` sets have been looked at.
    pub(crate) fn explore(&mut self, start: Matcher, most: usize) -> Result<Explored, TestCaseError> {
        let mut explored = Explored::default();
        let (mut seen, mut waiting) =
            (HashSet::new(), VecDeque::from([(self.earley.start(), start, vec![])]));
        while let Some((set, matcher, path)) = waiting.pop_front() {
            let here = |error| TestCaseError::fail(format!("after tokens {path:?}: {error}"));
            self.check(Place::At(set), &matcher).map_err(here)?;
            explored.prefixes += 1;
            // Another way to a set seen before: its mask is compared, its steps need not be again.
            if seen.len() == most || !seen.insert(set) {
                continue;
            }
            // Beyond the width, too: any number may come from a sampler.
            for id in 0..self.binding.logits_width + 2 {
                let mut next = matcher.clone();
                match self.take(Place::At(set), &mut next, id).map_err(here)? {
                    Taken::To(Place::At(target)) => {
                        let path = [path.as_slice(), &[id]].concat();
                        waiting.push_back((target, next, path));
                    }
                    Taken::To(place @ Place::Ended) => self.check(place, &next).map_err(here)?,
                    Taken::Refused => {}
                }
            }
        }
        Ok(explored)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Explored {
    pub(crate) prefixes: usize,
}

/// A vocabulary but for the bytes that its grammar needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    /// Bytes, and whether special.
    pub(crate) list: Vec<(Vec<u8>, bool)>,
    /// Whether the single bytes come before the words.
    pub(crate) bytes_first: bool,
    /// Ids of the logits without a token.
    pub(crate) padding: u32,
    /// How many of the special tokens and of the padding are EOS.
    pub(crate) eos: usize,
}

impl Words {
    pub(crate) fn of(words: &[&[u8]]) -> Self {
        let words = words.iter().map(|word| (word.to_vec(), false)).chain([(b"<end>".to_vec(), true)]);
        Self { list: words.collect(), eos: 1, ..Self::default() }
    }

    pub(crate) fn with_each_of(&self, bytes: &[u8]) -> Tokens {
        let mut tokens = Tokens::new();
        let push_bytes = |tokens: &mut Tokens| {
            for &byte in bytes {
                tokens.push(&[byte], false);
            }
        };
        if self.bytes_first {
            push_bytes(&mut tokens);
        }
        for (word, special) in &self.list {
            tokens.push(word, *special);
        }
        if !self.bytes_first {
            push_bytes(&mut tokens);
        }
        tokens
    }
}
