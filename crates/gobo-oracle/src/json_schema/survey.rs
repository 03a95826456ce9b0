//! One place of a value: every subschema with a say about the value there, whether it has to hold or not.
//!
//! The survey visits subschemas depth first, and keywords in the order in which they are written. `properties`,
//! `patternProperties` and `additionalProperties` count where the first of them stands, and so do the keywords of items;
//! `then` and `else` count with their `if`. Each subschema is visited once, so the survey ends, and takes O(schema).

use std::collections::HashSet;

use referencing::Draft;
use serde_json::{Map, Value};

use super::documents::Subschema;
use super::error::PolicyError;
use super::patterns::Patterns;

/// `properties`, `patternProperties` and `additionalProperties` of one subschema.
struct Members<'r> {
    of: Subschema<'r>,
    keywords: &'r Map<String, Value>,
}

/// What one keyword says about the items of an array.
struct Items<'r> {
    prefix: Vec<Subschema<'r>>,
    rest: Option<Subschema<'r>>,
}

/// The survey of one place.
#[derive(Default)]
pub(super) struct Place<'r> {
    /// Names of `properties` and of listed objects, as they first appear, then the names that are required only.
    pub(super) names: Vec<&'r str>,
    /// Whether a condition on extra members may have to fail, which takes a member that fails it: a witness.
    pub(super) may_need_witness: bool,
    members: Vec<Members<'r>>,
    listed: Vec<(&'r str, Subschema<'r>)>,
    unevaluated: Vec<Subschema<'r>>,
    items: Vec<Items<'r>>,
}

impl<'r> Place<'r> {
    pub(super) fn survey(subschemas: &[Subschema<'r>]) -> Result<Self, PolicyError> {
        let mut survey = Survey { place: Self::default(), required: Vec::new(), seen: HashSet::new() };
        for subschema in subschemas {
            survey.visit(subschema, Polarity { has_to_hold: true, has_to_fail: false })?;
        }
        let Survey { mut place, required, .. } = survey;
        place.names.extend(required);
        let mut known = HashSet::new();
        place.names.retain(|name| known.insert(*name));
        Ok(place)
    }

    /// The subschemas with a say about the member of a name.
    pub(super) fn of_member(
        &self,
        name: &str,
        patterns: &Patterns,
    ) -> Result<Vec<Subschema<'r>>, PolicyError> {
        let mut found = Vec::new();
        for Members { of, keywords } in &self.members {
            let before = found.len();
            if let Some(schema) = keywords.get("properties").and_then(|properties| properties.get(name)) {
                found.push(of.child(schema)?);
            }
            for (pattern, schema) in entries(keywords.get("patternProperties")) {
                if patterns.matches(pattern, name)? {
                    found.push(of.child(schema)?);
                }
            }
            if found.len() == before
                && let Some(schema) = keywords.get("additionalProperties")
            {
                found.push(of.child(schema)?);
            }
        }
        let listed = self.listed.iter().filter(|(listed, _)| *listed == name).map(|(_, value)| value);
        found.extend(listed.chain(&self.unevaluated).cloned());
        Ok(distinct(found))
    }

    /// The subschemas with a say about the item at a position.
    pub(super) fn of_item(&self, at: usize) -> Vec<Subschema<'r>> {
        let found = self.items.iter().filter_map(|items| items.prefix.get(at).or(items.rest.as_ref()));
        distinct(found.cloned().collect())
    }
}

fn distinct(subschemas: Vec<Subschema<'_>>) -> Vec<Subschema<'_>> {
    let mut known = HashSet::new();
    subschemas.into_iter().filter(|subschema| known.insert(subschema.identity())).collect()
}

fn entries(object: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    object.and_then(Value::as_object).into_iter().flatten()
}

fn elements(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

/// Under how many negations a subschema stands: an even number, an odd one, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Polarity {
    has_to_hold: bool,
    has_to_fail: bool,
}

impl Polarity {
    const BOTH: Self = Self { has_to_hold: true, has_to_fail: true };

    fn negated(self) -> Self {
        Self { has_to_hold: self.has_to_fail, has_to_fail: self.has_to_hold }
    }
}

struct Survey<'r> {
    place: Place<'r>,
    required: Vec<&'r str>,
    seen: HashSet<((*const Value, bool), Polarity)>,
}

impl<'r> Survey<'r> {
    fn visit(&mut self, subschema: &Subschema<'r>, polarity: Polarity) -> Result<(), PolicyError> {
        if !self.seen.insert((subschema.identity(), polarity)) {
            return Ok(());
        }
        if subschema.is_listed {
            self.listed(subschema);
            return Ok(());
        }
        let Some(keywords) = subschema.value.as_object() else { return Ok(()) };
        // Up to draft 7 nothing counts beside a reference.
        let is_alone = subschema.draft <= Draft::Draft7 && keywords.contains_key("$ref");
        let (mut says_members, mut says_items) = (false, false);
        for (keyword, value) in keywords.iter().filter(|(keyword, _)| !is_alone || *keyword == "$ref") {
            match keyword.as_str() {
                "properties" | "patternProperties" | "additionalProperties" => {
                    if !std::mem::replace(&mut says_members, true) {
                        self.members(subschema, keywords, polarity);
                    }
                }
                "items" | "prefixItems" | "additionalItems" => {
                    if counts_for_items(keyword, keywords, subschema.draft)
                        && !std::mem::replace(&mut says_items, true)
                    {
                        let items = items(subschema, keywords)?;
                        self.place.items.push(items);
                    }
                }
                _ => self.keyword(subschema, keyword, value, polarity)?,
            }
        }
        Ok(())
    }

    /// Keywords that stand for themselves.
    fn keyword(
        &mut self,
        subschema: &Subschema<'r>,
        keyword: &str,
        value: &'r Value,
        polarity: Polarity,
    ) -> Result<(), PolicyError> {
        use Draft::{Draft6, Draft7, Draft201909, Draft202012};
        let draft = subschema.draft;
        match keyword {
            "$ref" => self.visit(&subschema.target(value.as_str().unwrap_or_default())?, polarity),
            "$dynamicRef" if draft == Draft202012 => {
                self.visit(&subschema.target(value.as_str().unwrap_or_default())?, polarity)
            }
            "$recursiveRef" if draft == Draft201909 => self.visit(&subschema.recursive_target()?, polarity),
            "enum" => {
                elements(Some(value)).for_each(|value| self.listed(&subschema.listed(value)));
                Ok(())
            }
            "const" if draft >= Draft6 => {
                self.listed(&subschema.listed(value));
                Ok(())
            }
            "allOf" | "anyOf" => self.visit_all(subschema, elements(Some(value)), polarity),
            "oneOf" => self.visit_all(subschema, elements(Some(value)), Polarity::BOTH),
            "not" => self.visit(&subschema.child(value)?, polarity.negated()),
            "if" if draft >= Draft7 => {
                self.visit(&subschema.child(value)?, Polarity::BOTH)?;
                let branches = ["then", "else"].map(|branch| subschema.value.get(branch));
                self.visit_all(subschema, branches.into_iter().flatten(), polarity)
            }
            "required" => {
                self.required.extend(elements(Some(value)).filter_map(Value::as_str));
                Ok(())
            }
            "dependencies" => self.dependencies(subschema, value, polarity),
            "dependentRequired" | "dependentSchemas" if draft >= Draft201909 => {
                self.dependencies(subschema, value, polarity)
            }
            "contains" if draft >= Draft6 => self.every_item(subschema, value),
            "unevaluatedItems" if draft >= Draft201909 => self.every_item(subschema, value),
            "unevaluatedProperties" if draft >= Draft201909 => {
                self.place.unevaluated.push(subschema.child(value)?);
                self.place.may_need_witness |= polarity.has_to_fail;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn visit_all(
        &mut self,
        subschema: &Subschema<'r>,
        schemas: impl Iterator<Item = &'r Value>,
        polarity: Polarity,
    ) -> Result<(), PolicyError> {
        for schema in schemas {
            self.visit(&subschema.child(schema)?, polarity)?;
        }
        Ok(())
    }

    fn members(&mut self, subschema: &Subschema<'r>, keywords: &'r Map<String, Value>, polarity: Polarity) {
        self.place.names.extend(entries(keywords.get("properties")).map(|(name, _)| name.as_str()));
        let says_extra = ["patternProperties", "additionalProperties"]
            .iter()
            .any(|keyword| keywords.contains_key(*keyword));
        self.place.may_need_witness |= polarity.has_to_fail && says_extra;
        self.place.members.push(Members { of: subschema.clone(), keywords });
    }

    fn dependencies(
        &mut self,
        subschema: &Subschema<'r>,
        of: &'r Value,
        polarity: Polarity,
    ) -> Result<(), PolicyError> {
        for (name, value) in entries(Some(of)) {
            self.required.push(name);
            match value {
                Value::Array(names) => self.required.extend(names.iter().filter_map(Value::as_str)),
                Value::String(name) => self.required.push(name),
                schema => self.visit(&subschema.child(schema)?, polarity)?,
            }
        }
        Ok(())
    }

    fn every_item(&mut self, subschema: &Subschema<'r>, schema: &'r Value) -> Result<(), PolicyError> {
        let rest = Some(subschema.child(schema)?);
        self.place.items.push(Items { prefix: Vec::new(), rest });
        Ok(())
    }

    /// A listed value is the schema of itself.
    fn listed(&mut self, listed: &Subschema<'r>) {
        match listed.value {
            Value::Object(members) => {
                for (name, value) in members {
                    self.place.names.push(name);
                    self.place.listed.push((name, listed.listed(value)));
                }
            }
            Value::Array(items) => {
                let prefix = items.iter().map(|item| listed.listed(item)).collect();
                self.place.items.push(Items { prefix, rest: None });
            }
            _ => {}
        }
    }
}

/// Whether a keyword of items says anything in a draft: lists are `items` up to draft 2019-09, which `additionalItems`
/// continues, and `prefixItems` from then on.
fn counts_for_items(keyword: &str, keywords: &Map<String, Value>, draft: Draft) -> bool {
    let is_new = draft >= Draft::Draft202012;
    match keyword {
        "prefixItems" => is_new,
        "additionalItems" => !is_new && keywords.get("items").is_some_and(Value::is_array),
        _ => true,
    }
}

fn items<'r>(subschema: &Subschema<'r>, keywords: &'r Map<String, Value>) -> Result<Items<'r>, PolicyError> {
    let is_list = keywords.get("items").is_some_and(Value::is_array);
    let (prefix, rest) = match (is_list, subschema.draft >= Draft::Draft202012) {
        (true, _) => ("items", "additionalItems"),
        (false, true) => ("prefixItems", "items"),
        (false, false) => ("", "items"),
    };
    Ok(Items {
        prefix: elements(keywords.get(prefix))
            .map(|schema| subschema.child(schema))
            .collect::<Result<_, _>>()?,
        rest: keywords.get(rest).map(|schema| subschema.child(schema)).transpose()?,
    })
}
