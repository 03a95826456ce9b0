//! The whitespace between the tokens of a JSON text (RFC 8259, section 2) that a policy allows.
//!
//! Every gap has one expression, so that a limit to the whitespace of a gap is one. The elements of a value stand one level
//! deeper than the value.
//!
//! A policy that counts characters, [`Whitespace::Flexible`] or [`Whitespace::Lines`], has a rule for the whitespace of a gap, which
//! every gap calls. Written out at each gap, the count would have its states, and their rows, as often as there are gaps.

use gobo_automata::{Expr, RuleId};
use gobo_types::Whitespace;

/// The whitespace of a gap under a policy that counts it, if it is not empty; `None` under the others.
pub fn counted(whitespace: Whitespace) -> Option<Expr> {
    match whitespace {
        Whitespace::Compact | Whitespace::Single | Whitespace::Indent { .. } => None,
        Whitespace::Flexible { max } => {
            let char = Expr::chars([' ', '\t', '\n', '\r'].map(|char| (char, char)));
            Some(char.repeat(1, Some(max)))
        }
        Whitespace::Lines => {
            let spaces = Expr::text(" ").repeat(0, Some(Whitespace::MAX_SPACES));
            let tabs = Expr::text("\t").repeat(1, Some(Whitespace::MAX_TABS));
            let line = Expr::Concat(vec![line_end(), Expr::Alternate(vec![spaces, tabs])]);
            Some(Expr::Alternate(vec![Expr::text(" "), line]))
        }
    }
}

/// LF or CR LF.
fn line_end() -> Expr {
    Expr::Concat(vec![optional(Expr::text("\r")), Expr::text("\n")])
}

fn optional(expr: Expr) -> Expr {
    expr.repeat(0, Some(1))
}

/// The whitespace of a policy.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    whitespace: Whitespace,
    /// The rule of [`counted`], if the policy has one.
    gap: Option<RuleId>,
}

impl Layout {
    /// The layout of a policy. `add` adds the rule of [`counted`], where the policy has one, to the grammar that the expressions are
    /// written for.
    pub fn new(whitespace: Whitespace, add: impl FnOnce(Expr) -> RuleId) -> Self {
        Self { whitespace, gap: counted(whitespace).map(add) }
    }

    /// A gap where the policy counts whitespace; nothing where it does not.
    fn gap(self) -> Expr {
        self.gap.map_or_else(|| Expr::text(""), |rule| optional(Expr::Call(rule)))
    }

    /// A separator with its gaps.
    fn separator(self, text: &str) -> Expr {
        match self.whitespace {
            Whitespace::Single => Expr::Concat(vec![Expr::text(text), optional(Expr::text(" "))]),
            _ if self.gap.is_some() => Expr::Concat(vec![self.gap(), Expr::text(text), self.gap()]),
            _ => Expr::text(text),
        }
    }

    fn line(depth: u32, by: u32) -> Expr {
        Expr::text(format!("\n{}", " ".repeat((depth * by) as usize)))
    }

    /// Before the whole text.
    pub fn before(self) -> Expr {
        match self.whitespace {
            Whitespace::Lines => Expr::text(""),
            _ => self.gap(),
        }
    }

    /// After the whole text.
    pub fn after(self) -> Expr {
        match self.whitespace {
            Whitespace::Lines => optional(line_end()),
            _ => self.gap(),
        }
    }

    /// After the opening bracket of a value at nesting depth `depth` that has elements.
    pub fn first(self, depth: u32) -> Expr {
        match self.whitespace {
            Whitespace::Indent { by } => Self::line(depth + 1, by),
            _ => self.gap(),
        }
    }

    /// Between two elements.
    pub fn between(self, depth: u32) -> Expr {
        match self.whitespace {
            Whitespace::Indent { by } => Expr::Concat(vec![Expr::text(","), Self::line(depth + 1, by)]),
            _ => self.separator(","),
        }
    }

    /// Before the closing bracket of a value that has elements.
    pub fn last(self, depth: u32) -> Expr {
        match self.whitespace {
            Whitespace::Indent { by } => Self::line(depth, by),
            _ => self.gap(),
        }
    }

    /// Between brackets without elements.
    pub fn empty(self) -> Expr {
        self.gap()
    }

    /// Between the name of a property and its value.
    pub fn colon(self) -> Expr {
        match self.whitespace {
            Whitespace::Indent { .. } => Expr::text(": "),
            _ => self.separator(":"),
        }
    }
}
