//! Rules that call themselves, with random merges across the ends of rules: masks against the encodings of all texts up to a length.

use std::collections::{BTreeMap, BTreeSet};

use gobo_artifact::Matcher;
use gobo_types::{CompileError, Constraint, TokenId};
use tokenizers::Tokenizer;

use super::small::{both, encode, tokenizer};
use super::{Random, mask, matcher, text_of};

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

/// Ways that are tried from a token with which no listed text goes on, and most tokens of each.
const WAYS: usize = 300;
const TOKENS: usize = 40;

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
        None => {}
        Some((Item::Char(char), rest)) if left > 0 => {
            so_far.push(*char);
            sequences(rest, left - 1, all, so_far, found);
        }
        Some((Item::Char(_), _)) => {}
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

/// Where texts of items end that begin at `from` in `text`: `[bytes + 1]`.
fn ends(rules: &Rules, items: &[Item], text: &str, from: usize, known: &mut Known) -> BTreeSet<usize> {
    let Some((item, rest)) = items.split_first() else { return BTreeSet::from([from]) };
    let mut behind = BTreeSet::new();
    match item {
        Item::Char(char) => behind.extend(text[from..].starts_with(*char).then(|| from + char.len_utf8())),
        Item::Rule { number, is_optional } => {
            behind.extend(is_optional.then_some(from));
            if !known.contains_key(&(*number, from)) {
                // Rules begin with characters, so that none is asked for within itself at one place.
                let found =
                    rules[*number].iter().flat_map(|items| ends(rules, items, text, from, known)).collect();
                known.insert((*number, from), found);
            }
            behind.extend(&known[&(*number, from)]);
        }
    }
    behind.into_iter().flat_map(|from| ends(rules, rest, text, from, known)).collect()
}

/// Where texts of a rule end that begin somewhere.
type Known = BTreeMap<(usize, usize), BTreeSet<usize>>;

fn has(rules: &Rules, text: &str) -> bool {
    let root = [Item::Rule { number: 0, is_optional: false }];
    ends(rules, &root, text, 0, &mut Known::new()).contains(&text.len())
}

/// A text that goes on from where a matcher stands, written as the tokenizer writes it.
fn can_be_finished(
    matcher: &Matcher,
    so_far: &[TokenId],
    random: &mut Random,
    rules: &Rules,
    judge: &Tokenizer,
) -> bool {
    (0..WAYS).any(|_| {
        let (mut matcher, mut tokens) = (matcher.clone(), so_far.to_vec());
        while tokens.len() < so_far.len() + TOKENS {
            if matcher.is_complete() {
                let text = String::from_utf8(text_of(matcher.vocabulary(), &tokens)).unwrap();
                assert!(has(rules, &text), "{text:?} is no text of {}", gbnf(rules));
                return encode(judge, &text) == tokens;
            }
            let ids: Vec<TokenId> = mask(&matcher).into_iter().collect();
            // Of a few, one behind which the fewest rules are open.
            let tried = (0..3).map(|_| *random.of(&ids)).map(|id| {
                let mut after = matcher.clone();
                after.advance(id).unwrap();
                (after.stack_depth(), id, after)
            });
            let (_, id, after) = tried.min_by_key(|tried| tried.0).unwrap();
            matcher = after;
            tokens.push(id);
        }
        false
    })
}

/// The masks behind the beginnings of short texts are the next tokens of the encodings of all texts: none is missing that some listed text has, and
/// from each that is shown some text can be finished that the tokenizer writes so.
#[test]
fn masks_of_nested_rules_are_those_of_the_encodings_of_their_texts() {
    let mut random = Random(11);
    let (mut judged, mut finished, mut nested, mut ambiguous) = (0, 0, 0, 0);
    let cases = std::env::var("GOBO_NESTED_CASES").ok().map_or(400, |cases| cases.parse().unwrap());
    for case in 0..cases {
        let merges = 4 + random.below(50);
        let json = tokenizer(&mut random, merges);
        let rules = rules(&mut random);
        let Some(texts) = texts(&rules).filter(|texts| texts.len() > 1) else { continue };
        let grammar = gbnf(&rules);
        let (vocabulary, judge) = both(&json);
        let mut matcher = match matcher(&vocabulary, Constraint::gbnf(grammar.clone(), "root")) {
            Ok(matcher) => matcher,
            Err(CompileError::Refused(refusal)) if refusal.to_string().contains("several ways") => {
                ambiguous += 1;
                continue;
            }
            Err(error) => panic!("case {case}: {grammar}: {error}"),
        };
        nested += usize::from(matcher.index().call_root().unwrap().is_some());
        let encodings: BTreeSet<Vec<TokenId>> = texts.iter().map(|text| encode(&judge, text)).collect();
        let all: Vec<&Vec<TokenId>> = encodings.iter().collect();
        for _ in 0..12 {
            let encoding = *random.of(&all);
            matcher.reset();
            for at in 0..=encoding.len() {
                let so_far = &encoding[..at];
                let what = || format!("case {case}: {grammar}after {so_far:?} of {encoding:?} in {json}");
                let going_on =
                    encodings.range(so_far.to_vec()..).take_while(|other| other.starts_with(so_far));
                let expected: BTreeSet<TokenId> =
                    going_on.filter_map(|other| other.get(at)).copied().collect();
                let shown = mask(&matcher);
                assert!(expected.is_subset(&shown), "{}: shown {shown:?}, expected {expected:?}", what());
                for id in shown.difference(&expected) {
                    let mut after = matcher.clone();
                    after.advance(*id).unwrap();
                    let tokens = [so_far, &[*id]].concat();
                    let is_live = can_be_finished(&after, &tokens, &mut random, &rules, &judge);
                    assert!(is_live, "{}: {id} is shown, expected {expected:?}", what());
                    finished += 1;
                }
                assert_eq!(matcher.is_complete(), encodings.contains(so_far), "{}", what());
                judged += 1;
                if let Some(&id) = encoding.get(at) {
                    matcher.advance(id).unwrap();
                }
            }
        }
    }
    println!("{judged} masks, {finished} ways, {nested} nested grammars, {ambiguous} ambiguous");
    assert!(judged > 10 * cases && nested > cases / 8, "{judged} masks of {nested} nested grammars");
}
