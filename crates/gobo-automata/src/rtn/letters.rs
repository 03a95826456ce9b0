//! Token sets of a grammar become letters, once it has met a vocabulary: see [`crate::letters`].

use std::collections::HashMap;
use std::sync::Arc;

use super::Grammar;
use crate::chars::{Expr, Machine};

impl Grammar {
    /// Puts letters in the place of token sets: `classes_of`: the classes of each set, ascending, of `classes` in all. Sets may share
    /// classes, and one without any reads nothing. O(size of the grammar + classes of its sets).
    ///
    /// ```
    /// use gobo_automata::{Dfa, Expr, Grammar, Rule, RuleId, token_letter};
    /// use gobo_types::{Budget, CompileLimits, DenseId as _, TextStart};
    ///
    /// // A token of class 1, then `a`.
    /// let expr = Expr::Concat(vec![Expr::token_set(0), Expr::text("a")]);
    /// let rules = vec![Rule { name: "root".to_owned(), expr, lengths: None }];
    /// let (start, called, families) = (RuleId::new(0), Vec::new(), Vec::new());
    /// let mut grammar = Grammar { rules, start, called, families, tokens: Vec::new() };
    /// grammar.put_letters(&[vec![1]], 2);
    /// let dfa = Dfa::grammar(&grammar, TextStart::Exact, &Budget::new(CompileLimits::default()))?;
    /// assert!(dfa.accepts(&[token_letter(1, 2), b"a".to_vec()].concat()));
    /// assert!(!dfa.accepts(&[token_letter(0, 2), b"a".to_vec()].concat()));
    /// # Ok::<(), gobo_types::CompileError>(())
    /// ```
    ///
    /// # Panics
    /// If there are more than [`MAX_TOKEN_CLASSES`](crate::MAX_TOKEN_CLASSES), or a set has no entry.
    pub fn put_letters(&mut self, classes_of: &[Vec<usize>], classes: usize) {
        let mut letters = Letters { classes_of, classes, known: HashMap::new(), replaced: Vec::new() };
        self.rules.iter_mut().for_each(|rule| letters.put(&mut rule.expr));
        self.tokens.clear();
    }
}

/// What [`Grammar::put_letters`] keeps.
struct Letters<'a> {
    classes_of: &'a [Vec<usize>],
    classes: usize,
    /// Shared expressions stay shared.
    known: HashMap<*const Expr, Arc<Expr>>,
    /// Those that stood in the place of the known ones: while they live no other has their address.
    replaced: Vec<Arc<Expr>>,
}

impl Letters<'_> {
    fn put(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Text(_) | Expr::Call(_) => {}
            Expr::Chars(set) => {
                if let Some(letters) = set.with_letters(self.classes_of, self.classes) {
                    *set = letters;
                }
            }
            Expr::Concat(parts) | Expr::Alternate(parts) => parts.iter_mut().for_each(|part| self.put(part)),
            Expr::Repeat { expr, .. } => self.put(expr),
            Expr::Machine(machine) => {
                let Machine { edges, .. } = &mut **machine;
                edges.iter_mut().flatten().for_each(|edge| self.put(&mut edge.0));
            }
            Expr::Shared(shared) => {
                let at = Arc::as_ptr(shared);
                if let Some(known) = self.known.get(&at) {
                    *shared = known.clone();
                    return;
                }
                let mut fresh = (**shared).clone();
                self.put(&mut fresh);
                let old = std::mem::replace(shared, Arc::new(fresh));
                self.replaced.push(old);
                self.known.insert(at, shared.clone());
            }
        }
    }
}
