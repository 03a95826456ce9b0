//! Terminals as the patterns that Lark makes of them.
//!
//! Lark writes each terminal as one regular expression, and the order in which terminals are tried depends on that text: its longest and
//! shortest match, and its length. So the length is computed as if the text were written: alternatives sorted, longest possible first,
//! and joined as `(?:a|b)`, repetitions as `(?:x)*`, flags as `(?i:x)`.

use std::collections::{BTreeSet, HashMap};

use gobo_automata::{CharSet, Grammar};
use gobo_types::{Budget, CompileError, RefusalKind, ReportEntry};

use super::super::super::library;
use super::super::super::modules::{DefinitionId, Found, ModuleId, Modules};
use super::super::super::syntax::{At, Attributes, End, Home, Item, Pattern, TokenBudget, is_terminal};
use super::super::super::terminals::{Terminals, any_case, measure};
use crate::bnf::shown;
use crate::regex::{Ending, Flags, Node};

const PHASE: &str = "building terminals";

/// Bytes of a node that is put in the place of a name.
const NODE_BYTES: u64 = 128;

/// Deepest nesting of a terminal, with those that it refers to.
const NEST_LIMIT: u32 = 250;

/// Characters that a flag takes: `(?i:` and `)`.
const FLAG_LENGTH: u64 = 5;

/// What helps where Lark's lexers cannot.
pub(in super::super) const OTHER_LEXERS: &str =
    "Give --lexer longest (the field lexer), or --lexer none: a terminal then stands for each of its texts.";

/// A pattern.
#[derive(Debug, Clone)]
pub(in super::super) struct Text {
    pub(in super::super) node: Node,
    /// The text, if it is no regular expression.
    pub(in super::super) literal: Option<String>,
    /// The regular expression, if it is one that stands in the grammar as it is.
    pub(super) source: Option<String>,
    pub(in super::super) flags: Flags,
    flag_count: u64,
    /// The characters that it is written in, without its flags.
    pub(in super::super) length: u64,
    /// The fewest and the most characters of its texts.
    pub(in super::super) widths: (u64, u64),
    /// When it ends, under the lexer for which that matters.
    pub(in super::super) ending: Ending,
    /// How many tokens may begin in it.
    pub(in super::super) budget: Option<TokenBudget>,
    /// The grammar of its texts, if they are read as another grammar's and not as lexemes.
    pub(in super::super) nested: Option<Nested>,
}

/// What is said of schemas, each entry once, and the terminals with lazy repetitions.
#[derive(Debug, Default)]
pub(in super::super) struct Said {
    pub(in super::super) lazy: BTreeSet<String>,
    pub(in super::super) narrowed: BTreeSet<ReportEntry>,
    pub(in super::super) notes: BTreeSet<ReportEntry>,
}

/// A grammar within a grammar.
#[derive(Debug, Clone)]
pub(in super::super) struct Nested {
    pub(in super::super) grammar: Grammar,
    /// The characters with which its texts begin.
    pub(in super::super) first: CharSet,
}

impl Text {
    fn regex(node: Node, length: u64) -> Self {
        let widths = node.widths();
        let (literal, source, flags) = (None, None, Flags::default());
        Self {
            node,
            literal,
            source,
            flags,
            flag_count: 0,
            length,
            widths,
            ending: Ending::Greedy,
            budget: None,
            nested: None,
        }
    }

    /// A terminal of llguidance's dialect, where patterns have no order: `source` is what makes two of them one.
    fn unordered(node: Node, source: Option<String>) -> Self {
        Self { source, ..Self::regex(node, 0) }
    }

    /// Whether the empty text is one of its texts, which no lexer finds.
    pub(super) fn may_be_empty(&self) -> bool {
        self.nested.is_none() && self.widths.0 == 0
    }

    /// The pattern of a terminal that no lexer finds.
    pub(super) fn declared() -> Self {
        Self::regex(Node::alternate(Vec::new()), 0)
    }

    fn literal(text: &str, ignores_case: bool) -> Self {
        let mut flags = Flags::default();
        let node = if ignores_case { any_case(text) } else { Node::Text(text.to_owned()) };
        flags.set('i', ignores_case);
        let flag_count = u64::from(ignores_case);
        let length = text.chars().count() as u64;
        let literal = Some(text.to_owned());
        let widths = (length, length);
        Self { literal, flags, flag_count, widths, ..Self::regex(node, length) }
    }

    /// The characters that it is written in as a part of another one.
    fn whole_length(&self) -> u64 {
        let escaped = |char: &char| "()[]{}?*+-|^$\\.&~# \t\n\r\u{b}\u{c}".contains(*char);
        let escapes = self.literal.as_ref().map_or(0, |text| text.chars().filter(escaped).count());
        self.length + escapes as u64 + FLAG_LENGTH * self.flag_count
    }

    /// What two patterns have in common that are one terminal in rules.
    pub(super) fn identity(&self) -> Option<(bool, String, Flags)> {
        match (&self.literal, &self.source) {
            (Some(text), _) => Some((true, text.clone(), self.flags)),
            (None, Some(source)) => Some((false, source.clone(), self.flags)),
            (None, None) => None,
        }
    }

    fn sequence(mut parts: Vec<Self>) -> Self {
        if parts.len() == 1 {
            return parts.swap_remove(0);
        }
        let length = parts.iter().map(Self::whole_length).sum();
        Self::regex(Node::concat(parts.into_iter().map(|part| part.node).collect()), length)
    }

    fn any(mut parts: Vec<Self>) -> Self {
        if parts.len() == 1 {
            return parts.swap_remove(0);
        }
        parts.sort_by_key(|part| {
            let (min, max) = part.widths;
            std::cmp::Reverse((max, min, part.length))
        });
        let bars = parts.len() as u64 - 1;
        let length = parts.iter().map(Self::whole_length).sum::<u64>() + bars + 4;
        Self::regex(Node::alternate(parts.into_iter().map(|part| part.node).collect()), length)
    }

    fn repeated(self, min: u32, max: Option<u32>) -> Self {
        let digits = |number: u32| number.to_string().len() as u64;
        let operator = match (min, max) {
            (0, None | Some(1)) | (1, None) => 1,
            (min, Some(max)) if min == max => 2 + digits(min),
            (min, max) => 3 + digits(min) + max.map_or(0, digits),
        };
        let length = 4 + self.whole_length() + operator;
        let (flags, flag_count) = (self.flags, self.flag_count);
        Self { flags, flag_count, ..Self::regex(self.node.repeat(min, max), length) }
    }
}

/// The patterns of a grammar, as they are asked for.
pub(super) struct Patterns<'a> {
    modules: &'a Modules<'a>,
    budget: &'a Budget,
    terminals: Terminals<'a>,
    built: HashMap<DefinitionId, Text>,
    open: Vec<DefinitionId>,
    /// What is said of schemas.
    said: Said,
}

impl<'a> Patterns<'a> {
    pub(super) fn new(modules: &'a Modules<'a>, budget: &'a Budget) -> Self {
        let terminals = Terminals::new(modules, budget);
        Self { modules, budget, terminals, built: HashMap::new(), open: Vec::new(), said: Said::default() }
    }

    /// The pattern of a terminal with a name.
    ///
    /// # Errors
    /// A refusal naming the construct, its line and its column; [`CompileError::OverBudget`].
    pub(super) fn named(
        &mut self,
        definition: DefinitionId,
        user: ModuleId,
        at: usize,
    ) -> Result<Text, CompileError> {
        if let Some(text) = self.built.get(&definition) {
            let nodes = measure(&text.node).0;
            self.budget.charge_steps(PHASE, nodes)?;
            self.budget.charge_bytes(PHASE, nodes * NODE_BYTES)?;
            return Ok(text.clone());
        }
        let modules = self.modules;
        let defined = &modules.definitions[definition];
        if modules.home() == Home::Llguidance {
            let node = self.terminals.named(definition, user, at)?;
            let Attributes { end, budget } = &defined.attributes;
            let ending = match end {
                Some(stop @ End::Stop(follows)) if stop.is_early() => {
                    Ending::Before(Box::new(self.terminals.stop(definition, follows)?))
                }
                Some(end) if end.is_early() => Ending::Lazy,
                _ => Ending::Greedy,
            };
            let text = Text { ending, budget: budget.clone(), ..Text::unordered(node, None) };
            self.built.insert(definition, text.clone());
            return Ok(text);
        }
        if defined.attributes.are_set() {
            let name = defined.attributes.end.as_ref().map_or("max_tokens", End::name);
            return Err(self.of_llguidance(defined.module, defined.at, &format!("[{name}]")));
        }
        if self.open.contains(&definition) {
            let reason = format!("the terminal {} refers to itself", shown(&defined.name));
            return Err(modules
                .malformed(user, at, reason)
                .advising("Make rules of them: their names are lower-case."));
        }
        let too_deep = || {
            let reason = format!("terminals nest deeper than {NEST_LIMIT} levels");
            modules.refuse(RefusalKind::Unsupported, user, at, reason)
        };
        if self.open.len() >= NEST_LIMIT as usize {
            return Err(too_deep());
        }
        self.open.push(definition);
        // What extends a terminal stands before what it had, the last extension first.
        let mut parts = Vec::new();
        for (module, body) in defined.bodies.iter().skip(1).rev() {
            parts.push(self.part(*module, body, &defined.name)?);
        }
        for (module, body) in defined.bodies.iter().take(1) {
            match &body.what {
                Item::Alternate(alternatives) => {
                    for alternative in alternatives {
                        parts.push(self.part(*module, alternative, &defined.name)?);
                    }
                }
                _ => parts.push(self.part(*module, body, &defined.name)?),
            }
        }
        self.open.pop();
        let mut text = Text::any(parts);
        if let Some(document) = modules.built_in(defined.module)
            && let Some(length) = library::length(document, &defined.name)
        {
            // All of them are regular expressions there.
            text.literal = None;
            text.length = length;
            text.flag_count = 0;
        }
        if measure(&text.node).1 > NEST_LIMIT {
            return Err(too_deep());
        }
        self.built.insert(definition, text.clone());
        Ok(text)
    }

    /// The pattern of a part of the terminal `name`.
    ///
    /// # Errors
    /// As [`Self::named`].
    pub(super) fn part(
        &mut self,
        module: ModuleId,
        part: &At<Item>,
        name: &str,
    ) -> Result<Text, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        let modules = self.modules;
        if modules.home() == Home::Llguidance {
            return self.unordered(module, part, name);
        }
        let unsupported = |what: &str| self.of_llguidance(module, part.at, what);
        Ok(match &part.what {
            Item::Name(of) | Item::Template(of, _) if !is_terminal(of) => {
                let reason = format!("the terminal {} refers to the rule {}", shown(name), shown(of));
                return Err(modules.malformed(module, part.at, reason));
            }
            Item::Template(..) => {
                let reason = "templates of terminals are not supported";
                return Err(modules.refuse(RefusalKind::Unsupported, module, part.at, reason));
            }
            Item::Name(of) => match modules.found(module, of, part.at)? {
                Found::Definition(definition) => self.named(definition, module, part.at)?,
                Found::Declared => return Err(self.declared(module, of, part.at)),
            },
            Item::Text { text, .. } if text.is_empty() => {
                let reason = "the empty text is no terminal of Lark's lexers";
                return Err(modules.refuse(RefusalKind::Unsupported, module, part.at, reason));
            }
            Item::Text { text, ignores_case } => Text::literal(text, *ignores_case),
            Item::Regex(pattern) => {
                let pattern = evaluated(pattern);
                let node = self.terminals.regex(module, part.at, &pattern, name)?;
                let length = pattern.source.chars().count() as u64;
                let flag_count = pattern.flags.count();
                let (source, flags) = (Some(pattern.source), pattern.flags);
                Text { source, flags, flag_count, ..Text::regex(node, length) }
            }
            Item::Range(set, written) => Text::regex(Node::Chars(set.clone()), written + 3),
            Item::Concat(parts) => Text::sequence(self.all(module, parts, name)?),
            Item::Alternate(parts) => Text::any(self.all(module, parts, name)?),
            Item::Repeat(part, min, max) => self.part(module, part, name)?.repeated(*min, *max),
            Item::And(_) => return Err(unsupported("&")),
            Item::Not(_) => return Err(unsupported("~")),
            Item::Chain(_) => return Err(unsupported("%regex")),
            Item::Tokens(_) => return Err(unsupported("a token edge")),
            Item::Schema(_) => return Err(unsupported("%json")),
            Item::Valued(..) | Item::Where(..) => {
                self.terminals.node(module, part, name)?;
                unreachable!("parameters are of rules")
            }
        })
    }

    /// A refusal of what only llguidance has.
    fn of_llguidance(&self, module: ModuleId, at: usize, what: &str) -> CompileError {
        let reason = format!("{what} is of llguidance's dialect, and Lark's lexers have none");
        self.modules.refuse(RefusalKind::Unsupported, module, at, reason).advising(OTHER_LEXERS)
    }

    /// What is said of schemas and patterns.
    pub(super) fn into_said(self) -> Said {
        Said { lazy: self.terminals.lazy, ..self.said }
    }

    /// The pattern of a part in llguidance's dialect.
    fn unordered(&mut self, module: ModuleId, part: &At<Item>, name: &str) -> Result<Text, CompileError> {
        Ok(match &part.what {
            Item::Text { text, ignores_case } => Text::literal(text, *ignores_case),
            Item::Tokens(node) => Text::unordered(node.clone(), Some(format!("tokens {node:?}"))),
            Item::Schema(schema) => {
                let (grammar, report) = self.modules.schema(module, part.at, schema, self.budget)?;
                self.said.narrowed.extend(report.narrowed);
                self.said.notes.extend(report.notes);
                let first = grammar.first_chars(grammar.start, self.budget)?;
                let nested = Some(Nested { grammar, first });
                Text {
                    nested,
                    ..Text::unordered(Node::alternate(Vec::new()), Some(format!("%json {schema}")))
                }
            }
            what => {
                let node = self.terminals.node(module, part, name)?;
                let source = match what {
                    Item::Regex(pattern) => format!("/{}/{:?}", pattern.source, pattern.flags),
                    Item::Range(set, _) => format!("{set:?}"),
                    Item::Chain(pieces) => format!("%regex {pieces:?}"),
                    // What stands at one place is one terminal.
                    _ => format!("{module:?} {}", part.at),
                };
                Text::unordered(node, Some(source))
            }
        })
    }

    fn all(&mut self, module: ModuleId, parts: &[At<Item>], name: &str) -> Result<Vec<Text>, CompileError> {
        parts.iter().map(|part| self.part(module, part, name)).collect()
    }

    /// A refusal of a terminal that is declared alone.
    pub(super) fn declared(&self, module: ModuleId, name: &str, at: usize) -> CompileError {
        let reason = format!(
            "the terminal {} is declared alone: its texts come from a post-lexer, and there is none here",
            shown(name)
        );
        self.modules.refuse(RefusalKind::Unsupported, module, at, reason)
    }
}

/// A regular expression as Lark evaluates what stands between the slashes: a backslash before a quote is dropped, also the second of
/// two, so that `\\"` is what `\"` is.
fn evaluated(pattern: &Pattern) -> Pattern {
    let mut source = String::with_capacity(pattern.source.len());
    let mut places = Vec::with_capacity(pattern.places.len());
    let mut chars = pattern.source.char_indices().peekable();
    let mut keep = |char: char, at: usize| {
        source.push(char);
        places.extend((0..char.len_utf8()).map(|offset| pattern.places[at + offset]));
    };
    while let Some((at, char)) = chars.next() {
        let Some((next_at, next)) = chars.next_if(|_| char == '\\') else {
            keep(char, at);
            continue;
        };
        match next {
            '"' => keep(next, next_at),
            '\\' if chars.peek().is_some_and(|after| after.1 == '"') => keep(char, at),
            _ => {
                keep(char, at);
                keep(next, next_at);
            }
        }
    }
    places.extend(pattern.places.last());
    Pattern { source, places, flags: pattern.flags }
}
