//! Texts that begin inside of a token: masks by definition, token by token, and what else a matcher does there.

use gobo_artifact::{Fill, Matcher, MatcherError};
use gobo_oracle::Tokens;
use gobo_types::{Binding, Constraint, JsonNesting, TokenId, Whitespace};
use proptest::prelude::*;

use crate::cases::config;
use crate::lexers::tokens;
use crate::subject::{matcher, matcher_with};

const WORDS: [&str; 16] = [
    " {",
    "{\"",
    "{\"a\"",
    " a",
    "ab",
    "aba",
    "abab",
    "ba",
    "b ",
    "é",
    "\u{20ac}a",
    "\":",
    "[[",
    "[]",
    " []",
    "aa",
];

fn constraints() -> Vec<Constraint> {
    let lists = "root ::= \"[\" (root (\",\" root)*)? \"]\" | \"é\" | \"a\"";
    vec![
        Constraint::regex("(ab)*"),
        Constraint::regex("a+|b(é|€)?a*"),
        Constraint::regex(".{0,3}"),
        Constraint::regex("(?P<QUOTED_TEXT>)"),
        Constraint::choice(["a", "ab", "{\"a\":1}"]),
        Constraint::json(Whitespace::Single),
        Constraint::json(Whitespace::Compact).nested(JsonNesting::new(1, 1)),
        Constraint::gbnf(lists, "root"),
        Constraint::gbnf("root ::= \"a\" root \"a\" | \"b\" | \"a\"", "root"),
    ]
}

const PREFIXES: [&str; 9] = ["a", " ", " a", "{\"", "aba", "é", "\u{20ac}", "x y", "[["];

/// Whether a token may come after bytes, by definition: together they are a beginning of the prefix, or the prefix and a beginning of a text.
fn may_follow(plain: &Matcher, prefix: &[u8], taken: &[u8], token: &[u8]) -> bool {
    let text = [taken, token].concat();
    if token.is_empty() {
        return false;
    }
    match text.strip_prefix(prefix) {
        Some(text) => plain.clone().advance_bytes(text).is_ok(),
        None => prefix.starts_with(&text),
    }
}

fn bits(matcher: &Matcher) -> Result<Vec<TokenId>, MatcherError> {
    let mut mask = vec![u32::MAX; matcher.mask_words()];
    if matcher.fill(&mut mask)? == Fill::Ended {
        return Ok(Vec::new());
    }
    let words = (0..).zip(&mask);
    Ok(words
        .flat_map(|(at, word)| (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 32 + bit))
        .collect())
}

/// Goes through texts token by token, and compares masks with the definition.
fn judge(
    constraint: &Constraint,
    prefix: &str,
    tokens: &Tokens,
    choices: &[u16],
) -> Result<(), TestCaseError> {
    let eos = tokens.len();
    let binding = Binding::new(vec![eos], eos + 1);
    let plain = matcher_with(constraint, tokens, &binding);
    let start = plain.clone().with_prefix(prefix.as_bytes()).unwrap();
    let all: Vec<(TokenId, &[u8])> =
        tokens.entries().map(|(id, bytes, special)| (id, if special { &[][..] } else { bytes })).collect();
    let (mut now, mut taken) = (start.clone(), Vec::new());
    let mut path = Vec::new();
    for choice in choices {
        let is_inside = taken.len() < prefix.len();
        let mut expected: Vec<TokenId> = (all.iter())
            .filter(|(_, bytes)| may_follow(&plain, prefix.as_bytes(), &taken, bytes))
            .map(|of| of.0)
            .collect();
        let is_complete = !is_inside && {
            let mut after = plain.clone();
            after.advance_bytes(&taken[prefix.len()..]).unwrap();
            after.is_complete()
        };
        expected.extend(is_complete.then_some(eos));
        let found = bits(&now).unwrap();
        prop_assert_eq!(&found, &expected, "{:?} after {:?} of {:?}", constraint, taken, prefix);
        prop_assert_eq!(now.is_complete(), is_complete);
        for &(id, bytes) in &all {
            prop_assert_eq!(now.allows(id), found.binary_search(&id).is_ok(), "{} {:?}", id, bytes);
        }
        let mut forced = Vec::new();
        now.forced(&mut forced);
        prop_assert!(!is_inside || forced.starts_with(&prefix.as_bytes()[taken.len()..]));
        let texts: Vec<TokenId> = found.into_iter().filter(|&id| id != eos).collect();
        let Some(&id) = texts.get(usize::from(*choice) % texts.len().max(1)) else { break };
        // Drafts, a fork, and the way back lead to where the step does.
        prop_assert_eq!(now.validate(&[id]), 1);
        let before = now.clone();
        now.advance(id).unwrap();
        let mut again = now.clone();
        again.rollback(1).unwrap();
        prop_assert_eq!(bits(&again).unwrap(), bits(&before).unwrap());
        again.advance_bytes(all[id as usize].1).unwrap();
        prop_assert_eq!(again.state(), now.state());
        prop_assert_eq!(bits(&again).unwrap(), bits(&now).unwrap());
        taken.extend_from_slice(all[id as usize].1);
        path.push(id);
    }
    // Along a chain the masks are the same, and back at the beginning everything is as it was.
    let words = start.mask_words();
    let mut matrix = vec![0; (path.len() + 1) * words];
    let chain = start.fill_chain(&path, &mut matrix, words).unwrap();
    prop_assert_eq!(chain.taken, path.len());
    now.rollback(path.len()).unwrap();
    prop_assert_eq!(bits(&now).unwrap(), bits(&start).unwrap());
    now.reset();
    prop_assert_eq!(bits(&now).unwrap(), bits(&start).unwrap());
    Ok(())
}

proptest! {
    #![proptest_config(config(30))]

    #[test]
    fn masks_are_those_of_the_definition(choices in prop::collection::vec(any::<u16>(), 1..7), at in any::<prop::sample::Index>()) {
        let tokens = tokens(&WORDS);
        let prefix = at.get(&PREFIXES);
        for constraint in constraints() {
            judge(&constraint, prefix, &tokens, &choices)?;
        }
    }
}

/// Before every prefix the first mask is right, for each constraint.
#[test]
fn every_prefix_begins_every_constraint() {
    let tokens = tokens(&WORDS);
    for constraint in constraints() {
        for prefix in PREFIXES {
            judge(&constraint, prefix, &tokens, &[0, 9, 300]).unwrap();
        }
    }
}

#[test]
fn no_prefix_changes_nothing_and_what_cannot_be_told_is_refused() {
    let constraint = Constraint::regex("(ab)*");
    let plain = matcher(&constraint, &tokens(&WORDS));
    let same = plain.clone().with_prefix(b"").unwrap();
    assert_eq!((bits(&plain), same.state()), (bits(&same), plain.state()));
    let long = plain.clone().with_prefix(&vec![b'a'; 65_537]).unwrap_err();
    assert_eq!(long, MatcherError::PrefixLength { given: 65_537, limit: 65_536 });
    assert!(plain.clone().with_prefix(&vec![b'a'; 65_536]).is_ok());
    let mut few = Tokens::new();
    for word in ["a", "ab", "b"] {
        few.push(word.as_bytes(), false);
    }
    let few = matcher(&constraint, &few);
    assert_eq!(few.clone().with_prefix(b"ax").unwrap_err(), MatcherError::PrefixByte { byte: b'x' });
    assert!(few.with_prefix(b"ba").is_ok());
    let mut pairs = Tokens::new();
    for word in ["ab", "b", "xa", "x"] {
        pairs.push(word.as_bytes(), false);
    }
    // Behind `xa` a `b` could follow, and the index has no state for it.
    assert_eq!(
        matcher(&constraint, &pairs).with_prefix(b"x").unwrap_err(),
        MatcherError::PrefixByte { byte: b'a' }
    );
    let mut steps = plain.with_prefix(b"aba").unwrap();
    assert_eq!(steps.advance_bytes(b"abx").unwrap_err(), MatcherError::RefusedByte { offset: 2, byte: b'x' });
    steps.advance_bytes(b"ab").unwrap();
    assert_eq!(steps.advance_bytes(b"aax").unwrap_err(), MatcherError::RefusedByte { offset: 2, byte: b'x' });
    steps.advance_bytes(b"aab").unwrap();
    assert!(steps.is_complete());
}
