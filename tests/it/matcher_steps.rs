//! Matchers used as a sampler uses them (forward, back, sideways, wrongly) against a plain list of oracle states.

use gobo_artifact::{DEFAULT_MAX_ROLLBACK, Matcher, MatcherError};
use gobo_oracle::{NaiveIndex, StateId};
use gobo_types::{Binding, TokenId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestCaseError;

use crate::cases::{case, config};
use crate::drafts;
use crate::oracle_agrees::both;
use crate::subject::{Answer, allowed, answer, expected};

#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// One of the allowed tokens, or an EOS.
    Advance(Index),
    /// Any number, allowed or not.
    Try(TokenId),
    /// As many tokens back.
    Rollback(usize),
    /// Goes on with a copy, and looks back at the original after some steps of the copy.
    Fork(Vec<TokenId>),
    /// Asks how far these would go, and for the masks along and over drafts made of them.
    Validate(Vec<TokenId>),
    /// All the way back.
    Reset,
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => any::<Index>().prop_map(Step::Advance),
        2 => (0..400_u32).prop_map(Step::Try),
        3 => (0..6_usize).prop_map(Step::Rollback),
        1 => vec(0..300_u32, 0..4).prop_map(Step::Fork),
        1 => vec(0..300_u32, 0..8).prop_map(Step::Validate),
        1 => Just(Step::Reset),
    ]
}

/// Where the text stands: a state of the naive index, or behind an EOS.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    At(StateId),
    Ended,
}

struct Model<'a> {
    naive: &'a NaiveIndex,
    binding: &'a Binding,
    /// The start, then the place after each token.
    places: Vec<Place>,
}

impl Model<'_> {
    fn here(&self) -> Place {
        *self.places.last().expect("the start is never taken back")
    }

    fn after(&self, place: Place, id: TokenId) -> Option<Place> {
        let Place::At(state) = place else { return None };
        let row = self.naive.row(state).expect("only states that survived are reached");
        if self.binding.is_eos(id) {
            return row.complete.then_some(Place::Ended);
        }
        row.allowed.get(&id).map(|&next| Place::At(next))
    }

    fn check(&self, matcher: &Matcher) -> Result<(), TestCaseError> {
        match self.here() {
            Place::Ended => {
                prop_assert!(matcher.is_ended() && matcher.is_complete());
                prop_assert_eq!(answer(matcher, self.binding), Answer::Ended);
            }
            Place::At(state) => {
                let row = self.naive.row(state).expect("only states that survived are reached");
                prop_assert!(!matcher.is_ended());
                prop_assert_eq!(matcher.is_complete(), row.complete);
                prop_assert_eq!(answer(matcher, self.binding), expected(row, self.binding));
            }
        }
        Ok(())
    }

    fn try_token(&mut self, matcher: &mut Matcher, id: TokenId) -> Result<(), TestCaseError> {
        let next = self.after(self.here(), id);
        let taken = matcher.advance(id);
        match (next, taken) {
            (Some(next), Ok(())) => self.places.push(next),
            (None, Err(MatcherError::Refused { id: refused })) => prop_assert_eq!(refused, id),
            (None, Err(MatcherError::Ended)) => prop_assert_eq!(self.here(), Place::Ended),
            (next, taken) => prop_assert!(false, "token {}: {:?} in place of {:?}", id, taken, next),
        }
        Ok(())
    }

    fn validate(&self, matcher: &Matcher, ids: &[TokenId]) -> Result<(), TestCaseError> {
        let mut place = Some(self.here());
        let expected = ids
            .iter()
            .take_while(|&&id| {
                place = place.and_then(|place| self.after(place, id));
                place.is_some()
            })
            .count();
        prop_assert_eq!(matcher.validate(ids), expected);
        let mut stepped = matcher.clone();
        prop_assert_eq!(ids.iter().take_while(|&&id| stepped.advance(id).is_ok()).count(), expected);
        drafts::check(matcher, ids)
    }
}

proptest! {
    #![proptest_config(config(160))]

    #[test]
    fn a_matcher_is_a_list_of_states(case in case(), steps in vec(step(), 1..40)) {
        let (_, naive, matcher) = both(&case)?;
        let Some(mut matcher) = matcher else { return Ok(()) };
        let start = Place::At(naive.start());
        let mut model = Model { naive: &naive, binding: &case.binding, places: vec![start] };
        for step in steps {
            match step {
                Step::Advance(index) => {
                    let ids = allowed(&matcher, &case.binding);
                    if !ids.is_empty() {
                        model.try_token(&mut matcher, *index.get(&ids))?;
                    }
                }
                Step::Try(id) => model.try_token(&mut matcher, id)?,
                Step::Rollback(n) => {
                    let available = model.places.len() - 1;
                    let result = matcher.rollback(n);
                    if n <= available {
                        prop_assert_eq!(result, Ok(()));
                        model.places.truncate(model.places.len() - n);
                    } else {
                        prop_assert_eq!(result, Err(MatcherError::Rollback { given: n, available }));
                    }
                }
                Step::Fork(ids) => {
                    let mut fork = matcher.clone();
                    for id in ids {
                        // Only what it does to the original counts here.
                        let _ = fork.advance(id);
                    }
                    model.check(&matcher)?;
                }
                Step::Validate(ids) => model.validate(&matcher, &ids)?,
                Step::Reset => {
                    matcher.reset();
                    model.places.truncate(1);
                }
            }
            model.check(&matcher)?;
        }
    }
}

/// The ring of states: steps beyond what it remembers, then all the way back to where memory begins.
#[test]
fn rollback_reaches_as_far_as_is_remembered() {
    use crate::subject::matcher;
    let tokens = gobo_oracle::Tokens::of(&[b"a", b"b"]);
    let steps = 3 * DEFAULT_MAX_ROLLBACK + 7;
    let text = |at: usize| TokenId::from(at.is_multiple_of(3));
    // Whether an `a` or a `b` must come depends on the place modulo 3.
    let mut matcher = matcher(&gobo_types::Constraint::regex("(baa)*"), &tokens);
    for at in 0..steps {
        matcher.advance(text(at)).unwrap();
    }
    let available = DEFAULT_MAX_ROLLBACK;
    assert_eq!(
        matcher.rollback(available + 1),
        Err(MatcherError::Rollback { given: available + 1, available })
    );
    for back in 1..=available {
        matcher.rollback(1).unwrap();
        let at = steps - back;
        assert!(matcher.allows(text(at)) && !matcher.allows(1 - text(at)), "at {at}");
    }
    assert_eq!(matcher.rollback(1), Err(MatcherError::Rollback { given: 1, available: 0 }));
}
