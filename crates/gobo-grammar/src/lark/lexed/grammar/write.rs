//! Rules as Lark reads them: templates written out, and terminals without a name named, because the order of terminals ends with names.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use gobo_types::{Budget, CompileError, Table};

use super::super::super::modules::{DefinitionId, Found, MAIN, ModuleId, Modules};
use super::super::super::syntax::{At, Home, Item};
use super::names::{anonymous, depth_first};
use super::pattern::{Patterns, Text};
use super::symbols::{NonterminalId, Productions, Symbol, Terminal, TerminalId};
use super::trees::{Tree, Trees};
use crate::bnf::shown;
use crate::regex::Flags;

const PHASE: &str = "writing out rules";

/// Bytes that a rule or a part of one is charged.
const RULE_BYTES: u64 = 128;

/// The declared terminals that begin and end a block of lines.
const INDENT: &str = "_INDENT";
const DEDENT: &str = "_DEDENT";

/// What a parameter of a template stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Argument {
    Symbol(Symbol),
    Template(DefinitionId),
}

/// A definition with what it is given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Instance {
    definition: DefinitionId,
    arguments: Vec<Argument>,
    value: Option<u64>,
}

/// What names and numbers mean in a rule.
struct Scope<'a> {
    arguments: HashMap<&'a str, Argument>,
    value: u64,
}

struct Writer<'a> {
    modules: &'a Modules<'a>,
    patterns: Patterns<'a>,
    budget: &'a Budget,
    terminals: Table<TerminalId, Terminal>,
    terminal_of: HashMap<DefinitionId, TerminalId>,
    /// Terminals without a name, by where they stand.
    literals: HashMap<(ModuleId, usize), TerminalId>,
    /// Terminals by what makes two patterns one.
    known: HashMap<(bool, String, Flags), TerminalId>,
    terminal_names: HashSet<String>,
    trees: Trees<'a>,
    rule_of: HashMap<Instance, NonterminalId>,
    /// The rules of terminals that may be left out.
    optional: HashMap<TerminalId, NonterminalId>,
    pending: VecDeque<(Instance, NonterminalId)>,
    instances: usize,
    anonymous: usize,
    blocks: Option<(TerminalId, TerminalId)>,
}

/// The productions of a grammar.
///
/// # Errors
/// A refusal naming the construct, its line and its column; [`CompileError::OverBudget`].
pub(in super::super) fn productions(
    modules: &Modules<'_>,
    start: DefinitionId,
    budget: &Budget,
) -> Result<Productions, CompileError> {
    let mut writer = Writer {
        modules,
        patterns: Patterns::new(modules, budget),
        budget,
        terminals: Table::new(),
        terminal_of: HashMap::new(),
        literals: HashMap::new(),
        known: HashMap::new(),
        terminal_names: HashSet::new(),
        trees: Trees::new(budget),
        rule_of: HashMap::new(),
        optional: HashMap::new(),
        pending: VecDeque::new(),
        instances: 0,
        anonymous: 0,
        blocks: None,
    };
    let needed = writer.name_terminals(start)?;
    writer.blocks = writer.declare_blocks();
    let mut ignored = Vec::new();
    for (at, body) in modules.ignored.iter().enumerate() {
        ignored.push(writer.ignore(at, body)?);
    }
    // All rules of the grammar are read, because those that call each other keep their terminals, whoever calls them.
    for definition in needed {
        let defined = &modules.definitions[definition];
        if defined.parameters.is_empty() && !defined.is_parametric {
            writer.rule(Instance::of(definition), MAIN, 0)?;
        }
    }
    let start = match writer.terminal_of.get(&start) {
        Some(&terminal) => {
            let rule = writer.trees.nonterminal(modules.definitions[start].name.clone(), 0)?;
            let symbol = writer.symbol(terminal)?;
            writer.trees.write(rule, Tree::Symbol(symbol));
            rule
        }
        None => writer.rule(Instance::of(start), MAIN, 0)?,
    };
    while let Some((instance, id)) = writer.pending.pop_front() {
        writer.write(&instance, id)?;
    }
    writer.trees.finish(start, ignored, writer.terminals, writer.blocks, writer.patterns.into_said())
}

impl Instance {
    fn of(definition: DefinitionId) -> Self {
        Self { definition, arguments: Vec::new(), value: None }
    }
}

impl Writer<'_> {
    /// Makes terminals of all definitions that the grammar has or needs; the rules among them, in their order.
    fn name_terminals(&mut self, start: DefinitionId) -> Result<Vec<DefinitionId>, CompileError> {
        let modules = self.modules;
        let mut needed: BTreeSet<DefinitionId> = BTreeSet::new();
        let mut open: Vec<DefinitionId> = vec![start];
        open.extend(modules.definitions.enumerate().filter(|of| of.1.module == MAIN).map(|of| of.0));
        while let Some(definition) = open.pop() {
            self.budget.charge_steps(PHASE, 1)?;
            if !needed.insert(definition) || modules.is_lexeme(definition) {
                continue;
            }
            for (module, body) in &modules.definitions[definition].bodies {
                open.extend(modules.called(*module, body));
            }
        }
        for body in &modules.ignored {
            if let Item::Name(_) = &body.what {
                needed.extend(modules.called(MAIN, body));
            }
        }
        let (terminals, rules): (Vec<_>, Vec<_>) = needed.into_iter().partition(|&of| modules.is_lexeme(of));
        for definition in terminals {
            let defined = &modules.definitions[definition];
            let text = self.patterns.named(definition, defined.module, defined.at)?;
            let name = modules.lark_name(definition);
            let at = (defined.module, defined.at);
            let id = self.terminal(name, defined.priority, text, at)?;
            self.terminal_of.insert(definition, id);
        }
        Ok(rules)
    }

    /// Makes terminals of those that begin and end a block, if both are declared alone. They have no texts of their own: a lexer
    /// never finds them.
    fn declare_blocks(&mut self) -> Option<(TerminalId, TerminalId)> {
        let is_declared = |name| self.modules.find(MAIN, name) == Some(Found::Declared);
        if !is_declared(INDENT) || !is_declared(DEDENT) {
            return None;
        }
        let mut declare = |name: &str| {
            let (name, text) = (name.to_owned(), Text::declared());
            self.terminals.push(Terminal { name, priority: 0, text, at: (MAIN, 0) })
        };
        Some((declare(INDENT), declare(DEDENT)))
    }

    fn terminal(
        &mut self,
        name: String,
        priority: i64,
        text: Text,
        at: (ModuleId, usize),
    ) -> Result<TerminalId, CompileError> {
        self.budget.charge_bytes(PHASE, RULE_BYTES + name.len() as u64)?;
        self.terminal_names.insert(name.clone());
        let identity = text.identity();
        let id = self.terminals.push(Terminal { name, priority, text, at });
        if let Some(identity) = identity {
            self.known.insert(identity, id);
        }
        Ok(id)
    }

    fn ignore(&mut self, at: usize, body: &At<Item>) -> Result<TerminalId, CompileError> {
        // In llguidance a terminal that is ignored may stand in rules as well.
        if self.modules.home() == Home::Lark
            && let Item::Name(name) = &body.what
            && let Found::Definition(definition) = self.modules.found(MAIN, name, body.at)?
            && let Some(&id) = self.terminal_of.get(&definition)
        {
            return Ok(id);
        }
        let text = self.patterns.part(MAIN, body, "that is ignored")?;
        self.terminal(format!("__IGNORE_{at}"), 0, text, (MAIN, body.at))
    }

    /// The rule of a definition with what it is given.
    fn rule(&mut self, key: Instance, module: ModuleId, at: usize) -> Result<NonterminalId, CompileError> {
        if let Some(&known) = self.rule_of.get(&key) {
            return Ok(known);
        }
        let modules = self.modules;
        let given = (key.arguments.len(), key.value);
        modules.check_use(key.definition, given, &mut self.instances, (module, at))?;
        let defined = &modules.definitions[key.definition];
        let id = self.trees.nonterminal(defined.name.clone(), defined.priority)?;
        self.pending.push_back((key.clone(), id));
        self.rule_of.insert(key, id);
        Ok(id)
    }

    fn write(&mut self, instance: &Instance, id: NonterminalId) -> Result<(), CompileError> {
        let modules = self.modules;
        let defined = &modules.definitions[instance.definition];
        let names = defined.parameters.iter().map(String::as_str);
        let arguments = names.zip(instance.arguments.iter().cloned()).collect();
        let scope = Scope { arguments, value: instance.value.unwrap_or_default() };
        self.trees.current.clone_from(&defined.name);
        for (module, body) in &defined.bodies {
            for literal in depth_first(body) {
                self.literal(*module, literal)?;
            }
        }
        let mut any = Vec::new();
        for (module, body) in defined.bodies.iter().rev() {
            any.push(self.tree(*module, body, &scope)?);
        }
        self.trees.write(id, Tree::Any(any));
        Ok(())
    }

    fn tree(&mut self, module: ModuleId, part: &At<Item>, scope: &Scope<'_>) -> Result<Tree, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, RULE_BYTES)?;
        let all = |writer: &mut Self, parts: &[At<Item>]| {
            parts.iter().map(|part| writer.tree(module, part, scope)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match &part.what {
            Item::Concat(parts) => Tree::Sequence(all(self, parts)?),
            Item::Alternate(parts) => Tree::Any(all(self, parts)?),
            Item::Where(part, condition) if condition.holds(scope.value) => self.tree(module, part, scope)?,
            Item::Where(..) => Tree::Any(Vec::new()),
            Item::Text { text, .. } if text.is_empty() && self.modules.home() == Home::Llguidance => {
                Tree::Sequence(Vec::new())
            }
            Item::Repeat(part, min, max) => {
                let tree = self.tree(module, part, scope)?;
                self.trees.repeat(tree, *min, *max)?
            }
            _ => match self.argument(module, part, scope)? {
                Argument::Symbol(symbol) => Tree::Symbol(symbol),
                Argument::Template(definition) => {
                    let name = shown(&self.modules.definitions[definition].name);
                    let reason = format!("the template {name} is without arguments here");
                    return Err(self.modules.malformed(module, part.at, reason));
                }
            },
        })
    }

    /// A part that is one symbol.
    fn argument(
        &mut self,
        module: ModuleId,
        part: &At<Item>,
        scope: &Scope<'_>,
    ) -> Result<Argument, CompileError> {
        let modules = self.modules;
        match &part.what {
            Item::Name(name) => {
                if let Some(argument) = scope.arguments.get(name.as_str()) {
                    return Ok(argument.clone());
                }
                let Found::Definition(definition) = modules.found(module, name, part.at)? else {
                    return match self.blocks {
                        Some((indent, _)) if name == INDENT => Ok(Argument::Symbol(Symbol::Terminal(indent))),
                        Some((_, dedent)) if name == DEDENT => Ok(Argument::Symbol(Symbol::Terminal(dedent))),
                        _ => Err(self.patterns.declared(module, name, part.at)),
                    };
                };
                if let Some(&terminal) = self.terminal_of.get(&definition) {
                    return self.symbol(terminal).map(Argument::Symbol);
                }
                if !modules.definitions[definition].parameters.is_empty() {
                    return Ok(Argument::Template(definition));
                }
                let rule = self.rule(Instance::of(definition), module, part.at)?;
                Ok(Argument::Symbol(Symbol::Rule(rule)))
            }
            Item::Valued(name, value) => {
                let Found::Definition(definition) = modules.found(module, name, part.at)? else {
                    return Err(self.patterns.declared(module, name, part.at));
                };
                let value = Some(value.of(scope.value));
                let rule = self.rule(Instance { value, ..Instance::of(definition) }, module, part.at)?;
                Ok(Argument::Symbol(Symbol::Rule(rule)))
            }
            Item::Template(name, arguments) => {
                let definition = match scope.arguments.get(name.as_str()) {
                    Some(Argument::Template(definition)) => *definition,
                    Some(_) => {
                        let reason = format!("{} is no template here", shown(name));
                        return Err(modules.malformed(module, part.at, reason));
                    }
                    None => match modules.found(module, name, part.at)? {
                        Found::Definition(definition) => definition,
                        Found::Declared => return Err(self.patterns.declared(module, name, part.at)),
                    },
                };
                let mut given = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    given.push(self.argument(module, argument, scope)?);
                }
                let instance = Instance { arguments: given, ..Instance::of(definition) };
                let rule = self.rule(instance, module, part.at)?;
                Ok(Argument::Symbol(Symbol::Rule(rule)))
            }
            Item::Concat(_) | Item::Alternate(_) | Item::Repeat(..) | Item::Where(..) => {
                let reason =
                    "an argument of a template is a name, a text or a template; give other parts a name";
                Err(modules.malformed(module, part.at, reason))
            }
            Item::Text { .. }
            | Item::Regex(_)
            | Item::Tokens(_)
            | Item::Range(..)
            | Item::And(_)
            | Item::Not(_)
            | Item::Chain(_)
            | Item::Schema(_) => {
                let terminal = self.literal(module, part)?;
                self.symbol(terminal).map(Argument::Symbol)
            }
        }
    }

    /// What stands for a terminal in productions: a rule that may be empty, if it has the empty text, which no lexer finds. Lark's
    /// terminals have not.
    fn symbol(&mut self, terminal: TerminalId) -> Result<Symbol, CompileError> {
        if self.modules.home() == Home::Lark || !self.terminals[terminal].text.may_be_empty() {
            return Ok(Symbol::Terminal(terminal));
        }
        if let Some(&known) = self.optional.get(&terminal) {
            return Ok(Symbol::Rule(known));
        }
        let rule = self.trees.nonterminal(self.terminals[terminal].name.clone(), 0)?;
        let some = Tree::Symbol(Symbol::Terminal(terminal));
        self.trees.write(rule, Tree::Any(vec![some, Tree::Sequence(Vec::new())]));
        self.optional.insert(terminal, rule);
        Ok(Symbol::Rule(rule))
    }

    /// The terminal of a text or a pattern in a rule.
    fn literal(&mut self, module: ModuleId, part: &At<Item>) -> Result<TerminalId, CompileError> {
        if let Some(&known) = self.literals.get(&(module, part.at)) {
            return Ok(known);
        }
        let terminal = self.new_literal(module, part)?;
        self.literals.insert((module, part.at), terminal);
        Ok(terminal)
    }

    fn new_literal(&mut self, module: ModuleId, part: &At<Item>) -> Result<TerminalId, CompileError> {
        let shown = match &part.what {
            Item::Regex(pattern) => format!("/{}/", shown(&pattern.source)),
            Item::Text { text, .. } => shown(&format!("{text:?}")),
            _ => "without a name".to_owned(),
        };
        let mut text = self.patterns.part(module, part, &shown)?;
        if let Item::Range(set, written) = &part.what
            && self.modules.home() == Home::Lark
        {
            text.source = Some(format!("range {set:?} {written}"));
        }
        if let Some(&known) = text.identity().and_then(|identity| self.known.get(&identity)) {
            return Ok(known);
        }
        let name = text.literal.as_deref().and_then(anonymous);
        let name = name.filter(|name| !self.terminal_names.contains(name)).unwrap_or_else(|| {
            self.anonymous += 1;
            format!("__ANON_{}", self.anonymous - 1)
        });
        self.terminal(name, 0, text, (module, part.at))
    }
}
