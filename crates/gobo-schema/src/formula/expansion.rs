//! The expansion of a subschema to a formula, for values of one type.
//!
//! The formula of a literal (a subschema, or its negation) is the conjunction of the formulas of its keywords, or the
//! disjunction of their negations. In-place applicators (JSON Schema 2020-12, Core, section 10.2) expand to the formulas of
//! their subschemas: `allOf`, `anyOf`, `oneOf`, `not` and `if` are Boolean connectives, negation is pushed down to atoms by
//! De Morgan's laws. All other keywords are leaves, which [`Leaves`] translates for each type. A keyword for another type
//! holds.
//!
//! Cost: each literal is expanded once. `oneOf` of n subschemas has O(n²) operands. A subschema that reaches itself without
//! a step into a value is refused.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError};

use crate::formula::formulas::{ALWAYS, Atom, FormulaId, Formulas, NEVER};
use crate::read::keywords::keywords_of;
use crate::read::node::{FALSE, Keyword, NodeId, TRUE, Types};
use crate::read::nodes::Nodes;

/// A subschema or its negation.
pub(crate) type Literal = (NodeId, bool);

/// The negation of a literal.
pub(crate) fn opposite(literal: Literal) -> Literal {
    match literal {
        (TRUE, holds) => (FALSE, holds),
        (FALSE, holds) => (TRUE, holds),
        (node, holds) => (node, !holds),
    }
}

/// A formula and its negation.
pub(crate) type Either = (FormulaId, FormulaId);

/// A type of values: its atoms, and the formulas of its keywords.
pub(crate) trait Leaves: Sized {
    type Atom: Atom;
    /// The type.
    const TYPE: Types;

    /// A part of a value that a keyword evaluates.
    type Evaluates;

    /// Adds what a keyword of `node` evaluates if `node` holds. The keyword is no in-place applicator. `is_outermost`: the
    /// `unevaluated…` keyword that asks belongs to `node` itself.
    fn evaluates(node: NodeId, keyword: &Keyword, is_outermost: bool, out: &mut Vec<Self::Evaluates>);

    /// The formulas of a property being present and absent; `None` for types without properties.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    fn presence(_: &mut Expansion<'_, Self>, _: &str) -> Result<Option<Either>, CompileError> {
        Ok(None)
    }

    /// The formula of a keyword that is no in-place applicator, or of its negation.
    ///
    /// # Errors
    /// A refusal that names the keyword.
    fn leaf(
        expansion: &mut Expansion<'_, Self>,
        nodes: &mut Nodes<'_>,
        node: NodeId,
        keyword: &Keyword,
        holds: bool,
    ) -> Result<FormulaId, CompileError>;
}

/// The expansion of subschemas to formulas, for values of one type.
#[derive(Debug)]
pub(crate) struct Expansion<'a, L: Leaves> {
    pub(crate) formulas: Formulas<'a, L::Atom>,
    known: HashMap<Literal, FormulaId>,
    /// The subschemas under expansion, to find cycles.
    open: Vec<NodeId>,
}

impl<'a, L: Leaves> Expansion<'a, L> {
    pub(crate) fn new(budget: &'a Budget) -> Self {
        Self { formulas: Formulas::new(budget), known: HashMap::new(), open: Vec::new() }
    }

    /// The conjunction of `literals`.
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

    /// The formula of one literal.
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
        let keywords = keywords_of(nodes, node)?;
        let mut operands = Vec::with_capacity(keywords.len());
        for keyword in keywords.iter() {
            nodes.charge(1 + self.formulas.len() as u64 / 1024)?;
            operands.push(self.keyword(nodes, node, keyword, holds)?);
        }
        self.open.pop();
        let formula = self.connect(operands, holds)?;
        self.known.insert(literal, formula);
        Ok(formula)
    }

    /// The conjunction of the formulas of demands that have to hold, or the disjunction of those of their negations.
    pub(crate) fn connect(&mut self, parts: Vec<FormulaId>, holds: bool) -> Result<FormulaId, CompileError> {
        if holds { self.formulas.and(parts) } else { self.formulas.or(parts) }
    }

    /// What `node` evaluates if it holds, each part with a condition, for an `unevaluated…` keyword of `node` (JSON Schema
    /// 2020-12, Core, section 11).
    pub(crate) fn evaluated(
        &mut self,
        nodes: &mut Nodes<'_>,
        node: NodeId,
    ) -> Result<Vec<(L::Evaluates, Either)>, CompileError> {
        let mut out = Vec::new();
        self.add_evaluated(nodes, node, (ALWAYS, NEVER), &mut Vec::new(), &mut out)?;
        Ok(out)
    }

    /// `around`: the chain of applicators that leads to `node`, the outermost first.
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
        let keywords = keywords_of(nodes, node)?;
        nodes.charge(1 + keywords.len() as u64)?;
        for keyword in keywords.iter() {
            match keyword {
                Keyword::AllOf(of) => {
                    for &node in of.iter() {
                        self.add_evaluated(nodes, node, condition, around, out)?;
                    }
                }
                Keyword::AnyOf(of) | Keyword::OneOf(of) => {
                    for &node in of.iter() {
                        let condition = self.narrowed(nodes, condition, (node, true))?;
                        self.add_evaluated(nodes, node, condition, around, out)?;
                    }
                }
                Keyword::If { condition: test, then, otherwise } => {
                    let yes = self.narrowed(nodes, condition, (*test, true))?;
                    let no = self.narrowed(nodes, condition, (*test, false))?;
                    self.add_evaluated(nodes, *test, yes, around, out)?;
                    self.add_evaluated(nodes, *then, yes, around, out)?;
                    self.add_evaluated(nodes, *otherwise, no, around, out)?;
                }
                Keyword::Dependent { name, schema, .. } => {
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

    /// The conjunction of a condition and a literal.
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

    fn keyword(
        &mut self,
        nodes: &mut Nodes<'_>,
        node: NodeId,
        keyword: &Keyword,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        Ok(match keyword {
            Keyword::Types { types, .. } if types.has(L::TYPE) => Formulas::<'_, L::Atom>::constant(holds),
            Keyword::Types { types, .. } if L::TYPE != Types::NUMBER || !types.has(Types::INTEGER) => {
                Formulas::<'_, L::Atom>::constant(!holds)
            }
            Keyword::AllOf(of) => {
                let parts = self.each(nodes, of, holds)?;
                self.connect(parts, holds)?
            }
            Keyword::AnyOf(of) => {
                let parts = self.each(nodes, of, holds)?;
                self.connect(parts, !holds)?
            }
            Keyword::OneOf(of) => self.one_of(nodes, of, holds)?,
            Keyword::Not(of) => self.literal(nodes, (*of, !holds))?,
            Keyword::If { condition, then, otherwise } => {
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
                // Exactly this one.
                let others = no.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, &no)| no);
                ways.push(self.formulas.and(others.chain([one]))?);
            } else {
                // This one and another; the case of none follows.
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
