//! Grammars within grammars: rules of another grammar are added, and rules are restricted to texts that begin with some characters.
//!
//! A restricted rule is written beside the one that it comes from, and differs from it up to the first character alone: of a sequence the
//! first part that reads something is restricted, of a machine the edges that may come first. So a restriction costs as much as the
//! expressions along which first characters are found, and not the whole grammar.

use std::collections::HashMap;
use std::sync::Arc;

use gobo_types::{Budget, CompileError, DenseId as _};

use super::{CalledRule, Grammar, Rule};
use crate::chars::{CharSet, Expr, Machine, MachineState};
use crate::ids::RuleId;

const PHASE: &str = "writing out rules";

/// Bytes of a part of an expression.
const PART_BYTES: u64 = 64;

impl Grammar {
    /// Adds the rules of another grammar; the number of its start rule here. O(size of the other grammar).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    ///
    /// ```
    /// use gobo_automata::{Expr, Grammar, Rule, RuleId};
    /// use gobo_types::{Budget, CompileLimits, DenseId as _};
    ///
    /// let rule = Rule { name: "a".to_owned(), expr: Expr::text("a"), lengths: None };
    /// let (start, called, families) = (RuleId::new(0), Vec::new(), Vec::new());
    /// let mut grammar = Grammar { rules: vec![rule], start, called, families, tokens: Vec::new() };
    /// let start = grammar.append(grammar.clone(), &Budget::new(CompileLimits::default()))?;
    /// assert_eq!((start, grammar.rules.len()), (RuleId::new(1), 2));
    /// # Ok::<(), gobo_types::CompileError>(())
    /// ```
    pub fn append(&mut self, other: Self, budget: &Budget) -> Result<RuleId, CompileError> {
        let offset = self.rules.len();
        let moved = |rule: RuleId| RuleId::new(rule.index() + offset);
        let sets = self.tokens.len();
        self.tokens.extend(other.tokens);
        for Rule { name, mut expr, lengths } in other.rules {
            budget.charge_bytes(PHASE, PART_BYTES + name.len() as u64)?;
            renumber(&mut expr, &moved, sets, budget)?;
            self.rules.push(Rule { name, expr, lengths });
        }
        let moved_call = |called: CalledRule| CalledRule { rule: moved(called.rule), ..called };
        self.called.extend(other.called.into_iter().map(moved_call));
        let families = other.families.into_iter();
        self.families.extend(families.map(|family| family.into_iter().map(moved).collect()));
        Ok(moved(other.start))
    }

    /// The characters with which texts of a rule begin. O(size of the grammar).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn first_chars(&self, rule: RuleId, budget: &Budget) -> Result<CharSet, CompileError> {
        let nullable = self.nullable(budget)?;
        let mut is_seen = vec![false; self.rules.len()];
        let (mut open, mut ranges) = (vec![rule], Vec::new());
        while let Some(rule) = open.pop() {
            if !std::mem::replace(&mut is_seen[rule.index()], true) {
                let expr = &self.rules[rule.index()].expr;
                first(expr, &nullable, &mut open, &mut ranges, budget)?;
            }
        }
        Ok(CharSet::new(ranges))
    }

    /// Adds the rule of those texts of a rule that begin with one of some characters; the empty text is none of them. O(size of the
    /// grammar).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    ///
    /// # Panics
    /// If texts may begin in a rule whose characters are counted.
    pub fn beginning_with(
        &mut self,
        rule: RuleId,
        chars: &CharSet,
        budget: &Budget,
    ) -> Result<RuleId, CompileError> {
        let nullable = self.nullable(budget)?;
        let first = RuleId::new(self.rules.len());
        let mut known = HashMap::from([(rule, first)]);
        let mut order = vec![rule];
        let mut at = 0;
        while let Some(&of) = order.get(at) {
            at += 1;
            let Rule { name, expr, lengths } = &self.rules[of.index()];
            assert!(lengths.is_none(), "texts begin in a rule whose characters are counted");
            let mut restriction = Restriction {
                nullable: &nullable,
                chars,
                known: &mut known,
                order: &mut order,
                first,
                budget,
            };
            let rule = Rule { name: name.clone(), expr: restriction.expr(expr)?, lengths: None };
            self.rules.push(rule);
        }
        Ok(first)
    }

    /// `[rules]`: whether each has the empty text. The least fixed point.
    fn nullable(&self, budget: &Budget) -> Result<Vec<bool>, CompileError> {
        let mut nullable = vec![false; self.rules.len()];
        loop {
            let mut has_changed = false;
            for (at, rule) in self.rules.iter().enumerate() {
                if !nullable[at] && is_nullable(&rule.expr, &nullable, budget)? {
                    nullable[at] = true;
                    has_changed = true;
                }
            }
            if !has_changed {
                return Ok(nullable);
            }
        }
    }
}

/// Gives the rules that an expression calls other numbers, and the token sets that it names numbers that are higher by `sets`.
fn renumber(
    expr: &mut Expr,
    moved: &dyn Fn(RuleId) -> RuleId,
    sets: usize,
    budget: &Budget,
) -> Result<(), CompileError> {
    budget.charge_steps(PHASE, 1)?;
    budget.charge_bytes(PHASE, PART_BYTES)?;
    match expr {
        Expr::Text(_) => Ok(()),
        Expr::Chars(set) => {
            if let Some(later) = set.with_later_token_sets(sets) {
                *set = later;
            }
            Ok(())
        }
        Expr::Concat(parts) | Expr::Alternate(parts) => {
            parts.iter_mut().try_for_each(|part| renumber(part, moved, sets, budget))
        }
        Expr::Repeat { expr, .. } => renumber(expr, moved, sets, budget),
        Expr::Call(rule) => {
            *rule = moved(*rule);
            Ok(())
        }
        Expr::Machine(machine) => {
            let edges = machine.edges.iter_mut().flatten();
            edges.map(|edge| &mut edge.0).try_for_each(|part| renumber(part, moved, sets, budget))
        }
        Expr::Shared(shared) => renumber(Arc::make_mut(shared), moved, sets, budget),
    }
}

fn is_nullable(expr: &Expr, rules: &[bool], budget: &Budget) -> Result<bool, CompileError> {
    budget.charge_steps(PHASE, 1)?;
    Ok(match expr {
        Expr::Text(text) => text.is_empty(),
        Expr::Chars(_) => false,
        Expr::Concat(parts) => {
            for part in parts {
                if !is_nullable(part, rules, budget)? {
                    return Ok(false);
                }
            }
            true
        }
        Expr::Alternate(parts) => {
            for part in parts {
                if is_nullable(part, rules, budget)? {
                    return Ok(true);
                }
            }
            false
        }
        Expr::Repeat { min, max: Some(max), .. } if max < min => false,
        Expr::Repeat { expr, min, .. } => *min == 0 || is_nullable(expr, rules, budget)?,
        Expr::Call(rule) => rules[rule.index()],
        Expr::Machine(machine) => beginnings(machine, rules, budget)?.iter().any(|&at| machine.accepting[at]),
        Expr::Shared(shared) => is_nullable(shared, rules, budget)?,
    })
}

/// The states of a machine that are reached without reading.
fn beginnings(machine: &Machine, rules: &[bool], budget: &Budget) -> Result<Vec<MachineState>, CompileError> {
    if machine.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = vec![machine.start];
    let mut at = 0;
    while let Some(&state) = found.get(at) {
        at += 1;
        for (expr, to) in &machine.edges[state] {
            if is_nullable(expr, rules, budget)? && !found.contains(to) {
                budget.charge_steps(PHASE, found.len() as u64)?;
                found.push(*to);
            }
        }
    }
    Ok(found)
}

/// Restricts expressions to texts that begin with some characters.
struct Restriction<'a> {
    nullable: &'a [bool],
    chars: &'a CharSet,
    /// The restricted rules, by those that they come from.
    known: &'a mut HashMap<RuleId, RuleId>,
    /// The rules to be restricted, in the order of the restricted ones.
    order: &'a mut Vec<RuleId>,
    /// The number of the first restricted rule.
    first: RuleId,
    budget: &'a Budget,
}

impl Restriction<'_> {
    fn expr(&mut self, expr: &Expr) -> Result<Expr, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, PART_BYTES)?;
        Ok(match expr {
            Expr::Text(text) if text.starts_with(|char| self.chars.has(char)) => expr.clone(),
            Expr::Text(_) | Expr::Repeat { max: Some(0), .. } => nothing(),
            Expr::Chars(chars) => Expr::Chars(chars.and(self.chars)),
            Expr::Concat(parts) => {
                let mut alternatives = Vec::new();
                for (at, part) in parts.iter().enumerate() {
                    let mut sequence = vec![self.expr(part)?];
                    self.budget.charge_bytes(PHASE, PART_BYTES * parts.len() as u64)?;
                    sequence.extend_from_slice(&parts[at + 1..]);
                    alternatives.push(Expr::Concat(sequence));
                    if !is_nullable(part, self.nullable, self.budget)? {
                        break;
                    }
                }
                Expr::Alternate(alternatives)
            }
            Expr::Alternate(parts) => {
                Expr::Alternate(parts.iter().map(|part| self.expr(part)).collect::<Result<_, _>>()?)
            }
            Expr::Repeat { min, max: Some(max), .. } if max < min => nothing(),
            // Turns before the first one that reads something are empty, and then those after it may be.
            Expr::Repeat { expr, min, max } => {
                let rest = (**expr).clone().repeat(min.saturating_sub(1), max.map(|max| max - 1));
                Expr::Concat(vec![self.expr(expr)?, rest])
            }
            Expr::Call(rule) => {
                let next = RuleId::new(self.first.index() + self.order.len());
                let restricted = *self.known.entry(*rule).or_insert(next);
                if restricted == next {
                    self.order.push(*rule);
                }
                Expr::Call(restricted)
            }
            Expr::Machine(machine) => {
                let mut restricted = (**machine).clone();
                self.budget.charge_bytes(PHASE, PART_BYTES * machine.len() as u64)?;
                let start = restricted.add_state(false);
                for state in beginnings(machine, self.nullable, self.budget)? {
                    for (expr, to) in &machine.edges[state] {
                        let expr = self.expr(expr)?;
                        restricted.add_edge(start, expr, *to);
                    }
                }
                restricted.start = start;
                Expr::Machine(Box::new(restricted))
            }
            Expr::Shared(shared) => self.expr(shared)?,
        })
    }
}

/// Adds the first characters of an expression, and the rules in which it may begin.
fn first(
    expr: &Expr,
    nullable: &[bool],
    open: &mut Vec<RuleId>,
    ranges: &mut Vec<(char, char)>,
    budget: &Budget,
) -> Result<(), CompileError> {
    budget.charge_steps(PHASE, 1)?;
    match expr {
        Expr::Text(text) => ranges.extend(text.chars().next().map(|char| (char, char))),
        Expr::Chars(chars) => ranges.extend(chars.char_ranges()),
        Expr::Concat(parts) => {
            for part in parts {
                first(part, nullable, open, ranges, budget)?;
                if !is_nullable(part, nullable, budget)? {
                    break;
                }
            }
        }
        Expr::Alternate(parts) => {
            for part in parts {
                first(part, nullable, open, ranges, budget)?;
            }
        }
        Expr::Repeat { expr, .. } => first(expr, nullable, open, ranges, budget)?,
        Expr::Call(rule) => open.push(*rule),
        Expr::Machine(machine) => {
            for state in beginnings(machine, nullable, budget)? {
                for (expr, _) in &machine.edges[state] {
                    first(expr, nullable, open, ranges, budget)?;
                }
            }
        }
        Expr::Shared(shared) => first(shared, nullable, open, ranges, budget)?,
    }
    Ok(())
}

fn nothing() -> Expr {
    Expr::Alternate(Vec::new())
}

#[cfg(test)]
mod tests {
    use gobo_types::{CompileLimits, TextStart};

    use super::*;
    use crate::Dfa;

    fn rule(expr: Expr) -> Rule {
        Rule { name: "r".to_owned(), expr, lengths: None }
    }

    /// `r: x* (x r? | [cd] | "" r "e")` by a machine, and sequences with parts that may be empty.
    fn grammar() -> Grammar {
        let call = || Expr::Call(RuleId::new(1));
        let mut machine = Machine::default();
        let (one, two) = (machine.add_state(false), machine.add_state(true));
        machine.add_edge(one, Expr::text("x"), one);
        machine.add_edge(one, Expr::text(""), two);
        machine.add_edge(two, Expr::chars([('c', 'd')]).shared(), two);
        let machine = Expr::Machine(Box::new(machine));
        let optional = Expr::text("a").repeat(0, Some(2));
        let bodies = vec![Expr::Concat(vec![optional, machine]), Expr::Concat(vec![Expr::text("b"), call()])];
        Grammar {
            rules: vec![rule(call()), rule(Expr::Alternate(bodies))],
            start: RuleId::new(0),
            called: Vec::new(),
            families: Vec::new(),
            tokens: Vec::new(),
        }
    }

    #[test]
    fn a_restriction_has_the_texts_that_begin_so() {
        let budget = Budget::new(CompileLimits::default());
        let chars: Vec<char> = "abcdx".chars().collect();
        assert_eq!(
            grammar().first_chars(RuleId::new(0), &budget).unwrap(),
            CharSet::new([('a', 'd'), ('x', 'x')])
        );
        let whole = Dfa::grammar(&grammar(), TextStart::Exact, &budget).unwrap();
        let mut texts = vec![String::new()];
        for at in 0.. {
            if texts.len() > 1000 {
                break;
            }
            let longer: Vec<String> = chars.iter().map(|char| format!("{}{char}", texts[at])).collect();
            texts.extend(longer);
        }
        for wanted in [vec!['a'], vec!['b', 'c'], vec!['x', 'd'], vec![]] {
            let mut restricted = grammar();
            let set = CharSet::new(wanted.iter().map(|&char| (char, char)));
            restricted.start = restricted.beginning_with(RuleId::new(0), &set, &budget).unwrap();
            let dfa = Dfa::grammar(&restricted, TextStart::Exact, &budget).unwrap();
            for text in &texts {
                let begins = text.starts_with(|char| wanted.contains(&char));
                let expected = begins && whole.accepts(text.as_bytes());
                assert_eq!(dfa.accepts(text.as_bytes()), expected, "{text:?} {wanted:?}");
            }
        }
    }
}
