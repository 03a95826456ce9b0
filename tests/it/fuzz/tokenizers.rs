//! Tokenizer files, of each kind.

use gobo_tokenizer::ImportOptions;

use super::fuzz;
use crate::packages::{Folder, field, gguf};

/// Imports inputs under a name that says their kind.
fn fuzz_kind(name: &str, seeds: Vec<Vec<u8>>, words: &[&str]) {
    let scratch = Folder::new(&format!("fuzz-{name}"));
    fuzz(name, seeds, words, |input| {
        let file = scratch.write(name, input);
        let of_bytes = gobo_tokenizer::import_bytes(name, input, &ImportOptions::default());
        match gobo_tokenizer::import(&file, &ImportOptions::default()) {
            Ok(imported) => {
                // Where the name alone tells the format, the content may not.
                assert!(of_bytes.is_err() || of_bytes.is_ok_and(|of_bytes| of_bytes == imported));
                imported.table.build().is_ok()
            }
            Err(error) => error.to_string().is_empty(),
        }
    });
}

#[test]
fn tokenizer_json() {
    let byte_level = br#"{"pre_tokenizer": {"type": "ByteLevel"}, "added_tokens": [{"id": 2, "content": "</s>", "special": true}],
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 3}, "merges": ["a b"]}}"#;
    let fallback = br#"{"decoder": {"type": "Metaspace", "replacement": "_"}, "model": {"type": "BPE", "byte_fallback": true,
        "vocab": {"<0x41>": 0, "_a": 1}, "merges": []}}"#;
    let unigram = br#"{"decoder": {"type": "Metaspace", "replacement": "_"},
        "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["_a", -1.5]]}}"#;
    let words = [
        "\"type\": \"WordPiece\"",
        "\"id\": 4294967295",
        "\"content\": \"\\ud800\"",
        "\"vocab\": {}",
        "null",
        "1e999",
        "Ġ",
    ];
    fuzz_kind("tokenizer.json", vec![byte_level.to_vec(), fallback.to_vec(), unigram.to_vec()], &words);
}

#[test]
fn tekken_json() {
    let tekken = br#"{"config": {"pattern": ".", "default_vocab_size": 5, "default_num_special_tokens": 3},
        "vocab": [{"rank": 0, "token_bytes": "YQ==", "token_str": "a"}, {"rank": 1, "token_bytes": "/w==", "token_str": null}],
        "special_tokens": [{"rank": 0, "token_str": "<unk>", "is_control": true}]}"#;
    let words = [
        "\"rank\": 4194304",
        "\"token_bytes\": \"=\"",
        "\"default_vocab_size\": 18446744073709551615",
        "null",
    ];
    fuzz_kind("tekken.json", vec![tekken.to_vec()], &words);
}

#[test]
fn ranks() {
    let words = ["YQ==", " 4294967295\n", "=", "\r\n", "\n\n"];
    fuzz_kind("x.tiktoken", vec![b"YQ== 0\nYg== 1\n/w== 2\n".to_vec()], &words);
}

#[test]
fn sentence_piece() {
    let pieces = [("<unk>", 2), ("</s>", 3), ("a", 1), ("<0x41>", 6)];
    let piece =
        |(text, kind): (&str, u8)| field(0x0a, &[field(0x0a, text.as_bytes()), vec![0x18, kind]].concat());
    fuzz_kind("tokenizer.model", vec![pieces.map(piece).concat()], &["<0xFF>", "▁"]);
}

#[test]
fn gguf_files() {
    let tokens = [("</s>", 3), ("a", 1), ("Ġb", 1)].map(|(text, kind)| (text.to_owned(), kind));
    fuzz_kind(
        "x.gguf",
        ["gpt2", "llama"].map(|model| gguf(model, &tokens)).to_vec(),
        &["tokenizer.ggml.scores"],
    );
}
