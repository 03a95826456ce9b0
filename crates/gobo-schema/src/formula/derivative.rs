//! Derivatives of atoms: what an atom demands of the rest of an array or object after one more element.
//!
//! The derivative of a formula replaces each atom by its own derivative; this is Brzozowski's derivative of a regular
//! expression (1964) for languages of elements in the place of characters, as positive Boolean combinations make it for
//! alternating automata. An atom may ask whether the element satisfies a literal; then the answer decides.

/// The derivative of an atom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next<A> {
    Never,
    Always,
    Atom(A),
}
