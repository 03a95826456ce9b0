//! The matcher at its edges: ends of texts, taking back, and what a binding may and may not be.

use std::sync::Arc;

use gobo_artifact::{Fill, Index, Matcher, MatcherError, Vocabulary};
use gobo_types::{Binding, Constraint, ErrorKind, TokenId};

use crate::example;

pub(crate) const A: TokenId = 0;
pub(crate) const B: TokenId = 1;
pub(crate) const AB: TokenId = 2;
pub(crate) const EOS: TokenId = 3;
pub(crate) const TOKENS: &[(&[u8], bool)] = &[(b"a", false), (b"b", false), (b"ab", false), (b"<eos>", true)];

pub(crate) fn open(tokens: &[(&[u8], bool)], pattern: &str) -> (Arc<Index>, Arc<Vocabulary>) {
    let (vocabulary, index) = example::build(tokens, &Constraint::regex(pattern));
    let index = Index::from_bytes(&index).unwrap();
    (Arc::new(index), Arc::new(Vocabulary::from_bytes(&vocabulary).unwrap()))
}

pub(crate) fn matcher(pattern: &str, eos: &[TokenId]) -> Matcher {
    with_rollback(pattern, eos, 256)
}

pub(crate) fn with_rollback(pattern: &str, eos: &[TokenId], max_rollback: usize) -> Matcher {
    let (index, vocabulary) = open(TOKENS, pattern);
    Matcher::with_rollback(index, vocabulary, &Binding::new(eos.to_vec(), 70), max_rollback).unwrap()
}

/// The ids of the mask, or what `fill` said instead.
fn mask(matcher: &Matcher) -> Result<Vec<TokenId>, Result<Fill, MatcherError>> {
    // What was there before must not show through.
    let mut words = vec![u32::MAX; matcher.mask_words()];
    let filled = matcher.fill(&mut words);
    let ids: Vec<TokenId> = (0..)
        .zip(&words)
        .flat_map(|(at, word)| (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 32 + bit))
        .collect();
    match filled {
        Ok(Fill::Masked) => {
            for id in 0..80 {
                assert_eq!(matcher.allows(id), ids.contains(&id), "id {id}");
            }
            Ok(ids)
        }
        other => {
            assert!(ids.is_empty(), "nothing may be sampled from a mask that is none");
            Err(other)
        }
    }
}

#[test]
fn every_eos_is_allowed_exactly_where_the_text_is_complete() {
    // One inside the vocabulary, two in the padding of the logits.
    let mut matcher = matcher("(ab)*", &[69, EOS, 31]);
    assert_eq!(mask(&matcher), Ok(vec![A, AB, EOS, 31, 69]));
    matcher.advance(A).unwrap();
    assert_eq!(mask(&matcher), Ok(vec![B]));
    for eos in [EOS, 31, 69] {
        assert_eq!(matcher.advance(eos), Err(MatcherError::Refused { id: eos }));
    }
    matcher.advance(B).unwrap();
    for eos in [EOS, 31, 69] {
        let mut ended = matcher.clone();
        ended.advance(eos).unwrap();
        assert!(ended.is_ended() && ended.is_complete() && ended.state().is_none() && ended.mask().is_none());
        assert_eq!(mask(&ended), Err(Ok(Fill::Ended)));
        for id in [A, B, AB, EOS, 31, 69] {
            assert!(!ended.allows(id));
            assert_eq!(ended.advance(id), Err(MatcherError::Ended));
        }
        assert_eq!(ended.advance_bytes(b"ab"), Err(MatcherError::Ended));
        assert_eq!(ended.advance_bytes(b""), Err(MatcherError::Ended));
        assert_eq!(ended.validate(&[A]), 0);
        let mut forced = Vec::new();
        ended.forced(&mut forced);
        assert!(forced.is_empty());
    }
}

#[test]
fn an_eos_that_spells_text_is_never_text() {
    let mut matcher = matcher("a*b?", &[A]);
    // Complete: the bit is there, and taking it ends the text.
    assert_eq!(mask(&matcher), Ok(vec![A, B, AB]));
    matcher.advance(A).unwrap();
    assert!(matcher.is_ended());

    let mut matcher = self::matcher("(a|b)b", &[A]);
    assert_eq!(mask(&matcher), Ok(vec![B, AB]));
    assert_eq!(matcher.advance(A), Err(MatcherError::Refused { id: A }));
    matcher.advance(B).unwrap();
    assert_eq!(mask(&matcher), Ok(vec![B]));
    matcher.advance(B).unwrap();
    assert_eq!(mask(&matcher), Ok(vec![A]));
}

#[test]
fn a_binding_that_takes_the_only_way_on_is_an_error_and_not_an_empty_mask() {
    let matcher = matcher("aa", &[A]);
    assert_eq!(mask(&matcher), Err(Err(MatcherError::OnlyEos)));
    assert!(!matcher.allows(A));
    assert_eq!(matcher.state(), Some(matcher.index().start()));
    // Two that are all there is.
    assert_eq!(mask(&self::matcher("(a|b)b", &[A, B, AB])), Err(Err(MatcherError::OnlyEos)));
}

#[test]
fn without_an_eos_a_finished_text_has_ended() {
    let mut matcher = matcher("ab?", &[]);
    matcher.advance(A).unwrap();
    // Complete, and something may follow.
    assert!(matcher.is_complete());
    assert_eq!(mask(&matcher), Ok(vec![B]));
    matcher.advance(B).unwrap();
    assert!(matcher.is_complete() && !matcher.is_ended());
    assert_eq!(mask(&matcher), Err(Ok(Fill::Ended)));
    assert_eq!(matcher.advance(A), Err(MatcherError::Refused { id: A }));
    matcher.rollback(1).unwrap();
    assert_eq!(mask(&matcher), Ok(vec![B]));
}

#[test]
fn an_eos_is_taken_back_as_any_token() {
    let mut matcher = matcher("(ab)*", &[EOS]);
    matcher.advance(AB).unwrap();
    let before = matcher.state();
    matcher.advance(EOS).unwrap();
    matcher.rollback(1).unwrap();
    assert_eq!(matcher.state(), before);
    assert_eq!(mask(&matcher), Ok(vec![A, AB, EOS]));
    matcher.advance(EOS).unwrap();
    matcher.rollback(2).unwrap();
    assert_eq!(matcher.state(), Some(matcher.index().start()));
    assert_eq!(matcher.rollback(1), Err(MatcherError::Rollback { given: 1, available: 0 }));
}

#[test]
fn the_ring_remembers_its_length_and_no_more() {
    let mut matcher = with_rollback("(ab)*", &[EOS], 3);
    for step in 0..10 {
        matcher.advance([A, B][step % 2]).unwrap();
    }
    let here = matcher.state();
    assert_eq!(matcher.rollback(4), Err(MatcherError::Rollback { given: 4, available: 3 }));
    assert_eq!(matcher.rollback(usize::MAX), Err(MatcherError::Rollback { given: usize::MAX, available: 3 }));
    assert_eq!(matcher.state(), here);
    matcher.rollback(0).unwrap();
    assert_eq!(matcher.state(), here);
    matcher.rollback(3).unwrap();
    assert_eq!(mask(&matcher), Ok(vec![B]));
    // What was taken back is forgotten, and the ring goes on from there.
    for step in 0..7 {
        matcher.advance([B, A][step % 2]).unwrap();
    }
    for step in (4..7).rev() {
        matcher.rollback(1).unwrap();
        assert!(matcher.allows([B, A][step % 2]), "step {step}");
    }
    assert_eq!(matcher.rollback(1), Err(MatcherError::Rollback { given: 1, available: 0 }));
}

#[test]
fn a_matcher_that_remembers_nothing_still_decodes() {
    let mut matcher = with_rollback("(ab)*", &[EOS], 0);
    for _ in 0..5 {
        matcher.advance(A).unwrap();
        matcher.advance_bytes(b"b").unwrap();
    }
    matcher.rollback(0).unwrap();
    assert_eq!(matcher.rollback(1), Err(MatcherError::Rollback { given: 1, available: 0 }));
    matcher.advance(EOS).unwrap();
    assert!(matcher.is_ended());
    matcher.reset();
    assert!(matcher.allows(A));
}

#[test]
fn a_step_that_fails_changes_nothing() {
    let mut matcher = matcher("(ab)*", &[EOS]);
    matcher.advance(A).unwrap();
    for id in [A, AB, EOS, 4, 69, 70, u32::MAX] {
        assert_eq!(matcher.advance(id), Err(MatcherError::Refused { id }));
    }
    assert_eq!(matcher.advance_bytes(b"bb"), Err(MatcherError::RefusedByte { offset: 1, byte: b'b' }));
    assert_eq!(matcher.advance_bytes(b"\xff"), Err(MatcherError::RefusedByte { offset: 0, byte: 0xff }));
    assert_eq!(mask(&matcher), Ok(vec![B]));
    matcher.rollback(1).unwrap();
    assert_eq!(matcher.rollback(1), Err(MatcherError::Rollback { given: 1, available: 0 }));
}

#[test]
fn bytes_count_as_one_token_and_end_only_where_tokens_can() {
    let mut matcher = matcher("(ab)*", &[EOS]);
    matcher.advance_bytes(b"ababa").unwrap();
    matcher.advance_bytes(b"").unwrap();
    assert_eq!(mask(&matcher), Ok(vec![B]));
    matcher.rollback(2).unwrap();
    assert_eq!(matcher.state(), Some(matcher.index().start()));

    // No token writes `a` or `b` alone: inside `ab` no token can end.
    let (index, vocabulary) = open(&[(b"ab", false)], "(ab)*");
    let mut matcher = Matcher::new(index, vocabulary, &Binding::new(vec![], 1)).unwrap();
    assert_eq!(matcher.advance_bytes(b"aba"), Err(MatcherError::RefusedByte { offset: 2, byte: b'a' }));
    matcher.advance_bytes(b"abab").unwrap();
    assert_eq!(mask(&matcher), Ok(vec![0]));
}

#[test]
fn what_must_come_is_forced_up_to_the_first_choice_or_end() {
    let forced = |pattern: &str, text: &[u8]| {
        let mut matcher = matcher(pattern, &[EOS]);
        matcher.advance_bytes(text).unwrap();
        let before = matcher.state();
        // It appends.
        let mut out = b">".to_vec();
        matcher.forced(&mut out);
        assert_eq!(matcher.state(), before);
        out
    };
    assert_eq!(forced("aab(a|b)", b""), b">aab");
    assert_eq!(forced("aab(a|b)", b"aab"), b">");
    assert_eq!(forced("aabb", b"a"), b">abb");
    // Complete after `ab`: the text may end there.
    assert_eq!(forced("ab(ab)*", b""), b">ab");
    assert_eq!(forced("(ab)*", b""), b">");
    assert_eq!(forced("(ab)*", b"a"), b">b");
}

#[test]
fn validate_counts_what_advance_would_take() {
    let mut matcher = matcher("(ab)*", &[EOS]);
    for (tokens, expected) in [
        (&[][..], 0),
        (&[A, B, AB, EOS], 4),
        (&[A, B, AB, EOS, A], 4),
        (&[A, EOS], 1),
        (&[B], 0),
        (&[AB, AB, A, A, B], 3),
        (&[u32::MAX], 0),
    ] {
        assert_eq!(matcher.validate(tokens), expected, "{tokens:?}");
        let mut stepped = matcher.clone();
        assert_eq!(tokens.iter().take_while(|&&id| stepped.advance(id).is_ok()).count(), expected);
    }
    matcher.advance(A).unwrap();
    let before = matcher.state();
    assert_eq!(matcher.validate(&[B, A]), 2);
    assert_eq!(matcher.state(), before);
}

#[test]
fn reset_forgets_the_text_and_the_way_back() {
    let mut matcher = matcher("(ab)*", &[EOS]);
    let fresh = mask(&matcher);
    for id in [AB, A, B, EOS] {
        matcher.advance(id).unwrap();
    }
    matcher.reset();
    assert!(!matcher.is_ended());
    assert_eq!(mask(&matcher), fresh);
    assert_eq!(matcher.rollback(1), Err(MatcherError::Rollback { given: 1, available: 0 }));
}

#[test]
fn forks_go_their_own_ways() {
    let mut one = matcher("a*b*", &[EOS]);
    one.advance(A).unwrap();
    let mut two = one.clone();
    one.advance(B).unwrap();
    assert_eq!(mask(&one), Ok(vec![B, EOS]));
    assert_eq!(mask(&two), Ok(vec![A, B, AB, EOS]));
    two.advance(EOS).unwrap();
    assert!(two.is_ended() && !one.is_ended());
    // Each has the common past and its own.
    one.rollback(2).unwrap();
    two.rollback(2).unwrap();
    assert_eq!(one.state(), two.state());
    assert!(Arc::ptr_eq(one.index(), two.index()), "what is shared is not copied");
}

#[test]
fn bindings_and_vocabularies_that_do_not_fit_are_refused() {
    let (index, vocabulary) = open(TOKENS, "(ab)*");
    let new = |vocabulary: &Arc<Vocabulary>, binding: Binding| {
        Matcher::new(Arc::clone(&index), Arc::clone(vocabulary), &binding)
            .map(|_| ())
            .inspect_err(|error| assert_eq!(error.kind(), ErrorKind::Invalid))
    };
    let (_, other) = open(&[(b"a", false), (b"b", false), (b"ba", false), (b"<eos>", true)], "(ab)*");
    assert_eq!(
        new(&other, Binding::new(vec![], 4)),
        Err(MatcherError::OtherVocabulary { expected: vocabulary.digest(), found: other.digest() })
    );
    assert_eq!(new(&vocabulary, Binding::new(vec![], 4)), Ok(()));
    assert_eq!(
        new(&vocabulary, Binding::new(vec![], 3)),
        Err(MatcherError::NarrowLogits { given: 3, vocabulary_len: 4 })
    );
    assert_eq!(
        new(&vocabulary, Binding::new(vec![EOS, 9, 8], 8)),
        Err(MatcherError::EosBeyondLogits { id: 8, width: 8 })
    );
    assert_eq!(
        new(&vocabulary, Binding::new(vec![u32::MAX], u32::MAX)),
        Err(MatcherError::EosBeyondLogits { id: u32::MAX, width: u32::MAX })
    );
}

#[test]
fn a_mask_buffer_of_another_length_is_refused_untouched() {
    let matcher = matcher("(ab)*", &[EOS]);
    assert_eq!(matcher.mask_words(), 3);
    for given in [0, 1, 2, 4] {
        let mut words = vec![7; given];
        assert_eq!(matcher.fill(&mut words), Err(MatcherError::BufferLength { given, expected: 3 }));
        assert!(words.iter().all(|&word| word == 7));
    }
}

#[test]
fn a_borrowed_mask_is_the_row_without_eos_and_padding() {
    let matcher = matcher("(ab)*", &[EOS, 69]);
    assert_eq!(matcher.mask(), Some([1 << A | 1 << AB].as_slice()));
}

#[test]
fn threads_share_one_index() {
    let letters: Vec<[u8; 1]> = (b'a'..=b'z').map(|byte| [byte]).collect();
    let tokens: Vec<(&[u8], bool)> =
        letters.iter().map(|token| (token.as_slice(), false)).chain([(b"ab".as_slice(), false)]).collect();
    let (index, vocabulary) = open(&tokens, "([a-m]{1,3}[n-z]+)*");
    let binding = Binding::new(vec![40], 41);
    // A walk that depends on its seed and on every mask on the way.
    let walk = |seed: u32| {
        let mut matcher = Matcher::new(Arc::clone(&index), Arc::clone(&vocabulary), &binding).unwrap();
        let mut random = seed;
        let mut taken = Vec::new();
        for _ in 0..3000 {
            let allowed: Vec<TokenId> = mask(&matcher).unwrap().into_iter().filter(|&id| id != 40).collect();
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let id = allowed[(random >> 8) as usize % allowed.len()];
            matcher.advance(id).unwrap();
            taken.push(id);
        }
        taken
    };
    let expected: Vec<Vec<TokenId>> = (0..4).map(walk).collect();
    let together: Vec<Vec<TokenId>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || walk(seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(together, expected);
    assert_ne!(expected[0], expected[1]);
}
