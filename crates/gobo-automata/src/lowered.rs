//! From each kind of constraint to its automaton over bytes.

use gobo_types::{Budget, CompileError, MatchMode, Report, TextStart};

use crate::bytes::utf8::expand;
use crate::bytes::{Calls, Dfa};
use crate::chars::Language;
use crate::chars::choice::choice;
use crate::chars::dfa::CharDfa;
use crate::chars::regex::regex;
use crate::letters::TokenClasses;
use crate::rtn::{Folds, Grammar, Network, PushDown};

/// How many times the states of rules families may have when they are folded. Beyond that they stay rules.
const FOLDED_STATES: usize = 4;

/// What a constraint becomes before it meets a vocabulary.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// The automaton of its texts; never empty.
    pub dfa: Dfa,
    /// What it enforces.
    pub report: Report,
    /// What its token edges read, if it has any.
    pub tokens: Option<TokenClasses>,
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

    /// The automaton of a regular language.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn language(
        language: Language,
        text_start: TextStart,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let of = |chars: CharDfa| match text_start {
            // It is canonical already.
            TextStart::Exact => expand(chars, budget),
            TextStart::StripOneSpace => finish(chars, text_start, budget),
        };
        budget.holding(|| of(language.dfa), Self::bytes)
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
    /// Families are folded where that settles every guess: the automaton is deterministic with exits, and not without. Where both are
    /// ambiguous, exits save configurations, but suffix sets are those of all exits together, and there may be many times as many
    /// pairs of sets and return states; then families stay rules of their own. The choice depends on the grammar alone.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`], naming the rule.
    pub fn grammar(grammar: &Grammar, text_start: TextStart, budget: &Budget) -> Result<Self, CompileError> {
        let network = |folds| Network::of(grammar, folds, text_start, budget);
        let of = |network| budget.holding(|| Self::of_network(network, budget), Self::bytes);
        let Some(apart) = network(Folds::Nothing)? else { unreachable!("nothing was folded") };
        let most = apart.chars.len().saturating_mul(FOLDED_STATES);
        let apart = of(apart)?;
        let is_settled = |dfa: &Self| dfa.calls.as_ref().is_none_or(|calls| calls.is_deterministic);
        if grammar.families.is_empty() || is_settled(&apart) {
            return Ok(apart);
        }
        let folded = network(Folds::Families { most })?.map(of).transpose()?;
        Ok(folded.filter(is_settled).unwrap_or(apart))
    }

    /// The automaton of a context-free grammar whose families are folded, whatever that costs.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`], naming the rule.
    pub fn folded(grammar: &Grammar, text_start: TextStart, budget: &Budget) -> Result<Self, CompileError> {
        let folds = Folds::Families { most: usize::MAX };
        let Some(network) = Network::of(grammar, folds, text_start, budget)? else {
            unreachable!("no automaton has more states than can be counted")
        };
        budget.holding(|| Self::of_network(network, budget), Self::bytes)
    }

    /// The automaton of a push-down automaton.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn push_down(
        push_down: &PushDown,
        text_start: TextStart,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let network = budget.holding(|| push_down.network(text_start, budget), Network::bytes)?;
        budget.holding(|| Self::of_network(network, budget), Self::bytes)
    }

    fn of_network(mut network: Network, budget: &Budget) -> Result<Self, CompileError> {
        if network.calls.all.is_empty() {
            return expand(network.chars.canonical(budget)?, budget);
        }
        let chars = std::mem::replace(&mut network.chars, CharDfa::new(Vec::new(), 0));
        let mut dfa = expand(chars, budget)?;
        dfa.calls = Some(Calls::of(&network, &dfa, budget)?);
        Ok(dfa)
    }
}
