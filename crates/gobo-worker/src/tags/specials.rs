//! Strings that hold the texts of special tokens.

use std::collections::BTreeMap;

use gobo_artifact::Vocabulary;
use gobo_automata::{Expr, Machine, MachineState, TokenItem};
use gobo_types::{Budget, CompileError, SpecialText};

use super::PHASE;

/// The texts of special tokens, and how strings are written in which they stand.
pub(super) struct Specials {
    how: SpecialText,
    /// Longest first.
    names: Vec<String>,
}

impl Specials {
    pub(super) fn of(vocabulary: Option<&Vocabulary>, how: SpecialText) -> Self {
        let ids = vocabulary.filter(|_| how != SpecialText::Spelled);
        let names = ids.into_iter().flat_map(|vocabulary| {
            let ids = (0..vocabulary.len()).filter(|&id| vocabulary.is_special(id));
            ids.filter_map(|id| std::str::from_utf8(vocabulary.bytes(id)).ok())
        });
        let mut names: Vec<String> = names.filter(|name| !name.is_empty()).map(str::to_owned).collect();
        names.sort_by_key(|name| (std::cmp::Reverse(name.len()), name.clone()));
        names.dedup();
        Self { how, names }
    }

    /// The ways to write a text: `edge` says how a token is read.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn string(
        &self,
        text: &str,
        mut edge: impl FnMut(TokenItem) -> Result<Expr, CompileError>,
        budget: &Budget,
    ) -> Result<Expr, CompileError> {
        budget.charge_steps(PHASE, 1 + (self.names.len() * text.len()) as u64 / 64)?;
        if !self.names.iter().any(|name| text.contains(name.as_str())) {
            return Ok(Expr::text(text));
        }
        let mut machine = Machine::default();
        // A state for each place between two characters.
        let mut places: BTreeMap<usize, MachineState> = BTreeMap::new();
        for (at, _) in text.char_indices() {
            places.insert(at, machine.add_state(false));
        }
        places.insert(text.len(), machine.add_state(true));
        let mut at = 0;
        while let Some(char) = text[at..].chars().next() {
            let mut next = at + char.len_utf8();
            let mut here = self.names.iter().filter(|name| text[at..].starts_with(name.as_str()));
            match self.how {
                SpecialText::Token => match here.next() {
                    Some(longest) => {
                        next = at + longest.len();
                        machine.add_edge(places[&at], edge(TokenItem::Name(longest.clone()))?, places[&next]);
                    }
                    None => machine.add_edge(places[&at], Expr::text(char), places[&next]),
                },
                SpecialText::Both | SpecialText::Spelled => {
                    machine.add_edge(places[&at], Expr::text(char), places[&next]);
                    for name in here {
                        let behind = places[&(at + name.len())];
                        machine.add_edge(places[&at], edge(TokenItem::Name(name.clone()))?, behind);
                    }
                }
            }
            at = next;
        }
        machine.start = places[&0];
        Ok(Expr::Machine(Box::new(machine)))
    }
}
