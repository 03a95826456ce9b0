//! The files beside a tokenizer, in folders that the tests write.

use std::fs;
use std::path::{Path, PathBuf};

use gobo_tokenizer::{Files, ImportError, ImportOptions, Imported, TokenChoice, import};

const TOKENIZER: &str = r#"{"pre_tokenizer": {"type": "ByteLevel"}, "added_tokens": [
    {"id": 2, "content": "</s>", "special": true}, {"id": 3, "content": "<stop>", "special": true}],
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}}"#;

/// A folder with a tokenizer of 4 ids, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("gobo-tokenizer-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("tokenizer.json"), TOKENIZER).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
        Self(folder)
    }

    fn import(&self) -> Result<Imported, ImportError> {
        import(&self.0, &ImportOptions::default())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn files_that_were_read_are_imported_whatever_replaces_them() {
    let config = r#"{"eos_token_id": 3, "vocab_size": 8}"#;
    let folder = Folder::new("files", &[("config.json", config)]);
    let files = Files::read(&folder.0).unwrap();
    let contents: Vec<_> = files.contents().unwrap().collect();
    let of = |name: &'static str, text: &'static str| (name.into(), text.as_bytes());
    assert_eq!(contents, [of("tokenizer.json", TOKENIZER), of("config.json", config)]);
    let before = folder.import().unwrap();
    fs::write(folder.0.join("tokenizer.json"), "{}").unwrap();
    fs::write(folder.0.join("config.json"), "[]").unwrap();
    let imported = files.import(&ImportOptions::default()).unwrap();
    assert_eq!((&imported.table, &imported.eos, imported.logits_width), (&before.table, &before.eos, 8));
    assert_ne!(Files::read(&folder.0).unwrap(), files);
    folder.import().unwrap_err();
    // Of GGUF nothing is read.
    fs::write(folder.0.join("tokenizer.json"), "GGUF").unwrap();
    assert!(Files::read(&folder.0).unwrap().contents().is_none());
}

#[test]
fn end_of_text_comes_from_the_first_file_that_says_it() {
    let folder = Folder::new(
        "order",
        &[
            (
                "generation_config.json",
                r#"{"eos_token_id": [3, 1, 3], "bos_token_id": 0, "pad_token_id": 3}"#,
            ),
            ("config.json", r#"{"eos_token_id": 1, "bos_token_id": 1, "pad_token_id": -1, "vocab_size": 8}"#),
            (
                "tokenizer_config.json",
                r#"{"eos_token": {"content": "<stop>"}, "bos_token": "</s>", "pad_token": null}"#,
            ),
            (
                "special_tokens_map.json",
                r#"{"eos_token": "</s>", "bos_token": {"content": "<stop>"}, "pad_token": "</s>"}"#,
            ),
        ],
    );
    let text = |name: &str| TokenChoice::Text(name.into());
    let options = ImportOptions {
        eos: vec![text("</s>")],
        bos: Some(text("<stop>")),
        pad: Some(TokenChoice::Id(1)),
        ..ImportOptions::default()
    };
    let asked = import(&folder.0, &options).unwrap();
    assert_eq!((&*asked.eos, asked.bos, asked.pad), (&[2][..], Some(3), Some(1)));
    for (file, eos, bos, pad, width) in [
        ("generation_config.json", vec![1, 3], 0, 3, 8),
        ("config.json", vec![1], 1, 2, 8),
        ("tokenizer_config.json", vec![3], 2, 2, 4),
        ("special_tokens_map.json", vec![2], 3, 2, 4),
    ] {
        let found = folder.import().unwrap();
        assert_eq!((&found.eos, found.logits_width), (&eos, width), "{file}");
        assert_eq!((found.bos, found.pad), (Some(bos), Some(pad)), "{file}");
        assert_eq!(found.table.digest(), asked.table.digest(), "no role is part of the vocabulary");
        fs::remove_file(folder.0.join(file)).unwrap();
    }
    let bare = folder.import().unwrap();
    assert_eq!((bare.eos, bare.logits_width), (vec![2], 4), "by its well-known name");
    assert_eq!((bare.bos, bare.pad), (None, None));
}

/// A SentencePiece model with `<unk>`, `<s>`, `</s>`, `a` and a `▁b` that a user defined.
fn sentence_piece() -> Vec<u8> {
    let pieces = [("<unk>", 2), ("<s>", 3), ("</s>", 3), ("a", 1), ("▁b", 4)];
    let message = |(text, kind): (&str, u8)| {
        let length = u8::try_from(text.len()).unwrap();
        let piece = [&[0x0a, length], text.as_bytes(), &[0x18, kind]].concat();
        [&[0x0a, length + 4], &*piece].concat()
    };
    pieces.into_iter().flat_map(message).collect()
}

fn beside_a_model(name: &str, config: &str) -> Result<Imported, ImportError> {
    let folder = Folder::new(name, &[("tokenizer_config.json", config)]);
    fs::remove_file(folder.0.join("tokenizer.json")).unwrap();
    fs::write(folder.0.join("tokenizer.model"), sentence_piece()).unwrap();
    folder.import()
}

#[test]
fn tokens_that_only_the_configuration_adds_are_in_the_table() {
    let config = r#"{"eos_token": "<|end|>", "pad_token": "<unk>", "added_tokens_decoder": {
        "0": {"content": "<unk>", "special": true}, "1": {"content": "<s>", "special": true},
        "2": {"content": "</s>"}, "4": {"content": "▁b", "special": true},
        "6": {"content": "<|end|>", "special": true}, "7": {"content": "▁▁", "special": false}}}"#;
    let found = beside_a_model("added", config).unwrap();
    let tokens: Vec<(&str, bool)> = found
        .table
        .tokens()
        .iter()
        .map(|token| (std::str::from_utf8(&token.bytes).unwrap(), token.special))
        .collect();
    let expected = [
        ("", false),
        ("<s>", true),
        ("</s>", true),
        ("a", false),
        ("▁b", true),
        ("", false),
        ("<|end|>", true),
        ("  ", false),
    ];
    assert_eq!(tokens, expected);
    assert_eq!((found.eos, found.bos, found.pad, found.logits_width), (vec![6], Some(1), Some(0), 8));
    // What the file has already changes nothing.
    let same = r#"{"added_tokens_decoder": {"3": {"content": "a"}, "4": {"content": "▁b"}}}"#;
    let same = beside_a_model("same", same).unwrap();
    assert_eq!(same.table, beside_a_model("bare", "{}").unwrap().table);
}

#[test]
fn a_configuration_that_contradicts_its_tokenizer_is_refused() {
    for (name, entry, text) in [
        ("other-name", r#""2": {"content": "<s2>"}"#, "\"</s>\""),
        ("other-piece", r#""3": {"content": "b"}"#, "\"a\""),
        ("other-id", r#""9": {"content": "</s>"}"#, "it under id 2"),
    ] {
        let config = format!(r#"{{"added_tokens_decoder": {{{entry}}}}}"#);
        match beside_a_model(name, &config) {
            Err(ImportError::Contradiction { found, path, tokenizer, .. }) => {
                assert_eq!(found, text);
                assert!(path.ends_with("tokenizer_config.json") && tokenizer.ends_with("tokenizer.model"));
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    let far = beside_a_model("far-added", r#"{"added_tokens_decoder": {"4194304": {"content": "x"}}}"#);
    assert!(matches!(far, Err(ImportError::IdTooLarge { id: 4_194_304, .. })), "{far:?}");
    // The same with a tokenizer.json.
    let config = r#"{"added_tokens_decoder": {"1": {"content": "<late>"}}}"#;
    let contradiction = Folder::new("late-contra", &[("tokenizer_config.json", config)]).import();
    assert!(matches!(contradiction, Err(ImportError::Contradiction { id: 1, .. })), "{contradiction:?}");
}

#[test]
fn a_file_by_its_own_path_stands_for_itself() {
    let folder = Folder::new("alone", &[("config.json", r#"{"eos_token_id": 3, "vocab_size": 8}"#)]);
    let alone = import(&folder.0.join("tokenizer.json"), &ImportOptions::default()).unwrap();
    assert_eq!((alone.eos, alone.logits_width), (vec![2], 4));
    assert_eq!(folder.import().unwrap().table, alone.table);
}

#[test]
fn configurations_may_nest_and_say_nothing() {
    for (config, eos, width) in [
        (r#"{"text_config": {"eos_token_id": [3], "vocab_size": 6}}"#, 3, 6),
        (r#"{"vocab_size": 5, "text_config": {"eos_token_id": 3, "vocab_size": 6}}"#, 3, 5),
        (r#"{"eos_token_id": null, "vocab_size": null, "text_config": null}"#, 2, 4),
        (r#"{"eos_token_id": []}"#, 2, 4),
    ] {
        let found = Folder::new("nest", &[("config.json", config)]).import().unwrap();
        assert_eq!((found.eos, found.logits_width), (vec![eos], width), "{config}");
    }
}

#[test]
fn names_may_come_from_the_tokenizer_configuration() {
    let config = r#"{"eos_token": "<late>", "added_tokens_decoder": {"5": {"content": "<late>"}}}"#;
    assert_eq!(Folder::new("late", &[("tokenizer_config.json", config)]).import().unwrap().eos, [5]);
    let error =
        Folder::new("late-none", &[("special_tokens_map.json", r#"{"eos_token": "<late>"}"#)]).import();
    assert!(
        matches!(error, Err(ImportError::UnknownName { path, .. }) if path.ends_with("special_tokens_map.json"))
    );
}

#[test]
fn a_configuration_with_fewer_logits_than_ids_names_both() {
    let folder = Folder::new("narrow", &[("config.json", r#"{"vocab_size": 3}"#)]);
    let error = folder.import().unwrap_err();
    assert!(matches!(error, ImportError::ConfigTooSmall { vocab_size: 3, vocabulary_length: 4, .. }));
    let text = error.to_string();
    assert!(
        ["vocab_size is 3", "makes 4", "--logits-width"].iter().all(|part| text.contains(part)),
        "{text}"
    );
    let options = ImportOptions { logits_width: Some(7), ..ImportOptions::default() };
    assert_eq!(import(&folder.0, &options).unwrap().logits_width, 7);
}

#[test]
fn wrong_values_name_file_and_field() {
    for (name, text, expected) in [
        ("generation_config.json", r#"{"eos_token_id": "2"}"#, "eos_token_id"),
        ("generation_config.json", r#"{"eos_token_id": [1, -1]}"#, "eos_token_id"),
        ("generation_config.json", "[]", "(whole file)"),
        ("config.json", r#"{"eos_token_id": 4294967296}"#, "eos_token_id"),
        ("config.json", r#"{"bos_token_id": [-1]}"#, "bos_token_id"),
        ("config.json", r#"{"text_config": {"pad_token_id": "x"}}"#, "text_config.pad_token_id"),
        ("special_tokens_map.json", r#"{"pad_token": 1}"#, "pad_token"),
        (
            "tokenizer_config.json",
            r#"{"added_tokens_decoder": {"9": {"content": "x", "special": 1}}}"#,
            "added_tokens_decoder.9",
        ),
        ("config.json", r#"{"vocab_size": 8.5}"#, "vocab_size"),
        ("config.json", r#"{"text_config": 1}"#, "text_config"),
        ("config.json", r#"{"text_config": {"vocab_size": -1}}"#, "text_config.vocab_size"),
        ("tokenizer_config.json", r#"{"eos_token": 2}"#, "eos_token"),
        ("tokenizer_config.json", r#"{"eos_token": {"id": 2}}"#, "eos_token"),
        ("tokenizer_config.json", r#"{"added_tokens_decoder": []}"#, "added_tokens_decoder"),
        ("tokenizer_config.json", r#"{"added_tokens_decoder": {"x": {}}}"#, "added_tokens_decoder.x"),
        ("special_tokens_map.json", r#"{"eos_token": ["</s>"]}"#, "eos_token"),
    ] {
        match Folder::new("wrong", &[(name, text)]).import() {
            Err(ImportError::Field { path, field, .. }) => {
                assert_eq!((path.file_name(), &*field), (Path::new(name).file_name(), expected), "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    let cut = Folder::new("cut", &[("config.json", r#"{"vocab_size""#)]).import();
    assert!(matches!(cut, Err(ImportError::Truncated { path, .. }) if path.ends_with("config.json")));
    let far = Folder::new("far", &[("generation_config.json", r#"{"eos_token_id": 4}"#)]).import();
    assert!(
        matches!(far, Err(ImportError::BeyondWidth { id: 4, path, .. }) if path.ends_with("generation_config.json"))
    );
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    let pointer = Folder::new("pointer", &[("config.json", pointer)]).import();
    assert!(matches!(pointer, Err(ImportError::LfsPointer { .. })));
}
