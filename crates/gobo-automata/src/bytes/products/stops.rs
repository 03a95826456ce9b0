//! Texts that stop behind a phrase.
//!
//! The product of an automaton with that of Aho & Corasick over the bytes of the phrases ([`crate::phrases`]). Where a phrase has ended,
//! the text is complete, and nothing follows: every state of an automaton leads to the end of some text, so what was read is a
//! beginning of one. No token edge is a part of a phrase, and none stands in one.

use foldhash::{HashMap, HashMapExt as _};
use gobo_types::{Budget, CompileError, DenseId as _};

use crate::bytes::canonical::ByteTable;
use crate::bytes::dfa::Dfa;
use crate::ids::{StateId, Symbol};
use crate::phrases::Trie;
use crate::symbols::SymbolDfa;

const PHASE: &str = "stopping at phrases";

/// Bytes of a pair.
const PAIR_BYTES: u64 = 48;

impl Dfa {
    /// The texts in which none of some phrases stands, and the beginnings of texts that end with the first occurrence of one. O(states × states
    /// of the phrases × classes of bytes) at worst.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    ///
    /// # Panics
    /// If the automaton has calls, or a phrase is empty.
    pub fn stopping(&self, phrases: &[String], budget: &Budget) -> Result<Self, CompileError> {
        assert!(!self.has_calls(), "texts with calls stop nowhere");
        assert!(phrases.iter().all(|phrase| !phrase.is_empty()), "a phrase has a byte");
        let trie = Trie::new(phrases.iter().map(|phrase| phrase.bytes()), budget)?;
        let (classes, bytes) = self.classes_apart(phrases);
        // Of each pair of a state and a node, its state. Behind a phrase the state is one for all.
        let mut known: HashMap<(StateId, usize), StateId> = HashMap::new();
        let mut pairs = vec![(StateId::DEAD, 0), (self.start, 0)];
        known.insert(pairs[1], StateId::new(1));
        let behind = (StateId::DEAD, 0);
        let mut product = SymbolDfa::empty();
        product.start = if self.is_empty() { StateId::DEAD } else { StateId::new(1) };
        let mut row = Vec::with_capacity(bytes.len());
        while let Some(&(state, node)) = pairs.get(product.len()) {
            budget.charge_steps(PHASE, bytes.len() as u64)?;
            row.clear();
            let is_behind = (state, node) == behind;
            for (class, &byte) in bytes.iter().enumerate().filter(|_| !is_behind) {
                let to = self.next(state, byte);
                if to == StateId::DEAD {
                    continue;
                }
                let node = trie.step(node, byte);
                let next = if trie.is_end(node) { behind } else { (to, node) };
                let fresh = StateId::new(pairs.len());
                let number = *known.entry(next).or_insert(fresh);
                if number == fresh {
                    budget.check_states(PHASE, pairs.len())?;
                    budget.charge_bytes(PHASE, PAIR_BYTES + 4 * bytes.len() as u64)?;
                    pairs.push(next);
                }
                row.push((Symbol::new(class), number));
            }
            product.push(&row, is_behind || self.accepting[state]);
        }
        ByteTable { classes, stride: bytes.len(), symbols: product }.canonical(budget)
    }

    /// Classes of bytes in which each byte of a phrase stands alone, and a byte of each class.
    fn classes_apart(&self, phrases: &[String]) -> (Box<[u8; 256]>, Vec<u8>) {
        let mut is_apart = [false; 256];
        phrases.iter().flat_map(|phrase| phrase.bytes()).for_each(|byte| is_apart[usize::from(byte)] = true);
        let (mut classes, mut bytes) = (Box::new([0; 256]), Vec::new());
        let mut of_old: HashMap<u8, u8> = HashMap::new();
        for byte in 0..=u8::MAX {
            let fresh = u8::try_from(bytes.len()).expect("at most 256 classes");
            let old = self.classes[usize::from(byte)];
            let class = if is_apart[usize::from(byte)] { fresh } else { *of_old.entry(old).or_insert(fresh) };
            if class == fresh {
                bytes.push(byte);
            }
            classes[usize::from(byte)] = class;
        }
        (classes, bytes)
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::{CompileLimits, TextStart};

    use super::*;
    use crate::{Expr, Language};

    /// Every text of up to six letters, by the definition.
    #[test]
    fn texts_stop_at_the_first_phrase() {
        let budget = Budget::new(CompileLimits::default());
        let letters = ["a", "b", "é", "\u{e8}"];
        let letter = Expr::chars([('a', 'b'), ('è', 'é')]);
        let pattern = Expr::Concat(vec![letter.clone().repeat(1, Some(4)), Expr::text("b")]);
        let language = Language::expr(&pattern, &budget).unwrap();
        let dfa = Dfa::language(language.clone(), TextStart::Exact, &budget).unwrap();
        let mut texts = vec![String::new()];
        for from in 0..1365 {
            let longer: Vec<String> =
                letters.iter().map(|letter| format!("{}{letter}", texts[from])).collect();
            texts.extend(longer);
        }
        let whole: Vec<&String> = texts.iter().filter(|text| language.accepts(text)).collect();
        for phrases in [
            vec!["aa"],
            vec!["ab", "bé"],
            vec!["é", "è"],
            vec!["aba", "b"],
            vec!["x"],
            vec!["è", "é", "a", "b"],
        ] {
            let phrases: Vec<String> = phrases.into_iter().map(str::to_owned).collect();
            let stopping = dfa.stopping(&phrases, &budget).unwrap();
            for text in &texts {
                let first = phrases.iter().filter_map(|phrase| Some(text.find(phrase)? + phrase.len())).min();
                let expected = match first {
                    None => language.accepts(text),
                    Some(end) => end == text.len() && whole.iter().any(|of| of.starts_with(text)),
                };
                assert_eq!(stopping.accepts(text.as_bytes()), expected, "{text:?} {phrases:?}");
            }
        }
    }
}
