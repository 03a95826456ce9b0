//! Tokenizers that people use, and the constraints of Tran-Thien 2024 with others beside.

use std::sync::Arc;

use gobo_artifact::{Matcher, Vocabulary};
use gobo_tokenizer::{ImportOptions, builtin, import};
use gobo_types::{CompileError, Constraint, SchemaOptions, TokenId, Whitespace};
use tiktoken_rs::CoreBPE;
use tokenizers::normalizer::NormalizedString;
use tokenizers::{Normalizer, Tokenizer};

use super::{Random, matcher, take, text_of};
use crate::data::data_dir;

/// Constraints, each with texts of it.
const CONSTRAINTS: [(&str, &[&str]); 7] = [
    ("red|orange|yellow|green|blue|indigo|violet", &["red", "violet"]),
    (
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z",
        &["2024-02-29T23:59:60Z", "1999-12-31T00:00:00Z"],
    ),
    (r"([0-9]{1,3}\.){3}[0-9]{1,3}", &["192.168.0.1", "8.8.8.8"]),
    (r#""[^"\\\x00-\x1f]*""#, &["\"\"", "\"a quoted text, isn't it?  漢字 🙂\"", "\"Zoë’s   naïve  été\""]),
    (
        r#"\{"name":[ ]?"[^"\\\x00-\x1f]*",[ ]?"age":[ ]?[0-9]{1,3},[ ]?"tags":[ ]?\[("[a-z]+"(,[ ]?"[a-z]+")*)?\]\}"#,
        &[
            r#"{"name": "Ada Lovelace", "age": 36, "tags": ["maths", "poetry"]}"#,
            r#"{"name":"Łukasz O'Brien","age":7,"tags":[]}"#,
        ],
    ),
    (r"(?s).*", &["", "def f(x):\n    return x  # don't\n\n\n", "  two  spaces \n \n", "IT'S 1234567 ½٣23"]),
    (r"[A-Za-z ]{1,9}'(s|re|ll) [a-z]{1,9}\.", &["The dog's bone.", "WE're here."]),
];

/// Texts of rules that nest without end.
const NESTED: [&str; 4] = [
    r#"{"a":{"b":[]},"c":[[{}],{"d":null}]}"#,
    r#"[1, [2, [3, [4.5e-7, {"x y": ["]}", "\"}],", "漢字"]}]]], true]"#,
    r#""a quoted text, isn't it?""#,
    r#"{"": {}, "id": {"id": {"id": [{"id": -0.5}]}}, "}": "},{"}"#,
];

fn families() -> Vec<(String, Constraint, Vec<&'static str>)> {
    let of_regex = |(pattern, texts): (&str, &[&'static str])| {
        (pattern.to_owned(), Constraint::regex(pattern), texts.to_vec())
    };
    let mut all: Vec<_> = CONSTRAINTS.into_iter().map(of_regex).collect();
    let compact: Vec<&str> =
        NESTED.into_iter().filter(|text| !text.contains(": ") && !text.contains("1, ")).collect();
    all.push(("json, compact".to_owned(), Constraint::json(Whitespace::Compact), compact));
    all.push(("json".to_owned(), Constraint::json(Whitespace::Single), NESTED.to_vec()));
    let open = r#"{"type": "object", "properties": {"id": {"type": "integer"}, "next": {"$ref": "\u0023"}}, "required": ["id"]}"#;
    let texts = vec![
        r#"{"id": 1, "next": {"id": 22, "next": {"id": 333}, "more": [{"id": "x"}, {}]}}"#,
        r#"{"id":-7,"next":{"id":0},"idea":"id"}"#,
    ];
    all.push(("a schema".to_owned(), Constraint::schema(open, SchemaOptions::default()), texts));
    all
}

/// Ways of one vocabulary: random tokens of masks, of which the ones that close strings and brackets are taken more often than they come.
struct Ways<'a> {
    vocabulary: &'a Arc<Vocabulary>,
    /// `[mask words]`.
    closing: Vec<u32>,
    mask: Vec<u32>,
    random: &'a mut Random,
}

impl<'a> Ways<'a> {
    fn new(vocabulary: &'a Arc<Vocabulary>, random: &'a mut Random) -> Self {
        let words = vocabulary.len().div_ceil(32) as usize;
        let mut closing = vec![0; words];
        for id in 0..vocabulary.len() {
            let closes = vocabulary.bytes(id).first().is_some_and(|byte| b"\"]}".contains(byte));
            closing[(id >> 5) as usize] |= u32::from(closes) << (id & 31);
        }
        Self { vocabulary, closing, mask: vec![0; words], random }
    }

    /// One of the mask's tokens, if there are any.
    fn pick(&mut self) -> Option<TokenId> {
        let closes = self.random.below(3) == 0;
        let word = |at: usize, closes: bool| self.mask[at] & if closes { self.closing[at] } else { !0 };
        let count =
            |closes: bool| (0..self.mask.len()).map(|at| word(at, closes).count_ones()).sum::<u32>() as usize;
        let (closes, among) = match count(closes) {
            0 => (false, count(false)),
            some => (closes, some),
        };
        let mut left = if among == 0 { return None } else { self.random.below(among) };
        for at in 0..self.mask.len() {
            let mut bits = word(at, closes);
            let here = bits.count_ones() as usize;
            if left >= here {
                left -= here;
                continue;
            }
            (0..left).for_each(|_| bits &= bits - 1);
            return Some(u32::try_from(at).unwrap() << 5 | bits.trailing_zeros());
        }
        None
    }

    /// A way of at most `most` tokens to a complete text.
    fn way(&mut self, matcher: &mut Matcher, most: usize) -> Option<Vec<TokenId>> {
        matcher.reset();
        let mut tokens = Vec::new();
        loop {
            matcher.fill(&mut self.mask).unwrap();
            if matcher.is_complete() && self.random.below(4) == 0 {
                return Some(tokens);
            }
            let Some(id) = self.pick() else {
                assert!(matcher.is_complete(), "a mask is empty, and the text is not complete");
                return Some(tokens);
            };
            if tokens.len() == most {
                return None;
            }
            matcher.advance(id).unwrap();
            tokens.push(id);
        }
    }

    /// The encodings of texts of all families are let through, and ways are encodings; `is_judged` says which texts can be told.
    fn judge(&mut self, name: &str, encode: impl Fn(&str) -> Vec<TokenId>, is_judged: impl Fn(&str) -> bool) {
        // As many as are asked for.
        let count = std::env::var("GOBO_CANONICAL_WAYS").map_or(300, |ways| ways.parse().unwrap());
        for (family, constraint, texts) in families() {
            let mut matcher = match matcher(self.vocabulary, constraint) {
                Ok(matcher) => matcher,
                // A text of bounded length may have to end behind a word that no merges make.
                Err(CompileError::Refused(refusal)) if name == "llama-3.1" && family.contains("{1,9}") => {
                    assert!(refusal.to_string().contains("ends a word"), "{refusal}");
                    continue;
                }
                Err(error) => panic!("{name}: {family}: {error}"),
            };
            for text in texts {
                matcher.reset();
                take(&mut matcher, &encode(text), &format!("{name}: {family}: {text}"));
            }
            let mut judged = 0;
            for _ in 0..count {
                let Some(tokens) = self.way(&mut matcher, 40) else { continue };
                // A vocabulary over bytes writes what is no text, where the constraint lets it.
                let text = String::from_utf8(text_of(self.vocabulary, &tokens)).unwrap();
                if is_judged(&text) {
                    assert_eq!(encode(&text), tokens, "{name}: {text:?} of {family}");
                    judged += 1;
                }
            }
            assert!(judged > 0, "{name}: {family}");
        }
    }
}

#[test]
fn ways_under_the_masks_of_built_in_vocabularies_are_their_encodings() {
    let encoders: [(&str, &CoreBPE); 3] = [
        ("r50k_base", tiktoken_rs::r50k_base_singleton()),
        ("cl100k_base", tiktoken_rs::cl100k_base_singleton()),
        ("o200k_base", tiktoken_rs::o200k_base_singleton()),
    ];
    let mut random = Random(3);
    for (name, judge) in encoders {
        let vocabulary =
            Arc::new(Vocabulary::from_bytes(&builtin(name).unwrap().table.build().unwrap()).unwrap());
        let encode = |text: &str| -> Vec<TokenId> { judge.encode_ordinary(text) };
        Ways::new(&vocabulary, &mut random).judge(name, encode, |_| true);
    }
}

/// `tokenizer.json` without what it puts before a text: a chunk begins where the text does.
fn without_prefix(json: &str) -> Tokenizer {
    let mut file: serde_json::Value = serde_json::from_str(json).unwrap();
    let steps = file.pointer_mut("/normalizer/normalizers").and_then(serde_json::Value::as_array_mut);
    for step in steps.into_iter().flatten().filter(|step| step["type"] == "Prepend") {
        step["prepend"] = "".into();
    }
    if let Some(scheme) = file.pointer_mut("/pre_tokenizer/prepend_scheme") {
        *scheme = "never".into();
    }
    let mut tokenizer = Tokenizer::from_bytes(file.to_string()).unwrap();
    tokenizer.set_encode_special_tokens(true);
    tokenizer
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn ways_under_the_masks_of_published_tokenizers_are_their_encodings() {
    let mut random = Random(13);
    for name in
        ["gpt2", "llama-3.1", "o200k_base", "qwen2.5", "mistral-tekken", "llama2", "mistral-7b-v0.3", "gemma"]
    {
        let path = data_dir().join("tokenizers").join(name).join("tokenizer.json");
        let table = import(&path, &ImportOptions::default()).unwrap().table;
        let vocabulary = Arc::new(Vocabulary::from_bytes(&table.build().unwrap()).unwrap());
        let library = without_prefix(&std::fs::read_to_string(&path).unwrap());
        let encode = |text: &str| library.encode_fast(text, false).unwrap().get_ids().to_vec();
        // What its normalizer changes is no text in NFC; others write blanks in another way, which changes nothing.
        let is_nfc = |text: &str| {
            let mut normalized = NormalizedString::from(text);
            if let Some(normalizer) = library.get_normalizer().filter(|_| name == "qwen2.5") {
                normalizer.normalize(&mut normalized).unwrap();
            }
            normalized.get() == text
        };
        Ways::new(&vocabulary, &mut random).judge(name, encode, is_nfc);
    }
}
