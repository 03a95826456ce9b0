//! What is suspicious about a grammar: names that nobody needs, rules without texts, recursion, and two parse trees of one text.
//!
//! The grammar is looked at as it is written, before anything is inlined or removed. `inventory` has its names; `symbols` numbers its
//! parts; `recursion` and `search` work on these, the latter over `stacks`; `trees` shows what was found. A leaf (`leaf`) is a terminal
//! of Lark with the ignored text after it, or a macro of EBNF.

mod inventory;
mod leaf;
mod recursion;
mod search;
mod stacks;
mod symbols;
mod trees;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use gobo_automata::RuleId;
use gobo_types::{Budget, CompileError, CompileLimits, DenseId as _, Lexer};

use crate::lark;
use crate::written::Written;

use self::inventory::Inventory;
use self::leaf::NO_TEXT;
use self::recursion::{Kinds, recursion};
use self::search::{End, search};
use self::symbols::Symbols;
use self::trees::trees;

pub use crate::lark::{Glued, Hidden, LexerFindings};
pub use crate::outline::line_and_column;

pub use self::inventory::Named;
pub use self::trees::TwoTrees;

/// The greatest length of texts that are looked for.
pub const MAX_LENGTH: u32 = 64;

/// The most that the search for two trees may take, and the look at the lexer, each beside all else: some seconds.
pub const SEARCH_LIMITS: CompileLimits =
    CompileLimits { max_states: 1 << 18, max_steps: 20_000_000, max_bytes: 256 << 20 };

/// A rule that calls itself, directly or through others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recursive {
    /// Which.
    pub rule: Named,
    /// Whether it may call itself before it reads anything.
    pub left: bool,
    /// Whether nothing may be read after it has called itself.
    pub right: bool,
    /// Whether it may call itself with something before and something after the inner text.
    pub self_embedding: bool,
}

/// What came of the search for a text with two parse trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ambiguity {
    /// A shortest one.
    Found(TwoTrees),
    /// None that has so many characters or fewer. A longer one may have two trees.
    NoneUpTo(u32),
    /// None that has fewer than so many characters; then the budget of the search ran out.
    NoneBelow(u32),
    /// Nothing was looked for: the lexer `none` cannot read the grammar, for this reason. Then nothing is known of rules without texts,
    /// and of recursion, either.
    Unread(String),
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// Rules that the start rule does not reach, in the order of the text.
    pub unreachable: Vec<Named>,
    /// Terminals that no rule uses which is reached.
    pub unused: Vec<Named>,
    /// Rules and terminals without any text.
    pub empty: Vec<Named>,
    /// Rules that call themselves.
    pub recursive: Vec<Recursive>,
    /// Two trees of one text.
    pub ambiguity: Ambiguity,
    /// What a lexer does, if the grammar is read under one that finds lexemes, is not refused under it, and is within the budget.
    pub lexer: Option<LexerFindings>,
}

impl Lint {
    /// Whether something is there that a grammar can do without: names that nobody needs, rules without texts, or terminals that are
    /// never found.
    pub fn is_suspicious(&self) -> bool {
        let is_hidden = self.lexer.as_ref().is_some_and(|lexer| !lexer.hidden.is_empty());
        is_hidden || !(self.unreachable.is_empty() && self.unused.is_empty() && self.empty.is_empty())
    }
}

/// Looks at a grammar, in Lark as the lexer `none` reads it, and at its lexer beside that; texts of at most `length` characters, and of at
/// most [`MAX_LENGTH`], are looked at for two trees. Linear in the grammar, but for its terminals, whose automata are built, for the states
/// of its parser, and for the search.
///
/// # Errors
/// A refusal of the grammar, as reading it; [`CompileError::OverBudget`].
///
/// ```
/// use gobo_grammar::Written;
/// use gobo_grammar::lint::{Ambiguity, lint};
/// use gobo_types::{Budget, CompileLimits, Dialect, Indentation, NamedClasses};
///
/// let grammar = "root ::= root \"+\" root | \"1\"\nold ::= \"2\"";
/// let (dialect, indentation) = (Dialect::Gbnf, Indentation::default());
/// let (classes, documents) = (NamedClasses::NONE, &[]);
/// let written = Written { dialect, grammar, start: "root", lexer: None, indentation, documents, classes };
/// let lint = lint(&written, 8, &Budget::new(CompileLimits::default())).unwrap();
/// assert_eq!(lint.unreachable[0].name, "old");
/// assert!(lint.recursive[0].left && lint.recursive[0].right && lint.recursive[0].self_embedding);
/// let Ambiguity::Found(two) = lint.ambiguity else { panic!("1+1+1 is (1+1)+1 and 1+(1+1)") };
/// assert_eq!(two.text, "1+1+1");
/// assert_eq!(two.trees[0], r#"root(root(root("1") "+" root("1")) "+" root("1"))"#);
/// ```
pub fn lint(written: &Written<'_>, length: u32, budget: &Budget) -> Result<Lint, CompileError> {
    let length = length.min(MAX_LENGTH);
    let beside = || budget.beside(SEARCH_LIMITS.within(&budget.limits()));
    let of_lexer = lark::findings(written, &beside());
    // Variants of rules, which lexemes bring, are nobody's rules.
    let lexer = written.dialect.has_lexemes().then_some(Lexer::None);
    let written = &Written { lexer, ..*written };
    let grammar = match written.read(budget) {
        Ok(read) => read.texts.rules().expect("without lexemes texts are rules"),
        Err(CompileError::Refused(refusal)) if of_lexer.is_some() => {
            let names = Inventory::of_names(written, budget)?;
            let (unused, unreachable) = names.unreached.into_iter().partition(|name| name.is_terminal);
            let ambiguity = Ambiguity::Unread(refusal.reason.to_string());
            let (empty, recursive) = (Vec::new(), Vec::new());
            return Ok(Lint { unreachable, unused, empty, recursive, ambiguity, lexer: of_lexer });
        }
        Err(error) => return Err(error),
    };
    let names = Inventory::of(written, &grammar, budget)?;
    let symbols = Symbols::of(&grammar, |rule| names.leaves[rule.index()], length, budget)?;
    let kinds = recursion(&symbols, budget)?;
    let (mut empty, mut recursive): (Vec<Named>, Vec<Recursive>) = (Vec::new(), Vec::new());
    // Templates are several rules of one name.
    let (mut known_empty, mut known_recursive) = (HashSet::new(), HashSet::new());
    for (id, rule) in RuleId::enumerate(&grammar.rules) {
        let (is_leaf, kinds) = (names.leaves[id.index()], kinds[id.index()]);
        let name = rule.name.as_str();
        let place = names.places.get(name);
        // A rule that the reader has added has no name in the grammar.
        if place.is_none() && !is_leaf {
            continue;
        }
        let rule = Named { name: name.to_owned(), is_terminal: is_leaf, at: place.cloned() };
        if symbols.least[symbols.body(id)] == NO_TEXT && known_empty.insert(name) {
            empty.push(rule.clone());
        }
        if let Some(Kinds { left, right, is_self_embedding }) = kinds
            && known_recursive.insert(name)
        {
            recursive.push(Recursive { rule, left, right, self_embedding: is_self_embedding });
        }
    }
    empty.sort_by_key(|rule| rule.at.as_ref().map(|at| at.start));
    recursive.sort_by_key(|found| found.rule.at.as_ref().map(|at| at.start));

    // The start rule of a grammar with ignored text is one that the reader has added.
    let is_own = names.places.contains_key(&symbols.names[grammar.start.index()]);
    let root = if is_own { symbols.root } else { symbols.body(grammar.start) };
    let ambiguity = match search(&symbols, root, length, &beside())? {
        End::Found(found) => Ambiguity::Found(trees(&symbols, root, &found)),
        End::None => Ambiguity::NoneUpTo(length),
        End::OverBudget(reached) => Ambiguity::NoneBelow(reached),
    };
    let (unused, unreachable) = names.unreached.into_iter().partition(|name| name.is_terminal);
    Ok(Lint { unreachable, unused, empty, recursive, ambiguity, lexer: of_lexer })
}
