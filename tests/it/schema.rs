//! What the tests of JSON Schemas share: a schema's texts behind a matcher, a judge of values, ways to write a value.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use gobo_artifact::{Matcher, Vocabulary};
use gobo_oracle::{Segmenter, Tokens};
use gobo_types::{Binding, CompileError, CompileLimits, Constraint, Draft, SchemaOptions, TokenId};
use serde_json::{Number, Value};

use crate::subject::{accepts, allowed, compile_within, index_of, vocabulary_of};

/// Every byte, and tokens that reach over the ends of keys, numbers, strings and characters.
const LONGER: [&str; 29] = [
    "{\"", "\":", "\": ", ",\"", ", \"", "\",", "\"}", "}}", "]}", "[[", "{}", "true", "null", "\\u00",
    "\\\"", "10", "0.", "ab", "é", "\"a\":", "  ", "    ", ",\n", "{\n", "\n  ", "}\n", " \"", "\r\n\t",
    " :",
];

struct Words {
    vocabulary: Arc<Vocabulary>,
    segmenter: Segmenter,
    binding: Binding,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let mut tokens = Tokens::new();
    for byte in 0..=255 {
        tokens.push(&[byte], false);
    }
    for token in LONGER {
        tokens.push(token.as_bytes(), false);
    }
    Words {
        vocabulary: vocabulary_of(&tokens),
        segmenter: Segmenter::new(&tokens),
        binding: Binding::new(vec![], tokens.len()),
    }
});

/// Most ways to write the beginning of a value that are followed at a time.
const MAX_WAYS: usize = 2_000;

/// A schema that has an index, and the texts that its masks let through.
pub(crate) struct Texts {
    start: Matcher,
    /// Between two items, and behind a name.
    blanks: [&'static str; 2],
}

/// A place behind which the same texts are allowed as behind any other that is equal.
type Configurations = Vec<(u32, Vec<u32>)>;

impl Texts {
    pub(crate) fn of(schema: &str, options: SchemaOptions) -> Result<Self, CompileError> {
        Self::within(schema, options, CompileLimits::default())
    }

    pub(crate) fn within(
        schema: &str,
        options: SchemaOptions,
        limits: CompileLimits,
    ) -> Result<Self, CompileError> {
        let constraint = Constraint::schema(schema, options);
        let words = &*WORDS;
        let bytes = compile_within(&words.vocabulary, &constraint, 1, limits)?;
        let start = Matcher::new(index_of(&bytes), Arc::clone(&words.vocabulary), &words.binding);
        Ok(Self { start: start.expect("index, vocabulary and binding fit"), blanks: [",", ":"] })
    }

    /// The same, where values are written with one space behind each comma and each colon.
    pub(crate) fn spaced(self) -> Self {
        Self { blanks: [", ", ": "], ..self }
    }

    pub(crate) fn states(&self) -> u32 {
        self.start.index().states()
    }

    /// A matcher at the start of a text.
    pub(crate) fn matcher(&self) -> Matcher {
        self.start.clone()
    }

    /// Whether a text is let through, however it is cut into tokens.
    pub(crate) fn accepts(&self, text: &str) -> bool {
        let cut = |cut: fn(&Segmenter, &[u8]) -> Option<Vec<TokenId>>| {
            cut(&WORDS.segmenter, text.as_bytes()).expect("every byte is a token")
        };
        let by_bytes = accepts(&self.start, &cut(Segmenter::bytes));
        assert_eq!(accepts(&self.start, &cut(Segmenter::greedy)), by_bytes, "{text}");
        by_bytes
    }

    /// Whether a value is let through with the members of its objects in some order.
    pub(crate) fn accepts_in_some_order(&self, value: &Value) -> bool {
        self.accepts_in_some_order_with(value, |number| plain(&number.to_string()))
    }

    /// The same with numbers in a form of the caller's.
    pub(crate) fn accepts_in_some_order_with(&self, value: &Value, form: fn(&Number) -> String) -> bool {
        self.write(&self.start, value, form).iter().any(Matcher::is_complete)
    }

    fn put(at: &Matcher, text: &str) -> Option<Matcher> {
        let mut at = at.clone();
        at.advance_bytes(text.as_bytes()).is_ok().then_some(at)
    }

    /// Where one gets from `at` by writing a value. What leads to the same configurations is kept once.
    fn write(&self, at: &Matcher, value: &Value, form: fn(&Number) -> String) -> Vec<Matcher> {
        match value {
            Value::Array(items) => {
                let mut ways: Vec<Matcher> = Self::put(at, "[").into_iter().collect();
                for (number, item) in items.iter().enumerate() {
                    let comma = if number == 0 { "" } else { self.blanks[0] };
                    let mut next: HashMap<Configurations, Matcher> = HashMap::new();
                    for way in ways.iter().filter_map(|way| Self::put(way, comma)) {
                        let behind = self.write(&way, item, form);
                        next.extend(behind.into_iter().map(|way| (way.configurations(usize::MAX), way)));
                    }
                    ways = next.into_values().collect();
                }
                ways.iter().filter_map(|way| Self::put(way, "]")).collect()
            }
            Value::Object(members) => {
                let members: Vec<(&String, &Value)> = members.iter().collect();
                let open = Self::put(at, "{");
                let mut ways: HashMap<(Vec<bool>, Configurations), Matcher> = open
                    .map(|way| ((vec![false; members.len()], way.configurations(usize::MAX)), way))
                    .into_iter()
                    .collect();
                for number in 0..members.len() {
                    let comma = if number == 0 { "" } else { self.blanks[0] };
                    let mut next = HashMap::new();
                    for ((written, _), way) in &ways {
                        let rest = (0..members.len()).filter(|member| !written[*member]);
                        for member in rest {
                            if next.len() >= MAX_WAYS {
                                break;
                            }
                            let (name, value) = members[member];
                            let name = Value::String(name.clone());
                            let Some(way) = Self::put(way, &format!("{comma}{name}{}", self.blanks[1]))
                            else {
                                continue;
                            };
                            let mut written = written.clone();
                            written[member] = true;
                            let behind = self.write(&way, value, form);
                            next.extend(
                                behind
                                    .into_iter()
                                    .map(|way| ((written.clone(), way.configurations(usize::MAX)), way)),
                            );
                        }
                    }
                    ways = next;
                }
                ways.values().filter_map(|way| Self::put(way, "}")).collect()
            }
            Value::Number(number) => Self::put(at, &form(number)).into_iter().collect(),
            other => Self::put(at, &other.to_string()).into_iter().collect(),
        }
    }

    /// A text under the masks, if one comes to its end soon. Brackets and strings that are open are rather closed.
    pub(crate) fn sample(&self, random: &mut Random) -> Option<String> {
        let mut at = self.start.clone();
        let mut text = Vec::new();
        for step in 0..120 {
            let ids = allowed(&at, &WORDS.binding);
            if at.is_complete() && (ids.is_empty() || random.below(2) == 0) {
                return Some(String::from_utf8(text).expect("a complete text is UTF-8"));
            }
            let bytes = |id: TokenId| WORDS.vocabulary.bytes(id);
            let pick = |wanted: &dyn Fn(&[u8]) -> bool| {
                ids.iter().copied().filter(|id| wanted(bytes(*id))).collect::<Vec<_>>()
            };
            let closing = pick(&|bytes| matches!(bytes, b"\"" | b"}" | b"]"));
            let usual = pick(&|bytes| bytes.iter().all(|byte| b"{}[]\",:. -0123abctfn".contains(byte)));
            let from = match random.below(10) {
                0..6 if !closing.is_empty() => closing,
                _ if step > 40 && !closing.is_empty() => closing,
                0..9 if !usual.is_empty() => usual,
                _ => ids,
            };
            let id = from[random.below(from.len())];
            text.extend_from_slice(bytes(id));
            at.advance(id).expect("the mask allows it");
        }
        None
    }
}

/// The text of a number without its exponent, and without zeros that change nothing: every policy allows it up to its bound on
/// fractions. Of an exponent beyond 400 the text as it is.
pub(crate) fn plain(text: &str) -> String {
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().expect("a number that was read");
    if exponent.abs() > 400 {
        return text.to_owned();
    }
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut all = format!("{whole}{fraction}");
    let length = |text: &str| i64::try_from(text.len()).expect("texts are short");
    let mut point = length(whole) + exponent;
    while point <= 0 {
        all.insert(0, '0');
        point += 1;
    }
    while length(&all) < point {
        all.push('0');
    }
    let (whole, fraction) = all.split_at(usize::try_from(point).expect("above 0"));
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    let sign = if (whole, fraction) == ("0", "") { "" } else { sign };
    format!("{sign}{whole}{point}{fraction}")
}

/// Says which values a schema allows; no line of it is gobo's.
pub(crate) struct Judge(jsonschema::Validator);

impl Judge {
    /// # Panics
    /// If the judge does not take the schema.
    pub(crate) fn new(schema: &Value, draft: Draft) -> Self {
        let draft = match draft {
            Draft::Draft4 => jsonschema::Draft::Draft4,
            Draft::Draft6 => jsonschema::Draft::Draft6,
            Draft::Draft7 => jsonschema::Draft::Draft7,
            Draft::Draft201909 => jsonschema::Draft::Draft201909,
            Draft::Draft202012 => jsonschema::Draft::Draft202012,
        };
        let options = jsonschema::options().with_draft(draft).should_validate_formats(true);
        Self(options.build(schema).unwrap_or_else(|error| panic!("{schema}: {error}")))
    }

    /// None of a schema that it does not take.
    pub(crate) fn of_its_draft(schema: &Value) -> Option<Self> {
        jsonschema::options().should_validate_formats(true).build(schema).ok().map(Self)
    }

    pub(crate) fn allows(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }
}

/// Numbers that are the same in every run (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ mixed >> 31) % end as u64).expect("below a usize")
    }
}

#[test]
fn exponents_are_written_out() {
    for (text, expected) in [
        ("1", "1"),
        ("-1.50", "-1.5"),
        ("1.0", "1"),
        ("-0.0", "0"),
        ("1e2", "100"),
        ("1.25E+1", "12.5"),
        ("-12.5e-3", "-0.0125"),
        ("0e5", "0"),
        ("1e-1", "0.1"),
        ("120e-1", "12"),
    ] {
        assert_eq!(plain(text), expected);
    }
}
