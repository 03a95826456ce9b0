use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, TextStart};

use crate::alphabet::{Alphabet, CharSets, SetId};
use crate::char_dfa::CharDfa;
use crate::determinize::determinize;
use crate::dfa::{DEAD, StateId};
use crate::grammar::{Expr, Grammar, RuleId};
use crate::letters::{Letter, LetterDfa, LetterNfa};
use crate::nfa::Nfa;
use crate::refine::refine;

const PHASE: &str = "lowering the grammar";

/// Most states of all rules together up to which rules are written out in place of their calls. More make fewer calls, and
/// no longer fewer rows: a SQL subset of 283 states at 3,000 has 519 at 20,000, and twice the rows.
const INLINE_STATES: usize = 3_000;

/// From so many states on a rule with several calls is called instead of written out, where that is free of ambiguity. A
/// shared rule has its states and rows once: a median schema, whose strings are such a rule, is compiled with a quarter fewer
/// instructions than if it had copies of up to 256 states, and its masks take 6 % longer. Smaller rules are not worth the
/// stack that a call takes.
const SHARE_STATES: usize = 8;

/// A recursive transition network over classes of characters: the states of all rules in one automaton.
#[derive(Debug)]
pub(crate) struct Network {
    /// The edges that read a character.
    pub(crate) chars: CharDfa,
    /// The edges that read a text of a rule.
    pub(crate) calls: CallTable,
    /// `[rules]`: where the texts of each rule begin.
    pub(crate) entries: Vec<StateId>,
    /// `[rules]`.
    pub(crate) names: Vec<String>,
    /// Whether some rule calls itself, directly or through others.
    pub(crate) is_recursive: bool,
}

/// An edge that reads a text of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    /// Where it begins.
    pub(crate) state: StateId,
    /// The rule whose text is read.
    pub(crate) rule: RuleId,
    /// The state behind it.
    pub(crate) to: StateId,
    /// The rule of the grammar that it stands in.
    pub(crate) of: RuleId,
}

/// Calls by the state where they begin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CallTable {
    /// Ascending by state, then by rule.
    pub(crate) all: Vec<Call>,
    /// `[states + 1]`: where the calls of each state begin. Empty: no state has any.
    starts: Vec<u32>,
}

impl CallTable {
    /// Of an automaton of so many states; `calls` are ascending by state.
    fn new(calls: Vec<Call>, states: usize) -> Self {
        let mut starts = vec![0; states + 1];
        calls.iter().for_each(|call| starts[call.state as usize + 1] += 1);
        (0..states).for_each(|state| starts[state + 1] += starts[state]);
        Self { all: calls, starts }
    }

    /// The calls that begin in a state.
    pub(crate) fn at(&self, state: StateId) -> &[Call] {
        match self.starts.get(state as usize..state as usize + 2) {
            Some(bounds) => &self.all[bounds[0] as usize..bounds[1] as usize],
            None => &[],
        }
    }

    /// Bytes of its tables.
    pub(crate) fn bytes(&self) -> u64 {
        (self.all.len() * size_of::<Call>() + self.starts.len() * 4) as u64
    }
}

impl Network {
    /// The network of a grammar: no rule is left-recursive or has the empty text, rules that do not need the stack are
    /// written out in place of their calls, and each rule is deterministic with calls as letters.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`], naming the rule.
    pub(crate) fn of(
        grammar: &Grammar,
        text_start: TextStart,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        budget.holding(|| Self::build(grammar, text_start, budget), Self::bytes)
    }

    /// Bytes of its tables.
    fn bytes(&self) -> u64 {
        self.chars.bytes() + self.calls.bytes() + self.entries.len() as u64 * 4
    }

    fn build(grammar: &Grammar, text_start: TextStart, budget: &Budget) -> Result<Self, CompileError> {
        let mut rules =
            budget.holding(|| Rules::of(grammar, text_start, budget), |rules: &Rules| rules.bytes())?;
        rules.drop_unproductive(budget)?;
        let nullable = rules.nullable(budget)?;
        rules.remove_nullable(&nullable, budget)?;
        let top = rules.add_top(grammar.start, nullable[grammar.start as usize], budget)?;
        rules.break_left_recursion(budget)?;
        rules.inline(top, budget)?;
        rules.merge_equal(budget)?;
        let start = match (text_start, rules.space) {
            (TextStart::StripOneSpace, Some(space)) => rules.before_strip_of_one_space(top, space, budget)?,
            _ => top,
        };
        rules.assemble(start, budget)
    }
}

/// An automaton that is looked up more than once: it is hashed once.
#[derive(PartialEq, Eq)]
struct Digested<'a> {
    digest: u64,
    dfa: &'a LetterDfa,
}

impl Hash for Digested<'_> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.digest);
    }
}

/// The rules of a grammar, each an automaton whose letters are classes of characters and calls.
struct Rules {
    alphabet: Alphabet,
    /// The class of the space, where it needs one of its own.
    space: Option<Letter>,
    names: Vec<String>,
    dfas: Vec<LetterDfa>,
}

impl Rules {
    fn of(grammar: &Grammar, text_start: TextStart, budget: &Budget) -> Result<Self, CompileError> {
        let reached = reached(grammar);
        let mut sets = CharSets::default();
        let space = (text_start == TextStart::StripOneSpace).then(|| sets.single(' '));
        let mut nfas = Vec::with_capacity(grammar.rules.len());
        for (rule, is_reached) in grammar.rules.iter().zip(&reached) {
            let nothing = Expr::Alternate(Vec::new());
            let expr = if *is_reached { &rule.expr } else { &nothing };
            nfas.push(named(Nfa::of_expr(expr, &mut sets, budget), &rule.name)?);
        }
        let alphabet = Alphabet::of(&sets, budget)?;
        let mut dfas = Vec::with_capacity(nfas.len());
        for (rule, nfa) in grammar.rules.iter().zip(&nfas) {
            let build = || LetterDfa::of(determinize(nfa, &alphabet, budget)?).minimal(budget);
            dfas.push(named(budget.holding(build, LetterDfa::bytes), &rule.name)?);
        }
        let space = space.map(|set: SetId| alphabet.of_set[set as usize][0]);
        let names = grammar.rules.iter().map(|rule| rule.name.clone()).collect();
        Ok(Self { alphabet, space, names, dfas })
    }

    fn bytes(&self) -> u64 {
        self.dfas.iter().map(LetterDfa::bytes).sum()
    }

    fn call(&self, rule: usize) -> Letter {
        number(self.alphabet.classes + rule)
    }

    /// The rule that a letter calls.
    fn callee(&self, letter: Letter) -> Option<usize> {
        (letter as usize).checked_sub(self.alphabet.classes)
    }

    /// The rules that `rule` calls, a number for each call.
    fn callees(&self, rule: usize) -> impl Iterator<Item = usize> {
        self.dfas[rule].letters().filter_map(|letter| self.callee(letter))
    }

    /// Removes calls of rules that have no text.
    fn drop_unproductive(&mut self, budget: &Budget) -> Result<(), CompileError> {
        let mut productive = vec![false; self.dfas.len()];
        loop {
            let mut changed = false;
            for rule in 0..self.dfas.len() {
                let allowed = |letter| self.callee(letter).is_none_or(|callee| productive[callee]);
                if !productive[rule] && self.dfas[rule].accepts_over(allowed) {
                    productive[rule] = true;
                    changed = true;
                }
                budget.charge_steps(PHASE, self.dfas[rule].size())?;
            }
            if !changed {
                break;
            }
        }
        for rule in 0..self.dfas.len() {
            if self.callees(rule).any(|callee| !productive[callee]) {
                let mut nfa = LetterNfa::of(&self.dfas[rule]);
                nfa.retain(|letter| self.callee(letter).is_none_or(|callee| productive[callee]));
                self.dfas[rule] = self.settled(&nfa, rule, budget)?;
            }
        }
        Ok(())
    }

    /// `[rules]`: which have the empty text.
    fn nullable(&self, budget: &Budget) -> Result<Vec<bool>, CompileError> {
        let mut nullable = vec![false; self.dfas.len()];
        loop {
            let before = nullable.clone();
            for (nullable, dfa) in nullable.iter_mut().zip(&self.dfas) {
                let allowed = |letter| self.callee(letter).is_some_and(|callee| before[callee]);
                *nullable = *nullable || dfa.accepts_over(allowed);
                budget.charge_steps(PHASE, dfa.size())?;
            }
            if nullable == before {
                return Ok(nullable);
            }
        }
    }

    /// Takes the empty text out of every rule: a call of a nullable one may be left out instead.
    fn remove_nullable(&mut self, nullable: &[bool], budget: &Budget) -> Result<(), CompileError> {
        for rule in 0..self.dfas.len() {
            if !nullable[rule] && !self.callees(rule).any(|callee| nullable[callee]) {
                continue;
            }
            let mut nfa = LetterNfa::of(&self.dfas[rule]);
            for (from, letter, to) in self.dfas[rule].edges() {
                if self.callee(letter).is_some_and(|callee| nullable[callee]) {
                    nfa.add_epsilon(from, to);
                }
            }
            let mut dfa = self.settled(&nfa, rule, budget)?;
            if nullable[rule] {
                dfa = dfa.without_empty().minimal(budget)?;
            }
            self.dfas[rule] = dfa;
        }
        // A rule that had the empty text alone has none left.
        self.drop_unproductive(budget)
    }

    /// Adds the rule of whole texts, which nobody calls.
    fn add_top(&mut self, start: RuleId, nullable: bool, budget: &Budget) -> Result<usize, CompileError> {
        let start = start as usize;
        let call = (self.call(start), 2);
        let mut dfa = LetterDfa::empty();
        dfa.replace_start(
            if self.dfas[start].is_empty() { &[] } else { std::slice::from_ref(&call) },
            nullable,
        );
        // The state behind the call.
        dfa.push(&[], true);
        self.names.push(self.names[start].clone());
        self.dfas.push(dfa.minimal(budget)?);
        Ok(self.dfas.len() - 1)
    }

    fn settled(&self, nfa: &LetterNfa, rule: usize, budget: &Budget) -> Result<LetterDfa, CompileError> {
        let build = || {
            let Some(dfa) = nfa.determinize(usize::MAX, budget)? else {
                unreachable!("no automaton has more states than can be counted")
            };
            dfa.minimal(budget)
        };
        named(budget.holding(build, LetterDfa::bytes), &self.names[rule])
    }

    /// The rules that texts of `rule` may begin with a text of.
    fn left_corners(&self, rule: usize) -> impl Iterator<Item = usize> {
        let dfa = &self.dfas[rule];
        dfa.row(dfa.start).iter().filter_map(|&(letter, _)| self.callee(letter))
    }

    /// Makes no rule begin with itself, through whatever others: for the rules of each cycle in order, the earlier ones are
    /// written out where they stand first, and then `A = A α | β` becomes `β α*` (Paull's algorithm, on automata).
    fn break_left_recursion(&mut self, budget: &Budget) -> Result<(), CompileError> {
        for rule in 0..self.dfas.len() {
            self.simplify(rule, budget)?;
        }
        let component = self.left_components();
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); self.dfas.len()];
        for (rule, &of) in component.iter().enumerate() {
            for &earlier in &members[of] {
                if self.left_corners(rule).any(|corner| corner == earlier) {
                    let mut nfa = LetterNfa::of(&self.dfas[rule].with_fresh_start());
                    self.write_out(&mut nfa, earlier, |from, start| from == start);
                    self.dfas[rule] = self.settled(&nfa, rule, budget)?;
                }
            }
            if !members[of].is_empty() {
                self.simplify(rule, budget)?;
            }
            members[of].push(rule);
        }
        Ok(())
    }

    /// `[rules]`: the strongly connected component of left corners that a rule lies in. Tarjan 1972, without recursion.
    fn left_components(&self) -> Vec<usize> {
        const UNSEEN: usize = usize::MAX;
        let corners: Vec<Vec<usize>> =
            (0..self.dfas.len()).map(|rule| self.left_corners(rule).collect()).collect();
        let mut component = vec![UNSEEN; corners.len()];
        let (mut order, mut low) = (vec![UNSEEN; corners.len()], vec![UNSEEN; corners.len()]);
        let (mut next, mut components) = (0, 0);
        let mut stack: Vec<usize> = Vec::new();
        // Rules on the path, with the corners that are left to look at.
        let mut path: Vec<(usize, usize)> = Vec::new();
        for root in 0..corners.len() {
            if order[root] != UNSEEN {
                continue;
            }
            path.push((root, 0));
            while let Some((rule, at)) = path.last_mut() {
                let rule = *rule;
                if *at == 0 {
                    (order[rule], low[rule]) = (next, next);
                    next += 1;
                    stack.push(rule);
                }
                if let Some(&corner) = corners[rule].get(*at) {
                    *at += 1;
                    if order[corner] == UNSEEN {
                        path.push((corner, 0));
                    } else if component[corner] == UNSEEN {
                        low[rule] = low[rule].min(order[corner]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(caller, _)) = path.last() {
                    low[caller] = low[caller].min(low[rule]);
                }
                if low[rule] == order[rule] {
                    while let Some(member) = stack.pop() {
                        component[member] = components;
                        if member == rule {
                            break;
                        }
                    }
                    components += 1;
                }
            }
        }
        component
    }

    /// In `nfa`, puts a copy of `rule` in the place of the calls of it that begin where `which(from, start)` says: one for
    /// each state behind them.
    fn write_out(&self, nfa: &mut LetterNfa, rule: usize, which: impl Fn(StateId, StateId) -> bool) {
        let letter = self.call(rule);
        let start = nfa.start;
        let mut calls = nfa.take_edges(letter, |from| which(from, start));
        calls.sort_by_key(|call| call.1);
        for calls in calls.chunk_by(|a, b| a.1 == b.1) {
            let copy = nfa.append(&self.dfas[rule]);
            calls.iter().for_each(|&(from, _)| nfa.add_epsilon(from, copy + self.dfas[rule].start));
            self.dfas[rule].ends().for_each(|end| nfa.add_epsilon(copy + end, calls[0].1));
        }
    }

    /// Removes direct left recursion from a rule, and calls of itself whose return adds nothing.
    ///
    /// A call of the rule inside itself is no call where all that may follow its return may also follow wherever the rule
    /// ends, and where the rule may end at the return: then the inner text may as well be the end of the outer one. That
    /// covers right recursion, and `e = e "+" e`.
    fn simplify(&mut self, rule: usize, budget: &Budget) -> Result<(), CompileError> {
        let own = self.call(rule);
        if self.left_corners(rule).any(|corner| corner == rule) {
            let dfa = self.dfas[rule].with_fresh_start();
            let mut nfa = LetterNfa::of(&dfa);
            let returns: Vec<StateId> =
                nfa.take_edges(own, |from| from == dfa.start).into_iter().map(|(_, to)| to).collect();
            for end in dfa.ends() {
                returns.iter().for_each(|&to| nfa.add_epsilon(end, to));
            }
            self.dfas[rule] = self.settled(&nfa, rule, budget)?;
        }
        loop {
            let dfa = &self.dfas[rule];
            let mut absorbed = None;
            for (from, letter, to) in dfa.edges().filter(|&(_, letter, _)| letter == own) {
                if dfa.accepting[to as usize] && dfa.ends_read_all_of(to, budget)? {
                    absorbed = Some((from, letter));
                    break;
                }
            }
            let Some((from, letter)) = absorbed else { return Ok(()) };
            let mut nfa = LetterNfa::of(dfa);
            nfa.take_edges(letter, |state| state == from);
            nfa.add_epsilon(from, dfa.start);
            self.dfas[rule] = self.settled(&nfa, rule, budget)?;
        }
    }

    /// Writes rules that do not call themselves out in place of their calls, cheapest first, as long as all rules together
    /// stay small. Rules that do not call each other are written out together, so that a caller is made deterministic once for
    /// all of them.
    fn inline(&mut self, top: usize, budget: &Budget) -> Result<(), CompileError> {
        let mut is_kept = vec![false; self.dfas.len()];
        is_kept[top] = true;
        loop {
            let reached = self.reached(top);
            let mut uses = vec![0_usize; self.dfas.len()];
            let mut states: usize = 0;
            for rule in (0..self.dfas.len()).filter(|&rule| reached[rule]) {
                self.callees(rule).for_each(|callee| uses[callee] += 1);
                states += self.dfas[rule].len();
                budget.charge_steps(PHASE, self.dfas[rule].size())?;
            }
            let is_ambiguous = self.ambiguous(&reached, budget)?;
            let cost = |rule: usize| self.dfas[rule].len() * (uses[rule] - 1);
            let mut candidates: Vec<usize> = (0..self.dfas.len())
                .filter(|&rule| reached[rule] && !is_kept[rule])
                .filter(|&rule| self.callees(rule).all(|callee| callee != rule))
                .collect();
            candidates.sort_by_key(|&rule| (cost(rule), rule));
            let mut batch = vec![false; self.dfas.len()];
            // Rules that call one of the batch, or are called by one.
            let mut is_beside = vec![false; self.dfas.len()];
            for rule in candidates {
                let is_independent = !is_beside[rule] && self.callees(rule).all(|callee| !batch[callee]);
                if !is_independent {
                    continue;
                }
                is_kept[rule] = true;
                let dfa = &self.dfas[rule];
                let is_shared = !is_ambiguous[rule] && uses[rule] > 1 && dfa.len() >= SHARE_STATES;
                if is_shared || states + cost(rule) > INLINE_STATES {
                    continue;
                }
                states += cost(rule);
                batch[rule] = true;
                self.callees(rule).for_each(|callee| is_beside[callee] = true);
            }
            let callers: Vec<usize> = (0..self.dfas.len())
                .filter(|&caller| reached[caller] && self.callees(caller).any(|callee| batch[callee]))
                .collect();
            if callers.is_empty() {
                return Ok(());
            }
            for &caller in &callers {
                self.write_out_batch(caller, &batch, budget)?;
            }
        }
    }

    /// `[rules]`: calls of which would leave several ways to be followed at once: where a call of one stands beside another
    /// way on that begins with the same character, and where one of its texts can go on with a character that may
    /// follow it too. O((edges + calls × classes / 64) × depth of rules that end with each other).
    fn ambiguous(&self, reached: &[bool], budget: &Budget) -> Result<Vec<bool>, CompileError> {
        let firsts = self.firsts(reached, budget)?;
        let follows = self.follows(reached, &firsts, budget)?;
        let mut is_ambiguous = vec![false; self.dfas.len()];
        for rule in (0..self.dfas.len()).filter(|&rule| reached[rule]) {
            let dfa = &self.dfas[rule];
            for state in 0..number(dfa.len()) {
                let row = dfa.row(state);
                if dfa.accepting[state as usize] && !row.is_empty() {
                    let mut begins = self.no_chars();
                    self.add_firsts(row, &firsts, &mut begins);
                    is_ambiguous[rule] |=
                        begins.iter().zip(&follows[rule]).any(|(one, other)| one & other != 0);
                }
                // Calls lie behind characters.
                if row.len() < 2 || row.last().is_none_or(|&(letter, _)| self.callee(letter).is_none()) {
                    continue;
                }
                let mut begins = self.no_chars();
                let mut is_free = true;
                for &edge in row {
                    let mut own = self.no_chars();
                    self.add_firsts(&[edge], &firsts, &mut own);
                    for (begins, own) in begins.iter_mut().zip(own) {
                        is_free &= *begins & own == 0;
                        *begins |= own;
                    }
                }
                budget.charge_steps(PHASE, (row.len() * begins.len()) as u64)?;
                if !is_free {
                    let callees = row.iter().filter_map(|&(letter, _)| self.callee(letter));
                    callees.for_each(|callee| is_ambiguous[callee] = true);
                }
            }
        }
        Ok(is_ambiguous)
    }

    /// A set of no characters: `[classes / 64]`.
    fn no_chars(&self) -> Vec<u64> {
        vec![0; self.alphabet.classes.div_ceil(64).max(1)]
    }

    /// Adds the characters that some edges begin with.
    fn add_firsts(&self, row: &[(Letter, StateId)], firsts: &[Vec<u64>], chars: &mut [u64]) {
        for &(letter, _) in row {
            match self.callee(letter) {
                None => chars[letter as usize / 64] |= 1 << (letter % 64),
                Some(callee) => chars.iter_mut().zip(&firsts[callee]).for_each(|(all, of)| *all |= of),
            }
        }
    }

    /// `[rules, classes / 64]`: the characters that may follow a text of each reached rule.
    fn follows(
        &self,
        reached: &[bool],
        firsts: &[Vec<u64>],
        budget: &Budget,
    ) -> Result<Vec<Vec<u64>>, CompileError> {
        let mut follows = vec![self.no_chars(); self.dfas.len()];
        // What follows the caller follows the callee too: pairs of callee and caller.
        let mut last: Vec<(usize, usize)> = Vec::new();
        for caller in (0..self.dfas.len()).filter(|&rule| reached[rule]) {
            let dfa = &self.dfas[caller];
            for (_, letter, to) in dfa.edges() {
                let Some(callee) = self.callee(letter) else { continue };
                self.add_firsts(dfa.row(to), firsts, &mut follows[callee]);
                budget.charge_steps(PHASE, 1 + dfa.row(to).len() as u64)?;
                if dfa.accepting[to as usize] {
                    last.push((callee, caller));
                }
            }
        }
        loop {
            let mut changed = false;
            for &(callee, caller) in &last {
                for word in 0..follows[callee].len() {
                    let all = follows[callee][word] | follows[caller][word];
                    changed |= std::mem::replace(&mut follows[callee][word], all) != all;
                }
                budget.charge_steps(PHASE, 1)?;
            }
            if !changed {
                return Ok(follows);
            }
        }
    }

    /// `[rules, classes / 64]`: the characters that texts of each reached rule begin with. No rule begins with itself.
    fn firsts(&self, reached: &[bool], budget: &Budget) -> Result<Vec<Vec<u64>>, CompileError> {
        let mut firsts: Vec<Vec<u64>> = vec![Vec::new(); self.dfas.len()];
        let mut open: Vec<usize> = (0..self.dfas.len()).filter(|&rule| reached[rule]).collect();
        while let Some(&rule) = open.last() {
            let known = open.len();
            open.extend(self.left_corners(rule).filter(|&corner| firsts[corner].is_empty()));
            if open.len() > known {
                continue;
            }
            open.pop();
            let row = self.dfas[rule].row(self.dfas[rule].start);
            budget.charge_steps(PHASE, 1 + row.len() as u64)?;
            let mut first = self.no_chars();
            self.add_firsts(row, &firsts, &mut first);
            firsts[rule] = first;
        }
        Ok(firsts)
    }

    /// Writes the rules of a batch out in a caller: all of them, or, where the subset construction blows up, as many as it
    /// bears.
    fn write_out_batch(
        &mut self,
        caller: usize,
        batch: &[bool],
        budget: &Budget,
    ) -> Result<(), CompileError> {
        let mut callees: Vec<usize> = self.callees(caller).filter(|&callee| batch[callee]).collect();
        callees.sort_unstable();
        callees.dedup();
        let mut groups = vec![callees];
        while let Some(group) = groups.pop() {
            let mut nfa = LetterNfa::of(&self.dfas[caller]);
            for &rule in &group {
                self.write_out(&mut nfa, rule, |_, _| true);
            }
            let build = || nfa.determinize(INLINE_STATES, budget)?.map(|dfa| dfa.minimal(budget)).transpose();
            let held = |dfa: &Option<LetterDfa>| dfa.as_ref().map_or(0, LetterDfa::bytes);
            match named(budget.holding(build, held), &self.names[caller])? {
                Some(dfa) => {
                    self.dfas[caller] = dfa;
                    self.simplify(caller, budget)?;
                }
                None if group.len() > 1 => {
                    let (one, other) = group.split_at(group.len() / 2);
                    groups.extend([other.to_vec(), one.to_vec()]);
                }
                // These calls stay.
                None => {}
            }
        }
        Ok(())
    }

    /// Whether some rule that `top` needs calls itself, directly or through others.
    fn is_recursive(&self, top: usize) -> bool {
        let reached = self.reached(top);
        let mut callers = vec![0_usize; self.dfas.len()];
        let rules = || (0..self.dfas.len()).filter(|&rule| reached[rule]);
        rules().flat_map(|rule| self.callees(rule)).for_each(|callee| callers[callee] += 1);
        // Rules without callers are taken away, one after the other: what is left calls itself.
        let mut open: Vec<usize> = rules().filter(|&rule| callers[rule] == 0).collect();
        let mut taken = 0;
        while let Some(rule) = open.pop() {
            taken += 1;
            for callee in self.callees(rule) {
                callers[callee] -= 1;
                if callers[callee] == 0 {
                    open.push(callee);
                }
            }
        }
        taken < rules().count()
    }

    /// `[rules]`: which are called from `top`, itself among them.
    fn reached(&self, top: usize) -> Vec<bool> {
        let mut reached = vec![false; self.dfas.len()];
        let mut open = vec![top];
        while let Some(rule) = open.pop() {
            if !std::mem::replace(&mut reached[rule], true) {
                open.extend(self.callees(rule));
            }
        }
        reached
    }

    /// Calls the first of equal rules in the place of the others, until no two are equal.
    fn merge_equal(&mut self, budget: &Budget) -> Result<(), CompileError> {
        let state = foldhash::fast::FixedState::default();
        let mut digests: Vec<u64> = self.dfas.iter().map(|dfa| state.hash_one(dfa)).collect();
        loop {
            let mut known: HashMap<Digested<'_>, usize> = HashMap::new();
            let digested = self.dfas.iter().zip(&digests).map(|(dfa, &digest)| Digested { digest, dfa });
            let same: Vec<usize> =
                digested.zip(0..).map(|(dfa, rule)| *known.entry(dfa).or_insert(rule)).collect();
            let is_renamed = |callee: usize| same[callee] != callee;
            let callers: Vec<usize> =
                (0..self.dfas.len()).filter(|&rule| self.callees(rule).any(is_renamed)).collect();
            if callers.is_empty() {
                return Ok(());
            }
            for rule in callers {
                let mut nfa = LetterNfa::of(&self.dfas[rule]);
                nfa.rename(|letter| match self.callee(letter) {
                    Some(callee) => self.call(same[callee]),
                    None => letter,
                });
                self.dfas[rule] = self.settled(&nfa, rule, budget)?;
                digests[rule] = state.hash_one(&self.dfas[rule]);
            }
        }
    }

    /// Adds the rule of all texts that are texts of `top` once one leading space is dropped, if there is one: a start that
    /// reads a space and is where `top` begins, and reads everything else as `top` does.
    fn before_strip_of_one_space(
        &mut self,
        top: usize,
        space: Letter,
        budget: &Budget,
    ) -> Result<usize, CompileError> {
        let mut copies = Copies { space, of: HashMap::new(), order: Vec::new() };
        let mut dfa = self.dfas[top].clone();
        let mut row = self.row_without_space(&dfa, &mut copies);
        row.push((space, dfa.start));
        row.sort_unstable();
        dfa.replace_start(&row, dfa.accepting[dfa.start as usize]);
        let stripped = self.dfas.len();
        self.names.push(self.names[top].clone());
        self.dfas.push(dfa);
        let mut at = 0;
        // Left recursion is gone, so that no rule comes back to where it began.
        while let Some(&rule) = copies.order.get(at) {
            let mut dfa = self.dfas[rule].clone();
            let row = self.row_without_space(&dfa, &mut copies);
            dfa.replace_start(&row, false);
            self.dfas[copies.of[&rule]] = dfa.minimal(budget)?;
            at += 1;
        }
        let stripped_dfa = std::mem::replace(&mut self.dfas[stripped], LetterDfa::empty());
        self.dfas[stripped] = stripped_dfa.minimal(budget)?;
        // A rule whose texts all begin with a space has none left.
        self.drop_unproductive(budget)?;
        Ok(stripped)
    }

    /// The edges of the start without what begins with a space: calls are those of copies, numbered as they are met.
    fn row_without_space(&mut self, dfa: &LetterDfa, copies: &mut Copies) -> Vec<(Letter, StateId)> {
        let mut row: Vec<(Letter, StateId)> =
            dfa.row(dfa.start).iter().filter(|edge| edge.0 != copies.space).copied().collect();
        for (letter, _) in &mut row {
            let Some(callee) = self.callee(*letter) else { continue };
            let copy = *copies.of.entry(callee).or_insert_with(|| {
                copies.order.push(callee);
                self.names.push(self.names[callee].clone());
                self.dfas.push(LetterDfa::empty());
                self.dfas.len() - 1
            });
            *letter = self.call(copy);
        }
        row.sort_unstable();
        row
    }

    /// The states of all rules that `top` needs in one automaton, equal ones merged, numbered breadth first.
    fn assemble(&self, top: usize, budget: &Budget) -> Result<Network, CompileError> {
        let mut all = LetterNfa::of(&LetterDfa::empty());
        let mut offsets = vec![DEAD; self.dfas.len()];
        let mut accepting = vec![false];
        let mut of = vec![DEAD];
        for (rule, _) in self.reached(top).iter().enumerate().filter(|(_, reached)| **reached) {
            let dfa = &self.dfas[rule];
            offsets[rule] = all.append(dfa);
            accepting.extend(&dfa.accepting);
            of.resize(accepting.len(), number(rule));
        }
        budget.check_states(PHASE, accepting.len())?;
        let initial: Vec<u32> = (0..)
            .zip(&accepting)
            .map(|(state, &accepting)| if state == DEAD { 0 } else { 1 + u32::from(accepting) })
            .collect();
        let blocks = refine(&all, &initial, None, PHASE, budget)?;
        let dead = blocks.block(DEAD);
        let mut numbers = vec![DEAD; blocks.blocks()];
        let mut order = vec![DEAD];
        let mut visit = |state: StateId, order: &mut Vec<StateId>| {
            let known = &mut numbers[blocks.block(state) as usize];
            if *known == DEAD && blocks.block(state) != dead {
                *known = number(order.len());
                order.push(state);
            }
            *known
        };
        let entry = |rule: usize| offsets[rule] + self.dfas[rule].start;
        let mut chars = CharDfa::new(self.alphabet.ranges.clone(), self.alphabet.classes);
        let mut calls: Vec<Call> = Vec::new();
        let mut entries = vec![DEAD; self.dfas.len()];
        chars.start = visit(entry(top), &mut order);
        let mut row: Vec<(Letter, StateId)> = Vec::new();
        while let Some(&state) = order.get(chars.accepting.len()) {
            row.clear();
            for &(letter, next) in all.row(state) {
                match self.callee(letter) {
                    None => row.push((letter, visit(next, &mut order))),
                    Some(callee) => {
                        entries[callee] = visit(entry(callee), &mut order);
                        calls.push(Call {
                            state: number(chars.accepting.len()),
                            rule: number(callee),
                            to: visit(next, &mut order),
                            of: of[state as usize],
                        });
                    }
                }
            }
            budget.charge_steps(PHASE, 1 + row.len() as u64)?;
            chars.push(&row, accepting[state as usize]);
        }
        let calls = CallTable::new(calls, chars.accepting.len());
        let chars = chars.with_merged_classes(budget)?;
        Ok(Network { chars, calls, entries, names: self.names.clone(), is_recursive: self.is_recursive(top) })
    }
}

/// Copies of rules without the texts that begin with a space.
struct Copies {
    space: Letter,
    /// The copy of each rule.
    of: HashMap<usize, usize>,
    /// The rules, in the order in which they were met.
    order: Vec<usize>,
}

/// `[rules]`: those that the start rule needs.
fn reached(grammar: &Grammar) -> Vec<bool> {
    fn calls(expr: &Expr, open: &mut Vec<RuleId>) {
        match expr {
            Expr::Text(_) | Expr::Chars(_) => {}
            Expr::Concat(parts) | Expr::Alternate(parts) => parts.iter().for_each(|part| calls(part, open)),
            Expr::Repeat { expr, .. } => calls(expr, open),
            Expr::Shared(expr) => calls(expr, open),
            Expr::Call(rule) => open.push(*rule),
            Expr::Machine(machine) => machine.edges.iter().flatten().for_each(|(expr, _)| calls(expr, open)),
        }
    }
    let mut reached = vec![false; grammar.rules.len()];
    let mut open = vec![grammar.start];
    while let Some(rule) = open.pop() {
        if !std::mem::replace(&mut reached[rule as usize], true) {
            calls(&grammar.rules[rule as usize].expr, &mut open);
        }
    }
    reached
}

/// A budget that ran out names the rule that it ran out in.
fn named<T>(result: Result<T, CompileError>, rule: &str) -> Result<T, CompileError> {
    result.map_err(|error| match error {
        CompileError::OverBudget(mut over) => {
            over.phase = format!("{} (rule {rule:?})", over.phase).into();
            over.into()
        }
        other => other,
    })
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the budget keeps counts below 2^32")
}
