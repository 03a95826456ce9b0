//! Texts whose characters are counted. States of counts are one class where their tokens have the same fates, so masks are compared near the bound and far from it, and between bounds.

use std::collections::BTreeSet;
use std::sync::Arc;

use gobo_artifact::Matcher;
use gobo_types::{Constraint, TokenId};
use tokenizers::Tokenizer;

use super::free::with_letters;
use super::small::{both, encode, tokenizer};
use super::{Random, mask, matcher, text_of};

/// Bounded texts over `L`, which stands for all letters of ASCII and two beyond it: `N` is the bound.
const CONSTRAINTS: [&str; 5] =
    ["\"[L]{0,N}\"", "[L]{0,N}1", "(\"[L]{1,N}\"\\.){1,2}", "[L1]{0,N}(\"[L]{0,N})?", "'([L]{0,N}|s1)'s?"];

/// Characters with which texts go on.
const LETTERS: [char; 4] = ['a', 's', 'é', 'あ'];
const ENDS: [&str; 9] = ["", "\"", "1", ".", "\".", "'", "'s", "s1'", ".\""];

fn pattern(of: &str, bound: usize) -> String {
    of.replace('L', "a-zA-Zéあ").replace('N', &bound.to_string())
}

/// Up to `most` letters, and an end, in all ways.
fn rests(most: u32, ends: &[&str]) -> Vec<String> {
    let mut rests = Vec::new();
    for length in 0..=most {
        for number in 0..LETTERS.len().pow(length) {
            let letters = (0..length).map(|at| LETTERS[number / LETTERS.len().pow(at) % LETTERS.len()]);
            let letters: String = letters.collect();
            rests.extend(ends.iter().map(|end| letters.clone() + end));
        }
    }
    rests
}

/// The end of a random way under the masks.
fn finish(matcher: &mut Matcher, random: &mut Random, tokens: &mut Vec<TokenId>) -> bool {
    for _ in 0..64 {
        let ids: Vec<TokenId> = mask(matcher).into_iter().collect();
        if matcher.is_complete() {
            return true;
        }
        let id = *random.of(&ids);
        matcher.advance(id).unwrap();
        tokens.push(id);
    }
    false
}

/// What masks are judged by.
struct Texts<'a> {
    judge: &'a Tokenizer,
    is_text: &'a dyn Fn(&str) -> bool,
    /// What texts may go on with.
    rests: &'a [String],
    what: String,
}

impl Texts<'_> {
    /// The tokens with which the encodings of some texts go on behind `tokens`.
    fn next(&self, text: &str, tokens: &[TokenId]) -> BTreeSet<TokenId> {
        let texts = self.rests.iter().map(|rest| text.to_owned() + rest);
        let encoded = texts.filter(|text| (self.is_text)(text)).map(|text| encode(self.judge, &text));
        let next = encoded.filter(|all| all.starts_with(tokens));
        next.filter_map(|all| all.get(tokens.len()).copied()).collect()
    }

    /// Judges the masks at each place of a random text: how many tokens were judged, and how many were followed to an encoding.
    fn judge(&self, matcher: &mut Matcher, random: &mut Random) -> (usize, usize) {
        matcher.reset();
        let vocabulary = Arc::clone(matcher.vocabulary());
        let (mut judged, mut followed) = (0, 0);
        let mut tokens: Vec<TokenId> = Vec::new();
        while tokens.len() < 14 {
            let shown = mask(matcher);
            // Inside of a character nothing is known of what is left.
            if let Ok(text) = String::from_utf8(text_of(&vocabulary, &tokens)) {
                let next = self.next(&text, &tokens);
                assert!(next.is_subset(&shown), "{}: {text:?}: {:?}", self.what, next.difference(&shown));
                judged += next.len();
                for &id in shown.difference(&next) {
                    let (mut fork, mut all) = (matcher.clone(), tokens.clone());
                    fork.advance(id).unwrap();
                    all.push(id);
                    if finish(&mut fork, random, &mut all) {
                        let text = String::from_utf8(text_of(&vocabulary, &all)).unwrap();
                        assert!((self.is_text)(&text), "{}: {text:?} is none", self.what);
                        assert_eq!(encode(self.judge, &text), all, "{}: {text:?}", self.what);
                        followed += 1;
                    }
                }
            }
            let ids: Vec<TokenId> = shown.into_iter().collect();
            if ids.is_empty() {
                break;
            }
            let id = *random.of(&ids);
            matcher.advance(id).unwrap();
            tokens.push(id);
        }
        (judged, followed)
    }
}

fn cases(least: usize) -> usize {
    std::env::var("GOBO_COUNTED_CASES").map_or(least, |cases| cases.parse().unwrap())
}

/// At each place of random texts the mask has all tokens with which some encoding goes on, and each other one leads to an encoding.
#[test]
fn masks_near_a_bound_are_those_of_the_encodings_of_what_is_left() {
    let mut random = Random(67);
    let rests = rests(3, &ENDS);
    let (mut judged, mut followed) = (0, 0);
    for case in 0..cases(60) {
        let merges = 10 + random.below(60);
        let json = with_letters(&tokenizer(&mut random, merges));
        let (vocabulary, judge) = both(&json);
        let pattern = pattern(CONSTRAINTS[case % CONSTRAINTS.len()], 3 + random.below(9));
        let mut matcher = matcher(&vocabulary, Constraint::regex(pattern.clone())).unwrap();
        let expression = regex_automata::meta::Regex::new(&format!("^(?:{pattern})$")).unwrap();
        let is_text = |text: &str| expression.is_match(text);
        let what = format!("case {case}: {pattern} in {json}");
        let texts = Texts { judge: &judge, is_text: &is_text, rests: &rests, what };
        for _ in 0..3 {
            let (more, ways) = texts.judge(&mut matcher, &mut random);
            judged += more;
            followed += ways;
        }
    }
    assert!(judged > 1000 && followed > 1000, "{judged} {followed}");
}

/// Lists between a full stop and an apostrophe, of lists and of strings with a bound: where the one that begins at `from` ends.
fn list(text: &[char], from: usize, bound: usize) -> Option<usize> {
    let mut at = from + 1;
    (text.get(from) == Some(&'.')).then_some(())?;
    loop {
        match text.get(at)? {
            '.' => at = list(text, at, bound)?,
            '"' => {
                let letters = text[at + 1..].iter().take_while(|of| of.is_alphabetic()).count();
                at += letters + 2;
                (letters <= bound && text.get(at - 1) == Some(&'"')).then_some(())?;
            }
            '\'' => return Some(at + 1),
            _ => return None,
        }
    }
}

/// The same beside rules that call themselves.
#[test]
fn masks_near_a_bound_within_nested_rules_are_those_of_the_encodings_of_what_is_left() {
    let mut random = Random(73);
    let rests = rests(2, &["", "'", "\"'", "\"''", "''", ".'", "..''", "\".\"\"'", "\"\"a\"'", "\"'\"a\"'"]);
    let (mut judged, mut followed) = (0, 0);
    for case in 0..cases(40) {
        let merges = 10 + random.below(60);
        let json = with_letters(&tokenizer(&mut random, merges));
        let (vocabulary, judge) = both(&json);
        let bound = 1 + random.below(7);
        let grammar = format!("root ::= \".\" (root | \"\\\"\" [a-zA-Zéあ]{{0,{bound}}} \"\\\"\")* \"'\"");
        let mut matcher = matcher(&vocabulary, Constraint::gbnf(grammar.clone(), "root")).unwrap();
        let is_text = |text: &str| {
            let text: Vec<char> = text.chars().collect();
            list(&text, 0, bound) == Some(text.len())
        };
        let what = format!("case {case}: {grammar} in {json}");
        let texts = Texts { judge: &judge, is_text: &is_text, rests: &rests, what };
        for _ in 0..3 {
            let (more, ways) = texts.judge(&mut matcher, &mut random);
            judged += more;
            followed += ways;
        }
    }
    assert!(judged > 500 && followed > 500, "{judged} {followed}");
}

/// Far from the bound a text has the masks of twice the bound, and of none.
#[test]
fn masks_far_from_a_bound_do_not_know_it() {
    let mut random = Random(71);
    let mut compared = 0;
    for case in 0..25 {
        let merges = 10 + random.below(60);
        let json = with_letters(&tokenizer(&mut random, merges));
        let (vocabulary, _) = both(&json);
        let of = CONSTRAINTS[case % CONSTRAINTS.len()];
        let bounds = [pattern(of, 90), pattern(of, 180), of.replace("N}", "}").replace('L', "a-zA-Zéあ")];
        let mut matchers: Vec<Matcher> = bounds
            .iter()
            .map(|pattern| matcher(&vocabulary, Constraint::regex(pattern.clone())).unwrap())
            .collect();
        for _ in 0..6 {
            matchers.iter_mut().for_each(Matcher::reset);
            for _ in 0..10 {
                let masks: Vec<BTreeSet<TokenId>> = matchers.iter().map(mask).collect();
                assert!(masks.iter().all(|of| *of == masks[0]), "case {case}: {bounds:?} in {json}");
                compared += 1;
                let Some(id) = masks[0].iter().nth(random.below(masks[0].len().max(1))) else { break };
                matchers.iter_mut().for_each(|matcher| matcher.advance(*id).unwrap());
            }
        }
    }
    assert!(compared > 800, "{compared}");
}
