//! A whole automaton in the language DOT of Graphviz.

use std::fmt::Write as _;

use gobo_artifact::{ArtifactError, Index};

use super::{Way, Ways};

/// An automaton whose text would be longer than was allowed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TooLong {
    /// The text of the first states alone is longer.
    #[error("the automaton of {states} states is longer than {most} bytes as DOT")]
    Bytes {
        /// Number of states.
        states: u32,
        /// The limit.
        most: usize,
    },
    /// The names of rules cannot be read.
    #[error(transparent)]
    Index(#[from] ArtifactError),
}

/// Writes the automaton of an index as a graph of Graphviz, in at most `most` bytes. O(states × 256).
///
/// # Errors
/// [`TooLong`].
pub fn write_dot(index: &Index, most: usize) -> Result<String, TooLong> {
    let ways = Ways::of(index)?;
    let mut dot =
        String::from("digraph automaton {\n  rankdir=LR;\n  node [shape=circle];\n  start [shape=point];\n");
    // Writing to a string does not fail.
    let _ = writeln!(dot, "  start -> {};", index.start());
    for state in 1..index.states() {
        if index.is_complete(state) {
            let _ = writeln!(dot, "  {state} [shape=doublecircle];");
        }
        for edge in ways.from(state) {
            let style = match edge.way {
                Way::Bytes(_) => "",
                Way::Token => ", style=bold",
                Way::Call(_) => ", style=dashed",
                Way::Return(_) => ", style=dotted",
            };
            let label = quoted(&edge.way.label());
            let _ = writeln!(dot, "  {state} -> {} [label={label}{style}];", edge.to);
        }
        if dot.len() > most {
            return Err(TooLong::Bytes { states: index.states() - 1, most });
        }
    }
    dot.push_str("}\n");
    Ok(dot)
}

/// A quoted string of DOT: a backslash is doubled, because labels know escapes.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            control if control.is_control() => quoted.push('\u{fffd}'),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_quoted() {
        assert_eq!(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\u{fffd}\"");
    }
}
