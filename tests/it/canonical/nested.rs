//! Rules that call themselves, with random merges across the ends of rules: masks against the encodings of all texts up to a length.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gobo_artifact::{Matcher, MatcherError, Vocabulary};
use gobo_types::{CompileError, CompileLimits, Constraint, TokenId, Tokenization};
use tokenizers::Tokenizer;

use super::small::{both, encode, text, tokenizer};
use super::words::with_words;
use super::{Random, mask, matcher, matcher_of, text_of};
use crate::subject::compile_within;

/// Part of a text of a rule.
#[derive(Debug, Clone, Copy)]
enum Item {
    Char(char),
    Rule { number: usize, is_optional: bool },
}

/// Rules, each with the texts it has: sequences of items.
type Rules = Vec<Vec<Vec<Item>>>;

/// Most characters of the texts that are listed.
const LISTED: usize = 10;

/// Texts that are tried behind a token with which no listed one goes on.
const WAYS: usize = 50_000;

/// Rules whose alternatives begin with different characters.
fn rules(random: &mut Random) -> Rules {
    let chars = ['a', '"', '.', '1', ' ', '\'', 'é', '\n'];
    let count = 1 + random.below(3);
    let item = |random: &mut Random| match random.below(5) {
        0 | 1 => Item::Rule { number: random.below(count), is_optional: random.below(3) == 0 },
        _ => Item::Char(*random.of(&chars)),
    };
    let alternative = |random: &mut Random, first: char| {
        let mut items = vec![Item::Char(first)];
        items.extend((0..random.below(4)).map(|_| item(random)));
        items
    };
    let rule = |random: &mut Random| {
        let first = random.below(chars.len());
        (0..=1 + random.below(2))
            .map(|at| alternative(random, chars[(first + 3 * at) % chars.len()]))
            .collect()
    };
    (0..count).map(|_| rule(random)).collect()
}

fn gbnf(rules: &Rules) -> String {
    let item = |item: &Item| match item {
        Item::Char('\n') => "\"\\n\"".to_owned(),
        Item::Char('"') => "\"\\\"\"".to_owned(),
        Item::Char(char) => format!("\"{char}\""),
        Item::Rule { number, is_optional } => format!("r{number}{}", if *is_optional { "?" } else { "" }),
    };
    let sequence = |items: &Vec<Item>| items.iter().map(item).collect::<Vec<_>>().join(" ");
    let rule = |(number, of): (usize, &Vec<Vec<Item>>)| {
        format!("r{number} ::= {}\n", of.iter().map(sequence).collect::<Vec<_>>().join(" | "))
    };
    "root ::= r0\n".to_owned() + &rules.iter().enumerate().map(rule).collect::<String>()
}

/// All texts of the first rule with at most [`LISTED`] characters, if they are not too many.
fn texts(rules: &Rules) -> Option<BTreeSet<String>> {
    // By rule and characters.
    let mut all: Vec<BTreeMap<usize, BTreeSet<String>>> = vec![BTreeMap::new(); rules.len()];
    for length in 1..=LISTED {
        // Items before a rule are shorter, so a text of this length needs shorter ones alone; an alternative that is a rule alone is none.
        for (number, rule) in rules.iter().enumerate() {
            let mut found = BTreeSet::new();
            for items in rule {
                sequences(items, length, &all, &mut String::new(), &mut found);
            }
            if found.len() > 4_000 {
                return None;
            }
            all[number].insert(length, found);
        }
    }
    Some(all.swap_remove(0).into_values().flatten().collect())
}

fn sequences(
    items: &[Item],
    left: usize,
    all: &[BTreeMap<usize, BTreeSet<String>>],
    so_far: &mut String,
    found: &mut BTreeSet<String>,
) {
    let length = so_far.len();
    match items.split_first() {
        None if left == 0 => drop(found.insert(so_far.clone())),
        Some((Item::Char(char), rest)) if left > 0 => {
            so_far.push(*char);
            sequences(rest, left - 1, all, so_far, found);
        }
        Some((Item::Char(_), _)) | None => {}
        Some((Item::Rule { number, is_optional }, rest)) => {
            if *is_optional {
                sequences(rest, left, all, so_far, found);
            }
            for (&taken, texts) in all[*number].range(..=left) {
                for text in texts {
                    so_far.push_str(text);
                    sequences(rest, left - taken, all, so_far, found);
                    so_far.truncate(length);
                }
            }
        }
    }
    so_far.truncate(length);
}

/// What is left to write: items, the next one last.
type Left = Vec<Item>;

/// What may be left to write behind a character.
fn after(rules: &Rules, lefts: Vec<Left>, char: char) -> Vec<Left> {
    let mut found = Vec::new();
    let mut open = lefts;
    while let Some(mut left) = open.pop() {
        match left.pop() {
            Some(Item::Char(next)) if next == char => found.push(left),
            Some(Item::Char(_)) | None => {}
            Some(Item::Rule { number, is_optional }) => {
                if is_optional {
                    open.push(left.clone());
                }
                // Alternatives begin with characters.
                for items in &rules[number] {
                    let mut left = left.clone();
                    left.extend(items.iter().rev());
                    open.push(left);
                }
            }
        }
    }
    found
}

/// Writes what is left, mostly as short as it can be.
fn finish(rules: &Rules, lengths: &[usize], mut left: Left, random: &mut Random, text: &mut String) {
    let mut more = 6;
    while let Some(item) = left.pop() {
        match item {
            Item::Char(char) => text.push(char),
            Item::Rule { number, is_optional } => {
                let is_short = more == 0 || random.below(3) > 0;
                more -= usize::from(!is_short);
                if is_short && is_optional {
                    continue;
                }
                let of = rules[number].iter().map(|items| (least(items, lengths), items));
                let of: Vec<(usize, &Vec<Item>)> = of.filter(|of| of.0 < usize::MAX).collect();
                if of.is_empty() {
                    // A rule without a text, which is optional.
                    continue;
                }
                let short = of.iter().min_by_key(|of| of.0).unwrap();
                left.extend((if is_short { short } else { random.of(&of) }).1.iter().rev());
            }
        }
    }
}

/// Characters of the shortest text of items, where those of rules are known.
fn least(items: &[Item], lengths: &[usize]) -> usize {
    items.iter().fold(0, |sum, item| match item {
        Item::Rule { number, is_optional: false } => sum.saturating_add(lengths[*number]),
        Item::Rule { .. } => sum,
        Item::Char(_) => sum.saturating_add(1),
    })
}

/// `[rules]`: characters of the shortest text of each; `usize::MAX` if it has none.
fn lengths(rules: &Rules) -> Vec<usize> {
    let mut lengths = vec![usize::MAX; rules.len()];
    for _ in 0..=rules.len() {
        for (number, of) in rules.iter().enumerate() {
            lengths[number] = of.iter().map(|items| least(items, &lengths)).min().unwrap();
        }
    }
    lengths
}

/// What masks are judged by.
struct Case<'a> {
    rules: &'a Rules,
    vocabulary: &'a Vocabulary,
    judge: &'a Tokenizer,
    /// What stands before the text, and its tokens, without the one that is taken back.
    before: &'a str,
    kept: &'a [TokenId],
    /// The tokens of all listed texts behind those.
    encodings: BTreeSet<Vec<TokenId>>,
}

impl Case<'_> {
    /// Whether the tokenizer writes some text so that it begins with these tokens.
    fn goes_on(&self, tokens: &[TokenId], random: &mut Random) -> bool {
        let tokens = [self.kept, tokens].concat();
        let mut bytes = text_of(self.vocabulary, &tokens);
        // The only characters of several bytes that there are.
        for char in ["é", "あ"] {
            let cut = (1..char.len()).rev().find(|&cut| bytes.ends_with(&char.as_bytes()[..cut]));
            bytes.extend(cut.iter().flat_map(|&cut| &char.as_bytes()[cut..]));
        }
        let written = String::from_utf8(bytes).unwrap();
        let so_far = if written.len() < self.before.len() { self.before.to_owned() } else { written };
        let lengths = lengths(self.rules);
        let mut lefts = vec![vec![Item::Rule { number: 0, is_optional: false }]];
        for char in so_far[self.before.len()..].chars() {
            lefts = after(self.rules, lefts, char);
        }
        lefts.retain(|left| least(left, &lengths) < usize::MAX);
        !lefts.is_empty()
            && (0..WAYS).any(|_| {
                let mut text = so_far.clone();
                finish(self.rules, &lengths, random.of(&lefts).clone(), random, &mut text);
                encode(self.judge, &text).starts_with(&tokens)
            })
    }

    /// The masks at every prefix of some encodings are the next tokens of the encodings of all texts. How many masks, and how many of their tokens no listed
    /// text has.
    fn check(&self, matcher: &mut Matcher, random: &mut Random, what: &str) -> (usize, usize) {
        let all: Vec<&Vec<TokenId>> = self.encodings.iter().collect();
        let (mut judged, mut followed) = (0, 0);
        for _ in 0..12 {
            let encoding = *random.of(&all);
            matcher.reset();
            for at in 0..=encoding.len() {
                let so_far = &encoding[..at];
                let what = || format!("{what}: after {so_far:?} of {encoding:?}");
                let going_on = self.encodings.range(so_far.to_vec()..);
                let going_on = going_on.take_while(|other| other.starts_with(so_far));
                let expected: BTreeSet<TokenId> =
                    going_on.filter_map(|other| other.get(at)).copied().collect();
                let shown = mask(matcher);
                assert!(expected.is_subset(&shown), "{}: shown {shown:?}, expected {expected:?}", what());
                for id in shown.difference(&expected) {
                    let is_live = self.goes_on(&[so_far, &[*id]].concat(), random);
                    assert!(is_live, "{}: {id} is shown, expected {expected:?}", what());
                    followed += 1;
                }
                assert_eq!(matcher.is_complete(), self.encodings.contains(so_far), "{}", what());
                judged += 1;
                if let Some(&id) = encoding.get(at) {
                    matcher.advance(id).unwrap();
                }
            }
        }
        (judged, followed)
    }
}

/// A random tokenizer and random rules, with their texts.
fn case(random: &mut Random) -> Option<(String, Rules, BTreeSet<String>)> {
    let merges = 4 + random.below(50);
    let mut json = tokenizer(random, merges);
    if random.below(3) == 0 {
        json = with_words(random, &json).0;
    }
    let rules = rules(random);
    let texts = texts(&rules).filter(|texts| texts.len() > 1)?;
    Some((json, rules, texts))
}

fn is_ambiguous(error: &CompileError) -> bool {
    matches!(error, CompileError::Refused(refusal) if refusal.to_string().contains("several ways"))
}

fn cases(most: usize) -> usize {
    std::env::var("GOBO_NESTED_CASES").ok().map_or(most, |cases| cases.parse().unwrap())
}

/// The masks behind the beginnings of short texts are the next tokens of the encodings of all texts: none is missing that some listed text has, and
/// with each that is shown some text goes on that the tokenizer writes so.
#[test]
fn masks_of_nested_rules_are_those_of_the_encodings_of_their_texts() {
    let mut random = Random(11);
    let (mut judged, mut followed, mut nested, mut ambiguous) = (0, 0, 0, 0);
    let cases = cases(400);
    for number in 0..cases {
        let Some((json, rules, texts)) = case(&mut random) else { continue };
        let grammar = gbnf(&rules);
        let (vocabulary, judge) = both(&json);
        let mut matcher = match matcher(&vocabulary, Constraint::gbnf(grammar.clone(), "root")) {
            Ok(matcher) => matcher,
            Err(error) if is_ambiguous(&error) => {
                ambiguous += 1;
                continue;
            }
            Err(error) => panic!("case {number}: {grammar}: {error}"),
        };
        nested += usize::from(matcher.index().call_root().unwrap().is_some());
        let encodings = texts.iter().map(|text| encode(&judge, text)).collect();
        let case =
            Case { rules: &rules, vocabulary: &vocabulary, judge: &judge, before: "", kept: &[], encodings };
        let what = format!("case {number}: {grammar}in {json}");
        let (masks, ways) = case.check(&mut matcher, &mut random, &what);
        (judged, followed) = (judged + masks, followed + ways);
    }
    let what = format!("{judged} masks, {followed} ways, {nested} nested grammars, {ambiguous} ambiguous");
    assert!(judged > 10 * cases && nested > cases / 8 && followed > cases, "{what}");
}

/// The same behind prompts, whose last token stays or is taken back.
#[test]
fn masks_of_nested_rules_behind_prompts_are_those_of_the_encodings_of_both() {
    let mut random = Random(12);
    let (mut judged, mut refused) = ([0; 2], 0);
    let cases = cases(200);
    for number in 0..cases {
        let Some((json, rules, texts)) = case(&mut random) else { continue };
        let grammar = gbnf(&rules);
        let (vocabulary, judge) = both(&json);
        for (takes_back, tokenization) in
            [Tokenization::CanonicalStrict, Tokenization::CanonicalHeal].into_iter().enumerate()
        {
            let of_all =
                match matcher_of(&vocabulary, Constraint::gbnf(grammar.clone(), "root"), tokenization) {
                    Ok(matcher) => matcher,
                    Err(error) if is_ambiguous(&error) => break,
                    Err(error) => panic!("case {number}: {grammar}: {error}"),
                };
            for _ in 0..4 {
                let before = text(&mut random, 5);
                let prompt = encode(&judge, &before);
                let kept = &prompt[..prompt.len() - takes_back.min(prompt.len())];
                let all = texts.iter().map(|text| encode(&judge, &(before.clone() + text)));
                let encodings: BTreeSet<Vec<TokenId>> =
                    all.filter_map(|all| all.strip_prefix(kept).map(<[_]>::to_vec)).collect();
                let what = format!("case {number}: {grammar}{tokenization} behind {before:?} in {json}");
                let case = Case {
                    rules: &rules,
                    vocabulary: &vocabulary,
                    judge: &judge,
                    before: &before,
                    kept,
                    encodings,
                };
                match of_all.clone().after_prompt(&prompt) {
                    Ok(_) if case.encodings.is_empty() => {}
                    Ok(mut matcher) => {
                        assert_eq!(matcher.taken_back(), prompt.len() - kept.len());
                        judged[takes_back] += case.check(&mut matcher, &mut random, &what).0;
                    }
                    Err(MatcherError::NothingFollows) => {
                        assert!(case.encodings.is_empty(), "{what}: {:?} is refused", case.encodings);
                        refused += 1;
                    }
                    Err(MatcherError::StuckWord) => refused += 1,
                    Err(error) => panic!("{what}: {error}"),
                }
            }
        }
    }
    assert!(judged.iter().all(|&judged| judged > 10 * cases), "{judged:?} {refused}");
}

/// The same bytes each time: hash tables have another order in each compile.
#[test]
fn nested_indices_have_the_same_bytes_each_time() {
    let mut random = Random(14);
    let mut compared = 0;
    for _ in 0..60 {
        let Some((json, rules, _)) = case(&mut random) else { continue };
        let (vocabulary, _) = both(&json);
        let constraint = Constraint::gbnf(gbnf(&rules), "root").cut(Tokenization::CanonicalStrict);
        let compile = || compile_within(&vocabulary, &constraint, 1, CompileLimits::default());
        let Ok(first) = compile() else { continue };
        assert!((0..4).all(|_| compile().unwrap() == first), "{}", gbnf(&rules));
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}

/// Stacks have the limit that they have under other indices, and frames that nothing goes back to are dropped without a change of any mask.
#[test]
fn stacks_are_bounded_and_dropped_unseen() {
    let (vocabulary, _) = both(&tokenizer(&mut Random(15), 0));
    let nested = Constraint::gbnf("root ::= \"a\" root? \".\" | \"b\" root? \"1\"", "root");
    let of_all = matcher(&vocabulary, nested).unwrap();
    let (index, binding) = (Arc::clone(of_all.index()), of_all.binding().clone());
    let limited = Matcher::with_limits(index, Arc::clone(&vocabulary), &binding, 4, 3).unwrap();
    let (open, close) = (b"a".repeat(4), b".".repeat(4));
    let mut matcher = limited.clone();
    matcher.advance_bytes(&open).unwrap();
    assert_eq!(matcher.stack_depth(), 3);
    matcher.advance_bytes(b"a").unwrap();
    let past = MatcherError::StackDepth { limit: 3, frames: 4 };
    let mut words = vec![0; matcher.mask_words()];
    assert_eq!(matcher.fill(&mut words), Err(past.clone()));
    assert_eq!(matcher.advance_bytes(b"."), Err(past.clone()));
    matcher.rollback(1).unwrap();
    matcher.advance_bytes(&close).unwrap();
    assert!(matcher.is_complete());
    let mut matcher = limited;
    assert_eq!(matcher.advance_bytes(&b"a".repeat(100_000)), Err(past));

    // Texts of two letters have many stacks, more than are kept.
    let mut matcher = of_all;
    let mut random = Random(16);
    for _ in 0..40 {
        matcher.reset();
        let opened: Vec<u8> = (0..400).map(|_| *random.of(b"ab")).collect();
        for letter in &opened {
            matcher.advance_bytes(&[*letter]).unwrap();
        }
        for letter in opened.iter().rev() {
            let other = if *letter == b'a' { b"1" } else { b"." };
            assert!(matcher.advance_bytes(other).is_err());
            matcher.advance_bytes(if *letter == b'a' { b"." } else { b"1" }).unwrap();
        }
        assert!(matcher.is_complete());
        matcher.rollback(200).unwrap();
        // The rule that ended last is left when the next byte comes.
        assert_eq!(matcher.stack_depth(), 200);
    }
}
