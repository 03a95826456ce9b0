//! `tekken.json` of Mistral: ranks with their bytes, and special tokens with the first ids.

use std::borrow::Cow;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use gobo_types::TokenId;
use gobo_vocab::TokenTable;
use serde::Deserialize;

use crate::byte_pairs;
use crate::bytes::Spelling;
use crate::checked::{Capped, ID_LIMIT};
use crate::named_tokens::NamedTokens;
use crate::{ImportError, surrogate};

#[derive(Deserialize)]
struct TekkenJson<'a> {
    config: Config,
    #[serde(borrow)]
    vocab: Capped<Entry<'a>>,
    /// Missing in the first files.
    special_tokens: Option<Capped<Special>>,
}

#[derive(Deserialize)]
struct Config {
    /// Number of ids: files hold more ranks than their models use.
    default_vocab_size: u64,
    /// Number of ids before rank 0.
    default_num_special_tokens: u64,
    /// The regex by which texts are split before ranks apply.
    pattern: Option<String>,
}

#[derive(Deserialize)]
struct Entry<'a> {
    rank: u64,
    #[serde(borrow)]
    token_bytes: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Special {
    rank: u64,
    token_str: String,
}

/// The special tokens of files that do not list them.
const FIRST_SPECIAL: [&str; 20] = [
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
];

/// Reads a `tekken.json`.
///
/// # Errors
/// [`ImportError::Field`] for numbers that do not fit together and bytes that are not base64; the variants for JSON;
/// [`ImportError::Token`] for a rank given twice.
pub(crate) fn read(path: &Path, text: &str) -> Result<NamedTokens, ImportError> {
    Ok(read_with_pattern(path, text)?.0)
}

/// The surrogate of this file.
///
/// # Errors
/// As for [`read`].
pub(crate) fn surrogate(path: &Path, text: &str) -> Result<serde_json::Value, ImportError> {
    let (tokens, pattern) = read_with_pattern(path, text)?;
    let ranks = (0..).zip(tokens.table.tokens()).filter(|(_, token)| !token.special);
    let ranks = ranks.map(|(id, token)| (token.bytes.as_slice(), id));
    Ok(surrogate::of_ranks(ranks, pattern.as_deref()))
}

fn read_with_pattern(path: &Path, text: &str) -> Result<(NamedTokens, Option<String>), ImportError> {
    let file: TekkenJson<'_> =
        serde_json::from_str(text).map_err(|source| ImportError::from_json(path, text, source))?;
    let wrong = |field: String, found: String, expected| ImportError::Field {
        path: path.into(),
        field,
        found,
        expected,
    };
    let Config { default_vocab_size: length, default_num_special_tokens: special_count, pattern } =
        file.config;
    if length > ID_LIMIT {
        let expected = "at most 4194304, the limit of a vocabulary";
        return Err(wrong("config.default_vocab_size".into(), length.to_string(), expected));
    }
    if special_count > length {
        let expected = "at most default_vocab_size";
        return Err(wrong("config.default_num_special_tokens".into(), special_count.to_string(), expected));
    }
    let small = |id: u64| TokenId::try_from(id).expect("ids are below the limit");
    let mut names: Vec<String> = (0..special_count).map(|id| format!("<SPECIAL_{id}>")).collect();
    match file.special_tokens {
        None => names.iter_mut().zip(FIRST_SPECIAL).for_each(|(name, first)| first.clone_into(name)),
        Some(listed) => {
            for (index, Special { rank, token_str }) in
                listed.all(path, "special_tokens")?.into_iter().enumerate()
            {
                let name = usize::try_from(rank).ok().and_then(|rank| names.get_mut(rank));
                let expected = "below default_num_special_tokens";
                *name.ok_or_else(|| {
                    wrong(format!("special_tokens[{index}].rank"), rank.to_string(), expected)
                })? = token_str;
            }
        }
    }
    let names: Vec<(String, TokenId)> = names.into_iter().zip(0..).collect();
    let mut table = TokenTable::new();
    let failed = |source| ImportError::Token { path: path.into(), source };
    for (name, id) in &names {
        table.insert(*id, name.as_bytes().to_vec(), true).map_err(failed)?;
    }
    for (index, Entry { rank, token_bytes }) in file.vocab.all(path, "vocab")?.iter().enumerate() {
        if *rank >= length - special_count {
            continue;
        }
        let bytes = BASE64_STANDARD.decode(&**token_bytes).map_err(|_| {
            wrong(format!("vocab[{index}].token_bytes"), format!("{token_bytes:?}"), "base64")
        })?;
        table.insert(small(rank + special_count), bytes, false).map_err(failed)?;
    }
    let missing = (special_count..length)
        .find(|&id| table.tokens().get(small(id) as usize).is_none_or(|t| t.bytes.is_empty()));
    if let Some(id) = missing {
        let found = format!("without a token of rank {}", id - special_count);
        let expected = "every rank below default_vocab_size - default_num_special_tokens";
        return Err(wrong("vocab".into(), found, expected));
    }
    table.set_encoder(match &pattern {
        Some(pattern) => Ok(byte_pairs::of_ranks(table.tokens(), Some(pattern.clone()))),
        None => Err("the file does not say how texts are split".into()),
    });
    Ok((NamedTokens::new(table, "tekken", Spelling::ByteLevel, names), pattern))
}
