//! Small tokenizers with random merges: every mask at every prefix, by the encodings of all texts of a constraint.

use std::collections::BTreeSet;
use std::sync::Arc;

use gobo_artifact::{Matcher, Vocabulary};
use gobo_tokenizer::{ImportOptions, import_bytes};
use gobo_types::{CompileError, Constraint, TokenId};
use serde_json::{Value, json};
use tokenizers::Tokenizer;

use super::{Random, mask, matcher, take, text_of, walk};

/// Characters, each with the letters that stand for its bytes in a byte-level vocabulary.
const CHARS: [(char, &[&str]); 13] = [
    ('a', &["a"]),
    ('b', &["b"]),
    ('A', &["A"]),
    ('s', &["s"]),
    ('\'', &["'"]),
    ('"', &["\""]),
    ('.', &["."]),
    ('1', &["1"]),
    ('2', &["2"]),
    (' ', &["Ġ"]),
    ('\n', &["Ċ"]),
    ('é', &["Ã", "©"]),
    ('あ', &["ã", "ģ", "Ĥ"]),
];

const PATTERNS: [Option<&str>; 5] = [
    None,
    Some(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    Some(
        r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    Some(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t)?|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    Some(r"[ab]+|aé|\s+|(?s:.)"),
];

/// A `tokenizer.json` with `count` random merges.
pub(super) fn tokenizer(random: &mut Random, count: usize) -> String {
    let mut vocab: Vec<String> =
        CHARS.iter().flat_map(|(_, letters)| letters.iter().map(ToString::to_string)).collect();
    let mut merges: Vec<[String; 2]> = Vec::new();
    for _ in 0..count {
        let (left, right) = (random.of(&vocab).clone(), random.of(&vocab).clone());
        let (product, pair) = (left.clone() + &right, [left, right]);
        if product.chars().count() > 6 || merges.contains(&pair) {
            continue;
        }
        if !vocab.contains(&product) {
            vocab.push(product);
        }
        merges.push(pair);
    }
    let ids: serde_json::Map<String, Value> =
        vocab.iter().zip(0..).map(|(token, id)| (token.clone(), Value::from(id))).collect();
    let byte_level =
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    let pre_tokenizer = match random.of(&PATTERNS) {
        None => byte_level.clone(),
        Some(pattern) => {
            let split = json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
            json!({"type": "Sequence", "pretokenizers": [split, byte_level]})
        }
    };
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": pre_tokenizer, "post_processor": null, "decoder": byte_level,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
            "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": ids, "merges": merges,
        },
    })
    .to_string()
}

pub(super) fn text(random: &mut Random, most: usize) -> String {
    let length = random.below(most + 1);
    // A few characters make a text, so that merges meet.
    let few: Vec<char> = (0..4).map(|_| random.of(&CHARS).0).collect();
    (0..length).map(|_| *random.of(&few)).collect()
}

/// Both ends of a tokenizer: what is judged, and its judge.
pub(super) fn both(json: &str) -> (Arc<Vocabulary>, Tokenizer) {
    let table = import_bytes("small", json.as_bytes(), &ImportOptions::default()).unwrap().table;
    let vocabulary = Vocabulary::from_bytes(&table.build().unwrap()).unwrap();
    vocabulary.verify().unwrap();
    (Arc::new(vocabulary), Tokenizer::from_bytes(json).unwrap())
}

pub(super) fn encode(judge: &Tokenizer, text: &str) -> Vec<TokenId> {
    judge.encode_fast(text, false).unwrap().get_ids().to_vec()
}

/// At every prefix of some encodings the mask has the next tokens of these, no more, and no fewer.
pub(super) fn check(matcher: &mut Matcher, encodings: &BTreeSet<Vec<TokenId>>, what: impl Fn() -> String) {
    for encoding in encodings {
        matcher.reset();
        for at in 0..=encoding.len() {
            let so_far = &encoding[..at];
            let going_on = encodings.iter().filter(|other| other.starts_with(so_far));
            let expected: BTreeSet<TokenId> = going_on.filter_map(|other| other.get(at)).copied().collect();
            assert_eq!(mask(matcher), expected, "{} after {so_far:?} of {encoding:?}", what());
            assert_eq!(matcher.is_complete(), encodings.contains(so_far), "{} after {so_far:?}", what());
            let forced = matcher.is_complete() || expected.len() != 1;
            let mut run = Vec::new();
            matcher.forced_tokens(&mut run);
            assert_eq!(run.is_empty(), forced);
            assert!(forced || encoding[at..].starts_with(&run));
            if let Some(&id) = encoding.get(at) {
                matcher.advance(id).unwrap();
            }
        }
    }
}

/// The masks of a choice are the next tokens of the encodings of its items: no more, and no fewer.
#[test]
fn masks_of_choices_are_those_of_the_encodings_of_their_items() {
    let mut random = Random(1);
    for case in 0..400 {
        let merges = 4 + random.below(40);
        let json = tokenizer(&mut random, merges);
        let (vocabulary, judge) = both(&json);
        assert!(vocabulary.encoder().is_ok());
        let items: BTreeSet<String> = (0..=random.below(12)).map(|_| text(&mut random, 7)).collect();
        let encodings: BTreeSet<Vec<TokenId>> = items.iter().map(|item| encode(&judge, item)).collect();
        let mut matcher = matcher(&vocabulary, Constraint::choice(items.iter().cloned())).unwrap();
        check(&mut matcher, &encodings, || format!("case {case}: {items:?} in {json}"));
    }
}

/// Endless constraints: ways under the masks are encodings, and the encodings of texts are ways.
#[test]
fn ways_under_the_masks_are_encodings_and_encodings_are_ways() {
    let mut random = Random(2);
    let constraints = [
        "(?s).*",
        "(?s).{0,9}",
        "\"[^\"]*\"",
        "( a| b|1{1,4})*",
        "[aé]+(\\.[あb ]+)*",
        "('s|[ab]|\\n| )*",
        "(aa|b)*\\.?",
    ];
    let (mut finished, mut judged) = (0, 0);
    for case in 0..250 {
        let merges = 4 + random.below(60);
        let json = tokenizer(&mut random, merges);
        let (vocabulary, judge) = both(&json);
        let pattern = random.of(&constraints);
        // Only what the tokenizer can write.
        let letters: String = CHARS.iter().map(|(char, _)| char.to_string()).collect();
        let pattern =
            pattern.replace('.', &format!("[{letters}]")).replace("\\[", "[").replace("[^\"]", "[ab1 é.'\n]");
        let constraint = Constraint::regex(pattern.clone());
        let mut matcher = match matcher(&vocabulary, constraint) {
            Ok(matcher) => matcher,
            Err(error @ (CompileError::Refused(_) | CompileError::OverBudget(_))) => {
                panic!("case {case}: {pattern}: {error}")
            }
            Err(error) => panic!("{error}"),
        };
        for _ in 0..8 {
            if let Some(tokens) = walk(&mut matcher, &mut random, 12) {
                let text = String::from_utf8(text_of(&vocabulary, &tokens)).unwrap();
                assert_eq!(encode(&judge, &text), tokens, "case {case}: {text:?} of {pattern} in {json}");
                finished += 1;
            }
            let text = text(&mut random, 9);
            if regex_of(&pattern).is_match(&text) {
                matcher.reset();
                take(
                    &mut matcher,
                    &encode(&judge, &text),
                    &format!("case {case}: {text:?} of {pattern} in {json}"),
                );
                judged += 1;
            }
        }
    }
    assert!(finished > 800 && judged > 400, "{finished} {judged}");
}

fn regex_of(pattern: &str) -> regex_automata::meta::Regex {
    regex_automata::meta::Regex::new(&format!("^(?:{pattern})$")).unwrap()
}
