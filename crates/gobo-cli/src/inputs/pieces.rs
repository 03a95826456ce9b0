//! Texts in which tokens stand, for constraints with token edges: in case files, and in `--tokens`.
use std::fmt;
use std::str::FromStr;

use anyhow::{Context, anyhow};
use gobo_artifact::{Matcher, MatcherError, Vocabulary};
use serde::{Deserialize, Serialize};

/// A text, or texts and tokens one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Pieces {
    /// A text without tokens.
    Text(String),
    /// One after the other.
    Pieces(Vec<Piece>),
}

/// A text, or one token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Piece {
    /// A text.
    Text(String),
    /// A token that is taken whole.
    Token {
        /// Which one.
        token: TokenName,
    },
}

/// A token by its id or by its text; of several with one text the first special one, or the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TokenName {
    /// Its id.
    Id(u32),
    /// Its text.
    Text(String),
}

impl TokenName {
    /// The name of a special token: its text, if that is one.
    pub fn of(vocabulary: &Vocabulary, id: u32) -> Self {
        match std::str::from_utf8(vocabulary.bytes(id)) {
            Ok(text) if !text.is_empty() => Self::Text(text.to_owned()),
            _ => Self::Id(id),
        }
    }

    /// The id of the token. O(ids) for a text.
    ///
    /// # Errors
    /// If the vocabulary has no such token.
    pub fn id(&self, vocabulary: &Vocabulary) -> anyhow::Result<u32> {
        match self {
            Self::Id(id) if *id < vocabulary.len() => Ok(*id),
            Self::Id(id) => {
                Err(anyhow!("token id {id} is beyond the vocabulary of {} ids", vocabulary.len()))
            }
            Self::Text(text) => {
                let mut named = (0..vocabulary.len()).filter(|&id| vocabulary.bytes(id) == text.as_bytes());
                let first = named.next();
                let special = first.into_iter().chain(named).find(|&id| vocabulary.is_special(id));
                special.or(first).with_context(|| format!("no token of the vocabulary is {text:?}"))
            }
        }
    }
}

impl Pieces {
    /// Its text, if no token stands in it.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Pieces(_) => None,
        }
    }

    /// The pieces: a text is one.
    pub fn pieces(&self) -> Vec<Piece> {
        match self {
            Self::Text(text) => vec![Piece::Text(text.clone())],
            Self::Pieces(pieces) => pieces.clone(),
        }
    }

    /// The pieces with the bytes and ids of a vocabulary.
    ///
    /// # Errors
    /// If the vocabulary has no such token.
    pub fn read<'a>(&'a self, vocabulary: &'a Vocabulary) -> anyhow::Result<Vec<gobo_automata::Piece<'a>>> {
        let token = |name: &TokenName| {
            let id = name.id(vocabulary)?;
            let is_special = vocabulary.is_special(id);
            Ok(gobo_automata::Piece::Token { id, bytes: vocabulary.bytes(id), is_special })
        };
        match self {
            Self::Text(text) => Ok(vec![gobo_automata::Piece::Text(text.as_bytes())]),
            Self::Pieces(pieces) => pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Text(text) => Ok(gobo_automata::Piece::Text(text.as_bytes())),
                    Piece::Token { token: name } => token(name),
                })
                .collect(),
        }
    }

    /// Takes all pieces; how far it came is the error of the first that is refused.
    ///
    /// # Errors
    /// If the vocabulary has no such token.
    pub fn take(&self, matcher: &mut Matcher) -> anyhow::Result<Result<(), MatcherError>> {
        for piece in self.pieces() {
            let taken = match piece {
                Piece::Text(text) => matcher.advance_bytes(text.as_bytes()),
                Piece::Token { token } => {
                    let id = token.id(matcher.vocabulary())?;
                    matcher.advance(id)
                }
            };
            if taken.is_err() {
                return Ok(taken);
            }
        }
        Ok(Ok(()))
    }
}

impl fmt::Display for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for Pieces {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str::<Vec<Piece>>(text).map(Self::Pieces).map_err(|error| {
            format!(
                "{error}; a list is meant, as in [{{\"token\": \"<think>\"}}, \"text\", {{\"token\": 7}}]"
            )
        })
    }
}
