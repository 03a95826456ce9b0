//! Rank files with a list of special tokens.

use std::fs;
use std::path::PathBuf;

use gobo_tokenizer::{ImportError, ImportOptions, Imported, import};
use gobo_types::ErrorKind;

const RANKS: &str = "YQ== 0\nIGI= 1\n/w== 2\n";

fn import_with(name: &str, file: &str, content: &str, list: &str) -> Result<Imported, ImportError> {
    let folder = std::env::temp_dir().join(format!("gobo-tokenizer-special-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (file, special) = (folder.join(file), folder.join("special.json"));
    fs::write(&file, content).unwrap();
    fs::write(&special, list).unwrap();
    let found = import(&file, &ImportOptions { special: Some(special), ..ImportOptions::default() });
    fs::remove_dir_all(&folder).unwrap();
    found
}

fn ranks_with(name: &str, list: &str) -> Result<Imported, ImportError> {
    import_with(name, "x.tiktoken", RANKS, list)
}

#[test]
fn ranks_and_list_are_the_twin_of_a_tokenizer_json() {
    let found = ranks_with("twin", r#"{"<|x|>": 6, "<|endoftext|>": 4}"#).unwrap();
    assert_eq!((found.eos, found.logits_width), (vec![4], 7));
    let twin = r#"{"pre_tokenizer": {"type": "ByteLevel"}, "added_tokens": [
        {"id": 4, "content": "<|endoftext|>", "special": true}, {"id": 6, "content": "<|x|>", "special": true}],
        "model": {"type": "BPE", "vocab": {"a": 0, "Ġb": 1, "ÿ": 2}, "merges": []}}"#;
    let file = std::env::temp_dir().join(format!("gobo-tokenizer-special-twin-{}.json", std::process::id()));
    fs::write(&file, twin).unwrap();
    let twin = import(&file, &ImportOptions::default()).unwrap();
    fs::remove_file(&file).unwrap();
    assert_eq!(found.table.digest(), twin.table.digest());
}

#[test]
fn bad_lists_are_refused() {
    let refused = |name, list| ranks_with(name, list).unwrap_err();
    assert!(matches!(refused("array", r#"[["<|x|>", 6]]"#), ImportError::Field { .. }));
    assert!(matches!(refused("text", r#"{"<|x|>": "6"}"#), ImportError::WrongShape { .. }));
    assert!(matches!(refused("cut", r#"{"<|x|>": 6"#), ImportError::Truncated { .. }));
    assert!(matches!(refused("ids", r#"{"<|x|>": 6, "<|y|>": 6}"#), ImportError::DuplicateId { id: 6, .. }));
    assert!(matches!(refused("names", r#"{"<|x|>": 6, "<|x|>": 7}"#), ImportError::DuplicateToken { .. }));
    assert!(matches!(refused("rank", r#"{"<|x|>": 2}"#), ImportError::Token { .. }));
    assert_eq!(refused("far", r#"{"<|x|>": 4294967295}"#).kind(), ErrorKind::Limit);
    let own = import_with("own", "tokenizer.json", "{}", "{}").unwrap_err();
    assert!(matches!(own, ImportError::OwnSpecialTokens { .. }));
    let missing = ImportOptions { special: Some(PathBuf::from("/no/such/list")), ..ImportOptions::default() };
    let file =
        std::env::temp_dir().join(format!("gobo-tokenizer-special-none-{}.tiktoken", std::process::id()));
    fs::write(&file, RANKS).unwrap();
    assert_eq!(import(&file, &missing).unwrap_err().kind(), ErrorKind::NotFound);
    fs::remove_file(&file).unwrap();
}
