use std::convert::Infallible;
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError};

use crate::decimal::{Decimal, Modulus};
use crate::formula::{ALWAYS, Atom, FormulaId, Formulas, NEVER};
use crate::json::Json;
use crate::listed::Listed;
use crate::node::{FALSE, NodeId, Nodes, Part, TRUE, Types};
use crate::scalars::{NumberKind, Scalar, StringKind};

/// Steps of taking a listed value over: it is copied, hashed and sorted.
const STEPS_PER_VALUE: u64 = 16;

/// A subschema, or its opposite.
pub(crate) type Literal = (NodeId, bool);

/// The opposite of a literal.
pub(crate) fn opposite(literal: Literal) -> Literal {
    match literal {
        (TRUE, holds) => (FALSE, holds),
        (FALSE, holds) => (TRUE, holds),
        (node, holds) => (node, !holds),
    }
}

/// A formula and its opposite.
pub(crate) type Either = (FormulaId, FormulaId);

/// What the keywords of one type of values come to, as formulas over atoms.
pub(crate) trait Leaves: Sized {
    type Atom: Atom;
    /// The type.
    const TYPE: Types;

    /// What a keyword lets a subschema evaluate.
    type Evaluates;

    /// Adds what a keyword of `node`, which has none of its own schemas for the same value, evaluates where `node` holds;
    /// `is_outermost` where the question comes from a keyword of `node` itself.
    fn evaluates(node: NodeId, part: &Part, is_outermost: bool, out: &mut Vec<Self::Evaluates>);

    /// Whether there is a member of that name, and whether there is none; `None` for values that have no members.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    fn presence(_: &mut Expansion<'_, Self>, _: &str) -> Result<Option<Either>, CompileError> {
        Ok(None)
    }

    /// What a keyword without subschemas for the same value demands of values of the type, or the opposite of it.
    ///
    /// # Errors
    /// A refusal that names the keyword.
    fn leaf(
        expansion: &mut Expansion<'_, Self>,
        nodes: &mut Nodes<'_>,
        node: NodeId,
        part: &Part,
        holds: bool,
    ) -> Result<FormulaId, CompileError>;
}

/// Formulas of subschemas, for values of one type.
#[derive(Debug)]
pub(crate) struct Expansion<'a, L: Leaves> {
    pub(crate) formulas: Formulas<'a, L::Atom>,
    known: HashMap<Literal, FormulaId>,
    /// Subschemas that are being expanded.
    open: Vec<NodeId>,
}

impl<'a, L: Leaves> Expansion<'a, L> {
    pub(crate) fn new(budget: &'a Budget) -> Self {
        Self { formulas: Formulas::new(budget), known: HashMap::new(), open: Vec::new() }
    }

    /// What all of `literals` demand of a value of the type.
    ///
    /// # Errors
    /// A refusal that names the keyword; [`CompileError::OverBudget`].
    pub(crate) fn all(
        &mut self,
        nodes: &mut Nodes<'_>,
        literals: &[Literal],
    ) -> Result<FormulaId, CompileError> {
        let mut parts = Vec::with_capacity(literals.len());
        for &literal in literals {
            parts.push(self.literal(nodes, literal)?);
        }
        self.formulas.and(parts)
    }

    /// What one literal demands of a value of the type.
    ///
    /// # Errors
    /// A refusal that names the keyword; [`CompileError::OverBudget`].
    pub(crate) fn literal(
        &mut self,
        nodes: &mut Nodes<'_>,
        literal: Literal,
    ) -> Result<FormulaId, CompileError> {
        let (node, holds) = literal;
        if node == TRUE || node == FALSE {
            return Ok(Formulas::<'_, L::Atom>::constant((node == TRUE) == holds));
        }
        if let Some(&known) = self.known.get(&literal) {
            return Ok(known);
        }
        if self.open.contains(&node) {
            return Err(nodes.circular(node));
        }
        self.open.push(node);
        let parts = nodes.parts(node)?;
        let mut of_parts = Vec::with_capacity(parts.len());
        for part in parts.iter() {
            nodes.charge(1 + self.formulas.len() as u64 / 1024)?;
            of_parts.push(self.part(nodes, node, part, holds)?);
        }
        self.open.pop();
        let formula = self.connect(of_parts, holds)?;
        self.known.insert(literal, formula);
        Ok(formula)
    }

    /// All of the parts, or one of their opposites.
    pub(crate) fn connect(&mut self, parts: Vec<FormulaId>, holds: bool) -> Result<FormulaId, CompileError> {
        if holds { self.formulas.and(parts) } else { self.formulas.or(parts) }
    }

    /// What `node` evaluates where it holds, and under which further condition, for a keyword of `node` that speaks of what
    /// no other keyword has evaluated.
    pub(crate) fn evaluated(
        &mut self,
        nodes: &mut Nodes<'_>,
        node: NodeId,
    ) -> Result<Vec<(L::Evaluates, Either)>, CompileError> {
        let mut out = Vec::new();
        self.add_evaluated(nodes, node, (ALWAYS, NEVER), &mut Vec::new(), &mut out)?;
        Ok(out)
    }

    /// `around`: the subschemas whose part `node` is, the outermost first.
    fn add_evaluated(
        &mut self,
        nodes: &mut Nodes<'_>,
        node: NodeId,
        condition: Either,
        around: &mut Vec<NodeId>,
        out: &mut Vec<(L::Evaluates, Either)>,
    ) -> Result<(), CompileError> {
        if node == TRUE || node == FALSE {
            return Ok(());
        }
        if around.contains(&node) {
            return Err(nodes.circular(node));
        }
        let is_outermost = around.is_empty();
        around.push(node);
        let parts = nodes.parts(node)?;
        nodes.charge(1 + parts.len() as u64)?;
        for part in parts.iter() {
            match part {
                Part::AllOf(of) => {
                    for &node in of.iter() {
                        self.add_evaluated(nodes, node, condition, around, out)?;
                    }
                }
                Part::AnyOf(of) | Part::OneOf(of) => {
                    for &node in of.iter() {
                        let condition = self.narrowed(nodes, condition, (node, true))?;
                        self.add_evaluated(nodes, node, condition, around, out)?;
                    }
                }
                Part::If { condition: test, then, otherwise } => {
                    let yes = self.narrowed(nodes, condition, (*test, true))?;
                    let no = self.narrowed(nodes, condition, (*test, false))?;
                    self.add_evaluated(nodes, *test, yes, around, out)?;
                    self.add_evaluated(nodes, *then, yes, around, out)?;
                    self.add_evaluated(nodes, *otherwise, no, around, out)?;
                }
                Part::Dependent { name, schema, .. } => {
                    if let Some((is_there, is_not)) = L::presence(self, name)? {
                        let yes = self.formulas.and([condition.0, is_there])?;
                        let no = self.formulas.or([condition.1, is_not])?;
                        self.add_evaluated(nodes, *schema, (yes, no), around, out)?;
                    }
                }
                other => {
                    let mut own = Vec::new();
                    L::evaluates(node, other, is_outermost, &mut own);
                    nodes.charge(4 * own.len() as u64)?;
                    out.extend(own.into_iter().map(|what| (what, condition)));
                }
            }
        }
        around.pop();
        Ok(())
    }

    /// A condition with one more literal.
    fn narrowed(
        &mut self,
        nodes: &mut Nodes<'_>,
        condition: Either,
        literal: Literal,
    ) -> Result<Either, CompileError> {
        let yes = self.literal(nodes, literal)?;
        let no = self.literal(nodes, opposite(literal))?;
        Ok((self.formulas.and([condition.0, yes])?, self.formulas.or([condition.1, no])?))
    }

    fn each(
        &mut self,
        nodes: &mut Nodes<'_>,
        of: &[NodeId],
        holds: bool,
    ) -> Result<Vec<FormulaId>, CompileError> {
        nodes.charge(of.len() as u64)?;
        of.iter().map(|&node| self.literal(nodes, (node, holds))).collect()
    }

    fn part(
        &mut self,
        nodes: &mut Nodes<'_>,
        node: NodeId,
        part: &Part,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        Ok(match part {
            Part::Types { types, .. } if types.has(L::TYPE) => Formulas::<'_, L::Atom>::constant(holds),
            Part::Types { types, .. } if L::TYPE != Types::NUMBER || !types.has(Types::INTEGER) => {
                Formulas::<'_, L::Atom>::constant(!holds)
            }
            Part::AllOf(of) => {
                let parts = self.each(nodes, of, holds)?;
                self.connect(parts, holds)?
            }
            Part::AnyOf(of) => {
                let parts = self.each(nodes, of, holds)?;
                self.connect(parts, !holds)?
            }
            Part::OneOf(of) => self.one_of(nodes, of, holds)?,
            Part::Not(of) => self.literal(nodes, (*of, !holds))?,
            Part::If { condition, then, otherwise } => {
                let mut branches = Vec::new();
                for (branch, condition_holds) in [(*then, true), (*otherwise, false)] {
                    let condition = self.literal(nodes, (*condition, condition_holds))?;
                    let branch = self.literal(nodes, (branch, holds))?;
                    branches.push(self.formulas.and([condition, branch])?);
                }
                self.formulas.or(branches)?
            }
            other => L::leaf(self, nodes, node, other, holds)?,
        })
    }

    fn one_of(
        &mut self,
        nodes: &mut Nodes<'_>,
        of: &Rc<[NodeId]>,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        let yes = self.each(nodes, of, true)?;
        let no = self.each(nodes, of, false)?;
        let mut ways = Vec::new();
        for (at, &one) in yes.iter().enumerate() {
            if holds {
                // This one and none of the others.
                let others = no.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, &no)| no);
                ways.push(self.formulas.and(others.chain([one]))?);
            } else {
                // This one and one of the others; none at all comes last.
                for &other in &yes[..at] {
                    ways.push(self.formulas.and([one, other])?);
                }
            }
        }
        if !holds {
            ways.push(self.formulas.and(no)?);
        }
        self.formulas.or(ways)
    }
}

/// Numbers.
#[derive(Debug)]
pub(crate) struct Numbers;

impl Leaves for Numbers {
    type Atom = Scalar<NumberKind>;
    type Evaluates = Infallible;
    const TYPE: Types = Types::NUMBER;

    fn evaluates(_: NodeId, _: &Part, _: bool, _: &mut Vec<Infallible>) {}

    fn leaf(
        expansion: &mut Expansion<'_, Self>,
        nodes: &mut Nodes<'_>,
        node: NodeId,
        part: &Part,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        let kind = match part {
            Part::MultipleOf(modulus) if modulus.of > Modulus::MAX => {
                let reason = format!("its digits are more than {}, the largest divisor", Modulus::MAX);
                return Err(nodes.unsupported(node, "multipleOf", &reason));
            }
            Part::Types { plain_integers, .. } => NumberKind::Integer { plain: *plain_integers },
            Part::Bound { limit, is_lower, is_exclusive } => {
                NumberKind::Bound { limit: limit.clone(), is_lower: *is_lower, is_exclusive: *is_exclusive }
            }
            Part::MultipleOf(modulus) => NumberKind::MultipleOf(*modulus),
            Part::Values(values) => {
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

/// Strings.
#[derive(Debug)]
pub(crate) struct Strings;

impl Leaves for Strings {
    type Atom = Scalar<StringKind>;
    type Evaluates = Infallible;
    const TYPE: Types = Types::STRING;

    fn evaluates(_: NodeId, _: &Part, _: bool, _: &mut Vec<Infallible>) {}

    fn leaf(
        expansion: &mut Expansion<'_, Self>,
        nodes: &mut Nodes<'_>,
        _: NodeId,
        part: &Part,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        let kind = match part {
            Part::Length { min: 0, max: None } => return Ok(Formulas::<'_, Self::Atom>::constant(holds)),
            Part::Length { min, max } => StringKind::Length { min: *min, max: *max },
            Part::Text(id) => StringKind::Text(*id),
            Part::Values(values) => {
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
