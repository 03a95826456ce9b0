//! Grammars in Lark under Lark's lexers: what Lark takes, what a naive reader takes, and what may not be lost on the way.

mod by_hand;
mod files;
mod python;
mod random;

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

/// Tokens of single bytes, and others after them.
pub(crate) fn tokens(chars: &str, words: &[&str]) -> Tokens {
    let mut bytes: Vec<u8> = chars.bytes().collect();
    bytes.sort_unstable();
    bytes.dedup();
    let mut tokens = Tokens::new();
    for byte in bytes {
        tokens.push(&[byte], false);
    }
    for word in words {
        tokens.push(word.as_bytes(), false);
    }
    tokens
}

/// A grammar over tokens of single bytes.
pub(crate) struct Subject {
    start: Matcher,
    bytes: Vec<u8>,
}

impl Subject {
    pub(crate) fn new(constraint: &Constraint, chars: &str, words: &[&str]) -> Self {
        let tokens = tokens(chars, words);
        let start = matcher(constraint, &tokens);
        let single = tokens.ordinary().filter(|(_, bytes)| bytes.len() == 1);
        Self { start, bytes: single.map(|(_, bytes)| bytes[0]).collect() }
    }

    /// Whether a text is taken byte by byte, and may end.
    pub(crate) fn accepts(&self, text: &str) -> bool {
        self.after(text).is_some_and(|matcher| matcher.is_complete())
    }

    /// The matcher after a text.
    pub(crate) fn after(&self, text: &str) -> Option<Matcher> {
        let mut matcher = self.start.clone();
        for byte in text.bytes() {
            let id = self.bytes.binary_search(&byte).ok()?;
            matcher.advance(u32::try_from(id).unwrap()).ok()?;
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
