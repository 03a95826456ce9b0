//! Naive readers of grammars with a lexer, as Lark reads them and as llguidance does ([`longest`]): what a text's lexemes are, and whether
//! the parser takes them.
//!
//! It follows the words of Lark's documentation: patterns by backtracking ([`pattern`]), lexemes one after the other, and an LALR(1)
//! parser whose states are those of the canonical LR(1) parser, merged ([`parser`]). Nothing is made ahead of time.

mod blocks;
mod longest;
mod parser;
mod pattern;

use std::collections::BTreeSet;

pub use blocks::Blocks;
pub use longest::LongestReader;
pub use pattern::Pattern;

use blocks::Indenter;
use parser::Parser;

/// A terminal.
#[derive(Debug, Clone)]
pub struct Terminal {
    /// Its name.
    pub name: String,
    /// What it matches: a text in quotes if it is a [`Pattern::Text`], otherwise one regular expression.
    pub pattern: Pattern,
    /// The highest is tried first.
    pub priority: i32,
    /// Whether its texts are dropped.
    pub is_ignored: bool,
    /// Whether it ends with its first text and ends all others there. Only llguidance has such.
    pub is_lazy: bool,
}

/// A grammar.
#[derive(Debug, Clone)]
pub struct Lexed {
    /// The terminals.
    pub terminals: Vec<Terminal>,
    /// Alternatives of rules: a name, and names of rules and terminals. The first one is of the start rule, which is called `start`.
    pub productions: Vec<(String, Vec<String>)>,
    /// How newlines become blocks, if they do.
    pub blocks: Option<Blocks>,
}

/// A grammar with its parser.
#[derive(Debug)]
pub struct Reader<'a> {
    grammar: &'a Lexed,
    parser: Parser,
    is_contextual: bool,
}

impl Lexed {
    /// The grammar in Lark's words.
    pub fn to_lark(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in &self.productions {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let mut text = String::new();
        for name in names {
            let bodies = self.productions.iter().filter(|of| of.0 == name).map(|of| of.1.join(" "));
            text.extend([name, ": ", &bodies.collect::<Vec<_>>().join(" | "), "\n"]);
        }
        for Terminal { name, pattern, priority, is_ignored, is_lazy } in &self.terminals {
            // llguidance writes it as a rule.
            let attribute = if *is_lazy { "[lazy]" } else { "" };
            let priority = if *priority == 0 { String::new() } else { format!(".{priority}") };
            let pattern = match pattern {
                Pattern::Text(text) => format!("{text:?}"),
                other => format!("/{}/", other.written()),
            };
            text.extend([name, &priority, attribute, ": ", &pattern, "\n"]);
            if *is_ignored {
                text.extend(["%ignore ", name, "\n"]);
            }
        }
        if self.blocks.is_some() {
            text.extend(["%declare _INDENT _DEDENT\n"]);
        }
        text
    }

    /// The reader of the grammar; `None` if two rules end at one place, which Lark refuses.
    pub fn reader(&self, is_contextual: bool) -> Option<Reader<'_>> {
        let is_block = |name: &str| self.blocks.is_some() && matches!(name, "_INDENT" | "_DEDENT");
        let is_terminal =
            |name: &str| is_block(name) || self.terminals.iter().any(|terminal| terminal.name == name);
        let parser = Parser::of(&self.productions, &is_terminal)?;
        Some(Reader { grammar: self, parser, is_contextual })
    }

    /// Whether blocks begin and end after this terminal.
    fn is_newline(&self, name: &str) -> bool {
        self.blocks.as_ref().is_some_and(|blocks| blocks.newline == name)
    }

    /// The productions of rules that some other rule calls: the others are dropped, one after the other.
    fn called(&self) -> Vec<&(String, Vec<String>)> {
        let mut kept: Vec<&(String, Vec<String>)> = self.productions.iter().collect();
        loop {
            let before = kept.len();
            let is_called = |name: &str| {
                name == "start"
                    || kept.iter().any(|of| of.0 != name && of.1.iter().any(|symbol| symbol == name))
            };
            let called: Vec<bool> = kept.iter().map(|of| is_called(&of.0)).collect();
            kept = kept.into_iter().zip(called).filter(|of| of.1).map(|of| of.0).collect();
            if kept.len() == before {
                return kept;
            }
        }
    }

    /// The terminals that a lexer knows: those of some rule, and the ignored ones.
    fn used(&self) -> BTreeSet<&str> {
        let kept = self.called();
        let names: BTreeSet<&str> = kept.iter().flat_map(|of| of.1.iter().map(String::as_str)).collect();
        (self.terminals.iter())
            .filter(|terminal| {
                terminal.is_ignored
                    || names.contains(terminal.name.as_str())
                    || self.is_newline(&terminal.name)
            })
            .map(|terminal| terminal.name.as_str())
            .collect()
    }
}

impl Reader<'_> {
    /// Whether the grammar has a text; one with blocks, whose lines are indented as the grammar says.
    pub fn reads(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let used = self.grammar.used();
        let mut stack = vec![parser::START];
        let mut at = 0;
        let mut indenter = self.grammar.blocks.as_ref().map(Indenter::new);
        while at < text.len() {
            let state = *stack.last().expect("the first state stays");
            let active: Vec<&Terminal> = (self.grammar.terminals.iter())
                .filter(|terminal| used.contains(terminal.name.as_str()))
                .filter(|terminal| {
                    !self.is_contextual
                        || terminal.is_ignored
                        || self.grammar.is_newline(&terminal.name)
                        || self.parser.acts(state, &terminal.name)
                })
                .collect();
            let Some((end, name, is_dropped)) = lexeme(active, &text, at) else { return false };
            let lexeme = &text[at..end];
            at = end;
            let read = match &mut indenter {
                _ if is_dropped => Some(Vec::new()),
                Some(indenter) => indenter.read(name, lexeme),
                None => Some(vec![name]),
            };
            let Some(read) = read else { return false };
            if !read.into_iter().all(|name| self.parser.shift(&mut stack, name)) {
                return false;
            }
        }
        let last = indenter.map(Indenter::end).unwrap_or_default();
        last.into_iter().all(|name| self.parser.shift(&mut stack, name)) && self.parser.ends(&mut stack)
    }
}

/// The lexeme that begins at a place: its end, its terminal, and whether it is dropped.
fn lexeme<'a>(mut active: Vec<&'a Terminal>, text: &[char], at: usize) -> Option<(usize, &'a str, bool)> {
    active.sort_by_key(|terminal| {
        let (_, most) = terminal.pattern.widths();
        let length = match &terminal.pattern {
            Pattern::Text(text) => text.chars().count(),
            // Lark evaluates the escape of a line feed before it measures.
            other => other.written().replace("\\n", "\n").chars().count(),
        };
        (-terminal.priority, std::cmp::Reverse((most, length)), &terminal.name)
    });
    let is_kept_from = |word: &Terminal, expression: &Terminal| {
        let Pattern::Text(text) = &word.pattern else { return false };
        let text: Vec<char> = text.chars().collect();
        let is_expression = !matches!(expression.pattern, Pattern::Text(_));
        is_expression
            && word.priority == expression.priority
            && first(&expression.pattern, &text, 0) == Some(text.len())
    };
    let tried = active.iter().filter(|word| !active.iter().any(|other| is_kept_from(word, other)));
    for terminal in tried {
        if let Some(end) = first(&terminal.pattern, text, at) {
            let is_it = |word: &&&Terminal| {
                let Pattern::Text(of) = &word.pattern else { return false };
                is_kept_from(word, terminal) && of.chars().eq(text[at..end].iter().copied())
            };
            let keyword = active.iter().find(is_it);
            return Some((end, &keyword.unwrap_or(terminal).name, terminal.is_ignored));
        }
    }
    None
}

/// The end of the first match.
fn first(pattern: &Pattern, text: &[char], at: usize) -> Option<usize> {
    pattern.ends(text, at).first().copied()
}
