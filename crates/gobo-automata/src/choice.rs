use std::collections::HashMap;

use gobo_types::{Budget, CompileError, RefusalKind};

use crate::dfa::{DEAD, Dfa, StateId};

const PHASE: &str = "building the choice";

type Edges = Vec<(u8, StateId)>;

/// The minimal automaton of a list of texts, built text by text in sorted order: a state is final, and merged with an
/// equal one, as soon as the next text has left it. Linear in the bytes of the list. Daciuk, Mihov, Watson & Watson
/// 2000, *Incremental construction of minimal acyclic finite-state automata*, Algorithm 1.
///
/// # Errors
/// A refusal of the empty list; [`CompileError::OverBudget`].
pub(crate) fn choice(items: &[String], budget: &Budget) -> Result<Dfa, CompileError> {
    if items.is_empty() {
        return Err(CompileError::refuse(
            RefusalKind::Unsatisfiable,
            "the list",
            "a choice without items has no text",
        ));
    }
    let bytes: usize = items.iter().map(String::len).sum();
    budget.charge_steps(PHASE, bytes as u64)?;
    budget.charge_bytes(PHASE, bytes as u64 * 16)?;
    let mut sorted: Vec<&[u8]> = items.iter().map(String::as_bytes).collect();
    sorted.sort_unstable();
    sorted.dedup();

    let mut trie = Builder { frozen: vec![(false, Edges::new())], register: HashMap::new() };
    // The states along the last text: (accepting, finished edges, the byte of the open edge).
    let mut path: Vec<(bool, Edges)> = vec![(false, Edges::new())];
    let mut last: &[u8] = &[];
    for text in sorted {
        let shared = last.iter().zip(text).take_while(|(a, b)| a == b).count();
        trie.freeze(&mut path, last, shared);
        path.resize(text.len() + 1, (false, Edges::new()));
        path[text.len()].0 = true;
        budget.check_states(PHASE, trie.frozen.len() + path.len())?;
        last = text;
    }
    trie.freeze(&mut path, last, 0);
    let root = path.swap_remove(0);
    let start = trie.intern(root);
    trie.into_dfa(start, budget)
}

struct Builder {
    /// State 0 is dead.
    frozen: Vec<(bool, Edges)>,
    register: HashMap<(bool, Edges), StateId>,
}

impl Builder {
    fn intern(&mut self, state: (bool, Edges)) -> StateId {
        *self.register.entry(state).or_insert_with_key(|state| {
            self.frozen.push(state.clone());
            StateId::try_from(self.frozen.len() - 1).expect("the budget keeps states below 2^32")
        })
    }

    /// Finishes the states of `text` deeper than `depth`.
    fn freeze(&mut self, path: &mut Vec<(bool, Edges)>, text: &[u8], depth: usize) {
        while path.len() > depth + 1 {
            let Some(state) = path.pop() else { return };
            let number = self.intern(state);
            let parent = path.len() - 1;
            path[parent].1.push((text[parent], number));
        }
    }

    fn into_dfa(self, start: StateId, budget: &Budget) -> Result<Dfa, CompileError> {
        // Class 0 for bytes that occur nowhere.
        let mut classes = Box::new([0; 256]);
        let mut stride = 1;
        for &(byte, _) in self.frozen.iter().flat_map(|(_, edges)| edges) {
            let class = &mut classes[usize::from(byte)];
            if *class == 0 {
                // UTF-8 has fewer than 255 distinct bytes.
                *class = u8::try_from(stride).expect("UTF-8 text has at most 243 distinct bytes");
                stride += 1;
            }
        }
        budget.charge_bytes(PHASE, (self.frozen.len() * stride * 4) as u64)?;
        let mut transitions = vec![DEAD; self.frozen.len() * stride];
        for (row, (_, edges)) in transitions.chunks_exact_mut(stride).zip(&self.frozen) {
            for &(byte, next) in edges {
                row[usize::from(classes[usize::from(byte)])] = next;
            }
        }
        let accepting = self.frozen.iter().map(|&(accepting, _)| accepting).collect();
        Dfa { classes, stride, transitions, accepting, start }.canonical(budget)
    }
}
