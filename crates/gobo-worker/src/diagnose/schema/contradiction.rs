//! The smallest subschema without a value, and the keywords that contradict each other there.
//!
//! From the root: a minimal set of parts without any value is kept. If one of them is a schema that has no value by itself, the search
//! goes on there; it ends in a schema that was met before if a value would have to hold another one without end. At the last schema
//! the parts are taken apart as far as they can be.

use std::collections::BTreeSet;

use serde_json::Value;

use super::document::{Part, alternatives, around, has_inner_resources, local_target, parts, without};
use super::words;
use crate::diagnose::finding::Finding;
use crate::diagnose::minimal::minimal;
use crate::diagnose::repetitions::list;
use crate::diagnose::trials::{Ended, Stop, Trials};

/// Deepest level at which parts are taken apart below the smallest subschema.
const MAX_LEVELS: usize = 6;

/// Most alternatives that are looked at one by one.
const MAX_ALTERNATIVES: usize = 8;

/// Most parts that a message advises on.
const MAX_ADVISED: usize = 4;

struct Search<'t, 'a> {
    root: Value,
    trials: &'t mut Trials<'a>,
}

/// Where the search goes on.
enum Next {
    /// In this subschema, which one of the parts leads to.
    Below(String, Part),
    /// Nowhere: no alternative of this part has a value.
    Alternatives(Part),
    Nowhere,
}

/// Looks for the contradiction; what was found before the bounds of the diagnosis are reached stands.
pub(crate) fn without_text(
    schema: &str,
    trials: &mut Trials<'_>,
    found: &mut Option<Finding>,
) -> Result<(), Stop> {
    let Ok(root) = serde_json::from_str::<Value>(schema) else { return Ok(()) };
    if has_inner_resources(&root) {
        return Ok(());
    }
    let mut search = Search { root, trials };
    let mut base = String::new();
    let mut met: Vec<String> = Vec::new();
    // The parts because of which the schema around this one needs a value of it.
    let mut needed_by = String::new();
    loop {
        let Some(schema) = search.root.pointer(&base).cloned() else { return Ok(()) };
        if schema == Value::Bool(false) {
            let help = "Replace false by a schema that some value satisfies.".to_owned();
            *found = Some(finding(&base, format!("false allows no value{needed_by}"), help));
            return Ok(());
        }
        if met.contains(&base) {
            let reason = format!(
                "a value of it would have to hold another one, without end{}",
                met.last()
                    .filter(|last| **last != base)
                    .map_or(String::new(), |last| format!(", through {last}"))
            );
            let help = "Make a member or item on the way optional, or give it an alternative that ends.";
            *found = Some(finding(&base, reason, help.to_owned()));
            return Ok(());
        }
        met.push(base.clone());
        let Some(kept) = search.kept(&schema, &base)? else { return Ok(()) };
        let reason = words::contradiction(&kept, &search.root, &base);
        *found = Some(finding(&base, format!("{reason}{needed_by}"), String::new()));
        match search.next(&schema, &base, &kept)? {
            Next::Below(pointer, part) => {
                needed_by = search.needed_by(&kept, &part, &base);
                base = pointer;
            }
            Next::Alternatives(part) => {
                let reason = format!("no alternative of {} has a value{needed_by}", part.keyword);
                let help = "Correct at least one of the alternatives.".to_owned();
                *found = Some(finding(&part.pointer, reason, help));
                return Ok(());
            }
            Next::Nowhere => {
                let leaves = search.taken_apart(&schema, &base, kept)?;
                let reason = words::contradiction(&leaves, &search.root, &base);
                *found = Some(finding(&base, format!("{reason}{needed_by}"), String::new()));
                let help = search.help(&schema, &base, &leaves)?;
                *found = Some(finding(&base, format!("{reason}{needed_by}"), help));
                return Ok(());
            }
        }
    }
}

fn finding(pointer: &str, reason: String, help: String) -> Finding {
    Finding { place: pointer.to_owned(), reason, help, ..Finding::default() }
}

impl Search<'_, '_> {
    /// Whether a schema in the place of the whole one has values.
    fn verdict(&mut self, schema: Value) -> Result<Ended, Stop> {
        let (document, pointer) = around(&self.root, schema);
        self.trials.subschema(&document, &pointer)
    }

    /// The same of a schema that takes the place of the one at a pointer, for references to that one too.
    fn verdict_in_place(&mut self, schema: Value, pointer: &str) -> Result<Ended, Stop> {
        let mut root = self.root.clone();
        let Some(place) = root.pointer_mut(pointer) else { return Ok(Ended::Unclear) };
        place.clone_from(&schema);
        let (document, pointer) = around(&root, schema);
        self.trials.subschema(&document, &pointer)
    }

    fn has_none_without(
        &mut self,
        schema: &Value,
        base: &str,
        left_out: &BTreeSet<&str>,
    ) -> Result<bool, Stop> {
        Ok(self.verdict(without(schema, base, left_out))? == Ended::NoText)
    }

    /// A minimal set of the parts of a schema that has no value; `None` if that cannot be shown of the schema.
    fn kept(&mut self, schema: &Value, base: &str) -> Result<Option<Vec<Part>>, Stop> {
        let all = parts(schema, base);
        // Before draft 2019-09 nothing beside a reference counts.
        if let Some(reference) = all.iter().find(|part| part.keyword == "$ref") {
            let others =
                all.iter().filter(|part| *part != reference).map(|part| part.pointer.as_str()).collect();
            if self.has_none_without(schema, base, &others)? {
                return Ok(Some(vec![reference.clone()]));
            }
        }
        if !self.has_none_without(schema, base, &BTreeSet::new())? {
            return Ok(None);
        }
        minimal(&all, |kept| self.has_none_without(schema, base, &left_out(&all, kept))).map(Some)
    }

    fn next(&mut self, schema: &Value, base: &str, kept: &[Part]) -> Result<Next, Stop> {
        let all = parts(schema, base);
        for part in kept {
            let Some(value) = self.root.pointer(&part.pointer).cloned() else { continue };
            let below = if part.keyword == "$ref" {
                local_target(&value).map(str::to_owned)
            } else if part.is_alternatives() {
                let open: Vec<Part> = alternatives(part, &value)
                    .into_iter()
                    .filter(|part| self.root.pointer(&part.pointer) != Some(&Value::Bool(false)))
                    .collect();
                match &open[..] {
                    [only] => Some(only.pointer.clone()),
                    several if several.len() <= MAX_ALTERNATIVES => {
                        let mut all_empty = true;
                        for part in several {
                            all_empty = all_empty && self.is_empty(&part.pointer)?;
                        }
                        if all_empty {
                            return Ok(Next::Alternatives(part.clone()));
                        }
                        None
                    }
                    _ => None,
                }
            } else {
                part.is_schema(&value).then(|| part.pointer.clone())
            };
            let Some(below) = below else { continue };
            let others: Vec<Part> = kept.iter().filter(|other| *other != part).cloned().collect();
            let rest = without(schema, base, &left_out(&all, &others));
            if self.is_empty(&below)? && matches!(self.verdict(rest)?, Ended::Texts(_)) {
                return Ok(Next::Below(below, part.clone()));
            }
        }
        Ok(Next::Nowhere)
    }

    /// Whether the subschema at a pointer has no value by itself.
    fn is_empty(&mut self, pointer: &str) -> Result<bool, Stop> {
        let Some(schema) = self.root.pointer(pointer).cloned() else { return Ok(false) };
        Ok(self.verdict(schema)? == Ended::NoText)
    }

    fn needed_by(&self, kept: &[Part], part: &Part, base: &str) -> String {
        let others: Vec<Part> =
            kept.iter().filter(|other| *other != part && other.keyword != "type").cloned().collect();
        if others.is_empty() {
            return String::new();
        }
        let others: Vec<String> =
            others.iter().map(|part| words::with_value(part, &self.root, base)).collect();
        format!("; the schema around it needs one ({})", list(&others))
    }

    /// The parts, and in their place their own parts where these alone contradict each other.
    fn taken_apart(&mut self, schema: &Value, base: &str, kept: Vec<Part>) -> Result<Vec<Part>, Stop> {
        let all = parts(schema, base);
        let mut out: BTreeSet<String> = left_out(&all, &kept).into_iter().map(str::to_owned).collect();
        let (mut leaves, mut open) = (Vec::new(), kept);
        for _ in 0..MAX_LEVELS {
            let mut inner: Vec<Part> = Vec::new();
            for part in std::mem::take(&mut open) {
                let of_part = self.root.pointer(&part.pointer).filter(|value| part.is_schema(value));
                match of_part.map(|value| parts(value, &part.pointer)) {
                    Some(of_part) if !of_part.is_empty() => inner.extend(of_part),
                    _ => leaves.push(part),
                }
            }
            if inner.is_empty() {
                break;
            }
            let kept = minimal(&inner, |kept| {
                let mut all_out: BTreeSet<&str> = out.iter().map(String::as_str).collect();
                all_out.append(&mut left_out(&inner, kept));
                self.has_none_without(schema, base, &all_out)
            })?;
            out.extend(left_out(&inner, &kept).into_iter().map(str::to_owned));
            open = kept;
        }
        leaves.extend(open);
        Ok(leaves)
    }

    /// What to do, as far as trials on the schema as it was written show that it helps.
    fn help(&mut self, schema: &Value, base: &str, leaves: &[Part]) -> Result<String, Stop> {
        let (leaves, _) = words::subject(leaves, &self.root, base);
        if leaves.len() > MAX_ADVISED {
            return Ok(String::new());
        }
        let names: Vec<String> = leaves.iter().map(|part| words::name(part, &self.root, base)).collect();
        let mut helpful = Vec::new();
        for (part, name) in leaves.iter().zip(&names) {
            let rest = without(schema, base, &BTreeSet::from([part.pointer.as_str()]));
            match self.verdict_in_place(rest, base)? {
                Ended::Texts(_) => helpful.push(name),
                Ended::NoText => {
                    return Ok(format!("Correct {}; another contradiction stands beside it.", list(&names)));
                }
                Ended::Unclear => {}
            }
        }
        Ok(match &helpful[..] {
            [] => String::new(),
            [only] => format!("Drop {only}, or change its value."),
            several => format!("Drop one of {}, or change its value.", list(several)),
        })
    }
}

/// The pointers of the parts that are not kept.
fn left_out<'p>(all: &'p [Part], kept: &[Part]) -> BTreeSet<&'p str> {
    all.iter().filter(|part| !kept.contains(part)).map(|part| part.pointer.as_str()).collect()
}
