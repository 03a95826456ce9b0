//! Random schemas and values of a small alphabet, so that keywords meet, against the judge: what it calls valid is let
//! through in some order, what it calls invalid in none, and what the masks let through it calls valid.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gobo_oracle::{NumberTexts, SchemaPolicy, spelled};
use gobo_types::{
    CompileError, CompileLimits, Draft, NumberForm, PropertyOrder, RefusalKind, SchemaDialect, SchemaOptions,
    Spelling, Whitespace,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use crate::cases::config;
use crate::schema::{Judge, Random, Texts, plain};

const NAMES: [&str; 4] = ["a", "b", "c", "ab"];

/// Small, so that schemas whose states double end soon.
pub(crate) const LIMITS: CompileLimits =
    CompileLimits { max_states: 1 << 14, max_steps: 30_000_000, max_bytes: 64 << 20 };

#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) schema: Value,
    pub(crate) options: SchemaOptions,
    pub(crate) values: Vec<Value>,
    pub(crate) seed: u64,
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    (root(), options(), vec(value(), 6), any::<u64>()).prop_map(|(schema, options, values, seed)| Case {
        schema,
        options,
        values,
        seed,
    })
}

fn options() -> impl Strategy<Value = SchemaOptions> {
    let order = prop_oneof![4 => Just(PropertyOrder::Declared), 1 => Just(PropertyOrder::Any)];
    let flexible = Whitespace::Flexible { max: 1 };
    let whitespace = select(vec![Whitespace::Single, Whitespace::Compact, Whitespace::Lines, flexible]);
    let spelling = prop_oneof![4 => Just(Spelling::Canonical), 1 => Just(Spelling::Any)];
    let numbers = select(vec![NumberForm::Plain, NumberForm::Json]);
    (order, whitespace, spelling, numbers).prop_map(|(order, whitespace, spelling, numbers)| SchemaOptions {
        order,
        whitespace,
        spelling,
        numbers,
        ..SchemaOptions::default()
    })
}

fn name() -> impl Strategy<Value = String> {
    select(NAMES.to_vec()).prop_map(str::to_owned)
}

fn scalars() -> Vec<Value> {
    let mut scalars = vec![json!(null), json!(true), json!(false)];
    scalars.extend(["", "a", "b", "ab", "1"].map(Value::from));
    scalars.extend(["0", "1", "1.0", "2", "-1", "0.5", "0.3"].map(number));
    scalars
}

/// A number as it is written.
fn number(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn value() -> impl Strategy<Value = Value> {
    select(scalars()).prop_recursive(2, 10, 3, |inner| {
        let members = vec((name(), inner.clone()), 0..4);
        prop_oneof![
            vec(inner, 0..4).prop_map(Value::Array),
            members.prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn count() -> impl Strategy<Value = Value> {
    (0_u32..4).prop_map(Value::from)
}

type Keywords = Vec<(String, Value)>;

fn one<V: Into<Value>>(
    keyword: &'static str,
    value: impl Strategy<Value = V> + 'static,
) -> BoxedStrategy<Keywords> {
    value.prop_map(move |value| vec![(keyword.to_owned(), value.into())]).boxed()
}

/// Keywords that hold no other schema.
fn plain_keywords() -> impl Strategy<Value = Keywords> {
    let types = || select(vec!["null", "boolean", "integer", "number", "string", "array", "object"]);
    let bound = || select(["-1", "0", "0.5", "1", "2"].map(number).to_vec());
    let pattern = select(vec!["a", "^a", "b$", "^(a|b)*$", "^.{1,2}$", "[^a]", "^$", "\\d", "a|^b$"]);
    let numbers = prop_oneof![
        one("minimum", bound()),
        one("maximum", bound()),
        one("exclusiveMinimum", bound()),
        one("exclusiveMaximum", bound()),
        one("multipleOf", select(["1", "2", "0.5", "0.1", "3"].map(number).to_vec())),
    ];
    let strings = prop_oneof![one("minLength", count()), one("maxLength", count()), one("pattern", pattern)];
    let lists = prop_oneof![
        one("minItems", count()),
        one("maxItems", count()),
        vec(value(), 1..4).prop_map(|values| {
            vec![("uniqueItems".to_owned(), json!(true)), ("items".to_owned(), json!({"enum": values}))]
        }),
        one("uniqueItems", Just(true)),
    ];
    let objects = prop_oneof![
        2 => one("required", vec(name(), 0..3).prop_map(distinct)),
        1 => one("minProperties", count()),
        1 => one("maxProperties", count()),
        1 => one("dependentRequired", (name(), vec(name(), 0..3)).prop_map(|(name, of)| json!({name: distinct(of)}))),
    ];
    prop_oneof![
        4 => one("type", types()),
        1 => one("type", vec(types().prop_map(str::to_owned), 2).prop_map(distinct)),
        2 => one("const", value()),
        2 => one("enum", vec(value(), 1..5)),
        3 => numbers,
        3 => strings,
        2 => lists,
        3 => objects,
        2 => one("$ref", select(vec!["#/$defs/A", "#/$defs/B", "#"])),
    ]
}

fn distinct(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    names
}

fn keywords_over(inner: &BoxedStrategy<Value>) -> impl Strategy<Value = Keywords> + use<> {
    let inner = || inner.clone();
    let members = |count| {
        vec((name(), inner()), count).prop_map(|members| Value::Object(members.into_iter().collect()))
    };
    let by_pattern =
        (select(vec!["a", "^a", "b$", "^.$"]), inner()).prop_map(|(of, schema)| json!({of: schema}));
    let some = || vec(inner(), 1..4);
    let condition = (inner(), inner(), inner()).prop_map(|(condition, then, otherwise)| {
        [("if", condition), ("then", then), ("else", otherwise)]
            .map(|(name, of)| (name.to_owned(), of))
            .to_vec()
    });
    let contains = (inner(), proptest::option::of(0_u32..3), proptest::option::of(0_u32..3)).prop_map(
        |(schema, min, max)| {
            let mut keywords = vec![("contains".to_owned(), schema)];
            keywords.extend(min.map(|min| ("minContains".to_owned(), min.into())));
            keywords.extend(max.map(|max| ("maxContains".to_owned(), max.into())));
            keywords
        },
    );
    // What takes a member of some value, of whatever name.
    let witness = prop_oneof![
        one("not", inner().prop_map(|schema| json!({"additionalProperties": schema}))),
        one("not", by_pattern.clone().prop_map(|of| json!({"patternProperties": of}))),
        one(
            "oneOf",
            (inner(), inner()).prop_map(|(one, other)| {
                json!([{"additionalProperties": one}, {"additionalProperties": other}])
            })
        ),
    ];
    prop_oneof![
        5 => one("properties", members(1..4)),
        3 => one("additionalProperties", inner()),
        2 => one("additionalProperties", Just(false)),
        2 => one("patternProperties", by_pattern),
        1 => one("propertyNames", inner()),
        1 => one("dependentSchemas", members(1..2)),
        2 => one("unevaluatedProperties", inner()),
        1 => one("unevaluatedProperties", Just(false)),
        2 => one("prefixItems", some()),
        2 => one("items", inner()),
        2 => contains,
        1 => one("unevaluatedItems", inner()),
        1 => one("unevaluatedItems", Just(false)),
        2 => one("anyOf", some()),
        2 => one("oneOf", some()),
        2 => one("allOf", some()),
        2 => one("not", inner()),
        1 => witness,
        2 => condition,
    ]
}

fn of_keywords(groups: Vec<Keywords>) -> Value {
    Value::Object(groups.into_iter().flatten().collect())
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Value::Bool),
        8 => vec(plain_keywords(), 0..3).prop_map(of_keywords),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        (vec(keywords_over(&inner.boxed()), 1..4), vec(plain_keywords(), 0..2))
            .prop_map(|(over, plain)| of_keywords([over, plain].concat()))
    })
}

fn root() -> impl Strategy<Value = Value> {
    (schema(), schema(), schema()).prop_map(|(mut root, a, b)| {
        let text = json!([root, a, b]).to_string();
        if let (Value::Object(root), true) = (&mut root, text.contains("$ref")) {
            root.insert("$defs".to_owned(), json!({"A": a, "B": b}));
        }
        root
    })
}

/// Whether a schema comes back to itself for the same value, where the judge would not end.
fn turns_in_place<'a>(root: &'a Value, schema: &'a Value, open: &mut Vec<*const Value>) -> bool {
    let Value::Object(keywords) = schema else { return false };
    let this = std::ptr::from_ref(schema);
    if open.contains(&this) {
        return true;
    }
    open.push(this);
    let mut turns = |of: &'a Value| turns_in_place(root, of, open);
    let found = keywords.iter().any(|(keyword, value)| match (keyword.as_str(), value) {
        ("$ref", Value::String(to)) => root.pointer(&to[1..]).is_some_and(&mut turns),
        ("allOf" | "anyOf" | "oneOf", Value::Array(of)) => of.iter().any(&mut turns),
        ("dependentSchemas", Value::Object(of)) => of.values().any(&mut turns),
        ("not" | "if" | "then" | "else", of) => turns(of),
        _ => false,
    });
    open.pop();
    found
}

/// Whether some part of a schema does so.
pub(crate) fn turns_somewhere(root: &Value, part: &Value) -> bool {
    turns_in_place(root, part, &mut vec![])
        || match part {
            Value::Object(of) => of.values().any(|part| turns_somewhere(root, part)),
            Value::Array(of) => of.iter().any(|part| turns_somewhere(root, part)),
            _ => false,
        }
}

/// Values that meet what the strategies say.
pub(crate) fn pool() -> Vec<Value> {
    let scalars = scalars();
    let few =
        [json!(null), json!("a"), json!("ab"), json!(0), json!(1), json!(2), number("0.5"), json!({"a": 1})];
    let mut pool = vec![json!([]), json!({}), json!({"a": {}}), json!([[]]), json!({"a": []})];
    for one in &scalars {
        pool.extend([
            json!([one]),
            json!({"a": one}),
            json!({"b": one}),
            json!([[one]]),
            json!({"a": {"b": one}}),
        ]);
    }
    for one in &few {
        pool.extend([json!({"c": one}), json!({"ab": one}), json!({"x": one}), json!([one, one, one])]);
        pool.extend([json!({"a": [one]}), json!([{"a": one}]), json!({"a": 1, "b": "a", "c": one})]);
        for other in &few {
            pool.extend([json!([one, other]), json!({"a": one, "b": other})]);
        }
    }
    pool.extend([
        json!({"a": 1, "b": 1, "c": 1, "ab": 1}),
        json!({"b": 1, "x": 1}),
        json!({"a": {"a": {"a": 1}}}),
    ]);
    pool.extend(scalars);
    pool
}

/// Values one step away from a value.
fn neighbours(value: &Value) -> Vec<Value> {
    let others = [json!(null), json!("a"), json!(1)];
    let mut found = Vec::new();
    match value {
        Value::Array(items) => {
            for at in 0..items.len() {
                let mut fewer = items.clone();
                fewer.remove(at);
                found.push(Value::Array(fewer));
                for item in others.iter().cloned().chain(neighbours(&items[at])) {
                    let mut changed = items.clone();
                    changed[at] = item;
                    found.push(Value::Array(changed));
                }
            }
            found.push(Value::Array([items.as_slice(), &[json!(1)]].concat()));
        }
        Value::Object(members) => {
            let without = |name: &String| -> Map<String, Value> {
                members
                    .iter()
                    .filter(|member| member.0 != name)
                    .map(|(name, of)| (name.clone(), of.clone()))
                    .collect()
            };
            for (name, of) in members {
                found.push(Value::Object(without(name)));
                for changed in others.iter().cloned().chain(neighbours(of)) {
                    let mut other = members.clone();
                    other.insert(name.clone(), changed);
                    found.push(Value::Object(other));
                }
            }
            for name in NAMES {
                let mut more = members.clone();
                more.insert(name.to_owned(), json!(1));
                found.push(Value::Object(more));
            }
        }
        _ => {}
    }
    found
}

/// What came of all cases: a test that refuses everything would pass, and say nothing.
#[derive(Debug, Default)]
struct Tally {
    indices: usize,
    valid: usize,
    invalid: usize,
    samples: usize,
    refusals: BTreeMap<String, usize>,
}

/// `standard`: a schema of the standard that means what that of the case does.
fn judge(case: &Case, standard: &Value, pool: &[Value], tally: &RefCell<Tally>) -> Result<(), TestCaseError> {
    let Case { schema, options, values, seed } = case;
    let turns = turns_somewhere(schema, schema);
    let texts = Texts::within(&schema.to_string(), options.clone(), LIMITS);
    let why = match &texts {
        Ok(_) => None,
        Err(CompileError::Refused(refusal)) => Some(match refusal.kind {
            RefusalKind::Malformed => refusal.kind.to_string(),
            _ => refusal.reason.to_string(),
        }),
        Err(CompileError::OverBudget(over)) => Some(over.to_string()),
        Err(other) => return Err(TestCaseError::fail(other.to_string())),
    };
    if let Some(why) = why {
        *tally.borrow_mut().refusals.entry(why).or_default() += 1;
    }
    if turns {
        return Ok(());
    }
    let judge = Judge::new(standard, Draft::Draft202012);
    let texts = match texts {
        Ok(texts) => texts,
        Err(CompileError::Refused(refusal)) => {
            prop_assert_ne!(refusal.kind, RefusalKind::Malformed, "{}", refusal);
            prop_assert_ne!(refusal.kind, RefusalKind::Unspellable, "{}", refusal);
            if refusal.kind == RefusalKind::Unsatisfiable {
                let allows =
                    |value: &&Value| catch_unwind(AssertUnwindSafe(|| judge.allows(value))).unwrap_or(false);
                let valid = pool.iter().chain(values).find(allows);
                prop_assert!(valid.is_none(), "{} is valid: {}", valid.unwrap_or(&Value::Null), refusal);
            }
            return Ok(());
        }
        Err(_) => return Ok(()),
    };
    let spaced = *seed % 2 == 0 && options.whitespace != Whitespace::Compact;
    let texts = if spaced { texts.spaced() } else { texts };
    let policy = SchemaPolicy::new(schema, options).expect("what has an index can be read");
    let mut tally = tally.borrow_mut();
    tally.indices += 1;
    let mut compare = |value: &Value| {
        // The judge panics over some schemas that refer to themselves; then it has no opinion.
        let Ok(valid) = catch_unwind(AssertUnwindSafe(|| judge.allows(value))) else { return Ok(()) };
        *(if valid { &mut tally.valid } else { &mut tally.invalid }) += 1;
        prop_assert_eq!(texts.accepts_in_some_order(value), valid, "{} should be {}", value, valid);
        // Plain integers have no point.
        if options.order == PropertyOrder::Any && !spaced && options.numbers == NumberForm::Json {
            prop_assert_eq!(texts.accepts(&value.to_string()), valid, "{} should be {}", value, valid);
        }
        if options.whitespace != Whitespace::Compact {
            let orders = policy.orders(value).expect("what has an index can be read");
            let written: Vec<String> = orders.iter().map(spelled).collect();
            let accepted = written.iter().any(|text| texts.accepts(text));
            prop_assert_eq!(accepted, valid, "{} should be {}, as {:?}", value, valid, written);
        }
        Ok(())
    };
    pool.iter().chain(values).try_for_each(&mut compare)?;
    let mut random = Random(*seed);
    let mut samples = Vec::new();
    // What every plain number is, wherever it stands.
    let plain = NumberTexts::new(&json!(true), false, NumberForm::Plain);
    for _ in 0..12 {
        samples.extend(texts.sample(&mut random));
    }
    for text in &samples {
        if options.numbers == NumberForm::Plain {
            prop_assert!(
                numbers_of(text).iter().all(|number| plain.allows(number) != Some(false)),
                "{text:?}"
            );
        }
        // Of names that are repeated the last counts.
        let value: Value = serde_json::from_str(text)
            .map_err(|error| TestCaseError::fail(format!("{text:?} is no JSON: {error}")))?;
        // The judge divides in floating point: of numbers with more digits than that holds it has no opinion.
        let is_long = |part: &str| part.chars().filter(char::is_ascii_digit).count() > 15;
        if text.split(|char: char| !char.is_ascii_digit() && char != '.').any(is_long) {
            continue;
        }
        let opinion = catch_unwind(AssertUnwindSafe(|| judge.allows(&value)));
        prop_assert!(opinion.unwrap_or(true), "{:?} is let through, and invalid", text);
        if !has_plain_digits(&value, options.numbers) {
            continue;
        }
        let in_reach = neighbours(&value);
        in_reach.iter().take(60).try_for_each(&mut compare)?;
    }
    tally.samples += samples.len();
    Ok(())
}

/// Whether each number has a text without exponent, as values are written here, that `form` allows. Beside `multipleOf` no text
/// of the others is let through.
fn has_plain_digits(value: &Value, form: NumberForm) -> bool {
    match value {
        Value::Number(number) => {
            let text = plain(&number.to_string());
            let places = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
            !text.contains(['e', 'E'])
                && (form == NumberForm::Json || places <= NumberForm::MAX_PLACES as usize)
        }
        Value::Array(items) => items.iter().all(|item| has_plain_digits(item, form)),
        Value::Object(members) => members.values().all(|member| has_plain_digits(member, form)),
        _ => true,
    }
}

/// The numbers of a JSON text.
fn numbers_of(text: &str) -> Vec<&str> {
    // Outside of strings, which stand between quotes: none of these has a quote inside.
    let outside = text.split('"').step_by(2).filter(|_| !text.contains('\\'));
    let numbers =
        outside.flat_map(|part| part.split(|char: char| !char.is_ascii_digit() && !"+-.eE".contains(char)));
    numbers.filter(|part| part.starts_with(|char: char| char.is_ascii_digit() || char == '-')).collect()
}

/// Up to draft 6 the judge, too, reads no Punycode.
#[test]
fn host_names_of_early_drafts_are_those_of_the_judge() {
    let schema = json!({"type": "string", "format": "hostname"});
    let judges = [Draft::Draft4, Draft::Draft6].map(|draft| {
        let options = SchemaOptions { draft: Some(draft), ..SchemaOptions::default() };
        (Texts::of(&schema.to_string(), options).unwrap(), Judge::new(&schema, draft))
    });
    let label = prop_oneof![
        "[a-cX0-9-]{0,4}",
        "(xn|ab|XN)--[a-c0-9-]{0,3}",
        "[a-c._é 。]{1,3}",
        (61_usize..66).prop_map(|chars| "a".repeat(chars)),
    ];
    let name = vec(label, 0..6).prop_map(|labels| labels.join("."));
    let mut runner = TestRunner::new(ProptestConfig { failure_persistence: None, ..config(100) });
    let run = runner.run(&name, |name| {
        let value = Value::from(name);
        for (texts, judge) in &judges {
            prop_assert_eq!(texts.accepts(&value.to_string()), judge.allows(&value), "{}", value);
        }
        Ok(())
    });
    if let Err(error) = run {
        panic!("{error}\n{runner}");
    }
}

#[test]
fn random_schemas_mean_what_the_judge_says() {
    let config = config(100);
    let cases = config.cases as usize;
    let tally = RefCell::default();
    let pool = pool();
    let mut runner = TestRunner::new(ProptestConfig {
        source_file: Some(file!()),
        test_name: Some("random_schemas_mean_what_the_judge_says"),
        ..config
    });
    if let Err(error) = runner.run(&case(), |case| judge(&case, &case.schema, &pool, &tally)) {
        panic!("{error}\n{runner}");
    }
    let tally = tally.into_inner();
    println!("{tally:#?}");
    assert!(tally.indices * 2 > cases, "{} of {cases} have an index", tally.indices);
    assert!(tally.valid > cases * 10 && tally.invalid > cases * 10 && tally.samples > cases);
}

/// Puts `nullable` beside some types.
fn add_nullable(part: &mut Value, random: &mut Random) {
    match part {
        Value::Object(of) => {
            of.values_mut().for_each(|part| add_nullable(part, random));
            if of.contains_key("type") && random.below(2) == 0 {
                of.insert("nullable".to_owned(), Value::Bool(random.below(4) > 0));
            }
        }
        Value::Array(of) => of.iter_mut().for_each(|part| add_nullable(part, random)),
        _ => {}
    }
}

/// The schema with `nullable: true` written as the standard writes it: null is one of the types.
fn of_standard(part: &Value) -> Value {
    match part {
        Value::Object(of) => {
            let mut out: Map<String, Value> =
                of.iter().map(|(name, part)| (name.clone(), of_standard(part))).collect();
            if out.remove("nullable") == Some(Value::Bool(true)) {
                let mut types = match &out["type"] {
                    Value::Array(types) => types.clone(),
                    one => vec![one.clone()],
                };
                types.push("null".into());
                types.dedup();
                if types.iter().filter(|name| *name == "null").count() < 2 {
                    out.insert("type".to_owned(), types.into());
                }
            }
            Value::Object(out)
        }
        Value::Array(of) => of.iter().map(of_standard).collect(),
        scalar => scalar.clone(),
    }
}

#[test]
fn random_schemas_with_nullable_mean_what_the_judge_says() {
    let config = ProptestConfig { failure_persistence: None, ..config(60) };
    let cases = config.cases as usize;
    let tally = RefCell::default();
    let pool = pool();
    let mut runner = TestRunner::new(config);
    let run = runner.run(&case(), |mut case| {
        case.options.dialect = SchemaDialect::OpenApi30;
        case.options.draft = Some(Draft::Draft202012);
        add_nullable(&mut case.schema, &mut Random(case.seed));
        judge(&case, &of_standard(&case.schema), &pool, &tally)
    });
    if let Err(error) = run {
        panic!("{error}\n{runner}");
    }
    let tally = tally.into_inner();
    println!("{tally:#?}");
    assert!(tally.indices * 2 > cases, "{} of {cases} have an index", tally.indices);
    assert!(tally.valid > cases * 10 && tally.invalid > cases * 10 && tally.samples > cases);
}
