//! Quoted text, and plain scalars of YAML.

use gobo_automata::{CharSet, Expr, Machine};
use gobo_types::{Budget, CompileError};

use super::super::syntax::Node;
use super::node;

/// `White_Space` of Unicode.
const WHITE: [(char, char); 10] = [
    ('\t', '\r'),
    (' ', ' '),
    ('\u{85}', '\u{85}'),
    ('\u{a0}', '\u{a0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200a}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202f}', '\u{202f}'),
    ('\u{205f}', '\u{205f}'),
    ('\u{3000}', '\u{3000}'),
];

/// `c-printable` of YAML 1.2.2 (production 1) without line ends, blanks and the byte order mark: `ns-char` (production 34).
const PRINTED: [(char, char); 6] = [
    ('!', '~'),
    ('\u{85}', '\u{85}'),
    ('\u{a0}', '\u{d7ff}'),
    ('\u{e000}', '\u{fefe}'),
    ('\u{ff00}', '\u{fffd}'),
    ('\u{10000}', char::MAX),
];

/// `c-indicator` (production 22).
const INDICATORS: &str = "-?:,[]{}#&*!|>'\"%@`";

/// `c-flow-indicator` (production 23).
const FLOW_INDICATORS: &str = ",[]{}";

fn of(text: &str) -> CharSet {
    CharSet::new(text.chars().map(|char| (char, char)))
}

/// `"`, spaces and characters that are no white space, at least one of the latter, and `"`. Of `"` and `\` there are `\"`, `\\`, and
/// `\n` for a line end: the paper's section C.4.4.
pub(crate) fn quoted() -> Node {
    let plain = CharSet::new(WHITE).complement().without(&of("\"\\"));
    let escaped = Node::Concat(vec![Node::Text("\\".to_owned()), Node::Chars(of("\"\\n"))]);
    let quote = || Node::Text("\"".to_owned());
    let space = || Node::Text(" ".to_owned());
    let char = Node::Alternate(vec![Node::Chars(plain), escaped]);
    let more = Node::Alternate(vec![space(), char.clone()]).repeat(0, None);
    Node::Concat(vec![quote(), space().repeat(0, None), char, more, quote()])
}

/// A plain scalar of YAML 1.2.2 on one line (`ns-plain-one-line`, production 133): in block context, or inside brackets.
///
/// A `:` needs a character after it that is no blank, and a `#` one before it, so the automaton has a state for each of what was read last: a
/// character, a `:` (or an indicator that begins the scalar), a blank.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn unquoted(is_flow: bool, budget: &Budget) -> Result<Node, CompileError> {
    let chars = CharSet::new(PRINTED);
    let safe = if is_flow { chars.without(&of(FLOW_INDICATORS)) } else { chars.clone() };
    let first = chars.without(&of(INDICATORS));
    let mut machine = Machine::default();
    let start = machine.add_state(false);
    let [after_char, after_sign, after_blank] = [true, false, false].map(|ends| machine.add_state(ends));
    machine.start = start;
    let mut edge = |from, set: CharSet, to| machine.add_edge(from, Expr::Chars(set), to);
    edge(start, first, after_char);
    edge(start, of("?:-"), after_sign);
    let plain = safe.without(&of(":#"));
    for from in [after_char, after_sign, after_blank] {
        edge(from, plain.clone(), after_char);
        edge(from, of(":"), after_sign);
    }
    for from in [after_char, after_sign] {
        edge(from, of("#"), after_char);
    }
    for from in [after_char, after_blank] {
        edge(from, of(" \t"), after_blank);
    }
    node(&Expr::Machine(Box::new(machine)), budget)
}
