//! Terminals as regular expressions: what they refer to is put in their place.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use gobo_automata::{CharSet, Language};
use gobo_types::{Budget, CompileError, RefusalKind};

use super::modules::{DefinitionId, Found, ModuleId, Modules};
use super::syntax::{At, Item, Pattern, is_terminal};
use crate::bnf::{shown, substring_of};
use crate::regex::{Flavour, Node, parse, placed, with_cases};

const PHASE: &str = "building terminals";

/// Bytes of a node that is put in the place of a name.
const NODE_BYTES: u64 = 128;

/// Deepest nesting of a terminal, with those that it refers to.
const NEST_LIMIT: u32 = 250;

/// The terminals of a grammar, as they are asked for.
pub(super) struct Terminals<'a> {
    modules: &'a Modules<'a>,
    budget: &'a Budget,
    /// Those that were built, with the nodes and the levels of each.
    built: HashMap<DefinitionId, (Node, u64, u32)>,
    /// Those that are being built.
    open: Vec<DefinitionId>,
    /// The terminals in which a repetition is lazy.
    pub(super) lazy: BTreeSet<String>,
}

impl<'a> Terminals<'a> {
    pub(super) fn new(modules: &'a Modules<'a>, budget: &'a Budget) -> Self {
        Self { modules, budget, built: HashMap::new(), open: Vec::new(), lazy: BTreeSet::new() }
    }

    /// A terminal as a tree.
    pub(super) fn named(
        &mut self,
        definition: DefinitionId,
        user: ModuleId,
        at: usize,
    ) -> Result<Node, CompileError> {
        if let Some((node, nodes, _)) = self.built.get(&definition) {
            self.budget.charge_steps(PHASE, *nodes)?;
            self.budget.charge_bytes(PHASE, *nodes * NODE_BYTES)?;
            return Ok(node.clone());
        }
        let defined = &self.modules.definitions[definition];
        if let Some(first) = self.open.iter().position(|open| *open == definition) {
            let circle: Vec<String> =
                self.open[first..].iter().map(|of| shown(&self.modules.definitions[*of].name)).collect();
            let reason =
                format!("the terminal {} refers to itself, through {}", circle[0], circle.join(", "));
            return Err(self
                .modules
                .malformed(user, at, reason)
                .advising("Make rules of them: their names are lower-case."));
        }
        if self.open.len() >= NEST_LIMIT as usize {
            return Err(self.too_deep(user, at));
        }
        self.open.push(definition);
        let mut bodies = Vec::with_capacity(defined.bodies.len());
        for (module, body) in &defined.bodies {
            bodies.push(self.node(*module, body, &defined.name)?);
        }
        self.open.pop();
        let node = Node::alternate(bodies);
        let (nodes, levels) = measure(&node);
        if levels > NEST_LIMIT {
            return Err(self.too_deep(defined.module, defined.at));
        }
        self.built.insert(definition, (node.clone(), nodes, levels));
        Ok(node)
    }

    fn too_deep(&self, module: ModuleId, at: usize) -> CompileError {
        let reason = format!("terminals nest deeper than {NEST_LIMIT} levels");
        self.modules.refuse(RefusalKind::Unsupported, module, at, reason)
    }

    /// The tree of a part of the terminal `name`.
    pub(super) fn node(
        &mut self,
        module: ModuleId,
        part: &At<Item>,
        name: &str,
    ) -> Result<Node, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        Ok(match &part.what {
            Item::Name(of) | Item::Template(of, _) if !is_terminal(of) => {
                let reason = format!("the terminal {} refers to the rule {}", shown(name), shown(of));
                return Err(self.modules.malformed(module, part.at, reason));
            }
            Item::Template(..) => {
                let reason = "templates of terminals are not supported";
                return Err(self.modules.refuse(RefusalKind::Unsupported, module, part.at, reason));
            }
            Item::Name(of) => match self.modules.found(module, of, part.at)? {
                Found::Definition(definition) => self.named(definition, module, part.at)?,
                Found::Declared => return Err(self.declared(module, of, part.at)),
            },
            Item::Text { text, ignores_case: false } => Node::Text(text.clone()),
            Item::Text { text, ignores_case: true } => any_case(text),
            Item::Regex(pattern) => self.regex(module, part.at, pattern, name)?,
            Item::Range(set, _) => Node::Chars(set.clone()),
            Item::Concat(parts) => Node::concat(self.all(module, parts, name)?),
            Item::Alternate(parts) => Node::alternate(self.all(module, parts, name)?),
            Item::Repeat(part, min, max) => self.node(module, part, name)?.repeat(*min, *max),
            Item::And(parts) => {
                let mut both: Option<Language> = None;
                for part in parts {
                    let language = self.plain(module, part, name)?;
                    both = Some(match both {
                        None => language,
                        Some(both) => both.intersection(&language, self.budget)?,
                    });
                }
                Node::Texts(Arc::new(both.unwrap_or_else(Language::none)))
            }
            Item::Not(part) => {
                Node::Texts(Arc::new(self.plain(module, part, name)?.complement(self.budget)?))
            }
            Item::Chain(pieces) => Node::Texts(Arc::new(substring_of(pieces, self.budget)?)),
        })
    }

    fn all(&mut self, module: ModuleId, parts: &[At<Item>], name: &str) -> Result<Vec<Node>, CompileError> {
        parts.iter().map(|part| self.node(module, part, name)).collect()
    }

    /// The language of an operand of `&` or `~`: what stands around it must not matter.
    fn plain(&mut self, module: ModuleId, part: &At<Item>, name: &str) -> Result<Language, CompileError> {
        let node = self.node(module, part, name)?;
        let placed = self.here(module, part.at, placed(&node, self.budget))?;
        if placed.depends {
            let reason = "an operand of & or ~ looks at what stands around it";
            return Err(self.modules.refuse(RefusalKind::Unsupported, module, part.at, reason));
        }
        Ok(placed.always)
    }

    pub(super) fn declared(&self, module: ModuleId, name: &str, at: usize) -> CompileError {
        let reason = format!(
            "the terminal {} is declared alone: its texts come from a post-lexer, and the lexer none has none",
            shown(name)
        );
        self.modules.refuse(RefusalKind::Unsupported, module, at, reason)
    }

    pub(super) fn regex(
        &mut self,
        module: ModuleId,
        at: usize,
        pattern: &Pattern,
        name: &str,
    ) -> Result<Node, CompileError> {
        let parsed = parse(&pattern.source, pattern.flags, Flavour::Python, self.budget);
        let parsed = parsed.map_err(|error| match error {
            CompileError::Refused(refusal) => {
                let offset = refusal.span.map_or(0, |span| usize::try_from(span.start).unwrap_or(0));
                let at = pattern.places.get(offset).copied().unwrap_or(at);
                let error = self.modules.refuse(refusal.kind, module, at, refusal.reason.to_string());
                error.advising(refusal.help.to_string())
            }
            other => other,
        })?;
        if parsed.is_lazy {
            self.lazy.insert(name.to_owned());
        }
        Ok(parsed.node)
    }

    /// A result of the regular expressions at a place.
    pub(super) fn here<T>(
        &self,
        module: ModuleId,
        at: usize,
        result: Result<T, CompileError>,
    ) -> Result<T, CompileError> {
        result.map_err(|error| match error {
            CompileError::Refused(refusal) => {
                self.modules.refuse(refusal.kind, module, at, refusal.reason.to_string())
            }
            other => other,
        })
    }
}

/// A text in any case.
pub(super) fn any_case(text: &str) -> Node {
    let of = |char| Node::Chars(with_cases(&CharSet::new([(char, char)]), false));
    Node::concat(text.chars().map(of).collect())
}

/// The nodes of a tree, and its levels.
pub(super) fn measure(node: &Node) -> (u64, u32) {
    match node {
        Node::Text(_) | Node::Chars(_) | Node::Texts(_) => (1, 1),
        Node::Concat(parts) | Node::Alternate(parts) => {
            let parts = parts.iter().map(measure);
            let (nodes, levels) =
                parts.fold((0_u64, 0_u32), |(nodes, levels), (more, deep)| (nodes + more, levels.max(deep)));
            (nodes + 1, levels + 1)
        }
        Node::Repeat { node, .. } => {
            let (nodes, levels) = measure(node);
            (nodes + 1, levels + 1)
        }
        Node::Look(look) => {
            let (nodes, levels) = measure(&look.node);
            (nodes + 1, levels + 1)
        }
    }
}
