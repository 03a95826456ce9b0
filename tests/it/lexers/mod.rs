//! Grammars in Lark under Lark's lexers and llguidance's: what their homes take, what naive readers take, and what may not be lost on the
//! way.

mod by_hand;
mod files;
mod indented;
mod longest;
mod python;
mod random;
mod states;
mod table;

use gobo_artifact::Matcher;
use gobo_oracle::Tokens;
use gobo_types::{Budget, CompileError, CompileLimits, Constraint, Dialect, Lexer, LookAhead, Report};

use crate::subject::matcher;

/// Both lexers.
pub(crate) fn lexers() -> [Lexer; 2] {
    [Lexer::Contextual(LookAhead::default()), Lexer::Basic(LookAhead::default())]
}

pub(crate) fn constraint(grammar: &str, lexer: Lexer) -> Constraint {
    Constraint::grammar(Dialect::Lark, grammar, "start", Some(lexer), Vec::new())
}

/// The report of a grammar.
pub(crate) fn report(constraint: &Constraint) -> Result<Report, CompileError> {
    Ok(gobo_worker::lower(constraint, &Budget::new(CompileLimits::default()))?.report)
}

/// The tokens of all bytes, each by its number, and others after them.
pub(crate) fn tokens(words: &[&str]) -> Tokens {
    let mut tokens = Tokens::new();
    for byte in 0..=u8::MAX {
        tokens.push(&[byte], false);
    }
    for word in words {
        tokens.push(word.as_bytes(), false);
    }
    tokens
}

/// A grammar over these tokens.
pub(crate) struct Subject {
    start: Matcher,
}

impl Subject {
    pub(crate) fn new(constraint: &Constraint, words: &[&str]) -> Self {
        Self { start: matcher(constraint, &tokens(words)) }
    }

    /// Whether a text is taken byte by byte, and may end.
    pub(crate) fn accepts(&self, text: &str) -> bool {
        self.after(text).is_some_and(|matcher| matcher.is_complete())
    }

    /// The matcher after a text.
    pub(crate) fn after(&self, text: &str) -> Option<Matcher> {
        let mut matcher = self.start.clone();
        for byte in text.bytes() {
            matcher.advance(u32::from(byte)).ok()?;
        }
        Some(matcher)
    }
}

/// All texts over characters up to a length, the short ones first.
pub(crate) fn texts(chars: &str, most: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut from = 0;
    for _ in 0..most {
        let to = all.len();
        for at in from..to {
            let longer = chars.chars().map(|char| format!("{}{char}", all[at]));
            let longer: Vec<String> = longer.collect();
            all.extend(longer);
        }
        from = to;
    }
    all
}
