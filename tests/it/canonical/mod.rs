//! Canonical tokenization, judged by the tokenizers themselves: a sequence of tokens is let through exactly if its text is one of the constraint's
//! and the tokenizer writes it so.

mod counted;
mod free;
mod nested;
mod prompts;
mod real;
mod small;
mod words;

use std::collections::BTreeSet;
use std::sync::Arc;

use gobo_artifact::{Fill, Index, Matcher, Vocabulary};
use gobo_types::{Binding, CompileError, CompileLimits, Constraint, TokenId, Tokenization};

use crate::subject::compile_within;

/// A small generator of numbers (Steele, Lea & Flood 2014, *`SplitMix`*).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ z >> 31) % end as u64).unwrap()
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

fn matcher(vocabulary: &Arc<Vocabulary>, constraint: Constraint) -> Result<Matcher, CompileError> {
    matcher_of(vocabulary, constraint, Tokenization::Canonical)
}

fn matcher_of(
    vocabulary: &Arc<Vocabulary>,
    constraint: Constraint,
    tokenization: Tokenization,
) -> Result<Matcher, CompileError> {
    let constraint = constraint.cut(tokenization);
    let bytes = compile_within(vocabulary, &constraint, 1, CompileLimits::default())?;
    let index = Index::from_bytes(&bytes).unwrap();
    index.verify().unwrap();
    let binding = Binding::new(vec![], vocabulary.len());
    Ok(Matcher::new(Arc::new(index), Arc::clone(vocabulary), &binding).unwrap())
}

/// The tokens that may come next. What `fill` says is what `allows` says of each.
fn mask(matcher: &Matcher) -> BTreeSet<TokenId> {
    let mut words = vec![0; matcher.mask_words()];
    let filled = matcher.fill(&mut words).unwrap();
    let ids: BTreeSet<TokenId> = (0..matcher.vocabulary().len())
        .filter(|id| words[(id >> 5) as usize] >> (id & 31) & 1 == 1)
        .collect();
    assert_eq!(filled == Fill::Ended, ids.is_empty());
    assert!(!ids.is_empty() || matcher.is_complete());
    ids
}

fn text_of(vocabulary: &Vocabulary, tokens: &[TokenId]) -> Vec<u8> {
    tokens.iter().flat_map(|&id| vocabulary.bytes(id)).copied().collect()
}

/// Takes an encoding token by token, each of which has to be allowed.
fn take(matcher: &mut Matcher, tokens: &[TokenId], what: &str) {
    for (at, &id) in tokens.iter().enumerate() {
        assert!(matcher.allows(id), "{what}: {tokens:?} is refused at {at}");
        matcher.advance(id).unwrap();
    }
    assert!(matcher.is_complete(), "{what}: {tokens:?} is not complete");
}

/// A random way under the masks, up to a complete text or `most` tokens. Steps back and tried tokens change nothing.
fn walk(matcher: &mut Matcher, random: &mut Random, most: usize) -> Option<Vec<TokenId>> {
    matcher.reset();
    let mut tokens = Vec::new();
    while tokens.len() < most {
        let ids: Vec<TokenId> = mask(matcher).into_iter().collect();
        if matcher.is_complete() && (ids.is_empty() || random.below(4) == 0) {
            return Some(tokens);
        }
        // What closes strings and brackets is rare among thousands of tokens.
        let closes = |id: &&TokenId| {
            matcher.vocabulary().bytes(**id).first().is_some_and(|byte| b"\"]}".contains(byte))
        };
        let closing: Vec<TokenId> = ids.iter().filter(closes).copied().collect();
        let few = if !closing.is_empty() && random.below(3) == 0 { &closing } else { &ids };
        let id = *random.of(few);
        assert!(ids.iter().take(64).all(|&id| matcher.allows(id)));
        let mut fork = matcher.clone();
        matcher.advance(*random.of(&ids)).unwrap();
        matcher.rollback(1).unwrap();
        assert_eq!(matcher.validate(&[id]), 1);
        matcher.advance(id).unwrap();
        fork.advance(id).unwrap();
        assert_eq!(mask(matcher), mask(&fork));
        tokens.push(id);
    }
    matcher.is_complete().then_some(tokens)
}
