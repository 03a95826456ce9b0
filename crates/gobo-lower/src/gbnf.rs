use gobo_automata::Grammar;
use gobo_types::CompileError;

/// Reads a grammar in llama.cpp's GBNF.
pub(crate) fn gbnf(_grammar: &str, _start: &str) -> Result<Grammar, CompileError> {
    unimplemented!("the reader of GBNF")
}
