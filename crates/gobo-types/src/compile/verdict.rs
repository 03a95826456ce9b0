//! Verdicts: every way in which a compile ends without an index.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Limit;
use crate::{Clipped, ErrorKind};

/// Why a constraint is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// Not well-formed in its language.
    Malformed,
    /// A construct that gobo does not enforce, and therefore refuses.
    Unsupported,
    /// No text satisfies it.
    Unsatisfiable,
    /// The vocabulary can write none of its texts.
    Unspellable,
}

impl fmt::Display for RefusalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "malformed",
            Self::Unsupported => "unsupported",
            Self::Unsatisfiable => "unsatisfiable",
            Self::Unspellable => "unspellable",
        })
    }
}

/// A deterministic refusal: the same constraint and vocabulary are refused on every host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{kind}: {reason}{}", in_parentheses(place))]
pub struct Refusal {
    /// The kind of refusal.
    pub kind: RefusalKind,
    /// Where in the constraint, for a person and for a script (`offset 3`, `item "naïve"`, `/properties/a`). Empty is the JSON
    /// pointer of a whole schema.
    #[serde(rename = "where")]
    pub place: Clipped,
    /// Why.
    pub reason: Clipped,
}

fn in_parentheses(place: &Clipped) -> String {
    if place.is_empty() { String::new() } else { format!(" ({place})") }
}

/// A counted budget ran out: repeatable under the same budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("over budget: {phase} needs more than {given} {limit}", limit = limit.unit())]
pub struct OverBudget {
    /// The limit that was reached.
    pub limit: Limit,
    /// Its value.
    pub given: u64,
    /// The phase of the compile that reached it.
    #[serde(rename = "where")]
    pub phase: Clipped,
}

/// Every way in which a compile ends without an index. Its texts may quote the constraint, and are [`Clipped`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CompileError {
    /// Refused: deterministic, may be cached.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Over a counted budget: repeatable under that budget.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// Transient: shed, killed, cancelled. Never cached; try again.
    #[error("unavailable: {why}")]
    Unavailable {
        /// The reason, for a person.
        why: Clipped,
        /// The time after which another try may succeed, where that is known.
        retry_after: Option<Duration>,
    },
    /// A bug of gobo: reported, never cached.
    #[error("failed: {0}; this is a bug of gobo")]
    Failed(Clipped),
}

impl CompileError {
    /// A refusal.
    pub fn refuse(kind: RefusalKind, place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Refused(Refusal { kind, place: place.into().into(), reason: reason.into().into() })
    }

    /// Transient, without a guess when another try may succeed.
    pub fn unavailable(why: impl Into<String>) -> Self {
        Self::Unavailable { why: why.into().into(), retry_after: None }
    }

    /// The word for this verdict on the command line and in the proto.
    pub fn verdict(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::OverBudget(_) => "over_budget",
            Self::Unavailable { .. } => "unavailable",
            Self::Failed(_) => "failed",
        }
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Refused(refusal) => match refusal.kind {
                RefusalKind::Malformed => ErrorKind::Invalid,
                RefusalKind::Unsupported | RefusalKind::Unsatisfiable | RefusalKind::Unspellable => {
                    ErrorKind::Unsupported
                }
            },
            Self::OverBudget(_) => ErrorKind::Limit,
            Self::Unavailable { .. } => ErrorKind::Busy,
            Self::Failed(_) => ErrorKind::Internal,
        }
    }
}
