//! Expands calls that do not recur: the automaton whose states are sets of configurations, a subset construction. Exponential in the
//! depth of the calls at worst. What is counted beside the states becomes states: as many as the product of both.

use foldhash::{HashMap, HashSet};
use gobo_types::{Budget, CharCount, CompileError, DenseId as _, LengthRange, dense_id};

use super::calls::Calls;
use super::canonical::ByteTable;
use super::dfa::Dfa;
use crate::ids::{ReturnId, StateId, Symbol};
use crate::symbols::SymbolDfa;

const PHASE: &str = "writing calls out";

dense_id! {
    /// A stack.
    struct StackId;
}

/// The empty stack.
const EMPTY: StackId = StackId(0);

/// A return state on top of another stack.
struct Frame {
    top: ReturnId,
    below: StackId,
    /// The characters since it was pushed, where they are counted.
    count: CharCount,
}

/// A state with what was called before it.
type Configuration = (StateId, StackId);

/// An automaton with calls as one without: its states are sets of configurations.
struct Expansion<'a> {
    dfa: &'a Dfa,
    calls: &'a Calls,
    /// Of each stack but the empty one.
    frames: Vec<Frame>,
    known_frames: HashMap<(ReturnId, StackId, CharCount), StackId>,
    /// [`Dfa::byte_of_class`].
    bytes: Vec<u8>,
    /// The states before the last `@` in rules that bound the heads of their texts.
    heads: HashSet<StateId>,
}

impl Dfa {
    /// The automaton with its calls expanded; `None` where some rule calls itself, directly or through others, or counts tokens. Trimmed,
    /// minimal, numbered breadth first; it no longer knows its characters. O(sets of configurations × classes).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn expand_calls(&self, budget: &Budget) -> Result<Option<Self>, CompileError> {
        match &self.calls {
            None => Ok(Some(self.clone())),
            Some(calls) if calls.is_recursive || calls.counts_tokens() => Ok(None),
            Some(calls) => {
                let (frames, known_frames) = Default::default();
                let bytes = self.byte_of_class();
                let heads = self.head_distances(budget)?.into_iter().map(|of| of.state).collect();
                Expansion { dfa: self, calls, frames, known_frames, bytes, heads }.of_start(budget).map(Some)
            }
        }
    }
}

impl Expansion<'_> {
    fn of_start(&mut self, budget: &Budget) -> Result<Dfa, CompileError> {
        let dfa = self.dfa;
        let first = vec![(dfa.start, EMPTY)];
        let mut known: HashMap<Vec<Configuration>, StateId> =
            HashMap::from_iter([(Vec::new(), StateId::DEAD), (first.clone(), StateId::new(1))]);
        let mut sets = vec![Vec::new(), first];
        let mut expanded = SymbolDfa::empty();
        expanded.start = StateId::new(1);
        let mut row = Vec::with_capacity(dfa.stride);
        while let Some(set) = sets.get(expanded.len()) {
            let set = self.with_popped(set);
            // What rules end in is among them.
            let is_complete = |&(state, stack): &Configuration| dfa.accepting[state] && stack == EMPTY;
            let is_accepting = set.iter().any(is_complete);
            budget.charge_steps(PHASE, (set.len() * dfa.stride) as u64)?;
            row.clear();
            for class in 0..dfa.stride {
                let next = self.after(&set, class);
                let fresh = StateId::new(sets.len());
                let to = *known.entry(next).or_insert_with_key(|next| {
                    sets.push(next.clone());
                    fresh
                });
                if to == fresh {
                    budget.check_states(PHASE, sets.len() - 1)?;
                    let held = sets[to.index()].len() * size_of::<Configuration>() * 2 + dfa.stride * 4;
                    budget.charge_bytes(PHASE, held as u64)?;
                }
                if to != StateId::DEAD {
                    row.push((Symbol::new(class), to));
                }
            }
            expanded.push(&row, is_accepting);
        }
        ByteTable { classes: dfa.classes.clone(), stride: dfa.stride, symbols: expanded }.canonical(budget)
    }

    fn frame(&self, stack: StackId) -> &Frame {
        &self.frames[stack.index() - 1]
    }

    /// What is counted until the top of a stack is popped.
    fn lengths(&self, stack: StackId) -> Option<LengthRange> {
        (stack != EMPTY).then(|| self.calls.returns[self.frame(stack).top.index()].lengths).flatten()
    }

    /// Whether enough characters have been read for the top of a stack to be popped.
    fn may_pop(&self, stack: StackId) -> bool {
        self.lengths(stack).is_none_or(|lengths| lengths.has(self.frame(stack).count.chars()))
    }

    /// The stack after a byte has led to a state above it; `None` where that is one character too many.
    fn counted(&mut self, stack: StackId, state: StateId, byte: u8) -> Option<StackId> {
        let Some(lengths) = self.lengths(stack) else { return Some(stack) };
        let Frame { top, below, count, .. } = *self.frame(stack);
        // Beyond all bounds nothing is told apart.
        let of_head = lengths.head.map_or(0, |head| head + 1);
        let count = count.after(byte).at_most(lengths.max.map_or(lengths.min, |max| max + 1).max(of_head));
        let fits_head = !self.heads.contains(&state) || lengths.allows_head_up_to(count.chars());
        (lengths.allows_up_to(count.chars()) && fits_head).then(|| self.push(top, below, count))
    }

    /// What is below the top of a stack, with the state to which the rule above returns that ends in `state`.
    fn popped(&self, state: StateId, stack: StackId) -> Option<Configuration> {
        let Frame { top, below, .. } = *self.frame(stack);
        Some((self.calls.returns[top.index()].state(self.calls.exit(state))?, below))
    }

    /// Some configurations, with those that are reached where rules end.
    fn with_popped(&self, set: &[Configuration]) -> Vec<Configuration> {
        let mut all = set.to_vec();
        let mut at = 0;
        while let Some(&(state, stack)) = all.get(at) {
            if self.dfa.accepting[state] && stack != EMPTY && self.may_pop(stack) {
                let popped = self.popped(state, stack);
                all.extend(popped.filter(|popped| !all.contains(popped)));
            }
            at += 1;
        }
        all
    }

    /// The configurations after a byte of the class, ascending.
    fn after(&mut self, set: &[Configuration], class: usize) -> Vec<Configuration> {
        let (dfa, calls) = (self.dfa, self.calls);
        let mut next: Vec<Configuration> = Vec::new();
        for &(state, stack) in set {
            if let Some(to) = dfa.step(state, class)
                && let Some(stack) = self.counted(stack, to, self.bytes[class])
            {
                next.extend(self.arrived(to, stack));
            }
            for push in calls.push_transitions(state) {
                let Some(to) = dfa.step(push.entry, class) else { continue };
                let fresh = CharCount::default();
                let pushed =
                    calls.pushed(push).iter().fold(stack, |below, &top| self.push(top, below, fresh));
                if let Some(pushed) = self.counted(pushed, to, self.bytes[class]) {
                    next.extend(self.arrived(to, pushed));
                }
            }
        }
        next.sort_unstable();
        next.dedup();
        next
    }

    /// A rule that can only end has ended, unless it is too short.
    fn arrived(&self, mut state: StateId, mut stack: StackId) -> Option<Configuration> {
        while stack != EMPTY && self.calls.is_end(self.dfa, state) {
            if !self.may_pop(stack) {
                return None;
            }
            (state, stack) = self.popped(state, stack)?;
        }
        Some((state, stack))
    }

    fn push(&mut self, top: ReturnId, below: StackId, count: CharCount) -> StackId {
        let fresh = StackId::new(self.frames.len() + 1);
        *self.known_frames.entry((top, below, count)).or_insert_with(|| {
            self.frames.push(Frame { top, below, count });
            fresh
        })
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::{CompileLimits, TextStart};

    use super::*;
    use crate::{Expr, Grammar, Rule, RuleId};

    fn expanded(rules: &[(&str, Expr)]) -> (Dfa, Option<Dfa>) {
        let rules = rules.iter().map(|(name, expr)| Rule {
            name: (*name).to_owned(),
            expr: expr.clone(),
            lengths: None,
        });
        let grammar = Grammar {
            rules: rules.collect(),
            start: RuleId::of(0),
            called: Vec::new(),
            families: Vec::new(),
            tokens: Vec::new(),
        };
        let budget = Budget::new(CompileLimits::default());
        let dfa = Dfa::grammar(&grammar, TextStart::Exact, &budget).unwrap();
        let expanded = dfa.expand_calls(&budget).unwrap();
        (dfa, expanded)
    }

    /// A rule with calls in two places, one of them with a rule that ends after it, reads what its text says.
    #[test]
    fn calls_are_written_out() {
        let text = |text: &str| Expr::text(text);
        let quoted = Expr::Concat(vec![text("\""), text("abcdefgh").repeat(0, None), text("\"")]);
        let pair = Expr::Concat(vec![text("<"), Expr::Call(RuleId::of(2)), text(">")]);
        let root = Expr::Concat(vec![
            Expr::Call(RuleId::of(2)),
            text(","),
            Expr::Call(RuleId::of(1)),
            text(";").repeat(0, Some(1)),
            Expr::Call(RuleId::of(1)),
        ]);
        let (dfa, expanded) = expanded(&[("root", root), ("pair", pair), ("quoted", quoted)]);
        assert!(dfa.has_calls());
        let expanded = expanded.unwrap();
        assert!(!expanded.has_calls());
        for (text, is_one) in [
            ("\"\",<\"\"><\"\">", true),
            ("\"abcdefghabcdefgh\",<\"\">;<\"abcdefgh\">", true),
            ("\"abcdefg\",<\"\"><\"\">", false),
            ("\"\",<\"\">", false),
            ("\"\",<\"\"><\"\">;", false),
            ("", false),
        ] {
            assert_eq!(expanded.accepts(text.as_bytes()), is_one, "{text}");
        }
    }

    #[test]
    fn a_rule_that_calls_itself_is_not_written_out() {
        let nested = Expr::Concat(vec![
            Expr::text("["),
            Expr::Alternate(vec![Expr::Call(RuleId::of(0)), Expr::text("")]),
            Expr::text("]"),
        ]);
        let (dfa, expanded) = expanded(&[("nested", nested)]);
        assert!(dfa.has_calls() && expanded.is_none());
    }
}
