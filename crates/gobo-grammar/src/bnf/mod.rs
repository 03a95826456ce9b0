//! The reader of rules in Backus-Naur form that GBNF and EBNF share: recursive descent over the text, linear in it.

mod budgets;
mod finish;
mod leaves;
mod macros;
mod tokens;

use std::collections::HashMap;

use gobo_automata::{CharSet, Expr, RuleId};
use gobo_types::{Budget, CompileError, DenseId as _, NamedClasses, RefusalKind};

use crate::edges::TokenSets;
use crate::misfit::misfit;
use crate::outline::{Outline, OutlinedRepetition, OutlinedRule, is_line_end, place};

/// Longest text of a grammar in bytes. Reading it takes some hundred times as much memory at worst, and linear time.
pub(crate) const MAX_GRAMMAR_BYTES: usize = 1 << 20;

/// Deepest nesting of parentheses and repetitions in a rule: what reads, walks and drops an expression calls itself for
/// each level.
pub(crate) const NEST_LIMIT: u32 = 250;

/// Highest bound of a repetition. Bounds within bounds multiply, and their product is the automaton's budget's concern.
const MAX_REPETITIONS: u32 = 100_000;

/// How much of a name, and how many names, a reason shows.
const SHOWN_CHARS: usize = 64;
pub(crate) const SHOWN_NAMES: usize = 12;

/// A rule that was called or defined, in the order of first sight.
struct Seen<'a> {
    name: &'a str,
    /// Where it was seen first.
    at: usize,
    body: Option<Expr>,
    /// How many tokens may begin in it, and where that is said.
    budget: Option<(u32, usize)>,
    outlined: Option<OutlinedRule>,
}

/// An expression and how many parentheses and repetitions nest in it.
struct Nested {
    expr: Expr,
    levels: u32,
}

/// What stands between a name and `::=`.
const RULE_OPTIONS: &str = "a rule has no option but max_tokens";

/// Which of the two is read.
#[derive(Clone, Copy)]
pub(crate) enum Form<'a> {
    /// llama.cpp's.
    Gbnf,
    /// `XGrammar`'s and transformers-CFG's; without a budget, macros are passed over.
    Ebnf(Option<&'a Budget>),
}

/// What reads the rules of a grammar.
pub(crate) struct Reader<'a> {
    form: Form<'a>,
    text: &'a str,
    at: usize,
    rules: Vec<Seen<'a>>,
    ids: HashMap<&'a str, RuleId>,
    repetitions: Vec<OutlinedRepetition>,
    tokens: TokenSets<'a>,
}

impl<'a> Reader<'a> {
    /// Reads all rules, in which classes of tokens have these names, or any.
    pub(crate) fn read(
        grammar: &'a str,
        form: Form<'a>,
        classes: Option<&'a NamedClasses>,
    ) -> Result<Self, CompileError> {
        if grammar.len() > MAX_GRAMMAR_BYTES {
            return Err(CompileError::refuse(
                RefusalKind::Unsupported,
                "the whole grammar",
                format!("the grammar has {} bytes, the limit is {MAX_GRAMMAR_BYTES}", grammar.len()),
            )
            .spanning(0..0));
        }
        let mut reader = Self {
            form,
            text: grammar,
            at: 0,
            rules: Vec::new(),
            ids: HashMap::new(),
            repetitions: Vec::new(),
            tokens: TokenSets::of(classes),
        };
        if let Some(at) = grammar.find('\0') {
            return Err(reader.malformed(at, "a raw NUL character; write \\x00 to match one"));
        }
        reader.skip_whitespace(true);
        while reader.at < grammar.len() {
            reader.rule()?;
        }
        Ok(reader)
    }

    /// Where its rules and counted repetitions stand.
    pub(crate) fn outline(self) -> Option<Outline> {
        let rules = self.rules.into_iter().map(|rule| rule.outlined).collect::<Option<_>>()?;
        Some(Outline { rules, repetitions: self.repetitions })
    }

    fn is_ebnf(&self) -> bool {
        matches!(self.form, Form::Ebnf(_))
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += char.len_utf8();
        Some(char)
    }

    fn eat(&mut self, what: &str) -> bool {
        let found = self.rest().starts_with(what);
        if found {
            self.at += what.len();
        }
        found
    }

    fn take_while(&mut self, is_wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.find(|char| !is_wanted(char)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// Skips whitespace and comments; line ends too, where a rule goes on after them.
    fn skip_whitespace(&mut self, over_lines: bool) {
        loop {
            self.take_while(|char| matches!(char, ' ' | '\t') || over_lines && is_line_end(char));
            if self.peek() != Some('#') {
                return;
            }
            self.take_while(|char| !is_line_end(char));
        }
    }

    fn refuse(&self, kind: RefusalKind, at: usize, reason: impl Into<String>) -> CompileError {
        let width = self.text[at..].chars().next().map_or(0, char::len_utf8);
        CompileError::refuse(kind, place(self.text, at), reason).spanning(at..at + width)
    }

    fn malformed(&self, at: usize, reason: impl Into<String>) -> CompileError {
        self.refuse(RefusalKind::Malformed, at, reason)
    }

    /// What stands here fits nowhere.
    fn unexpected(&self) -> CompileError {
        if self.is_ebnf() && self.rest().starts_with("::=") && self.text[..self.at].trim_end().ends_with(']')
        {
            return self.refuse(RefusalKind::Unsupported, self.at, RULE_OPTIONS);
        }
        let (reason, help) = misfit(self.rest());
        self.malformed(self.at, reason).advising(help)
    }

    fn name(&mut self) -> &'a str {
        let is_ebnf = self.is_ebnf();
        let rest = self.rest();
        let name = self.take_while(|char| is_name_char(char) || is_ebnf && char == '.');
        if name.bytes().all(|byte| byte == b'.') {
            // Dots alone are no name.
            self.at -= name.len();
            return &rest[..0];
        }
        name
    }

    /// Whether a rule begins here, or the text ends.
    fn is_at_rule(&mut self) -> bool {
        let at = self.at;
        let is_name = !self.name().is_empty();
        self.skip_whitespace(self.is_ebnf());
        if self.is_ebnf() && self.rest().starts_with('[') {
            self.take_while(|char| char != ']' && !is_line_end(char));
            self.eat("]");
            self.skip_whitespace(true);
        }
        let is_rule = is_name && self.rest().starts_with("::=");
        self.at = at;
        is_rule || self.rest().is_empty()
    }

    fn id(&mut self, name: &'a str, at: usize) -> RuleId {
        *self.ids.entry(name).or_insert_with(|| {
            self.rules.push(Seen { name, at, body: None, budget: None, outlined: None });
            RuleId::new(self.rules.len() - 1)
        })
    }

    fn rule(&mut self) -> Result<(), CompileError> {
        let at = self.at;
        let name = self.name();
        if name.is_empty() {
            return Err(self.unexpected());
        }
        self.skip_whitespace(self.is_ebnf());
        let budget = if self.is_ebnf() && self.rest().starts_with('[') { Some(self.budget()?) } else { None };
        if !self.eat("::=") {
            let reason = format!("::= is missing after the name {}", shown(name));
            let other =
                ["=", ":=", ":", "->", "<-", "→"].into_iter().find(|sign| self.rest().starts_with(sign));
            let help = match other {
                Some(sign) => format!("Write ::= and not {sign}."),
                None => "A rule begins with its name and ::=; only after ::=, after | and in parentheses a rule goes on \
                     over line ends."
                    .to_owned(),
            };
            return Err(self.malformed(self.at, reason).advising(help));
        }
        let id = self.id(name, at).index();
        if self.rules[id].body.is_some() {
            return Err(self.malformed(at, format!("the rule {} is defined twice", shown(name))));
        }
        self.skip_whitespace(true);
        let body_at = self.at;
        let body = self.alternatives(0)?;
        let body_end = body_at + self.text[body_at..self.at].trim_end().len();
        let is_at_end = if self.is_ebnf() { self.is_at_rule() } else { self.peek().is_none_or(is_line_end) };
        if !is_at_end {
            return Err(self.unexpected());
        }
        self.rules[id].body = Some(body.expr);
        self.rules[id].budget = budget;
        self.rules[id].outlined = Some(OutlinedRule { name: at..at + name.len(), body: body_at..body_end });
        self.skip_whitespace(true);
        Ok(())
    }

    /// `depth` parentheses are open.
    fn alternatives(&mut self, depth: u32) -> Result<Nested, CompileError> {
        let Nested { expr, mut levels } = self.sequence(depth)?;
        let mut alternatives = vec![expr];
        while self.eat("|") {
            self.skip_whitespace(true);
            let next = self.sequence(depth)?;
            alternatives.push(next.expr);
            levels = levels.max(next.levels);
        }
        Ok(Nested { expr: unwrap_one(alternatives, Expr::Alternate), levels })
    }

    fn sequence(&mut self, depth: u32) -> Result<Nested, CompileError> {
        let over_lines = depth > 0 || self.is_ebnf();
        let mut items = Vec::new();
        let mut levels = 0;
        loop {
            let item_at = self.at;
            let Some(mut item) = self.item(depth)? else { break };
            self.skip_whitespace(over_lines);
            loop {
                let at = self.at;
                let Some((min, max)) = self.repetition(over_lines)? else { break };
                if self.text[at..].starts_with('{') {
                    let (span, braces) = (item_at..self.at, at..self.at);
                    self.repetitions.push(OutlinedRepetition { span, braces, min, max });
                }
                item = Nested { expr: item.expr.repeat(min, max), levels: self.deeper(at, item.levels)? };
                self.skip_whitespace(over_lines);
            }
            items.push(item.expr);
            levels = levels.max(item.levels);
        }
        let expr = if items.is_empty() { Expr::text("") } else { unwrap_one(items, Expr::Concat) };
        Ok(Nested { expr, levels })
    }

    /// One level more.
    fn deeper(&self, at: usize, levels: u32) -> Result<u32, CompileError> {
        if levels < NEST_LIMIT {
            return Ok(levels + 1);
        }
        Err(self.refuse(RefusalKind::Unsupported, at, format!("it nests deeper than {NEST_LIMIT} levels")))
    }

    /// What a repetition binds to, without the whitespace after it; `None` where a sequence ends.
    fn item(&mut self, depth: u32) -> Result<Option<Nested>, CompileError> {
        let at = self.at;
        let expr = match self.peek() {
            Some('"') => self.literal()?,
            Some('[') => self.class()?,
            Some('(') if self.is_ebnf() && self.rest().starts_with("(=") => {
                let reason = "the look-ahead (=…) is not supported";
                return Err(self.refuse(RefusalKind::Unsupported, at, reason));
            }
            Some('(') => return self.group(depth).map(Some),
            Some('.') if !(self.is_ebnf() && self.rest()[1..].starts_with(is_name_char)) => {
                self.bump();
                // transformers-CFG leaves the line feed out, and llama.cpp nothing.
                let without = self.is_ebnf().then_some(('\n', '\n'));
                Expr::Chars(CharSet::new(without).complement())
            }
            Some(char) if is_name_char(char) || char == '.' => {
                if self.is_ebnf() && self.is_at_rule() {
                    return Ok(None);
                }
                let name = self.name();
                match self.macro_call(name, at)? {
                    Some(expr) => expr,
                    None => Expr::Call(self.id(name, at)),
                }
            }
            Some(operator @ ('*' | '+' | '?' | '{')) => {
                return Err(self.malformed(at, format!("there is nothing in front of {operator} to repeat")));
            }
            Some('<') => self.token(at)?,
            Some('!') if self.rest().starts_with("!<") => self.token(at)?,
            _ => return Ok(None),
        };
        Ok(Some(Nested { expr, levels: 0 }))
    }

    fn group(&mut self, depth: u32) -> Result<Nested, CompileError> {
        let at = self.at;
        let depth = self.deeper(at, depth)?;
        self.bump();
        self.skip_whitespace(true);
        let inner = self.alternatives(depth)?;
        if self.eat(")") {
            return Ok(Nested { expr: inner.expr, levels: self.deeper(at, inner.levels)? });
        }
        // The beginning of the next rule: it was swallowed as a call.
        if self.rest().starts_with("::=") || self.is_at_rule() {
            return Err(self.malformed(at, "an unclosed parenthesis"));
        }
        Err(self.unexpected())
    }

    /// `*`, `+`, `?` or braces.
    fn repetition(&mut self, over_lines: bool) -> Result<Option<(u32, Option<u32>)>, CompileError> {
        let at = self.at;
        let bounds = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => return self.braces(over_lines).map(Some),
            _ => return Ok(None),
        };
        self.at = at + 1;
        Ok(Some(bounds))
    }

    fn braces(&mut self, over_lines: bool) -> Result<(u32, Option<u32>), CompileError> {
        let at = self.at;
        self.bump();
        self.skip_whitespace(over_lines);
        let min = self.number()?;
        self.skip_whitespace(over_lines);
        let has_comma = self.eat(",");
        self.skip_whitespace(over_lines);
        let max = if has_comma { self.number()? } else { min };
        self.skip_whitespace(over_lines);
        if !self.eat("}") || (min, max) == (None, None) {
            return Err(self.malformed(at, "a repetition is {m}, {m,}, {m,n} or {,n}"));
        }
        let min = min.unwrap_or(0);
        if let Some(max) = max.filter(|max| *max < min) {
            return Err(self.malformed(at, format!("{{{min},{max}}} is empty: {max} is below {min}")));
        }
        Ok((min, max))
    }

    /// A bound, if there is one here.
    fn number(&mut self) -> Result<Option<u32>, CompileError> {
        let at = self.at;
        let digits = self.take_while(|char| char.is_ascii_digit());
        if digits.is_empty() {
            return Ok(None);
        }
        // Too many digits for any number are too much as well.
        let bound = digits.parse().ok().filter(|bound| *bound <= MAX_REPETITIONS);
        bound.map(Some).ok_or_else(|| {
            let reason = format!("{} repetitions, the limit is {MAX_REPETITIONS}", shown(digits));
            self.refuse(RefusalKind::Unsupported, at, reason)
        })
    }
}

fn is_name_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '-' | '_')
}

/// One expression is itself; several are what `wrap` makes of them.
fn unwrap_one(mut exprs: Vec<Expr>, wrap: impl FnOnce(Vec<Expr>) -> Expr) -> Expr {
    match exprs.pop() {
        Some(only) if exprs.is_empty() => only,
        Some(last) => {
            exprs.push(last);
            wrap(exprs)
        }
        None => wrap(exprs),
    }
}

/// A name as a reason shows it: whole, unless nobody would read it.
pub(crate) fn shown(name: &str) -> String {
    match name.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
