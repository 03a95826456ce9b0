//! What names are used for: that they mean something, what they are given, and which definitions a part needs.

use gobo_types::{CompileError, RefusalKind};

use super::super::syntax::{Body, End, Item, is_terminal};
use super::super::values::Condition;
use super::{DefinitionId, Found, MAIN, ModuleId, Modules};
use crate::bnf::shown;

/// Most rules that templates, and rules with a parameter, become.
const MAX_INSTANCES: usize = 4096;

/// Where a part of a rule asks for the rule's own parameter.
fn parameter_in(body: &Body) -> Option<usize> {
    let mut open = vec![body];
    while let Some(part) = open.pop() {
        match &part.what {
            Item::Valued(_, value) if value.depends() => return Some(part.at),
            Item::Where(inner, condition) if *condition == Condition::Always => open.push(inner),
            Item::Where(..) => return Some(part.at),
            Item::Concat(parts) | Item::Alternate(parts) | Item::And(parts) | Item::Template(_, parts) => {
                open.extend(parts);
            }
            Item::Repeat(part, ..) | Item::Not(part) => open.push(part),
            Item::Name(_)
            | Item::Valued(..)
            | Item::Text { .. }
            | Item::Regex(_)
            | Item::Tokens(_)
            | Item::Range(..)
            | Item::Chain(_)
            | Item::Schema(_) => {}
        }
    }
    None
}

impl Modules<'_> {
    /// Refuses names of the constraint's own grammar that mean nothing, also where no text needs them.
    pub(crate) fn check_names(&self) -> Result<(), CompileError> {
        for defined in &self.definitions {
            if let Some(End::Suffix(text) | End::Stop(text)) = &defined.attributes.end {
                self.check(defined.module, text, &[])?;
            }
            for (module, body) in defined.bodies.iter().filter(|(module, _)| *module == MAIN) {
                self.check(*module, body, &defined.parameters)?;
                if !defined.is_parametric
                    && let Some(at) = parameter_in(body)
                {
                    let reason =
                        format!("{} has no parameter, and here is one asked for", shown(&defined.name));
                    return Err(self.malformed(*module, at, reason).advising("Write name::_: …"));
                }
            }
        }
        self.ignored.iter().try_for_each(|body| self.check(MAIN, body, &[]))
    }

    fn check(&self, module: ModuleId, body: &Body, parameters: &[String]) -> Result<(), CompileError> {
        match &body.what {
            Item::Name(name) if parameters.contains(name) => Ok(()),
            Item::Name(name) | Item::Valued(name, _) => self.found(module, name, body.at).map(drop),
            Item::Template(name, arguments) => {
                if !parameters.contains(name) {
                    self.found(module, name, body.at)?;
                }
                arguments.iter().try_for_each(|part| self.check(module, part, parameters))
            }
            Item::Concat(parts) | Item::Alternate(parts) | Item::And(parts) => {
                parts.iter().try_for_each(|part| self.check(module, part, parameters))
            }
            Item::Repeat(part, ..) | Item::Not(part) | Item::Where(part, _) => {
                self.check(module, part, parameters)
            }
            Item::Text { .. }
            | Item::Regex(_)
            | Item::Tokens(_)
            | Item::Range(..)
            | Item::Chain(_)
            | Item::Schema(_) => Ok(()),
        }
    }

    /// The definitions that a part names, in any order.
    pub(crate) fn called(&self, module: ModuleId, part: &Body) -> Vec<DefinitionId> {
        let (mut found, mut open) = (Vec::new(), vec![part]);
        while let Some(part) = open.pop() {
            match &part.what {
                Item::Name(name) | Item::Valued(name, _) => found.push(self.find(module, name)),
                Item::Template(name, arguments) => {
                    found.push(self.find(module, name));
                    open.extend(arguments);
                }
                Item::Concat(parts) | Item::Alternate(parts) | Item::And(parts) => open.extend(parts),
                Item::Repeat(part, ..) | Item::Not(part) | Item::Where(part, _) => open.push(part),
                Item::Text { .. }
                | Item::Regex(_)
                | Item::Tokens(_)
                | Item::Range(..)
                | Item::Chain(_)
                | Item::Schema(_) => {}
            }
        }
        let definition = |found: Option<Found>| match found {
            Some(Found::Definition(definition)) => Some(definition),
            Some(Found::Declared) | None => None,
        };
        found.into_iter().filter_map(definition).collect()
    }

    /// Whether a definition is a terminal, or a rule that is one lexeme.
    pub(crate) fn is_lexeme(&self, definition: DefinitionId) -> bool {
        let defined = &self.definitions[definition];
        is_terminal(&defined.name) || defined.attributes.are_set()
    }

    /// Looks at what a definition is given where it is used: as many arguments as it has parameters, and a number if it is to have one.
    /// `instances` counts the rules that templates and rules with numbers become.
    ///
    /// # Errors
    /// A refusal at the place of the use.
    pub(crate) fn check_use(
        &self,
        definition: DefinitionId,
        (arguments, value): (usize, Option<u64>),
        instances: &mut usize,
        (module, at): (ModuleId, usize),
    ) -> Result<(), CompileError> {
        let defined = &self.definitions[definition];
        let name = shown(&defined.name);
        if defined.parameters.len() != arguments {
            let parameters = defined.parameters.len();
            let reason = format!("{name} has {parameters} parameters, and here are {arguments} arguments");
            return Err(self.malformed(module, at, reason));
        }
        if defined.is_parametric != value.is_some() {
            let reason = if defined.is_parametric {
                format!("the rule {name} has a parameter, and here is none")
            } else {
                format!("the rule {name} has no parameter, and here is one")
            };
            return Err(self.malformed(module, at, reason));
        }
        if arguments > 0 || value.is_some() {
            *instances += 1;
            if *instances > MAX_INSTANCES {
                let reason = format!(
                    "templates and rules with a parameter become more than {MAX_INSTANCES} rules; {name} is one of them"
                );
                return Err(self.refuse(RefusalKind::Unsupported, module, at, reason));
            }
        }
        Ok(())
    }
}
