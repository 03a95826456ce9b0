//! Built-in vocabularies: the encodings whose ranks are part of the program.

use std::collections::HashSet;
use std::path::Path;

use gobo_types::TokenId;
use gobo_vocab::TokenTable;
use tiktoken_rs::CoreBPE;

use crate::bytes::Spelling;
use crate::model::ModelFolder;
use crate::named_tokens::NamedTokens;
use crate::{ImportOptions, Imported};

/// The names of the built-in vocabularies.
pub const BUILTIN: [&str; 3] = ["o200k_base", "cl100k_base", "r50k_base"];

/// The built-in vocabulary called `name`, `None` if there is none. `<|endoftext|>` ends a text.
///
/// The ranks are unpacked once per process, which takes a good part of a second for the largest.
pub fn builtin(name: &str) -> Option<Imported> {
    let tokens = tokens(encoding(name)?);
    let imported = tokens.bind(Path::new(name), &ModelFolder::default(), &ImportOptions::default());
    Some(imported.expect("ids of built-in vocabularies are below their own length"))
}

/// The encoding called `name`.
pub(crate) fn encoding(name: &str) -> Option<&'static CoreBPE> {
    match name {
        "o200k_base" => Some(tiktoken_rs::o200k_base_singleton()),
        "cl100k_base" => Some(tiktoken_rs::cl100k_base_singleton()),
        "r50k_base" => Some(tiktoken_rs::r50k_base_singleton()),
        _ => None,
    }
}

/// Number of ordinary ranks of the encoding called `name`.
pub(crate) fn rank_count(name: &str) -> Option<usize> {
    match name {
        "o200k_base" => Some(199_998),
        "cl100k_base" => Some(100_256),
        "r50k_base" => Some(50_256),
        _ => None,
    }
}

fn tokens(encoding: &CoreBPE) -> NamedTokens {
    let mut names: Vec<(String, TokenId)> = encoding
        .special_tokens()
        .into_iter()
        .map(|name| {
            let (ids, _) = encoding
                .encode(name, &HashSet::from([name]))
                .expect("the name of a special token needs no splitting");
            (name.to_owned(), ids[0])
        })
        .collect();
    names.sort_unstable_by_key(|(_, id)| *id);
    let length = names.last().map_or(0, |(_, id)| id + 1);
    let mut table = TokenTable::new();
    // Special tokens come after all ranks, so nothing lies beyond the last of them.
    for id in 0..length {
        if let Ok(bytes) = encoding.decode_bytes(&[id]) {
            let special = names.iter().any(|(_, special)| *special == id);
            table.insert(id, bytes, special).expect("built-in tokens are short and have an id each");
        }
    }
    NamedTokens::new(table, "tiktoken", Spelling::ByteLevel, names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_vocabularies_have_their_published_sizes() {
        for (name, length, tokens, eos) in [
            ("o200k_base", 200_019, 200_000, 199_999),
            ("cl100k_base", 100_277, 100_261, 100_257),
            ("r50k_base", 50_257, 50_257, 50_256),
        ] {
            let found = builtin(name).unwrap();
            assert_eq!(found.table.tokens().len(), length);
            assert_eq!(found.table.tokens().iter().filter(|token| !token.bytes.is_empty()).count(), tokens);
            assert_eq!((found.eos, found.logits_width as usize, found.kind), (vec![eos], length, "tiktoken"));
            let ordinary =
                found.table.tokens().iter().filter(|token| !token.special && !token.bytes.is_empty());
            assert_eq!(Some(ordinary.count()), rank_count(name));
        }
        assert!(BUILTIN.iter().all(|name| builtin(name).is_some()));
        assert_eq!(builtin("gpt5"), None);
    }
}
