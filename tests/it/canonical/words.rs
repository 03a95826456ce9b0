//! Words that the tokenizer writes as one token although no merges make them, in texts that may end behind them.

use std::collections::BTreeSet;

use gobo_types::{Constraint, TokenId};
use serde_json::Value;

use super::small::{both, check, encode, text, tokenizer};
use super::{Random, mask, matcher, take, text_of, walk};

/// A tokenizer with some words more. There are none without chunks, which such words are.
pub(super) fn with_words(random: &mut Random, json: &str) -> (String, Vec<String>) {
    let mut json: Value = serde_json::from_str(json).unwrap();
    let has_chunks = json["pre_tokenizer"]["type"] == "Sequence";
    json["model"]["ignore_merges"] = has_chunks.into();
    let vocab = json["model"]["vocab"].as_object_mut().unwrap();
    let mut words = Vec::new();
    let most = if has_chunks { 1 + random.below(8) } else { 0 };
    for _ in 0..most {
        // Letters that stand for themselves.
        let letters = ["a", "b", "A", "s", "'", ".", "1", "2"];
        let few: Vec<&str> = (0..2).map(|_| *random.of(&letters)).collect();
        let word: String = (0..2 + random.below(4)).map(|_| *random.of(&few)).collect();
        if !vocab.contains_key(&word) {
            vocab.insert(word.clone(), vocab.len().into());
            words.push(word);
        }
    }
    (json.to_string(), words)
}

/// The masks of a choice are the next tokens of the encodings of its items, of which many are words, or go on behind words.
#[test]
fn masks_of_choices_with_words_are_those_of_the_encodings_of_their_items() {
    let mut random = Random(21);
    for case in 0..400 {
        let merges = 4 + random.below(40);
        let json = tokenizer(&mut random, merges);
        let (json, words) = with_words(&mut random, &json);
        let (vocabulary, judge) = both(&json);
        let mut items = BTreeSet::new();
        for _ in 0..=random.below(10) {
            let mut item = text(&mut random, 3);
            if !words.is_empty() && random.below(3) > 0 {
                item.push_str(random.of(&words).as_str());
            }
            items.insert(item + &text(&mut random, 2));
        }
        let encodings: BTreeSet<Vec<TokenId>> = items.iter().map(|item| encode(&judge, item)).collect();
        let mut matcher = matcher(&vocabulary, Constraint::choice(items.iter().cloned())).unwrap();
        check(&mut matcher, &encodings, || format!("case {case}: {items:?} in {json}"));
    }
}

/// Texts that end at a length, so that words stand at their ends.
#[test]
fn ways_through_bounded_texts_with_words_are_encodings_and_encodings_are_ways() {
    let mut random = Random(22);
    let constraints = ["[ab.1'sA]{0,5}", "\"[ab1]{1,4}\"", "( [ab]{1,3}|[1A]{1,2}'){0,3}", "([ab]{2}|1)*\"?"];
    let (mut finished, mut judged) = (0, 0);
    for case in 0..300 {
        let merges = 4 + random.below(30);
        let json = tokenizer(&mut random, merges);
        let (json, words) = with_words(&mut random, &json);
        let (vocabulary, judge) = both(&json);
        let pattern = *random.of(&constraints);
        let mut matcher = matcher(&vocabulary, Constraint::regex(pattern)).unwrap();
        let is_text = regex_automata::meta::Regex::new(&format!("^(?:{pattern})$")).unwrap();
        for _ in 0..12 {
            if let Some(tokens) = walk(&mut matcher, &mut random, 12) {
                let text = String::from_utf8(text_of(&vocabulary, &tokens)).unwrap();
                assert_eq!(encode(&judge, &text), tokens, "case {case}: {text:?} of {pattern} in {json}");
                finished += 1;
            }
            let mut text = text(&mut random, 3);
            if !words.is_empty() {
                text.push_str(random.of(&words).as_str());
            }
            for text in [text.clone(), format!("\"{text}\"")] {
                if is_text.is_match(&text) {
                    matcher.reset();
                    let what = format!("case {case}: {text:?} of {pattern} in {json}");
                    take(&mut matcher, &encode(&judge, &text), &what);
                    judged += 1;
                }
            }
        }
    }
    assert!(finished > 1500 && judged > 250, "{finished} {judged}");
}

/// `abb` is written as one token. Behind `ab` the `b` that would spell it is in no mask, unless the chunk goes on.
#[test]
fn the_token_that_would_spell_a_word_at_its_end_is_not_shown() {
    let mut json: Value = serde_json::from_str(&tokenizer(&mut Random(6), 0)).unwrap();
    let ids = json["model"]["vocab"].as_object().unwrap().len();
    for (word, id) in [("ab", ids), ("abb", ids + 1)] {
        json["model"]["vocab"][word] = id.into();
    }
    json["model"]["merges"] = serde_json::json!([["a", "b"]]);
    json["model"]["ignore_merges"] = true.into();
    let split = serde_json::json!({"type": "Split", "pattern": {"Regex": r"[ab]+|(?s:.)"}, "behavior": "Isolated", "invert": false});
    json["pre_tokenizer"] =
        serde_json::json!({"type": "Sequence", "pretokenizers": [split, json["decoder"]]});
    let (vocabulary, judge) = both(&json.to_string());
    let id = |text: &str| encode(&judge, text)[0];
    let masks = |items: &[&str]| {
        let mut matcher = matcher(&vocabulary, Constraint::choice(items.iter().copied())).unwrap();
        let first = mask(&matcher);
        matcher.advance(id("ab")).unwrap();
        assert_eq!(matcher.allows(id("b")), mask(&matcher).contains(&id("b")));
        (first, mask(&matcher))
    };
    assert_eq!(encode(&judge, "abb").len(), 1);
    assert_eq!(masks(&["abb", "aba"]), (BTreeSet::from([id("ab"), id("abb")]), BTreeSet::from([id("a")])));
    // Nothing but the word comes of `ab` then.
    let mut only = matcher(&vocabulary, Constraint::choice(["abb", "b"])).unwrap();
    check(&mut only, &BTreeSet::from([vec![id("abb")], vec![id("b")]]), || "abb".to_owned());
    assert_eq!(masks(&["abba", "aba"]), (BTreeSet::from([id("ab")]), BTreeSet::from([id("a"), id("b")])));
}

/// Each item ends its rule with the beginning of a word, so that whether the next one follows depends on the stack, and so on for as long as the list may be.
#[test]
fn lists_of_items_that_begin_words_do_not_look_ahead_without_end() {
    let mut json: Value = serde_json::from_str(&tokenizer(&mut Random(6), 0)).unwrap();
    let ids = json["model"]["vocab"].as_object().unwrap().len();
    for (word, id) in [("Ġa", ids), ("Ġab", ids + 1)] {
        json["model"]["vocab"][word] = id.into();
    }
    json["model"]["merges"] = serde_json::json!([["Ġ", "a"]]);
    json["model"]["ignore_merges"] = true.into();
    let split = serde_json::json!({"type": "Split", "pattern": {"Regex": r" ?[ab]+|(?s:.)"}, "behavior": "Isolated", "invert": false});
    json["pre_tokenizer"] =
        serde_json::json!({"type": "Sequence", "pretokenizers": [split, json["decoder"]]});
    let (vocabulary, judge) = both(&json.to_string());
    let grammar = "root ::= item root | \".\"\nitem ::= \"1\" item \"2\" | \" a\" | \" ab\" | \" abA\"\n";
    let mut matcher = matcher(&vocabulary, Constraint::gbnf(grammar, "root")).unwrap();
    for text in [" a a a.", "1 a2 a ab.", " ab abA1 ab2 a."] {
        matcher.reset();
        for id in encode(&judge, text) {
            assert!(mask(&matcher).contains(&id), "{text:?}: {id}");
            matcher.advance(id).unwrap();
        }
        assert!(matcher.is_complete());
    }
}

/// The longest word that there may be, spelled letter by letter.
#[test]
fn a_word_may_have_the_longest_spelling() {
    let mut json: Value = serde_json::from_str(&tokenizer(&mut Random(6), 0)).unwrap();
    let ids = json["model"]["vocab"].as_object().unwrap().len();
    let word = "a".repeat(256);
    json["model"]["vocab"][&word] = ids.into();
    json["model"]["ignore_merges"] = true.into();
    let split = serde_json::json!({"type": "Split", "pattern": {"Regex": r"a+|(?s:.)"}, "behavior": "Isolated", "invert": false});
    json["pre_tokenizer"] =
        serde_json::json!({"type": "Sequence", "pretokenizers": [split, json["decoder"]]});
    let (vocabulary, judge) = both(&json.to_string());
    let mut matcher = matcher(&vocabulary, Constraint::choice([word.as_str(), "b"])).unwrap();
    let encodings: BTreeSet<_> = [word.as_str(), "b"].iter().map(|text| encode(&judge, text)).collect();
    assert!(encodings.iter().all(|encoding| encoding.len() == 1));
    check(&mut matcher, &encodings, || "256 letters".to_owned());
}
