//! Lowers objects: an automaton whose states are (names passed, formula) pairs.
//!
//! Under the declared order, properties that the schema names come in the order of the schema set, so the state holds the
//! index of the next name; each is read or skipped. In any order the state holds the set of names that were read, which
//! bounds the number of names by [`MAX_UNORDERED`]. Other names come after them, or between them in any order, one class
//! at a time ([`scope`]); they may be repeated, which is harmless or excluded ([`witnesses`]).
//!
//! `required`, counts and the like are atoms that do not hold at the end until their derivatives have become true: the
//! closing bracket is allowed where the formula holds at the end.

mod name_classes;
mod scope;
mod witnesses;

use std::rc::Rc;

use gobo_automata::{Expr, MachineState};
use gobo_types::{Budget, CompileError, RefusalKind};

use crate::advice::{ANY_ORDER, REPEATED_NAMES};
use crate::formula::derivative::Next;
use crate::formula::expansion::{Expansion, Literal};
use crate::formula::formulas::{FormulaId, Formulas, NEVER};
use crate::formula::properties::{Objects, PropertyAtom};
use crate::lower::container::{Builder, Frame, STEPS_PER_STATE, Stage};
use crate::lower::context::Context;
use crate::lower::outcomes::{Outcome, outcomes};
use crate::lower::rules::Form;
use crate::lower::schema_set::{SchemaSet, SchemaSetId};
use crate::phase::LOWERING;
use crate::read::node::{NodeId, TextId};
use crate::text::yaml::Part;
use gobo_grammar::json::strings::{string_steps, string_text};
use scope::{Others, Scope, Scopes};
use witnesses::{Witnesses, revocable};

/// Maximum number of names of an object whose properties may stand in any order: each doubles its states.
const MAX_UNORDERED: usize = 10;

/// Lowering of objects.
pub(crate) struct ObjectLowering<'a> {
    expansion: Expansion<'a, Objects>,
    scopes: Scopes,
    pub(crate) witnesses: Witnesses,
    /// Whether the declared order shuts out texts of some object.
    pub(crate) is_ordered: bool,
    /// Whether some object takes properties with names that the schema does not name, which may be repeated.
    pub(crate) has_free_names: bool,
}

impl<'a> ObjectLowering<'a> {
    pub(crate) fn new(budget: &'a Budget) -> Self {
        Self {
            expansion: Expansion::new(budget),
            scopes: Scopes::new(),
            witnesses: Witnesses::new(),
            is_ordered: false,
            has_free_names: false,
        }
    }

    /// The first subschema of each object that is closed because the options ask for it.
    pub(crate) fn closed(&self) -> &[NodeId] {
        &self.scopes.closed
    }

    /// The texts of the objects that satisfy all of `literals`; `None` if there are none at a glance.
    ///
    /// # Errors
    /// A refusal that names a keyword; [`CompileError::OverBudget`].
    pub(crate) fn lower(
        &mut self,
        context: &mut Context<'a>,
        set: &Rc<SchemaSet>,
        literals: &[Literal],
        (form, depth): (Form, u32),
    ) -> Result<Option<Expr>, CompileError> {
        let formula = self.expansion.all(&mut context.facts.nodes, literals)?;
        if formula == NEVER {
            return Ok(None);
        }
        if form == Form::Yaml(Part::Line) {
            let is_empty = self.expansion.formulas.holds(formula, &PropertyAtom::holds_at_end)?;
            return Ok(is_empty.then(|| Expr::text("{}")));
        }
        let names = u32::try_from(set.names.len()).expect("the budget keeps names below 2^32");
        if !context.policy.is_ordered() && set.names.len() > MAX_UNORDERED {
            let reason = format!("any order of {names} names; the limit is {MAX_UNORDERED}");
            return Err(context.refuse_at(set, RefusalKind::Unsupported, reason).advising(ANY_ORDER));
        }
        let scope = self.scopes.of(context, &self.expansion.formulas, (set, form), formula)?;
        self.is_ordered |= set.names.len() > usize::from(scope.others.is_empty());
        let frame = match form {
            Form::Yaml(Part::Block) => Frame::lines(depth),
            Form::Members => context.parameters().members(),
            _ => Frame::json("{", "}", context.policy.layout(), depth),
        };
        let mut object = Object {
            formulas: &mut self.expansion.formulas,
            witnesses: &mut self.witnesses,
            context,
            builder: Builder::new(frame),
            set,
            scope,
            names,
            form,
            depth,
            has_free_names: false,
        };
        object.add_states(formula)?;
        self.has_free_names |= object.has_free_names;
        Ok(Some(object.builder.finish()))
    }
}

/// An object that is being lowered.
struct Object<'l, 'a> {
    formulas: &'l mut Formulas<'a, PropertyAtom>,
    witnesses: &'l mut Witnesses,
    context: &'l mut Context<'a>,
    builder: Builder,
    set: &'l SchemaSet,
    scope: Scope,
    /// Number of names that the schema names.
    names: u32,
    form: Form,
    depth: u32,
    /// Whether it takes properties with other names.
    has_free_names: bool,
}

/// Reads a property that the schema names.
#[derive(Clone, Copy)]
struct Step {
    name: u32,
    /// Whether names may come in any order: then the next name need not be the last that an atom speaks of.
    is_unordered: bool,
    /// The names passed after it.
    passed: u32,
}

impl Object<'_, '_> {
    fn add_states(&mut self, formula: FormulaId) -> Result<(), CompileError> {
        let can_nest = self.context.policy.max_depth() != Some(self.depth);
        let is_ordered = self.context.policy.is_ordered();
        self.builder.state(Stage::Start, 0, formula);
        // The names passed: the index of the next one, or in any order a bit for each.
        while let Some((stage, passed, formula)) = self.builder.next_open() {
            self.context.budget.charge_steps(LOWERING, STEPS_PER_STATE)?;
            self.context.budget.check_states(LOWERING, self.builder.machine.len())?;
            let can_end =
                stage != Stage::Element && self.formulas.holds(formula, &PropertyAtom::holds_at_end)?;
            self.builder.add_ends(stage, passed, formula, can_end, can_nest);
            if stage != Stage::Element {
                continue;
            }
            let from = self.builder.state(stage, passed, formula);
            if !is_ordered {
                for name in (0..self.names).filter(|name| passed >> name & 1 == 0) {
                    let step = Step { name, is_unordered: true, passed: passed | 1 << name };
                    self.add_named(from, formula, step)?;
                }
                self.add_others(from, passed, formula)?;
            } else if passed < self.names {
                self.skip_name(from, passed, formula)?;
                let step = Step { name: passed, is_unordered: false, passed: passed + 1 };
                self.add_named(from, formula, step)?;
            } else {
                self.add_others(from, passed, formula)?;
            }
        }
        Ok(())
    }

    /// The edge that leaves out a name: atoms that speak of no later name are decided.
    fn skip_name(&mut self, from: MachineState, name: u32, formula: FormulaId) -> Result<(), CompileError> {
        let scope = &self.scope;
        let rest = self
            .formulas
            .substitute(formula, &mut |atom| scope.is_last(atom, name).then(|| atom.holds_at_end()))?;
        if rest != NEVER {
            let to = self.builder.state(Stage::Element, name + 1, rest);
            self.builder.machine.add_edge(from, Expr::text(""), to);
        }
        Ok(())
    }

    /// The edges that read a property with a name that the schema names.
    fn add_named(&mut self, from: MachineState, formula: FormulaId, step: Step) -> Result<(), CompileError> {
        let name = &self.set.names[step.name as usize];
        if !self.context.policy.allows_text(name) {
            return Ok(());
        }
        let child = self.context.set_of_property(self.set, name)?;
        let scope = &self.scope;
        // In any order, other names that an atom speaks of may still come.
        let is_last = |atom: &PropertyAtom| {
            if step.is_unordered { scope.is_only(atom, step.name) } else { scope.is_last(atom, step.name) }
        };
        let asked = |atom: &PropertyAtom| atom.value().filter(|_| scope.has(atom, step.name));
        let after = |atom: &PropertyAtom, holds: Option<bool>| match (atom, holds) {
            (PropertyAtom::Every(..), Some(false)) => Next::Never,
            (PropertyAtom::Some(..), Some(true)) => Next::Always,
            (PropertyAtom::Every(..), Some(true)) if is_last(atom) => Next::Always,
            (PropertyAtom::Some(..), Some(false)) if is_last(atom) => Next::Never,
            _ => atom.counted(),
        };
        let found = outcomes(&mut self.context.facts, self.formulas, formula, &asked, &after)?;
        let spelling = self.context.policy.spelling();
        for (literals, rest) in found {
            let Some(value) = self.value(child, &literals)? else { continue };
            let to = self.builder.state(Stage::After, step.passed, rest);
            self.context.budget.charge_steps(LOWERING, STEPS_PER_STATE + string_steps(name, spelling))?;
            let name = match self.form {
                Form::Members => self.context.parameter_name(self.set, name)?,
                Form::Yaml(_) => self.context.yaml_name(self.set, name)?,
                _ => string_text(name, spelling),
            };
            self.builder.machine.add_edge(from, Expr::Concat(vec![name, value]), to);
        }
        Ok(())
    }

    /// The edges that read a property with a name that no subschema names.
    fn add_others(
        &mut self,
        from: MachineState,
        passed: u32,
        formula: FormulaId,
    ) -> Result<(), CompileError> {
        for at in 0..self.scope.others.len() {
            let patterns = &self.scope.others[at].patterns;
            let matches = |text: TextId| patterns.contains(&text);
            let child = self.set.of_property(None, matches, self.context.budget)?;
            let child = self.context.set_of(child)?;
            let found = self.outcomes_of_class(at, child, formula)?;
            for (literals, rest) in found {
                let Some(value) = self.value(child, &literals)? else { continue };
                let to = self.builder.state(Stage::After, passed, rest);
                let property = vec![self.scope.others[at].key.clone(), value];
                self.builder.machine.add_edge(from, Expr::Concat(property), to);
                self.has_free_names = true;
            }
        }
        Ok(())
    }

    /// The outcomes of a property of a class, of which none is revoked by a later property of the same name.
    fn outcomes_of_class(
        &mut self,
        class: usize,
        child: SchemaSetId,
        formula: FormulaId,
    ) -> Result<Vec<Outcome>, CompileError> {
        let mut safe: Vec<Outcome> = Vec::new();
        let mut last: Vec<Outcome> = Vec::new();
        let mut last_atom: Option<PropertyAtom> = None;
        for (literals, rest) in self.outcomes_but(class, formula, None)? {
            if self.value(child, &literals)?.is_none() {
                continue;
            }
            match self.revocable(class, formula, (&literals, rest))?.as_slice() {
                [] => safe.push((literals, rest)),
                [atom] if self.witnesses.may_be_last(self.context, self.set, atom)? => {
                    last_atom = Some(atom.clone());
                    last.push((literals, rest));
                }
                _ => return Err(self.refuse_repetition()),
            }
        }
        if last_atom.is_some() {
            // Every other property is read as if it were no witness.
            for (literals, rest) in self.outcomes_but(class, formula, last_atom.as_ref())? {
                let revocable = self.revocable(class, formula, (&literals, rest))?;
                if revocable.iter().any(|atom| Some(atom) != last_atom.as_ref()) {
                    return Err(self.refuse_repetition());
                }
                if !safe.contains(&(literals.clone(), rest)) {
                    safe.push((literals, rest));
                }
            }
        }
        let none_after = self.formulas.atom(PropertyAtom::AtMost(0))?;
        for (literals, rest) in last {
            if self.formulas.holds(rest, &PropertyAtom::holds_at_end)? {
                safe.push((literals, none_after));
            }
        }
        Ok(safe)
    }

    /// The outcomes of a property of a class that is no witness of `not_asked`.
    fn outcomes_but(
        &mut self,
        class: usize,
        formula: FormulaId,
        not_asked: Option<&PropertyAtom>,
    ) -> Result<Vec<Outcome>, CompileError> {
        let class: &Others = &self.scope.others[class];
        let asked = |atom: &PropertyAtom| atom.value().filter(|_| class.has(atom) && not_asked != Some(atom));
        let after = |atom: &PropertyAtom, holds: Option<bool>| match (atom, holds) {
            (PropertyAtom::Every(..), Some(false)) => Next::Never,
            (PropertyAtom::Some(..), Some(true)) => Next::Always,
            _ => atom.counted(),
        };
        outcomes(&mut self.context.facts, self.formulas, formula, &asked, &after)
    }

    fn revocable(
        &mut self,
        class: usize,
        formula: FormulaId,
        outcome: (&[Literal], FormulaId),
    ) -> Result<Vec<PropertyAtom>, CompileError> {
        let class = &self.scope.others[class];
        revocable(&mut self.context.facts, self.formulas, class, formula, outcome)
    }

    /// What stands behind the name of a property.
    fn value(&mut self, child: SchemaSetId, literals: &[Literal]) -> Result<Option<Expr>, CompileError> {
        self.context.value(child, literals, (self.form, self.depth + 1))
    }

    fn refuse_repetition(&self) -> CompileError {
        let reason = "what holds depends on whether other names are repeated, which no automaton can see";
        self.context.refuse_at(self.set, RefusalKind::Unsupported, reason).advising(REPEATED_NAMES)
    }
}
