//! Verdicts: every way in which a compile ends without an index.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Limit, Span};
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
    /// The bytes of the constraint's text that it is about, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// Why.
    pub reason: Clipped,
    /// What to do next: a whole sentence, or empty.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub help: Clipped,
}

fn is_empty(text: &Clipped) -> bool {
    text.as_str().is_empty()
}

fn in_parentheses(place: &Clipped) -> String {
    if place.is_empty() { String::new() } else { format!(" ({place})") }
}

fn after_colon(reason: &Clipped) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

/// A counted budget ran out: repeatable under the same budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("over budget: {phase} needs more than {}{}{}", limit.quantity(*given), in_parentheses(place), after_colon(reason))]
pub struct OverBudget {
    /// The limit that was reached.
    pub limit: Limit,
    /// Its value.
    pub given: u64,
    /// The phase of the compile that reached it.
    pub phase: Clipped,
    /// The part of the constraint that needs so much, as in [`Refusal::place`]; empty where none alone does.
    #[serde(rename = "where", default, skip_serializing_if = "is_empty")]
    pub place: Clipped,
    /// The bytes of the constraint's text that this part has, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// What that part does, for a person; empty where it is not known.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub reason: Clipped,
    /// The value of the limit that would do, as far as can be foreseen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<u64>,
    /// What to do next: a whole sentence, or empty.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub help: Clipped,
}

impl Refusal {
    /// A refusal of which the bytes and the next step are not known.
    pub fn new(kind: RefusalKind, place: impl Into<String>, reason: impl Into<String>) -> Self {
        let (place, reason) = (Clipped::from(place.into()), Clipped::from(reason.into()));
        Self { kind, place, span: None, reason, help: Clipped::default() }
    }
}

impl OverBudget {
    /// A limit that a phase reached, before anything is known of the part of the constraint that needs so much.
    pub fn at(limit: Limit, given: u64, phase: &str) -> Self {
        Self {
            limit,
            given,
            phase: phase.into(),
            place: Clipped::default(),
            span: None,
            reason: Clipped::default(),
            needed: None,
            help: Clipped::default(),
        }
    }
}

/// Every way in which a compile ends without an index. Its texts may quote the constraint, and are [`Clipped`]. Verdicts are
/// boxed, because each step of a compile may return one and hardly any does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CompileError {
    /// Refused: deterministic, may be cached.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// Over a counted budget: repeatable under that budget.
    #[error(transparent)]
    OverBudget(Box<OverBudget>),
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

impl From<Refusal> for CompileError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<OverBudget> for CompileError {
    fn from(over: OverBudget) -> Self {
        Self::OverBudget(Box::new(over))
    }
}

impl CompileError {
    /// A refusal.
    pub fn refuse(kind: RefusalKind, place: impl Into<String>, reason: impl Into<String>) -> Self {
        Refusal::new(kind, place, reason).into()
    }

    /// With the bytes of the constraint's text that the verdict is about. Nothing for what is neither refused nor over budget.
    ///
    /// ```
    /// use gobo_types::{CompileError, RefusalKind};
    ///
    /// let error = CompileError::refuse(RefusalKind::Malformed, "offset 1", "a group that is not closed")
    ///     .spanning(1..2)
    ///     .advising("Write \\( for a parenthesis.");
    /// assert_eq!(error.to_string(), "malformed: a group that is not closed (offset 1)");
    /// ```
    #[must_use]
    pub fn spanning(mut self, bytes: Range<usize>) -> Self {
        match &mut self {
            Self::Refused(refusal) => refusal.span = Some(bytes.into()),
            Self::OverBudget(over) => over.span = Some(bytes.into()),
            Self::Unavailable { .. } | Self::Failed(_) => {}
        }
        self
    }

    /// With what to do next, a whole sentence. Nothing for what is neither refused nor over budget.
    #[must_use]
    pub fn advising(mut self, sentence: impl Into<String>) -> Self {
        let sentence = Clipped::from(sentence.into());
        match &mut self {
            Self::Refused(refusal) => refusal.help = sentence,
            Self::OverBudget(over) => over.help = sentence,
            Self::Unavailable { .. } | Self::Failed(_) => {}
        }
        self
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
