//! Texts behind prompts: what comes is what the tokenizer writes of both together.

use std::collections::BTreeSet;
use std::sync::Arc;

use gobo_artifact::{MatcherError, Vocabulary};
use gobo_tokenizer::builtin;
use gobo_types::{Constraint, TokenId, Tokenization};

use super::small::{both, check, encode, text, tokenizer};
use super::{Random, matcher_of, take, text_of, walk};

/// Small tokenizers with random merges: behind every prompt, the masks at every prefix are those of the encodings of the prompt with each item.
#[test]
fn masks_behind_prompts_are_those_of_the_encodings_of_both() {
    let mut random = Random(4);
    let (mut checked, mut refused) = ([0; 2], [0; 2]);
    for case in 0..300 {
        let merges = 4 + random.below(40);
        let json = tokenizer(&mut random, merges);
        let (vocabulary, judge) = both(&json);
        let items: BTreeSet<String> = (0..=random.below(9)).map(|_| text(&mut random, 5)).collect();
        let of = |tokenization| {
            matcher_of(&vocabulary, Constraint::choice(items.iter().cloned()), tokenization).unwrap()
        };
        let both = [of(Tokenization::CanonicalStrict), of(Tokenization::CanonicalHeal)];
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
                    Err(error) => panic!("{}: {error}", what()),
                }
            }
        }
    }
    assert!(checked.iter().chain(&refused).all(|&count| count > 100), "{checked:?} {refused:?}");
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
