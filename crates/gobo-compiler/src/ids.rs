//! The numbers that a compile goes by.

/// A count as a number.
///
/// # Panics
/// If it does not fit, which the budget of states and bytes prevents.
pub(crate) fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the budget keeps counts below 2^32")
}
