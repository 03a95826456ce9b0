//! Schemas that people wrote, with values that must or must not be let through.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use gobo_oracle::{SchemaPolicy, spelled};
use gobo_schema::{yaml_text, yaml_text_as_written};
use gobo_types::{
    CompileError, CompileLimits, Draft, FormatMode, Notation, RefusalKind, SchemaDocument, SchemaOptions,
    Whitespace,
};
use serde_json::{Number, Value};

use crate::data::data_dir;
use crate::schema::{Judge, Random, Texts};
use crate::schema_yaml;

/// Less than what a compile may use: a test has hundreds of schemas.
const LIMITS: CompileLimits =
    CompileLimits { max_states: 1 << 18, max_steps: 150_000_000, max_bytes: 256 << 20 };

/// A line of a file: a schema and values.
struct Group {
    id: String,
    schema: Value,
    options: SchemaOptions,
    tests: Vec<(Value, bool)>,
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn group(line: &Value, documents: &[SchemaDocument]) -> Group {
    let draft = match line["draft"].as_str() {
        Some("7") => Some(Draft::Draft7),
        Some(_) => Some(Draft::Draft202012),
        None => None,
    };
    let format = if line["format"] == "annotate" { FormatMode::Annotate } else { FormatMode::Assert };
    let tests = line["tests"].as_array().into_iter().flatten();
    Group {
        id: line["id"].as_str().unwrap().to_owned(),
        schema: line["schema"].clone(),
        options: SchemaOptions { draft, format, documents: documents.to_vec(), ..SchemaOptions::default() },
        tests: tests.map(|test| (test["data"].clone(), test["valid"].as_bool().unwrap())).collect(),
    }
}

/// What came of one schema.
enum Verdict {
    Index(Texts),
    Refused(RefusalKind, String),
    OverBudget,
}

impl Group {
    fn verdict(&self) -> Verdict {
        self.verdict_within(LIMITS)
    }

    fn verdict_within(&self, limits: CompileLimits) -> Verdict {
        match Texts::within(&self.schema.to_string(), self.options.clone(), limits) {
            Ok(texts) => Verdict::Index(texts),
            Err(CompileError::Refused(refusal)) => Verdict::Refused(refusal.kind, refusal.to_string()),
            Err(CompileError::OverBudget(_)) => Verdict::OverBudget,
            Err(other) => panic!("{}: {other}", self.id),
        }
    }

    /// Values whose answer is not the one expected.
    fn faults(&self, texts: &Texts) -> Vec<String> {
        let policy = SchemaPolicy::new(&self.schema, &self.options)
            .unwrap_or_else(|error| panic!("{}: {error}", self.id));
        let mut faults = Vec::new();
        for (at, (value, valid)) in self.tests.iter().enumerate() {
            let orders =
                policy.orders(value).unwrap_or_else(|error| panic!("{} test {at}: {error}", self.id));
            // An invalid value as it is written: to draft 4, `1.0` is another value than `1`.
            let is_yaml = self.options.notation == Notation::Yaml;
            let text = |order: &Value| match (is_yaml, valid) {
                (false, true) => spelled(order),
                (false, false) => order.to_string(),
                (true, true) => yaml_text(&order.to_string()),
                (true, false) => yaml_text_as_written(&order.to_string()),
            };
            if is_yaml && levels(value) > Whitespace::MAX_INDENTED_DEPTH {
                continue;
            }
            let shown = || value.to_string().chars().take(200).collect::<String>();
            let in_order = orders.iter().any(|order| texts.accepts(&text(order)));
            let in_some_order = || match valid {
                true => texts.accepts_in_some_order(value),
                false => texts.accepts_in_some_order_with(value, Number::to_string),
            };
            let is_let_through = in_order || !is_yaml && is_small(value) && in_some_order();
            if is_let_through != *valid {
                faults.push(format!("{} test {at} should be {valid}: {}", self.id, shown()));
            } else if in_order != *valid {
                faults.push(format!("{} test {at} should be {valid} in order: {}", self.id, shown()));
            }
        }
        faults
    }
}

/// How deep arrays and objects nest.
fn levels(value: &Value) -> u32 {
    let inside = match value {
        Value::Object(members) => members.values().map(levels).max(),
        Value::Array(items) => items.iter().map(levels).max(),
        _ => return 0,
    };
    1 + inside.unwrap_or(0)
}

/// Whether all orders of its members can be tried.
fn is_small(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.len() <= 6 && members.values().all(is_small),
        Value::Array(items) => items.iter().all(is_small),
        _ => true,
    }
}

/// Both files of the test suite of the standard.
fn suite(dir: &Path) -> Vec<Group> {
    let dir = dir.join("json-schema-test-suite");
    let documents: Vec<SchemaDocument> = lines(&dir.join("remotes.jsonl"))
        .iter()
        .map(|line| SchemaDocument {
            uri: line["uri"].as_str().unwrap().to_owned(),
            document: line["document"].to_string(),
        })
        .collect();
    let mut groups = Vec::new();
    for file in ["draft2020-12.jsonl", "draft7.jsonl"] {
        groups.extend(lines(&dir.join(file)).iter().map(|line| group(line, &documents)));
    }
    groups
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn the_test_suite_of_the_standard() {
    let groups = suite(&data_dir());
    let mut faults = Vec::new();
    let mut indices = 0;
    for group in &groups {
        match group.verdict() {
            Verdict::Index(texts) => {
                indices += 1;
                faults.extend(group.faults(&texts));
            }
            Verdict::Refused(RefusalKind::Unsatisfiable, why) => {
                if group.tests.iter().any(|test| test.1) {
                    faults.push(format!("{}: {why}", group.id));
                }
            }
            Verdict::Refused(_, why) => println!("{}: {why}", group.id),
            Verdict::OverBudget => println!("{}: over budget", group.id),
        }
    }
    println!("{indices} of {} groups have an index", groups.len());
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(indices * 100 >= groups.len() * 90, "{indices} of {}", groups.len());
}

const BENCH: [&str; 15] = [
    "BFCL",
    "Github_easy",
    "Github_hard",
    "Github_medium",
    "Github_trivial",
    "Github_ultra",
    "Glaiveai2K",
    "Handwritten",
    "JME",
    "JsonSchemaStore",
    "Kubernetes",
    "MCPspec",
    "Snowplow",
    "Synthesized",
    "WashingtonPost",
];

/// What a schema of the sample may use.
const SAMPLE_LIMITS: CompileLimits = CompileLimits { max_states: 1 << 16, max_steps: 10_000_000, ..LIMITS };

/// Every so many schemas are tried.
const STEP: usize = 20;

#[derive(Default)]
struct Outcome {
    index: bool,
    faults: Vec<String>,
    samples: usize,
    verdict: String,
}

fn try_out(group: &Group) -> Outcome {
    let mut outcome = Outcome::default();
    let texts = match group.verdict_within(SAMPLE_LIMITS) {
        Verdict::Index(texts) => texts,
        Verdict::Refused(kind, why) => {
            outcome.verdict = format!("{kind} {}: {why}", group.id);
            return outcome;
        }
        Verdict::OverBudget => {
            outcome.verdict = format!("over budget {}", group.id);
            return outcome;
        }
    };
    outcome.index = true;
    outcome.faults = group.faults(&texts);
    let Some(judge) = Judge::of_its_draft(&group.schema) else { return outcome };
    let mut random = Random(7);
    for text in (0..6).filter_map(|_| texts.sample(&mut random)) {
        outcome.samples += 1;
        let value = match group.options.notation {
            Notation::Json => serde_json::from_str(&text).map(Some).map_err(|error| error.to_string()),
            Notation::Yaml => schema_yaml::read_sample(&text),
        };
        if !value.is_ok_and(|value| value.is_none_or(|value| judge.allows(&value))) {
            outcome.faults.push(format!("{} sample: {text}", group.id));
        }
    }
    outcome
}

/// Of the values that people labelled, and of texts under the masks: every [`STEP`]th schema after some. So many of a hundred have an index, and there
/// are more texts of each on average than so many.
fn sample(notation: Notation, skipped: usize, (least_indices, least_texts): (usize, usize)) -> String {
    let dir = data_dir();
    let mut groups = Vec::new();
    for file in BENCH {
        let lines = lines(&dir.join("jsonschemabench").join(format!("{file}.jsonl")));
        groups.extend(lines.iter().map(|line| group(line, &[])));
    }
    let mut groups: Vec<Group> = groups.into_iter().skip(skipped).step_by(STEP).collect();
    groups.iter_mut().for_each(|group| group.options.notation = notation);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut outcomes = Vec::new();
        while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            outcomes.push(try_out(group));
        }
        outcomes
    };
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no worker panics")).collect()
    });
    let indices = outcomes.iter().filter(|outcome| outcome.index).count();
    let samples: usize = outcomes.iter().map(|outcome| outcome.samples).sum();
    let verdicts = outcomes.iter().map(|outcome| outcome.verdict.as_str());
    let verdicts: Vec<&str> = verdicts.filter(|verdict| !verdict.is_empty()).collect();
    let all = outcomes.len();
    let report =
        format!("{}\n{indices} of {all} schemas have an index; {samples} samples", verdicts.join("\n"));
    let faults: Vec<&String> = outcomes.iter().flat_map(|outcome| &outcome.faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(indices * 100 >= all * least_indices && samples > all * least_texts, "{report}");
    report
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn a_sample_of_collected_schemas() {
    println!("{}", sample(Notation::Json, 0, (95, 4)));
}

/// Every valid value has a text as YAML, and no invalid one. Compiles take more steps than as JSON, and more texts have no end in sight.
#[test]
#[ignore = "needs GOBO_DATA"]
fn a_sample_of_collected_schemas_as_yaml() {
    println!("{}", sample(Notation::Yaml, STEP / 2, (90, 2)));
}

/// A schema by its name.
fn named(id: &str) -> Group {
    let (file, _) = id.split_once("---").unwrap();
    let lines = lines(&data_dir().join("jsonschemabench").join(format!("{file}.jsonl")));
    let line = lines.iter().find(|line| line["id"] == id).unwrap_or_else(|| panic!("{id} is not in {file}"));
    group(line, &[])
}

/// It has an index, or a budget ends it; if it has one, each answer is right.
#[track_caller]
fn right_or_over_budget(id: &str) {
    let group = named(id);
    match group.verdict() {
        Verdict::Index(texts) => assert_eq!(group.faults(&texts), <[String; 0]>::default()),
        Verdict::OverBudget => {}
        Verdict::Refused(_, why) => panic!("{id}: {why}"),
    }
}

/// It has an index, whose answers are right.
#[track_caller]
fn right(id: &str) -> Texts {
    let group = named(id);
    match group.verdict() {
        Verdict::Index(texts) => {
            assert_eq!(group.faults(&texts), <[String; 0]>::default());
            texts
        }
        Verdict::OverBudget => panic!("{id}: over budget"),
        Verdict::Refused(_, why) => panic!("{id}: {why}"),
    }
}

/// A pattern of 99 words beside a length of 5,000.
#[test]
#[ignore = "needs GOBO_DATA"]
fn a_pattern_beside_a_long_length() {
    right_or_over_budget("Github_easy---o21053");
}

/// 75 KB, several lists with unique items and required members in each.
#[test]
#[ignore = "needs GOBO_DATA"]
fn a_schema_of_many_nested_lists() {
    right_or_over_budget("Github_hard---o9882");
}

/// Sixteen `if` side by side, each of which doubles what has to be remembered.
#[test]
#[ignore = "needs GOBO_DATA"]
fn many_conditions_side_by_side() {
    right_or_over_budget("JsonSchemaStore---minecraft-predicate");
}

/// It goes back to its root in twenty places, all of which are conditions.
#[test]
#[ignore = "needs GOBO_DATA"]
fn a_schema_for_schemas() {
    right("Github_medium---o39217");
}

/// 270 KB.
#[test]
#[ignore = "needs GOBO_DATA"]
fn a_large_schema_of_small_ones() {
    right("JsonSchemaStore---transcend-yml-schema-v4");
}

/// What `format: regex` asserts no automaton can see; asked as a remark it stands in the way of nothing.
#[test]
#[ignore = "needs GOBO_DATA"]
fn a_format_that_is_not_regular_is_named() {
    let mut group = named("JsonSchemaStore---renovate-schema");
    match group.verdict() {
        Verdict::Refused(RefusalKind::Unsupported, why) => assert!(why.contains("/format"), "{why}"),
        _ => panic!("{} asserts a format that is not regular", group.id),
    }
    group.options.format = FormatMode::Annotate;
    if let Verdict::Refused(_, why) = group.verdict() {
        panic!("{}: {why}", group.id);
    }
}

/// The empty list satisfies both branches of a `oneOf`, so it is invalid.
#[test]
#[ignore = "needs GOBO_DATA"]
fn an_empty_list_in_two_branches() {
    right("Github_hard---o4413");
}

/// The limit is no double's neighbour: what lies one above it is equal to it as a double.
#[test]
#[ignore = "needs GOBO_DATA"]
fn a_limit_beyond_doubles() {
    let texts = right("Snowplow---sp_160_Normalized");
    assert!(texts.accepts(r#"{"experimentId":9223372036854776000}"#));
    assert!(texts.accepts(r#"{"experimentId":9223372036854775999,"variation":null}"#));
    assert!(!texts.accepts(r#"{"experimentId":9223372036854776001}"#));
    assert!(!texts.accepts(r#"{"experimentId":-1}"#));
}

/// Draft 4 has neither `if` nor `const`: what they would forbid is valid.
#[test]
#[ignore = "needs GOBO_DATA"]
fn keywords_of_later_drafts_say_nothing() {
    right("Github_medium---o3385");
}

/// An `allOf` that comes back to itself without a step into the value.
#[test]
#[ignore = "needs GOBO_DATA"]
fn a_schema_that_holds_itself() {
    let group = named("JsonSchemaStore---cloudify");
    match group.verdict() {
        Verdict::OverBudget | Verdict::Refused(RefusalKind::Malformed, _) => {}
        Verdict::Refused(_, why) => panic!("{}: {why}", group.id),
        Verdict::Index(_) => panic!("{} has an index", group.id),
    }
}
