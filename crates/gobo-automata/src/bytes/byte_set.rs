//! Sets of bytes.

/// A set of bytes: bit `b & 31` of word `b >> 5`.
pub type ByteSet = [u32; 8];

/// Adds the bytes of another set.
pub(super) fn unite(set: &mut ByteSet, other: &ByteSet) {
    set.iter_mut().zip(other).for_each(|(set, other)| *set |= other);
}
