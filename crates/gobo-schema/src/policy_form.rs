//! The canonical text of a value under a policy: the order of properties, and the spelling.

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, NumberForm, SchemaOptions};
use serde_json::{Map, Value};

use crate::evaluate::evaluate;
use crate::formula::properties::PropertyAtom;
use crate::lower::lowering::lowered;
use crate::lower::schema_set::{SchemaSetId, SchemaSets};
use crate::read::decimal::Decimal;
use crate::read::node::NodeId;
use crate::read::nodes::Nodes;
use crate::read::parse::parse_json;
use gobo_grammar::json::strings::escape;

/// The one text of a valid value that the order and the spelling of a policy allow.
#[derive(Debug)]
pub struct PolicyForm {
    schema: String,
    options: SchemaOptions,
    /// Whether some object has a property that has to be the last one.
    has_last: bool,
}

impl PolicyForm {
    /// The forms under a schema.
    ///
    /// # Errors
    /// As those of [`schema`](crate::schema()).
    pub fn new(schema: &str, options: &SchemaOptions, budget: &Budget) -> Result<Self, CompileError> {
        let (lowering, _) = lowered(schema, "", options, budget)?;
        let has_last = !lowering.objects.witnesses.last.is_empty();
        Ok(Self { schema: schema.to_owned(), options: options.clone(), has_last })
    }

    /// The value with the properties of each object in the order of the policy: those that the schema names in its order, the
    /// others after them as they are. If the object is valid by one of the others, whose name a later property could repeat,
    /// that one comes last. If the schema cannot be read, the value is returned unchanged.
    ///
    /// O(schema + value); if some property has to be the last one, as long as it takes to lower the schema.
    pub fn in_order(&self, value: &Value) -> Value {
        let budget = Budget::default();
        self.try_in_order(value, &budget).unwrap_or_else(|_| value.clone())
    }

    fn try_in_order(&self, value: &Value, budget: &Budget) -> Result<Value, CompileError> {
        let (mut nodes, sets, last) = if self.has_last {
            let (lowering, _) = lowered(&self.schema, "", &self.options, budget)?;
            (lowering.context.facts.nodes, lowering.context.sets, lowering.objects.witnesses.last)
        } else {
            (Nodes::read(&self.schema, &self.options, budget)?, SchemaSets::default(), HashMap::new())
        };
        let mut ordering = Ordering { sets, last };
        let root = nodes.root()?;
        let root = ordering.sets.of(&mut nodes, vec![root])?;
        ordering.ordered(&mut nodes, root, value)
    }

    /// The text of a value as the policy spells it: each character in its shortest form, numbers without exponent, or if plain ones
    /// would have too long a fraction, with one. Numbers that cannot be spelled so ([`Self::can_spell`]) are left unchanged.
    pub fn spelled(&self, value: &Value) -> String {
        let mut out = String::new();
        spell(value, self.options.numbers, &mut out);
        out
    }

    /// Whether [`Self::spelled`] writes each number of a value as the policy does. Numbers with more than 4,096 digits, or with as
    /// many zeros before or after them, are not written. O(value).
    pub fn can_spell(value: &Value) -> bool {
        match value {
            Value::Array(items) => items.iter().all(Self::can_spell),
            Value::Object(properties) => properties.values().all(Self::can_spell),
            Value::Number(number) => Decimal::parse(&number.to_string()).is_some(),
            _ => true,
        }
    }
}

/// Orders properties.
struct Ordering {
    sets: SchemaSets,
    /// The atoms whose witness comes last, by the subschemas of the object.
    last: HashMap<Vec<NodeId>, PropertyAtom>,
}

impl Ordering {
    fn ordered(
        &mut self,
        nodes: &mut Nodes<'_>,
        set: SchemaSetId,
        value: &Value,
    ) -> Result<Value, CompileError> {
        let set = self.sets.get(set);
        Ok(match value {
            Value::Array(items) => {
                let mut out = Vec::with_capacity(items.len());
                for (at, item) in items.iter().enumerate() {
                    let of_item = self.sets.of(nodes, set.of_item(at))?;
                    out.push(self.ordered(nodes, of_item, item)?);
                }
                Value::Array(out)
            }
            Value::Object(properties) => {
                let is_named = |name: &String| set.index.contains_key(name);
                let named = set.names.iter().filter_map(|name| properties.get_key_value(name));
                let mut others: Vec<_> = properties.iter().filter(|property| !is_named(property.0)).collect();
                if let Some(atom) = self.last.get(&set.nodes)
                    && let Some(witness) = witness(nodes, atom, &others)?
                {
                    let last = others.remove(witness);
                    others.push(last);
                }
                let mut out = Map::new();
                for (name, value) in named.chain(others) {
                    let known = is_named(name).then_some(name.as_str());
                    let child =
                        set.of_property(known, |text| nodes.text(text).accepts(name), nodes.budget())?;
                    let of_value = self.sets.of(nodes, child)?;
                    out.insert(name.clone(), self.ordered(nodes, of_value, value)?);
                }
                Value::Object(out)
            }
            scalar => scalar.clone(),
        })
    }
}

/// The index of the last witness of an atom.
fn witness(
    nodes: &mut Nodes<'_>,
    atom: &PropertyAtom,
    properties: &[(&String, &Value)],
) -> Result<Option<usize>, CompileError> {
    let PropertyAtom::Some(names, (node, holds)) = atom else { return Ok(None) };
    for (at, (name, value)) in properties.iter().enumerate().rev() {
        let value = parse_json(&value.to_string())?;
        if names.has(nodes, name)? && evaluate(nodes, *node, &value)? == *holds {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn spell(value: &Value, numbers: NumberForm, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                spell(item, numbers, out);
            }
            out.push(']');
        }
        Value::Object(properties) => {
            out.push('{');
            for (at, (name, value)) in properties.iter().enumerate() {
                out.push_str(if at > 0 { ", \"" } else { "\"" });
                out.push_str(&escape(name));
                out.push_str("\": ");
                spell(value, numbers, out);
            }
            out.push('}');
        }
        Value::String(text) => {
            out.push('"');
            out.push_str(&escape(text));
            out.push('"');
        }
        Value::Number(number) => {
            let text = number.to_string();
            let has_exponent = |number: &Decimal| {
                numbers == NumberForm::Plain && number.fraction().len() > NumberForm::MAX_PLACES as usize
            };
            let written = match Decimal::parse(&text) {
                None => text,
                Some(number) if has_exponent(&number) => {
                    format!("{}e{}", number.to_mantissa(), number.exponent - 1)
                }
                Some(number) => number.to_plain(),
            };
            out.push_str(&written);
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_stand_as_the_schema_names_them() {
        let schema = r#"{"properties": {"b": {"properties": {"y": {}, "x": {}}}, "a": {}}, "required": ["c"],
            "additionalProperties": {"properties": {"q": {}, "p": {}}}, "items": {"properties": {"n": {}, "m": {}}}}"#;
        let form = PolicyForm::new(schema, &SchemaOptions::default(), &Budget::default()).unwrap();
        for (value, expected) in [
            (r#"{"a":1,"b":{"x":1,"y":2},"c":3}"#, r#"{"b":{"y":2,"x":1},"a":1,"c":3}"#),
            (
                r#"{"z":{"p":1,"q":2},"y":1,"a":{"d":1,"c":2}}"#,
                r#"{"a":{"d":1,"c":2},"z":{"q":2,"p":1},"y":1}"#,
            ),
            (r#"[{"m":1,"n":2,"o":3},{"m":1}]"#, r#"[{"n":2,"m":1,"o":3},{"m":1}]"#),
        ] {
            assert_eq!(form.in_order(&serde_json::from_str(value).unwrap()).to_string(), expected);
        }
        // The witness comes last, and of several the last.
        let schema = r#"{"items": {"not": {"patternProperties": {"x": {"properties": {"b": {}, "a": {}}, "not": {"required": ["b"]}}}}}}"#;
        let form = PolicyForm::new(schema, &SchemaOptions::default(), &Budget::default()).unwrap();
        let value = serde_json::from_str(r#"[{"x":{"a":1,"b":2},"y":{"b":1},"x2":{"b":1},"z":1}]"#).unwrap();
        let expected = r#"[{"x":{"b":2,"a":1},"y":{"b":1},"z":1,"x2":{"b":1}}]"#;
        assert_eq!(form.in_order(&value).to_string(), expected);
        let value = serde_json::from_str(r#"["\u0061\/\n", 1.50e2, -0.0, 1e-3]"#).unwrap();
        assert_eq!(form.spelled(&value), r#"["a/\n", 150, 0, 0.001]"#);
        assert!(PolicyForm::can_spell(&value));
    }

    #[test]
    fn what_has_too_many_digits_is_left_and_told() {
        let [plain, json] = [NumberForm::Plain, NumberForm::Json].map(|numbers| {
            let options = SchemaOptions { numbers, ..SchemaOptions::default() };
            PolicyForm::new("{}", &options, &Budget::default()).unwrap()
        });
        let spelled_in = |form: &PolicyForm, text: &str| {
            let value = serde_json::from_str(text).unwrap();
            (form.spelled(&value), PolicyForm::can_spell(&value))
        };
        let spelled = |text: &str| spelled_in(&json, text);
        assert_eq!(spelled_in(&plain, "-7.50e-100"), ("-7.5e-100".to_owned(), true));
        assert_eq!(spelled_in(&plain, "7e-22"), (format!("0.{}7", "0".repeat(21)), true));
        assert_eq!(spelled_in(&plain, "7e64"), spelled("7e64"));
        assert_eq!(spelled("7e64"), (format!("7{}", "0".repeat(64)), true));
        assert_eq!(spelled("-7e-100"), (format!("-0.{}7", "0".repeat(99)), true));
        assert_eq!(spelled("1e4095").0.len(), 4096);
        assert!(spelled("1e4095").1);
        for text in ["1e4096", "[{\"a\":1e-5000}]", "1e99999999999999999999"] {
            assert!(!spelled(text).1, "{text}");
        }
        assert!(spelled("[1e5000, 2e1]").0.ends_with("5000, 20]"));
    }
}
