//! Vocabularies from memory: the bytes of a file without a path, and tables of tokens.

use std::path::{Path, PathBuf};

use gobo_tokenizer::{ImportError, ImportOptions, Imported, TokenChoice, import_bytes, import_table};
use gobo_types::ErrorKind;
use gobo_vocab::{MAX_TOKEN_BYTES, MAX_VOCABULARY_LEN, TokenTable, VocabError};

const JSON: &[u8] = br#"{"pre_tokenizer": {"type": "ByteLevel"}, "added_tokens": [
    {"id": 4, "content": "<eos>", "special": true}], "model": {"type": "BPE", "vocab": {"a": 0, "b": 2}, "merges": []}}"#;

fn table(tokens: &[(&[u8], bool)], options: &ImportOptions) -> Result<Imported, ImportError> {
    import_table(tokens.iter().map(|&(bytes, is_special)| (bytes.to_vec(), is_special)), options)
}

fn eos(name: &str) -> ImportOptions {
    ImportOptions { eos: vec![TokenChoice::Text(name.into())], ..ImportOptions::default() }
}

#[test]
fn a_table_is_the_twin_of_a_file() {
    let tokens: [(&[u8], bool); 5] =
        [(b"a", false), (b"", false), (b"b", false), (b"", false), (b"<eos>", true)];
    let from_table = table(&tokens, &ImportOptions::default()).unwrap();
    let from_bytes = import_bytes("twin", JSON, &ImportOptions::default()).unwrap();
    assert_eq!(from_table, Imported { kind: "table", ..from_bytes.clone() });
    assert_eq!(from_table.eos, [4]);
    // Holes at the end are padding: of the logits, not of the vocabulary.
    let padded: Vec<_> = tokens.iter().copied().chain([(&b""[..], false); 3]).collect();
    let padded = table(&padded, &ImportOptions::default()).unwrap();
    assert_eq!((padded.logits_width, padded.table.digest()), (8, from_table.table.digest()));
}

#[test]
fn special_tokens_are_called_by_their_bytes() {
    let tokens: [(&[u8], bool); 5] =
        [(b"a", false), (b"<stop>", true), (b"</s>", false), (b"\xff", true), (b"", true)];
    assert!(table(&tokens, &ImportOptions::default()).unwrap().eos.is_empty());
    assert_eq!(table(&tokens, &eos("<stop>")).unwrap().eos, [1]);
    let by_id =
        ImportOptions { eos: vec![TokenChoice::Id(2), TokenChoice::Id(0)], ..ImportOptions::default() };
    assert_eq!(table(&tokens, &by_id).unwrap().eos, [0, 2]);
    // Ordinary tokens have no name, nor has the empty text one.
    for name in ["</s>", "a", "", "\u{fffd}"] {
        let error = table(&tokens, &eos(name)).unwrap_err();
        assert!(matches!(&error, ImportError::UnknownName { name: found, .. } if found == name), "{error:?}");
        assert!(error.to_string().starts_with("the table names"));
    }
    let mut expected = TokenTable::new();
    for (id, &(bytes, is_special)) in (0..).zip(&tokens) {
        expected.insert(id, bytes.to_vec(), is_special).unwrap();
    }
    assert_eq!(table(&tokens, &ImportOptions::default()).unwrap().table, expected);
}

#[test]
fn tables_beyond_the_limits_are_refused_with_the_id() {
    let long = [(vec![b'a'], false), (vec![b'a'; MAX_TOKEN_BYTES + 1], false)];
    match import_table(long, &ImportOptions::default()).unwrap_err() {
        ImportError::Token { source: VocabError::TokenTooLong { id: 1, given, limit }, .. } => {
            assert_eq!((given, limit), (MAX_TOKEN_BYTES + 1, MAX_TOKEN_BYTES));
        }
        other => panic!("{other:?}"),
    }
    // An endless table ends at the limit, of holes as well.
    for bytes in [&b"a"[..], b""] {
        let endless = std::iter::repeat_with(|| (bytes.to_vec(), false));
        let error = import_table(endless, &ImportOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        match error {
            ImportError::Token { source: VocabError::TooManyIds { id, limit }, .. } => {
                assert_eq!((id as usize, limit), (MAX_VOCABULARY_LEN, MAX_VOCABULARY_LEN));
            }
            other => panic!("{other:?}"),
        }
    }
    let silent: [(&[u8], bool); 2] = [(b"", false), (b"<eos>", true)];
    for tokens in [&silent[..0], &silent[..1], &silent[1..], &silent] {
        let error = table(tokens, &ImportOptions::default()).unwrap_err();
        assert!(matches!(error, ImportError::Token { source: VocabError::Empty, .. }), "{error:?}");
    }
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let list = ImportOptions { special: Some(PathBuf::from("list.json")), ..ImportOptions::default() };
    let error = table(&[(b"a", false)], &list).unwrap_err();
    assert!(matches!(error, ImportError::OwnSpecialTokens { .. }), "{error:?}");
    let error = import_bytes("twin", JSON, &list).unwrap_err();
    assert!(matches!(error, ImportError::OwnSpecialTokens { path } if path == Path::new("twin")));
    let narrow = ImportOptions { logits_width: Some(1), ..ImportOptions::default() };
    let error = table(&[(b"a", false), (b"b", false)], &narrow).unwrap_err();
    assert!(matches!(error, ImportError::WidthTooSmall { logits_width: 1, vocabulary_length: 2, .. }));
    let beyond = ImportOptions { eos: vec![TokenChoice::Id(1)], ..ImportOptions::default() };
    let error = table(&[(b"a", false)], &beyond).unwrap_err();
    assert!(matches!(error, ImportError::BeyondWidth { id: 1, logits_width: 1, .. }), "{error:?}");
}
