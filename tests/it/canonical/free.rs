//! Texts whose characters are free: most letters lead from a state to the same one, or to that of the next count, so that their tokens are listed once for all states.

use gobo_types::Constraint;
use serde_json::Value;

use super::small::{both, encode, tokenizer};
use super::{Random, matcher, take, text_of, walk};

/// Constraints over `L`, which stands for all letters: counted, open, beside each other, and where a name is looked for among all others.
const CONSTRAINTS: [&str; 10] = [
    "\"[L]{0,4}\"",
    "\"[L]*\"\\.\"[L]*\"",
    "([L]*\"){2}",
    "[L]{2,5}\\.[L]{0,3}",
    "(ab|[L]{0,3})\"[L]{1,3}\"[L]{0,9}",
    "(ab1|as|[L]*)\\.(a|b[L]|[L]*)\"",
    "([L]{3})*\\.",
    "[Lé]{0,3}\\.[Lé]{1,4}\"?",
    "([Léあ]*\\.){2}",
    "(?:[L][L1]{0,4}'){1,3}",
];

/// A small tokenizer with all letters of ASCII, a few of which merge.
pub(super) fn with_letters(json: &str) -> String {
    let mut json: Value = serde_json::from_str(json).unwrap();
    let vocab = json["model"]["vocab"].as_object_mut().unwrap();
    for letter in ('a'..='z').chain('A'..='Z') {
        let id = vocab.len();
        vocab.entry(letter.to_string()).or_insert(id.into());
    }
    json.to_string()
}

#[test]
fn ways_through_free_text_are_encodings_and_encodings_are_ways() {
    let mut random = Random(31);
    let (mut finished, mut judged) = (0, 0);
    for case in 0..300 {
        let merges = 4 + random.below(60);
        let json = with_letters(&tokenizer(&mut random, merges));
        let (vocabulary, judge) = both(&json);
        let pattern = CONSTRAINTS[case % CONSTRAINTS.len()].replace('L', "a-zA-Z");
        let mut matcher = matcher(&vocabulary, Constraint::regex(pattern.clone()))
            .unwrap_or_else(|error| panic!("case {case}: {pattern}: {error}"));
        let is_text = regex_automata::meta::Regex::new(&format!("^(?:{pattern})$")).unwrap();
        for _ in 0..10 {
            if let Some(tokens) = walk(&mut matcher, &mut random, 16) {
                let text = String::from_utf8(text_of(&vocabulary, &tokens)).unwrap();
                assert!(is_text.is_match(&text), "case {case}: {text:?} of {pattern} in {json}");
                assert_eq!(encode(&judge, &text), tokens, "case {case}: {text:?} of {pattern} in {json}");
                finished += 1;
            }
            // A few letters make a text, so that merges meet; what stands between them is that of the constraint.
            let few: Vec<char> =
                (0..3).map(|_| *random.of(&['a', 'b', 's', 'A', 'q', '1', 'é', 'あ'])).collect();
            let mut word =
                |most: usize| (0..random.below(most + 1)).map(|_| *random.of(&few)).collect::<String>();
            let (one, two, three) = (word(5), word(4), word(6));
            let texts = [
                format!("\"{one}\""),
                format!("\"{one}\".\"{two}\""),
                format!("{one}\"{two}\""),
                format!("{one}.{two}"),
                format!("{one}\"{two}\"{three}"),
                format!("{one}.{two}\""),
                format!("{one}."),
                format!("{one}.{two}."),
                format!("{one}'{two}'"),
            ];
            for text in texts.iter().filter(|text| is_text.is_match(text)) {
                matcher.reset();
                take(
                    &mut matcher,
                    &encode(&judge, text),
                    &format!("case {case}: {text:?} of {pattern} in {json}"),
                );
                judged += 1;
            }
        }
    }
    assert!(finished > 1000 && judged > 1000, "{finished} {judged}");
}
