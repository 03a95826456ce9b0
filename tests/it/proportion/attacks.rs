//! Constraints of every kind that grow with a number, which the caller chooses.

mod references;
mod schemas;
mod values;

use gobo_types::{Constraint, Draft, SchemaOptions};

use self::references::of_references;
use self::schemas::{of_arrays, of_choices, of_objects};
use self::values::{of_policies, of_scalars, of_texts};

/// A name, and the constraint of each size.
pub(crate) type Attack = (&'static str, Box<dyn Fn(usize) -> Constraint>);

fn of_text(name: &'static str, make: impl Fn(usize) -> Constraint + 'static) -> Attack {
    (name, Box::new(make))
}

/// A schema under the default options.
fn schema(name: &'static str, text: impl Fn(usize) -> String + 'static) -> Attack {
    with_options(name, SchemaOptions::default(), text)
}

fn with_options(
    name: &'static str,
    options: SchemaOptions,
    text: impl Fn(usize) -> String + 'static,
) -> Attack {
    of_text(name, move |n| Constraint::schema(&text(n), options.clone()))
}

fn of_draft(name: &'static str, draft: Draft, text: impl Fn(usize) -> String + 'static) -> Attack {
    with_options(name, SchemaOptions { draft: Some(draft), ..SchemaOptions::default() }, text)
}

/// `n` parts with commas between them.
fn each(n: usize, part: impl Fn(usize) -> String) -> String {
    (0..n).map(part).collect::<Vec<_>>().join(",")
}

/// `{"type":"object","properties":{…}}` of so many members, and what follows.
fn properties(n: usize, value: &str, more: &str) -> String {
    let members = each(n, |at| format!(r#""k{at}":{value}"#));
    format!(r#"{{"type":"object","properties":{{{members}}}{more}}}"#)
}

/// Schemas one inside the other: `open` before and `close` behind the next one.
fn nested(n: usize, open: &str, inner: &str, close: &str) -> String {
    format!("{}{inner}{}", open.repeat(n), close.repeat(n))
}

/// Deepest nesting that a schema may have, in units of `brackets`.
fn depth(n: usize, brackets: usize) -> usize {
    n.min(120 / brackets)
}

/// All of them.
pub(crate) fn attacks() -> Vec<Attack> {
    [
        of_objects(),
        of_arrays(),
        of_choices(),
        of_scalars(),
        of_references(),
        of_texts(),
        of_policies(),
        of_others(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_others() -> Vec<Attack> {
    fn gbnf(name: &'static str, text: impl Fn(usize) -> String + 'static) -> Attack {
        of_text(name, move |n| Constraint::gbnf(text(n), "root"))
    }
    fn regex(name: &'static str, text: impl Fn(usize) -> String + 'static) -> Attack {
        of_text(name, move |n| Constraint::regex(text(n)))
    }
    let lines = |n: usize, line: &dyn Fn(usize) -> String| (0..n).map(line).collect::<Vec<_>>().join("\n");
    vec![
        of_text("choice of words", |n| Constraint::choice((0..n).map(|at| format!("w{at}")))),
        of_text("choice of long words", |n| {
            Constraint::choice((0..n).map(|at| format!("{at}{}", "x".repeat(500))))
        }),
        of_text("choice of one", |n| Constraint::choice(["ab".repeat(n)])),
        regex("regex of alternatives", |n| (0..n).map(|at| format!("w{at}")).collect::<Vec<_>>().join("|")),
        regex("regex of classes", |n| r"\w".repeat(n)),
        regex("regex of a repetition", |n| format!(r"(\w|é){{0,{n}}}")),
        regex("regex of repetitions", |n| "(a*b?)*".repeat(n)),
        regex("regex of empty groups", |n| "(|)".repeat(n)),
        regex("regex without case", |n| format!("(?i){}", "aé".repeat(n))),
        regex("regex that doubles", |n| format!("(a|b)*a(a|b){{{}}}", n.min(40))),
        regex("regex, nested", |n| nested(n.min(240), "(a|", "b", ")*")),
        regex("regex of anchors", |n| "(^|$)".repeat(n)),
        of_text("search", |n| {
            Constraint::search((0..n).map(|at| format!("w{at}")).collect::<Vec<_>>().join("|"))
        }),
        gbnf("rules, one behind the other", move |n| {
            format!(
                "root ::= r0\n{}\nr{n} ::= \"x\"",
                lines(n, &|at| format!("r{at} ::= \"a\" r{} | \"b\"", at + 1))
            )
        }),
        gbnf("rules that double", move |n| {
            let n = n.min(60);
            format!("root ::= r0\n{}\nr{n} ::= \"x\"", lines(n, &|at| format!("r{at} ::= r{0} r{0}", at + 1)))
        }),
        gbnf("rules that nobody uses", move |n| {
            format!("root ::= \"a\"\n{}", lines(n, &|at| format!("r{at} ::= \"a{at}\" r{at} | \"b\"")))
        }),
        gbnf("rules that call themselves", move |n| {
            format!(
                "root ::= {}\n{}",
                (0..n).map(|at| format!("r{at}")).collect::<Vec<_>>().join(" | "),
                lines(n, &|at| format!("r{at} ::= \"({at}\" r{at} \")\" | \"b\""))
            )
        }),
        gbnf("rules that call each other", move |n| {
            format!(
                "root ::= r0\n{}",
                lines(n, &|at| format!("r{at} ::= \"a{at}\" r{} \"z\" | \"b\"", (at + 1) % n))
            )
        }),
        gbnf("left recursion", move |n| {
            format!(
                "root ::= r0\n{}",
                lines(n, &|at| format!("r{at} ::= r{} \"a{at}\" | \"b\"", (at + 1) % n))
            )
        }),
        gbnf("left recursion of one", move |n| {
            let ways = (0..n).map(|at| format!("root \"a{at}\"")).collect::<Vec<_>>().join(" | ");
            format!("root ::= {ways} | \"b\"")
        }),
        gbnf("empty rules", move |n| {
            let parts = (0..n).map(|at| format!("r{at} ")).collect::<Vec<_>>().concat();
            format!("root ::= {parts}\n{}", lines(n, &|at| format!("r{at} ::= \"a\"?")))
        }),
        gbnf("alternatives", |n| {
            format!("root ::= {}", (0..n).map(|at| format!("\"w{at}\"")).collect::<Vec<_>>().join(" | "))
        }),
        gbnf("a grammar's repetition", |n| format!("root ::= (\"a\" | \"bc\"){{1,{}}}", n.min(100_000))),
        gbnf("a grammar's class", |n| {
            let chars: String =
                (0..n).filter_map(|at| char::from_u32(0x4e00 + 2 * u32::try_from(at % 9000).ok()?)).collect();
            format!("root ::= [{chars}]*")
        }),
        gbnf("a grammar's groups", |n| format!("root ::= {}", nested(n.min(200), "(\"a\" ", "\"b\"", ")*"))),
        gbnf("a grammar's long word", |n| format!("root ::= \"{}\"", "ab".repeat(n))),
        gbnf("a grammar's comments", |n| format!("root ::= \"a\"\n{}", "# nothing\n".repeat(n))),
    ]
}
