//! llama.cpp's GBNF.
//!
//! The dialect is what that project's reader takes: `src/llama-grammar.cpp` and `grammars/README.md` of
//! `ggml-org/llama.cpp`. Taken beyond it: `_` in names, `{,n}`, repetition of the empty literal, left recursion, and upper
//! bounds above 2,000, which there silently mean no bound. Refused although it takes them: two definitions of a rule (the
//! later one counts there), the empty class (there the empty text) and ranges and escapes that stand for no character
//! (there they match nothing). Beyond its token edges (`<think>`, `<[7]>`, `!<…>`) ids may be lists of ranges,
//! and `<class:NAME>` is a class of tokens.

use gobo_automata::Grammar;
use gobo_types::{CompileError, NamedClasses};

use crate::bnf::{Form, Reader};
pub use crate::outline::{Outline, OutlinedRepetition, OutlinedRule, place};

/// Reads a grammar in llama.cpp's GBNF, in which classes of tokens have names. Linear in the text.
///
/// # Errors
/// A refusal naming the construct, its line and its column in characters, both from 1.
pub fn gbnf(grammar: &str, start: &str, classes: &NamedClasses) -> Result<Grammar, CompileError> {
    Reader::read(grammar, Form::Gbnf, Some(classes))?.finish(start)
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
    Reader::read(grammar, Form::Gbnf, None).ok()?.outline()
}

#[cfg(test)]
mod tests;
