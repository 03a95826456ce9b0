//! Context-free grammars, as front ends write them.

use std::ops::Range;

use gobo_types::{LengthRange, TokenId, Utf8Place};

use crate::chars::Expr;
use crate::ids::RuleId;

/// A context-free grammar over characters, scannerless: what the front ends make of their dialects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grammar {
    /// Every rule that some expression calls, and maybe more.
    pub rules: Vec<Rule>,
    /// The rule of whole texts.
    pub start: RuleId,
    /// Rules that are called, not inlined, where there are several calls of them, however few states they have: the front end knows that
    /// the states after their calls would have more rows with a copy in the place of each call.
    pub called: Vec<CalledRule>,
    /// Rules that are one rule by where its texts end: whoever calls one of a family mostly calls others of it at the same place, and
    /// which of them it was is known where the text has ended. Disjoint; the start is in none. What a family is for is speed: with or
    /// without it the texts are the same.
    pub families: Vec<Vec<RuleId>>,
    /// The token sets that its expressions name by number: see [`Expr::token_set`]. Before it becomes an automaton, letters are put in their
    /// place ([`Self::put_letters`]).
    pub tokens: Vec<TokenSet>,
}

/// A rule that is called where there are several calls of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalledRule {
    /// Which.
    pub rule: RuleId,
    /// Whether it is called even where a character does not decide between it and another way.
    pub is_always: bool,
}

/// Tokens that an edge reads, as a grammar writes them: what it names or, of all tokens of a vocabulary, the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSet {
    /// What is named.
    pub items: Vec<TokenItem>,
    /// Whether all tokens but these are meant.
    pub is_complement: bool,
    /// Where it is written, for refusals.
    pub place: String,
    /// Its bytes in the text of the constraint, if it stands there.
    pub span: Option<Range<usize>>,
}

/// What names tokens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenItem {
    /// The text of a token: every id with it.
    Name(String),
    /// The ids from one to another.
    Ids(TokenId, TokenId),
    /// All tokens.
    All,
    /// The tokens of text that lead from one place of UTF-8 to another; without line feed and carriage return, where that is said.
    Text {
        /// Where they begin.
        from: Utf8Place,
        /// Where they end.
        to: Utf8Place,
        /// Whether tokens with a line feed or carriage return are left out.
        is_one_line: bool,
    },
    /// None, and no text: a budget of tokens is spent here ([`Language::spent`](crate::Language::spent)).
    Spent,
}

/// A named expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The name, as verdicts and `gobo explain` show it.
    pub name: String,
    /// What it stands for.
    pub expr: Expr,
    /// How many characters its texts may have, if they are counted beside the states. Then the texts are parts of the bodies of JSON
    /// strings, the rule calls none, and after it comes a byte with which none of its texts goes on, such as the quote. From each state
    /// there is a text of each length above the least one, unless there is no least length. If heads are bounded, `@` is written as itself
    /// alone, and whether one is still to come is the same for all texts from a state.
    pub lengths: Option<LengthRange>,
}
