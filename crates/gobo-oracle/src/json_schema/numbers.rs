//! The texts of numbers under a schema and a form of numbers, one text at a time.
//!
//! A text is allowed if it is a number of JSON, its exact value satisfies the schema, and it is written as the form says
//! (`docs/json-schema.md`, *Numbers*). What a place allows, all in all, decides how plain numbers are written there: whether every
//! allowed number is an integer is found by trying a grid of numbers that is finer than the numbers of the schema.
//!
//! Where keywords are connected by more than *and*, some of them may be without effect, and then an exponent may be
//! allowed or not: of such texts there is an opinion only if their values are invalid.

use gobo_types::NumberForm;
use serde_json::{Map, Value};

use super::decimal::Decimal;

/// Digits of a plain fraction and of a plain exponent.
const PLACES: usize = 22;
const EXPONENT_DIGITS: usize = 3;

/// Which exponents stand under a constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exponents {
    /// After any digits: there is no constraint.
    Any,
    /// After one digit that is not zero, and its fraction: there are bounds alone.
    Scientific,
    /// None.
    No,
}

/// The keywords that test numbers, as far as a schema has them.
#[derive(Debug, Default)]
struct Keywords {
    bounds: usize,
    lists: usize,
    others: usize,
    /// Those that are not connected by *and*.
    branches: usize,
    /// The greatest number of decimal places, and the greatest magnitude, of their numbers.
    places: usize,
    greatest: i64,
}

impl Keywords {
    fn read(&mut self, schema: &Value) {
        let Value::Object(schema) = schema else { return };
        for (keyword, value) in schema {
            match keyword.as_str() {
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                    self.bounds += usize::from(value.is_number());
                    self.number(value);
                }
                "multipleOf" => {
                    self.others += 1;
                    self.number(value);
                }
                "type" => self.others += usize::from(names_of(value).contains(&"integer")),
                "const" => {
                    self.lists += 1;
                    self.number(value);
                }
                "enum" => {
                    self.lists += 1;
                    value.as_array().into_iter().flatten().for_each(|value| self.number(value));
                }
                "allOf" => value.as_array().into_iter().flatten().for_each(|schema| self.read(schema)),
                "anyOf" | "oneOf" => {
                    self.branches += 1;
                    value.as_array().into_iter().flatten().for_each(|schema| self.read(schema));
                }
                "not" | "if" | "then" | "else" => {
                    self.branches += 1;
                    self.read(value);
                }
                _ => {}
            }
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most 10^6")]
    fn number(&mut self, value: &Value) {
        let Some(number) = decimal_of(value) else { return };
        self.places = self.places.max(number.fraction_digits());
        let of_float = value.as_f64().map_or(0, |float| float.abs().min(1e6).ceil() as i64);
        self.greatest = self.greatest.max(of_float);
    }

    fn exponents(&self) -> Exponents {
        match (self.bounds, self.lists + self.others) {
            (0, 0) => Exponents::Any,
            (_, 0) => Exponents::Scientific,
            _ => Exponents::No,
        }
    }
}

/// The names of `type`.
fn names_of(value: &Value) -> Vec<&str> {
    match value {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn decimal_of(value: &Value) -> Option<Decimal> {
    value.is_number().then(|| Decimal::read(&value.to_string())).flatten()
}

/// The judge of the texts of numbers under one schema, whose keywords are those of numbers, `type`, `enum`, `const` and the Boolean
/// connectives.
#[derive(Debug)]
pub struct NumberTexts {
    schema: Value,
    is_draft4: bool,
    form: NumberForm,
    keywords: Keywords,
    /// Whether every allowed number is an integer.
    are_integers: bool,
}

impl NumberTexts {
    /// The judge of a schema. O(numbers of the grid), which grow with the numbers of the schema and their decimal places: both have to be
    /// small.
    pub fn new(schema: &Value, is_draft4: bool, form: NumberForm) -> Self {
        let mut keywords = Keywords::default();
        keywords.read(schema);
        let mut judge = Self { schema: schema.clone(), is_draft4, form, keywords, are_integers: false };
        judge.are_integers = !judge.fractions().any(|text| judge.is_valid(&text));
        judge
    }

    /// Numbers with a fraction: of each way in which such numbers can satisfy the keywords at least one.
    fn fractions(&self) -> impl Iterator<Item = String> + use<> {
        let places = self.keywords.places + 1;
        let unit = 10_i64.pow(u32::try_from(places).expect("few places"));
        // A period of the divisors, beyond the greatest number.
        let end = (self.keywords.greatest + 40) * unit;
        (-end..=end).filter(move |units| units % unit != 0).map(move |units| format!("{units}e-{places}"))
    }

    /// Whether a text is a number of JSON whose value satisfies the schema.
    pub fn is_valid(&self, text: &str) -> bool {
        let is_integer = |number: &Decimal| {
            if self.is_draft4 { !text.contains(['.', 'e', 'E']) } else { number.is_integer() }
        };
        Decimal::read(text).is_some_and(|number| holds(&self.schema, &number, is_integer(&number)))
    }

    /// Whether a text is allowed; none where this judge has no opinion.
    pub fn allows(&self, text: &str) -> Option<bool> {
        if !self.is_valid(text) {
            return Some(false);
        }
        // Draft 4 has integers without a point, and does not say whether `const` compares 1 with 1.0 or with its text.
        if self.is_draft4 && self.keywords.lists > 0 && text.contains(['.', 'e', 'E']) {
            return None;
        }
        let is_plain = self.form == NumberForm::Plain;
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent.trim_start_matches(['+', '-']))),
            None => (text, None),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if is_plain {
            let is_zero = mantissa.bytes().all(|byte| b"-0.".contains(&byte));
            let is_short = fraction.len() <= PLACES.max(self.keywords.places)
                && exponent.is_none_or(|digits| digits.len() <= EXPONENT_DIGITS);
            let is_whole = !text.contains(['.', 'e', 'E']);
            // Draft 4 can have numbers that are none of the schema's where they are written whole. The form does not say which of their
            // other texts are plain.
            if self.is_draft4 && exponent.is_none() && self.are_integers && !is_whole && !self.is_valid(whole)
            {
                return None;
            }
            if is_zero && text.starts_with('-') || !is_short || self.are_integers && !is_whole {
                return Some(false);
            }
        }
        if exponent.is_none() {
            return Some(true);
        }
        let digits = mantissa.trim_start_matches('-').split('.').next().unwrap_or_default();
        let is_scientific = digits.len() == 1 && digits != "0";
        let has_branches = self.keywords.branches > 0;
        match self.keywords.exponents() {
            Exponents::Any => Some(true),
            Exponents::Scientific if is_scientific => Some(true),
            // Listed numbers may have one in the plain form.
            Exponents::No if is_plain && self.keywords.lists > 0 => None,
            _ if has_branches => None,
            _ => Some(false),
        }
    }
}

/// Whether a number satisfies a schema. `is_integer` says whether it is one of the type.
fn holds(schema: &Value, number: &Decimal, is_integer: bool) -> bool {
    let schema = match schema {
        Value::Object(schema) => schema,
        other => return other.as_bool().unwrap_or(true),
    };
    schema.iter().all(|(keyword, value)| keyword_holds(schema, keyword, value, number, is_integer))
}

fn keyword_holds(
    schema: &Map<String, Value>,
    keyword: &str,
    value: &Value,
    number: &Decimal,
    is_integer: bool,
) -> bool {
    let in_all = |schema: &Value| holds(schema, number, is_integer);
    let schemas = || value.as_array().into_iter().flatten();
    let is_equal = |value: &Value| decimal_of(value).is_some_and(|of| number.compare(&of).is_eq());
    let order = || decimal_of(value).map(|limit| number.compare(&limit));
    let excludes = |keyword: &str| schema.get(keyword) == Some(&Value::Bool(true));
    match keyword {
        "type" => names_of(value).iter().any(|name| match *name {
            "number" => true,
            "integer" => is_integer,
            _ => false,
        }),
        "minimum" => {
            order().is_none_or(|order| order.is_gt() || order.is_eq() && !excludes("exclusiveMinimum"))
        }
        "maximum" => {
            order().is_none_or(|order| order.is_lt() || order.is_eq() && !excludes("exclusiveMaximum"))
        }
        "exclusiveMinimum" => order().is_none_or(std::cmp::Ordering::is_gt),
        "exclusiveMaximum" => order().is_none_or(std::cmp::Ordering::is_lt),
        "multipleOf" => decimal_of(value).is_none_or(|divisor| number.is_multiple_of(&divisor)),
        "const" => is_equal(value),
        "enum" => schemas().any(is_equal),
        "allOf" => schemas().all(in_all),
        "anyOf" => schemas().any(in_all),
        "oneOf" => schemas().filter(|schema| in_all(schema)).count() == 1,
        "not" => !in_all(value),
        "if" => {
            let branch = if in_all(value) { "then" } else { "else" };
            schema.get(branch).is_none_or(in_all)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_examples_of_the_page_are_so() {
        for (schema, accepted, refused) in [
            (json!({"type": "integer"}), "0 31 -5", "-0 31.0 31.000 1e1 1.5"),
            (json!({"type": "number"}), "0 31.0 -5.25 1e22 1e+22 1e-07 12.5E3", "-0 -0.0 -0e5 1e1000"),
            (json!({"minimum": 0}), "0 0.0 5e-324 1e+22", "-1 -0 12.5e3"),
            (json!({"multipleOf": 5}), "0 10", "10.0 1e1 7"),
            (json!({"enum": [1, 2.5]}), "1 1.0 2.5 2.50", "-1 2.51"),
        ] {
            let judge = NumberTexts::new(&schema, false, NumberForm::Plain);
            for text in accepted.split(' ') {
                assert_eq!(judge.allows(text), Some(true), "{schema} {text}");
            }
            for text in refused.split(' ') {
                assert_eq!(judge.allows(text), Some(false), "{schema} {text}");
            }
        }
        let json = NumberTexts::new(&json!({"type": "integer"}), false, NumberForm::Json);
        assert_eq!((json.allows("-0"), json.allows("31.000")), (Some(true), Some(true)));
        let draft4 = NumberTexts::new(&json!({"type": "integer"}), true, NumberForm::Json);
        assert_eq!((draft4.allows("31"), draft4.allows("31.0")), (Some(true), Some(false)));
    }
}
