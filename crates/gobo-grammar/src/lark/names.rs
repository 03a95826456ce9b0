//! The names that a grammar defines itself, and which of them some text needs.
//!
//! From the start rule, and from what is ignored, along the names in bodies, those of imported grammars too. O(bodies).

use std::collections::BTreeSet;

use gobo_types::{Budget, CompileError};

use super::modules::{DefinitionId, Found, MAIN, ModuleId, Modules};
use super::syntax::{At, End, Item, is_terminal};
use crate::written::Written;

const PHASE: &str = "looking for names";

/// A name that a grammar defines.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) is_terminal: bool,
    /// Where it is defined, in bytes.
    pub(crate) at: usize,
    /// Whether it is the start rule or ignored, or such a one needs it.
    pub(crate) is_reached: bool,
}

/// What a grammar defines.
#[derive(Debug)]
pub(crate) struct Names {
    /// In the order of the text.
    pub(crate) all: Vec<Listed>,
    /// Whether something is ignored.
    pub(crate) ignores: bool,
}

/// The names of the grammar itself, without those that it imports.
///
/// # Errors
/// As reading it.
pub(crate) fn names(written: &Written<'_>, budget: &Budget) -> Result<Names, CompileError> {
    let modules = Modules::load(written, None, budget)?;
    let mut reached = Reached { modules: &modules, known: BTreeSet::new(), pending: Vec::new() };
    if let Some(Found::Definition(start)) = modules.find(MAIN, written.start) {
        reached.add(start);
    }
    for body in &modules.ignored {
        budget.charge_steps(PHASE, 1)?;
        reached.names_in(MAIN, body, &[]);
    }
    while let Some(definition) = reached.pending.pop() {
        let defined = &modules.definitions[definition];
        if let Some(End::Suffix(text) | End::Stop(text)) = &defined.attributes.end {
            reached.names_in(defined.module, text, &[]);
        }
        for (module, body) in &defined.bodies {
            budget.charge_steps(PHASE, 1)?;
            reached.names_in(*module, body, &defined.parameters);
        }
    }
    let own = modules.definitions.enumerate().filter(|(_, defined)| defined.module == MAIN);
    let mut all: Vec<Listed> = own
        .map(|(definition, defined)| Listed {
            name: defined.name.clone(),
            is_terminal: is_terminal(&defined.name),
            at: defined.at,
            is_reached: reached.known.contains(&definition),
        })
        .collect();
    all.sort_by_key(|name| name.at);
    Ok(Names { all, ignores: !modules.ignored.is_empty() })
}

impl Names {
    /// Whether a rule of the grammar that was read stands for a terminal or for ignored text: all others have the name of a rule.
    pub(crate) fn is_leaf(&self, number: u32, name: &str) -> bool {
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        is_terminal(name) || !name.chars().all(is_name) || self.ignores && number == 0 && name == "ignored"
    }
}

struct Reached<'a> {
    modules: &'a Modules<'a>,
    known: BTreeSet<DefinitionId>,
    pending: Vec<DefinitionId>,
}

impl Reached<'_> {
    fn add(&mut self, definition: DefinitionId) {
        if self.known.insert(definition) {
            self.pending.push(definition);
        }
    }

    fn names_in(&mut self, module: ModuleId, part: &At<Item>, parameters: &[String]) {
        match &part.what {
            Item::Name(name) | Item::Template(name, _) | Item::Valued(name, _) => {
                if !parameters.contains(name)
                    && let Some(Found::Definition(definition)) = self.modules.find(module, name)
                {
                    self.add(definition);
                }
                if let Item::Template(_, arguments) = &part.what {
                    arguments.iter().for_each(|part| self.names_in(module, part, parameters));
                }
            }
            Item::Concat(parts) | Item::Alternate(parts) | Item::And(parts) => {
                parts.iter().for_each(|part| self.names_in(module, part, parameters));
            }
            Item::Repeat(part, ..) | Item::Not(part) | Item::Where(part, _) => {
                self.names_in(module, part, parameters);
            }
            Item::Text { .. }
            | Item::Regex(_)
            | Item::Tokens(_)
            | Item::Range(..)
            | Item::Chain(_)
            | Item::Schema(_) => {}
        }
    }
}
