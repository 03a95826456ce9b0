//! The keyword of a schema that needs too much.
//!
//! From the root: a minimal set of parts without which the whole schema fits. If that is one part, the search goes on inside it, or at
//! the target of its reference; at a number, smaller numbers show how the cost grows.

use std::collections::BTreeSet;

use gobo_types::Source;
use serde_json::Value;

use super::document::{Part, alternatives, local_target, parts, without};
use super::words;
use crate::diagnose::Finding;
use crate::diagnose::growth::{Need, growth};
use crate::diagnose::minimal::minimal;
use crate::diagnose::repetitions::{list, measured, told};
use crate::diagnose::trials::{Ended, Stop, Trials};

/// Share of the steps for a trial that may come to no end.
const SHARE: u64 = 8;

/// Most parts that are named together.
const MAX_NAMED: usize = 4;

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
pub(in crate::diagnose) fn over_budget(
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
        let names: Vec<String> =
            culprits.iter().map(|part| words::with_value(part, &root, &base)).collect();
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
                measured(compile(&counting(&root, culprit, count), most, trials)?)
            })?;
            told(growth, need, false, &names[0], found);
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

/// The parts of a schema without which it may be smaller.
fn costly(schema: &Value, base: &str) -> Vec<Part> {
    let mut parts = parts(schema, base);
    parts.retain(|part| !matches!(part.keyword.as_str(), "required" | "type"));
    parts
}

fn fits(root: &Value, left_out: &[Part], trials: &mut Trials<'_>) -> Result<bool, Stop> {
    let left_out: BTreeSet<&str> = left_out.iter().map(|part| part.pointer.as_str()).collect();
    let most = trials.steps_left() / SHARE;
    Ok(matches!(compile(&without(root, "", &left_out), most, trials)?, Ended::Texts(_)))
}

fn compile(root: &Value, most_steps: u64, trials: &mut Trials<'_>) -> Result<Ended, Stop> {
    let Some(options) = trials.schema_options() else { return Ok(Ended::Unclear) };
    trials.compile(Source::Schema { schema: root.to_string(), options }, most_steps)
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
