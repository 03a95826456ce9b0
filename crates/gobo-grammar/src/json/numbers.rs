//! The grammar of numbers (RFC 8259, section 6).
//!
//! `number = [ minus ] int [ frac ] [ exp ]`. Constrained numbers are written in parts of that grammar: [`plain`] without
//! exponent, [`scientific`] with one non-zero digit before the decimal point and an exponent. In either, the value can be
//! compared with a limit while the text is read.

use gobo_automata::Expr;

/// The characters of numbers without exponent.
pub const PLAIN_CHARS: [char; 12] = ['-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
/// The characters of numbers.
pub const CHARS: [char; 15] = ['-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '+', 'E', 'e'];

fn optional(expr: Expr) -> Expr {
    expr.repeat(0, Some(1))
}

fn digits() -> Expr {
    Expr::chars([('0', '9')]).repeat(1, None)
}

fn minus() -> Expr {
    optional(Expr::text("-"))
}

/// `[ frac ]`.
fn fraction() -> Expr {
    optional(Expr::Concat(vec![Expr::text("."), digits()]))
}

/// `exp`.
fn exponent() -> Expr {
    let sign = optional(Expr::chars([('+', '+'), ('-', '-')]));
    Expr::Concat(vec![Expr::chars([('e', 'e'), ('E', 'E')]), sign, digits()])
}

/// `[ minus ] int`.
pub fn integer() -> Expr {
    let natural = Expr::Concat(vec![Expr::chars([('1', '9')]), Expr::chars([('0', '9')]).repeat(0, None)]);
    Expr::Concat(vec![minus(), Expr::Alternate(vec![Expr::text("0"), natural])])
}

/// Integers, also those written with a fraction of zeros.
pub fn integer_with_zeros() -> Expr {
    let zeros = Expr::Concat(vec![Expr::text("."), Expr::text("0").repeat(1, None)]);
    Expr::Concat(vec![integer(), optional(zeros)])
}

/// Numbers without exponent.
pub fn plain() -> Expr {
    Expr::Concat(vec![integer(), fraction()])
}

/// Every number.
pub fn number() -> Expr {
    Expr::Concat(vec![plain(), optional(exponent())])
}

/// Numbers with an exponent and one digit before the decimal point, not zero.
pub fn scientific() -> Expr {
    Expr::Concat(vec![minus(), Expr::chars([('1', '9')]), fraction(), exponent()])
}
