//! Named extensions of regular expressions: groups whose names stand for texts that take pages to write out (Koo, Liu & He 2024, *Automata-
//! based constraints for language model decoding*, Table 1).
//!
//! The paper settles by a precedence which of several ways a text goes on; here all ways stay alive, so that an extension is a set of
//! texts and nothing else: it may be repeated, nested and looked at. [`texts`] has those that need no part, [`lists`] those made
//! of other groups, [`tokens`] those that read tokens.

mod lists;
mod texts;
mod tokens;

use gobo_automata::CharState;
use gobo_automata::{Expr, Language, Minterms, Symbol};
use gobo_types::{Budget, CompileError, NamedClasses};

use super::classes;
use super::syntax::Node;

pub(super) use lists::{Count, list, subsequence};
pub(super) use texts::{quoted, unquoted};
pub(super) use tokens::{PARAGRAPH_TOKEN, TEXT_TOKEN, class, token_sets};
pub use tokens::{check_classes, with_tokens};

const PHASE: &str = "reading named groups";

/// A group with a meaning of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extension {
    Quoted,
    Unquoted,
    Until,
    Substring,
    SubstringOfWords,
    List,
    Subsequence,
    /// An item of a list.
    Item,
    /// What stands between items.
    Delimiter,
    /// How many items.
    Count,
    /// A token of text; of one without line ends.
    TextToken,
    ParagraphToken,
    /// A class of tokens, by its number in the order of their names; none: the name has no class.
    OfTokens(Option<usize>),
}

/// The names of all but classes of tokens.
const NAMES: [(&str, Extension); 12] = [
    ("QUOTED_TEXT", Extension::Quoted),
    ("UNQUOTED_TEXT", Extension::Unquoted),
    ("TEXT_UNTIL", Extension::Until),
    ("SUBSTRING_OF", Extension::Substring),
    ("SUBSTRING_OF_WORDS", Extension::SubstringOfWords),
    ("DELIMITED_LIST", Extension::List),
    ("DELIMITED_SUBSEQUENCE_OF", Extension::Subsequence),
    ("TEXT_TOKEN", Extension::TextToken),
    ("PARAGRAPH_TOKEN", Extension::ParagraphToken),
    ("ITEM", Extension::Item),
    ("DELIMITER", Extension::Delimiter),
    ("COUNT", Extension::Count),
];

/// The class of tokens that no pattern defines, and each may name.
const IMAGE: &str = "IMAGE";

impl Extension {
    /// The extension of a name, in a group of one perhaps, or the class of tokens; other names mean nothing.
    pub(super) fn named(name: &str, within: Option<Self>, classes: &NamedClasses) -> Option<Self> {
        let is_list = matches!(within, Some(Self::List | Self::Subsequence));
        let is_here =
            |extension: &Self| is_list || !matches!(extension, Self::Item | Self::Delimiter | Self::Count);
        let known = NAMES.iter().find(|known| known.0 == name).map(|known| known.1);
        known.filter(is_here).or_else(|| {
            let class = classes.iter().position(|class| class.0 == name);
            (name == IMAGE || class.is_some()).then_some(Self::OfTokens(class))
        })
    }

    /// Its name.
    pub(super) fn name(self, classes: &NamedClasses) -> &str {
        let class = |number: Option<usize>| classes.iter().nth(number?).map(|class| class.0);
        match self {
            Self::OfTokens(number) => class(number).unwrap_or(IMAGE),
            _ => NAMES.iter().find(|known| known.1 == self).map_or("", |known| known.0),
        }
    }

    /// Whether it reads tokens.
    pub(super) fn reads_tokens(self) -> bool {
        matches!(self, Self::TextToken | Self::ParagraphToken | Self::OfTokens(_))
    }
}

/// The texts that end with a text of the language, and have none that ends before: each up to its first occurrence. Linear in the automaton
/// of all texts that end so, which for phrases is that of Aho & Corasick 1975 (*Efficient string matching*).
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(super) fn until(phrases: &Language, budget: &Budget) -> Result<Language, CompileError> {
    let anything = Expr::Chars(classes::any()).repeat(0, None);
    let phrases = phrases.to_expr(|chars| Expr::Chars(chars.clone()), budget)?;
    let ending = Language::expr(&Expr::Concat(vec![anything, phrases]), budget)?;
    let minterms = Minterms::of(&[], std::slice::from_ref(&ending), budget)?;
    let expand = |&state: &CharState, row: &mut Vec<(Symbol, CharState)>| {
        if ending.may_end(state) {
            return Ok(true);
        }
        budget.charge_steps(PHASE, minterms.all().len() as u64)?;
        let after = |minterm| (minterm, minterms.step(minterm, 0, &ending, state));
        row.extend(minterms.all().map(after).filter(|edge| edge.1 != CharState::DEAD));
        Ok(false)
    };
    Language::explore_minterms(&minterms, ending.start(), expand, budget)
}

/// A node whose texts were computed.
fn node(expr: &Expr, budget: &Budget) -> Result<Node, CompileError> {
    Ok(Node::Texts(std::sync::Arc::new(Language::expr(expr, budget)?)))
}
