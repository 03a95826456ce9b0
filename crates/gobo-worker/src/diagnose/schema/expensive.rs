//! The keyword of a schema that needs too much.
//!
//! From the root: a minimal set of parts without which the whole schema fits. If that is one part, the search goes on inside it, or at
//! the target of its reference; at a number, smaller numbers show how the cost grows.

use std::collections::BTreeSet;

use gobo_types::Source;
use serde_json::Value;

use super::document::{Part, alternatives, local_target, parts, without};
use super::words;
use crate::diagnose::finding::Finding;
use crate::diagnose::growth::{Need, growth};
use crate::diagnose::minimal::minimal;
use crate::diagnose::pattern::of_text;
use crate::diagnose::repetitions::{Compiler, list, measured, told};
use crate::diagnose::trials::{Ended, Stage, Stop, Trials};

/// Share of the steps for a trial that may come to no end.
const SHARE: u64 = 8;

/// Most parts that are named together.
const MAX_NAMED: usize = 4;

/// Most parts of one schema that are tried beside the first that was found.
const MAX_BESIDE: usize = 8;

/// Keywords whose value counts, each with the one that is to be no greater.
const COUNTS: [(&str, &str); 8] = [
    ("maxLength", "minLength"),
    ("maxItems", "minItems"),
    ("maxProperties", "minProperties"),
    ("maxContains", "minContains"),
    ("minLength", ""),
    ("minItems", ""),
    ("minProperties", ""),
    ("minContains", ""),
];

/// Looks for the keyword; what was found before the bounds of the diagnosis are reached stands.
pub(crate) fn over_budget(
    schema: &str,
    need: Need,
    trials: &mut Trials<'_>,
    found: &mut Finding,
) -> Result<(), Stop> {
    let Ok(root) = serde_json::from_str::<Value>(schema) else { return Ok(()) };
    let mut base = String::new();
    let mut met: Vec<String> = Vec::new();
    let mut open = costly(&root, &base);
    loop {
        if open.is_empty() || !fits(&root, &open, trials)? {
            return Ok(());
        }
        let culprits = minimal(&open, |changed| fits(&root, changed, trials))?;
        let names: Vec<String> = culprits.iter().map(|part| words::with_value(part, &root, &base)).collect();
        let [culprit] = &culprits[..] else {
            if (1..=MAX_NAMED).contains(&culprits.len()) {
                found.place.clone_from(&base);
                found.reason = format!("it fits without {} together", list(&names));
                found.help = format!("Make {} smaller.", list(&names));
            }
            return Ok(());
        };
        found.place.clone_from(&culprit.pointer);
        found.reason = format!("it fits without {}", names[0]);
        found.help = format!("Make {} smaller.", words::name(culprit, &root, &base));
        let Some(value) = root.pointer(&culprit.pointer) else { return Ok(()) };
        if let Some(count) = value.as_u64()
            && COUNTS.iter().any(|(key, _)| *key == culprit.keyword)
        {
            let limits = trials.limits();
            let growth = growth(count, limits, |count, share| {
                let most = trials.steps_left() / share;
                Ok(measured(compile(&counting(&root, culprit, count), Stage::Index, most, trials)?))
            })?;
            told(growth, need, false, &names[0], found);
            if found.needed.is_none() {
                or_without_another(&root, culprit, &open, &base, trials, found)?;
            }
            return Ok(());
        }
        if let (true, Value::String(pattern)) = (culprit.keyword == "pattern", value) {
            let mut patterns = Patterns { trials, root: &root, pointer: &culprit.pointer };
            of_text(pattern, need, &mut patterns, found)?;
            // Offsets are those of the pattern, in which the schema's text has escapes.
            found.span = None;
            return Ok(());
        }
        (base, open) = if culprit.keyword == "$ref"
            && let Some(target) = local_target(value)
        {
            let of_target = root.pointer(target).map(|schema| costly(schema, target)).unwrap_or_default();
            (target.to_owned(), of_target)
        } else if culprit.is_alternatives() && culprit.entry.is_none() {
            (base, alternatives(culprit, value))
        } else if culprit.is_schema(value) {
            (culprit.pointer.clone(), costly(value, &culprit.pointer))
        } else {
            return Ok(());
        };
        if met.contains(&base) && culprit.keyword == "$ref" {
            return Ok(());
        }
        met.push(base.clone());
    }
}

/// Names the other parts of the same schema without which it fits too.
fn or_without_another(
    root: &Value,
    culprit: &Part,
    beside: &[Part],
    base: &str,
    trials: &mut Trials<'_>,
    found: &mut Finding,
) -> Result<(), Stop> {
    if beside.len() > MAX_BESIDE {
        return Ok(());
    }
    for other in beside.iter().filter(|other| *other != culprit) {
        if fits(root, std::slice::from_ref(other), trials)? {
            let other = words::with_value(other, root, base);
            found.reason = format!("{}, and without {other}", found.reason);
        }
    }
    Ok(())
}

/// A pattern in a schema.
struct Patterns<'t, 'a, 'r> {
    trials: &'t mut Trials<'a>,
    root: &'r Value,
    pointer: &'r str,
}

impl Compiler for Patterns<'_, '_, '_> {
    fn compile(&mut self, text: String, to: Stage, most_steps: u64) -> Result<Ended, Stop> {
        let mut root = self.root.clone();
        if let Some(pattern) = root.pointer_mut(self.pointer) {
            *pattern = Value::String(text);
        }
        compile(&root, to, most_steps, self.trials)
    }

    fn trials(&self) -> &Trials<'_> {
        self.trials
    }

    fn place(&self, _: usize) -> String {
        self.pointer.to_owned()
    }
}

/// The parts of a schema without which it may be smaller.
fn costly(schema: &Value, base: &str) -> Vec<Part> {
    let mut parts = parts(schema, base);
    parts.retain(|part| !matches!(part.keyword.as_str(), "required" | "type"));
    parts
}

fn fits(root: &Value, left_out: &[Part], trials: &mut Trials<'_>) -> Result<bool, Stop> {
    let left_out: BTreeSet<&str> = left_out.iter().map(|part| part.pointer.as_str()).collect();
    let most = trials.steps_left() / SHARE;
    let to = trials.failed();
    Ok(matches!(compile(&without(root, "", &left_out), to, most, trials)?, Ended::Texts(_)))
}

fn compile(root: &Value, to: Stage, most_steps: u64, trials: &mut Trials<'_>) -> Result<Ended, Stop> {
    let Some(options) = trials.schema_options() else { return Ok(Ended::Unclear) };
    trials.compile(Source::Schema { schema: root.to_string(), options }, to, most_steps)
}

/// The document with another number at a keyword, and no greater one at the keyword below it.
fn counting(root: &Value, part: &Part, count: u64) -> Value {
    let mut root = root.clone();
    let around = part.pointer.rsplit_once('/').map_or("", |(around, _)| around);
    if let Some(Value::Object(keywords)) = root.pointer_mut(around) {
        let below = COUNTS.iter().find(|(key, _)| *key == part.keyword).map_or("", |(_, below)| below);
        if keywords.get(below).and_then(Value::as_u64).is_some_and(|least| least > count) {
            keywords.insert(below.to_owned(), count.into());
        }
        keywords.insert(part.keyword.clone(), count.into());
    }
    root
}
