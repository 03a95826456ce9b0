//! The automaton of the multiples of a divisor: residues.
//!
//! The state is the residue of the digits so far, in units of the last decimal place of the divisor; a digit d leads from
//! residue r to (10·r + d) mod m. Places that the text leaves out count as zeros, further places have to be zeros. There
//! are O(m · places) states.

use gobo_automata::Language;
use gobo_types::{Budget, CompileError};

use crate::read::decimal::Modulus;
use gobo_grammar::json::numbers::PLAIN_CHARS;

/// The texts of the multiples of a divisor, without exponent.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn multiples(modulus: Modulus, budget: &Budget) -> Result<Language, CompileError> {
    // Whether a digit was read, the residue, and the number of digits after the decimal point.
    let start = (false, 0_u64, None::<u32>);
    let next = |&(_, rest, places): &(bool, u64, Option<u32>), char: char| match char {
        '-' => (rest == 0 && places.is_none()).then_some((false, rest, places)),
        '.' => places.is_none().then_some((false, rest, Some(0))),
        _ => {
            let digit = u64::from(char.to_digit(10)?);
            match places {
                Some(places) if places == modulus.places => {
                    (digit == 0).then_some((true, rest, Some(places)))
                }
                _ => Some((true, (rest * 10 + digit) % modulus.of, places.map(|places| places + 1))),
            }
        }
    };
    let accepts = |&(has_digit, rest, places): &(bool, u64, Option<u32>)| {
        let zeros = modulus.places - places.unwrap_or(0);
        has_digit && (0..zeros).fold(rest, |rest, _| rest * 10 % modulus.of) == 0
    };
    Language::explore(&PLAIN_CHARS, start, next, accepts, budget)
}
