//! The files beside a tokenizer, in folders that the tests write.
#![cfg(test)]

use std::fs;
use std::path::{Path, PathBuf};

use gobo_tokenizer::{EosChoice, ImportError, ImportOptions, Imported, import};

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
fn end_of_text_comes_from_the_first_file_that_says_it() {
    let folder = Folder::new(
        "order",
        &[
            ("generation_config.json", r#"{"eos_token_id": [3, 1, 3]}"#),
            ("config.json", r#"{"eos_token_id": 1, "vocab_size": 8}"#),
            ("tokenizer_config.json", r#"{"eos_token": {"content": "<stop>"}}"#),
            ("special_tokens_map.json", r#"{"eos_token": "</s>"}"#),
        ],
    );
    let options = ImportOptions { eos: vec![EosChoice::Text("</s>".into())], ..ImportOptions::default() };
    assert_eq!(import(&folder.0, &options).unwrap().eos, [2]);
    for (file, eos, width) in [
        ("generation_config.json", vec![1, 3], 8),
        ("config.json", vec![1], 8),
        ("tokenizer_config.json", vec![3], 4),
        ("special_tokens_map.json", vec![2], 4),
    ] {
        let found = folder.import().unwrap();
        assert_eq!((found.eos, found.logits_width), (eos, width), "{file}");
        fs::remove_file(folder.0.join(file)).unwrap();
    }
    let bare = folder.import().unwrap();
    assert_eq!((bare.eos, bare.logits_width), (vec![2], 4), "by its well-known name");
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
    let config = r#"{"eos_token": "<late>", "added_tokens_decoder": {"1": {"content": "<late>"}}}"#;
    assert_eq!(Folder::new("late", &[("tokenizer_config.json", config)]).import().unwrap().eos, [1]);
    let error =
        Folder::new("late-none", &[("special_tokens_map.json", r#"{"eos_token": "<late>"}"#)]).import();
    assert!(
        matches!(error, Err(ImportError::UnknownEos { path, .. }) if path.ends_with("special_tokens_map.json"))
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
        matches!(far, Err(ImportError::EosBeyondWidth { id: 4, path, .. }) if path.ends_with("generation_config.json"))
    );
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    let pointer = Folder::new("pointer", &[("config.json", pointer)]).import();
    assert!(matches!(pointer, Err(ImportError::LfsPointer { .. })));
}
