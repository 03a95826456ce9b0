use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, MatchMode};
use regex_syntax::hir::Hir;

use crate::alphabet::{Alphabet, CharSets};
use crate::char_dfa::CharDfa;
use crate::choice::choice;
use crate::determinize::determinize;
use crate::dfa::{DEAD, StateId};
use crate::grammar::{CharSet, Expr, Machine};
use crate::nfa::Nfa;
use crate::regex::regex;
use crate::slices::Slices;
use crate::utf8::check_states;

/// A regular set of texts, as its minimal automaton over characters: one set has one value of this type.
///
/// Front ends combine languages here, where every operation of sets is exact, and write the result into a grammar with
/// [`Language::to_expr`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Language {
    dfa: CharDfa,
}

/// About so many states over bytes has a state that tells a few kinds of characters apart.
const STATES_OF_CHARACTER: u64 = 16;

impl Language {
    /// The language of no text.
    pub fn none() -> Self {
        Self { dfa: CharDfa::new(Vec::new(), 0) }
    }

    /// The texts that match a regular expression in the syntax of `regex-syntax`.
    ///
    /// # Errors
    /// A refusal naming the construct and its byte offset in the pattern; [`CompileError::OverBudget`].
    pub fn regex(pattern: &str, mode: MatchMode, budget: &Budget) -> Result<Self, CompileError> {
        Self::held(budget, || regex(pattern, mode, budget)?.canonical(budget))
    }

    /// The texts of a list.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn choice(items: &[String], budget: &Budget) -> Result<Self, CompileError> {
        if items.is_empty() {
            return Ok(Self::none());
        }
        Self::held(budget, || choice(items, budget)?.canonical(budget))
    }

    /// The texts of an expression.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    ///
    /// # Panics
    /// If the expression calls a rule.
    pub fn expr(expr: &Expr, budget: &Budget) -> Result<Self, CompileError> {
        Self::held(budget, || {
            let mut sets = CharSets::default();
            let nfa = Nfa::of_expr(expr, &mut sets, budget)?;
            assert!(!nfa.has_calls(), "a regular language calls no rule");
            Self::of_nfa(&nfa, &sets, budget)
        })
    }

    /// The whole texts that a regular expression matches, in the form that `regex-syntax` gives it, in which front ends of
    /// other dialects write theirs.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    ///
    /// # Panics
    /// If the expression has other look-around than the start and the end of the text, or matches what is not UTF-8.
    pub fn hir(hir: &Hir, budget: &Budget) -> Result<Self, CompileError> {
        Self::held(budget, || {
            let mut sets = CharSets::default();
            let nfa = Nfa::of(hir, &mut sets, budget)?;
            Self::of_nfa(&nfa, &sets, budget)
        })
    }

    fn of_nfa(nfa: &Nfa, sets: &CharSets, budget: &Budget) -> Result<CharDfa, CompileError> {
        let alphabet = Alphabet::of(sets, budget)?;
        let mut dfa = determinize(nfa, &alphabet, budget)?;
        dfa.ranges = alphabet.ranges;
        dfa.canonical(budget)
    }

    /// The language of an automaton, all that led to which is dropped.
    fn held(
        budget: &Budget,
        build: impl FnOnce() -> Result<CharDfa, CompileError>,
    ) -> Result<Self, CompileError> {
        Ok(Self { dfa: budget.holding(build, CharDfa::bytes)? })
    }

    /// The texts that a deterministic procedure accepts, which reads characters of `alphabet` alone.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`]: the procedure may have any number of states.
    pub fn explore<S: std::hash::Hash + Eq + Clone>(
        alphabet: &[char],
        start: S,
        mut next: impl FnMut(&S, char) -> Option<S>,
        accepts: impl Fn(&S) -> bool,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let mut letters: Vec<char> = alphabet.to_vec();
        letters.sort_unstable();
        letters.dedup();
        let ranges =
            (0..).zip(&letters).map(|(class, &char)| (u32::from(char), u32::from(char), class)).collect();
        let dfa = CharDfa::new(ranges, letters.len());
        let expand = |state: &S, row: &mut Vec<(u32, S)>| {
            row.extend((0..).zip(&letters).filter_map(|(class, &char)| Some((class, next(state, char)?))));
            Ok(accepts(state))
        };
        Self::held(budget, || Self::explore_rows(dfa, start, expand, budget))
    }

    /// The texts that a deterministic procedure accepts, which reads the letters of a division: `expand` says whether texts
    /// may end in a state, and pushes the letters that lead on from it, ascending, with the states behind them.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`]: the procedure may have any number of states. Errors of `expand`.
    pub fn explore_letters<S: std::hash::Hash + Eq + Clone>(
        letters: &Letters,
        start: S,
        expand: impl FnMut(&S, &mut Vec<(u32, S)>) -> Result<bool, CompileError>,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let dfa = CharDfa::new(letters.ranges.clone(), letters.columns.len());
        Self::held(budget, || Self::explore_rows(dfa, start, expand, budget))
    }

    /// Fills `dfa` with the states that `expand` leads to.
    fn explore_rows<S: std::hash::Hash + Eq + Clone>(
        mut dfa: CharDfa,
        start: S,
        mut expand: impl FnMut(&S, &mut Vec<(u32, S)>) -> Result<bool, CompileError>,
        budget: &Budget,
    ) -> Result<CharDfa, CompileError> {
        const PHASE: &str = "exploring an automaton";
        let mut known: HashMap<S, StateId> = HashMap::new();
        known.insert(start.clone(), 1);
        let mut order = vec![start];
        let mut after: Vec<(u32, S)> = Vec::new();
        let mut row = Vec::new();
        let mut at = 0;
        while let Some(state) = order.get(at) {
            row.clear();
            let accepting = expand(state, &mut after)?;
            for (class, state) in after.drain(..) {
                let number = *known.entry(state).or_insert_with_key(|state| {
                    order.push(state.clone());
                    number(order.len())
                });
                row.push((class, number));
            }
            budget.charge_steps(PHASE, dfa.classes as u64)?;
            budget.charge_bytes(PHASE, 32 + row.len() as u64 * 8)?;
            budget.check_states(PHASE, order.len())?;
            dfa.push(&row, accepting);
            at += 1;
        }
        dfa.start = 1;
        dfa.canonical(budget)
    }

    /// The texts for which `accepts` says yes, told which of `parts` they belong to: any operation of sets. The states are
    /// those of the product; `accepts` must say the same for the same answer.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`]: states multiply.
    pub fn combine(
        parts: &[&Language],
        accepts: impl Fn(&[bool]) -> bool,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        Self::combine_open(parts, |is_in| Ok(accepts(is_in)), |_| Ok(vec![true; parts.len()]), budget)
    }

    /// As [`combine`](Self::combine), where `matters` is told which of the parts are decided, and how, whatever is read next,
    /// and says on which of the others the answer may still depend. What does not matter any more has no states.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`]: states multiply. O(states × classes × parts), one call of `accepts` for each state, and one
    /// of `matters` for each way in which parts are decided; these charge what they cost themselves. Errors of both.
    pub fn combine_open(
        parts: &[&Language],
        accepts: impl Fn(&[bool]) -> Result<bool, CompileError>,
        matters: impl FnMut(&[Option<bool>]) -> Result<Vec<bool>, CompileError>,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        Self::held(budget, || Self::product(parts, accepts, matters, budget))
    }

    fn product(
        parts: &[&Language],
        accepts: impl Fn(&[bool]) -> Result<bool, CompileError>,
        mut matters: impl FnMut(&[Option<bool>]) -> Result<Vec<bool>, CompileError>,
        budget: &Budget,
    ) -> Result<CharDfa, CompileError> {
        const PHASE: &str = "combining automata";
        let everything: Vec<Option<StateId>> = parts.iter().map(|part| part.everything()).collect();
        let mut known: HashMap<Vec<Option<bool>>, Vec<bool>> = HashMap::new();
        let mut decided: Vec<Option<bool>> = Vec::with_capacity(parts.len());
        // A part that does not matter is as good as in its dead state.
        let mut settle = |tuple: &mut [StateId]| {
            decided.clear();
            decided.extend(tuple.iter().zip(&everything).map(|(&state, &everything)| match state {
                DEAD => Some(false),
                state => (Some(state) == everything).then_some(true),
            }));
            if decided.iter().all(Option::is_none) {
                return Ok(());
            }
            if !known.contains_key(&decided) {
                budget.charge_bytes(PHASE, 96 + 2 * decided.len() as u64)?;
                known.insert(decided.clone(), matters(&decided)?);
            }
            let open = tuple.iter_mut().zip(&decided).zip(&known[&decided]);
            for ((state, decided), matters) in open {
                if decided.is_none() && !matters {
                    *state = DEAD;
                }
            }
            Ok::<_, CompileError>(())
        };
        let parts_ranges: Vec<_> = parts.iter().map(|part| part.dfa.ranges.as_slice()).collect();
        let (ranges, columns) = joint_classes(&parts_ranges, budget)?;
        let mut states = Slices::default();
        let mut start: Vec<StateId> = parts.iter().map(|part| part.dfa.start).collect();
        budget.charge_steps(PHASE, 1 + parts.len() as u64)?;
        settle(&mut start)?;
        states.intern(&start);
        let mut dfa = CharDfa::new(ranges, columns.len());
        let mut row: Vec<(u32, StateId)> = Vec::new();
        let mut tuple = start;
        let mut next = Vec::new();
        let mut unsettled = Vec::new();
        let mut is_in = Vec::new();
        let mut at = 0;
        while (at as usize) < states.len() {
            tuple.copy_from_slice(states.get(at));
            is_in.clear();
            is_in.extend(parts.iter().zip(&tuple).map(|(part, state)| part.dfa.accepting[*state as usize]));
            row.clear();
            for (class, column) in (0..).zip(&columns) {
                budget.charge_steps(PHASE, 1 + parts.len() as u64)?;
                next.clear();
                let steps = parts.iter().zip(&tuple).zip(column);
                next.extend(steps.map(|((part, &state), &class)| part.step(state, class)));
                // Most classes lead where the one before them leads.
                if let Some(&(_, to)) = row.last()
                    && next == unsettled
                {
                    row.push((class, to));
                    continue;
                }
                unsettled.clone_from(&next);
                settle(&mut next)?;
                let (to, is_new) = states.intern(&next);
                if is_new {
                    budget.check_states(PHASE, states.len())?;
                    budget.charge_bytes(PHASE, next.len() as u64 * 4 + 16)?;
                }
                row.push((class, to + 1));
            }
            budget.charge_bytes(PHASE, row.len() as u64 * 8)?;
            dfa.push(&row, accepts(&is_in)?);
            at += 1;
        }
        dfa.start = 1;
        dfa.canonical(budget)
    }

    /// All other texts. O(states × classes).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn complement(&self, budget: &Budget) -> Result<Self, CompileError> {
        const PHASE: &str = "combining automata";
        Self::held(budget, || {
            let (ranges, columns) = joint_classes(&[self.dfa.ranges.as_slice()], budget)?;
            let mut dfa = CharDfa::new(ranges, columns.len());
            let everything = number(self.len());
            let mut row: Vec<(u32, StateId)> = Vec::new();
            for state in 1..everything {
                row.clear();
                // What led nowhere now leads to where all texts are accepted.
                row.extend((0..).zip(&columns).map(|(class, column)| match self.step(state, column[0]) {
                    DEAD => (class, everything),
                    next => (class, next),
                }));
                dfa.push(&row, !self.may_end(state));
            }
            // Only what is reached may have a state.
            if self.is_empty() || dfa.edges.iter().any(|edge| edge.1 == everything) {
                row.clear();
                row.extend((0..number(columns.len())).map(|class| (class, everything)));
                dfa.push(&row, true);
            }
            budget.charge_steps(PHASE, dfa.edges.len() as u64)?;
            budget.charge_bytes(PHASE, dfa.bytes())?;
            dfa.start = if self.is_empty() { everything } else { self.start() };
            dfa.canonical(budget)
        })
    }

    /// The texts of both.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`]: states multiply.
    pub fn intersection(&self, other: &Self, budget: &Budget) -> Result<Self, CompileError> {
        Self::combine(&[self, other], |is_in| is_in[0] && is_in[1], budget)
    }

    /// The texts of either.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`]: states multiply.
    pub fn union(&self, other: &Self, budget: &Budget) -> Result<Self, CompileError> {
        Self::combine(&[self, other], |is_in| is_in[0] || is_in[1], budget)
    }

    /// Whether it has no text.
    pub fn is_empty(&self) -> bool {
        self.dfa.start == DEAD
    }

    /// The state in which texts begin: [`DEAD`] of the language of no text.
    pub fn start(&self) -> StateId {
        self.dfa.start
    }

    /// Whether texts may end in a state.
    pub fn may_end(&self, state: StateId) -> bool {
        self.dfa.accepting[state as usize]
    }

    /// The state from which every text is accepted, if there is one.
    pub fn everything(&self) -> Option<StateId> {
        let mut next = 0;
        for &(first, last, _) in &self.dfa.ranges {
            if first != next {
                return None;
            }
            next = if last + 1 == 0xD800 { 0xE000 } else { last + 1 };
        }
        let is_all = |&state: &StateId| {
            let row = self.dfa.row(state);
            self.may_end(state) && row.len() == self.dfa.classes && row.iter().all(|edge| edge.1 == state)
        };
        if next <= u32::from(char::MAX) {
            return None;
        }
        (1..number(self.len())).find(is_all)
    }

    /// The state behind the characters of a class, [`DEAD`] if it is none of this automaton's.
    fn step(&self, state: StateId, class: u32) -> StateId {
        let row = self.dfa.row(state);
        row.binary_search_by_key(&class, |edge| edge.0).map_or(DEAD, |at| row[at].1)
    }

    /// Number of states, the dead one included.
    pub fn len(&self) -> usize {
        self.dfa.accepting.len()
    }

    /// Whether `text` belongs to it. O(length × log ranges).
    pub fn accepts(&self, text: &str) -> bool {
        let mut state = self.dfa.start;
        for char in text.chars() {
            let char = u32::from(char);
            let at = self.dfa.ranges.partition_point(|&(_, last, _)| last < char);
            let Some(&(_, _, class)) = self.dfa.ranges.get(at).filter(|range| range.0 <= char) else {
                return false;
            };
            let row = self.dfa.row(state);
            let Ok(at) = row.binary_search_by_key(&class, |edge| edge.0) else { return false };
            state = row[at].1;
        }
        self.dfa.accepting[state as usize]
    }

    /// Refuses a language of so many texts that no automaton over their bytes has room in the budget of states, however
    /// the characters below U+0080 are written, before any time goes into writing it. O(edges) where that is possible at all.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn check_states(&self, budget: &Budget) -> Result<(), CompileError> {
        if (self.len() as u64) < budget.limits().max_states / STATES_OF_CHARACTER {
            return Ok(());
        }
        budget.holding(|| check_states(self.dfa.clone(), budget), |()| 0)
    }

    /// The language as an expression, in which `spell` says how the characters of a set are written. O(edges log edges), and
    /// one call of `spell` for each set that some edge reads.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn to_expr(
        &self,
        mut spell: impl FnMut(&CharSet) -> Expr,
        budget: &Budget,
    ) -> Result<Expr, CompileError> {
        const PHASE: &str = "writing an automaton";
        /// Steps of a range of a set that is spelled.
        const STEPS_PER_RANGE: u64 = 8;
        let mut machine = Machine::default();
        // Character sets are few, and each is written for every edge that reads it.
        let mut spelled: HashMap<Vec<u32>, Expr> = HashMap::new();
        for state in 0..number(self.len()) {
            machine.add_state(self.dfa.accepting[state as usize]);
            budget.charge_steps(PHASE, 1 + self.dfa.row(state).len() as u64)?;
            let mut row: Vec<(StateId, u32)> =
                self.dfa.row(state).iter().map(|&(class, to)| (to, class)).collect();
            row.sort_unstable();
            for of_state in row.chunk_by(|a, b| a.0 == b.0) {
                let classes: Vec<u32> = of_state.iter().map(|edge| edge.1).collect();
                if !spelled.contains_key(&classes) {
                    budget.charge_steps(PHASE, self.dfa.ranges.len() as u64)?;
                    let chars = self.chars_of(&classes);
                    budget.charge_steps(PHASE, STEPS_PER_RANGE * (1 + chars.0.len() as u64))?;
                    spelled.insert(classes.clone(), spell(&chars));
                }
                machine.add_edge(state, spelled[&classes].clone(), of_state[0].0);
            }
        }
        machine.start = self.dfa.start;
        Ok(Expr::Machine(Box::new(machine)))
    }

    /// The characters of classes; `classes`: ascending.
    fn chars_of(&self, classes: &[u32]) -> CharSet {
        let char = |code: u32| char::from_u32(code).expect("ranges have no surrogates");
        let is_in = |class: &u32| classes.binary_search(class).is_ok();
        let ranges = self.dfa.ranges.iter().filter(|range| is_in(&range.2));
        CharSet::new(ranges.map(|&(first, last, _)| (char(first), char(last))))
    }
}

/// Ranges of characters, each with its class.
type ClassRanges = Vec<(u32, u32, u32)>;

/// A division of all characters into letters, numbered from 0: no letter has characters that one of some sets, or the
/// automaton of one of some languages, tells apart.
#[derive(Debug)]
pub struct Letters {
    ranges: ClassRanges,
    /// `[letters]`: for each set 0 if it has the letter, then for each language the class; `u32::MAX` for none.
    columns: Vec<Vec<u32>>,
    sets: usize,
}

impl Letters {
    /// The coarsest division for sets and languages.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn of(sets: &[CharSet], languages: &[Language], budget: &Budget) -> Result<Self, CompileError> {
        let of_sets: Vec<ClassRanges> =
            sets.iter().map(|set| set.0.iter().map(|&(first, last)| (first, last, 0)).collect()).collect();
        let parts: Vec<&[(u32, u32, u32)]> = of_sets
            .iter()
            .map(Vec::as_slice)
            .chain(languages.iter().map(|language| language.dfa.ranges.as_slice()))
            .collect();
        let (ranges, columns) = joint_classes(&parts, budget)?;
        Ok(Self { ranges, columns, sets: sets.len() })
    }

    /// The letters.
    pub fn all(&self) -> std::ops::Range<u32> {
        0..number(self.columns.len())
    }

    /// Whether the set at `set` has the characters of a letter.
    pub fn is_in(&self, letter: u32, set: usize) -> bool {
        self.columns[letter as usize][set] == 0
    }

    /// The state that `language`, the one at `at`, is in after `state` and a letter.
    pub fn step(&self, letter: u32, at: usize, language: &Language, state: StateId) -> StateId {
        language.step(state, self.columns[letter as usize][self.sets + at])
    }
}

/// The coarsest classes that tell apart what some part tells apart, characters that no part reads among them: the ranges of
/// each, and for each the class in every part, `u32::MAX` for none.
fn joint_classes(
    parts: &[&[(u32, u32, u32)]],
    budget: &Budget,
) -> Result<(ClassRanges, Vec<Vec<u32>>), CompileError> {
    const PHASE: &str = "combining automata";
    // Where any part's class may change.
    let mut bounds: Vec<u32> = vec![0, 0xD800, 0xE000, u32::from(char::MAX) + 1];
    for part in parts {
        bounds.extend(part.iter().flat_map(|&(first, last, _)| [first, last + 1]));
    }
    bounds.sort_unstable();
    bounds.dedup();
    budget.charge_steps(PHASE, (bounds.len() * (1 + parts.len())) as u64)?;
    budget.charge_bytes(PHASE, (bounds.len() * 12) as u64)?;
    let mut at = vec![0; parts.len()];
    let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
    let mut columns: Vec<Vec<u32>> = Vec::new();
    let mut ranges: ClassRanges = Vec::new();
    for pair in bounds.windows(2).filter(|pair| pair[0] != 0xD800) {
        let (first, last) = (pair[0], pair[1] - 1);
        let column: Vec<u32> = parts
            .iter()
            .zip(&mut at)
            .map(|(ranges, at)| {
                while ranges.get(*at).is_some_and(|range| range.1 < first) {
                    *at += 1;
                }
                ranges.get(*at).filter(|range| range.0 <= first).map_or(u32::MAX, |range| range.2)
            })
            .collect();
        let class = match known.get(&column) {
            Some(&class) => class,
            None => {
                budget.charge_bytes(PHASE, 64 + column.len() as u64 * 8)?;
                let class = number(columns.len());
                columns.push(column.clone());
                known.insert(column, class);
                class
            }
        };
        match ranges.last_mut() {
            Some(before) if before.2 == class && before.1 + 1 == first => before.1 = last,
            _ => ranges.push((first, last, class)),
        }
    }
    Ok((ranges, columns))
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the budget keeps counts below 2^32")
}

#[cfg(test)]
mod tests {
    use gobo_types::{CompileLimits, TextStart};
    use proptest::prelude::*;

    use super::*;
    use crate::dfa::Dfa;
    use crate::grammar::{Grammar, Rule};

    fn budget() -> Budget {
        Budget::new(CompileLimits::default())
    }

    fn language(pattern: &str) -> Language {
        Language::regex(pattern, MatchMode::Full, &budget()).unwrap()
    }

    #[test]
    fn what_no_part_reads_is_in_the_complement() {
        let rest = language("[ab]*").complement(&budget()).unwrap();
        for (text, expected) in [("", false), ("ab", false), ("abc", true), ("é", true), ("\u{10ffff}", true)]
        {
            assert_eq!(rest.accepts(text), expected, "{text}");
        }
        assert_eq!(rest.complement(&budget()).unwrap(), language("[ab]*"));
        assert_eq!(Language::none().complement(&budget()).unwrap(), language("(?s:.*)"));
        assert!(language("(?s:.*)").complement(&budget()).unwrap().is_empty());
    }

    #[test]
    fn a_procedure_is_explored_to_its_end() {
        let even = Language::explore(
            &['b', 'a'],
            0,
            |count, char| (char == 'a' || *count == 0).then_some((count + 1) % 4),
            |count| count % 2 == 0,
            &budget(),
        );
        assert_eq!(even.unwrap(), language("([ab]aaa)*([ab]a)?"));
        let endless = Language::explore(&['a'], 0_u64, |n, _| Some(n + 1), |_| true, &budget());
        assert!(matches!(endless, Err(CompileError::OverBudget(_))));
    }

    #[test]
    fn a_procedure_may_read_letters_that_sets_and_languages_tell_apart() {
        let sets = [CharSet::new([('a', 'c')])];
        let parts = [language("(?s:[^b]*)")];
        let letters = Letters::of(&sets, &parts, &budget()).unwrap();
        assert_eq!(letters.all().len(), 3);
        // What the part accepts, with an odd number of characters of the set.
        let expand = |&(state, is_odd): &(StateId, bool), row: &mut Vec<(u32, (StateId, bool))>| {
            row.extend(letters.all().filter_map(|letter| {
                let state = letters.step(letter, 0, &parts[0], state);
                (state != DEAD).then_some((letter, (state, is_odd != letters.is_in(letter, 0))))
            }));
            Ok(is_odd && parts[0].may_end(state))
        };
        let start = (parts[0].start(), false);
        let explored = Language::explore_letters(&letters, start, expand, &budget()).unwrap();
        assert_eq!(explored, language("(?s:[^abc]*[ac]([^abc]*[ac][^abc]*[ac])*[^abc]*)"));
    }

    /// In counted repetitions copies of a leaf stand in for each other: those of one expression in two places do not.
    #[test]
    fn what_is_shared_reads_as_its_copies_do() {
        let part = Expr::Alternate(vec![Expr::text("a"), Expr::text("ab"), Expr::text("é")]);
        let pair = |part: &Expr| Expr::Concat(vec![part.clone(), Expr::text("b"), part.clone()]);
        for (min, max) in [(0, None), (2, None), (0, Some(3)), (2, Some(5)), (3, Some(3))] {
            let whole = |pair: &Expr| {
                Expr::Concat(vec![pair.clone(), pair.clone().repeat(min, max), pair.clone()])
                    .repeat(0, Some(2))
            };
            let copied = Language::expr(&whole(&pair(&part)), &budget()).unwrap();
            for shared in
                [pair(&part.clone().shared()), pair(&part).shared(), pair(&part.clone().shared()).shared()]
            {
                assert_eq!(Language::expr(&whole(&shared), &budget()).unwrap(), copied, "{min}, {max:?}");
            }
        }
    }

    /// What is refused ahead would be refused when it is written: the characters below U+0080 as themselves, doubled, or
    /// half of them in two ways, as strings of JSON are.
    #[test]
    fn no_language_is_refused_ahead_that_can_be_written() {
        let written = |text: &Language, way: usize| {
            let spell = |set: &CharSet| match way {
                0 => Expr::Chars(set.clone()),
                1 => Expr::Concat(vec![Expr::Chars(set.clone()), Expr::text("~").repeat(1, Some(2))]),
                _ => {
                    let [low, high] =
                        [('\0', '\x7f'), ('\u{80}', char::MAX)].map(|range| CharSet::new([range]));
                    let escaped = Expr::Concat(vec![Expr::text("\\"), Expr::Chars(set.and(&low))]);
                    Expr::Alternate(vec![Expr::Chars(set.and(&high)), Expr::Chars(set.and(&low)), escaped])
                }
            };
            let rule = Rule { name: "text".into(), expr: text.to_expr(spell, &budget()).unwrap() };
            let grammar = Grammar { rules: vec![rule], start: 0 };
            Dfa::grammar(&grammar, TextStart::Exact, &budget()).unwrap().len()
        };
        let patterns = [
            r"(?:\S+\s+){0,9}\S{1,9}",
            "(?s:.{1,300})",
            "[^日本]{5,90}|é*",
            "(?:ab|ü.){0,200}",
            r"\w{0,40}x?",
        ];
        for pattern in patterns {
            let text = language(pattern);
            let check = |max_states: usize| {
                let max_states = max_states as u64;
                text.check_states(&Budget::new(CompileLimits { max_states, ..CompileLimits::default() }))
            };
            for way in 0..3 {
                assert_eq!(check(written(&text, way)), Ok(()), "{pattern} {way}");
            }
            assert!(matches!(check(text.len()), Err(CompileError::OverBudget(_))), "{pattern}");
        }
    }

    #[test]
    fn everything_is_every_character_for_ever() {
        let everything = |pattern: &str| language(pattern).everything().is_some();
        assert!(everything("(?s:.*)") && everything("a(?s:.*)"));
        assert!(
            !everything("")
                && !everything(".*")
                && !everything("[^\\u{10ffff}]*")
                && !everything("a(?s:.+)b")
        );
        assert_eq!(Language::none().everything(), None);
        assert_eq!(language("(?s:.*)").everything(), Some(language("(?s:.*)").start()));
    }

    #[test]
    fn anchors_of_an_expression_are_resolved() {
        let hir = regex_syntax::parse("(^a|b)(?:$|c)").unwrap();
        assert_eq!(Language::hir(&hir, &budget()).unwrap(), language("[ab]c?"));
    }

    proptest! {
        #[test]
        fn combinations_are_those_of_their_parts(
            patterns in prop::collection::vec(
                prop::sample::select(&["a*", "(ab|é)*", "[^a]{1,3}", ".*b.", "", "日?a+", "(?s:.{2})"][..]), 1..4),
            table in prop::collection::vec(any::<bool>(), 8),
            texts in prop::collection::vec("[abé日\n]{0,5}", 1..20),
        ) {
            let parts: Vec<Language> = patterns.iter().map(|pattern| language(pattern)).collect();
            let accepts = |is_in: &[bool]| table[is_in.iter().fold(0, |at, is_in| at * 2 + usize::from(*is_in))];
            let combined = Language::combine(&parts.iter().collect::<Vec<_>>(), accepts, &budget()).unwrap();
            // Written out and read again, it is the same.
            let expr = combined.to_expr(|chars| Expr::Chars(chars.clone()), &budget()).unwrap();
            prop_assert_eq!(&Language::expr(&expr, &budget()).unwrap(), &combined);
            for text in texts {
                let is_in: Vec<bool> = parts.iter().map(|part| part.accepts(&text)).collect();
                prop_assert_eq!(combined.accepts(&text), accepts(&is_in), "{:?}", text);
            }
        }
    }
}
