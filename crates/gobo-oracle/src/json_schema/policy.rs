//! The order of members in which the policy of a schema allows a value (`docs/json-schema.md`, *Texts of a value*): names
//! as they first appear in all subschemas for the place, then names that are only required, then the others in any order.
//!
//! Where a condition on extra members has to fail, a member that fails it, the witness, has to be the last one. Which
//! member that is takes an evaluation, and this judge makes none: it gives the value with each of the extra members last.
//! O(schema) for each place of the value.

use gobo_types::SchemaOptions;
use serde_json::{Map, Value};

use super::documents::{Documents, Subschema};
use super::error::PolicyError;
use super::patterns::Patterns;
use super::survey::Place;

/// Most orders of a value. More are left out, which can only make the judge stricter about valid values.
const MAX_ORDERS: usize = 64;

/// The policy of a schema, as far as the order of members goes.
#[derive(Debug)]
pub struct SchemaPolicy {
    documents: Documents,
    patterns: Patterns,
}

impl SchemaPolicy {
    /// The policy of a schema.
    ///
    /// # Errors
    /// [`PolicyError`] if an address in the schema is none.
    pub fn new(schema: &Value, options: &SchemaOptions) -> Result<Self, PolicyError> {
        Ok(Self { documents: Documents::new(schema, options)?, patterns: Patterns::default() })
    }

    /// The value in each order that the policy may ask for, at least one and at most 64. If the value is valid, one of
    /// them is allowed; if it is invalid, none is.
    ///
    /// # Errors
    /// [`PolicyError`] if a reference leads nowhere.
    pub fn orders(&self, value: &Value) -> Result<Vec<Value>, PolicyError> {
        self.orders_at(&[self.documents.root()?], value)
    }

    fn orders_at(&self, place: &[Subschema<'_>], value: &Value) -> Result<Vec<Value>, PolicyError> {
        match value {
            Value::Array(items) => {
                let place = Place::survey(place)?;
                let items = items.iter().enumerate();
                let items: Vec<Vec<Value>> = items
                    .map(|(at, item)| self.orders_at(&place.of_item(at), item))
                    .collect::<Result<_, _>>()?;
                Ok(product(&items).into_iter().map(Value::Array).collect())
            }
            Value::Object(members) => {
                let place = Place::survey(place)?;
                let mut orders = Vec::new();
                for names in orders_of_names(&place, members) {
                    let values = names
                        .iter()
                        .map(|name| self.orders_at(&place.of_member(name, &self.patterns)?, &members[*name]));
                    let values: Vec<Vec<Value>> = values.collect::<Result<_, _>>()?;
                    orders.extend(product(&values).into_iter().map(|values| {
                        let names = names.iter().map(|name| (*name).clone());
                        Value::Object(names.zip(values).collect())
                    }));
                }
                orders.truncate(MAX_ORDERS);
                Ok(orders)
            }
            scalar => Ok(vec![scalar.clone()]),
        }
    }
}

/// The names of an object in each order that a place may ask for.
fn orders_of_names<'v>(place: &Place<'_>, members: &'v Map<String, Value>) -> Vec<Vec<&'v String>> {
    let named = place.names.iter().filter_map(|name| members.get_key_value(*name));
    let named: Vec<&String> = named.map(|(name, _)| name).collect();
    let others: Vec<&String> = members.keys().filter(|name| !named.contains(name)).collect();
    let mut orders = vec![[named.clone(), others.clone()].concat()];
    if place.may_need_witness {
        for at in (0..others.len().saturating_sub(1)).rev() {
            let mut others = others.clone();
            let last = others.remove(at);
            others.push(last);
            orders.push([named.clone(), others].concat());
        }
    }
    orders
}

/// One of the alternatives for each place, in all combinations, the first alternatives first.
fn product(places: &[Vec<Value>]) -> Vec<Vec<Value>> {
    let mut all = vec![Vec::new()];
    for alternatives in places {
        let extended = all.iter().flat_map(|chosen: &Vec<Value>| {
            alternatives.iter().map(move |next| [chosen.as_slice(), std::slice::from_ref(next)].concat())
        });
        all = extended.take(MAX_ORDERS).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders(schema: &str, value: &str) -> Vec<String> {
        let read = |text| serde_json::from_str::<Value>(text).unwrap();
        let policy = SchemaPolicy::new(&read(schema), &SchemaOptions::default()).unwrap();
        policy.orders(&read(value)).unwrap().iter().map(Value::to_string).collect()
    }

    #[test]
    fn members_stand_as_the_schema_names_them() {
        let schema = r#"{"properties": {"b": {"properties": {"y": {}, "x": {}}}, "a": {}}, "required": ["c"],
            "additionalProperties": {"properties": {"q": {}, "p": {}}}, "items": {"properties": {"n": {}, "m": {}}}}"#;
        for (value, expected) in [
            (r#"{"a":1,"b":{"x":1,"y":2},"c":3}"#, r#"{"b":{"y":2,"x":1},"a":1,"c":3}"#),
            (
                r#"{"z":{"p":1,"q":2},"y":1,"a":{"d":1,"c":2}}"#,
                r#"{"a":{"d":1,"c":2},"z":{"q":2,"p":1},"y":1}"#,
            ),
            (r#"[{"m":1,"n":2,"o":3},{"m":1}]"#, r#"[{"n":2,"m":1,"o":3},{"m":1}]"#),
        ] {
            assert_eq!(orders(schema, value), [expected]);
        }
    }

    #[test]
    fn names_appear_through_references_branches_and_listed_values() {
        let schema = r##"{"required": ["r"], "anyOf": [{"$ref": "#/$defs/one"}, {"const": {"k": {"w": 1, "v": 2}}}],
            "if": {"properties": {"i": {}}}, "else": {"properties": {"e": {}}}, "then": {"properties": {"t": {}}},
            "dependentSchemas": {"d": {"properties": {"s": {}}}},
            "$defs": {"one": {"properties": {"o": {"$ref": "#"}}}}}"##;
        let value = r#"{"x":1,"d":1,"r":1,"s":1,"e":1,"t":1,"i":1,"k":{"v":1,"w":2},"o":{"i":1,"o":2}}"#;
        let expected = r#"{"o":{"o":2,"i":1},"k":{"w":2,"v":1},"i":1,"t":1,"e":1,"s":1,"r":1,"d":1,"x":1}"#;
        assert_eq!(orders(schema, value), [expected]);
    }

    #[test]
    fn lists_and_patterns_are_those_of_the_draft() {
        let named = |name: &str| format!(r#"{{"properties": {{"{name}": {{}}}}}}"#);
        let (b, c) = (named("b"), named("c"));
        for (draft, prefix, rest) in
            [("draft-07", "items", "additionalItems"), ("draft/2020-12", "prefixItems", "items")]
        {
            let schema = format!(
                r#"{{"$schema": "http://json-schema.org/{draft}/schema#", "{rest}": {b}, "{prefix}": [{c}],
                    "patternProperties": {{"^p\\d$": {c}}}, "additionalProperties": {b}}}"#
            );
            let value = r#"[{"a":1,"b":2,"c":3},{"a":1,"b":2,"c":3},{"a":1,"b":2,"c":3}]"#;
            let expected = r#"[{"c":3,"a":1,"b":2},{"b":2,"a":1,"c":3},{"b":2,"a":1,"c":3}]"#;
            assert_eq!(orders(&schema, value), [expected], "{draft}");
            let value = r#"{"p1":{"a":1,"b":2,"c":3},"p":{"a":1,"b":2,"c":3}}"#;
            let expected = r#"{"p1":{"c":3,"a":1,"b":2},"p":{"b":2,"a":1,"c":3}}"#;
            assert_eq!(orders(&schema, value), [expected], "{draft}");
        }
    }

    #[test]
    fn each_extra_member_may_be_the_witness() {
        let schema = r#"{"properties": {"n": {}}, "not": {"additionalProperties": {"type": "string"}}}"#;
        assert_eq!(
            orders(schema, r#"{"a":1,"b":2,"n":3,"c":4}"#),
            [r#"{"n":3,"a":1,"b":2,"c":4}"#, r#"{"n":3,"a":1,"c":4,"b":2}"#, r#"{"n":3,"b":2,"c":4,"a":1}"#]
        );
        let schema = r#"{"not": {"not": {"additionalProperties": {"type": "string"}}}}"#;
        assert_eq!(orders(schema, r#"{"a":"","b":""}"#).len(), 1, "twice negated is not negated");
        let schema = r#"{"oneOf": [{"additionalProperties": {"type": "string"}}, {"minProperties": 2}]}"#;
        assert_eq!(orders(schema, r#"{"a":"","b":""}"#).len(), 2);
    }
}
