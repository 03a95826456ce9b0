//! The tables of encoders against the libraries that they are tables of: the encoding of a text is a way through them, and every other way to
//! write the text is none.

use gobo_artifact::Vocabulary;
use gobo_artifact::layout::{Encoder, NO_CHUNK, WORD_ENDS};
use gobo_tokenizer::{ImportOptions, import};
use gobo_types::TokenId;
use tokenizers::Tokenizer;

use crate::real_files::folder;

/// What pre-tokenizers and merges disagree about.
const PIECES: [&str; 100] = [
    " ",
    "  ",
    "   ",
    "\n",
    "\r\n",
    "\t",
    "\u{a0}",
    "\u{3000}",
    "\u{2003}",
    " \n",
    "\n ",
    "\u{85}",
    "\u{2028}",
    "a",
    "b",
    "A",
    "B",
    "é",
    "É",
    "e\u{301}",
    "ß",
    "ſ",
    "ŉ",
    "ǅ",
    "ʰ",
    "あ",
    "ア",
    "漢字",
    "한국",
    "ش",
    "ที่",
    "नमस्ते",
    "\u{301}",
    "\u{20d0}",
    "1",
    "12",
    "123",
    "1234",
    "½",
    "٣",
    "Ⅷ",
    "²",
    "'s",
    "'S",
    "'re",
    "'RE",
    "'ll",
    "'",
    "''",
    "’s",
    "'ſ",
    "'t",
    "don't",
    "I'M",
    "we'll",
    "$",
    "\"",
    "\",",
    "\": ",
    "{\"",
    "}",
    "[",
    "]]",
    "//",
    "/",
    "\\n",
    "--",
    "==",
    "...",
    "?!",
    "🙂",
    "👨\u{200d}👩",
    "🇩🇪",
    "\u{fe0f}",
    "hello",
    " world",
    "Hello",
    "HELLO",
    " The",
    "iPhone",
    "camelCase",
    "snake_case",
    "x=1",
    "\u{0}",
    "\u{7f}",
    "\u{fffd}",
    "𝔘",
    "𐍈",
    "name",
    "true",
    "null",
    " việc",
    " Việt",
    "việc",
    " vi",
    "ệc",
    "été",
    "\u{ad}",
    "_",
    "ǆ",
];

/// A small generator of numbers (Steele, Lea & Flood 2014, *`SplitMix`*).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ z >> 31) % end as u64).unwrap()
    }
}

/// Whether the tables say that the tokenizer writes the text of these tokens so.
fn is_encoding(vocabulary: &Vocabulary, encoder: &Encoder<'_>, tokens: &[TokenId]) -> bool {
    let Encoder { merges, chunks, words, .. } = encoder;
    // States, each with the word that the chunk may be.
    let mut states = vec![(chunks.start(), 0)];
    for (at, &token) in tokens.iter().enumerate() {
        let is_whole = merges.is_whole(token);
        if !merges.is_proper(token) && !is_whole {
            return false;
        }
        let mut next = Vec::new();
        for &(state, word) in &states {
            let is_within = at == 0 || !is_whole && !merges.joins(tokens[at - 1], token);
            let can_end = word & WORD_ENDS == 0;
            let begins = [
                (if can_end { chunks.marked(state) } else { NO_CHUNK }, 0),
                (if is_within { chunks.within(state) } else { NO_CHUNK }, word),
            ];
            for (begin, word) in begins {
                let end = vocabulary.bytes(token).iter().fold(begin, |state, &byte| chunks.next(state, byte));
                let end = (end, words.next(word, token));
                if end.0 != NO_CHUNK && !next.contains(&end) {
                    next.push(end);
                }
            }
        }
        states = next;
    }
    states.iter().any(|&(state, word)| chunks.may_end(state) && word & WORD_ENDS == 0)
}

/// The same text in other tokens, as chance has it.
fn another(vocabulary: &Vocabulary, text: &[u8], random: &mut Random) -> Option<Vec<TokenId>> {
    let (mut at, mut tokens) = (0, Vec::new());
    while at < text.len() {
        let all: Vec<(usize, &[TokenId])> =
            vocabulary.trie().prefixes(&text[at..]).filter(|(_, ids)| !ids.is_empty()).collect();
        // Long ones more often, or else all texts are letters.
        let from = if random.below(3) > 0 { all.len().saturating_sub(2) } else { 0 };
        let (length, ids) = all.get(from + random.below((all.len() - from).max(1)))?;
        tokens.push(ids[random.below(ids.len())]);
        at += length;
    }
    Some(tokens)
}

/// Compares on `texts` nasty texts, and three other ways to write each.
fn compare(
    name: &str,
    vocabulary: &Vocabulary,
    literals: &[TokenId],
    texts: usize,
    encode: impl Fn(&str) -> Option<Vec<TokenId>>,
) {
    let encoder = vocabulary.encoder().unwrap_or_else(|reason| panic!("{name}: {reason}"));
    let mut random = Random(7);
    let (mut judged, mut refused, mut accepted) = (0, 0, 0);
    for _ in 0..texts {
        let text: String = (0..=random.below(8)).map(|_| PIECES[random.below(PIECES.len())]).collect();
        let Some(encoding) = encode(&text) else { continue };
        let bytes: Vec<u8> = encoding.iter().flat_map(|&id| vocabulary.bytes(id)).copied().collect();
        if bytes != text.as_bytes() {
            continue;
        }
        judged += 1;
        // Tokens that are cut out before anything else are left out, with the texts that they are in.
        let has_literal = encoding.iter().any(|id| literals.contains(id));
        let found = is_encoding(vocabulary, &encoder, &encoding);
        assert_eq!(found, !has_literal, "{name}: {text:?} is {encoding:?}");
        let mut others: Vec<Vec<TokenId>> =
            (0..3).filter_map(|_| another(vocabulary, &bytes, &mut random)).collect();
        // And the encoding with one border moved.
        let at = random.below(encoding.len());
        let from: usize = encoding[..at].iter().map(|&id| vocabulary.bytes(id).len()).sum();
        let to = from + encoding[at..].iter().take(2).map(|&id| vocabulary.bytes(id).len()).sum::<usize>();
        if let Some(middle) = another(vocabulary, &bytes[from..to], &mut random) {
            let rest = encoding.get(at + 2..).unwrap_or_default();
            others.push([&encoding[..at], &middle, rest].concat());
        }
        for other in others {
            let expected = other == encoding && !has_literal;
            *(if expected { &mut accepted } else { &mut refused }) += 1;
            let found = is_encoding(vocabulary, &encoder, &other);
            assert_eq!(found, expected, "{name}: {text:?} is {encoding:?}, and as {other:?}");
        }
    }
    assert!(judged > texts / 2 && refused > texts && accepted > 0, "{name}: {judged} {refused} {accepted}");
}

#[test]
#[cfg(feature = "builtin")]
fn built_in_encodings_are_cut_as_their_library_cuts() {
    let encoders: [(&str, &tiktoken_rs::CoreBPE); 3] = [
        ("r50k_base", tiktoken_rs::r50k_base_singleton()),
        ("cl100k_base", tiktoken_rs::cl100k_base_singleton()),
        ("o200k_base", tiktoken_rs::o200k_base_singleton()),
    ];
    for (name, library) in encoders {
        let table = gobo_tokenizer::builtin(name).unwrap().table;
        let vocabulary = Vocabulary::from_bytes(&table.build().unwrap()).unwrap();
        vocabulary.verify().unwrap();
        compare(name, &vocabulary, &[], 2_000, |text| Some(library.encode_ordinary(text)));
    }
}

/// `tokenizer.json` without what it puts before a text: a chunk begins where the text does.
fn without_prefix(json: &str) -> Tokenizer {
    let mut file: serde_json::Value = serde_json::from_str(json).unwrap();
    let steps = file.pointer_mut("/normalizer/normalizers").and_then(serde_json::Value::as_array_mut);
    for step in steps.into_iter().flatten() {
        if step["type"] == "Prepend" {
            step["prepend"] = "".into();
        }
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
fn published_tokenizers_are_cut_as_their_library_cuts() {
    let mut found = Vec::new();
    for name in [
        "gpt2",
        "roberta-base",
        "phi-2",
        "o200k_base",
        "qwen2.5",
        "llama-3.1",
        "mistral-tekken",
        "llama2",
        "phi-3",
        "mistral-7b-v0.3",
        "gemma",
    ] {
        let path = folder(name).join("tokenizer.json");
        let table = import(&path, &ImportOptions::default()).unwrap().table;
        let vocabulary = Vocabulary::from_bytes(&table.build().unwrap()).unwrap();
        vocabulary.verify().unwrap();
        if let Err(reason) = vocabulary.encoder() {
            panic!("{name}: {reason}");
        }
        let library = without_prefix(&std::fs::read_to_string(&path).unwrap());
        let literals = &table.encoder().unwrap().unwrap().literals;
        compare(name, &vocabulary, literals, 2_000, |text| {
            Some(library.encode_fast(text, false).unwrap().get_ids().to_vec())
        });
        found.push(name);
    }
    assert_eq!(found.len(), 11);
}

/// The canonical form of what a `tokenizer.json` says.
fn form(json: &serde_json::Value) -> String {
    let imported = gobo_tokenizer::import_bytes("t", json.to_string().as_bytes(), &ImportOptions::default());
    Vocabulary::from_bytes(&imported.unwrap().table.build().unwrap()).unwrap().canonical_form()
}

#[test]
fn what_is_not_known_or_too_large_is_said() {
    let of = |pattern: &str, token: &str| {
        let split =
            serde_json::json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"});
        let steps = [split, serde_json::json!({"type": "ByteLevel", "use_regex": false})];
        form(&serde_json::json!({
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
            "model": {"type": "BPE", "vocab": {"a": 0, token: 1}, "merges": []},
        }))
    };
    assert_eq!(of("(?s:.)", "b"), "yes");
    let ways: Vec<String> = (0x100..0x160).map(|char| format!("\\x{{{char:x}}}")).collect();
    let ways = ways.join("|") + "|(?s:.)";
    for (pattern, reason) in [
        ("a(?=b)|(?s:.)", "which is not supported"),
        (r"(a)\1|(?s:.)", "which is not supported"),
        (r"\s++(?!\S)|(?s:.)", "which is not supported"),
        ("a++a|(?s:.)", "which is not supported"),
        ("a*?b|(?s:.)", "which is not supported"),
        ("a*|(?s:.)", "matches the empty text"),
        ("a+", "leaves out"),
        ("a{600}|(?s:.)", "more than 512 states"),
        (&ways, "more than 64 classes of characters"),
        (&"a|".repeat(3_000), "more than 4096 bytes"),
        ("(?s:.{0,9}a.{20})|(?s:.)", "more than"),
    ] {
        let said = of(pattern, "b");
        assert!(said.starts_with("no: its pre-tokenizer") && said.contains(reason), "{pattern}: {said}");
    }
    assert!(of("(?s:.)", &"b".repeat(300)).contains("300 bytes"), "{}", of("(?s:.)", &"b".repeat(300)));
    let spaces = |byte_fallback: bool| {
        let mark = serde_json::json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
        form(&serde_json::json!({
            "normalizer": mark,
            "model": {"type": "BPE", "byte_fallback": byte_fallback, "vocab": {"▁": 0, "<0xC3>": 1, "<0xA9>": 2}, "merges": []},
        }))
    };
    assert_eq!(spaces(true), "yes");
    assert!(spaces(false).contains("byte_fallback is off"));
}
