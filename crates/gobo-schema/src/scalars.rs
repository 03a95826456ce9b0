use std::cell::RefCell;
use std::cmp::Ordering;
use std::hash::Hash;
use std::rc::Rc;

use foldhash::{HashMap, HashSet};
use gobo_automata::{CharSet, Expr, Language};
use gobo_types::{Budget, CompileError, Spelling};

use crate::compare::compared;
use crate::decimal::{Decimal, Modulus};
use crate::formula::{ALWAYS, Atom, Formula, FormulaId, Formulas, NEVER};
use crate::listed::Listed;
use crate::lowering::PHASE;
use crate::node::TextId;
use crate::spelling::{any_char, char_in, number, number_steps, one_of, string, string_steps};

/// A test of numbers or strings, or its opposite.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Scalar<K> {
    pub(crate) kind: K,
    pub(crate) holds: bool,
}

impl<K: Clone + Eq + Hash> Atom for Scalar<K> {
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
    OneOf(Listed<Decimal>),
}

/// A test of strings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum StringKind {
    Length { min: u64, max: Option<u64> },
    Text(TextId),
    OneOf(Listed<String>),
}

/// What can stand in a number without an exponent.
pub(crate) const PLAIN: [char; 12] = ['-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
/// What can stand in any number.
pub(crate) const ALL: [char; 15] =
    ['-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '+', 'E', 'e'];

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
    formulas: &mut Formulas<'_, Scalar<NumberKind>>,
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
            return one_of_numbers(values, budget);
        }
        _ => {}
    }
    let kinds = kinds(formulas, formula)?;
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
            NumberKind::OneOf(values) => Language::expr(&one_of_numbers(values, budget)?, budget)?,
        });
    }
    let language = of_formula(formulas, formula, &kinds, &languages, true, budget)?;
    language.to_expr(|chars| Expr::Chars(chars.clone()), budget)
}

/// The texts of listed numbers.
fn one_of_numbers(values: &[Decimal], budget: &Budget) -> Result<Expr, CompileError> {
    let mut texts = Vec::with_capacity(values.len());
    for value in values {
        budget.charge_steps(PHASE, number_steps(value))?;
        texts.push(number(value, false));
    }
    Ok(Expr::Alternate(texts))
}

/// The distinct tests of a formula.
fn kinds<K: Clone + Eq + Hash>(
    formulas: &Formulas<'_, Scalar<K>>,
    formula: FormulaId,
) -> Result<Vec<K>, CompileError> {
    let mut known = HashSet::default();
    let kinds = formulas.atoms(formula)?.into_iter().map(|atom| atom.kind);
    Ok(kinds.filter(|kind| known.insert(kind.clone())).collect())
}

/// The texts for which a formula holds, of the languages of its tests; behind the texts of a first one, if it says so.
fn of_formula<K: Clone + Eq + Hash>(
    formulas: &mut Formulas<'_, Scalar<K>>,
    formula: FormulaId,
    kinds: &[K],
    languages: &[Language],
    has_universe: bool,
    budget: &Budget,
) -> Result<Language, CompileError> {
    let first = usize::from(has_universe);
    let parts: Vec<&Language> = languages.iter().collect();
    let places: HashMap<&K, usize> = kinds.iter().zip(first..).collect();
    let at = |atom: &Scalar<K>| places.get(&atom.kind).copied();
    let formulas = RefCell::new(formulas);
    let accepts = |is_in: &[bool]| {
        let holds = |atom: &Scalar<K>| at(atom).is_some_and(|at| is_in[at] == atom.holds);
        Ok((!has_universe || is_in[0]) && formulas.borrow().holds(formula, &holds)?)
    };
    let matters = |decided: &[Option<bool>]| {
        let mut formulas = formulas.borrow_mut();
        let mut matters = vec![false; decided.len()];
        if has_universe && decided[0] == Some(false) {
            return Ok(matters);
        }
        let rest = formulas.substitute(formula, &mut |atom| {
            let is_in = at(atom).and_then(|at| decided[at])?;
            Some(is_in == atom.holds)
        })?;
        matters[..first].fill(rest != NEVER);
        for at in formulas.atoms(rest)?.iter().filter_map(at) {
            matters[at] = true;
        }
        Ok(matters)
    };
    Language::combine_open(&parts, accepts, matters, budget)
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

/// The strings for which a formula holds, as values.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn string_language(
    formulas: &mut Formulas<'_, Scalar<StringKind>>,
    formula: FormulaId,
    text: &impl Fn(TextId) -> Rc<Language>,
    budget: &Budget,
) -> Result<Language, CompileError> {
    let kinds = kinds(formulas, formula)?;
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
    formulas: &mut Formulas<'_, Scalar<StringKind>>,
    formula: FormulaId,
    text: &impl Fn(TextId) -> Rc<Language>,
    spelling: Spelling,
    budget: &Budget,
) -> Result<Expr, CompileError> {
    if formula == ALWAYS {
        return Ok(quoted(any_char(Spelling::Any).repeat(0, None)));
    }
    if let Some((min, max)) = lengths(formulas, formula)? {
        return Ok(quoted(any_char(spelling).repeat(count(min), max.map(count))));
    }
    if let Formula::Atom(Scalar { kind: StringKind::OneOf(items), holds: true }) = formulas.get(formula) {
        let mut texts = Vec::with_capacity(items.len());
        for item in items.iter() {
            budget.charge_steps(PHASE, string_steps(item, spelling))?;
            texts.push(string(item, spelling));
        }
        return Ok(Expr::Alternate(texts));
    }
    let language = string_language(formulas, formula, text, budget)?;
    language.check_states(budget)?;
    spelled(&language, spelling, budget)
}

/// The strings of a language.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn spelled(
    language: &Language,
    spelling: Spelling,
    budget: &Budget,
) -> Result<Expr, CompileError> {
    Ok(quoted(language.to_expr(|chars| char_in(chars, spelling), budget)?))
}

fn quoted(expr: Expr) -> Expr {
    Expr::Concat(vec![Expr::text("\""), expr, Expr::text("\"")])
}

/// The least and greatest length, of a formula that speaks of nothing else and holds for one range of lengths.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn lengths(
    formulas: &Formulas<'_, Scalar<StringKind>>,
    formula: FormulaId,
) -> Result<Option<(u64, Option<u64>)>, CompileError> {
    let mut bounds = vec![0];
    for atom in formulas.atoms(formula)? {
        let StringKind::Length { min, max } = atom.kind else { return Ok(None) };
        bounds.push(min);
        bounds.extend(max.and_then(|max| max.checked_add(1)));
    }
    bounds.sort_unstable();
    bounds.dedup();
    // Between two bounds no test changes.
    let mut range: Option<(u64, Option<u64>)> = None;
    let mut is_open = false;
    for &length in &bounds {
        let holds = formulas.holds(formula, &|atom| match atom.kind {
            StringKind::Length { min, max } => {
                (min <= length && max.is_none_or(|max| length <= max)) == atom.holds
            }
            _ => unreachable!("only lengths are asked for"),
        })?;
        match (&mut range, holds) {
            (None, true) => range = Some((length, None)),
            (Some(range), false) if is_open => range.1 = Some(length - 1),
            // A second range.
            (Some(_), true) if !is_open => return Ok(None),
            _ => {}
        }
        is_open = holds;
    }
    Ok(range)
}

/// Whether no string satisfies a formula that does not speak of lengths.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn is_without_strings(
    formulas: &mut Formulas<'_, Scalar<StringKind>>,
    formula: FormulaId,
    text: &impl Fn(TextId) -> Rc<Language>,
    budget: &Budget,
) -> Result<bool, CompileError> {
    // Listed strings are tried one by one, for which no automaton is needed.
    let atoms = formulas.atoms(formula)?;
    let texts = atoms.iter().filter(|atom| matches!(atom.kind, StringKind::Text(_))).count();
    let listed = atoms.iter().filter_map(|atom| match &atom.kind {
        StringKind::OneOf(items) => Some(items),
        _ => None,
    });
    for item in listed.flat_map(|items| items.iter()) {
        let is_in = |atom: &Scalar<StringKind>| match &atom.kind {
            StringKind::Length { .. } => true,
            StringKind::Text(id) => text(*id).accepts(item),
            StringKind::OneOf(items) => items.has(item),
        };
        budget.charge_steps(PHASE, (atoms.len() + texts * item.len()) as u64)?;
        if formulas.holds(formula, &|atom| is_in(atom) == atom.holds)? {
            return Ok(false);
        }
    }
    // Of all others, most are on no list.
    let others = formulas
        .substitute(formula, &mut |atom| matches!(atom.kind, StringKind::OneOf(_)).then_some(!atom.holds))?;
    match others {
        NEVER => Ok(true),
        ALWAYS => Ok(false),
        _ => Ok(string_language(formulas, formula, text, budget)?.is_empty()),
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
        let budget = budget();
        let mut formulas = Formulas::new(&budget);
        let atoms: Vec<FormulaId> = kinds
            .iter()
            .map(|(kind, holds)| formulas.atom(Scalar { kind: kind.clone(), holds: *holds }).unwrap())
            .collect();
        let formula = formulas.and(atoms).unwrap();
        Language::expr(&numbers(&mut formulas, formula, &budget).unwrap(), &budget).unwrap()
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

    /// A formula of tests of strings: all of some groups hold, and of each group one test or its opposite.
    fn all_of_any(
        formulas: &mut Formulas<'_, Scalar<StringKind>>,
        groups: &[Vec<(StringKind, bool)>],
    ) -> FormulaId {
        let groups: Vec<FormulaId> = groups
            .iter()
            .map(|group| {
                let atoms: Vec<FormulaId> = group
                    .iter()
                    .map(|(kind, holds)| formulas.atom(Scalar { kind: kind.clone(), holds: *holds }).unwrap())
                    .collect();
                formulas.or(atoms).unwrap()
            })
            .collect();
        formulas.and(groups).unwrap()
    }

    fn groups_of(
        kind: impl Strategy<Value = StringKind>,
    ) -> impl Strategy<Value = Vec<Vec<(StringKind, bool)>>> {
        prop::collection::vec(prop::collection::vec((kind, any::<bool>()), 1..3), 1..4)
    }

    proptest! {
        /// One length after the other is the judge.
        #[test]
        fn one_range_of_lengths_is_found_wherever_there_is_one(
            groups in groups_of((0_u64..9, prop::option::of(0_u64..9)).prop_map(|(min, max)| StringKind::Length { min, max })),
        ) {
            let budget = budget();
        let mut formulas = Formulas::new(&budget);
            let formula = all_of_any(&mut formulas, &groups);
            let holds = |length: u64| groups.iter().all(|group| group.iter().any(|(kind, holds)| {
                let StringKind::Length { min, max } = kind else { unreachable!() };
                (*min <= length && max.is_none_or(|max| length <= max)) == *holds
            }));
            // No bound is greater than nine.
            let allowed: Vec<u64> = (0..12).filter(|&length| holds(length)).collect();
            let is_one_range = !allowed.is_empty() && allowed.windows(2).all(|pair| pair[0] + 1 == pair[1]);
            let expected = is_one_range.then(|| {
                let last = allowed[allowed.len() - 1];
                (allowed[0], (last < 11).then_some(last))
            });
            prop_assert_eq!(lengths(&formulas, formula).unwrap(), expected);
        }

        /// The automaton of all strings that satisfy the formula is the judge.
        #[test]
        fn formulas_without_a_string_are_found(
            groups in groups_of(prop_oneof![
                3 => prop::collection::vec("[ab]{0,2}", 0..4).prop_map(|items| StringKind::OneOf(items.into_iter().collect())),
                1 => (0_usize..3).prop_map(StringKind::Text),
            ]),
        ) {
            let texts: Vec<Rc<Language>> = ["a", "[ab]*", "b+"].iter().map(|pattern| {
                let parts = match *pattern {
                    "a" => Expr::text("a"),
                    "b+" => Expr::text("b").repeat(1, None),
                    _ => Expr::chars([('a', 'b')]).repeat(0, None),
                };
                Rc::new(Language::expr(&parts, &budget()).unwrap())
            }).collect();
            let text = |id: TextId| texts[id].clone();
            let budget = budget();
        let mut formulas = Formulas::new(&budget);
            let formula = all_of_any(&mut formulas, &groups);
            prop_assume!(formula != ALWAYS && formula != NEVER);
            let all = string_language(&mut formulas, formula, &text, &budget).unwrap();
            prop_assert_eq!(is_without_strings(&mut formulas, formula, &text, &budget).unwrap(), all.is_empty());
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
