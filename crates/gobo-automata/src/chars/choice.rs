//! The minimal automaton of a list of texts, built text by text in sorted order: a state is final, and merged with an equal one, as
//! soon as the next text has left it (Daciuk, Mihov, Watson & Watson 2000, *Incremental construction of minimal acyclic
//! finite-state automata*, Algorithm 1).

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _, RefusalKind, Table};

use super::dfa::CharDfa;
use crate::ids::{CharState, Symbol};

const PHASE: &str = "building the choice";

/// Steps of a byte, which may be a state: that is looked up, and written down.
const STEPS_PER_BYTE: u64 = 4;

type Edges = Vec<(char, CharState)>;

/// The minimal automaton of a list of texts. Linear in the bytes of the list.
///
/// # Errors
/// A refusal of the empty list; [`CompileError::OverBudget`].
pub(crate) fn choice(items: &[String], budget: &Budget) -> Result<CharDfa, CompileError> {
    if items.is_empty() {
        return Err(CompileError::refuse(
            RefusalKind::Unsatisfiable,
            "the list",
            "a choice without items has no text",
        ));
    }
    let bytes: usize = items.iter().map(String::len).sum();
    budget.charge_steps(PHASE, bytes as u64 * STEPS_PER_BYTE)?;
    budget.charge_bytes(PHASE, bytes as u64 * 16)?;
    // The order of bytes is the order of characters.
    let mut sorted: Vec<&str> = items.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sorted.dedup();

    let mut trie = Builder { frozen: vec![(false, Edges::new())].into(), register: HashMap::new() };
    // The states along the last text, accepting or not, with their finished edges.
    let mut path: Vec<(bool, Edges)> = vec![(false, Edges::new())];
    let mut last: Vec<char> = Vec::new();
    for text in sorted {
        let shared = last.iter().zip(text.chars()).take_while(|(a, b)| **a == *b).count();
        trie.freeze(&mut path, &last, shared);
        last.truncate(shared);
        last.extend(text.chars().skip(shared));
        path.resize(last.len() + 1, (false, Edges::new()));
        path[last.len()].0 = true;
        budget.check_states(PHASE, trie.frozen.len() + path.len())?;
    }
    trie.freeze(&mut path, &last, 0);
    let root = path.swap_remove(0);
    let start = trie.intern(root);
    trie.into_dfa(start, budget)
}

struct Builder {
    /// State 0 is dead.
    frozen: Table<CharState, (bool, Edges)>,
    register: HashMap<(bool, Edges), CharState>,
}

impl Builder {
    fn intern(&mut self, state: (bool, Edges)) -> CharState {
        *self.register.entry(state).or_insert_with_key(|state| self.frozen.push(state.clone()))
    }

    /// Finishes the states of `text` deeper than `depth`.
    fn freeze(&mut self, path: &mut Vec<(bool, Edges)>, text: &[char], depth: usize) {
        while path.len() > depth + 1 {
            let Some(state) = path.pop() else { return };
            let frozen = self.intern(state);
            let parent = path.len() - 1;
            path[parent].1.push((text[parent], frozen));
        }
    }

    fn into_dfa(self, start: CharState, budget: &Budget) -> Result<CharDfa, CompileError> {
        // A class for each character that occurs.
        let mut chars: Vec<char> =
            self.frozen.iter().flat_map(|(_, edges)| edges.iter().map(|edge| edge.0)).collect();
        budget.charge_bytes(PHASE, chars.len() as u64 * 12)?;
        chars.sort_unstable();
        chars.dedup();
        let ranges = Symbol::enumerate(&chars)
            .map(|(class, &char)| (u32::from(char), u32::from(char), class))
            .collect();
        let class_of: HashMap<char, Symbol> =
            Symbol::enumerate(&chars).map(|(class, &char)| (char, class)).collect();
        let mut dfa = CharDfa::new(ranges, chars.len());
        let mut row = Vec::new();
        for (accepting, edges) in self.frozen.iter().skip(1) {
            row.clear();
            row.extend(edges.iter().map(|(char, next)| (class_of[char], *next)));
            dfa.push(&row, *accepting);
        }
        (dfa.symbols.start, dfa.is_minimal) = (start, true);
        Ok(dfa)
    }
}
