//! From each kind of constraint to its automaton over bytes.

use gobo_types::{Budget, CompileError, MatchMode, Report, TextStart};

use crate::bytes::utf8::expand;
use crate::bytes::{Calls, Dfa};
use crate::chars::choice::choice;
use crate::chars::dfa::CharDfa;
use crate::chars::regex::regex;
use crate::rtn::{Grammar, Network};

/// What a constraint becomes before it meets a vocabulary.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// The automaton of its texts; never empty.
    pub dfa: Dfa,
    /// What it enforces.
    pub report: Report,
}

/// From characters to the bytes of the texts that begin as asked.
fn finish(mut chars: CharDfa, text_start: TextStart, budget: &Budget) -> Result<Dfa, CompileError> {
    if text_start == TextStart::StripOneSpace {
        chars = chars.before_strip_of_one_space();
    }
    expand(chars.canonical(budget)?, budget)
}

impl Dfa {
    /// The automaton of a regular expression in the syntax of `regex-syntax`.
    ///
    /// # Errors
    /// A refusal naming the construct and its byte offset in the pattern; [`CompileError::OverBudget`].
    pub fn regex(
        pattern: &str,
        mode: MatchMode,
        text_start: TextStart,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        budget.holding(|| finish(regex(pattern, mode, budget)?, text_start, budget), Self::bytes)
    }

    /// The automaton of a list of texts.
    ///
    /// # Errors
    /// A refusal of the empty list; [`CompileError::OverBudget`].
    pub fn choice(items: &[String], text_start: TextStart, budget: &Budget) -> Result<Self, CompileError> {
        budget.holding(|| finish(choice(items, budget)?, text_start, budget), Self::bytes)
    }

    /// The automaton, with calls where it needs them, of a context-free grammar.
    ///
    /// # Errors
    /// A refusal naming the rule; [`CompileError::OverBudget`].
    pub fn grammar(grammar: &Grammar, text_start: TextStart, budget: &Budget) -> Result<Self, CompileError> {
        budget.holding(|| Self::of_grammar(grammar, text_start, budget), Self::bytes)
    }

    fn of_grammar(grammar: &Grammar, text_start: TextStart, budget: &Budget) -> Result<Self, CompileError> {
        let mut network = Network::of(grammar, text_start, budget)?;
        if network.calls.all.is_empty() {
            return expand(network.chars.canonical(budget)?, budget);
        }
        let chars = std::mem::replace(&mut network.chars, CharDfa::new(Vec::new(), 0));
        let mut dfa = expand(chars, budget)?;
        dfa.calls = Some(Calls::of(&network, &dfa, budget)?);
        Ok(dfa)
    }
}
