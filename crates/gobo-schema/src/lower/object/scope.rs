//! The scope of an object: which names the atoms of its formula speak of.
//!
//! Names that the schema names are kept apart by their index. All other names fall into classes that the atoms and the
//! schema set do not distinguish, so one edge reads all names of a class.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt, HashSet};
use gobo_automata::{Expr, Language};
use gobo_types::CompileError;

use crate::formula::formulas::{FormulaId, Formulas};
use crate::formula::names::{NameSet, properties_of};
use crate::formula::properties::PropertyAtom;
use crate::lower::context::Context;
use crate::lower::object::name_classes::{NameClass, NameClasses, Tests};
use crate::lower::rules::Form;
use crate::lower::schema_set::SchemaSet;
use crate::phase::LOWERING;
use crate::read::node::{FALSE, NodeId, TextId};

/// Which names the atoms of a formula speak of.
pub(super) struct Scope {
    /// Indices of named names, ascending.
    named: HashMap<NameSet, Vec<u32>>,
    /// The classes of other names.
    pub(super) others: Vec<Others>,
}

/// A class of names that no subschema names.
pub(super) struct Others {
    /// The texts of the names.
    pub(super) key: Expr,
    /// The sets that the names belong to.
    sets: HashSet<NameSet>,
    /// The patterns that the names match.
    pub(super) patterns: Vec<TextId>,
}

impl Others {
    /// Whether an atom speaks of the names.
    pub(super) fn has(&self, atom: &PropertyAtom) -> bool {
        atom.names().is_some_and(|names| self.sets.contains(names))
    }
}

impl Scope {
    /// Whether an atom speaks of a name.
    pub(super) fn has(&self, atom: &PropertyAtom, name: u32) -> bool {
        atom.names().is_some_and(|names| self.named[names].binary_search(&name).is_ok())
    }

    /// Whether an atom speaks of a name and of none after it.
    pub(super) fn is_last(&self, atom: &PropertyAtom, name: u32) -> bool {
        atom.names().is_some_and(|names| self.named[names].last() == Some(&name) && !self.has_others(names))
    }

    /// Whether an atom speaks of a name and of no other.
    pub(super) fn is_only(&self, atom: &PropertyAtom, name: u32) -> bool {
        atom.names().is_some_and(|names| *self.named[names] == [name] && !self.has_others(names))
    }

    fn has_others(&self, names: &NameSet) -> bool {
        self.others.iter().any(|others| others.sets.contains(names))
    }
}

/// Finds scopes.
pub(super) struct Scopes {
    classes: NameClasses,
    /// The first subschema of each object that is closed because the options ask for it.
    pub(super) closed: Vec<NodeId>,
}

impl Scopes {
    pub(super) fn new() -> Self {
        Self { classes: NameClasses::new(), closed: Vec::new() }
    }

    /// The scope of a formula.
    ///
    /// # Errors
    /// A refusal that names a keyword; [`CompileError::OverBudget`].
    pub(super) fn of(
        &mut self,
        context: &mut Context<'_>,
        formulas: &Formulas<'_, PropertyAtom>,
        (set, form): (&SchemaSet, Form),
        formula: FormulaId,
    ) -> Result<Scope, CompileError> {
        let mut scope = Scope { named: HashMap::new(), others: Vec::new() };
        let mut sets: Vec<NameSet> = Vec::new();
        for atom in formulas.atoms(formula)? {
            let Some(names) = atom.names() else { continue };
            if scope.named.contains_key(names) {
                continue;
            }
            let mut named = Vec::new();
            if let NameSet::One(name) = names {
                let index = set.index.get(&**name).map(|&index| u32::try_from(index));
                named.extend(index.and_then(Result::ok));
            } else {
                for (at, name) in (0..).zip(&set.names) {
                    if names.has(&mut context.facts.nodes, name)? {
                        named.push(at);
                    }
                }
                sets.push(names.clone());
            }
            scope.named.insert(names.clone(), named);
        }
        if !has_no_others(context, formulas, formula)? {
            scope.others = self.other_names(context, (set, form), sets)?;
        }
        Ok(scope)
    }

    /// The classes of names that no subschema names, by the `sets` that they belong to and the patterns that they match.
    fn other_names(
        &mut self,
        context: &mut Context<'_>,
        (set, form): (&SchemaSet, Form),
        sets: Vec<NameSet>,
    ) -> Result<Vec<Others>, CompileError> {
        let closed = context.policy.options.closed && set.says_properties && !set.says_additional;
        if closed {
            self.closed.extend(set.nodes.first());
        }
        let patterns = set.patterns();
        let is_violating = |names: &NameSet| matches!(names, NameSet::Violating(_));
        if set.names.is_empty() && patterns.is_empty() && !sets.iter().any(is_violating) {
            // One class of all names.
            let key = match form {
                Form::Members => {
                    let names =
                        context.scalars.written(&context.facts).expect("a style excludes its closing text");
                    context.parameters().names(&names, true, context.budget)?
                }
                Form::Yaml(_) => context.yaml_names(Language::none().complement(context.budget)?)?,
                _ => context.any_string(),
            };
            return Ok(vec![Others { key, sets: sets.into_iter().collect(), patterns: Vec::new() }]);
        }
        let mut violated: Vec<NodeId> = sets
            .iter()
            .filter_map(|names| match names {
                NameSet::Violating(node) => Some(*node),
                _ => None,
            })
            .collect();
        violated.sort_unstable();
        violated.dedup();
        context
            .budget
            .charge_steps(LOWERING, set.names.iter().map(|name| 4 + name.len() as u64 / 4).sum())?;
        let mut except = set.names.clone();
        except.sort_unstable();
        let classes: Rc<[NameClass]> =
            self.classes.of(context, Tests { except, patterns, violated, form })?;
        let mut others = Vec::with_capacity(classes.len());
        for class in classes.iter() {
            if closed && class.patterns.is_empty() {
                continue;
            }
            let mut inside = HashSet::default();
            for names in &sets {
                let tests = class.patterns.len() + class.violated.len();
                context.budget.charge_steps(LOWERING, 4 + tests as u64)?;
                if is_within(context, class, names)? {
                    inside.insert(names.clone());
                }
            }
            others.push(Others { key: class.key.clone(), sets: inside, patterns: class.patterns.clone() });
        }
        Ok(others)
    }
}

/// Whether the names of a class belong to a set.
fn is_within(context: &mut Context<'_>, class: &NameClass, names: &NameSet) -> Result<bool, CompileError> {
    let patterns = &class.patterns;
    Ok(match names {
        NameSet::One(_) => false,
        NameSet::Pattern(text) => patterns.contains(text),
        NameSet::Additional(node) => {
            let properties = properties_of(&mut context.facts.nodes, *node)?;
            !properties.patterns.iter().any(|pattern| patterns.contains(&pattern.0))
        }
        NameSet::Except { with, without, .. } => {
            with.iter().all(|text| patterns.contains(text))
                && !without.iter().any(|text| patterns.contains(text))
        }
        NameSet::Violating(node) => class.violated.contains(node),
    })
}

/// Whether it is seen at once that names which no subschema names are not allowed.
fn has_no_others(
    context: &mut Context<'_>,
    formulas: &Formulas<'_, PropertyAtom>,
    formula: FormulaId,
) -> Result<bool, CompileError> {
    for atom in formulas.conjuncts(formula)? {
        let PropertyAtom::Every(names, (FALSE, true)) = atom else { continue };
        let is_all = match names {
            NameSet::Additional(node) => properties_of(&mut context.facts.nodes, *node)?.patterns.is_empty(),
            NameSet::Except { with, without, .. } => with.is_empty() && without.is_empty(),
            _ => false,
        };
        if is_all {
            return Ok(true);
        }
    }
    Ok(false)
}
