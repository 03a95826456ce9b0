//! Sets of bytes.

/// A set of bytes: bit `b & 31` of word `b >> 5`, as index and vocabulary files have it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct ByteSet([u32; 8]);

impl ByteSet {
    /// The set with these words.
    #[inline]
    #[must_use]
    pub fn from_words(words: [u32; 8]) -> Self {
        Self(words)
    }

    /// The set of one byte. All its words are made at once: a set whose words were just written one by one is slow to read whole.
    #[inline]
    #[must_use]
    pub fn single(byte: u8) -> Self {
        Self(std::array::from_fn(|word| if word == usize::from(byte >> 5) { 1 << (byte & 31) } else { 0 }))
    }

    /// The words of the set.
    #[inline]
    #[must_use]
    pub fn words(self) -> [u32; 8] {
        self.0
    }

    /// Adds a byte.
    #[inline]
    pub fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 5)] |= 1 << (byte & 31);
    }

    /// Adds the bytes of another set.
    #[inline]
    pub fn insert_all(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(set, other)| *set |= other);
    }

    /// Whether a byte is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 5)] >> (byte & 31) & 1 == 1
    }

    /// Number of bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether no byte is in the set.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether every byte of the set is in another one.
    #[inline]
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).all(|(set, other)| set & !other == 0)
    }

    /// Whether no byte is in both sets.
    #[inline]
    #[must_use]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).all(|(set, other)| set & other == 0)
    }

    /// The bytes, ascending.
    #[inline]
    pub fn bytes(&self) -> impl Iterator<Item = u8> + use<> {
        (0_u8..).zip(self.0).flat_map(|(word, mut bits)| {
            std::iter::from_fn(move || {
                let bit = u8::try_from(bits.trailing_zeros()).ok().filter(|_| bits != 0)?;
                bits &= bits - 1;
                Some(word << 5 | bit)
            })
        })
    }
}

impl FromIterator<u8> for ByteSet {
    fn from_iter<T: IntoIterator<Item = u8>>(bytes: T) -> Self {
        let mut set = Self::default();
        bytes.into_iter().for_each(|byte| set.insert(byte));
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn sets_of_bytes_are_sets() {
        let samples: [BTreeSet<u8>; 5] = [
            BTreeSet::new(),
            [0, 31, 32, 255].into(),
            [31, 255].into(),
            (0..=u8::MAX).collect(),
            (64..=96).chain([7]).collect(),
        ];
        let set = |bytes: &BTreeSet<u8>| bytes.iter().copied().collect::<ByteSet>();
        assert!((0..=u8::MAX).all(|byte| ByteSet::single(byte).bytes().eq([byte])));
        for one in &samples {
            let a = set(one);
            assert_eq!(ByteSet::from_words(a.words()), a);
            assert!(a.bytes().eq(one.iter().copied()), "{one:?}");
            assert!((0..=u8::MAX).all(|byte| a.contains(byte) == one.contains(&byte)), "{one:?}");
            assert_eq!((a.len() as usize, a.is_empty()), (one.len(), one.is_empty()));
            for other in &samples {
                let b = set(other);
                assert_eq!(a.is_subset(&b), one.is_subset(other), "{one:?} {other:?}");
                assert_eq!(a.is_disjoint(&b), one.is_disjoint(other), "{one:?} {other:?}");
                let mut both = a;
                both.insert_all(&b);
                assert_eq!(both, set(&(one | other)), "{one:?} {other:?}");
            }
        }
    }
}
