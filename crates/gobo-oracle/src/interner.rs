//! Hash consing (Ershov 1958): equal values are stored once and known by one number, so that values are compared and hashed
//! by that number. O(1) expected for each value, its own hash apart.

use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;

/// Gives equal values one number, so that they can be compared and hashed by it.
#[derive(Debug)]
pub(crate) struct Interner<T> {
    ids: HashMap<Rc<T>, u32>,
    values: Vec<Rc<T>>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { ids: HashMap::new(), values: Vec::new() }
    }
}

impl<T: Eq + Hash> Interner<T> {
    /// The number of `value`, and whether it is new.
    pub(crate) fn intern(&mut self, value: T) -> (u32, bool) {
        if let Some(&id) = self.ids.get(&value) {
            return (id, false);
        }
        let id = u32::try_from(self.values.len()).expect("the oracle runs out of memory long before");
        let value = Rc::new(value);
        self.ids.insert(Rc::clone(&value), id);
        self.values.push(value);
        (id, true)
    }

    /// The value numbered `id`.
    pub(crate) fn get(&self, id: u32) -> Rc<T> {
        Rc::clone(&self.values[id as usize])
    }
}
