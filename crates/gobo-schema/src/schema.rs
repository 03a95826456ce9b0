//! The grammar of a schema, and the report of what it enforces.

use foldhash::HashSet;
use gobo_automata::{Expr, Grammar};
use gobo_types::{
    Budget, CompileError, Notation, NumberForm, PropertyOrder, RefusalKind, Report, ReportEntry,
    SchemaOptions, Spelling, Whitespace,
};

use crate::lower::arrays::MAX_UNIQUE;
use crate::lower::context::Place;
use crate::lower::lowering::{Lowering, lowered, lowered_with};
use crate::lower::parameters::{Marks, Style};
use crate::read::entries::Entry;
use crate::read::node::NodeId;
use gobo_grammar::json::narrowed;

/// What the values of texts with a repeated name are, as most readers take them: RFC 8259, section 4, leaves it open.
const FREE_NAMES: &str =
    "a name that the schema does not list may be repeated; of the properties with one name the last counts";

/// The grammar of the texts that a schema allows, and what it enforces.
///
/// # Errors
/// A refusal whose place is a JSON pointer into the schema; [`CompileError::OverBudget`].
pub fn schema(
    schema: &str,
    options: &SchemaOptions,
    budget: &Budget,
) -> Result<(Grammar, Report), CompileError> {
    whole_schema(schema, (options, Place::Whole), budget)
}

/// [`schema`] with the lengths of strings as states, and none counted beside them: for automata whose states alone say what may follow.
///
/// # Errors
/// As for [`schema`]; [`CompileError::OverBudget`] of lengths that counting would have spared.
pub fn schema_by_states(
    schema: &str,
    options: &SchemaOptions,
    budget: &Budget,
) -> Result<(Grammar, Report), CompileError> {
    whole_schema(schema, (options, Place::ByStates), budget)
}

/// The grammar of the texts that a schema within a grammar allows, and what it enforces: [`schema`] under the default options, but for
/// names that the schema neither names nor constrains: they are spelled in any way, as strings are that nothing constrains. No
/// whitespace stands around a text.
///
/// # Errors
/// As for [`schema`].
pub fn embedded(schema: &str, budget: &Budget) -> Result<(Grammar, Report), CompileError> {
    whole_schema(schema, (&SchemaOptions::default(), Place::Within), budget)
}

/// How the arguments of a tool are written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Arguments {
    /// The style of parameters; JSON without one.
    pub style: Option<Style>,
    /// Phrases that stand in no string and in no name.
    pub excludes: Vec<String>,
}

/// The grammar of the arguments of a tool that a schema allows, and what it enforces. `write` says how the texts of a style are written in the
/// grammar that calls this one; token sets are the caller's.
///
/// With a style, values are objects. Strings and names that hold [`Style::closing`] have no text. No whitespace stands before or after
/// parameters but what the policy allows.
///
/// # Errors
/// As for [`schema`]; a refusal of a schema that allows no object, and of a name that the style cannot write; those of `write`.
pub fn arguments(
    schema: &str,
    options: &SchemaOptions,
    arguments: &Arguments,
    write: &mut dyn FnMut(&str) -> Result<Expr, CompileError>,
    budget: &Budget,
) -> Result<(Grammar, Report), CompileError> {
    let Arguments { style, excludes } = arguments;
    let marks = style.map(|style| Marks::new(style, write)).transpose()?.map(Box::new);
    let place = Place::Call { excludes: excludes.clone(), marks };
    let (grammar, mut report) = whole_schema(schema, (options, place), budget)?;
    if let Some(style) = style {
        let how = format!("objects alone, their members written as parameters: {}", style.word());
        report.enforced.insert(1, ReportEntry::whole("style", how));
        let closing = style.closing();
        let names = match style {
            Style::Cohere => "",
            Style::Kimi => {
                "; a type that is that of the value; names that the schema neither names nor constrains are identifiers"
            }
            _ => "; names that the schema neither names nor constrains are identifiers",
        };
        let why = format!("strings and names without {closing} in them{names}");
        report.narrowed.push(ReportEntry::whole("style", why));
    }
    if !excludes.is_empty() {
        let why =
            format!("strings and names without {} in them, however they are spelled", excludes.join(", "));
        report.narrowed.push(ReportEntry::whole("excludes", why));
    }
    Ok((grammar, report))
}

fn whole_schema(
    schema: &str,
    (options, place): (&SchemaOptions, Place),
    budget: &Budget,
) -> Result<(Grammar, Report), CompileError> {
    check_notation(options, &place)?;
    let (mut lowering, start) = lowered_with(schema, "", (options, place), budget)?;
    add_places(&mut lowering);
    let mut report = lowering.context.facts.nodes.take_report()?;
    add_policies(&lowering, options, &mut report);
    report.enforced.insert(0, ReportEntry::whole("schema", whole(&report)));
    if lowering.objects.has_free_names {
        report.enforced.insert(1, ReportEntry::whole("names", FREE_NAMES));
    }
    Ok((lowering.context.rules.into_grammar(start), report))
}

/// Refuses what means nothing in YAML.
fn check_notation(options: &SchemaOptions, place: &Place) -> Result<(), CompileError> {
    if options.notation == Notation::Json {
        return Ok(());
    }
    let refuse = |reason: &str, help: &str| {
        Err(CompileError::refuse(RefusalKind::Unsupported, "", reason).advising(help))
    };
    if matches!(place, Place::Call { .. }) {
        return refuse("arguments of tools are written as JSON or as parameters, and not as YAML", "");
    }
    if options.whitespace != Whitespace::default() || options.spelling != Spelling::default() {
        let reason = "YAML has lines of its own: whitespace and spelling are options of JSON";
        return refuse(reason, "Leave them out.");
    }
    Ok(())
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

/// What the texts are, all in all.
fn whole(report: &Report) -> String {
    // What shuts out values, and not only some of their texts.
    let shuts_out =
        |entry: &ReportEntry| matches!(&*entry.keyword, "format" | "closed" | "max_depth" | "depth");
    let valid = if report.narrowed.iter().any(shuts_out) {
        "the valid values but those that are narrowed"
    } else {
        "the valid values"
    };
    if report.widened.is_empty() {
        format!("exactly {valid}")
    } else {
        format!("{valid}, and invalid ones where it is widened")
    }
}

/// Adds what was dropped and the policies that hold for some objects alone, each at its place.
fn add_places(lowering: &mut Lowering<'_>) {
    let Lowering { context, objects, arrays } = lowering;
    let nodes = &mut context.facts.nodes;
    let mut add = |of: &[NodeId], keyword: &str, why: &str, is_widened: bool| {
        let mut seen = HashSet::default();
        for &node in of.iter().filter(|&&node| seen.insert(node)) {
            let location = nodes.documents.nearest(nodes.location(node));
            let entry = Entry { location, keyword: keyword.to_owned(), why: why.to_owned() };
            if is_widened { nodes.entries.widened.push(entry) } else { nodes.entries.policies.push(entry) }
        }
    };
    let unique = format!("items with more than {MAX_UNIQUE} values may be repeated");
    add(&arrays.widened, "uniqueItems", &unique, true);
    let last = "where it takes a property of some value among those that the schema does not name, one such property last";
    add(&objects.witnesses.objects, "order", last, false);
    add(objects.closed(), "closed", "no properties but those that the schema names", false);
}

/// The texts of plain numbers.
const PLAIN_NUMBERS: &str = "integers as digits where all numbers of a place are integers; no negative zero; fractions of at most 22 digits, or \
     as many as the schema names; exponents of at most three digits, under bounds alone with one digit before the point, else none \
     under a constraint";

/// The texts of YAML.
const YAML: &str = "one text for each value, in block style: two spaces for each level, {} and [] where nothing is in them; strings plain where YAML 1.1 and 1.2 \
     both read them as that string and without backslash, else in double quotes with the escapes of JSON; names that the schema does not list of at most 128 characters; \
     an exponent behind a number with a point, and with a sign";

/// Adds the policies that hold for all texts: one entry each, as they are the same at every place.
fn add_policies(lowering: &Lowering<'_>, options: &SchemaOptions, report: &mut Report) {
    if options.notation == Notation::Json {
        report.narrowed.extend(narrowed(options.whitespace, NumberForm::Json, None));
    }
    let mut narrow = |keyword: &str, why: &str| report.narrowed.push(ReportEntry::whole(keyword, why));
    if options.order == PropertyOrder::Declared && lowering.objects.is_ordered {
        narrow(
            "order",
            "properties that the schema names in the order in which they first appear, others after them",
        );
    }
    if options.notation == Notation::Yaml {
        narrow("notation", YAML);
    } else if options.spelling == Spelling::Canonical {
        narrow(
            "spelling",
            match lowering.context.policy.free_names() {
                Spelling::Canonical => {
                    "each character of names and of strings under a constraint in its shortest form"
                }
                Spelling::Any => {
                    "each character of names that the schema names or constrains, and of strings under a constraint, in its shortest form"
                }
            },
        );
    }
    let numbers = match options.numbers {
        NumberForm::Plain if lowering.context.scalars.has_other_numbers => format!(
            "{PLAIN_NUMBERS}; where no number can be written so, without negative zero and exponent as JSON has them"
        ),
        NumberForm::Plain => PLAIN_NUMBERS.to_owned(),
        NumberForm::Json => "numbers under a constraint without exponent, or, under bounds alone, with one digit before the point; \
             the digits of a number under no constraint as JSON has them"
            .to_owned(),
    };
    narrow("numbers", &numbers);
    if options.notation == Notation::Yaml {
        let depth = Whitespace::MAX_INDENTED_DEPTH;
        narrow("depth", &format!("values of a nesting depth of at most {depth}"));
    }
    if let Some(depth) = options.max_depth {
        narrow("max_depth", &format!("values of a nesting depth of at most {depth}"));
    }
}

#[cfg(test)]
mod tests;
