//! `.tiktoken` rank files: lines of base64 and rank.

use std::collections::HashMap;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use gobo_types::TokenId;
use gobo_vocab::TokenTable;

use crate::bytes::Spelling;
use crate::checked::{ID_LIMIT, Vocab, index};
use crate::file::{MAX_FILE_BYTES, read_text};
use crate::named_tokens::NamedTokens;
use crate::{ImportError, RankProblem, surrogate};

/// Whether the first line has the form of a rank file's.
pub(crate) fn looks_like_ranks(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.len() < 1 << 14 && parse_line(line).is_ok())
}

/// Reads a rank file: one token per line as base64, one space and the rank, which is its id. Such files have no
/// special tokens; `special` are those of a list beside it.
///
/// # Errors
/// [`ImportError::Rank`] naming the line; [`ImportError::Token`] for tokens longer than a vocabulary takes, and for a
/// special token with the id of a rank.
pub(crate) fn read(
    path: &Path,
    text: &str,
    special: Vec<(String, TokenId)>,
) -> Result<NamedTokens, ImportError> {
    let mut tokens = parse(path, text)?;
    // Ascending ids let the table grow at its end only.
    tokens.sort_unstable_by_key(|(_, rank)| *rank);
    let mut table = TokenTable::new();
    for (bytes, rank) in tokens {
        table
            .insert(rank, bytes, false)
            .map_err(|source| ImportError::Token { path: path.into(), source })?;
    }
    for (name, id) in &special {
        table
            .insert(*id, name.as_bytes().to_vec(), true)
            .map_err(|source| ImportError::Token { path: path.into(), source })?;
    }
    Ok(NamedTokens::new(table, "tiktoken", Spelling::ByteLevel, special))
}

/// The surrogate of a rank file, which does not say how texts are split.
pub(crate) fn surrogate(mut tokens: Vec<(Vec<u8>, TokenId)>) -> serde_json::Value {
    tokens.sort_unstable_by_key(|(_, rank)| *rank);
    surrogate::of_ranks(tokens.iter().map(|(bytes, rank)| (bytes.as_slice(), *rank)), None)
}

/// Reads a list of special tokens: a JSON object from names to ids.
///
/// # Errors
/// [`ImportError::Field`] if it is JSON of another form; the variants for files that cannot be read, are no JSON, and
/// for names and ids that stand twice or are too large.
pub(crate) fn read_special(path: &Path) -> Result<Vec<(String, TokenId)>, ImportError> {
    let text = read_text(path, MAX_FILE_BYTES)?;
    let vocab = serde_json::from_str(&text).map_err(|source| ImportError::from_json(path, &text, source))?;
    let Vocab::Ids(map) = vocab else {
        return Err(ImportError::Field {
            path: path.into(),
            field: "(whole file)".into(),
            found: "an array".into(),
            expected: "an object from names of special tokens to ids",
        });
    };
    let texts = map.into_texts(path)?;
    index(path, &texts)?;
    let names = (0..).zip(texts).filter_map(|(id, name)| Some((name?.into_owned(), id)));
    // A token without a name would be a hole.
    Ok(names.filter(|(name, _)| !name.is_empty()).collect())
}

/// The tokens of a rank file in the order of its lines, bytes and ranks each once.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Vec<(Vec<u8>, TokenId)>, ImportError> {
    let mut tokens: Vec<(Vec<u8>, TokenId)> = Vec::new();
    // From rank and from bytes to the line.
    let mut by_rank: Vec<usize> = Vec::new();
    let mut by_bytes: HashMap<Vec<u8>, usize> = HashMap::new();
    for (line, content) in (1..).zip(text.lines()).filter(|(_, content)| !content.is_empty()) {
        let failed = |source| ImportError::Rank { path: path.into(), line, source };
        let (bytes, rank) = parse_line(content).map_err(failed)?;
        if u64::from(rank) >= ID_LIMIT {
            return Err(failed(RankProblem::TooLarge { rank, limit: ID_LIMIT }));
        }
        let index = rank as usize;
        if index >= by_rank.len() {
            by_rank.resize(index + 1, 0);
        }
        if by_rank[index] > 0 {
            return Err(failed(RankProblem::DuplicateRank { rank, first_line: by_rank[index] }));
        }
        by_rank[index] = line;
        if let Some(first_line) = by_bytes.insert(bytes.clone(), line) {
            let token = String::from_utf8_lossy(&bytes).into_owned();
            return Err(failed(RankProblem::DuplicateToken { token, first_line }));
        }
        tokens.push((bytes, rank));
    }
    Ok(tokens)
}

fn parse_line(line: &str) -> Result<(Vec<u8>, TokenId), RankProblem> {
    let (token, rank) = line.split_once(' ').ok_or(RankProblem::Fields)?;
    if rank.contains(' ') {
        return Err(RankProblem::Fields);
    }
    let bytes = BASE64_STANDARD.decode(token).map_err(RankProblem::Base64)?;
    if bytes.is_empty() {
        return Err(RankProblem::Empty);
    }
    Ok((bytes, rank.parse().map_err(RankProblem::Number)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_tokens_and_gaps_are_holes() {
        let found = read(Path::new("t"), "IGE= 3\r\nYg== 0\n\n/w== 1\n", Vec::new()).unwrap();
        let bytes: Vec<&[u8]> = found.table.tokens().iter().map(|token| &*token.bytes).collect();
        assert_eq!(bytes, [&b"b"[..], b"\xff", b"", b" a"]);
        assert!(found.names.is_empty());
    }

    #[test]
    fn problems_name_the_line() {
        for (second, expected) in [
            ("YQ==", RankProblem::Fields),
            ("YQ==  1", RankProblem::Fields),
            ("YQ== 1 2", RankProblem::Fields),
            ("YQ= 1", BASE64_STANDARD.decode("YQ=").map_err(RankProblem::Base64).unwrap_err()),
            ("YQ== x", "x".parse::<u32>().map_err(RankProblem::Number).unwrap_err()),
            ("YQ== -1", "-1".parse::<u32>().map_err(RankProblem::Number).unwrap_err()),
            (" 1", RankProblem::Empty),
            ("YQ== 4194304", RankProblem::TooLarge { rank: 4_194_304, limit: ID_LIMIT }),
            ("YQ== 0", RankProblem::DuplicateRank { rank: 0, first_line: 1 }),
            ("Yg== 1", RankProblem::DuplicateToken { token: "b".into(), first_line: 1 }),
        ] {
            match read(Path::new("t"), &format!("Yg== 0\n{second}\n"), Vec::new()) {
                Err(ImportError::Rank { line: 2, source, .. }) => assert_eq!(source, expected, "{second}"),
                other => panic!("{second}: {other:?}"),
            }
        }
    }
}
