//! The alphabet of a constraint: its *minterms*, the coarsest classes of characters that its sets are unions of (D'Antoni & Veanes
//! 2017, *The power of symbolic automata and transducers*, section 2).

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _, Table, dense_id};

use super::set::Ranges;
use crate::ids::Symbol;

dense_id! {
    /// A set of characters that a constraint names.
    pub(crate) struct SetId;
}

/// The distinct sets of characters that a constraint names.
#[derive(Debug, Default)]
pub(crate) struct CharSets {
    sets: Table<SetId, Ranges>,
    known: HashMap<Ranges, SetId>,
    singles: HashMap<char, SetId>,
}

impl CharSets {
    pub(crate) fn single(&mut self, char: char) -> SetId {
        if let Some(&id) = self.singles.get(&char) {
            return id;
        }
        let id = self.of(Arc::new([(u32::from(char), u32::from(char))]));
        self.singles.insert(char, id);
        id
    }

    /// `ranges`: without surrogates.
    pub(crate) fn of(&mut self, ranges: Ranges) -> SetId {
        *self.known.entry(ranges).or_insert_with_key(|ranges| self.sets.push(ranges.clone()))
    }
}

/// The coarsest partition of all characters in which every set of a constraint is a union of classes. Characters of no
/// set have no class.
#[derive(Debug)]
pub(crate) struct Alphabet {
    /// The characters of each class: `(first, last, class)`, ascending. Classes are numbered by their first character.
    pub(crate) ranges: Vec<(u32, u32, Symbol)>,
    pub(crate) classes: usize,
    /// The classes of each set, ascending.
    pub(crate) of_set: Table<SetId, Vec<Symbol>>,
}

impl Alphabet {
    /// A sweep over the ends of all ranges. O(ranges × (log ranges + sets that overlap)).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn of(sets: &CharSets, budget: &Budget) -> Result<Self, CompileError> {
        const PHASE: &str = "dividing the alphabet";
        let mut events: Vec<(u32, SetId)> = Vec::new();
        for (id, ranges) in sets.sets.enumerate() {
            // A set is toggled where a range begins, and after its end.
            events.extend(ranges.iter().flat_map(|&(first, last)| [(first, id), (last + 1, id)]));
        }
        budget.charge_bytes(PHASE, events.len() as u64 * 16)?;
        events.sort_unstable();
        let of_set = Table::filled(Vec::new(), sets.sets.len());
        let mut alphabet = Self { ranges: Vec::new(), classes: 0, of_set };
        let mut known: HashMap<Vec<SetId>, Symbol> = HashMap::new();
        let mut active: Vec<SetId> = Vec::new();
        for (at, &(first, set)) in events.iter().enumerate() {
            match active.binary_search(&set) {
                Ok(place) => drop(active.remove(place)),
                Err(place) => active.insert(place, set),
            }
            let Some(&(next, _)) = events.get(at + 1) else { break };
            budget.charge_steps(PHASE, 1 + active.len() as u64)?;
            if active.is_empty() || next == first {
                continue;
            }
            let class = match known.get(&active) {
                Some(&class) => class,
                None => alphabet.add_class(&mut known, &active),
            };
            match alphabet.ranges.last_mut() {
                Some(last) if last.2 == class && last.1 + 1 == first => last.1 = next - 1,
                _ => alphabet.ranges.push((first, next - 1, class)),
            }
        }
        Ok(alphabet)
    }

    fn add_class(&mut self, known: &mut HashMap<Vec<SetId>, Symbol>, active: &[SetId]) -> Symbol {
        let class = Symbol::new(self.classes);
        self.classes += 1;
        known.insert(active.to_vec(), class);
        active.iter().for_each(|&set| self.of_set[set].push(class));
        class
    }
}
