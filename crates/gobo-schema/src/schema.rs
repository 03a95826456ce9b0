use gobo_automata::{Grammar, RuleId};
use gobo_types::{Budget, CompileError, PropertyOrder, Report, ReportEntry, SchemaOptions, Spelling};

use crate::any::narrowed;
use crate::array::MAX_UNIQUE;
use crate::lowering::Lowering;
use crate::node::Nodes;

/// The grammar of the texts that a schema allows, and what it enforces.
///
/// # Errors
/// A refusal whose place is a JSON pointer into the schema; [`CompileError::OverBudget`].
pub fn schema(
    schema: &str,
    options: &SchemaOptions,
    budget: &Budget,
) -> Result<(Grammar, Report), CompileError> {
    let (mut lowering, start) = lowered(schema, options, budget)?;
    let mut report = lowering.nodes.take_report()?;
    lowering.add_policies(&mut report);
    Ok((Grammar { rules: lowering.rules, start }, report))
}

/// A schema with all its rules, and the rule of whole texts.
///
/// # Errors
/// As those of [`schema`].
pub(crate) fn lowered<'a>(
    schema: &str,
    options: &'a SchemaOptions,
    budget: &'a Budget,
) -> Result<(Lowering<'a>, RuleId), CompileError> {
    let mut nodes = Nodes::read(schema, options, budget)?;
    let root = nodes.root()?;
    let mut lowering = Lowering::new(nodes, options, budget);
    let start = lowering.whole(root)?;
    while let Some(task) = lowering.tasks.pop() {
        let expr = lowering.lower(&task)?;
        lowering.rules[task.rule as usize].expr = expr;
    }
    Ok((lowering, start))
}

impl Lowering<'_> {
    /// What the options shut out or let through.
    fn add_policies(&self, report: &mut Report) {
        report.narrowed.extend(narrowed(self.options.whitespace));
        let mut narrow = |keyword: &str, why: String| report.narrowed.push(ReportEntry::whole(keyword, why));
        if self.options.order == PropertyOrder::Declared {
            narrow(
                "order",
                "members that the schema names in the order in which they first appear, others behind them"
                    .to_owned(),
            );
        }
        if !self.late.is_empty() {
            narrow(
                "order",
                "where it takes a member of some value among those that the schema does not name, one such member last"
                    .to_owned(),
            );
        }
        if self.options.spelling == Spelling::Canonical {
            narrow(
                "spelling",
                "each character of names and of strings under a constraint in its shortest form".to_owned(),
            );
        }
        narrow("numbers", "numbers under a constraint without exponent, or, under bounds alone, with one digit before the point; the digits of a number under no constraint as JSON has them".to_owned());
        if self.has_closed {
            narrow("closed", "no members but those that the schema names".to_owned());
        }
        if let Some(depth) = self.options.max_depth {
            narrow("max_depth", format!("nothing inside more than {depth} brackets"));
        }
        if self.widened_unique {
            report.widened.push(ReportEntry::whole(
                "uniqueItems",
                format!("items with more than {MAX_UNIQUE} values may be repeated"),
            ));
        }
    }
}
