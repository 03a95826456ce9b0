//! The grammar of a schema, and the report of what it enforces.

use gobo_automata::Grammar;
use gobo_types::{Budget, CompileError, PropertyOrder, Report, ReportEntry, SchemaOptions, Spelling};

use crate::lower::arrays::MAX_UNIQUE;
use crate::lower::lowering::{Lowering, lowered};
use gobo_grammar::json::narrowed;

/// The grammar of the texts that a schema allows, and what it enforces.
///
/// # Errors
/// A refusal whose place is a JSON pointer into the schema; [`CompileError::OverBudget`].
pub fn schema(
    schema: &str,
    options: &SchemaOptions,
    budget: &Budget,
) -> Result<(Grammar, Report), CompileError> {
    let (mut lowering, start) = lowered(schema, "", options, budget)?;
    let mut report = lowering.context.facts.nodes.take_report()?;
    add_policies(&lowering, options, &mut report);
    Ok((lowering.context.rules.into_grammar(start), report))
}

/// The grammar of the texts that the subschema at a JSON pointer allows by itself. References in it lead to the whole document.
///
/// # Errors
/// As for [`schema`].
pub fn subschema(
    schema: &str,
    pointer: &str,
    options: &SchemaOptions,
    budget: &Budget,
) -> Result<Grammar, CompileError> {
    let (lowering, start) = lowered(schema, pointer, options, budget)?;
    Ok(lowering.context.rules.into_grammar(start))
}

/// Adds the texts that the options exclude, and the constraints that they drop.
fn add_policies(lowering: &Lowering<'_>, options: &SchemaOptions, report: &mut Report) {
    report.narrowed.extend(narrowed(options.whitespace));
    let mut narrow = |keyword: &str, why: String| report.narrowed.push(ReportEntry::whole(keyword, why));
    if options.order == PropertyOrder::Declared {
        narrow(
            "order",
            "members that the schema names in the order in which they first appear, others behind them"
                .to_owned(),
        );
    }
    if !lowering.objects.witnesses.last.is_empty() {
        narrow(
            "order",
            "where it takes a member of some value among those that the schema does not name, one such member last"
                .to_owned(),
        );
    }
    if options.spelling == Spelling::Canonical {
        narrow(
            "spelling",
            "each character of names and of strings under a constraint in its shortest form".to_owned(),
        );
    }
    narrow("numbers", "numbers under a constraint without exponent, or, under bounds alone, with one digit before the point; the digits of a number under no constraint as JSON has them".to_owned());
    if lowering.objects.has_closed() {
        narrow("closed", "no members but those that the schema names".to_owned());
    }
    if let Some(depth) = options.max_depth {
        narrow("max_depth", format!("nothing inside more than {depth} brackets"));
    }
    if lowering.arrays.has_widened {
        report.widened.push(ReportEntry::whole(
            "uniqueItems",
            format!("items with more than {MAX_UNIQUE} values may be repeated"),
        ));
    }
}
