//! Classes of property names: all names but those that the schema names, partitioned by patterns and `propertyNames`.
//!
//! Starting from one class, the complement of the named names, each pattern and each violated subschema of names splits every
//! class in two: the names in it and the others. Empty classes are dropped. There are at most 2^n classes of n tests, and in
//! practice few more than n, because most intersections are empty. A partition is memoised by the tests that made it.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{Expr, Language};
use gobo_types::CompileError;

use crate::lower::context::Context;
use crate::lower::rules::Form;
use crate::phase::LOWERING;
use crate::read::node::{NodeId, TextId};
use crate::scalar::strings::spelled;

/// A class of names.
pub(super) struct NameClass {
    /// The texts of the names.
    pub(super) key: Expr,
    /// The patterns that the names match.
    pub(super) patterns: Vec<TextId>,
    /// The subschemas that the names do not satisfy.
    pub(super) violated: Vec<NodeId>,
}

/// The tests of a partition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Tests {
    /// The names that belong to no class, ascending.
    pub(super) except: Vec<String>,
    pub(super) patterns: Vec<TextId>,
    pub(super) violated: Vec<NodeId>,
    /// How the object is written.
    pub(super) form: Form,
}

/// A class under construction.
struct Class {
    names: Language,
    patterns: Vec<TextId>,
    violated: Vec<NodeId>,
}

/// What a set of names is the set of.
#[derive(Clone, Copy)]
enum Test {
    Pattern(TextId),
    Violated(NodeId),
}

/// Partitions, by their tests.
#[derive(Default)]
pub(super) struct NameClasses {
    known: HashMap<Tests, Rc<[NameClass]>>,
}

impl NameClasses {
    pub(super) fn new() -> Self {
        Self { known: HashMap::new() }
    }

    /// The classes that tests distinguish.
    ///
    /// # Errors
    /// A refusal that names a keyword; [`CompileError::OverBudget`].
    pub(super) fn of(
        &mut self,
        context: &mut Context<'_>,
        tests: Tests,
    ) -> Result<Rc<[NameClass]>, CompileError> {
        if let Some(known) = self.known.get(&tests) {
            return Ok(known.clone());
        }
        let budget = context.budget;
        let mut names = Language::choice(&tests.except, budget)?.complement(budget)?;
        if let Some(written) = context.scalars.written(&context.facts) {
            names = names.intersection(&written, budget)?;
        }
        let mut classes = vec![Class { names, patterns: Vec::new(), violated: Vec::new() }];
        let mut sets: Vec<(Rc<Language>, Test)> = Vec::new();
        for &text in &tests.patterns {
            sets.push((context.facts.nodes.text(text).clone(), Test::Pattern(text)));
        }
        for &node in &tests.violated {
            sets.push((Rc::new(context.facts.strings_of(node)?.complement(budget)?), Test::Violated(node)));
        }
        for (set, test) in sets {
            let mut split = Vec::with_capacity(classes.len() * 2);
            for class in classes {
                let without =
                    Language::combine(&[&class.names, &set], |is_in| is_in[0] && !is_in[1], budget)?;
                let with = class.names.intersection(&set, budget)?;
                let Class { patterns, violated, .. } = class;
                let mut inside =
                    Class { names: with, patterns: patterns.clone(), violated: violated.clone() };
                match test {
                    Test::Pattern(text) => inside.patterns.push(text),
                    Test::Violated(node) => inside.violated.push(node),
                }
                split.push(Class { names: without, patterns, violated });
                split.push(inside);
            }
            split.retain(|class| !class.names.is_empty());
            budget.charge_steps(LOWERING, split.len() as u64)?;
            classes = split;
        }
        let is_free = tests.patterns.is_empty() && tests.violated.is_empty();
        let is_unconstrained = |class: &Class| tests.violated.is_empty() && class.patterns.is_empty();
        let policy = &context.policy;
        let spelling = if is_free { policy.free_names() } else { policy.spelling() };
        let classes: Rc<[NameClass]> = classes
            .into_iter()
            .map(|class| {
                let key = match tests.form {
                    Form::Members => {
                        context.parameters().names(&class.names, is_unconstrained(&class), budget)?
                    }
                    Form::Yaml(_) => context.yaml_names(class.names.clone())?,
                    _ => spelled(&class.names, spelling, budget)?,
                };
                let (key, Class { patterns, violated, .. }) = (key.shared(), class);
                Ok(NameClass { key, patterns, violated })
            })
            .collect::<Result<_, CompileError>>()?;
        self.known.insert(tests, classes.clone());
        Ok(classes)
    }
}
