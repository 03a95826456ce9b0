//! The command line as scripts see it: names, JSON keys, exit status.

mod constraints;
mod diff;
mod documentation;
mod grammars;
mod schemas;
mod stacks;
mod store;
mod tokenizers;

use std::path::Path;

use serde_json::Value;

use crate::gobo::one;

const TOKENIZER: &str = "r50k_base";

fn has(value: &Value, keys: &[&str]) {
    for key in keys {
        assert!(value.get(key).is_some(), "{key} is missing in {value}");
    }
}

/// A tokenizer file of single letters, `ab`, and one special token.
pub(crate) fn tiny_tokenizer(folder: &Path) -> String {
    let path = folder.join("tokenizer.json");
    let text = r#"{"version":"1.0","added_tokens":[{"id":4,"content":"<eos>","special":true,"single_word":false,
            "lstrip":false,"rstrip":false,"normalized":false}],"normalizer":null,"post_processor":null,
        "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
        "decoder":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
        "model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"ab":3,"<eos>":4},"merges":["a b"]}}"#;
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A grammar of nested lists, and its index over the built-in tokenizer.
fn lists(store: &Path) -> (String, String) {
    let path = |name: &str| store.join(name).to_str().unwrap().to_owned();
    let (grammar, index) = (path("lists.gbnf"), path("lists.gobo"));
    std::fs::write(&grammar, "root ::= \"[\" (item (\",\" item)*)? \"]\"\nitem ::= root | \"x\"\n").unwrap();
    one(store, 0, &["compile", "--tokenizer", TOKENIZER, "--grammar", &grammar, "--out", &index]);
    (grammar, index)
}

/// A file of a folder with this text: its path.
fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}
