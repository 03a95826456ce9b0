//! Shared lists that are compared, hashed and searched without a pass over their items.

use std::borrow::Borrow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;

/// A list in its own order, with its hash and an index for search.
///
/// Construction takes O(n log n), cloning and hashing O(1), search O(log n). Comparison takes O(1), unless equal items are
/// stored twice.
#[derive(Debug)]
pub(crate) struct Listed<T> {
    items: Rc<[T]>,
    /// Indices of items, ascending by item.
    ascending: Rc<[u32]>,
    hash: u64,
}

impl<T> Clone for Listed<T> {
    fn clone(&self) -> Self {
        Self { items: Rc::clone(&self.items), ascending: Rc::clone(&self.ascending), hash: self.hash }
    }
}

impl<T: Ord + Hash> FromIterator<T> for Listed<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let items: Rc<[T]> = items.into_iter().collect();
        let mut ascending: Vec<u32> = (0..).take(items.len()).collect();
        ascending.sort_unstable_by(|&one, &other| items[one as usize].cmp(&items[other as usize]));
        let mut hasher = DefaultHasher::new();
        items.hash(&mut hasher);
        Self { items, ascending: ascending.into(), hash: hasher.finish() }
    }
}

impl<T> Listed<T> {
    /// Whether an item is among them.
    pub(crate) fn has<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.ascending.binary_search_by(|&at| self.items[at as usize].borrow().cmp(item)).is_ok()
    }
}

impl<T> Deref for Listed<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T: PartialEq> PartialEq for Listed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && (Rc::ptr_eq(&self.items, &other.items) || self.items == other.items)
    }
}

impl<T: Eq> Eq for Listed<T> {}

impl<T> Hash for Listed<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_told_apart_and_their_items_found() {
        let list = |items: &[&str]| items.iter().map(|&item| item.to_owned()).collect::<Listed<String>>();
        let one = list(&["b", "a", "b"]);
        assert_eq!((&one[..], one.clone()), (&["b", "a", "b"].map(str::to_owned)[..], one.clone()));
        assert_eq!(one, list(&["b", "a", "b"]));
        for other in [&["a", "b", "b"][..], &["b", "a"], &[]] {
            assert_ne!(one, list(other));
        }
        assert!(one.has("a") && one.has("b") && !one.has("") && !one.has("c") && !list(&[]).has(""));
    }
}
