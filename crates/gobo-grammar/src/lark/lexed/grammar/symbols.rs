//! Terminals, rules and productions: the grammar as Lark's parser sees it.

use gobo_types::{Table, dense_id};

use super::super::super::modules::ModuleId;
use super::pattern::{Said, Text};

dense_id! {
    /// A terminal.
    pub(in super::super) struct TerminalId;

    /// A rule, or a part of one that became a rule.
    pub(in super::super) struct NonterminalId;

    /// An alternative of a rule.
    pub(in super::super) struct ProductionId;
}

/// A symbol of a production.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in super::super) enum Symbol {
    Terminal(TerminalId),
    Rule(NonterminalId),
}

/// An alternative of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in super::super) struct Production {
    pub(in super::super) origin: NonterminalId,
    pub(in super::super) body: Vec<Symbol>,
}

/// A terminal.
#[derive(Debug)]
pub(in super::super) struct Terminal {
    pub(in super::super) name: String,
    pub(in super::super) priority: i64,
    pub(in super::super) text: Text,
    /// Where it was first seen.
    pub(in super::super) at: (ModuleId, usize),
}

/// The grammar as Lark's parser sees it.
pub(in super::super) struct Productions {
    pub(in super::super) terminals: Table<TerminalId, Terminal>,
    /// The names of rules; parts have that of the rule in which they stand.
    pub(in super::super) names: Table<NonterminalId, String>,
    pub(in super::super) priorities: Table<NonterminalId, i64>,
    pub(in super::super) all: Table<ProductionId, Production>,
    /// `[rules]`.
    pub(in super::super) of: Table<NonterminalId, Vec<ProductionId>>,
    pub(in super::super) start: NonterminalId,
    pub(in super::super) ignored: Vec<TerminalId>,
    /// The terminals that some production has, or that are ignored, ascending.
    pub(in super::super) used: Vec<TerminalId>,
    /// The terminals that begin and end a block of lines, if the grammar declares them.
    pub(in super::super) blocks: Option<(TerminalId, TerminalId)>,
    /// What the report says of its parts.
    pub(in super::super) said: Said,
}
