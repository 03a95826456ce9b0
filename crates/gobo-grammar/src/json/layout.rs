//! The whitespace between the tokens of a JSON text (RFC 8259, section 2) that a policy allows.
//!
//! Every gap has one expression, so that a limit to the whitespace of a gap is one. The elements of a value stand one level
//! deeper than the value.

use gobo_automata::Expr;
use gobo_types::Whitespace;

/// The whitespace characters of JSON.
pub fn whitespace_char() -> Expr {
    Expr::chars([' ', '\t', '\n', '\r'].map(|char| (char, char)))
}

/// The whitespace of a policy.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// The policy.
    pub whitespace: Whitespace,
}

impl Layout {
    fn whitespace(max: u32) -> Expr {
        whitespace_char().repeat(0, Some(max))
    }

    fn line(depth: u32, by: u32) -> Expr {
        Expr::text(format!("\n{}", " ".repeat((depth * by) as usize)))
    }

    /// Before and after the whole text.
    pub fn around(self) -> Expr {
        match self.whitespace {
            Whitespace::Flexible { max } => Self::whitespace(max),
            _ => Expr::text(""),
        }
    }

    /// After the opening bracket of a value at nesting depth `depth` that has elements.
    pub fn first(self, depth: u32) -> Expr {
        match self.whitespace {
            Whitespace::Indent { by } => Self::line(depth + 1, by),
            _ => self.around(),
        }
    }

    /// Between two elements.
    pub fn between(self, depth: u32) -> Expr {
        match self.whitespace {
            Whitespace::Compact => Expr::text(","),
            Whitespace::Single => Expr::Concat(vec![Expr::text(","), Expr::text(" ").repeat(0, Some(1))]),
            Whitespace::Flexible { max } => {
                Expr::Concat(vec![Self::whitespace(max), Expr::text(","), Self::whitespace(max)])
            }
            Whitespace::Indent { by } => Expr::Concat(vec![Expr::text(","), Self::line(depth + 1, by)]),
        }
    }

    /// Before the closing bracket of a value that has elements.
    pub fn last(self, depth: u32) -> Expr {
        match self.whitespace {
            Whitespace::Indent { by } => Self::line(depth, by),
            _ => self.around(),
        }
    }

    /// Between brackets without elements.
    pub fn empty(self) -> Expr {
        self.around()
    }

    /// Between the name of a property and its value.
    pub fn colon(self) -> Expr {
        match self.whitespace {
            Whitespace::Compact => Expr::text(":"),
            Whitespace::Single => Expr::Concat(vec![Expr::text(":"), Expr::text(" ").repeat(0, Some(1))]),
            Whitespace::Flexible { max } => {
                Expr::Concat(vec![Self::whitespace(max), Expr::text(":"), Self::whitespace(max)])
            }
            Whitespace::Indent { .. } => Expr::text(": "),
        }
    }
}
