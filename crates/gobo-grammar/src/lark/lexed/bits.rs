//! Sets of small numbers.

/// A set of numbers below a bound.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// The empty set.
    pub(super) fn new(bound: usize) -> Self {
        Self(vec![0; bound.div_ceil(64)])
    }

    pub(super) fn insert(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    pub(super) fn remove(&mut self, at: usize) {
        self.0[at / 64] &= !(1 << (at % 64));
    }

    pub(super) fn contains(&self, at: usize) -> bool {
        self.0[at / 64] & 1 << (at % 64) != 0
    }

    /// Adds all of a set of the same bound; whether there was anything new.
    pub(super) fn unite(&mut self, other: &Self) -> bool {
        let mut has_changed = false;
        for (one, other) in self.0.iter_mut().zip(&other.0) {
            has_changed |= *other & !*one != 0;
            *one |= other;
        }
        has_changed
    }

    /// Keeps those that are in another set of the same bound.
    pub(super) fn intersect(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(one, other)| *one &= other);
    }

    /// The numbers that are not in it.
    pub(super) fn complement(&self) -> Self {
        Self(self.0.iter().map(|word| !word).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The numbers, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(number, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let at = (left != 0).then(|| number * 64 + left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(at)
            })
        })
    }

    /// Words of 64 bits.
    pub(super) fn words(&self) -> usize {
        self.0.len()
    }
}
