//! llama.cpp's GBNF.
//!
//! The dialect is what that project's reader takes: `src/llama-grammar.cpp` and `grammars/README.md` of
//! `ggml-org/llama.cpp`. Taken beyond it: `_` in names, `{,n}`, repetition of the empty literal, left recursion, and upper
//! bounds above 2,000, which there silently mean no bound. Refused although it takes them: two definitions of a rule (the
//! later one counts there), the empty class (there the empty text) and ranges and escapes that stand for no character
//! (there they match nothing).

use std::collections::HashMap;

use gobo_automata::{CharSet, Expr, Grammar, Rule, RuleId};
use gobo_types::{CompileError, DenseId as _, RefusalKind};

use crate::misfit::misfit;
use crate::near::near;
use crate::outline::is_line_end;
pub use crate::outline::{Outline, OutlinedRepetition, OutlinedRule, place};

/// Longest text of a grammar in bytes. Reading it takes some hundred times as much memory at worst, and linear time.
const MAX_GRAMMAR_BYTES: usize = 1 << 20;

/// Deepest nesting of parentheses and repetitions in a rule: what reads, walks and drops an expression calls itself for
/// each level.
const NEST_LIMIT: u32 = 250;

/// Highest bound of a repetition. Bounds within bounds multiply, and their product is the automaton's budget's concern.
const MAX_REPETITIONS: u32 = 100_000;

/// How much of a name, and how many names, a reason shows.
const SHOWN_CHARS: usize = 64;
const SHOWN_NAMES: usize = 12;

/// Reads a grammar in llama.cpp's GBNF. Linear in the text.
///
/// # Errors
/// A refusal naming the construct, its line and its column in characters, both from 1.
pub fn gbnf(grammar: &str, start: &str) -> Result<Grammar, CompileError> {
    Reader::read(grammar)?.finish(start)
}

/// Where the rules and the counted repetitions of a grammar stand; `None` if it has no grammar's form. Linear in the text.
///
/// ```
/// use gobo_grammar::gbnf::outline;
///
/// let outline = outline("root ::= [a-z]{2,3}").unwrap();
/// assert_eq!((outline.rules[0].body.clone(), outline.repetitions[0].braces.clone()), (9..19, 14..19));
/// ```
pub fn outline(grammar: &str) -> Option<Outline> {
    let reader = Reader::read(grammar).ok()?;
    let rules = reader.rules.into_iter().map(|rule| rule.outlined).collect::<Option<_>>()?;
    Some(Outline { rules, repetitions: reader.repetitions })
}

/// A rule that was called or defined, in the order of first sight.
struct Seen<'a> {
    name: &'a str,
    /// Where it was seen first.
    at: usize,
    body: Option<Expr>,
    outlined: Option<OutlinedRule>,
}

/// An expression and how many parentheses and repetitions nest in it.
struct Nested {
    expr: Expr,
    levels: u32,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    rules: Vec<Seen<'a>>,
    ids: HashMap<&'a str, RuleId>,
    repetitions: Vec<OutlinedRepetition>,
}

impl<'a> Reader<'a> {
    /// Reads all rules.
    fn read(grammar: &'a str) -> Result<Self, CompileError> {
        if grammar.len() > MAX_GRAMMAR_BYTES {
            return Err(CompileError::refuse(
                RefusalKind::Unsupported,
                "the whole grammar",
                format!("the grammar has {} bytes, the limit is {MAX_GRAMMAR_BYTES}", grammar.len()),
            )
            .spanning(0..0));
        }
        let mut reader =
            Self { text: grammar, at: 0, rules: Vec::new(), ids: HashMap::new(), repetitions: Vec::new() };
        if let Some(at) = grammar.find('\0') {
            return Err(reader.malformed(at, "a raw NUL character; write \\x00 to match one"));
        }
        reader.skip_whitespace(true);
        while reader.at < grammar.len() {
            reader.rule()?;
        }
        Ok(reader)
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
        let (reason, help) = misfit(self.rest());
        self.malformed(self.at, reason).advising(help)
    }

    fn name(&mut self) -> &'a str {
        self.take_while(is_name_char)
    }

    fn id(&mut self, name: &'a str, at: usize) -> RuleId {
        *self.ids.entry(name).or_insert_with(|| {
            self.rules.push(Seen { name, at, body: None, outlined: None });
            RuleId::new(self.rules.len() - 1)
        })
    }

    fn rule(&mut self) -> Result<(), CompileError> {
        let at = self.at;
        let name = self.name();
        if name.is_empty() {
            return Err(self.unexpected());
        }
        self.skip_whitespace(false);
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
        if self.peek().is_some_and(|char| !is_line_end(char)) {
            return Err(self.unexpected());
        }
        self.rules[id].body = Some(body.expr);
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
        let over_lines = depth > 0;
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
            Some('.') => {
                self.bump();
                Expr::Chars(CharSet::new([]).complement())
            }
            Some('(') => return self.group(depth).map(Some),
            Some(char) if is_name_char(char) => {
                let name = self.name();
                Expr::Call(self.id(name, at))
            }
            Some(operator @ ('*' | '+' | '?' | '{')) => {
                return Err(self.malformed(at, format!("there is nothing in front of {operator} to repeat")));
            }
            Some('<' | '!') => {
                let reason = "token edges (<token>, <[id]>, !<…>) are not supported";
                let help = "Match what the token is written with, in double quotes; a special token is sampled by the caller.";
                return Err(self.refuse(RefusalKind::Unsupported, at, reason).advising(help));
            }
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
        if self.rest().is_empty() || self.rest().starts_with("::=") {
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

    fn literal(&mut self) -> Result<Expr, CompileError> {
        let at = self.at;
        self.bump();
        let mut text = String::new();
        while !self.eat("\"") {
            text.push(self.char(at, "an unclosed literal")?);
        }
        Ok(Expr::Text(text))
    }

    fn class(&mut self) -> Result<Expr, CompileError> {
        const UNCLOSED: &str = "an unclosed character class";
        let at = self.at;
        self.bump();
        let is_negated = self.eat("^");
        let mut ranges = Vec::new();
        while !self.eat("]") {
            let first_at = self.at;
            let first = self.char(at, UNCLOSED)?;
            // At the end of a class a dash is itself.
            let is_range = self.rest().starts_with('-') && !self.rest().starts_with("-]");
            let last = if is_range {
                self.bump();
                self.char(at, UNCLOSED)?
            } else {
                first
            };
            if last < first {
                let reason = format!("{first:?} comes after {last:?}: the range is empty");
                return Err(self.malformed(first_at, reason));
            }
            ranges.push((first, last));
        }
        if ranges.is_empty() {
            let hint = if is_negated { "; any character is ." } else { "" };
            return Err(self.malformed(at, format!("an empty character class{hint}")));
        }
        let set = CharSet::new(ranges);
        Ok(Expr::Chars(if is_negated { set.complement() } else { set }))
    }

    /// A character of a literal or class that was opened at `opened`; classes and literals have the same escapes.
    fn char(&mut self, opened: usize, unclosed: &str) -> Result<char, CompileError> {
        let at = self.at;
        match self.bump() {
            Some('\\') => self.escape(at),
            Some(char) => Ok(char),
            None => Err(self.malformed(opened, unclosed)),
        }
    }

    /// An escape, after its backslash at `at`.
    fn escape(&mut self, at: usize) -> Result<char, CompileError> {
        // Each of the three is a code point: \xE9 is é, two bytes.
        let len = match self.bump() {
            Some('n') => return Ok('\n'),
            Some('r') => return Ok('\r'),
            Some('t') => return Ok('\t'),
            Some(char @ ('\\' | '"' | '[' | ']' | '-')) => return Ok(char),
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            _ => {
                let known = r#"\n \r \t \\ \" \[ \] \- \xHH \uHHHH \UHHHHHHHH"#;
                return Err(self.malformed(at, format!("an unknown escape; there are {known}")));
            }
        };
        let digits = self.rest().get(..len).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(digits) = digits else {
            return Err(self.malformed(at, format!("this escape needs {len} hexadecimal digits")));
        };
        self.at += len;
        let code = u32::from_str_radix(digits, 16).ok();
        code.and_then(char::from_u32).ok_or_else(|| {
            let is_surrogate = code.is_some_and(|code| (0xD800..=0xDFFF).contains(&code));
            let why = if is_surrogate { "a surrogate" } else { "beyond U+10FFFF" };
            self.malformed(at, format!("{} is no character: it is {why}", &self.text[at..self.at]))
        })
    }

    fn finish(mut self, start: &str) -> Result<Grammar, CompileError> {
        if self.rules.is_empty() {
            return Err(self.malformed(0, "a grammar without rules"));
        }
        if let Some(missing) = self.rules.iter().find(|rule| rule.body.is_none()) {
            let help = match near(missing.name, self.names()) {
                Some(near) => format!("Did you mean {near}?"),
                None => "Define it, or write it in double quotes if it is a text to match.".to_owned(),
            };
            let reason = format!("the rule {} is not defined", shown(missing.name));
            let span = missing.at..missing.at + missing.name.len();
            return Err(self.malformed(missing.at, reason).spanning(span).advising(help));
        }
        let Some(&start) = self.ids.get(start) else {
            let names: Vec<String> = self.names().take(SHOWN_NAMES).map(shown).collect();
            let more = if self.rules.len() > SHOWN_NAMES { ", …" } else { "" };
            let first = self.names().next().map_or_else(String::new, shown);
            return Err(CompileError::refuse(
                RefusalKind::Malformed,
                "the start rule",
                format!("there is no rule {}; there are {}{more}", shown(start), names.join(", ")),
            )
            .spanning(0..0)
            .advising(format!(
                "Name the rule of whole texts, as in --start {first} (the field start), or define {}.",
                shown(start)
            )));
        };
        let rules = self
            .rules
            .drain(..)
            .filter_map(|rule| Some(Rule { name: rule.name.to_owned(), expr: rule.body?, lengths: None }));
        Ok(Grammar { rules: rules.collect(), start, called: Vec::new() })
    }

    /// Of the rules that are defined.
    fn names(&self) -> impl Iterator<Item = &'a str> {
        self.rules.iter().filter(|rule| rule.body.is_some()).map(|rule| rule.name)
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
fn shown(name: &str) -> String {
    match name.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::Refusal;
    use proptest::prelude::*;

    use super::*;

    fn refusal(grammar: &str, start: &str) -> Refusal {
        match gbnf(grammar, start) {
            Err(CompileError::Refused(refusal)) => *refusal,
            other => panic!("{grammar:?}: {other:?}"),
        }
    }

    /// The first rule's expression.
    fn first(grammar: &str) -> Expr {
        gbnf(grammar, "r").unwrap_or_else(|error| panic!("{grammar:?}: {error}")).rules.swap_remove(0).expr
    }

    fn text(text: &str) -> Expr {
        Expr::text(text)
    }

    fn one_of(chars: &str) -> Expr {
        Expr::chars(chars.chars().map(|char| (char, char)))
    }

    fn any_char() -> Expr {
        Expr::chars([('\0', char::MAX)])
    }

    #[test]
    fn every_construct_is_read() {
        use Expr::{Alternate, Call, Concat};
        for (body, expected) in [
            // Literals and their escapes; a raw line end is a character as any other.
            (r#""""#, text("")),
            (r#""a#b|c""#, text("a#b|c")),
            ("\"a\nb\"", text("a\nb")),
            (r#""\n\r\t\\\"\[\]\-""#, text("\n\r\t\\\"[]-")),
            (r#""\x41\xe9\u00E9\U0001F600""#, text("Aéé😀")),
            (r#""\x00""#, text("\0")),
            // Classes.
            ("[abc]", one_of("abc")),
            ("[a-cx]", one_of("abcx")),
            ("[a-]", one_of("a-")),
            ("[-a]", one_of("-a")),
            ("[+--]", one_of("+,-")),
            (r"[a\-c]", one_of("a-c")),
            (r"[\]\[^]", one_of("][^")),
            (r#"["\"]"#, one_of("\"")),
            ("[(|#.]", one_of("(|#.")),
            (r"[\x41-\u0043]", one_of("ABC")),
            ("[ぁ-ん]", Expr::chars([('ぁ', 'ん')])),
            ("[^a]", Expr::Chars(CharSet::new([('a', 'a')]).complement())),
            (r"[^\x00-\U0010FFFF]", Expr::chars([])),
            (".", any_char()),
            // Sequences, alternatives, groups.
            ("() ()", Concat(vec![text(""), text("")])),
            (r#""a" [b] ."#, Concat(vec![text("a"), one_of("b"), any_char()])),
            (r#""a"[b]."#, Concat(vec![text("a"), one_of("b"), any_char()])),
            (
                r#"("a" | "b" "c" |)"#,
                Alternate(vec![text("a"), Concat(vec![text("b"), text("c")]), text("")]),
            ),
            (r#"| "b""#, Alternate(vec![text(""), text("b")])),
            (r#"("a")"#, text("a")),
            ("()", text("")),
            (r#"("a" | r) "b""#, Concat(vec![Alternate(vec![text("a"), Call(RuleId::of(0))]), text("b")])),
            ("r r", Concat(vec![Call(RuleId::of(0)), Call(RuleId::of(0))])),
            // Repetitions.
            (r#""ab"*"#, text("ab").repeat(0, None)),
            (r#""a"+ "b"?"#, Concat(vec![text("a").repeat(1, None), text("b").repeat(0, Some(1))])),
            ("r{3}", Call(RuleId::of(0)).repeat(3, Some(3))),
            ("r{3,}", Call(RuleId::of(0)).repeat(3, None)),
            ("r{3,4}", Call(RuleId::of(0)).repeat(3, Some(4))),
            ("r{,4}", Call(RuleId::of(0)).repeat(0, Some(4))),
            ("r {\t3 , 4 } ", Call(RuleId::of(0)).repeat(3, Some(4))),
            ("r{0}", Call(RuleId::of(0)).repeat(0, Some(0))),
            ("r{002,100000}", Call(RuleId::of(0)).repeat(2, Some(100_000))),
            ("r+*", Call(RuleId::of(0)).repeat(1, None).repeat(0, None)),
            (r#"("a" "b")?"#, Concat(vec![text("a"), text("b")]).repeat(0, Some(1))),
            (r#"""*"#, text("").repeat(0, None)),
            // Where a rule goes on over line ends, and comments.
            ("\n# c\n \"a\" |\r\n\r\"b\" # c", Alternate(vec![text("a"), text("b")])),
            (
                "( # c\n\"a\"\n*\r\n| #\n\"b\"{\n1,\n2\n}\n)",
                Alternate(vec![text("a").repeat(0, None), text("b").repeat(1, Some(2))]),
            ),
        ] {
            assert_eq!(first(&format!("r ::= {body}")), expected, "{body}");
            assert_eq!(first(&format!("\n# c\r\nr\t::={body}\r\n \n_-9::=\"x\"\n#")), expected, "{body}");
        }
    }

    #[test]
    fn rules_are_numbered_as_they_are_seen_and_may_be_recursive() {
        let read = gbnf("a ::= b | a \"x\"\rb_1-C ::= \"y\"\n\nb ::= b_1-C", "b").unwrap();
        let names: Vec<&str> = read.rules.iter().map(|rule| rule.name.as_str()).collect();
        assert_eq!((names, read.start), (vec!["a", "b", "b_1-C"], RuleId::of(1)));
        assert_eq!(first("r ::= "), text(""), "an empty rule can only be the last");
        assert_eq!(read.rules[1].expr, Expr::Call(RuleId::of(2)));
    }

    #[test]
    fn refusals_name_the_construct_and_its_place() {
        use RefusalKind::{Malformed, Unsupported};
        for (grammar, kind, place, words) in [
            ("", Malformed, "line 1, column 1", "without rules"),
            (" # nothing", Malformed, "line 1, column 1", "without rules"),
            ("r ::= \"a\0\"", Malformed, "line 1, column 9", "NUL"),
            ("r = \"a\"", Malformed, "line 1, column 3", "::= is missing after the name r"),
            ("r\n::= \"a\"", Malformed, "line 1, column 2", "::="),
            ("r ::= \"a\"\n| \"b\"", Malformed, "line 2, column 1", "| at the beginning of a line"),
            ("a ::=\nb ::= \"x\"", Malformed, "line 2, column 3", "::= inside a rule"),
            ("a ::= \"x\" |\r\nb ::= \"x\"", Malformed, "line 2, column 3", "::= inside a rule"),
            ("r ::= s", Malformed, "line 1, column 7", "the rule s is not defined"),
            (
                "r ::= \"é\" numbr\nnumber ::= r",
                Malformed,
                "line 1, column 11",
                "the rule numbr is not defined",
            ),
            ("r ::= \"a\"\n\nr ::= \"b\"", Malformed, "line 3, column 1", "r is defined twice"),
            ("r ::= \"\\d\"", Malformed, "line 1, column 8", "unknown escape"),
            ("r ::= \"a\\", Malformed, "line 1, column 9", "unknown escape"),
            ("r ::= [\\x4g]", Malformed, "line 1, column 8", "2 hexadecimal digits"),
            ("r ::= \"\\u12\"", Malformed, "line 1, column 8", "4 hexadecimal digits"),
            ("r ::= \"\\u12é\"", Malformed, "line 1, column 8", "4 hexadecimal digits"),
            ("r ::= \"\\U+0000041\"", Malformed, "line 1, column 8", "8 hexadecimal digits"),
            (
                "r ::= \"\\uD83D\\uDE00\"",
                Malformed,
                "line 1, column 8",
                "\\uD83D is no character: it is a surrogate",
            ),
            ("r ::= [^\\U00110000]", Malformed, "line 1, column 9", "beyond U+10FFFF"),
            ("r ::= [az-a]", Malformed, "line 1, column 9", "'z' comes after 'a'"),
            ("r ::= []", Malformed, "line 1, column 7", "empty character class"),
            ("r ::= [^]", Malformed, "line 1, column 7", "any character is ."),
            ("r ::= \"a\nb", Malformed, "line 1, column 7", "unclosed literal"),
            ("r ::= [a-", Malformed, "line 1, column 7", "unclosed character class"),
            ("r ::= [a\\]", Malformed, "line 1, column 7", "unclosed character class"),
            ("r ::= (\"a\" (\"b\")", Malformed, "line 1, column 7", "unclosed parenthesis"),
            ("r ::= (\"a\"\ns ::= \"b\"", Malformed, "line 1, column 7", "unclosed parenthesis"),
            ("r ::= (\"a\" ]", Malformed, "line 1, column 12", "unexpected ']'"),
            ("r ::= \"a\")", Malformed, "line 1, column 10", "never opened"),
            ("r ::= 'a'", Malformed, "line 1, column 7", "double quotes"),
            ("r ::= \"a\" ; s", Malformed, "line 1, column 11", "unexpected ';'"),
            ("r ::= * \"a\"", Malformed, "line 1, column 7", "nothing in front of *"),
            ("r ::= \"a\" | ?", Malformed, "line 1, column 13", "nothing in front of ?"),
            ("r ::= (+)", Malformed, "line 1, column 8", "nothing in front of +"),
            ("r ::= \"a\"{3,2}", Malformed, "line 1, column 10", "{3,2} is empty"),
            ("r ::= \"a\"{}", Malformed, "line 1, column 10", "{m,n}"),
            ("r ::= \"a\"{,}", Malformed, "line 1, column 10", "{m,n}"),
            ("r ::= \"a\"{1;2}", Malformed, "line 1, column 10", "{m,n}"),
            ("r ::= \"a\"{-1}", Malformed, "line 1, column 10", "{m,n}"),
            ("r ::= \"a\"{1\n}", Malformed, "line 1, column 10", "{m,n}"),
            ("r ::= \"a\"{100001}", Unsupported, "line 1, column 11", "the limit is 100000"),
            ("r ::= \"a\"{1,99999999999999999999}", Unsupported, "line 1, column 13", "the limit is 100000"),
            ("r ::= <think>", Unsupported, "line 1, column 7", "token edges"),
            ("r ::= <[7]>", Unsupported, "line 1, column 7", "token edges"),
            ("r ::= \"a\"\r# c\r  !<[7]>", Malformed, "line 3, column 3", "unexpected '!'"),
            ("r ::= (\r\n\r!<[7]>)", Unsupported, "line 3, column 1", "token edges"),
            ("\u{feff}r ::= \"a\"", Malformed, "line 1, column 1", "unexpected '\\u{feff}'"),
        ] {
            let refusal = refusal(grammar, "r");
            assert_eq!((refusal.kind, refusal.place.as_str()), (kind, place), "{grammar:?}: {refusal}");
            assert!(refusal.reason.contains(words), "{grammar:?}: {refusal}");
        }
    }

    #[test]
    fn an_unknown_start_rule_is_answered_with_those_there_are() {
        let refusal = refusal("a ::= b\nb ::= \"\"", "root");
        assert_eq!(refusal.place, "the start rule");
        assert_eq!(refusal.reason, "there is no rule root; there are a, b");
        assert!(refusal.span.is_some() && refusal.help.contains("--start a"), "{:?}", refusal.help);
    }

    #[test]
    fn refusals_say_what_to_do_next() {
        for (grammar, help) in [
            ("r = \"a\"", "::= and not =."),
            ("r: \"a\"", "::= and not :."),
            ("r -> \"a\"", "::= and not ->."),
            ("r ::= numbr\nnumber ::= \"1\"", "Did you mean number?"),
            ("r ::= hello", "double quotes"),
            ("r ::= 'a'", "double quotes"),
            ("r ::= \"a\" ;", "a rule ends with its line"),
            ("r ::= \"a\"\n  | \"b\"", "end of the line before"),
            ("r ::= <think>", "special token"),
            ("r ::= \"a\" // b", "begins with #"),
            ("r ::= \"a\")", "\")\""),
        ] {
            let refusal = refusal(grammar, "r");
            assert!(refusal.help.contains(help), "{grammar:?}: {refusal} {:?}", refusal.help);
            assert!(refusal.span.is_some(), "{grammar:?}");
        }
    }

    #[test]
    fn killers_end_in_refusals() {
        let nested = |levels: usize| format!("r ::= {}\"a\"{}", "(".repeat(levels), ")".repeat(levels));
        let stacked = |levels: usize| format!("r ::= \"a\"{}", "?".repeat(levels));
        for deep in [nested, stacked] {
            assert!(gbnf(&deep(NEST_LIMIT as usize), "r").is_ok());
            assert!(refusal(&deep(NEST_LIMIT as usize + 1), "r").reason.contains("deeper than 250"));
            assert!(refusal(&deep(60_000), "r").reason.contains("deeper than 250"));
        }
        let both = format!("r ::= {}\"a\"{}", "(".repeat(130), "??)".repeat(130));
        assert!(refusal(&both, "r").reason.contains("deeper than 250"));
        assert!(refusal(&format!("r ::= {}", "(".repeat(60_000)), "r").reason.contains("deeper"));
        let long = format!("r ::= \"{}\"", "a".repeat(MAX_GRAMMAR_BYTES));
        assert!(refusal(&long, "r").reason.contains("the limit is 1048576"));
        // As much of everything as fits: linear, and no reason is longer than a person reads.
        let fill = |unit: &str| unit.repeat((MAX_GRAMMAR_BYTES - 10) / unit.len());
        for unit in ["r ", "|", ".", "()", "\"\"", "[a]", "[^a]", "\"a\"*", "#\n", "(.|)"] {
            assert!(gbnf(&format!("r ::= ({})", fill(unit)), "r").is_ok(), "{unit}");
        }
        assert!(gbnf(&format!("r ::= [{}]", fill("ca-z")), "r").is_ok());
        let name = fill("n");
        assert!(refusal(&format!("r ::= {name}"), "r").reason.len() < 200);
        assert!(refusal(&name, &name).reason.len() < 200);
        assert!(refusal("r ::= \"\"", &name).reason.len() < 200);
        let rules: Vec<String> = (0..50_000).map(|at| format!("r{at} ::= r{at}")).collect();
        let rules = rules.join("\n");
        assert!(refusal(&rules, "root").reason.len() < 200);
        assert!(refusal(&format!("{rules}\nr ::= rx50000"), "r").help.contains("Did you mean"));
    }

    /// Grammars with every construct, as people write them.
    const REAL: [&str; 3] = [
        include_str!("../../../docs/examples/arithmetic.gbnf"),
        "root ::= (\n  # one move\n  \"1. \" move \" \" move \"\\n\"\n  ([1-9] [0-9]? \". \" move)+\n)\r\n\
         move ::= ([a-h] \"x\")? [a-h] [1-8] (\"=\" [NBKQR])? [+#]? | \"O-O\" \"-O\"?\n",
        "string ::= \"\\\"\" ( [^\"\\\\\\x7F\\x00-\\x1F] | \"\\\\\" ([\"\\\\bfnrt] | \"u\" [0-9a-fA-F]{4}) )* \"\\\"\" ws\n\
         ws ::= | \" \" | \"\\n\" [ \\t]{0,20}\nkanji_1 ::= [一-鿿]{,3} .{2,} string",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read_or_refused(text in any::<String>(), start in "[a-z]{0,3}") {
            let _ = gbnf(&text, &start);
        }

        #[test]
        fn any_text_of_its_characters_is_read_or_refused(text in r#"(r|s|::=|"|\[|\]|\(|\)|[|*+?{},^\\xu019a .<!>#é-]|\r|\n){0,40}"#) {
            let _ = gbnf(&text, "r");
            let _ = gbnf(&format!("r ::= {text}"), "r");
        }

        #[test]
        fn damaged_grammars_are_read_or_refused(
            which in 0..REAL.len(),
            edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4_usize, any::<char>()), 1..6),
        ) {
            let mut chars: Vec<char> = REAL[which].chars().collect();
            for (index, edit, char) in edits {
                if chars.is_empty() {
                    break;
                }
                let at = index.index(chars.len());
                match edit {
                    0 => chars[at] = char,
                    1 => chars.insert(at, char),
                    2 => drop(chars.remove(at)),
                    _ => chars.truncate(at + 1),
                }
            }
            let _ = gbnf(&chars.into_iter().collect::<String>(), "root");
        }
    }

    #[test]
    fn real_grammars_are_read() {
        for (grammar, start) in REAL.into_iter().zip(["root", "move", "kanji_1"]) {
            assert!(gbnf(grammar, start).is_ok(), "{grammar}");
        }
    }

    /// Published grammars, from `GOBO_DATA`, or else from `shared/data` beside the repository.
    #[test]
    #[ignore = "needs GOBO_DATA"]
    fn published_grammars_are_read() {
        let beside = || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
        let folder = std::env::var_os("GOBO_DATA").map_or_else(beside, Into::into).join("grammars");
        for file in std::fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|kind| kind == "gbnf" || kind == "ebnf") {
                let read = gbnf(&std::fs::read_to_string(&path).unwrap(), "root");
                assert!(read.is_ok(), "{}: {read:?}", path.display());
            }
        }
    }
}
