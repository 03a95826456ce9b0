//! Identifiers that are dense indices.
//!
//! What a compile identifies (states, rules, sets of states) is numbered from 0 and looked up in vectors. Each such numbering is a
//! type of its own, declared by [`dense_id!`](crate::dense_id), so that a state of one automaton indexes no table of another's. An
//! identifier has the size of its number and costs nothing beyond it; [`DenseId::new`] is the one place that checks that a count fits.

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::Range;

/// An identifier that is a dense index: it counts from 0, and indexes tables of what it identifies. Declared by
/// [`dense_id!`](crate::dense_id).
pub trait DenseId: Copy + Debug + Ord + Hash {
    /// The identifier with this number, as files and packed tables have it.
    fn from_number(number: u32) -> Self;

    /// The number, as files and packed tables have it.
    fn number(self) -> u32;

    /// The identifier of an index.
    ///
    /// # Panics
    /// If the index does not fit: see [`checked_u32`].
    #[inline]
    #[must_use]
    fn new(index: usize) -> Self {
        Self::from_number(checked_u32(index))
    }

    /// The index in tables of what it identifies.
    #[inline]
    fn index(self) -> usize {
        self.number() as usize
    }

    /// The identifiers of a range of indices, ascending.
    ///
    /// # Panics
    /// If the end does not fit: see [`checked_u32`].
    #[inline]
    fn range(indices: Range<usize>) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        (checked_u32(indices.start)..checked_u32(indices.end)).map(Self::from_number)
    }

    /// Items with the identifiers of their indices.
    #[inline]
    fn enumerate<T>(items: impl IntoIterator<Item = T>) -> impl Iterator<Item = (Self, T)> {
        (0..).map(Self::from_number).zip(items)
    }
}

/// A count or an index in 32 bits.
///
/// # Panics
/// If it does not fit, which the budgets of states, steps and bytes prevent.
#[inline]
#[must_use]
pub fn checked_u32(count: usize) -> u32 {
    u32::try_from(count).expect("the budget keeps counts below 2^32")
}

/// Declares identifiers, each a type of its own that implements [`DenseId`].
#[macro_export]
macro_rules! dense_id {
    ($($(#[$attribute:meta])* $visibility:vis struct $name:ident;)+) => {$(
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        $visibility struct $name(u32);

        impl $crate::DenseId for $name {
            #[inline]
            fn from_number(number: u32) -> Self {
                Self(number)
            }

            #[inline]
            fn number(self) -> u32 {
                self.0
            }
        }
    )+};
}

#[cfg(test)]
mod tests {
    use super::*;

    dense_id! {
        /// A letter.
        struct Letter;
    }

    #[test]
    fn identifiers_count_from_zero() {
        assert_eq!(Letter::new(7), Letter::from_number(7));
        assert_eq!((Letter(3).index(), Letter(3).number()), (3, 3));
        assert_eq!(Letter::range(1..3).collect::<Vec<_>>(), [Letter(1), Letter(2)]);
        assert_eq!(Letter::enumerate("ab".chars()).collect::<Vec<_>>(), [(Letter(0), 'a'), (Letter(1), 'b')]);
        assert_eq!((size_of::<Letter>(), align_of::<Letter>()), (4, 4));
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    #[should_panic(expected = "below 2^32")]
    fn an_index_that_does_not_fit_is_no_identifier() {
        let _ = Letter::new(1 << 32);
    }
}
