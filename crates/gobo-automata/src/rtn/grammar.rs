//! Context-free grammars, as front ends write them.

use crate::chars::Expr;
use crate::ids::RuleId;

/// A context-free grammar over characters, scannerless: what the front ends make of their dialects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grammar {
    /// Every rule that some expression calls, and maybe more.
    pub rules: Vec<Rule>,
    /// The rule of whole texts.
    pub start: RuleId,
    /// Rules that are called, not inlined, where one character decides, however few states they have: the front end knows that the
    /// states after their calls would have more rows with a copy in the place of each call.
    pub called: Vec<RuleId>,
}

/// A named expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The name, as verdicts and `gobo explain` show it.
    pub name: String,
    /// What it stands for.
    pub expr: Expr,
}
