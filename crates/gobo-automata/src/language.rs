use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, MatchMode};

use crate::alphabet::{Alphabet, CharSets};
use crate::char_dfa::CharDfa;
use crate::choice::choice;
use crate::determinize::determinize;
use crate::dfa::{DEAD, StateId};
use crate::grammar::{CharSet, Expr, Machine};
use crate::nfa::Nfa;
use crate::regex::regex;
use crate::slices::Slices;

/// A regular set of texts, as its minimal automaton over characters: one set has one value of this type.
///
/// Front ends combine languages here, where every operation of sets is exact, and write the result into a grammar with
/// [`Language::to_expr`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Language {
    dfa: CharDfa,
}

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
        Ok(Self { dfa: regex(pattern, mode, budget)?.canonical(budget)? })
    }

    /// The texts of a list.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn choice(items: &[String], budget: &Budget) -> Result<Self, CompileError> {
        if items.is_empty() {
            return Ok(Self::none());
        }
        Ok(Self { dfa: choice(items, budget)?.canonical(budget)? })
    }

    /// The texts of an expression.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    ///
    /// # Panics
    /// If the expression calls a rule.
    pub fn expr(expr: &Expr, budget: &Budget) -> Result<Self, CompileError> {
        let mut sets = CharSets::default();
        let nfa = Nfa::of_expr(expr, &mut sets, budget)?;
        assert!(!nfa.has_calls(), "a regular language calls no rule");
        let alphabet = Alphabet::of(&sets, budget)?;
        let mut dfa = determinize(&nfa, &alphabet, budget)?;
        dfa.ranges = alphabet.ranges;
        Ok(Self { dfa: dfa.canonical(budget)? })
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
        const PHASE: &str = "exploring an automaton";
        let mut letters: Vec<char> = alphabet.to_vec();
        letters.sort_unstable();
        letters.dedup();
        let ranges = (0..).zip(&letters).map(|(class, &char)| (u32::from(char), u32::from(char), class)).collect();
        let mut dfa = CharDfa::new(ranges, letters.len());
        let mut known: HashMap<S, StateId> = HashMap::new();
        known.insert(start.clone(), 1);
        let mut order = vec![start];
        let mut row = Vec::new();
        let mut at = 0;
        while let Some(state) = order.get(at).cloned() {
            row.clear();
            for (class, &char) in (0..).zip(&letters) {
                let Some(after) = next(&state, char) else { continue };
                let number = *known.entry(after).or_insert_with_key(|after| {
                    order.push(after.clone());
                    number(order.len())
                });
                row.push((class, number));
            }
            budget.charge_steps(PHASE, letters.len() as u64)?;
            budget.charge_bytes(PHASE, 32 + row.len() as u64 * 8)?;
            budget.check_states(PHASE, order.len())?;
            dfa.push(&row, accepts(&state));
            at += 1;
        }
        dfa.start = 1;
        Ok(Self { dfa: dfa.canonical(budget)? })
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
        const PHASE: &str = "combining automata";
        let (ranges, columns) = joint_classes(parts, budget)?;
        let mut states = Slices::default();
        let start: Vec<StateId> = parts.iter().map(|part| part.dfa.start).collect();
        states.intern(&start);
        let mut dfa = CharDfa::new(ranges, columns.len());
        let mut row: Vec<(u32, StateId)> = Vec::new();
        let mut tuple = start;
        let mut next = Vec::new();
        let mut is_in = Vec::new();
        let mut at = 0;
        while (at as usize) < states.len() {
            tuple.copy_from_slice(states.get(at));
            is_in.clear();
            is_in.extend(parts.iter().zip(&tuple).map(|(part, state)| part.dfa.accepting[*state as usize]));
            row.clear();
            for (class, column) in (0..).zip(&columns) {
                next.clear();
                next.extend(parts.iter().zip(&tuple).zip(column).map(|((part, &state), &class)| {
                    let row = part.dfa.row(state);
                    row.binary_search_by_key(&class, |edge| edge.0).map_or(DEAD, |at| row[at].1)
                }));
                let (to, is_new) = states.intern(&next);
                if is_new {
                    budget.check_states(PHASE, states.len())?;
                    budget.charge_bytes(PHASE, next.len() as u64 * 4 + 16)?;
                }
                row.push((class, to + 1));
            }
            budget.charge_steps(PHASE, (columns.len() * (1 + parts.len())) as u64)?;
            budget.charge_bytes(PHASE, row.len() as u64 * 8)?;
            dfa.push(&row, accepts(&is_in));
            at += 1;
        }
        dfa.start = 1;
        Ok(Self { dfa: dfa.canonical(budget)? })
    }

    /// All other texts.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn complement(&self, budget: &Budget) -> Result<Self, CompileError> {
        Self::combine(&[self], |is_in| !is_in[0], budget)
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
            let Some(&(_, _, class)) = self.dfa.ranges.get(at).filter(|range| range.0 <= char) else { return false };
            let row = self.dfa.row(state);
            let Ok(at) = row.binary_search_by_key(&class, |edge| edge.0) else { return false };
            state = row[at].1;
        }
        self.dfa.accepting[state as usize]
    }

    /// The language as an expression, in which `spell` says how the characters of a set are written.
    pub fn to_expr(&self, mut spell: impl FnMut(&CharSet) -> Expr) -> Expr {
        let mut machine = Machine::default();
        // Character sets are few, and each is written for every edge that reads it.
        let mut spelled: HashMap<Vec<u32>, Expr> = HashMap::new();
        for state in 0..number(self.len()) {
            machine.add_state(self.dfa.accepting[state as usize]);
            let mut row: Vec<(StateId, u32)> = self.dfa.row(state).iter().map(|&(class, to)| (to, class)).collect();
            row.sort_unstable();
            for of_state in row.chunk_by(|a, b| a.0 == b.0) {
                let classes: Vec<u32> = of_state.iter().map(|edge| edge.1).collect();
                let expr = spelled.entry(classes).or_insert_with_key(|classes| spell(&self.chars_of(classes)));
                machine.add_edge(state, expr.clone(), of_state[0].0);
            }
        }
        machine.start = self.dfa.start;
        Expr::Machine(Box::new(machine))
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

/// The coarsest classes that tell apart what some part tells apart, characters that no part reads among them: the ranges of
/// each, and for each the class in every part, `u32::MAX` for none.
fn joint_classes(parts: &[&Language], budget: &Budget) -> Result<(ClassRanges, Vec<Vec<u32>>), CompileError> {
    const PHASE: &str = "combining automata";
    // Where any part's class may change.
    let mut bounds: Vec<u32> = vec![0, 0xD800, 0xE000, u32::from(char::MAX) + 1];
    for part in parts {
        bounds.extend(part.dfa.ranges.iter().flat_map(|&(first, last, _)| [first, last + 1]));
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
            .map(|(part, at)| {
                let ranges = &part.dfa.ranges;
                while ranges.get(*at).is_some_and(|range| range.1 < first) {
                    *at += 1;
                }
                ranges.get(*at).filter(|range| range.0 <= first).map_or(u32::MAX, |range| range.2)
            })
            .collect();
        let class = *known.entry(column).or_insert_with_key(|column| {
            columns.push(column.clone());
            number(columns.len() - 1)
        });
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
    use gobo_types::CompileLimits;
    use proptest::prelude::*;

    use super::*;

    fn budget() -> Budget {
        Budget::new(CompileLimits::default())
    }

    fn language(pattern: &str) -> Language {
        Language::regex(pattern, MatchMode::Full, &budget()).unwrap()
    }

    #[test]
    fn what_no_part_reads_is_in_the_complement() {
        let rest = language("[ab]*").complement(&budget()).unwrap();
        for (text, expected) in [("", false), ("ab", false), ("abc", true), ("é", true), ("\u{10ffff}", true)] {
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
            let expr = combined.to_expr(|chars| Expr::Chars(chars.clone()));
            prop_assert_eq!(&Language::expr(&expr, &budget()).unwrap(), &combined);
            for text in texts {
                let is_in: Vec<bool> = parts.iter().map(|part| part.accepts(&text)).collect();
                prop_assert_eq!(combined.accepts(&text), accepts(&is_in), "{:?}", text);
            }
        }
    }
}
