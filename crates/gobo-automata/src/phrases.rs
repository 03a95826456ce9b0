//! Texts in which none of some phrases stands.
//!
//! Their automaton is that of Aho & Corasick (*Efficient string matching*, 1975): a state for each beginning of a phrase, the longest that the
//! text ends with, and no way into one that a phrase ends. Linear in the phrases, times their distinct characters.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use gobo_types::{Budget, CompileError};

use crate::chars::{CharSet, Expr, Machine, MachineState};

/// The phase that verdicts name.
const PHASE: &str = "excluding phrases";

/// Bytes of a state with its edges.
const STATE_BYTES: u64 = 256;

/// All texts in which no phrase stands. Phrases are not empty.
///
/// ```
/// use gobo_automata::{Expr, Language, without_phrases};
/// use gobo_types::{Budget, CompileLimits};
///
/// let budget = Budget::new(CompileLimits::default());
/// let texts = without_phrases(["</a>", "b"], &budget)?;
/// let texts = Language::expr(&Expr::Machine(Box::new(texts)), &budget)?;
/// assert!(texts.accepts("</a") && !texts.accepts("x</a>"));
/// # Ok::<(), gobo_types::CompileError>(())
/// ```
///
/// # Errors
/// [`CompileError::OverBudget`].
pub fn without_phrases(
    phrases: impl IntoIterator<Item: AsRef<str>>,
    budget: &Budget,
) -> Result<Machine, CompileError> {
    let phrases: Vec<Vec<char>> =
        phrases.into_iter().map(|phrase| phrase.as_ref().chars().collect()).collect();
    let trie = Trie::new(phrases.iter().map(|phrase| phrase.iter().copied()), budget)?;
    let alphabet: BTreeSet<char> = phrases.iter().flatten().copied().collect();
    let others = CharSet::new(alphabet.iter().map(|&char| (char, char))).complement();
    let mut machine = Machine::default();
    let states: Vec<MachineState> = trie.nodes.iter().map(|_| machine.add_state(true)).collect();
    for (at, _) in trie.nodes.iter().enumerate().filter(|(_, node)| !node.is_end) {
        budget.charge_bytes(PHASE, STATE_BYTES)?;
        budget.charge_steps(PHASE, 1 + alphabet.len() as u64)?;
        let mut chars_to: BTreeMap<usize, Vec<(char, char)>> = BTreeMap::from([(0, Vec::new())]);
        for &char in &alphabet {
            let next = trie.step(at, char);
            if !trie.nodes[next].is_end {
                chars_to.entry(next).or_default().push((char, char));
            }
        }
        for (next, chars) in chars_to {
            let mut chars = CharSet::new(chars);
            if next == 0 {
                chars = CharSet::new(chars.char_ranges().chain(others.char_ranges()));
            }
            machine.add_edge(states[at], Expr::Chars(chars), states[next]);
        }
    }
    Ok(machine)
}

#[derive(Debug)]
struct Node<T> {
    children: BTreeMap<T, usize>,
    /// The node of the longest proper end that is a beginning too.
    shorter: usize,
    /// Whether a phrase ends here.
    is_end: bool,
}

impl<T> Node<T> {
    fn new() -> Self {
        Self { children: BTreeMap::new(), shorter: 0, is_end: false }
    }
}

/// The beginnings of phrases, of characters or of bytes.
#[derive(Debug)]
pub(crate) struct Trie<T> {
    /// The first is that of no text.
    nodes: Vec<Node<T>>,
}

impl<T: Ord + Copy> Trie<T> {
    /// O(units of the phrases).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn new(
        phrases: impl IntoIterator<Item: IntoIterator<Item = T>>,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let mut trie = Self { nodes: vec![Node::new()] };
        for phrase in phrases {
            trie.add(phrase, budget)?;
        }
        trie.link(budget)?;
        Ok(trie)
    }

    fn add(&mut self, phrase: impl IntoIterator<Item = T>, budget: &Budget) -> Result<(), CompileError> {
        let mut at = 0;
        for unit in phrase {
            let fresh = self.nodes.len();
            let next = *self.nodes[at].children.entry(unit).or_insert(fresh);
            if next == fresh {
                budget.charge_bytes(PHASE, STATE_BYTES)?;
                self.nodes.push(Node::new());
            }
            at = next;
        }
        self.nodes[at].is_end = true;
        Ok(())
    }

    /// Whether a text that has come to a node ends with a phrase.
    pub(crate) fn is_end(&self, node: usize) -> bool {
        self.nodes[node].is_end
    }

    /// Finds the shorter ends, nearest to the root first.
    fn link(&mut self, budget: &Budget) -> Result<(), CompileError> {
        let mut open: VecDeque<usize> = self.nodes[0].children.values().copied().collect();
        while let Some(at) = open.pop_front() {
            budget.charge_steps(PHASE, 1 + self.nodes[at].children.len() as u64)?;
            let shorter = self.nodes[at].shorter;
            self.nodes[at].is_end |= self.nodes[shorter].is_end;
            let children: Vec<(T, usize)> =
                self.nodes[at].children.iter().map(|(&unit, &child)| (unit, child)).collect();
            for (unit, child) in children {
                self.nodes[child].shorter = self.step(shorter, unit);
                open.push_back(child);
            }
        }
        Ok(())
    }

    /// The node of the longest beginning of a phrase that a text ends with, after a character or byte.
    pub(crate) fn step(&self, mut at: usize, unit: T) -> usize {
        loop {
            match self.nodes[at].children.get(&unit) {
                Some(&child) => return child,
                None if at == 0 => return 0,
                None => at = self.nodes[at].shorter,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::CompileLimits;

    use super::*;
    use crate::chars::Language;

    #[test]
    fn free_text_has_no_phrase_in_it() {
        let budget = Budget::new(CompileLimits::default());
        let phrases = ["aa", "aba", "c", "bbé"];
        let machine = without_phrases(phrases, &budget).unwrap();
        let free = Language::expr(&Expr::Machine(Box::new(machine)), &budget).unwrap();
        let letters = ['a', 'b', 'c', 'é', 'x'];
        let mut texts = vec![String::new()];
        for length in 0..=5 {
            for text in &texts {
                let expected = !phrases.iter().any(|phrase| text.contains(phrase));
                assert_eq!(free.accepts(text), expected, "{text:?}");
            }
            if length < 5 {
                let longer = |text: &String| letters.map(|letter| format!("{text}{letter}"));
                texts = texts.iter().flat_map(longer).collect();
            }
        }
    }
}
