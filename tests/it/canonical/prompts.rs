//! Texts behind prompts: what comes is what the tokenizer writes of both together.

use std::collections::BTreeSet;
use std::sync::Arc;

use gobo_artifact::{MatcherError, Vocabulary};
use gobo_tokenizer::builtin;
use gobo_types::{CompileError, Constraint, TokenId, Tokenization};

use super::small::{both, check, encode, text, tokenizer};
use super::{Random, matcher_of, take, text_of, walk};

/// Small tokenizers with random merges: behind every prompt, the masks at every prefix are those of the encodings of the prompt with each item.
#[test]
fn masks_behind_prompts_are_those_of_the_encodings_of_both() {
    let mut random = Random(4);
    let (mut checked, mut refused, mut stuck) = ([0; 2], [0; 2], 0);
    for case in 0..400 {
        let merges = 4 + random.below(40);
        let mut json = tokenizer(&mut random, merges);
        // Tokens that no merges make are whole chunks then.
        if random.below(2) == 0 {
            json = json.replace("\"ignore_merges\":false", "\"ignore_merges\":true");
        }
        let (vocabulary, judge) = both(&json);
        let items: BTreeSet<String> = (0..=random.below(9)).map(|_| text(&mut random, 5)).collect();
        let of =
            |tokenization| matcher_of(&vocabulary, Constraint::choice(items.iter().cloned()), tokenization);
        let both = match [of(Tokenization::CanonicalStrict), of(Tokenization::CanonicalHeal)] {
            [Ok(strict), Ok(heal)] => [strict, heal],
            // A text ends with a word that is written whole, or a word is no text.
            [Err(CompileError::Refused(refusal)), Err(_)] if refusal.reason.contains("no merges make") => {
                continue;
            }
            [strict, _] => panic!("case {case}: {}", strict.unwrap_err()),
        };
        for _ in 0..12 {
            let before = text(&mut random, 6);
            let mut prompt = encode(&judge, &before);
            // Some prompts are no encodings.
            if random.below(4) == 0 {
                prompt.insert(0, u32::try_from(random.below(vocabulary.len() as usize)).unwrap());
            }
            let Ok(before) = String::from_utf8(text_of(&vocabulary, &prompt)) else { continue };
            for (number, matcher) in both.iter().enumerate() {
                let kept = &prompt[..prompt.len() - usize::from(number == 1 && !prompt.is_empty())];
                let all = items.iter().map(|item| encode(&judge, &(before.clone() + item)));
                let expected: BTreeSet<Vec<TokenId>> =
                    all.filter_map(|all| all.strip_prefix(kept).map(<[_]>::to_vec)).collect();
                let what =
                    || format!("case {case}, {number}: {items:?} behind {prompt:?} {before:?} in {json}");
                match matcher.clone().after_prompt(&prompt) {
                    Ok(mut matcher) => {
                        assert!(!expected.is_empty(), "{}", what());
                        assert_eq!(matcher.taken_back(), prompt.len() - kept.len());
                        check(&mut matcher, &expected, what);
                        checked[number] += 1;
                    }
                    Err(MatcherError::Prompt { .. } | MatcherError::NothingFollows) => {
                        assert!(expected.is_empty(), "{}: {expected:?} is refused", what());
                        refused[number] += 1;
                    }
                    Err(MatcherError::StuckWord) => stuck += 1,
                    Err(error) => panic!("{}: {error}", what()),
                }
            }
        }
    }
    assert!(checked.iter().chain(&refused).all(|&count| count > 100), "{checked:?} {refused:?}");
    assert!(stuck < 100, "{stuck}");
}

/// `abb` is a token that no merges make, and the chunk that is its text is written so; a prompt may end with the `ab` of its spelling.
#[test]
fn words_that_begin_in_a_prompt_are_known() {
    let mut json: serde_json::Value = serde_json::from_str(&tokenizer(&mut Random(6), 0)).unwrap();
    let ids = json["model"]["vocab"].as_object().unwrap().len();
    let split = serde_json::json!({"type": "Split", "pattern": {"Regex": r"[ab]+|(?s:.)"}, "behavior": "Isolated", "invert": false});
    json["pre_tokenizer"] =
        serde_json::json!({"type": "Sequence", "pretokenizers": [split, json["decoder"]]});
    for (word, id) in [("ab", ids), ("abb", ids + 1)] {
        json["model"]["vocab"][word] = id.into();
    }
    json["model"]["merges"] = serde_json::json!([["a", "b"]]);
    json["model"]["ignore_merges"] = true.into();
    let (vocabulary, judge) = both(&json.to_string());
    let prompt = encode(&judge, "ab");
    assert_eq!((prompt.len(), encode(&judge, "abb").len(), encode(&judge, "abba").len()), (1, 1, 3));
    let behind = |items: &[&str]| {
        let strict = Constraint::choice(items.iter().copied());
        matcher_of(&vocabulary, strict, Tokenization::CanonicalStrict).unwrap().after_prompt(&prompt)
    };
    assert_eq!(behind(&["b"]).unwrap_err(), MatcherError::StuckWord);
    // What goes on behind the word is spelled.
    let rest = encode(&judge, "abba")[1..].to_vec();
    check(&mut behind(&["b", "ba"]).unwrap(), &BTreeSet::from([rest]), || "abba".to_owned());
}

/// Prompts that end in ways that matter, and constraints with texts that go on with them.
const PROMPTS: [&str; 14] = [
    "",
    "The answer is",
    "The answer is ",
    "x = \"",
    "a\n\n",
    "a  ",
    "don",
    "don'",
    "12",
    "1234",
    "é",
    "HT",
    "(",
    "名前: 漢",
];

const CONSTRAINTS: [(&str, &[&str]); 5] = [
    ("t|s|tml|'t|'re|TP/2", &["t", "s", "tml", "TP/2"]),
    (r"[0-9]{1,7}( [a-z]+)?", &["3", "1234567", "99 bottles"]),
    (r#" ?"[^"\\\x00-\x1f]*""#, &["\"\"", " \"isn't it?  漢字 🙂\""]),
    (r"(?s).*", &["", "\n\n\ndef f(x):\n    return x  # don't\n", "字", "  two"]),
    (r"[ \n]*[A-Za-z]+[.)]?", &["s)", " Berlin.", "\n\nyes"]),
];

#[test]
fn ways_behind_prompts_are_encodings_of_both() {
    let mut random = Random(5);
    for name in ["r50k_base", "cl100k_base", "o200k_base"] {
        let judge = match name {
            "r50k_base" => tiktoken_rs::r50k_base_singleton(),
            "cl100k_base" => tiktoken_rs::cl100k_base_singleton(),
            _ => tiktoken_rs::o200k_base_singleton(),
        };
        let encode = |text: &str| -> Vec<TokenId> { judge.encode_ordinary(text) };
        let vocabulary =
            Arc::new(Vocabulary::from_bytes(&builtin(name).unwrap().table.build().unwrap()).unwrap());
        let special = (0..vocabulary.len()).find(|&id| vocabulary.is_special(id)).unwrap();
        let (mut finished, mut judged) = (0, 0);
        for (pattern, texts) in CONSTRAINTS {
            for tokenization in [Tokenization::CanonicalStrict, Tokenization::CanonicalHeal] {
                let of_all = matcher_of(&vocabulary, Constraint::regex(pattern), tokenization).unwrap();
                for before in PROMPTS {
                    let what = format!("{name}: {pattern}, {tokenization} behind {before:?}");
                    let prompt = encode(before);
                    let taken_back =
                        usize::from(tokenization == Tokenization::CanonicalHeal && !prompt.is_empty());
                    let kept = &prompt[..prompt.len() - taken_back];
                    // What stands before a special token does not matter.
                    let given: Vec<TokenId> =
                        [7, 7, special].into_iter().chain(prompt.iter().copied()).collect();
                    let mut matcher = match of_all.clone().after_prompt(&given) {
                        Ok(matcher) => Some(matcher),
                        Err(MatcherError::NothingFollows) => None,
                        Err(error) => panic!("{what}: {error}"),
                    };
                    for text in texts {
                        let all = encode(&(before.to_owned() + text));
                        if let Some(rest) = all.strip_prefix(kept) {
                            let matcher =
                                matcher.as_mut().unwrap_or_else(|| panic!("{what}: {text:?} is shut out"));
                            matcher.reset();
                            take(matcher, rest, &format!("{what}: {text:?}"));
                            judged += 1;
                        }
                    }
                    let Some(matcher) = &mut matcher else { continue };
                    assert_eq!(matcher.taken_back(), taken_back);
                    for _ in 0..6 {
                        let Some(tokens) = walk(matcher, &mut random, 20) else { continue };
                        let all: Vec<TokenId> = kept.iter().chain(&tokens).copied().collect();
                        let text = String::from_utf8(text_of(&vocabulary, &all)).unwrap();
                        assert!(text.starts_with(before), "{what}: {text:?}");
                        assert_eq!(encode(&text), all, "{what}: {text:?}");
                        finished += 1;
                    }
                }
            }
        }
        assert!(finished > 200 && judged > 200, "{name}: {finished} {judged}");
    }
}
