//! Published tokenizer files, from `GOBO_DATA`, or else from `shared/data` beside the repository.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use gobo_tokenizer::{
    BUILTIN, Encoder, ImportError, ImportOptions, Imported, RoundTrip, TokenChoice, builtin, import,
    import_bytes, import_table, ordinary_bytes,
};
use gobo_types::TokenId;
use gobo_vocab::{Token, TokenTable};

/// One row of the collection's own description.
struct Expected {
    folder: &'static str,
    kind: &'static str,
    /// Highest id + 1.
    length: usize,
    holes: usize,
    special: usize,
    eos: &'static [TokenId],
    not_utf8: usize,
    /// Byte strings of two ordinary ids.
    duplicates: Option<usize>,
}

const BYTE_LEVEL: &str = "byte-level BPE";
const BYTE_FALLBACK: &str = "byte-fallback BPE";

#[rustfmt::skip]
const EXPECTED: [Expected; 12] = [
    Expected { folder: "gpt2", kind: BYTE_LEVEL, length: 50_257, holes: 0, special: 1, eos: &[50_256], not_utf8: 344, duplicates: Some(0) },
    Expected { folder: "llama-3.1", kind: BYTE_LEVEL, length: 128_256, holes: 0, special: 256, eos: &[128_001, 128_008, 128_009], not_utf8: 1352, duplicates: Some(0) },
    Expected { folder: "qwen2.5", kind: BYTE_LEVEL, length: 151_665, holes: 0, special: 14, eos: &[151_643, 151_645], not_utf8: 1448, duplicates: Some(0) },
    Expected { folder: "llama2", kind: BYTE_FALLBACK, length: 32_000, holes: 1, special: 2, eos: &[2], not_utf8: 128, duplicates: Some(96) },
    Expected { folder: "phi-3", kind: BYTE_FALLBACK, length: 32_011, holes: 1, special: 13, eos: &[2, 32_000, 32_007], not_utf8: 128, duplicates: Some(96) },
    Expected { folder: "mistral-7b-v0.3", kind: BYTE_FALLBACK, length: 32_768, holes: 1, special: 770, eos: &[2], not_utf8: 128, duplicates: Some(125) },
    Expected { folder: "mistral-tekken", kind: BYTE_LEVEL, length: 131_072, holes: 0, special: 1000, eos: &[2], not_utf8: 1435, duplicates: Some(0) },
    Expected { folder: "gemma", kind: BYTE_FALLBACK, length: 256_000, holes: 1, special: 3, eos: &[1], not_utf8: 128, duplicates: Some(125) },
    Expected { folder: "o200k_base", kind: BYTE_LEVEL, length: 200_019, holes: 19, special: 2, eos: &[199_999], not_utf8: 1562, duplicates: Some(0) },
    Expected { folder: "phi-2", kind: BYTE_LEVEL, length: 50_295, holes: 0, special: 1, eos: &[50_256], not_utf8: 344, duplicates: None },
    Expected { folder: "falcon", kind: BYTE_LEVEL, length: 65_024, holes: 0, special: 12, eos: &[11], not_utf8: 946, duplicates: None },
    Expected { folder: "roberta-base", kind: BYTE_LEVEL, length: 50_265, holes: 0, special: 5, eos: &[2], not_utf8: 344, duplicates: None },
];

/// Texts that every tokenizer here can write.
const CORPUS: [&str; 33] = [
    "hello",
    " hello",
    "Hello, world!",
    "fn main() {\n    let x = vec![1, 2, 3];\n\tprintln!(\"{x:?}\");\n}\n",
    r#"{"name": "Zoë", "n": -12.5e+3, "tags": ["a", "b\n", "\u00e9"], "ok": null}"#,
    r#"{"a":[1,2,{"b":"c"}]}"#,
    "[\n  \"x\",\n  \"y\"\n]",
    "if (a && b || !c) { return a<<=2; } // ---===---",
    "The quick brown fox's 12345678 jumps — “quoted” … don't, I'LL",
    "Straße, naïve, żółć, ĿġĊ",
    "日本語のテキストです。漢字かな交じり文",
    "你好,世界!",
    "한국어 텍스트",
    "Привет, мир",
    "שלום עולם",
    "مرحبا بالعالم",
    "नमस्ते दुनिया",
    "สวัสดีชาวโลก",
    "🙂👨‍👩‍👧‍👦🏳️‍🌈🇩🇪",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈",
    " ",
    "  ",
    "       leading",
    "trailing   ",
    "\n",
    "\n\n\n",
    "\n  indented\n\n\n    more\r\n",
    "\t\t\ttabs\t",
    "a\u{a0}b",
    "<|endoftext|></s><s>[INST]<eos><|im_end|>",
    "<0x0A> <unk>",
    "2024-02-29T23:59:60Z 192.168.0.1 a.b+c@example.org",
    ".,;:!?-_()[]{}'\"`~@#$%^&*+=|\\/<>",
];

/// The folder of a tokenizer.
pub(crate) fn folder(name: &str) -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder =
        std::env::var_os("GOBO_DATA").map_or_else(beside, PathBuf::from).join("tokenizers").join(name);
    assert!(folder.is_dir(), "{} is not there; set GOBO_DATA", folder.display());
    folder
}

fn imported(folder: &Path) -> Imported {
    import(folder, &ImportOptions::default()).unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

fn ordinary(table: &TokenTable) -> impl Iterator<Item = (usize, &Token)> {
    table.tokens().iter().enumerate().filter(|(_, token)| !token.special && !token.bytes.is_empty())
}

/// Whether the encoder spells `text` with its exact bytes.
fn reproduces(encoder: &Encoder, table: &TokenTable, text: &str) -> bool {
    let ids = encoder.encode_continuation(text, ordinary_bytes(table)).unwrap();
    ids.is_some_and(|ids| {
        let bytes: Vec<&[u8]> = ids.into_iter().map(|id| ordinary_bytes(table)(id).unwrap()).collect();
        bytes.concat() == text.as_bytes()
    })
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn counts_are_those_of_the_collection() {
    for expected in EXPECTED {
        let folder = folder(expected.folder);
        let name = expected.folder;
        let found = imported(&folder);
        let tokens = found.table.tokens();
        assert_eq!(found.kind, expected.kind, "{name}");
        assert_eq!((tokens.len(), found.logits_width as usize), (expected.length, expected.length), "{name}");
        let holes = tokens.iter().filter(|token| token.bytes.is_empty()).count();
        assert_eq!(holes, expected.holes, "{name}: holes");
        assert_eq!(tokens.iter().filter(|token| token.special).count(), expected.special, "{name}: special");
        assert_eq!(found.eos, expected.eos, "{name}: eos");
        let not_utf8 = ordinary(&found.table).filter(|(_, token)| std::str::from_utf8(&token.bytes).is_err());
        assert_eq!(not_utf8.count(), expected.not_utf8, "{name}: not UTF-8");
        let mut ids = HashMap::<&[u8], usize>::new();
        ordinary(&found.table).for_each(|(_, token)| *ids.entry(&token.bytes).or_default() += 1);
        if let Some(duplicates) = expected.duplicates {
            assert!(ids.values().all(|&count| count <= 2), "{name}");
            assert_eq!(ids.values().filter(|&&count| count == 2).count(), duplicates, "{name}: duplicates");
        }
        let unspelled = (0..=255).filter(|&byte| !ids.contains_key(&[byte][..])).count();
        assert_eq!(unspelled, if name == "falcon" { 28 } else { 0 }, "{name}: bytes without a token");
    }
}

/// The same JSON with the fields of every object in the opposite order.
fn reversed(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(fields) => {
            fields.into_iter().rev().map(|(name, value)| (name, reversed(value))).collect()
        }
        serde_json::Value::Array(values) => values.into_iter().map(reversed).collect(),
        other => other,
    }
}

/// Neither of a field's place nor of spacing, nor of what the binding says.
#[test]
#[ignore = "needs GOBO_DATA"]
fn the_digest_is_of_the_table_alone() {
    let scratch = std::env::temp_dir().join(format!("gobo-tokenizer-digest-{}", std::process::id()));
    fs::create_dir_all(&scratch).unwrap();
    let file = scratch.join("tokenizer.json");
    let names = EXPECTED.iter().map(|expected| expected.folder).chain(["t5-small", "bert-base-uncased"]);
    for name in names {
        let folder = folder(name);
        let found = imported(&folder);
        let text = fs::read(folder.join("tokenizer.json")).unwrap();
        let other = reversed(serde_json::from_slice(&text).unwrap());
        let other = serde_json::to_string_pretty(&other).unwrap();
        assert_ne!(text, other.as_bytes(), "{name}");
        fs::write(&file, other).unwrap();
        let options = ImportOptions {
            eos: vec![TokenChoice::Id(0), TokenChoice::Id(7)],
            bos: Some(TokenChoice::Id(8)),
            pad: Some(TokenChoice::Id(9)),
            logits_width: Some(found.logits_width + 64),
            ..ImportOptions::default()
        };
        let other = import(&file, &options).unwrap();
        assert_eq!(other.table.digest(), found.table.digest(), "{name}");
        assert_ne!(other.binding(), found.binding(), "{name}");
    }
    fs::remove_dir_all(&scratch).unwrap();
}

/// The same table from a file, from its bytes under another name, and from the bytes of its ids.
#[test]
#[ignore = "needs GOBO_DATA"]
fn a_file_its_bytes_and_its_table_have_one_digest() {
    let names = EXPECTED.iter().map(|expected| expected.folder).chain(["t5-small", "bert-base-uncased"]);
    let files = names.map(|name| folder(name).join("tokenizer.json"));
    let options = ImportOptions::default();
    for file in files.chain([folder("o200k_base").join("o200k_base.tiktoken")]) {
        let found = imported(&file);
        let bytes = fs::read(&file).unwrap();
        assert_eq!(import_bytes("a/model-1.5", &bytes, &options).unwrap(), found, "{}", file.display());
        let tokens = found.table.tokens().iter().map(|token| (token.bytes.clone(), token.special));
        let table = import_table(tokens, &options).unwrap();
        assert_eq!(table.table.digest(), found.table.digest(), "{}", file.display());
        assert_eq!((table.kind, table.logits_width), ("table", found.logits_width));
        // What ends a text is named as special, but for names of ordinary added tokens.
        let special = |id: &&TokenId| found.table.tokens()[**id as usize].special;
        assert!(found.eos.iter().filter(special).eq(&table.eos), "{}: {:?}", file.display(), table.eos);
    }
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn tokens_that_the_description_names() {
    {
        let table = imported(&folder("llama2")).table;
        for (ids, bytes) in [([36, 29991], "!"), ([35, 29871], " "), ([16, 30004], "\r")] {
            assert!(ids.iter().all(|&id: &usize| table.tokens()[id].bytes == bytes.as_bytes()), "{bytes:?}");
        }
        assert_eq!(imported(&folder("phi-3")).table.tokens()[..32_000], table.tokens()[..]);
    }
    {
        let table = imported(&folder("phi-2")).table;
        assert_eq!(table.tokens()[50_257], Token { bytes: vec![b' '; 31], special: false });
    }
    {
        let table = imported(&folder("qwen2.5")).table;
        assert_eq!(table.tokens()[151_657], Token { bytes: b"<tool_call>".into(), special: false });
    }
    {
        let table = imported(&folder("gemma")).table;
        assert_eq!(table.tokens()[107], Token { bytes: b"<end_of_turn>".into(), special: false });
        assert_eq!((&*table.tokens()[108].bytes, &*table.tokens()[227].bytes), (&b"\n"[..], &b"\n"[..]));
    }
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn pieces_of_t5() {
    let folder = folder("t5-small");
    let found = imported(&folder);
    let tokens = found.table.tokens();
    assert_eq!((found.kind, tokens.len(), found.eos), ("Unigram", 32_100, vec![1]));
    assert_eq!(tokens.iter().filter(|token| token.special).count(), 102);
    let holes: Vec<usize> = (0..tokens.len()).filter(|&id| tokens[id].bytes.is_empty()).collect();
    assert_eq!(holes, [2]);
    assert_eq!((&*tokens[3].bytes, &*tokens[8].bytes), (&b" "[..], &b" the"[..]));
    assert!(
        !ordinary(&found.table).any(|(_, token)| token.bytes.iter().any(|byte| b"{}\\\n".contains(byte)))
    );
    let encoder = Encoder::open(&folder).unwrap();
    for text in [" hello", " The quick brown fox, 1234.", "ing", " d'accord; voilà (so)"] {
        assert!(reproduces(&encoder, &found.table, text), "{text:?}");
    }
    let encode = |text| encoder.encode_continuation(text, ordinary_bytes(&found.table)).unwrap();
    assert_eq!(encode(" {}"), None);
    assert_eq!(encode(" a  b"), None);
    // Every character of it but one is in some piece: there is no ï, so the source itself writes `<unk>` for it.
    assert_eq!(encode(" d'accord; naïve (so)"), None);
    assert!(!ordinary(&found.table).any(|(_, token)| String::from_utf8_lossy(&token.bytes).contains('ï')));
}

/// Every piece after another, as the decoder of the library writes it.
#[test]
#[ignore = "needs GOBO_DATA"]
fn pieces_of_bert() {
    let folder = folder("bert-base-uncased");
    let found = imported(&folder);
    let tokens = found.table.tokens();
    assert_eq!((found.kind, tokens.len()), ("WordPiece", 30_522));
    assert!(found.eos.is_empty());
    assert_eq!(tokens.iter().filter(|token| token.special).count(), 4);
    let holes: Vec<usize> = (0..tokens.len()).filter(|&id| tokens[id].bytes.is_empty()).collect();
    assert_eq!(holes, [100]);
    let library = tokenizers::Tokenizer::from_file(folder.join("tokenizer.json")).unwrap();
    let prompt = library.token_to_id("the").unwrap();
    for (id, token) in ordinary(&found.table) {
        let decoded = library.decode(&[prompt, TokenId::try_from(id).unwrap()], false).unwrap();
        assert_eq!(decoded.strip_prefix("the").map(str::as_bytes), Some(&*token.bytes), "{id}");
    }
    let encoder = Encoder::open(&folder).unwrap();
    for text in [" hello world", " the quick brown fox, 1234.", " a ( b ) - c", "ing"] {
        assert!(reproduces(&encoder, &found.table, text), "{text:?}");
    }
    let encode = |text| encoder.encode_continuation(text, ordinary_bytes(&found.table)).unwrap();
    for text in [" Hello", " a-b", "\n"] {
        assert_eq!(encode(text), None, "{text:?}");
    }
}

#[test]
#[cfg(feature = "builtin")]
#[ignore = "needs GOBO_DATA"]
fn the_three_packages_of_o200k_base_agree() {
    let folder = folder("o200k_base");
    let json = imported(&folder);
    let ranks = imported(&folder.join("o200k_base.tiktoken"));
    let built_in = builtin("o200k_base").unwrap();
    assert_eq!(json.table, built_in.table);
    assert_eq!((&json.eos, json.logits_width), (&built_in.eos, built_in.logits_width));
    assert_eq!((ranks.kind, ranks.logits_width), ("tiktoken", 199_998));
    assert!(ranks.eos.is_empty());
    assert!(ordinary(&json.table).eq(ordinary(&ranks.table)));
    let list = std::env::temp_dir().join(format!("gobo-tokenizer-o200k-special-{}.json", std::process::id()));
    fs::write(&list, r#"{"<|endoftext|>": 199999, "<|endofprompt|>": 200018}"#).unwrap();
    let options = ImportOptions { special: Some(list.clone()), ..ImportOptions::default() };
    let with_special = import(&folder.join("o200k_base.tiktoken"), &options).unwrap();
    fs::remove_file(&list).unwrap();
    assert_eq!(with_special.table.digest(), built_in.table.digest());
    assert_eq!((with_special.eos, with_special.logits_width), (built_in.eos, built_in.logits_width));
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn every_text_of_the_corpus_is_encoded_with_its_own_bytes() {
    for Expected { folder: name, .. } in EXPECTED {
        let folder = folder(name);
        let table = imported(&folder).table;
        let encoder = Encoder::open(&folder).unwrap();
        for text in CORPUS {
            assert!(reproduces(&encoder, &table, text), "{name}: {text:?}");
        }
    }
}

/// The judge is the `tokenizers` library's own decoder, which shares no code with the import.
#[test]
#[ignore = "needs GOBO_DATA"]
fn every_id_of_every_file_is_what_its_own_decoder_writes() {
    let names = EXPECTED.iter().map(|expected| expected.folder).chain(["t5-small", "bert-base-uncased"]);
    for name in names {
        let folder = folder(name);
        let table = imported(&folder).table;
        let len = u32::try_from(table.tokens().len()).unwrap();
        let found = Encoder::open(&folder).unwrap().conformance(len, ordinary_bytes(&table)).unwrap();
        assert!(
            found.passes(),
            "{name}: {:?} {:?}",
            &found.mismatches[..found.mismatches.len().min(5)],
            found.round_trips
        );
        // The corpus goes through every tokenizer that can write all of Unicode.
        let kept = found.round_trips.values().filter(|trip| **trip == RoundTrip::Equal).count();
        assert_eq!(
            kept == found.round_trips.len(),
            !["t5-small", "bert-base-uncased"].contains(&name),
            "{name}"
        );
        // Every other byte is compared, those that are a part of a character too.
        assert!(found.as_replacement <= 32, "{name}: {}", found.as_replacement);
        // A wrong byte is found.
        let broken =
            |id| ordinary_bytes(&table)(id).map(|bytes| if bytes == b"the" { &b"teh"[..] } else { bytes });
        let found = Encoder::open(&folder).unwrap().conformance(len, broken).unwrap();
        assert!(!found.passes(), "{name}");
    }
}

#[test]
fn built_in_encodings_encode_the_corpus() {
    for &name in BUILTIN {
        let table = builtin(name).unwrap().table;
        let encoder = Encoder::builtin(name).unwrap();
        for text in CORPUS {
            assert!(reproduces(&encoder, &table, text), "{name}: {text:?}");
        }
    }
    assert!(Encoder::builtin("p50k_base").is_none());
}

#[test]
#[cfg(feature = "builtin")]
#[ignore = "needs GOBO_DATA"]
fn both_libraries_cut_o200k_base_alike() {
    let folder = folder("o200k_base");
    let table = builtin("o200k_base").unwrap().table;
    let encoders = [
        Encoder::open(&folder).unwrap(),
        Encoder::open(&folder.join("o200k_base.tiktoken")).unwrap(),
        Encoder::builtin("o200k_base").unwrap(),
    ];
    for text in CORPUS {
        let [json, ranks, built_in] = encoders
            .each_ref()
            .map(|encoder| encoder.encode_continuation(text, ordinary_bytes(&table)).unwrap());
        assert_eq!(json, built_in, "{text:?}");
        assert_eq!(ranks, built_in, "{text:?}");
    }
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn texts_that_the_tokenizer_changes_are_not_encodable() {
    for (name, text) in [("qwen2.5", "e\u{301}"), ("llama2", "a\u{2581}b"), ("gemma", "\u{2581}")] {
        let folder = folder(name);
        let table = imported(&folder).table;
        let encoder = Encoder::open(&folder).unwrap();
        assert_eq!(
            encoder.encode_continuation(text, ordinary_bytes(&table)).unwrap(),
            None,
            "{name}: {text:?}"
        );
        assert_eq!(encoder.encode_continuation("", ordinary_bytes(&table)).unwrap(), Some(vec![]));
    }
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn truncated_files_are_refused_with_their_length() {
    let scratch = std::env::temp_dir().join(format!("gobo-tokenizer-truncated-{}", std::process::id()));
    fs::create_dir_all(&scratch).unwrap();
    let whole = fs::read(folder("gpt2").join("tokenizer.json")).unwrap();
    let file = scratch.join("tokenizer.json");
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let error = import(&scratch, &ImportOptions::default()).unwrap_err();
    assert!(
        matches!(&error, ImportError::Truncated { length_bytes, path, .. } if *length_bytes == whole.len() / 2 && *path == file),
        "{error:?}"
    );
    fs::remove_dir_all(&scratch).unwrap();
}

#[test]
fn ranks_alone_do_not_say_how_they_cut() {
    let scratch = std::env::temp_dir().join(format!("gobo-tokenizer-ranks-{}", std::process::id()));
    fs::create_dir_all(&scratch).unwrap();
    let ranks = scratch.join("own.tiktoken");
    fs::write(&ranks, "YQ== 0\nYg== 1\n").unwrap();
    assert_eq!(imported(&ranks).table.tokens().len(), 2);
    assert!(Encoder::open(&ranks).unwrap().judge().contains("does not say how"));
    fs::remove_dir_all(&scratch).unwrap();
}
