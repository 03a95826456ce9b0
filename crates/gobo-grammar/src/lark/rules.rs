//! Rules as expressions over characters.
//!
//! A template is written out once for each list of arguments that is reached; a template that passes ever new arguments to itself
//! ends at a limit. Rules are found from the start rule on, in the order of first sight.

use std::collections::{BTreeSet, HashMap};

use gobo_automata::{CalledRule, Expr, Grammar, Language, Rule, RuleId};
use gobo_types::{Budget, CompileError, DenseId as _, LengthRange, RefusalKind, ReportEntry};

use super::modules::{DefinitionId, Found, MAIN, ModuleId, Modules};
use super::syntax::{At, Item, TokenBudget, is_terminal};
use super::terminals::Terminals;
use crate::bnf::{SHOWN_NAMES, shown};
use crate::regex::{Node, placed};
use crate::written::{Read, Texts};

const PHASE: &str = "writing out rules";

/// Bytes that a rule or a part of one is charged.
const RULE_BYTES: u64 = 128;

/// What a parameter of a template stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Argument {
    Rule(RuleId),
    /// Texts of a terminal: a name, or a part that has none.
    Terminal(RuleId),
    /// A template that gets its own arguments where it is used.
    Template(DefinitionId),
}

/// A definition with what it is given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Instance {
    definition: DefinitionId,
    arguments: Vec<Argument>,
    value: Option<u64>,
}

/// A rule that is to be written out.
struct Pending {
    instance: Instance,
    id: RuleId,
}

/// What names and numbers mean in a rule.
struct Scope<'a> {
    arguments: HashMap<&'a str, &'a Argument>,
    value: u64,
}

struct Lowering<'a> {
    modules: &'a Modules<'a>,
    terminals: Terminals<'a>,
    budget: &'a Budget,
    rules: Vec<Rule>,
    /// The rules and the terminals with names, and templates with their arguments.
    known: HashMap<Instance, RuleId>,
    /// Parts of rules that are terminals without a name.
    literals: HashMap<String, RuleId>,
    pending: Vec<Pending>,
    instances: usize,
    /// The rule of ignored texts, if there are some.
    ignored: Option<RuleId>,
    narrowed: Vec<ReportEntry>,
    /// What the reports of schemas note.
    notes: BTreeSet<ReportEntry>,
    /// Rules of schemas that are called wherever that is possible.
    called: Vec<CalledRule>,
}

/// The grammar over characters whose texts begin with the rule `start`.
///
/// # Errors
/// A refusal naming the construct, its line and its column; [`CompileError::OverBudget`].
pub(super) fn lower(
    modules: &Modules<'_>,
    start: DefinitionId,
    budget: &Budget,
) -> Result<Read, CompileError> {
    let mut lowering = Lowering {
        modules,
        terminals: Terminals::new(modules, budget),
        budget,
        rules: Vec::new(),
        known: HashMap::new(),
        literals: HashMap::new(),
        pending: Vec::new(),
        instances: 0,
        ignored: None,
        narrowed: Vec::new(),
        notes: BTreeSet::new(),
        called: Vec::new(),
    };
    lowering.ignore()?;
    let mut first = lowering.instance(Instance::of(start), MAIN, 0)?;
    while let Some(pending) = lowering.pending.pop() {
        lowering.write(&pending)?;
    }
    if let Some(ignored) = lowering.ignored.filter(|_| modules.initial_skip.unwrap_or(true)) {
        let expr = Expr::Concat(vec![Expr::Call(ignored), Expr::Call(first)]);
        lowering.rules.push(Rule { name: "text".to_owned(), expr, lengths: None });
        first = RuleId::new(lowering.rules.len() - 1);
    }
    let mut notes = notes(modules, &lowering.terminals.lazy);
    notes.extend(lowering.notes);
    let (called, families) = (lowering.called, Vec::new());
    let grammar = Grammar {
        rules: lowering.rules,
        start: first,
        called,
        families,
        tokens: modules.tokens.sets.clone(),
    };
    let texts = Texts::Rules(grammar);
    Ok(Read { texts, is_indented: false, narrowed: lowering.narrowed, notes })
}

fn notes(modules: &Modules<'_>, lazy: &BTreeSet<String>) -> Vec<ReportEntry> {
    let mut notes = Vec::new();
    for &remark in &modules.remarks {
        notes.push(ReportEntry::whole(remark, "it means nothing under the lexer none: all readings stay"));
    }
    if !lazy.is_empty() {
        let names: Vec<String> = lazy.iter().take(SHOWN_NAMES).map(|name| shown(name)).collect();
        let why = format!(
            "under the lexer none a terminal ends wherever it can, so the lazy repetition of {} may go on past its first end",
            names.join(", ")
        );
        notes.push(ReportEntry::whole("lazy", why));
    }
    notes
}

/// The definition of the start rule.
///
/// # Errors
/// If there is none; with the rules that nobody calls.
pub(super) fn start_rule(modules: &Modules<'_>, start: &str) -> Result<DefinitionId, CompileError> {
    if let Some(Found::Definition(definition)) = modules.find(MAIN, start)
        && !is_terminal(start)
        && modules.definitions[definition].parameters.is_empty()
        && !modules.definitions[definition].is_parametric
    {
        return Ok(definition);
    }
    let mut is_called: HashMap<DefinitionId, bool> = HashMap::new();
    for (_, defined) in modules.own_rules() {
        for (module, body) in &defined.bodies {
            mark_called(modules, *module, body, &mut is_called);
        }
    }
    let candidates: Vec<String> = modules
        .own_rules()
        .filter(|(rule, defined)| {
            !is_called.contains_key(rule) && defined.parameters.is_empty() && !defined.is_parametric
        })
        .map(|(_, defined)| shown(&defined.name))
        .collect();
    let what = if is_terminal(start) { "is a terminal" } else { "is no rule" };
    let error = |reason: String| {
        CompileError::refuse(RefusalKind::Malformed, "the start rule", reason).spanning(0..0)
    };
    let Some(first) = candidates.first() else {
        return Err(error(format!("{} {what} of this grammar", shown(start))));
    };
    let names = candidates[..candidates.len().min(SHOWN_NAMES)].join(", ");
    let more = if candidates.len() > SHOWN_NAMES { ", …" } else { "" };
    Err(error(format!("{} {what} of this grammar; nobody calls {names}{more}", shown(start)))
        .advising(format!("Name the rule of whole texts, as in --start {first} (the field start).")))
}

fn mark_called(
    modules: &Modules<'_>,
    module: ModuleId,
    part: &At<Item>,
    is_called: &mut HashMap<DefinitionId, bool>,
) {
    match &part.what {
        Item::Name(name) | Item::Template(name, _) | Item::Valued(name, _) => {
            if let Some(Found::Definition(definition)) = modules.find(module, name) {
                is_called.insert(definition, true);
            }
            if let Item::Template(_, arguments) = &part.what {
                arguments.iter().for_each(|part| mark_called(modules, module, part, is_called));
            }
        }
        Item::Concat(parts) | Item::Alternate(parts) | Item::And(parts) => {
            parts.iter().for_each(|part| mark_called(modules, module, part, is_called));
        }
        Item::Repeat(part, ..) | Item::Not(part) | Item::Where(part, _) => {
            mark_called(modules, module, part, is_called);
        }
        Item::Text { .. }
        | Item::Regex(_)
        | Item::Tokens(_)
        | Item::Range(..)
        | Item::Chain(_)
        | Item::Schema(_) => {}
    }
}

impl Instance {
    fn of(definition: DefinitionId) -> Self {
        Self { definition, arguments: Vec::new(), value: None }
    }
}

impl Lowering<'_> {
    fn add(&mut self, name: String) -> Result<RuleId, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, RULE_BYTES + name.len() as u64)?;
        self.rules.push(Rule { name, expr: Expr::Alternate(Vec::new()), lengths: None });
        Ok(RuleId::new(self.rules.len() - 1))
    }

    /// The rule of any number of ignored texts.
    fn ignore(&mut self) -> Result<(), CompileError> {
        let modules = self.modules;
        let mut texts = Vec::new();
        for body in &modules.ignored {
            let node = self.terminals.node(MAIN, body, "that is ignored")?;
            texts.push(self.language(MAIN, body.at, "that is ignored", &node)?);
        }
        if !texts.is_empty() {
            let id = self.add("ignored".to_owned())?;
            self.rules[id.index()].expr = Node::alternate(texts).repeat(0, None).to_expr(self.budget)?;
            self.ignored = Some(id);
        }
        Ok(())
    }

    /// The texts of a terminal that match whatever stands around them.
    fn language(
        &mut self,
        module: ModuleId,
        at: usize,
        name: &str,
        node: &Node,
    ) -> Result<Node, CompileError> {
        let placed = self.terminals.here(module, at, placed(node, self.budget))?;
        if placed.depends {
            if placed.always.is_empty() {
                let reason = format!(
                    "the terminal {} looks at what stands around it, of which nothing is known under the lexer none",
                    shown(name)
                );
                return Err(self.modules.refuse(RefusalKind::Unsupported, module, at, reason));
            }
            let why = format!(
                "{} looks at what stands around it; its texts are those that match whatever stands there",
                shown(name)
            );
            self.narrowed.push(ReportEntry::whole("lexer", why));
        }
        Ok(Node::Texts(placed.always.into()))
    }

    /// The rule of a terminal: one of its texts, and ignored ones.
    fn terminal(&mut self, id: RuleId, texts: Expr) {
        self.rules[id.index()].expr = match self.ignored {
            Some(ignored) => Expr::Concat(vec![texts, Expr::Call(ignored)]),
            None => texts,
        };
    }

    /// The rule of texts in which so many tokens may begin.
    fn counting(&mut self, name: &str, node: &Node, budget: &TokenBudget) -> Result<RuleId, CompileError> {
        let language = Language::expr(&node.to_expr(self.budget)?, self.budget)?;
        let id = self.add(name.to_owned())?;
        let rule = &mut self.rules[id.index()];
        rule.expr = language.spent(&Expr::Chars(budget.spent.clone()), self.budget)?;
        rule.lengths = Some(LengthRange::of_tokens(budget.most));
        Ok(id)
    }

    /// The rule of a definition with what it is given.
    fn instance(&mut self, key: Instance, module: ModuleId, at: usize) -> Result<RuleId, CompileError> {
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let modules = self.modules;
        let defined = &modules.definitions[key.definition];
        let given = (key.arguments.len(), key.value);
        modules.check_use(key.definition, given, &mut self.instances, (module, at))?;
        let id = self.add(defined.name.clone())?;
        if modules.is_lexeme(key.definition) {
            let node = self.terminals.named(key.definition, module, at)?;
            let node = self.language(defined.module, defined.at, &defined.name, &node)?;
            let expr = match &defined.attributes.budget {
                None => node.to_expr(self.budget)?,
                Some(budget) => Expr::Call(self.counting(&defined.name, &node, budget)?),
            };
            self.terminal(id, expr);
        } else {
            self.pending.push(Pending { instance: key.clone(), id });
        }
        self.known.insert(key, id);
        Ok(id)
    }

    fn write(&mut self, pending: &Pending) -> Result<(), CompileError> {
        let modules = self.modules;
        let Instance { definition, arguments, value } = &pending.instance;
        let defined = &modules.definitions[*definition];
        let arguments = defined.parameters.iter().map(String::as_str).zip(arguments).collect();
        let scope = Scope { arguments, value: value.unwrap_or_default() };
        let mut bodies = Vec::with_capacity(defined.bodies.len());
        for (module, body) in &defined.bodies {
            bodies.push(self.expr(*module, body, &scope)?);
        }
        let expr = if bodies.len() == 1 { bodies.swap_remove(0) } else { Expr::Alternate(bodies) };
        self.rules[pending.id.index()].expr = expr;
        Ok(())
    }

    fn expr(&mut self, module: ModuleId, part: &At<Item>, scope: &Scope<'_>) -> Result<Expr, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, RULE_BYTES)?;
        let all = |lowering: &mut Self, parts: &[At<Item>]| {
            parts.iter().map(|part| lowering.expr(module, part, scope)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match &part.what {
            Item::Concat(parts) => Expr::Concat(all(self, parts)?),
            Item::Alternate(parts) => Expr::Alternate(all(self, parts)?),
            Item::Repeat(part, min, max) => self.expr(module, part, scope)?.repeat(*min, *max),
            Item::Where(part, condition) if condition.holds(scope.value) => self.expr(module, part, scope)?,
            Item::Where(..) => Expr::Alternate(Vec::new()),
            Item::Name(_)
            | Item::Template(..)
            | Item::Valued(..)
            | Item::Schema(_)
            | Item::Text { .. }
            | Item::Regex(_)
            | Item::Tokens(_)
            | Item::Range(..)
            | Item::And(_)
            | Item::Not(_)
            | Item::Chain(_) => match self.argument(module, part, scope)? {
                Argument::Rule(id) | Argument::Terminal(id) => Expr::Call(id),
                Argument::Template(definition) => {
                    let name = shown(&self.modules.definitions[definition].name);
                    let reason = format!("the template {name} is without arguments here");
                    return Err(self.modules.malformed(module, part.at, reason));
                }
            },
        })
    }

    /// A part that is one rule or terminal.
    fn argument(
        &mut self,
        module: ModuleId,
        part: &At<Item>,
        scope: &Scope<'_>,
    ) -> Result<Argument, CompileError> {
        match &part.what {
            Item::Name(name) => {
                if let Some(&argument) = scope.arguments.get(name.as_str()) {
                    return Ok(argument.clone());
                }
                match self.modules.found(module, name, part.at)? {
                    Found::Declared => Err(self.terminals.declared(module, name, part.at)),
                    Found::Definition(definition) => {
                        if !self.modules.definitions[definition].parameters.is_empty() {
                            return Ok(Argument::Template(definition));
                        }
                        let id = self.instance(Instance::of(definition), module, part.at)?;
                        let is_lexeme = self.modules.is_lexeme(definition);
                        Ok(if is_lexeme { Argument::Terminal(id) } else { Argument::Rule(id) })
                    }
                }
            }
            Item::Valued(name, value) => match self.modules.found(module, name, part.at)? {
                Found::Declared => Err(self.terminals.declared(module, name, part.at)),
                Found::Definition(definition) => {
                    let value = Some(value.of(scope.value));
                    let instance = Instance { value, ..Instance::of(definition) };
                    self.instance(instance, module, part.at).map(Argument::Rule)
                }
            },
            Item::Template(name, arguments) => {
                let definition = match scope.arguments.get(name.as_str()) {
                    Some(Argument::Template(definition)) => *definition,
                    Some(_) => {
                        let reason = format!("{} is no template here", shown(name));
                        return Err(self.modules.malformed(module, part.at, reason));
                    }
                    None => match self.modules.found(module, name, part.at)? {
                        Found::Definition(definition) => definition,
                        Found::Declared => return Err(self.terminals.declared(module, name, part.at)),
                    },
                };
                let mut given = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    given.push(self.argument(module, argument, scope)?);
                }
                let instance = Instance { arguments: given, ..Instance::of(definition) };
                self.instance(instance, module, part.at).map(Argument::Rule)
            }
            Item::Concat(_) | Item::Alternate(_) | Item::Repeat(..) | Item::Where(..) => {
                let reason =
                    "an argument of a template is a name, a text or a template; give other parts a name";
                Err(self.modules.malformed(module, part.at, reason))
            }
            Item::Text { .. }
            | Item::Regex(_)
            | Item::Tokens(_)
            | Item::Range(..)
            | Item::And(_)
            | Item::Not(_)
            | Item::Chain(_)
            | Item::Schema(_) => self.literal(module, part).map(Argument::Terminal),
        }
    }

    /// The rule of a terminal without a name; equal ones are one.
    fn literal(&mut self, module: ModuleId, part: &At<Item>) -> Result<RuleId, CompileError> {
        let name = match &part.what {
            Item::Text { text, ignores_case } => format!("{text:?}{}", if *ignores_case { "i" } else { "" }),
            Item::Regex(pattern) => format!("/{}/{:?}", pattern.source, pattern.flags),
            Item::Tokens(node) => format!("tokens {node:?}"),
            Item::Schema(schema) => format!("%json {schema}"),
            Item::Range(..) | Item::And(_) | Item::Not(_) | Item::Chain(_) => String::new(),
            _ => unreachable!("other parts have names, or are no terminals"),
        };
        if let Some(&known) = self.literals.get(&name) {
            return Ok(known);
        }
        let shown = match &part.what {
            Item::Regex(pattern) => format!("/{}/", shown(&pattern.source)),
            Item::Text { .. } => shown(&name),
            _ => "without a name".to_owned(),
        };
        let id = if let Item::Schema(schema) = &part.what {
            self.schema(module, part.at, schema)?
        } else {
            let node = match &part.what {
                Item::Tokens(node) => node.clone(),
                _ => {
                    let node = self.terminals.node(module, part, &shown)?;
                    self.language(module, part.at, &shown, &node)?
                }
            };
            let id = self.add(shown)?;
            let texts = node.to_expr(self.budget)?;
            self.terminal(id, texts);
            id
        };
        if !name.is_empty() {
            self.literals.insert(name, id);
        }
        Ok(id)
    }

    /// The rule of the values of a schema, and ignored texts.
    fn schema(&mut self, module: ModuleId, at: usize, schema: &str) -> Result<RuleId, CompileError> {
        let (of_schema, report) = self.modules.schema(module, at, schema, self.budget)?;
        for entry in report.narrowed {
            if !self.narrowed.contains(&entry) {
                self.narrowed.push(entry);
            }
        }
        self.notes.extend(report.notes);
        let (rules, called) = (std::mem::take(&mut self.rules), std::mem::take(&mut self.called));
        let (start, families) = (RuleId::new(0), Vec::new());
        let mut grammar = Grammar { rules, start, called, families, tokens: Vec::new() };
        let value = grammar.append(of_schema, self.budget)?;
        (self.rules, self.called) = (grammar.rules, grammar.called);
        let parts = std::iter::once(value).chain(self.ignored).map(Expr::Call).collect();
        let id = self.add("json".to_owned())?;
        self.rules[id.index()].expr = Expr::Concat(parts);
        Ok(id)
    }
}
