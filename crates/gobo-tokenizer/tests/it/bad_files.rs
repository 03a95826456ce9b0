//! Files that are no tokenizers, or claim to be larger than any: each ends in an error that says what is wrong, in
//! bounded time and memory. What is wrong inside a format stands with its other tests.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use gobo_tokenizer::{ImportError, ImportOptions, Imported, import, import_bytes};
use gobo_types::ErrorKind;

/// Most ids of a vocabulary.
const LIMIT: u64 = 1 << 22;

fn try_import(name: &str, content: &[u8]) -> Result<Imported, ImportError> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder: PathBuf =
        std::env::temp_dir().join(format!("gobo-tokenizer-bad-{}-{count}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    fs::write(&file, content).unwrap();
    let found = import(&file, &ImportOptions::default());
    fs::remove_dir_all(&folder).unwrap();
    if found.is_err() {
        let error = import_bytes("from memory", content, &ImportOptions::default()).unwrap_err();
        assert!(error.to_string().contains("from memory"), "the bytes are named: {error}");
    }
    found
}

fn refused(name: &str, content: &[u8]) -> ImportError {
    match try_import(name, content) {
        Err(error) => {
            assert!(error.to_string().contains(name), "the file is named: {error}");
            error
        }
        Ok(found) => panic!("{name} became {} of {} ids", found.kind, found.table.tokens().len()),
    }
}

const NAMES: [&str; 6] =
    ["tokenizer.json", "tekken.json", "tokenizer.model", "x.tiktoken", "model.gguf", "without-ending"];

#[test]
fn files_of_another_kind_are_told_from_tokenizers_under_every_name() {
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4a\nsize 9085657\n";
    let others: [(&str, &[u8]); 7] = [
        ("a picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        ("an archive", b"PK\x03\x04\x14\0\0\0\x08\0\xff\xfe"),
        ("weights", b"\x40\0\0\0\0\0\0\0{\"__metadata__\":{}}\xff"),
        ("a page", b"<!DOCTYPE html><html>404</html>"),
        ("a sentence", b"hello world"),
        ("another JSON", b"{\"vocab_size\": 3}"),
        ("a number", b"7"),
    ];
    for name in NAMES {
        let error = refused(name, pointer);
        assert!(matches!(error, ImportError::LfsPointer { .. }), "{name}: {error:?}");
        for (about, content) in others {
            let error = refused(name, content);
            assert_eq!(error.kind(), ErrorKind::Invalid, "{name}, {about}: {error:?}");
        }
        let error = refused(name, b"");
        let fits = match name {
            "tokenizer.json" | "tekken.json" => {
                matches!(error, ImportError::Truncated { length_bytes: 0, .. })
            }
            "x.tiktoken" => matches!(error, ImportError::Token { .. }),
            _ => matches!(error, ImportError::Unrecognized { .. }),
        };
        assert!(fits, "{name}: {error:?}");
    }
    // One format under the name of another.
    assert!(matches!(refused("x.gguf", b"GGUF"), ImportError::Binary { .. }));
    assert!(matches!(refused("tokenizer.json", b"GGUF\x03\0\0\0"), ImportError::Binary { .. }));
    assert!(matches!(refused("tekken.json", br#"{"model": {}}"#), ImportError::WrongShape { .. }));
}

#[test]
fn names_that_are_not_utf8_say_where() {
    let names: [(&str, &[u8], usize); 3] = [
        ("tokenizer.json", b"{\"model\": {\"vocab\": {\"a\xff\": 0}}}", 23),
        ("tekken.json", b"{\"vocab\": [{\"token_str\": \"\xc3\"}]}", 26),
        ("x.tiktoken", b"YQ== 0\n\xe9\n", 7),
    ];
    for (name, content, at) in names {
        match refused(name, content) {
            ImportError::NotText { offset, .. } => assert_eq!(offset, at, "{name}"),
            other => panic!("{name}: {other:?}"),
        }
    }
    // A half of a character as an escape.
    let half = br#"{"model": {"type": "BPE", "vocab": {"\ud800": 0}}}"#;
    assert!(matches!(refused("tokenizer.json", half), ImportError::NotJson { .. }));
}

/// Ten million tokens, or one more than the limit where the same would have to be written so often.
#[test]
fn more_tokens_than_any_vocabulary_end_at_the_limit() {
    let beyond = usize::try_from(LIMIT + 1).unwrap();
    let head = r#"{"pre_tokenizer": {"type": "ByteLevel"}, "#;
    let list = |element: &str| vec![element; beyond].join(",");

    let mut vocab = format!(r#"{head}"model": {{"type": "BPE", "merges": [], "vocab": {{"a": 0"#);
    for id in 1..10_000_000 {
        write!(vocab, ",\"{id}\":{id}").unwrap();
    }
    vocab.push_str("}}}");
    let error = refused("tokenizer.json", vocab.as_bytes());
    assert!(matches!(error, ImportError::IdTooLarge { id: LIMIT, limit: LIMIT, .. }), "{error:?}");
    drop(vocab);

    let unigram = format!(r#"{{"model": {{"type": "Unigram", "vocab": [{}]}}}}"#, list(r#"["a",0]"#));
    let error = refused("tokenizer.json", unigram.as_bytes());
    assert!(matches!(error, ImportError::IdTooLarge { id: LIMIT, .. }), "{error:?}");
    drop(unigram);

    let model = r#""model": {"type": "BPE", "vocab": {"a": 0}"#;
    let merges = format!(r#"{head}{model}, "merges": [{}]}}}}"#, list(r#""a a""#));
    let added = list(r#"{"id":1,"content":"b","special":true}"#);
    let added = format!(r#"{head}"added_tokens": [{added}], {model}}}}}"#);
    let config = r#""config": {"default_vocab_size": 9, "default_num_special_tokens": 1}"#;
    let ranks = format!(r#"{{{config}, "vocab": [{}]}}"#, list(r#"{"rank":0,"token_bytes":"YQ=="}"#));
    let special = list(r#"{"rank":0,"token_str":"x"}"#);
    let special = format!(r#"{{{config}, "vocab": [], "special_tokens": [{special}]}}"#);
    for (name, content, expected) in [
        ("tokenizer.json", merges, "model.merges"),
        ("tokenizer.json", added, "added_tokens"),
        ("tekken.json", ranks, "vocab"),
        ("tekken.json", special, "special_tokens"),
    ] {
        match refused(name, content.as_bytes()) {
            error @ ImportError::TooMany { field, given, limit, .. } => {
                assert_eq!((field, given, limit), (expected, LIMIT + 1, LIMIT));
                assert_eq!(error.kind(), ErrorKind::Limit);
            }
            other => panic!("{expected}: {other:?}"),
        }
    }
}
