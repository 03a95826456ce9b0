use std::cmp::Ordering;
use std::rc::Rc;

use gobo_automata::{CharSet, Expr, Language};
use gobo_types::{Budget, CompileError, Spelling};

use crate::decimal::{Decimal, Modulus};
use crate::formula::{ALWAYS, Atom, Formula, FormulaId, Formulas};
use crate::node::TextId;
use crate::spelling::{char_in, number, one_of, string};

/// A test of numbers or strings, or its opposite.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Scalar<K> {
    pub(crate) kind: K,
    pub(crate) holds: bool,
}

impl<K: Clone + Eq + std::hash::Hash> Atom for Scalar<K> {
    fn dual(&self) -> Self {
        Self { kind: self.kind.clone(), holds: !self.holds }
    }
}

/// A test of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum NumberKind {
    /// A whole number; `plain` if it is written without a point.
    Integer {
        plain: bool,
    },
    Bound {
        limit: Decimal,
        is_lower: bool,
        is_exclusive: bool,
    },
    MultipleOf(Modulus),
    OneOf(Rc<[Decimal]>),
}

/// A test of strings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum StringKind {
    Length { min: u64, max: Option<u64> },
    Text(TextId),
    OneOf(Rc<[String]>),
}

/// What can stand in a number without an exponent.
const PLAIN: [char; 12] = ['-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
/// What can stand in any number.
const ALL: [char; 15] = ['-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '+', 'E', 'e'];

fn digits() -> Expr {
    Expr::chars([('0', '9')]).repeat(1, None)
}

fn optional(expr: Expr) -> Expr {
    expr.repeat(0, Some(1))
}

fn integer() -> Expr {
    let natural = Expr::Concat(vec![Expr::chars([('1', '9')]), Expr::chars([('0', '9')]).repeat(0, None)]);
    Expr::Concat(vec![optional(Expr::text("-")), Expr::Alternate(vec![Expr::text("0"), natural])])
}

fn exponent() -> Expr {
    Expr::Concat(vec![one_of("eE"), optional(one_of("+-")), digits()])
}

/// Numbers without an exponent.
fn plain_number() -> Expr {
    Expr::Concat(vec![integer(), optional(Expr::Concat(vec![Expr::text("."), digits()]))])
}

/// Every number that JSON has.
pub(crate) fn any_number() -> Expr {
    Expr::Concat(vec![plain_number(), optional(exponent())])
}

/// Numbers with an exponent and one digit before the point, not zero.
fn scientific() -> Expr {
    let sign = optional(Expr::text("-"));
    let fraction = optional(Expr::Concat(vec![Expr::text("."), digits()]));
    Expr::Concat(vec![sign, Expr::chars([('1', '9')]), fraction, exponent()])
}

/// The texts of the numbers for which a formula holds. Any text of JSON, if nothing is asked; if nothing but bounds, then
/// exponents have one digit before the point; else there are none.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn numbers(
    formulas: &Formulas<Scalar<NumberKind>>,
    formula: FormulaId,
    budget: &Budget,
) -> Result<Expr, CompileError> {
    if formula == ALWAYS {
        return Ok(any_number());
    }
    let one = |fraction: bool| {
        let zeros = Expr::Concat(vec![Expr::text("."), Expr::text("0").repeat(1, None)]);
        if fraction { Expr::Concat(vec![integer(), optional(zeros)]) } else { integer() }
    };
    match formulas.get(formula) {
        Formula::Atom(Scalar { kind: NumberKind::Integer { plain }, holds: true }) => return Ok(one(!plain)),
        Formula::Atom(Scalar { kind: NumberKind::OneOf(values), holds: true }) => {
            return Ok(Expr::Alternate(values.iter().map(|value| number(value, false)).collect()));
        }
        _ => {}
    }
    let kinds = kinds(formulas, formula);
    let has_exponents = kinds.iter().all(|kind| matches!(kind, NumberKind::Bound { .. }));
    let universe =
        if has_exponents { Expr::Alternate(vec![plain_number(), scientific()]) } else { plain_number() };
    let mut languages = vec![Language::expr(&universe, budget)?];
    for kind in &kinds {
        languages.push(match kind {
            NumberKind::Integer { plain } => Language::expr(&one(!plain), budget)?,
            NumberKind::Bound { limit, is_lower, is_exclusive } => {
                let wanted = if *is_lower { Ordering::Greater } else { Ordering::Less };
                let is_in = |order: Ordering| order == wanted || order.is_eq() && !is_exclusive;
                compared(limit, is_in, has_exponents, budget)?
            }
            NumberKind::MultipleOf(modulus) => multiples(*modulus, budget)?,
            NumberKind::OneOf(values) => Language::expr(
                &Expr::Alternate(values.iter().map(|value| number(value, false)).collect()),
                budget,
            )?,
        });
    }
    let language = of_formula(formulas, formula, &kinds, &languages, true, budget)?;
    Ok(language.to_expr(|chars| Expr::Chars(chars.clone())))
}

/// The distinct tests of a formula.
fn kinds<K: Clone + Eq + std::hash::Hash>(formulas: &Formulas<Scalar<K>>, formula: FormulaId) -> Vec<K> {
    let mut kinds: Vec<K> = Vec::new();
    for atom in formulas.atoms(formula) {
        if !kinds.contains(&atom.kind) {
            kinds.push(atom.kind);
        }
    }
    kinds
}

/// The texts for which a formula holds, of the languages of its tests; behind the texts of a first one, if it says so.
fn of_formula<K: Clone + Eq + std::hash::Hash>(
    formulas: &Formulas<Scalar<K>>,
    formula: FormulaId,
    kinds: &[K],
    languages: &[Language],
    has_universe: bool,
    budget: &Budget,
) -> Result<Language, CompileError> {
    let first = usize::from(has_universe);
    let parts: Vec<&Language> = languages.iter().collect();
    let accepts = |is_in: &[bool]| {
        (!has_universe || is_in[0])
            && formulas.holds(formula, &|atom: &Scalar<K>| {
                let at = kinds.iter().position(|kind| *kind == atom.kind);
                at.is_some_and(|at| is_in[first + at] == atom.holds)
            })
    };
    Language::combine(&parts, accepts, budget)
}

/// Where in a number a reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    Start,
    Sign,
    Zero,
    Whole,
    Point,
    Fraction,
    E,
    ESign,
    Exponent,
}

/// What is known of a number that is read beside a limit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Reading {
    phase: Phase,
    negative: bool,
    /// Whether a digit other than zero was read.
    nonzero: bool,
    /// Digits of the whole part, up to one more than the limit has.
    whole: usize,
    /// The digits so far against as many of the limit, as numbers without an exponent.
    plain: Ordering,
    /// Digits of the fraction, as long as `plain` is equal.
    fraction: usize,
    /// Digits of the mantissa, as long as `mantissa` is equal.
    place: usize,
    /// The mantissa so far against as much of the limit's.
    mantissa: Ordering,
    negative_exponent: bool,
    /// The exponent without its sign, up to one more than matters.
    exponent: u64,
}

/// The numbers whose order to a limit is wanted. Texts that are no numbers may be among them.
fn compared(
    limit: &Decimal,
    wanted: impl Fn(Ordering) -> bool,
    has_exponents: bool,
    budget: &Budget,
) -> Result<Language, CompileError> {
    let (whole, fraction) = (limit.whole(), limit.fraction());
    // The limit is `0.d₁d₂… × 10^exponent`, a mantissa has one digit before the point.
    let scale = limit.exponent - 1;
    let most = scale.unsigned_abs() + 1;
    let start = Reading {
        phase: Phase::Start,
        negative: false,
        nonzero: false,
        whole: 0,
        plain: Ordering::Equal,
        fraction: 0,
        place: 0,
        mantissa: Ordering::Equal,
        negative_exponent: false,
        exponent: 0,
    };
    let next = |reading: &Reading, char: char| {
        let mut after = reading.clone();
        // Of a number on the other side of zero nothing but that is of interest.
        let matters = |after: &Reading| after.negative == limit.negative && !limit.is_zero();
        match char {
            '-' if reading.phase == Phase::Start => {
                after.phase = Phase::Sign;
                after.negative = true;
            }
            '.' if matches!(reading.phase, Phase::Zero | Phase::Whole) => {
                after.phase = Phase::Point;
                if matters(&after) {
                    after.plain = after.whole.cmp(&whole.len()).then(after.plain);
                }
                after.whole = usize::from(reading.phase == Phase::Whole && after.whole == 1);
            }
            'e' | 'E' => {
                let is_mantissa = match reading.phase {
                    Phase::Whole | Phase::Fraction => reading.whole == 1,
                    _ => false,
                };
                if !is_mantissa || !has_exponents {
                    return None;
                }
                after.phase = Phase::E;
                if matters(&after) && after.mantissa.is_eq() && after.place < limit.digits.len() {
                    after.mantissa = Ordering::Less;
                }
                (after.plain, after.fraction, after.place, after.whole) = (Ordering::Equal, 0, 0, 0);
            }
            '+' | '-' if reading.phase == Phase::E => {
                after.phase = Phase::ESign;
                after.negative_exponent = char == '-';
            }
            '0'..='9' => {
                let digit = u8::try_from(u32::from(char) - u32::from('0')).ok()?;
                after.nonzero |= digit != 0 && reading.phase < Phase::E;
                match reading.phase {
                    Phase::Start | Phase::Sign | Phase::Whole => {
                        if digit == 0 && reading.phase != Phase::Whole {
                            after.phase = Phase::Zero;
                        } else {
                            after.phase = Phase::Whole;
                            if matters(&after) {
                                if after.plain.is_eq() {
                                    after.plain =
                                        whole.get(after.whole).map_or(Ordering::Equal, |of| digit.cmp(of));
                                }
                                after.whole = (after.whole + 1).min(whole.len().max(1) + 1);
                            } else {
                                after.whole = (after.whole + 1).min(2);
                            }
                        }
                    }
                    Phase::Point | Phase::Fraction => {
                        after.phase = Phase::Fraction;
                        if matters(&after) && after.plain.is_eq() {
                            match fraction.get(after.fraction) {
                                Some(of) => {
                                    after.plain = digit.cmp(of);
                                    after.fraction = if after.plain.is_eq() { after.fraction + 1 } else { 0 };
                                }
                                None if digit > 0 => (after.plain, after.fraction) = (Ordering::Greater, 0),
                                None => {}
                            }
                        }
                    }
                    Phase::E | Phase::ESign | Phase::Exponent => {
                        after.phase = Phase::Exponent;
                        after.exponent = (after.exponent * 10 + u64::from(digit)).min(most);
                    }
                    Phase::Zero => return None,
                }
                if has_exponents && reading.phase < Phase::E && matters(&after) && after.mantissa.is_eq() {
                    match limit.digits.get(after.place) {
                        Some(of) => {
                            after.mantissa = digit.cmp(of);
                            after.place = if after.mantissa.is_eq() { after.place + 1 } else { 0 };
                        }
                        None if digit > 0 => (after.mantissa, after.place) = (Ordering::Greater, 0),
                        None => {}
                    }
                }
                // Only a single digit before the point makes a mantissa.
                if reading.phase < Phase::E && (!has_exponents || after.whole != 1) {
                    (after.mantissa, after.place) = (Ordering::Equal, 0);
                }
            }
            _ => return None,
        }
        Some(after)
    };
    let order = |reading: &Reading| {
        let sign = |negative: bool, nonzero: bool| if !nonzero { 0 } else { 1 - 2 * i8::from(negative) };
        let (of_number, of_limit) =
            (sign(reading.negative, reading.nonzero), sign(limit.negative, !limit.is_zero()));
        if of_number != of_limit || of_number == 0 {
            return of_number.cmp(&of_limit);
        }
        let magnitude = match reading.phase {
            Phase::Exponent => {
                let exponent = i64::try_from(reading.exponent).unwrap_or(i64::MAX);
                let exponent = if reading.negative_exponent { -exponent } else { exponent };
                exponent.cmp(&scale).then(reading.mantissa)
            }
            Phase::Zero | Phase::Whole => {
                let read = if reading.phase == Phase::Zero { 0 } else { reading.whole };
                let rest = if fraction.is_empty() { Ordering::Equal } else { Ordering::Less };
                read.cmp(&whole.len()).then(reading.plain).then(rest)
            }
            _ => reading.plain.then(if reading.fraction < fraction.len() {
                Ordering::Less
            } else {
                Ordering::Equal
            }),
        };
        if reading.negative { magnitude.reverse() } else { magnitude }
    };
    let accepts = |reading: &Reading| {
        matches!(reading.phase, Phase::Zero | Phase::Whole | Phase::Fraction | Phase::Exponent)
            && wanted(order(reading))
    };
    let alphabet: &[char] = if has_exponents { &ALL } else { &PLAIN };
    Language::explore(alphabet, start, next, accepts, budget)
}

/// The multiples of a number, written without exponents.
fn multiples(modulus: Modulus, budget: &Budget) -> Result<Language, CompileError> {
    // Whether a digit was read, the remainder, and how many digits stand behind the point.
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
    Language::explore(&PLAIN, start, next, accepts, budget)
}

impl PartialOrd for Phase {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (*self as u8).partial_cmp(&(*other as u8))
    }
}

/// The strings for which a formula holds, as values.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn string_language(
    formulas: &Formulas<Scalar<StringKind>>,
    formula: FormulaId,
    text: &impl Fn(TextId) -> Rc<Language>,
    budget: &Budget,
) -> Result<Language, CompileError> {
    let kinds = kinds(formulas, formula);
    let mut languages = Vec::with_capacity(kinds.len());
    for kind in &kinds {
        languages.push(match kind {
            StringKind::Length { min, max } => {
                let any = Expr::Chars(CharSet::new([('\0', char::MAX)]));
                Language::expr(&any.repeat(count(*min), max.map(count)), budget)?
            }
            StringKind::Text(id) => (*text(*id)).clone(),
            StringKind::OneOf(items) => Language::choice(items, budget)?,
        });
    }
    if let Formula::Atom(Scalar { holds: true, .. }) = formulas.get(formula) {
        return Ok(languages.swap_remove(0));
    }
    of_formula(formulas, formula, &kinds, &languages, false, budget)
}

/// Lengths beyond all budgets are as good as the largest.
fn count(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The texts of the strings for which a formula holds.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn strings(
    formulas: &Formulas<Scalar<StringKind>>,
    formula: FormulaId,
    text: &impl Fn(TextId) -> Rc<Language>,
    spelling: Spelling,
    budget: &Budget,
) -> Result<Expr, CompileError> {
    let any = || CharSet::new([('\0', char::MAX)]);
    if formula == ALWAYS {
        return Ok(quoted(char_in(&any(), Spelling::Any).repeat(0, None)));
    }
    if let Some((min, max)) = lengths(formulas, formula) {
        return Ok(quoted(char_in(&any(), spelling).repeat(count(min), max.map(count))));
    }
    if let Formula::Atom(Scalar { kind: StringKind::OneOf(items), holds: true }) = formulas.get(formula) {
        return Ok(Expr::Alternate(items.iter().map(|item| string(item, spelling)).collect()));
    }
    let language = string_language(formulas, formula, text, budget)?;
    Ok(spelled(&language, spelling))
}

/// The strings of a language.
pub(crate) fn spelled(language: &Language, spelling: Spelling) -> Expr {
    quoted(language.to_expr(|chars| char_in(chars, spelling)))
}

fn quoted(expr: Expr) -> Expr {
    Expr::Concat(vec![Expr::text("\""), expr, Expr::text("\"")])
}

/// The least and greatest length, of a formula that speaks of nothing else.
fn lengths(formulas: &Formulas<Scalar<StringKind>>, formula: FormulaId) -> Option<(u64, Option<u64>)> {
    let of_atom = |formula: FormulaId| match formulas.get(formula) {
        Formula::Atom(Scalar { kind: StringKind::Length { min, max }, holds: true }) => Some((*min, *max)),
        _ => None,
    };
    match formulas.get(formula) {
        Formula::And(parts) => parts.iter().try_fold((0, None::<u64>), |(least, most), &part| {
            let (min, max) = of_atom(part)?;
            Some((least.max(min), most.into_iter().chain(max).min()))
        }),
        _ => of_atom(formula),
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::CompileLimits;
    use proptest::prelude::*;

    use super::*;

    fn budget() -> Budget {
        Budget::new(CompileLimits::default())
    }

    fn language_of(kinds: &[(NumberKind, bool)]) -> Language {
        let mut formulas = Formulas::new();
        let atoms: Vec<FormulaId> = kinds
            .iter()
            .map(|(kind, holds)| formulas.atom(Scalar { kind: kind.clone(), holds: *holds }))
            .collect();
        let formula = formulas.and(atoms);
        Language::expr(&numbers(&formulas, formula, &budget()).unwrap(), &budget()).unwrap()
    }

    fn bound(limit: &str, is_lower: bool, is_exclusive: bool) -> NumberKind {
        NumberKind::Bound { limit: Decimal::parse(limit).unwrap(), is_lower, is_exclusive }
    }

    #[test]
    fn bounds_are_exact_beyond_what_floats_hold() {
        let at_most = language_of(&[(bound("9223372036854775807", false, false), true)]);
        assert!(at_most.accepts("9223372036854775807") && !at_most.accepts("9223372036854775808"));
        assert!(at_most.accepts("9.223372036854775807e18") && !at_most.accepts("9.2233720368547758071e18"));
        let positive = language_of(&[(bound("0", true, true), true)]);
        for (text, expected) in [
            ("0", false),
            ("-0", false),
            ("0.0", false),
            ("1e-06", true),
            ("0.0001", true),
            ("-1", false),
            ("-1e-9", false),
            ("1e400", true),
        ] {
            assert_eq!(positive.accepts(text), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Exact arithmetic is the judge.
        #[test]
        fn tests_of_numbers_are_decided_by_value(
            limits in prop::collection::vec(("-?(0|[1-9][0-9]{0,2})(\\.[0-9]{1,2})?(e-?[0-2])?", any::<bool>(), any::<bool>(), any::<bool>()), 1..3),
            integer in prop::option::of(any::<bool>()),
            divisor in prop::option::of(("([1-9][0-9]?|0\\.[0-9]?[1-9]|2\\.5)", any::<bool>())),
            texts in prop::collection::vec("-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?|-?[1-9](\\.[0-9]{1,3})?[eE][+-]?0?[0-3]", 1..20),
        ) {
            let mut kinds: Vec<(NumberKind, bool)> =
                limits.iter().map(|(limit, lower, exclusive, holds)| (bound(limit, *lower, *exclusive), *holds)).collect();
            kinds.extend(integer.map(|holds| (NumberKind::Integer { plain: false }, holds)));
            let modulus = divisor.map(|(of, holds)| (Modulus::of(&Decimal::parse(&of).unwrap()).unwrap(), holds));
            kinds.extend(modulus.map(|(modulus, holds)| (NumberKind::MultipleOf(modulus), holds)));
            let language = language_of(&kinds);
            for text in texts {
                let value = Decimal::parse(&text).unwrap();
                let has_exponent = text.contains(['e', 'E']);
                let expected = kinds.iter().all(|(kind, holds)| *holds == match kind {
                    NumberKind::Integer { .. } => value.is_integer(),
                    NumberKind::Bound { limit, is_lower, is_exclusive } => {
                        let order = if *is_lower { value.cmp(limit) } else { limit.cmp(&value) };
                        order.is_gt() || order.is_eq() && !is_exclusive
                    }
                    NumberKind::MultipleOf(modulus) => value.is_multiple_of(modulus),
                    NumberKind::OneOf(_) => unreachable!(),
                });
                let is_written = !has_exponent || kinds.len() == limits.len();
                prop_assert_eq!(language.accepts(&text), expected && is_written, "{} {:?}", text, kinds);
            }
        }
    }
}
