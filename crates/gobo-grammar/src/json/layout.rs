//! The whitespace between the tokens of a JSON text (RFC 8259, section 2) that a policy allows.
//!
//! Every gap has one expression, so that a limit to the whitespace of a gap is one. The elements of a value stand one level
//! deeper than the value.
//!
//! A policy that counts characters, [`Whitespace::Flexible`] or [`Whitespace::Lines`], has a rule for the whitespace of a gap, which
//! every gap calls. Written out at each gap, the count would have its states, and their rows, as often as there are gaps. Under `lines`
//! brackets that open and separators have rules too, each with the gap after it: where such a rule may end, the same follows
//! whether whitespace was read or not, so most sets of pending suffixes are the same. With the gap alone in a rule, the state before the gap
//! has a row of its own beside those, for each place of the schema. Under `flexible:N`, where a gap stands around the whole text too,
//! rules of marks make the index of any value ambiguous.

use gobo_automata::{Expr, RuleId};
use gobo_types::Whitespace;

/// The whitespace of a gap under a policy that counts it, if it is not empty; `None` under the others.
fn counted(whitespace: Whitespace) -> Option<Expr> {
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

/// The rules of marks with the gaps beside them.
#[derive(Debug, Clone, Copy)]
struct Marks {
    /// A mark and the gap after it.
    brace: RuleId,
    bracket: RuleId,
    comma: RuleId,
    /// A colon between its gaps.
    colon: RuleId,
}

/// The whitespace of a policy.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    whitespace: Whitespace,
    /// The rule of a gap that is not empty.
    gap: Option<RuleId>,
    marks: Option<Marks>,
    /// The nesting depth of what is not indented.
    from: u32,
}

impl Layout {
    /// The layout of a policy. `add` adds a rule to the grammar that the expressions are written for, where the policy has rules: they
    /// are to be called ([`gobo_automata::Grammar::called`]).
    pub fn new(whitespace: Whitespace, mut add: impl FnMut(&str, Expr) -> RuleId) -> Self {
        let gap = counted(whitespace).map(|expr| add("whitespace", expr));
        let layout = Self { whitespace, gap, marks: None, from: 0 };
        let has_marks = whitespace == Whitespace::Lines;
        let marks = has_marks.then(|| Marks {
            brace: add("{", layout.open("{")),
            bracket: add("[", layout.open("[")),
            comma: add(",", layout.separator(",")),
            colon: add(":", layout.colon()),
        });
        Self { marks, ..layout }
    }

    /// A gap where the policy counts whitespace; nothing where it does not.
    fn gap(self) -> Expr {
        self.gap.map_or_else(|| Expr::text(""), |gap| optional(Expr::Call(gap)))
    }

    /// A separator, and the gap after it.
    fn separator(self, text: &str) -> Expr {
        let gap = match self.whitespace {
            Whitespace::Single => optional(Expr::text(" ")),
            _ => self.gap(),
        };
        Expr::Concat(vec![Expr::text(text), gap])
    }

    /// The same layout for values within others of another syntax: those at nesting depth `from` are not indented.
    #[must_use]
    pub fn from_depth(self, from: u32) -> Self {
        Self { from, ..self }
    }

    fn line(self, depth: u32, by: u32) -> Expr {
        Expr::text(format!("\n{}", " ".repeat((depth.saturating_sub(self.from) * by) as usize)))
    }

    /// Beside the marks of parameters in XML, where models write line ends: nothing, or the whitespace of a gap; where the policy does not
    /// count it, at most one line feed, and nothing under [`Whitespace::Compact`].
    pub fn blanks(self) -> Expr {
        match self.whitespace {
            Whitespace::Compact => Expr::text(""),
            Whitespace::Single | Whitespace::Indent { .. } => optional(Expr::text("\n")),
            Whitespace::Flexible { .. } | Whitespace::Lines => self.gap(),
        }
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

    /// The opening bracket of a value, and the gap after it where the policy counts whitespace.
    pub fn open(self, bracket: &str) -> Expr {
        match self.marks {
            Some(marks) => Expr::Call(if bracket == "{" { marks.brace } else { marks.bracket }),
            None => Expr::Concat(vec![Expr::text(bracket), self.gap()]),
        }
    }

    /// After [`Self::open`], in a value at nesting depth `depth` that has elements.
    pub fn first(self, depth: u32) -> Expr {
        match self.whitespace {
            Whitespace::Indent { by } => self.line(depth + 1, by),
            _ => Expr::text(""),
        }
    }

    /// Between two elements.
    pub fn between(self, depth: u32) -> Expr {
        match (self.whitespace, self.marks) {
            (Whitespace::Indent { by }, _) => Expr::Concat(vec![Expr::text(","), self.line(depth + 1, by)]),
            (_, Some(marks)) => Expr::Concat(vec![self.gap(), Expr::Call(marks.comma)]),
            _ => Expr::Concat(vec![self.gap(), self.separator(",")]),
        }
    }

    /// Before the closing bracket of a value that has elements.
    pub fn last(self, depth: u32) -> Expr {
        match self.whitespace {
            Whitespace::Indent { by } => self.line(depth, by),
            _ => self.gap(),
        }
    }

    /// Between the name of a property and its value.
    pub fn colon(self) -> Expr {
        match (self.whitespace, self.marks) {
            (Whitespace::Indent { .. }, _) => Expr::text(": "),
            (_, Some(marks)) => Expr::Call(marks.colon),
            _ => Expr::Concat(vec![self.gap(), self.separator(":")]),
        }
    }
}
