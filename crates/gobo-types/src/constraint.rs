use serde::{Deserialize, Serialize};

use crate::{ConstraintDigest, KeyHasher};

/// Where in a text a regular expression has to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MatchMode {
    /// The whole text matches.
    #[default]
    Full,
    /// A match anywhere in the text suffices, as for JSON Schema's `pattern`.
    Search,
}

/// What the text of a constraint is, seen from the decoded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextStart {
    /// The concatenated token bytes, exactly: text after a prompt.
    #[default]
    Exact,
    /// What is left of the concatenated token bytes when one leading space is dropped, if there is one: text at the
    /// start, for decoders of SentencePiece kind.
    StripOneSpace,
}

/// The rule itself, in the form its author wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Source {
    /// A regular expression in the syntax of `regex-syntax`, Unicode on.
    Regex {
        /// The pattern.
        pattern: String,
        /// Where it has to match.
        #[serde(default, rename = "match")]
        mode: MatchMode,
    },
    /// A list of texts, of which exactly one is written. Sorted and free of repetitions: order means nothing here.
    Choice {
        /// The texts.
        items: Vec<String>,
    },
}

/// A constraint as asked: a rule, and every option that can change its language.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Constraint {
    /// The rule.
    #[serde(flatten)]
    pub source: Source,
    /// How the text begins.
    #[serde(default)]
    pub text_start: TextStart,
}

impl Constraint {
    /// A regular expression that the whole text must match.
    pub fn regex(pattern: impl Into<String>) -> Self {
        Self::of(Source::Regex { pattern: pattern.into(), mode: MatchMode::Full })
    }

    /// A regular expression that must match somewhere in the text.
    pub fn search(pattern: impl Into<String>) -> Self {
        Self::of(Source::Regex { pattern: pattern.into(), mode: MatchMode::Search })
    }

    /// One of `items`. Their order and repetitions do not matter and do not enter the digest.
    pub fn choice(items: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut items: Vec<String> = items.into_iter().map(Into::into).collect();
        items.sort_unstable();
        items.dedup();
        Self::of(Source::Choice { items })
    }

    fn of(source: Source) -> Self {
        Self { source, text_start: TextStart::default() }
    }

    /// The same rule over texts that begin as `text_start` says.
    #[must_use]
    pub fn starting(self, text_start: TextStart) -> Self {
        Self { text_start, ..self }
    }

    /// `regex` or `choice`: the word of the command line and of the proto.
    pub fn kind(&self) -> &'static str {
        match self.source {
            Source::Regex { .. } => "regex",
            Source::Choice { .. } => "choice",
        }
    }

    /// The canonical text of the rule: the pattern, or the items one per line.
    pub fn text(&self) -> String {
        match &self.source {
            Source::Regex { pattern, .. } => pattern.clone(),
            Source::Choice { items } => items.join("\n"),
        }
    }

    /// The digest over the rule and every option that can change its language. O(length of the text).
    pub fn digest(&self) -> ConstraintDigest {
        let mut hasher = KeyHasher::new("gobo constraint v1").field("kind", self.kind().as_bytes());
        hasher = match &self.source {
            Source::Regex { pattern, mode } => hasher.field("pattern", pattern.as_bytes()).field(
                "match",
                match mode {
                    MatchMode::Full => b"full",
                    MatchMode::Search => b"search",
                },
            ),
            Source::Choice { items } => {
                items.iter().fold(hasher, |hasher, item| hasher.field("item", item.as_bytes()))
            }
        };
        let text_start = match self.text_start {
            TextStart::Exact => "exact",
            TextStart::StripOneSpace => "strip_one_space",
        };
        ConstraintDigest(hasher.field("text_start", text_start.as_bytes()).finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_sees_all_that_changes_the_language_and_nothing_else() {
        let digests = [
            Constraint::regex("a").digest(),
            Constraint::search("a").digest(),
            Constraint::choice(["a"]).digest(),
            Constraint::choice(["a", "b"]).digest(),
            Constraint::choice(["a\nb"]).digest(),
            Constraint::regex("a").starting(TextStart::StripOneSpace).digest(),
        ];
        for (i, a) in digests.iter().enumerate() {
            assert!(digests[..i].iter().all(|b| a != b), "{i}");
        }
        assert_eq!(Constraint::choice(["b", "a", "b"]).digest(), Constraint::choice(["a", "b"]).digest());
    }
}
