//! Sets of bytes, as the vocabulary file stores them: byte `b` is bit `b & 31` of word `b >> 5`.

pub(crate) type ByteSet = [u32; 8];

pub(crate) fn insert(set: &mut ByteSet, byte: u8) {
    set[usize::from(byte >> 5)] |= 1 << (byte & 31);
}

pub(crate) fn contains(set: &ByteSet, byte: u8) -> bool {
    set[usize::from(byte >> 5)] >> (byte & 31) & 1 == 1
}

pub(crate) fn unite(set: &mut ByteSet, other: &ByteSet) {
    set.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
}

/// The set of one byte. All its words are made at once: a set whose words were just written one by one is slow to read whole.
pub(crate) fn only(byte: u8) -> ByteSet {
    std::array::from_fn(|word| if word == usize::from(byte >> 5) { 1 << (byte & 31) } else { 0 })
}
