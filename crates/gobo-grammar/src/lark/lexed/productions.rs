//! The productions that Lark makes of rules.
//!
//! Repetitions become rules of their own, and alternatives are multiplied out: `x+` is `p: x | p x`, and one `p` serves all repetitions of
//! an equal part, `x*` among them. Which productions there are decides which states the parser has, and with it which terminals are
//! active where. Terminals without a name get one, because the order of terminals ends with their names.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use gobo_types::{Budget, CompileError, RefusalKind, Table, dense_id};

use super::super::modules::{DefinitionId, Found, MAIN, ModuleId, Modules};
use super::super::rules::MAX_INSTANCES;
use super::super::syntax::{At, Item, is_terminal};
use super::names::{anonymous, depth_first};
use super::pattern::{Patterns, Text};
use crate::bnf::shown;

const PHASE: &str = "writing out rules";

/// Bytes that a rule or a part of one is charged.
const RULE_BYTES: u64 = 128;

/// From so many repetitions on they are written with rules for their factors, so that the productions stay few.
const FEW_REPETITIONS: u32 = 50;

/// The largest factor.
const MAX_FACTOR: u32 = 5;

dense_id! {
    /// A terminal.
    pub(super) struct TerminalId;

    /// A rule, or a part of one that became a rule.
    pub(super) struct NonterminalId;

    /// An alternative of a rule.
    pub(super) struct ProductionId;
}

/// A symbol of a production.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Symbol {
    Terminal(TerminalId),
    Rule(NonterminalId),
}

/// An alternative of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Production {
    pub(super) origin: NonterminalId,
    pub(super) body: Vec<Symbol>,
}

/// A terminal.
#[derive(Debug)]
pub(super) struct Terminal {
    pub(super) name: String,
    pub(super) priority: i64,
    pub(super) text: Text,
    /// Where it was first seen.
    pub(super) at: (ModuleId, usize),
}

/// The grammar as Lark's parser sees it.
pub(super) struct Productions {
    pub(super) terminals: Table<TerminalId, Terminal>,
    /// The names of rules; parts have that of the rule in which they stand.
    pub(super) names: Table<NonterminalId, String>,
    pub(super) priorities: Table<NonterminalId, i64>,
    pub(super) all: Table<ProductionId, Production>,
    /// `[rules]`.
    pub(super) of: Table<NonterminalId, Vec<ProductionId>>,
    pub(super) start: NonterminalId,
    pub(super) ignored: Vec<TerminalId>,
    /// The terminals that some production has, or that are ignored, ascending.
    pub(super) used: Vec<TerminalId>,
}

/// A part of a rule, its symbols resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Tree {
    Symbol(Symbol),
    /// One after the other.
    Sequence(Vec<Tree>),
    /// Any one of these.
    Any(Vec<Tree>),
}

/// What a parameter of a template stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Argument {
    Symbol(Symbol),
    Template(DefinitionId),
}

/// What a repetition becomes a rule for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Part {
    /// The part once or more.
    Repeated(Tree),
    /// The first one so many times, then the second so many times.
    Times(u32, u32, Tree, Tree),
    /// See [`Writer::up_to_rule`].
    UpTo(u32, u32, Tree, Tree),
}

type Scope<'a> = HashMap<&'a str, Argument>;

struct Writer<'a> {
    modules: &'a Modules<'a>,
    patterns: Patterns<'a>,
    budget: &'a Budget,
    terminals: Table<TerminalId, Terminal>,
    terminal_of: HashMap<DefinitionId, TerminalId>,
    /// Terminals by what makes two patterns one.
    known: HashMap<(bool, String, crate::regex::Flags), TerminalId>,
    terminal_names: HashSet<String>,
    names: Table<NonterminalId, String>,
    priorities: Table<NonterminalId, i64>,
    rule_of: HashMap<(DefinitionId, Vec<Argument>), NonterminalId>,
    pending: VecDeque<(DefinitionId, Vec<Argument>, NonterminalId)>,
    instances: usize,
    parts: HashMap<Part, NonterminalId>,
    trees: Vec<(NonterminalId, Tree)>,
    /// The rule that is being written.
    current: String,
    anonymous: usize,
}

/// The productions of a grammar.
///
/// # Errors
/// A refusal naming the construct, its line and its column; [`CompileError::OverBudget`].
pub(super) fn productions(
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
        known: HashMap::new(),
        terminal_names: HashSet::new(),
        names: Table::new(),
        priorities: Table::new(),
        rule_of: HashMap::new(),
        pending: VecDeque::new(),
        instances: 0,
        parts: HashMap::new(),
        trees: Vec::new(),
        current: String::new(),
        anonymous: 0,
    };
    let needed = writer.name_terminals(start)?;
    let mut ignored = Vec::new();
    for (at, body) in modules.ignored.iter().enumerate() {
        ignored.push(writer.ignore(at, body)?);
    }
    // All rules of the grammar are read, because those that call each other keep their terminals, whoever calls them.
    for definition in needed {
        if modules.definitions[definition].parameters.is_empty() {
            writer.rule(definition, Vec::new(), MAIN, 0)?;
        }
    }
    let start = writer.rule(start, Vec::new(), MAIN, 0)?;
    while let Some((definition, arguments, id)) = writer.pending.pop_front() {
        writer.write(definition, &arguments, id)?;
    }
    writer.finish(start, ignored)
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
            if !needed.insert(definition) || is_terminal(&modules.definitions[definition].name) {
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
        let (terminals, rules): (Vec<_>, Vec<_>) =
            needed.into_iter().partition(|&of| is_terminal(&modules.definitions[of].name));
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
        if let Item::Name(name) = &body.what
            && let Found::Definition(definition) = self.modules.found(MAIN, name, body.at)?
            && let Some(&id) = self.terminal_of.get(&definition)
        {
            return Ok(id);
        }
        let text = self.patterns.part(MAIN, body, "that is ignored")?;
        self.terminal(format!("__IGNORE_{at}"), 0, text, (MAIN, body.at))
    }

    fn nonterminal(&mut self, name: String, priority: i64) -> Result<NonterminalId, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, RULE_BYTES + name.len() as u64)?;
        self.priorities.push(priority);
        Ok(self.names.push(name))
    }

    /// The rule of a definition, for templates with these arguments.
    fn rule(
        &mut self,
        definition: DefinitionId,
        arguments: Vec<Argument>,
        module: ModuleId,
        at: usize,
    ) -> Result<NonterminalId, CompileError> {
        let key = (definition, arguments);
        if let Some(&known) = self.rule_of.get(&key) {
            return Ok(known);
        }
        let modules = self.modules;
        let defined = &modules.definitions[definition];
        if defined.parameters.len() != key.1.len() {
            let reason = format!(
                "{} has {} parameters, and here are {} arguments",
                shown(&defined.name),
                defined.parameters.len(),
                key.1.len()
            );
            return Err(modules.malformed(module, at, reason));
        }
        if !key.1.is_empty() {
            self.instances += 1;
            if self.instances > MAX_INSTANCES {
                let reason = format!(
                    "templates become more than {MAX_INSTANCES} rules; {} is one of them",
                    shown(&defined.name)
                );
                return Err(modules.refuse(RefusalKind::Unsupported, module, at, reason));
            }
        }
        let id = self.nonterminal(defined.name.clone(), defined.priority)?;
        self.pending.push_back((definition, key.1.clone(), id));
        self.rule_of.insert(key, id);
        Ok(id)
    }

    fn write(
        &mut self,
        definition: DefinitionId,
        arguments: &[Argument],
        id: NonterminalId,
    ) -> Result<(), CompileError> {
        let modules = self.modules;
        let defined = &modules.definitions[definition];
        let scope: Scope<'_> =
            defined.parameters.iter().map(String::as_str).zip(arguments.iter().cloned()).collect();
        self.current.clone_from(&defined.name);
        for (module, body) in &defined.bodies {
            for literal in depth_first(body) {
                self.literal(*module, literal)?;
            }
        }
        let mut any = Vec::new();
        for (module, body) in defined.bodies.iter().rev() {
            any.push(self.tree(*module, body, &scope)?);
        }
        self.trees.push((id, Tree::Any(any)));
        Ok(())
    }

    fn tree(
        &mut self,
        module: ModuleId,
        part: &At<Item>,
        scope: &Scope<'_>,
    ) -> Result<Tree, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, RULE_BYTES)?;
        let all = |writer: &mut Self, parts: &[At<Item>]| {
            parts.iter().map(|part| writer.tree(module, part, scope)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match &part.what {
            Item::Concat(parts) => Tree::Sequence(all(self, parts)?),
            Item::Alternate(parts) => Tree::Any(all(self, parts)?),
            Item::Repeat(part, min, max) => {
                let tree = self.tree(module, part, scope)?;
                self.repeat(tree, *min, *max)?
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

    fn repeat(&mut self, tree: Tree, min: u32, max: Option<u32>) -> Result<Tree, CompileError> {
        let nothing = || Tree::Sequence(Vec::new());
        Ok(match (min, max) {
            (0, Some(1)) => Tree::Any(vec![tree, nothing()]),
            (1, None) => self.repeated(tree)?,
            (0, None) => Tree::Any(vec![self.repeated(tree)?, nothing()]),
            (min, None) => {
                let first = self.times(&tree, min, min)?;
                Tree::Sequence(vec![first, self.repeat(tree, 0, None)?])
            }
            (min, Some(max)) => self.times(&tree, min, max)?,
        })
    }

    /// The rule of a part once or more.
    fn repeated(&mut self, tree: Tree) -> Result<Tree, CompileError> {
        self.part(Part::Repeated(tree), |part, id| {
            let Part::Repeated(tree) = part else { unreachable!("it was made above") };
            Tree::Any(vec![tree.clone(), Tree::Sequence(vec![Tree::Symbol(Symbol::Rule(id)), tree.clone()])])
        })
    }

    fn part(
        &mut self,
        part: Part,
        tree: impl FnOnce(&Part, NonterminalId) -> Tree,
    ) -> Result<Tree, CompileError> {
        if let Some(&known) = self.parts.get(&part) {
            return Ok(Tree::Symbol(Symbol::Rule(known)));
        }
        let id = self.nonterminal(self.current.clone(), 0)?;
        let tree = tree(&part, id);
        self.budget.charge_steps(PHASE, tree.size())?;
        self.budget.charge_bytes(PHASE, tree.size() * RULE_BYTES)?;
        self.trees.push((id, tree));
        self.parts.insert(part, id);
        Ok(Tree::Symbol(Symbol::Rule(id)))
    }

    fn times_rule(&mut self, a: u32, b: u32, target: &Tree, atom: &Tree) -> Result<Tree, CompileError> {
        self.part(Part::Times(a, b, target.clone(), atom.clone()), |_, _| {
            Tree::Sequence([copies(target, a), copies(atom, b)].concat())
        })
    }

    /// The rule of `0` to `a * n + b - 1` times the atom, where the target is `n` times and the option `0` to `n - 1` times.
    fn up_to_rule(
        &mut self,
        (a, b): (u32, u32),
        target: &Tree,
        option: &Tree,
        atom: &Tree,
    ) -> Result<Tree, CompileError> {
        self.part(Part::UpTo(a, b, target.clone(), atom.clone()), |_, _| {
            let some = (0..a).map(|times| Tree::Sequence([copies(target, times), vec![option.clone()]].concat()));
            let rest = (0..b).map(|times| Tree::Sequence([copies(target, a), copies(atom, times)].concat()));
            Tree::Any(some.chain(rest).collect())
        })
    }

    /// `min` to `max` times a part.
    fn times(&mut self, tree: &Tree, min: u32, max: u32) -> Result<Tree, CompileError> {
        if max < FEW_REPETITIONS {
            let of = |times: u32| Tree::Sequence(copies(tree, times));
            self.budget.charge_bytes(PHASE, u64::from(max - min + 1) * u64::from(max) * RULE_BYTES)?;
            return Ok(Tree::Any((min..=max).map(of).collect()));
        }
        let mut least = tree.clone();
        for (a, b) in factors(min) {
            least = self.times_rule(a, b, &least, tree)?;
        }
        if min == max {
            return Ok(least);
        }
        let (mut target, mut option) = (tree.clone(), Tree::Sequence(Vec::new()));
        let steps = factors(max - min + 1);
        let last = steps.len() - 1;
        for (at, &(a, b)) in steps.iter().enumerate() {
            option = self.up_to_rule((a, b), &target, &option, tree)?;
            if at < last {
                target = self.times_rule(a, b, &target, tree)?;
            }
        }
        Ok(Tree::Sequence(vec![least, option]))
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
                if let Some(argument) = scope.get(name.as_str()) {
                    return Ok(argument.clone());
                }
                let Found::Definition(definition) = modules.found(module, name, part.at)? else {
                    return Err(self.patterns.declared(module, name, part.at));
                };
                if let Some(&terminal) = self.terminal_of.get(&definition) {
                    return Ok(Argument::Symbol(Symbol::Terminal(terminal)));
                }
                if !modules.definitions[definition].parameters.is_empty() {
                    return Ok(Argument::Template(definition));
                }
                let rule = self.rule(definition, Vec::new(), module, part.at)?;
                Ok(Argument::Symbol(Symbol::Rule(rule)))
            }
            Item::Template(name, arguments) => {
                let definition = match scope.get(name.as_str()) {
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
                let rule = self.rule(definition, given, module, part.at)?;
                Ok(Argument::Symbol(Symbol::Rule(rule)))
            }
            Item::Concat(_) | Item::Alternate(_) | Item::Repeat(..) => {
                let reason =
                    "an argument of a template is a name, a text or a template; give other parts a name";
                Err(modules.malformed(module, part.at, reason))
            }
            Item::Text { .. }
            | Item::Regex(_)
            | Item::Range(..)
            | Item::And(_)
            | Item::Not(_)
            | Item::Chain(_) => {
                let terminal = self.literal(module, part)?;
                Ok(Argument::Symbol(Symbol::Terminal(terminal)))
            }
        }
    }

    /// The terminal of a text or a pattern in a rule.
    fn literal(&mut self, module: ModuleId, part: &At<Item>) -> Result<TerminalId, CompileError> {
        let shown = match &part.what {
            Item::Regex(pattern) => format!("/{}/", shown(&pattern.source)),
            Item::Text { text, .. } => shown(&format!("{text:?}")),
            _ => "without a name".to_owned(),
        };
        let mut text = self.patterns.part(module, part, &shown)?;
        if let Item::Range(set, written) = &part.what {
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

    fn finish(
        self,
        start: NonterminalId,
        ignored: Vec<TerminalId>,
    ) -> Result<Productions, CompileError> {
        let mut all: Table<ProductionId, Production> = Table::new();
        let mut seen = HashSet::new();
        for (origin, tree) in &self.trees {
            for body in self.bodies(tree)? {
                let production = Production { origin: *origin, body };
                if seen.insert(production.clone()) {
                    all.push(production);
                }
            }
        }
        // Rules that nobody else calls are dropped, until there are none. Those that call each other stay.
        let mut is_kept = Table::filled(true, self.names.len());
        loop {
            self.budget.charge_steps(PHASE, all.len() as u64)?;
            let mut is_called = Table::filled(false, self.names.len());
            is_called[start] = true;
            for production in all.iter().filter(|production| is_kept[production.origin]) {
                for symbol in &production.body {
                    if let Symbol::Rule(rule) = *symbol
                        && rule != production.origin
                    {
                        is_called[rule] = true;
                    }
                }
            }
            let before = is_kept.iter().filter(|kept| **kept).count();
            is_kept.ids().for_each(|rule| is_kept[rule] &= is_called[rule]);
            if is_kept.iter().filter(|kept| **kept).count() == before {
                break;
            }
        }
        let kept: Vec<Production> =
            all.iter().filter(|production| is_kept[production.origin]).cloned().collect();
        let all = Table::from(kept);
        let mut of: Table<NonterminalId, Vec<ProductionId>> = Table::filled(Vec::new(), self.names.len());
        let mut used: Vec<TerminalId> = ignored.clone();
        for (id, production) in all.enumerate() {
            of[production.origin].push(id);
            used.extend(production.body.iter().filter_map(|symbol| match symbol {
                Symbol::Terminal(terminal) => Some(*terminal),
                Symbol::Rule(_) => None,
            }));
        }
        used.sort_unstable();
        used.dedup();
        let Self { terminals, names, priorities, .. } = self;
        Ok(Productions { terminals, names, priorities, all, of, start, ignored, used })
    }

    /// The sequences of symbols of a part, each once.
    fn bodies(&self, tree: &Tree) -> Result<Vec<Vec<Symbol>>, CompileError> {
        let mut bodies: Vec<Vec<Symbol>> = match tree {
            Tree::Symbol(symbol) => vec![vec![*symbol]],
            Tree::Any(parts) => {
                let mut bodies = Vec::new();
                for part in parts {
                    bodies.extend(self.bodies(part)?);
                }
                bodies
            }
            Tree::Sequence(parts) => {
                let mut bodies = vec![Vec::new()];
                for part in parts {
                    let next = self.bodies(part)?;
                    let size = bodies.iter().chain(&next).map(|body| body.len() as u64 + 4).sum::<u64>();
                    let most = bodies.len().max(next.len()) as u64;
                    self.budget.charge_steps(PHASE, size * most)?;
                    self.budget.charge_bytes(PHASE, size * most)?;
                    let of = |body: &Vec<Symbol>| {
                        next.iter().map(|more| [body.as_slice(), more.as_slice()].concat()).collect::<Vec<_>>()
                    };
                    bodies = bodies.iter().flat_map(of).collect();
                }
                bodies
            }
        };
        let mut seen = HashSet::new();
        bodies.retain(|body| seen.insert(body.clone()));
        self.budget.charge_steps(PHASE, 1 + bodies.len() as u64)?;
        Ok(bodies)
    }
}

impl Tree {
    fn size(&self) -> u64 {
        match self {
            Self::Symbol(_) => 1,
            Self::Sequence(parts) | Self::Any(parts) => 1 + parts.iter().map(Self::size).sum::<u64>(),
        }
    }
}

fn copies(tree: &Tree, times: u32) -> Vec<Tree> {
    vec![tree.clone(); times as usize]
}

/// Factors `a` and rests `b` by which `n` is reached from 1: each step makes `a * x + b` of `x`.
fn factors(n: u32) -> Vec<(u32, u32)> {
    if n <= MAX_FACTOR {
        return vec![(n, 0)];
    }
    for a in (2..=MAX_FACTOR).rev() {
        let (whole, rest) = (n / a, n % a);
        if a + rest <= MAX_FACTOR {
            let mut steps = factors(whole);
            steps.push((a, rest));
            return steps;
        }
    }
    unreachable!("2 divides with a rest of at most 1")
}
