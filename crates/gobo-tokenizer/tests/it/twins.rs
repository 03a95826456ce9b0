//! One vocabulary in several formats: files that the tests write, with the same table as their `tokenizer.json`.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use gobo_tokenizer::{
    BinaryProblem, CORPUS, Conformance, Encoder, ImportError, ImportOptions, Imported, MergeProblem, import,
    import_bytes, ordinary_bytes,
};
use gobo_types::ErrorKind;

/// A file of its own for every call.
fn written(name: &str, content: &[u8]) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("gobo-tokenizer-twins-{}-{count}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    fs::write(&file, content).unwrap();
    file
}

fn try_import(name: &str, content: &[u8]) -> Result<Imported, ImportError> {
    let file = written(name, content);
    let found = import(&file, &ImportOptions::default());
    fs::remove_dir_all(file.parent().unwrap()).unwrap();
    // The content alone says as much.
    match (&found, import_bytes("from memory", content, &ImportOptions::default())) {
        (Ok(found), Ok(of_bytes)) => assert_eq!(&of_bytes, found, "{name}"),
        (Err(_), Err(error)) => assert!(error.to_string().contains("from memory"), "{name}: {error}"),
        (found, of_bytes) => panic!("{name}: {found:?} from the file, {of_bytes:?} from its bytes"),
    }
    found
}

fn imported(name: &str, content: &[u8]) -> Imported {
    try_import(name, content).unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

/// The folder of a published tokenizer.
fn published(name: &str) -> PathBuf {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("GOBO_DATA").map_or_else(beside, PathBuf::from);
    let folder = data.join("tokenizers").join(name);
    assert!(folder.is_dir(), "{} is not there; set GOBO_DATA", folder.display());
    folder
}

/// Asserts that the encoder of a file passes for its own vocabulary, and cuts texts as the encoder of `twin` does.
fn cuts_like(name: &str, content: &[u8], twin: &Path, imported: &Imported) {
    let file = written(name, content);
    let (encoder, twin) = (Encoder::open(&file).unwrap(), Encoder::open(twin).unwrap());
    fs::remove_dir_all(file.parent().unwrap()).unwrap();
    assert_ne!(encoder.judge(), twin.judge());
    let len = u32::try_from(imported.table.tokens().len()).unwrap();
    let found = encoder.conformance(len, ordinary_bytes(&imported.table)).unwrap();
    assert!(found.passes(), "{name}: {:?} {:?}", found.mismatches.first(), found.round_trips);
    assert!(found.as_replacement <= 13, "{name}: {}", found.as_replacement);
    for (about, text) in CORPUS {
        let encode =
            |encoder: &Encoder| encoder.encode_continuation(text, ordinary_bytes(&imported.table)).unwrap();
        assert_eq!(encode(&encoder), encode(&twin), "{name}: {about}");
    }
}

const TEKKEN: &str = r#"{"config": {"pattern": ".", "default_vocab_size": 5, "default_num_special_tokens": 3},
    "vocab": [{"rank": 0, "token_bytes": "YQ==", "token_str": "a"}, {"rank": 1, "token_bytes": "/w==", "token_str": null},
        {"rank": 2, "token_bytes": "Yg==", "token_str": "b"}]}"#;

fn tekken_twin(names: [&str; 3]) -> String {
    let added: Vec<String> = (0..)
        .zip(names)
        .map(|(id, name)| format!(r#"{{"id": {id}, "content": "{name}", "special": true}}"#))
        .collect();
    format!(
        r#"{{"pre_tokenizer": {{"type": "ByteLevel"}}, "added_tokens": [{}],
            "model": {{"type": "BPE", "vocab": {{"a": 3, "ÿ": 4}}, "merges": []}}}}"#,
        added.join(",")
    )
}

#[test]
fn tekken_and_its_twin() {
    let found = imported("tekken.json", TEKKEN.as_bytes());
    assert_eq!((found.kind, &found.eos[..], found.logits_width), ("tekken", &[2][..], 5));
    assert_eq!((found.bos, found.pad), (Some(1), None));
    let twin = imported("tokenizer.json", tekken_twin(["<unk>", "<s>", "</s>"]).as_bytes());
    assert_eq!(found.table.digest(), twin.table.digest());
    let listed = TEKKEN.replacen(
        '{',
        r#"{"special_tokens": [{"rank": 2, "token_str": "</s>", "is_control": true}, {"rank": 0, "token_str": "<u>"}],"#,
        1,
    );
    let twin = imported("tokenizer.json", tekken_twin(["<u>", "<SPECIAL_1>", "</s>"]).as_bytes());
    assert_eq!(imported("v7.json", listed.as_bytes()).table.digest(), twin.table.digest());
    let file = written("tekken.json", TEKKEN.as_bytes());
    // A folder may have no other tokenizer.
    let folder = file.parent().unwrap();
    assert_eq!(import(folder, &ImportOptions::default()).unwrap(), found);
    fs::remove_dir_all(folder).unwrap();
}

/// The published file, written anew from its `tokenizer.json`.
#[test]
#[ignore = "needs GOBO_DATA"]
fn tekken_in_full_size() {
    let folder = published("mistral-tekken");
    let twin = import(&folder, &ImportOptions::default()).unwrap();
    let ranks: Vec<String> = (0..)
        .zip(&twin.table.tokens()[1000..])
        .map(|(rank, token)| {
            format!(r#"{{"rank": {rank}, "token_bytes": "{}"}}"#, BASE64_STANDARD.encode(&token.bytes))
        })
        .collect();
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("tokenizer.json")).unwrap()).unwrap();
    let pattern = &json["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"];
    assert!(pattern.is_string(), "{}", json["pre_tokenizer"]);
    let config = format!(
        r#"{{"pattern": {pattern}, "default_vocab_size": 131072, "default_num_special_tokens": 1000}}"#
    );
    let json = format!(r#"{{"config": {config}, "vocab": [{}]}}"#, ranks.join(","));
    let found = imported("tekken.json", json.as_bytes());
    cuts_like("tekken.json", json.as_bytes(), &folder, &twin);
    assert_eq!(found.table.digest(), twin.table.digest());
    assert_eq!(found.eos, twin.eos);
}

#[test]
fn bad_tekken_files_name_the_field() {
    for (from, to, expected) in [
        ("size\": 5", "size\": 10000000", "config.default_vocab_size"),
        ("size\": 5", "size\": 18446744073709551615", "config.default_vocab_size"),
        ("tokens\": 3", "tokens\": 6", "config.default_num_special_tokens"),
        ("YQ==", "YQ=", "vocab[0].token_bytes"),
        ("\"rank\": 1", "\"rank\": 7", "vocab"),
        ("/w==", "", "vocab"),
        ("size\": 5", "size\": 4000000", "vocab"),
        ("{", r#"{"special_tokens": [{"rank": 3, "token_str": "x"}],"#, "special_tokens[0].rank"),
    ] {
        match try_import("tekken.json", TEKKEN.replacen(from, to, 1).as_bytes()) {
            Err(ImportError::Field { field, .. }) => assert_eq!(field, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
    let twice = TEKKEN.replace("\"rank\": 1", "\"rank\": 0");
    assert!(matches!(try_import("tekken.json", twice.as_bytes()), Err(ImportError::Token { .. })));
    let negative = TEKKEN.replace("\"rank\": 1", "\"rank\": -1");
    assert!(matches!(try_import("tekken.json", negative.as_bytes()), Err(ImportError::WrongShape { .. })));
    let cut = &TEKKEN.as_bytes()[..100];
    assert!(matches!(try_import("tekken.json", cut), Err(ImportError::Truncated { .. })));
}

/// Pieces with their types, which SentencePiece and GGUF share.
const PIECES: [(&str, u8); 8] =
    [("<unk>", 2), ("<s>", 3), ("</s>", 3), ("<0x0A>", 6), ("▁the", 1), ("▁▁", 4), ("é", 1), ("<0x41>", 1)];

/// Without the last piece, whose type has no like there: a `<0x41>` that is text.
const PIECES_TWIN: &str = r#"{"added_tokens": [{"id": 0, "content": "<unk>", "special": true},
    {"id": 1, "content": "<s>", "special": true}, {"id": 2, "content": "</s>", "special": true},
    {"id": 5, "content": "▁▁", "special": false}],
    "decoder": {"type": "Metaspace", "replacement": "▁"},
    "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "merges": [],
        "vocab": {"<unk>": 0, "<s>": 1, "</s>": 2, "<0x0A>": 3, "▁the": 4, "▁▁": 5, "é": 6}}}"#;

/// A field of protobuf that has a length.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut key = u16::from(number) << 3 | 2;
    let mut bytes = Vec::new();
    while key >= 0x80 {
        bytes.push(u8::try_from(key & 0x7f).unwrap() | 0x80);
        key >>= 7;
    }
    bytes.extend([u8::try_from(key).unwrap(), u8::try_from(content.len()).unwrap()]);
    [&bytes, content].concat()
}

fn piece(text: &[u8], kind: u8) -> Vec<u8> {
    scored_piece(text, kind, -1.0)
}

fn scored_piece(text: &[u8], kind: u8, score: f32) -> Vec<u8> {
    field(1, &[&field(1, text)[..], &[0x15], &score.to_le_bytes(), &[0x18, kind]].concat())
}

fn model(pieces: &[(&str, u8)], trainer: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = pieces.iter().flat_map(|(text, kind)| piece(text.as_bytes(), *kind)).collect();
    bytes.extend(field(2, trainer));
    bytes
}

#[test]
fn sentence_piece_models_and_their_twin() {
    let twin = imported("tokenizer.json", PIECES_TWIN.as_bytes());
    let found = imported("tokenizer.model", &model(&PIECES[..7], &[0x18, 2]));
    assert_eq!((found.kind, &found.eos[..], found.logits_width), ("SentencePiece BPE", &[2][..], 7));
    assert_eq!(found.table.digest(), twin.table.digest());
    // The type of the model and of a piece have defaults; the end of text may have another name.
    let found = imported("spiece.model", &model(&PIECES, &field(47, b"<s>")));
    assert_eq!((found.kind, &found.eos[..]), ("SentencePiece Unigram", &[1][..]));
    assert_eq!((found.bos, found.pad), (Some(1), None));
    let named = [field(46, b"</s>"), field(48, b"<s>")].concat();
    let found = imported("spiece.model", &model(&PIECES, &named));
    assert_eq!((found.bos, found.pad), (Some(2), Some(1)));
    assert_eq!(found.table.tokens()[7].bytes, b"<0x41>");
    let defaults = [&field(1, &field(1, "▁".as_bytes()))[..], &[0x51, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    assert_eq!(imported("x.model", &defaults).table.tokens()[0].bytes, b" ");
}

#[test]
fn bad_sentence_piece_models_say_where() {
    let problem = |bytes: &[u8]| match try_import("x.model", bytes) {
        Err(ImportError::Binary { offset, source, .. }) => (offset, source),
        other => panic!("{other:?}"),
    };
    let whole = model(&PIECES, &[0x18, 2]);
    for end in 1..whole.len() {
        // Cut between two fields of the file, it is a shorter model.
        match try_import("x.model", &whole[..end]) {
            Err(ImportError::Binary { source: BinaryProblem::Truncated { .. }, .. }) => {}
            Ok(found) => assert!(found.table.tokens().len() < 9),
            Err(ImportError::Token { .. }) => assert!(end < 60, "only control pieces up to {end}"),
            other => panic!("{end}: {other:?}"),
        }
    }
    let huge = [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    let (offset, source) = problem(&huge);
    assert_eq!((offset, source), (11, BinaryProblem::Truncated { needed_bytes: u64::MAX, left_bytes: 0 }));
    assert_eq!(problem(&[&[0x0a][..], &[0xff; 12]].concat()), (1, BinaryProblem::Varint));
    assert_eq!(problem(&[0x0a, 1, 0x0b]), (2, BinaryProblem::ValueType { kind: 3 }));
    assert_eq!(problem(&piece(b"", 1)), (0, BinaryProblem::Nameless));
    assert_eq!(problem(&piece(b"a", 9)), (10, BinaryProblem::PieceKind { kind: 9 }));
    assert!(matches!(problem(&piece(b"a\xff", 1)), (2, BinaryProblem::Text(_))));
    assert!(matches!(problem(&piece(b"a", 6)), (0, BinaryProblem::ByteName { token }) if token == "a"));
    let words = try_import("x.model", &model(&PIECES, &[0x18, 3])).unwrap_err();
    assert_eq!(words.kind(), ErrorKind::Unsupported);
    let twice = try_import("x.model", &model(&[("a", 1), ("b", 1), ("a", 1)], &[]));
    assert!(matches!(twice, Err(ImportError::DuplicateToken { first: 0, second: 2, .. })));
}

/// A SentencePiece model with more pieces than any vocabulary.
#[test]
fn absurdly_many_pieces_are_refused() {
    let bytes = piece(b"a", 1).repeat((1 << 22) + 1);
    let error = try_import("x.model", &bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

fn gguf_text(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text].concat()
}

fn gguf_entry(key: &str, kind: u32, value: &[u8]) -> Vec<u8> {
    [&gguf_text(key.as_bytes())[..], &kind.to_le_bytes(), value].concat()
}

fn gguf_array(kind: u32, count: u64, content: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &count.to_le_bytes(), content].concat()
}

fn gguf_strings(texts: &[&[u8]]) -> Vec<u8> {
    let content: Vec<u8> = texts.iter().flat_map(|text| gguf_text(text)).collect();
    gguf_array(8, texts.len() as u64, &content)
}

fn gguf_of(version: u32, entries: &[Vec<u8>]) -> Vec<u8> {
    let count = entries.len() as u64;
    let head = [&b"GGUF"[..], &version.to_le_bytes(), &7_u64.to_le_bytes(), &count.to_le_bytes()].concat();
    [head, entries.concat()].concat()
}

fn gguf_entries(model: &str, tokens: &[(&str, u8)]) -> Vec<Vec<u8>> {
    let texts: Vec<&[u8]> = tokens.iter().map(|(text, _)| text.as_bytes()).collect();
    let kinds: Vec<u8> = tokens.iter().flat_map(|(_, kind)| u32::from(*kind).to_le_bytes()).collect();
    // Of no meaning beside pieces, and not looked at there.
    let merges: &[&[u8]] = if model == "llama" { &[b"a b", b"c \xff"] } else { &[] };
    let nested = gguf_array(9, 1, &gguf_array(0, 2, &[1, 2]));
    vec![
        gguf_entry("general.name", 8, &gguf_text(b"a model")),
        gguf_entry("tokenizer.ggml.model", 8, &gguf_text(model.as_bytes())),
        gguf_entry("tokenizer.ggml.tokens", 9, &gguf_strings(&texts)),
        // Of no meaning beside pieces, and not read there.
        gguf_entry("tokenizer.ggml.merges", 9, &gguf_strings(merges)),
        gguf_entry("tokenizer.ggml.scores", 9, &gguf_array(6, 2, &[0; 8])),
        gguf_entry("other.nested", 9, &nested),
        gguf_entry("tokenizer.ggml.token_type", 9, &gguf_array(5, tokens.len() as u64, &kinds)),
        gguf_entry("tokenizer.ggml.eos_token_id", 4, &2_u32.to_le_bytes()),
        gguf_entry("tokenizer.ggml.eot_token_id", 5, &(-1_i32).to_le_bytes()),
        gguf_entry("tokenizer.ggml.bos_token_id", 4, &1_u32.to_le_bytes()),
        gguf_entry("tokenizer.ggml.padding_token_id", 10, &0_u64.to_le_bytes()),
        gguf_entry("tokenizer.ggml.add_bos_token", 7, &[1]),
    ]
}

#[test]
fn gguf_llama_and_its_twin() {
    let twin = imported("tokenizer.json", PIECES_TWIN.as_bytes());
    for version in [2, 3] {
        let mut bytes = gguf_of(version, &gguf_entries("llama", &PIECES[..7]));
        bytes.extend([0xff; 100]);
        let found = imported("model.gguf", &bytes);
        assert_eq!((found.kind, &found.eos[..], found.logits_width), ("GGUF llama", &[2][..], 7));
        assert_eq!((found.bos, found.pad), (Some(1), Some(0)));
        assert_eq!(found.table.digest(), twin.table.digest());
    }
}

#[test]
fn gguf_gpt2_and_its_twin() {
    let tokens = [("Ġa", 1), ("Ã", 1), ("<|end|>", 3), ("  é", 4), ("[PAD4]", 5), ("[PAD5]", 5)];
    let found = imported("any name", &gguf_of(3, &gguf_entries("gpt2", &tokens)));
    assert_eq!((found.kind, &found.eos[..], found.logits_width), ("GGUF gpt2", &[2][..], 6));
    let twin = r#"{"pre_tokenizer": {"type": "ByteLevel"}, "added_tokens": [
        {"id": 2, "content": "<|end|>", "special": true}, {"id": 3, "content": "  é", "special": false}],
        "model": {"type": "BPE", "vocab": {"Ġa": 0, "Ã": 1}, "merges": []}}"#;
    assert_eq!(found.table.digest(), imported("tokenizer.json", twin.as_bytes()).table.digest());
    let outside = try_import("x", &gguf_of(3, &gguf_entries("gpt2", &[("a b", 1)]))).unwrap_err();
    assert!(matches!(outside, ImportError::OutsideAlphabet { id: 0, character: ' ', .. }));
}

#[test]
fn bad_gguf_files_say_where_or_which_field() {
    let whole = gguf_of(3, &gguf_entries("llama", &PIECES[..7]));
    for end in 4..whole.len() {
        match try_import("x.gguf", &whole[..end]) {
            Err(ImportError::Binary { source: BinaryProblem::Truncated { .. }, .. }) => {}
            other => panic!("{end}: {other:?}"),
        }
    }
    for (version, kind) in [(1_u32, "GGUF version 1"), (3 << 24, "big-endian GGUF")] {
        let error = try_import("x.gguf", &gguf_of(version, &[])).unwrap_err();
        assert!(matches!(error, ImportError::UnsupportedKind { kind: found, .. } if found == kind));
    }
    let bert = try_import("x.gguf", &gguf_of(3, &gguf_entries("bert", &PIECES))).unwrap_err();
    assert_eq!(bert.kind(), ErrorKind::Unsupported);
    // Every entry that is needed, left out.
    for (left_out, name) in [(1, "model"), (2, "tokens"), (6, "token_type")] {
        let mut entries = gguf_entries("llama", &PIECES);
        entries.remove(left_out);
        match try_import("x.gguf", &gguf_of(3, &entries)) {
            Err(ImportError::Field { field, .. }) => assert_eq!(field, format!("tokenizer.ggml.{name}")),
            other => panic!("{name}: {other:?}"),
        }
    }
    let with = |entry: Vec<u8>| {
        let mut entries = gguf_entries("llama", &PIECES);
        entries.push(entry);
        try_import("x.gguf", &gguf_of(3, &entries)).unwrap_err()
    };
    for (key, kind, value) in [
        ("tokenizer.ggml.model", 4, vec![0; 4]),
        ("tokenizer.ggml.tokens", 8, gguf_text(b"a")),
        ("tokenizer.ggml.tokens", 9, gguf_array(4, 0, &[])),
        ("tokenizer.ggml.token_type", 9, gguf_array(6, 0, &[])),
        ("tokenizer.ggml.token_type", 9, gguf_array(5, 1, &[1, 0, 0, 0])),
        ("tokenizer.ggml.eos_token_id", 8, gguf_text(b"2")),
        ("tokenizer.ggml.eos_token_id", 10, vec![0xff; 8]),
    ] {
        let error = with(gguf_entry(key, kind, &value));
        assert!(matches!(&error, ImportError::Field { field, .. } if field == key), "{key}: {error:?}");
    }
    let problem = |entry| match with(entry) {
        ImportError::Binary { source, .. } => source,
        other => panic!("{other:?}"),
    };
    let many = gguf_array(8, 10_000_000, &[]);
    let limit = BinaryProblem::TooMany { given: 10_000_000, limit: 1 << 22 };
    assert_eq!(problem(gguf_entry("tokenizer.ggml.tokens", 9, &many)), limit);
    for value in
        [gguf_array(8, u64::MAX, &[]), gguf_array(12, u64::MAX, &[]), u64::MAX.to_le_bytes().to_vec()]
    {
        let kind = if value.len() == 8 { 8 } else { 9 };
        assert!(matches!(problem(gguf_entry("x", kind, &value)), BinaryProblem::Truncated { .. }));
    }
    let text = gguf_strings(&[b"a\xff"]);
    assert!(matches!(problem(gguf_entry("tokenizer.ggml.tokens", 9, &text)), BinaryProblem::Text(_)));
    let kinds = gguf_array(5, 1, &[9, 0, 0, 0]);
    let kind = problem(gguf_entry("tokenizer.ggml.token_type", 9, &kinds));
    assert_eq!(kind, BinaryProblem::PieceKind { kind: 9 });
    assert_eq!(problem(gguf_entry("x", 13, &[])), BinaryProblem::ValueType { kind: 13 });
    let deep = (0..9).fold(vec![0; 12], |inner, _| gguf_array(9, 1, &inner));
    assert_eq!(problem(gguf_entry("x", 9, &deep)), BinaryProblem::ValueType { kind: 9 });
}

/// A merge of a `tokenizer.json`, which has them in two forms, as GGUF has it.
fn merge_text(merge: &serde_json::Value) -> String {
    match merge.as_array() {
        Some(pair) => pair.iter().map(|part| part.as_str().unwrap()).collect::<Vec<_>>().join(" "),
        None => merge.as_str().unwrap().to_owned(),
    }
}

fn conformance(name: &str, content: &[u8]) -> (Conformance, &'static str) {
    let table = imported(name, content).table;
    let file = written(name, content);
    let encoder = Encoder::open(&file).unwrap();
    fs::remove_dir_all(file.parent().unwrap()).unwrap();
    let len = u32::try_from(table.tokens().len()).unwrap();
    let found = encoder.conformance(len, ordinary_bytes(&table)).unwrap();
    // A wrong byte is found, also one that is a part of a character.
    for wrong in [&b"a"[..], b"\xc3"] {
        let broken =
            |id| ordinary_bytes(&table)(id).map(|bytes| if bytes == wrong { &b"\xc4"[..] } else { bytes });
        let broken = encoder.conformance(len, broken).unwrap();
        assert!(!broken.mismatches.is_empty(), "{name}: {wrong:?}");
    }
    (found, encoder.judge())
}

/// A file of every other kind, with all bytes and some longer tokens.
#[test]
fn every_kind_of_source_conforms() {
    let tokens: Vec<Vec<u8>> = (0..=255)
        .map(|byte| vec![byte])
        .chain(["he", "ll", "hell", "hello", " a", "é", "日"].map(|text| text.as_bytes().to_vec()))
        .collect();
    let base64 = |bytes: &[u8]| BASE64_STANDARD.encode(bytes);
    let ranks: Vec<String> = tokens.iter().map(|bytes| base64(bytes)).collect();
    let lines: Vec<String> = ranks.iter().zip(0..).map(|(token, rank)| format!("{token} {rank}")).collect();
    let entries: Vec<String> = ranks
        .iter()
        .zip(0..)
        .map(|(token, rank)| format!(r#"{{"rank": {rank}, "token_bytes": "{token}"}}"#))
        .collect();
    let config =
        r#"{"pattern": "[a-z]+|[^a-z]", "default_vocab_size": 266, "default_num_special_tokens": 3}"#;
    let tekken = format!(r#"{{"config": {config}, "vocab": [{}]}}"#, entries.join(","));
    let bytes: Vec<String> = (0..=255).map(|byte| format!("<0x{byte:02X}>")).collect();
    let mut pieces = vec![("<unk>", 2), ("<s>", 3), ("</s>", 3), ("▁▁", 4)];
    pieces.extend(bytes.iter().map(|byte| (byte.as_str(), 6)));
    pieces
        .extend(["▁", "a", "h", "e", "l", "o", "he", "ll", "hell", "hello", "▁a", "é"].map(|text| (text, 1)));
    let keep_spaces = field(3, &[0x20, 0]);
    for (name, content) in [
        ("x.tiktoken", lines.join("\n").into_bytes()),
        ("tekken.json", tekken.into_bytes()),
        ("bpe.model", [model(&pieces, &[0x18, 2]), keep_spaces.clone()].concat()),
        ("unigram.model", [model(&pieces, &[0x18, 1]), keep_spaces].concat()),
        ("x.gguf", gguf_of(3, &gguf_entries("llama", &pieces))),
    ] {
        let (found, judge) = conformance(name, &content);
        assert!(found.passes(), "{name}: {:?}", found.mismatches.first());
        assert_eq!((found.as_replacement, found.beside), (13, 0), "{name}");
        let trips = found.round_trips.iter();
        let lossy: Vec<&str> = trips
            .filter(|(_, trip)| **trip != gobo_tokenizer::RoundTrip::Equal)
            .map(|(text, _)| *text)
            .collect();
        // The library's Unigram finds `<0x0A>` in texts and takes it for the byte, which SentencePiece does not.
        let expected: &[&str] = if name == "unigram.model" { &["names of special tokens"] } else { &[] };
        assert_eq!(lossy, expected, "{name}");
        assert!(judge.contains("the file's"), "{judge}");
    }
    // What the vocabulary cannot write is lost by the source too.
    let plain = [("a", 1), ("b", 1), ("▁", 1), ("▁a", 1)];
    let file = written("plain.model", &model(&plain, &[0x18, 2]));
    let table = import(&file, &ImportOptions::default()).unwrap().table;
    let found = Encoder::open(&file).unwrap().conformance(4, ordinary_bytes(&table)).unwrap();
    assert!(found.passes() && found.compared == 4, "{found:?}");
}

#[test]
fn tokens_of_the_configuration_are_counted_by_themselves() {
    let file = written("tokenizer.model", &model(&PIECES[..7], &[0x18, 2]));
    let folder = file.parent().unwrap();
    let pieces = [("<unk>", 2), ("</s>", 3), ("a", 1), ("b", 1)];
    fs::write(&file, model(&pieces, &[0x18, 2])).unwrap();
    let config =
        r#"{"added_tokens_decoder": {"1": {"content": "</s>", "special": true}, "4": {"content": "c d"}}}"#;
    fs::write(folder.join("tokenizer_config.json"), config).unwrap();
    let table = import(folder, &ImportOptions::default()).unwrap().table;
    assert_eq!(table.tokens()[4].bytes, b"c d");
    let found = Encoder::open(folder).unwrap().conformance(5, ordinary_bytes(&table)).unwrap();
    assert!(found.passes(), "{found:?}");
    assert_eq!((found.compared, found.beside), (2, 1));
    let alone = Encoder::open(&file).unwrap().conformance(5, ordinary_bytes(&table)).unwrap();
    assert_eq!(alone.mismatches.len(), 1, "the file alone does not know it");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn impossible_merges_are_refused_in_every_file_that_has_them() {
    let vocab = r#""vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3}"#;
    let unknown = |token: &str| MergeProblem::UnknownToken { token: token.into() };
    for (merge, expected) in [
        ("a c", unknown("c")),
        ("b a", unknown("ba")),
        ("a b", MergeProblem::Repeated { first: 0 }),
        (" ab", MergeProblem::EmptyPart),
        ("ab ", MergeProblem::EmptyPart),
        ("ab", MergeProblem::Form),
    ] {
        let texts = format!(r#"["a b", "{merge}"]"#);
        let pairs = merge.split(' ').map(|part| format!("{part:?}")).collect::<Vec<_>>().join(", ");
        let pairs = format!(r#"[["a", "b"], [{pairs}]]"#);
        for merges in [texts, pairs] {
            // The order of the fields means nothing.
            for model in
                [format!(r#""merges": {merges}, {vocab}"#), format!(r#"{vocab}, "merges": {merges}"#)]
            {
                let json = format!(
                    r#"{{"pre_tokenizer": {{"type": "ByteLevel"}}, "model": {{"type": "BPE", {model}}}}}"#
                );
                match try_import("tokenizer.json", json.as_bytes()) {
                    Err(ImportError::Merge { position: 1, source, .. }) => {
                        assert_eq!(source, expected, "{json}");
                    }
                    other => panic!("{json}: {other:?}"),
                }
            }
        }
        let mut entries = gguf_entries("gpt2", &[("a", 1), ("b", 1), ("ab", 1)]);
        entries[3] = gguf_entry("tokenizer.ggml.merges", 9, &gguf_strings(&[b"a b", merge.as_bytes()]));
        match try_import("x.gguf", &gguf_of(3, &entries)) {
            Err(ImportError::Merge { position: 1, source, .. }) => assert_eq!(source, expected, "{merge}"),
            other => panic!("{merge}: {other:?}"),
        }
    }
    let mut entries = gguf_entries("gpt2", &[("a", 1)]);
    entries[3] = gguf_entry("tokenizer.ggml.merges", 9, &gguf_strings(&[b"a \xff"]));
    let not_text = try_import("x.gguf", &gguf_of(3, &entries));
    assert!(
        matches!(not_text, Err(ImportError::Binary { source: BinaryProblem::Text(_), .. })),
        "{not_text:?}"
    );
}

#[test]
fn scores_are_numbers() {
    for score in [f32::NAN, f32::INFINITY] {
        let bits = score.to_le_bytes();
        let piece = field(1, &[&field(1, b"a")[..], &[0x15], &bits].concat());
        let error = try_import("x.model", &piece).unwrap_err();
        assert!(matches!(error, ImportError::Binary { source: BinaryProblem::Score, .. }), "{error:?}");
        let mut entries = gguf_entries("llama", &PIECES[..7]);
        entries[4] = gguf_entry("tokenizer.ggml.scores", 9, &gguf_array(6, 1, &bits));
        let error = try_import("x.gguf", &gguf_of(3, &entries)).unwrap_err();
        assert!(matches!(error, ImportError::Binary { source: BinaryProblem::Score, .. }), "{error:?}");
    }
}

/// Published tokenizers, written anew from their `tokenizer.json`.
#[test]
#[ignore = "needs GOBO_DATA"]
fn sentence_piece_and_gguf_in_full_size() {
    for (name, model_name) in [("llama2", "llama"), ("gpt2", "gpt2")] {
        let folder = published(name);
        let json = fs::read_to_string(folder.join("tokenizer.json")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let mut tokens: Vec<(u64, &str)> = json["model"]["vocab"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(text, id)| (id.as_u64().unwrap(), text.as_str()))
            .collect();
        tokens.sort_unstable();
        let added = json["added_tokens"].as_array().unwrap();
        let tokens: Vec<(&str, u8)> = tokens
            .into_iter()
            .map(|(_, text)| match text {
                "<unk>" => (text, 2),
                _ if added.iter().any(|token| token["content"] == text) => (text, 3),
                _ if text.len() == 6 && text.starts_with("<0x") => (text, 6),
                _ => (text, 1),
            })
            .collect();
        let twin = import(&folder, &ImportOptions::default()).unwrap();
        let mut entries = gguf_entries(model_name, &tokens);
        let merges: Vec<String> =
            json["model"]["merges"].as_array().unwrap().iter().map(merge_text).collect();
        let merges: Vec<&[u8]> = merges.iter().map(String::as_bytes).collect();
        entries[3] = gguf_entry("tokenizer.ggml.merges", 9, &gguf_strings(&merges));
        // What is merged first has the highest score.
        let mut scores: HashMap<String, f32> = HashMap::new();
        for merge in &merges {
            let product = String::from_utf8_lossy(merge).replacen(' ', "", 1);
            #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^24")]
            let score = -(scores.len() as f32);
            scores.entry(product).or_insert(score);
        }
        let scores: Vec<f32> =
            tokens.iter().map(|(text, _)| scores.get(*text).copied().unwrap_or(-1e9)).collect();
        let bits: Vec<u8> = scores.iter().flat_map(|score| score.to_le_bytes()).collect();
        entries[4] = gguf_entry("tokenizer.ggml.scores", 9, &gguf_array(6, scores.len() as u64, &bits));
        let gguf = gguf_of(3, &entries);
        assert_eq!(imported("x.gguf", &gguf).table.digest(), twin.table.digest(), "{name}");
        cuts_like("x.gguf", &gguf, &folder, &twin);
        if model_name == "llama" {
            // Runs of spaces are kept.
            let pieces = tokens.iter().zip(&scores);
            let pieces: Vec<u8> = pieces
                .flat_map(|((text, kind), score)| scored_piece(text.as_bytes(), *kind, *score))
                .collect();
            let model = [pieces, field(2, &[0x18, 2]), field(3, &[0x20, 0])].concat();
            assert_eq!(imported("x.model", &model).table.digest(), twin.table.digest());
            cuts_like("x.model", &model, &folder, &twin);
        }
    }
}
