//! Tables by identifier.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

use crate::DenseId;

/// A vector that identifiers of one type index.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Table<I, T> {
    items: Vec<T>,
    identifiers: PhantomData<I>,
}

impl<I: DenseId, T> Table<I, T> {
    /// The empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::from(Vec::new())
    }

    /// A table with so many copies of an item.
    #[must_use]
    pub fn filled(item: T, len: usize) -> Self
    where
        T: Clone,
    {
        Self::from(vec![item; len])
    }

    /// Adds an item.
    ///
    /// # Panics
    /// If its index does not fit: see [`DenseId::new`].
    pub fn push(&mut self, item: T) -> I {
        let id = I::new(self.items.len());
        self.items.push(item);
        id
    }

    /// The identifiers, ascending.
    #[must_use]
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + Clone + use<I, T> {
        I::range(0..self.items.len())
    }

    /// The items with their identifiers.
    pub fn enumerate(&self) -> impl Iterator<Item = (I, &T)> {
        I::enumerate(&self.items)
    }
}

impl<I: DenseId, T> Default for Table<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I, T> From<Vec<T>> for Table<I, T> {
    fn from(items: Vec<T>) -> Self {
        Self { items, identifiers: PhantomData }
    }
}

impl<I, T> FromIterator<T> for Table<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(items: A) -> Self {
        Self::from(items.into_iter().collect::<Vec<T>>())
    }
}

impl<'a, I, T> IntoIterator for &'a Table<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<I, T> Deref for Table<I, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<I, T> DerefMut for Table<I, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<I: DenseId, T> Index<I> for Table<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: DenseId, T> IndexMut<I> for Table<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}
