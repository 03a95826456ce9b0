//! Atoms of numbers and strings: one test of the value each, and the keywords that they stand for.

use std::convert::Infallible;
use std::hash::Hash;

use gobo_types::CompileError;

use crate::advice::MULTIPLE_OF;
use crate::formula::expansion::{Expansion, Leaves};
use crate::formula::formulas::{Atom, FormulaId, Formulas};
use crate::formula::listed::Listed;
use crate::read::decimal::{Decimal, Modulus};
use crate::read::node::{Keyword, NodeId, TextId, Types};
use crate::read::nodes::Nodes;
use crate::read::value::Json;

/// Steps of a listed value, which is copied, hashed and sorted.
const STEPS_PER_VALUE: u64 = 16;

/// A test of numbers or strings, or its negation.
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
    /// Integers; `plain` if they are written without a decimal point.
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

/// The type of numbers.
#[derive(Debug)]
pub(crate) struct Numbers;

impl Leaves for Numbers {
    type Atom = Scalar<NumberKind>;
    type Evaluates = Infallible;
    const TYPE: Types = Types::NUMBER;

    fn evaluates(_: NodeId, _: &Keyword, _: bool, _: &mut Vec<Infallible>) {}

    fn leaf(
        expansion: &mut Expansion<'_, Self>,
        nodes: &mut Nodes<'_>,
        node: NodeId,
        keyword: &Keyword,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        let kind = match keyword {
            Keyword::MultipleOf(modulus) if modulus.of > Modulus::MAX => {
                let reason = format!("its digits are more than {}, the largest divisor", Modulus::MAX);
                return Err(nodes.unsupported(node, "multipleOf", &reason).advising(MULTIPLE_OF));
            }
            Keyword::Types { plain_integers, .. } => NumberKind::Integer { plain: *plain_integers },
            Keyword::Bound { limit, is_lower, is_exclusive } => {
                NumberKind::Bound { limit: limit.clone(), is_lower: *is_lower, is_exclusive: *is_exclusive }
            }
            Keyword::MultipleOf(modulus) => NumberKind::MultipleOf(*modulus),
            Keyword::Values(values) => {
                let numbers = values.list().iter().filter_map(|value| match value {
                    Json::Number(number) => Some(number.clone()),
                    _ => None,
                });
                nodes.charge(STEPS_PER_VALUE * values.list().len() as u64)?;
                match numbers.collect::<Listed<Decimal>>() {
                    none if none.is_empty() => return Ok(Formulas::<'_, Self::Atom>::constant(!holds)),
                    numbers => NumberKind::OneOf(numbers),
                }
            }
            _ => return Ok(Formulas::<'_, Self::Atom>::constant(holds)),
        };
        expansion.formulas.atom(Scalar { kind, holds })
    }
}

/// The type of strings.
#[derive(Debug)]
pub(crate) struct Strings;

impl Leaves for Strings {
    type Atom = Scalar<StringKind>;
    type Evaluates = Infallible;
    const TYPE: Types = Types::STRING;

    fn evaluates(_: NodeId, _: &Keyword, _: bool, _: &mut Vec<Infallible>) {}

    fn leaf(
        expansion: &mut Expansion<'_, Self>,
        nodes: &mut Nodes<'_>,
        _: NodeId,
        keyword: &Keyword,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        let kind = match keyword {
            Keyword::Length { min: 0, max: None } => return Ok(Formulas::<'_, Self::Atom>::constant(holds)),
            Keyword::Length { min, max } => StringKind::Length { min: *min, max: *max },
            Keyword::Text(id) => StringKind::Text(*id),
            Keyword::Values(values) => {
                let strings = values.list().iter().filter_map(|value| match value {
                    Json::String(text) => Some(text.clone()),
                    _ => None,
                });
                nodes.charge(STEPS_PER_VALUE * values.list().len() as u64)?;
                match strings.collect::<Listed<String>>() {
                    none if none.is_empty() => return Ok(Formulas::<'_, Self::Atom>::constant(!holds)),
                    strings => StringKind::OneOf(strings),
                }
            }
            _ => return Ok(Formulas::<'_, Self::Atom>::constant(holds)),
        };
        expansion.formulas.atom(Scalar { kind, holds })
    }
}
