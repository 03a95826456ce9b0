//! Terminals as regular expressions: what they refer to is put in their place.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use gobo_automata::{CharSet, CharState, Language, Minterms, Symbol};
use gobo_types::{Budget, CompileError, MatchMode, RefusalKind};
use regex_syntax::hir::HirKind;

use super::modules::{Defined, DefinitionId, Found, ModuleId, Modules};
use super::syntax::{At, End, Home, Item, Pattern, is_terminal};
use crate::bnf::shown;
use crate::regex::{Flavour, Node, Stop, alone, parse, placed, with_cases};

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
    /// The texts of rules that end before a text.
    bodies: HashMap<DefinitionId, Language>,
    /// The terminals in which a repetition is lazy.
    pub(super) lazy: BTreeSet<String>,
}

impl<'a> Terminals<'a> {
    pub(super) fn new(modules: &'a Modules<'a>, budget: &'a Budget) -> Self {
        let (built, bodies) = (HashMap::new(), HashMap::new());
        Self { modules, budget, built, open: Vec::new(), bodies, lazy: BTreeSet::new() }
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
        let mut node = Node::alternate(bodies);
        if let Some(end) = &defined.attributes.end {
            node = self.ended(defined, node, end)?;
        }
        self.open.pop();
        let (nodes, levels) = measure(&node);
        if levels > NEST_LIMIT {
            return Err(self.too_deep(defined.module, defined.at));
        }
        self.built.insert(definition, (node.clone(), nodes, levels));
        Ok(node)
    }

    /// The texts of a rule that ends before a text, after [`Self::named`], and that text.
    ///
    /// # Errors
    /// As [`Self::node`].
    pub(super) fn stop(&mut self, definition: DefinitionId, text: &At<Item>) -> Result<Stop, CompileError> {
        let Defined { name, module, .. } = &self.modules.definitions[definition];
        let node = self.node(*module, text, name)?;
        let follows = self.here(*module, text.at, alone(&node, self.budget))?;
        let body = self.bodies.get(&definition).cloned().unwrap_or_else(Language::none);
        Ok(Stop { body, follows })
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
            Item::Chain(pieces) => Node::Texts(Arc::new(Language::substrings(pieces, self.budget)?)),
            Item::Tokens(_) => return Err(self.no_terminal(module, part.at, "a token edge")),
            Item::Schema(_) => return Err(self.no_terminal(module, part.at, "%json")),
            Item::Valued(..) => return Err(self.no_terminal(module, part.at, "name::value")),
            Item::Where(..) => return Err(self.no_terminal(module, part.at, "%if")),
        })
    }

    fn no_terminal(&self, module: ModuleId, at: usize, what: &str) -> CompileError {
        let reason = format!("{what} stands in rules alone, and here is a terminal");
        self.modules.malformed(module, at, reason).advising("Make a rule of it: its name is lower-case.")
    }

    /// The texts of a rule that is one lexeme and ends early. A suffix without texts of its own changes nothing.
    fn ended(&mut self, defined: &Defined, node: Node, end: &End) -> Result<Node, CompileError> {
        let (module, at) = (defined.module, defined.at);
        let node = match end {
            _ if !end.is_early() => return Ok(node),
            End::Lazy => node,
            End::Suffix(text) => Node::concat(vec![node, self.node(module, text, &defined.name)?]),
            End::Stop(text) if self.modules.home() == Home::Lark => {
                let reason =
                    "the attribute stop ends a lexeme before a text, and the lexer none has no lexemes";
                let error = self.modules.refuse(RefusalKind::Unsupported, module, text.at, reason);
                return Err(error.advising("Give --lexer longest (the field lexer)."));
            }
            End::Stop(text) => {
                // The text before is kept apart from what follows, which is read again.
                let body = self.here(module, at, alone(&node, self.budget))?;
                let definition = self.open.last().copied();
                let follows = self.node(module, text, &defined.name)?;
                if let Some(definition) = definition {
                    self.bodies.insert(definition, body);
                }
                Node::concat(vec![node, follows])
            }
        };
        let language = self.here(module, at, alone(&node, self.budget))?;
        Ok(Node::Texts(Arc::new(shortest(&language, self.budget)?)))
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
        if self.modules.home() == Home::Llguidance {
            return self.rust_regex(module, at, pattern, name);
        }
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

    /// A regular expression of llguidance's dialect: Rust's.
    fn rust_regex(
        &mut self,
        module: ModuleId,
        at: usize,
        pattern: &Pattern,
        name: &str,
    ) -> Result<Node, CompileError> {
        let mut source = pattern.flags.in_rust();
        let offset = source.len();
        source.push_str(&pattern.source);
        let language =
            Language::regex(&source, MatchMode::Full, self.budget).map_err(|error| match error {
                CompileError::Refused(refusal) => {
                    let start = refusal.span.map_or(0, |span| usize::try_from(span.start).unwrap_or(0));
                    let at = pattern.places.get(start.saturating_sub(offset)).copied().unwrap_or(at);
                    let error = self.modules.refuse(refusal.kind, module, at, refusal.reason.to_string());
                    error.advising(refusal.help.to_string())
                }
                other => other,
            })?;
        if prefers_fewer(&source) {
            self.lazy.insert(name.to_owned());
        }
        Ok(Node::Texts(Arc::new(language)))
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

/// Whether a repetition of a pattern in Rust's syntax prefers to end early.
fn prefers_fewer(pattern: &str) -> bool {
    let Ok(hir) = regex_syntax::parse(pattern) else { return false };
    let mut open = vec![&hir];
    while let Some(hir) = open.pop() {
        match hir.kind() {
            HirKind::Repetition(repetition) if !repetition.greedy => return true,
            _ => open.extend(hir.kind().subs()),
        }
    }
    false
}

/// The texts of a language of which no other one is a beginning.
fn shortest(language: &Language, budget: &Budget) -> Result<Language, CompileError> {
    let minterms = Minterms::of(&[], std::slice::from_ref(language), budget)?;
    let expand = |state: &CharState, row: &mut Vec<(Symbol, CharState)>| {
        let ends = language.may_end(*state);
        for minterm in minterms.all().filter(|_| !ends) {
            let after = minterms.step(minterm, 0, language, *state);
            if after != CharState::DEAD {
                row.push((minterm, after));
            }
        }
        Ok(ends)
    };
    if language.is_empty() {
        return Ok(Language::none());
    }
    Language::explore_minterms(&minterms, language.start(), expand, budget)
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
        Node::Repeat { node, .. } | Node::Named(_, node) => {
            let (nodes, levels) = measure(node);
            (nodes + 1, levels + 1)
        }
        Node::Look(look) => {
            let (nodes, levels) = measure(&look.node);
            (nodes + 1, levels + 1)
        }
    }
}
