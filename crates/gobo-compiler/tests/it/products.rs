//! Schemas whose lengths are counted beside the states, against the same schemas whose lengths are patterns, which become states.

use std::sync::Arc;

use gobo_artifact::{Index, IndexClass, Matcher, Vocabulary};
use gobo_automata::{Dfa, MAX_PAIRS, difference};
use gobo_compiler::{CompileOptions, compile};
use gobo_types::{Binding, Budget, CompileLimits, Constraint, SchemaOptions, Spelling};
use gobo_vocab::TokenTable;

use crate::counted::random;

/// A vocabulary of bytes, and of pieces of addresses, words and escapes.
fn vocabulary() -> Arc<Vocabulary> {
    const PIECES: [&str; 40] = [
        "a",
        "b",
        "ab",
        "http",
        "https",
        "://",
        ":",
        "/",
        "//",
        "www",
        ".",
        "example",
        ".com",
        "com",
        "?",
        "q=",
        "&",
        "#",
        "%",
        "%2",
        "0",
        "%41",
        "-",
        "--------",
        "_",
        "~",
        "é",
        "日本",
        "😀",
        "\\n",
        "\\\"",
        "\\u00e9",
        "\\ud83d\\ude00",
        "\"",
        "\",",
        "\"}",
        "]",
        "[::1]",
        "@",
        "xyz",
    ];
    let mut random = random(7);
    let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    tokens.extend(PIECES.iter().map(|piece| piece.as_bytes().to_vec()));
    for _ in 0..600 {
        let pieces = (0..2 + random(3)).map(|_| PIECES[random(PIECES.len())]);
        tokens.push(pieces.collect::<String>().into_bytes());
    }
    let mut table = TokenTable::new();
    for (id, token) in (0..).zip(&tokens) {
        table.insert(id, token.clone(), false).unwrap();
    }
    Arc::new(Vocabulary::from_bytes(&table.build().unwrap()).unwrap())
}

fn matcher(vocabulary: &Arc<Vocabulary>, schema: &str, options: &SchemaOptions) -> Matcher {
    let budget = Budget::new(CompileLimits { max_states: 1 << 22, ..CompileLimits::default() });
    let constraint = Constraint::schema(schema, options.clone());
    let lowered = gobo_worker::lower(&constraint, &budget).unwrap();
    let compiled = compile(vocabulary, &constraint, &lowered, &CompileOptions::default(), &budget).unwrap();
    let index = Arc::new(Index::from_bytes(compiled.bytes()).unwrap());
    index.verify().unwrap();
    Matcher::new(index, Arc::clone(vocabulary), &Binding::new(vec![], vocabulary.len())).unwrap()
}

fn mask(matcher: &Matcher) -> Vec<u32> {
    let mut mask = vec![0; matcher.mask_words()];
    matcher.fill(&mut mask).unwrap();
    mask
}

/// Strings of up to `max` characters: what the schema says beside the lengths, and a text inside the quotes that begins it, and one that
/// may be repeated after it.
struct Strings {
    says: &'static str,
    min: usize,
    max: usize,
    begin: &'static str,
    more: &'static str,
}

const STRINGS: [Strings; 6] = [
    Strings { says: r#""format": "uri""#, min: 1, max: 90, begin: "http://a/", more: "b" },
    Strings { says: r#""format": "uri-reference""#, min: 0, max: 70, begin: "?", more: "q" },
    Strings { says: r#""pattern": "^[ab]+(-[a-z0-9]+)*$""#, min: 0, max: 800, begin: "ab-", more: "c" },
    Strings { says: r#""pattern": "^[ab]+(-[a-z0-9]+)*$""#, min: 760, max: 800, begin: "ab-", more: "c" },
    Strings { says: r#""pattern": "^(\\S\\S\\S)+$""#, min: 0, max: 1000, begin: "abc", more: "éxy" },
    Strings { says: r#""pattern": "😀|^[^ab]*$""#, min: 0, max: 1100, begin: "", more: "日" },
];

fn compare(
    what: &str,
    mut one: Matcher,
    mut other: Matcher,
    before: &str,
    strings: &Strings,
    left: usize,
    seed: u64,
) {
    let Strings { max, begin, more, .. } = *strings;
    let mut random = random(seed);
    let length = max - left - begin.chars().count();
    let text = format!("{before}\"{begin}{}", more.repeat(length / more.chars().count()));
    assert_eq!(one.advance_bytes(text.as_bytes()), other.advance_bytes(text.as_bytes()), "{what}: {text}");
    let mut written = text;
    for _ in 0..40 {
        let (found, expected) = (mask(&one), mask(&other));
        let ids = |mask: &[u32]| -> Vec<u32> {
            (0..one.vocabulary().len()).filter(|id| mask[(id >> 5) as usize] >> (id & 31) & 1 == 1).collect()
        };
        let wanted = ids(&expected);
        assert_eq!(ids(&found), wanted, "{what}: after {} characters", written.chars().count());
        assert_eq!(one.is_complete(), other.is_complete(), "{what}");
        let (mut forced, mut of_other) = (Vec::new(), Vec::new());
        one.forced(&mut forced);
        other.forced(&mut of_other);
        let same = forced.len().min(of_other.len());
        assert_eq!(forced[..same], of_other[..same], "{what}");
        if wanted.is_empty() {
            break;
        }
        let id = wanted[random(wanted.len())];
        assert!(one.allows(id), "{what}");
        one.advance(id).unwrap();
        other.advance(id).unwrap();
        written += &String::from_utf8_lossy(one.vocabulary().bytes(id));
    }
}

#[test]
fn masks_are_those_of_the_product() {
    let vocabulary = vocabulary();
    for (number, strings) in (0..).zip(&STRINGS) {
        let Strings { says, min, max, .. } = strings;
        for spelling in [Spelling::Canonical, Spelling::Any] {
            let options = SchemaOptions { spelling, ..SchemaOptions::default() };
            let counted = format!(r#"{{"type": "string", {says}, "minLength": {min}, "maxLength": {max}}}"#);
            let product = format!(
                r#"{{"type": "string", {says}, "allOf": [{{"pattern": "^[\\s\\S]{{{min},{max}}}$"}}]}}"#
            );
            let in_array = |item: &str| format!(r#"{{"type": "array", "items": {item}, "maxItems": 2}}"#);
            for (schema, other, before) in
                [(counted.clone(), product.clone(), ""), (in_array(&counted), in_array(&product), "[")]
            {
                let one = matcher(&vocabulary, &schema, &options);
                let other = matcher(&vocabulary, &other, &options);
                assert_ne!(one.index().class(), IndexClass::Regular, "{schema}");
                assert!(one.index().states() * 4 < other.index().states(), "{schema}");
                for left in (0..12).chain([40, 60]) {
                    let seed = number * 100 + left as u64 + 1;
                    compare(&schema, one.clone(), other.clone(), before, strings, left, seed);
                }
            }
        }
    }
}

/// The automaton of a schema, with its calls expanded.
fn expanded(schema: &str, options: &SchemaOptions) -> Dfa {
    let budget = Budget::new(CompileLimits { max_states: 1 << 22, ..CompileLimits::default() });
    let lowered = gobo_worker::lower(&Constraint::schema(schema, options.clone()), &budget).unwrap();
    lowered.dfa.expand_calls(&budget).unwrap().unwrap()
}

/// Host names of draft 4 as a pattern: labels of up to 63 characters.
const LABELS: &str = "^(LABEL\\\\.)*LABEL$";

#[test]
fn counts_that_become_states_are_the_product() {
    let label = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
    let draft_4 = r#""$schema": "http://json-schema.org/draft-04/schema#""#;
    let hostname = format!(r#"{{{draft_4}, "type": "string", "format": "hostname", "maxLength": 140}}"#);
    let labels = LABELS.replace("LABEL", label);
    let of_labels = format!(
        r#"{{"type": "string", "pattern": "{labels}", "allOf": [{{"pattern": "^[\\s\\S]{{0,140}}$"}}]}}"#
    );
    let email = r#"{"type": "string", "format": "email"}"#;
    let whole = r#"{"type": "string", "format": "email", "allOf": [{"pattern": ""}]}"#;
    let long = r#"{"type": "string", "format": "email", "maxLength": 192}"#;
    let short = r#"{"type": "string", "format": "email", "maxLength": 70}"#;
    let of_short = r#"{"type": "string", "format": "email", "allOf": [{"pattern": "^[\\s\\S]{0,70}$"}]}"#;
    let options = SchemaOptions::default();
    for (counted, product) in
        [(hostname.as_str(), of_labels.as_str()), (email, whole), (long, whole), (short, of_short)]
    {
        let budget = Budget::new(CompileLimits::default());
        let lowered = gobo_worker::lower(&Constraint::schema(counted, options.clone()), &budget).unwrap();
        assert!(lowered.dfa.has_calls(), "{counted}");
        let found = difference(&expanded(counted, &options), &expanded(product, &options), MAX_PAIRS);
        assert_eq!(found.map(|found| found.is_none()), Ok(true), "{counted}");
    }
    for Strings { says, min, max, .. } in &STRINGS {
        let counted = format!(r#"{{"type": "string", {says}, "minLength": {min}, "maxLength": {max}}}"#);
        let product =
            format!(r#"{{"type": "string", {says}, "allOf": [{{"pattern": "^[\\s\\S]{{{min},{max}}}$"}}]}}"#);
        let found = difference(&expanded(&counted, &options), &expanded(&product, &options), MAX_PAIRS);
        assert_eq!(found.map(|found| found.is_none()), Ok(true), "{counted}");
    }
}

#[test]
fn masks_of_parts_are_those_of_the_product() {
    let vocabulary = vocabulary();
    let options = SchemaOptions::default();
    let one = matcher(&vocabulary, r#"{"type": "string", "format": "email"}"#, &options);
    let whole = r#"{"type": "string", "format": "email", "allOf": [{"pattern": ""}]}"#;
    let other = matcher(&vocabulary, whole, &options);
    let part = |begin, more, max| Strings { says: "", min: 0, max, begin, more };
    let parts = [
        part("", "a", 64),
        part("\\\"", " ", 66),
        part("a@", "b", 65),
        part("a@b.", "c", 67),
        part("a@b.c-", ".d", 67),
    ];
    for (number, strings) in (0..).zip(&parts) {
        for left in (0..16).chain([40, 55]) {
            let seed = number * 100 + left as u64 + 1;
            compare("email", one.clone(), other.clone(), "", strings, left, seed);
        }
    }
}
