use gobo_automata::Grammar;
use gobo_types::Whitespace;

/// The grammar of JSON texts (RFC 8259).
pub(crate) fn json(_whitespace: Whitespace) -> Grammar {
    unimplemented!("the grammar of JSON")
}
