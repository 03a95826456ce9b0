//! Canonical tokens: tables of encoders, compiles, files, masks and forced tokens, beside the same constraints with any tokens.
//!
//! The constraints are those of Tran-Thien 2024 (*Fast, high-fidelity LLM decoding with regex constraints*), as far as they are published: colours, times,
//! addresses, quoted text, and an object of JSON; beside them stand what nests without end: any JSON value, and two open objects of one family. Compiles find nothing that others
//! have kept, but for the second of the family behind the first (`compile_second_ns`, and `shared_rows`, the rows that it finds). Masks are those along texts of each constraint, in the tokenizer's own tokens; both indices are asked for
//! them in turns, each behind the same tokens. `forced_share` is the share of the masks that have one token, in percent.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use gobo_artifact::{Index, Matcher, Vocabulary};
use gobo_compiler::{CompileOptions, RowCache};
use gobo_measure::Target;
use gobo_tokenizer::{ImportOptions, builtin, import};
use gobo_types::{
    Binding, Budget, CompileLimits, Constraint, SchemaOptions, TokenId, Tokenization, Whitespace,
};
use gobo_vocab::TokenTable;

use crate::clock::Clock;
use crate::record::Record;
use crate::spread::Spread;
use crate::vocabularies::data;

/// The names of the figures, in their order.
pub const MEASURES: [&str; 8] = [
    "encoder_ns",
    "encoder_bytes",
    "compile_ns",
    "compile_second_ns",
    "shared_rows",
    "file_bytes",
    "fill_ns",
    "forced_share",
];

/// Vocabularies of the data, and one that is built in, over which the targets for the object are.
const VOCABULARIES: [&str; 4] = ["mistral-7b-v0.3", "gpt2", "llama-3.1", "gemma"];
const BUILT_IN: &str = "o200k_base";

/// What is compared, and its name.
const BOTH: [(&str, Tokenization); 2] =
    [("any", Tokenization::Any), ("canonical", Tokenization::Canonical)];

/// A process's own cache.
const CACHE_BYTES: usize = 32 << 20;

/// Times that a table is built, a constraint compiled, and a text decoded.
const BUILDS: usize = 5;
const COMPILES: usize = 11;
const WALKS: usize = 200;

/// Constraints and texts of them.
const CONSTRAINTS: [(&str, &str, &[&str]); 5] = [
    ("colours", "red|orange|yellow|green|blue|indigo|violet", &["red", "orange", "indigo", "violet"]),
    (
        "date-time",
        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z",
        &["2024-02-29T23:59:60Z", "1999-12-31T00:00:00Z"],
    ),
    ("address", r"([0-9]{1,3}\.){3}[0-9]{1,3}", &["192.168.0.1", "8.8.8.8", "127.0.0.1"]),
    (
        "quoted",
        r#""[^"\\\x00-\x1f]*""#,
        &[r#""The quick brown fox, isn't it?""#, r#""Zoë’s naïve été, 12345 times""#],
    ),
    (
        "object",
        r#"\{"name":[ ]?"[^"\\\x00-\x1f]*",[ ]?"age":[ ]?[0-9]{1,3},[ ]?"email":[ ]?"[^"\\\x00-\x1f]*",[ ]?"active":[ ]?(true|false),[ ]?"tags":[ ]?\[("[^"\\\x00-\x1f]*"(,[ ]?"[^"\\\x00-\x1f]*")*)?\]\}"#,
        &[
            r#"{"name": "Ada Lovelace", "age": 36, "email": "ada@example.org", "active": true, "tags": ["maths", "poetry"]}"#,
            r#"{"name": "Łukasz O'Brien", "age": 7, "email": "l.obrien@example.com", "active": false, "tags": []}"#,
        ],
    ),
];

/// An open object, whose values may nest without end, and another schema of its family.
const SCHEMAS: [(&str, &str); 2] = [
    (
        "schema",
        r#"{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name"]}"#,
    ),
    (
        "sibling",
        r#"{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}}},"required":["name"]}"#,
    ),
];

/// Texts of both, and of JSON.
const NESTED: [&str; 2] = [
    r#"{"name": "Ada Lovelace", "age": 36, "more": {"tags": ["maths", ["poetry", {}]], "at": [1.5, null]}}"#,
    r#"{"name": "Łukasz O'Brien", "notes": [{"id": 7, "text": "isn't it?"}, {"id": 8, "text": ""}]}"#,
];

/// Each with its name and its texts.
fn constraints() -> Vec<(&'static str, Constraint, &'static [&'static str])> {
    let of_regex = |(name, pattern, texts): (&'static str, &str, &'static [&'static str])| {
        (name, Constraint::regex(pattern), texts)
    };
    let mut all: Vec<_> = CONSTRAINTS.into_iter().map(of_regex).collect();
    all.push(("json", Constraint::json(Whitespace::Single), &NESTED));
    let of_schema = |(name, schema): (&'static str, &str)| {
        (name, Constraint::schema(schema, SchemaOptions::default()), NESTED.as_slice())
    };
    all.extend(SCHEMAS.map(of_schema));
    all
}

/// Measures over all vocabularies that are there.
pub fn measure(record: &mut Record) -> anyhow::Result<()> {
    of_table(BUILT_IN, &builtin(BUILT_IN).context("a built-in vocabulary")?.table, record)?;
    for name in VOCABULARIES {
        let path = data().join("tokenizers").join(name).join("tokenizer.json");
        if !path.is_file() {
            eprintln!("!!! {name} IS NOT MEASURED: {} is not there", path.display());
            continue;
        }
        of_table(name, &import(Path::new(&path), &ImportOptions::default())?.table, record)?;
    }
    Ok(())
}

fn of_table(name: &str, table: &TokenTable, record: &mut Record) -> anyhow::Result<()> {
    eprintln!("{name}");
    let clock = Clock::calibrated();
    let mut times = Vec::new();
    let mut file = table.build()?;
    for _ in 0..BUILDS {
        let (built, with) = clock.time(|| table.build());
        let (_, without) = clock.time(|| table.build_beside(None));
        file = built?;
        times.push((with - without).max(0.0));
    }
    let vocabulary = Arc::new(Vocabulary::from_bytes(&file)?);
    let bytes = file.len() - table.build_beside(None)?.len();
    record.push((name, "tables", "gobo"), "encoder_ns", spread(&times));
    record.push((name, "tables", "gobo"), "encoder_bytes", Ok(Spread::exact(bytes as f64)));
    for (of, constraint, texts) in constraints() {
        of_constraint((name, of), &vocabulary, &constraint, texts, record)?;
    }
    for (who, tokenization) in BOTH {
        of_family((name, who), &vocabulary, tokenization, record)?;
    }
    Ok(())
}

/// The second schema of a family, in a process that has compiled the first.
fn of_family(
    (name, who): (&str, &str),
    vocabulary: &Vocabulary,
    tokenization: Tokenization,
    record: &mut Record,
) -> anyhow::Result<()> {
    let clock = Clock::calibrated();
    let [first, second] =
        SCHEMAS.map(|(_, schema)| Constraint::schema(schema, SchemaOptions::default()).cut(tokenization));
    let (mut times, mut shared_rows) = (Vec::new(), 0);
    for _ in 0..COMPILES {
        let cache = RowCache::new(CACHE_BYTES);
        let compile = |constraint| {
            let budget = Budget::new(CompileLimits::default());
            let lowered = gobo_worker::lower_over(vocabulary, constraint, &budget)?;
            let options = CompileOptions { cache: Some(&cache), ..CompileOptions::default() };
            gobo_worker::compile_lowered(vocabulary, constraint, &lowered, &options, &budget)
        };
        compile(&first)?;
        let (compiled, ns) = clock.time(|| compile(&second));
        shared_rows = compiled?.stats.shared_rows;
        times.push(ns);
    }
    record.push((name, "sibling", who), "compile_second_ns", spread(&times));
    record.push((name, "sibling", who), "shared_rows", Ok(Spread::exact(shared_rows.into())));
    Ok(())
}

fn spread(samples: &[f64]) -> Result<Spread, String> {
    Spread::of(samples).ok_or_else(|| "no samples".to_owned())
}

fn of_constraint(
    (name, of): (&str, &str),
    vocabulary: &Arc<Vocabulary>,
    constraint: &Constraint,
    texts: &[&str],
    record: &mut Record,
) -> anyhow::Result<()> {
    let clock = Clock::calibrated();
    let mut matchers = Vec::new();
    let both = BOTH.map(|(who, tokenization)| (who, constraint.clone().cut(tokenization)));
    let mut times = [Vec::new(), Vec::new()];
    for (who, constraint) in &both {
        let bytes = compile(vocabulary, constraint)?;
        record.push((name, of, who), "file_bytes", Ok(Spread::exact(bytes.len() as f64)));
        let index = Arc::new(Index::from_bytes(&bytes)?);
        matchers.push(Matcher::new(index, Arc::clone(vocabulary), &Binding::new(vec![], vocabulary.len()))?);
    }
    for _ in 0..COMPILES {
        for ((_, constraint), times) in both.iter().zip(&mut times) {
            let (compiled, ns) = clock.time(|| compile(vocabulary, constraint));
            compiled?;
            times.push(ns);
        }
    }
    for ((who, _), times) in both.iter().zip(&times) {
        record.push((name, of, who), "compile_ns", spread(times));
    }
    let encodings: Vec<Vec<TokenId>> = texts
        .iter()
        .map(|text| encoding(&matchers[1], text.as_bytes()))
        .collect::<Option<_>>()
        .context("texts of the constraint")?;
    let mut fills = [Vec::new(), Vec::new()];
    let mut forced = [0_usize; 2];
    let mut mask = vec![0; matchers[0].mask_words()];
    for walk in 0..WALKS {
        for encoding in &encodings {
            matchers.iter_mut().for_each(Matcher::reset);
            for &id in encoding {
                for (at, matcher) in matchers.iter_mut().enumerate() {
                    let (filled, ns) = clock.time(|| matcher.fill(&mut mask));
                    filled?;
                    fills[at].push(ns);
                    let count: u32 = mask.iter().map(|word| word.count_ones()).sum();
                    forced[at] += usize::from(walk == 0 && count == 1 && !matcher.is_complete());
                    matcher.advance(id)?;
                }
            }
            ensure!(matchers.iter().all(Matcher::is_complete), "a text of the constraint");
        }
    }
    let steps: usize = encodings.iter().map(Vec::len).sum();
    for (at, (who, _)) in both.iter().enumerate() {
        record.push((name, of, who), "fill_ns", spread(&fills[at]));
        let share = 100.0 * forced[at] as f64 / steps as f64;
        record.push((name, of, who), "forced_share", Ok(Spread::exact(share)));
    }
    Ok(())
}

fn compile(vocabulary: &Vocabulary, constraint: &Constraint) -> anyhow::Result<Vec<u8>> {
    let budget = Budget::new(CompileLimits::default());
    Ok(gobo_worker::compile_alone(vocabulary, constraint, 1, &budget)?.bytes().to_vec())
}

/// The tokens in which the tokenizer writes a text of a canonical index: there is one way.
fn encoding(matcher: &Matcher, text: &[u8]) -> Option<Vec<TokenId>> {
    if text.is_empty() {
        return matcher.is_complete().then(Vec::new);
    }
    // Long tokens first: most ways end soon.
    let all: Vec<(usize, &[TokenId])> = matcher.vocabulary().trie().prefixes(text).collect();
    all.into_iter().rev().find_map(|(length, ids)| {
        ids.iter().find_map(|&id| {
            let mut next = matcher.clone();
            next.advance(id).ok()?;
            let mut tokens = vec![id];
            tokens.extend(encoding(&next, &text[length..])?);
            Some(tokens)
        })
    })
}

/// The targets, as comments of the record: name, value, unit, target, verdict.
pub fn targets(record: &Record) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |name: String, value: Option<f64>, unit: &str, target: Target| {
        if let Some(value) = value {
            lines.push(format!("{name},{value:.3},{unit},{target},{}", target.verdict(value).name()));
        }
    };
    let all = || VOCABULARIES.into_iter().chain([BUILT_IN]);
    let tables = |name: &str, measure| record.get((name, "tables", "gobo"), measure).map(|of| of.p50);
    let worst = |of: &dyn Fn(&'static str) -> Option<f64>| all().filter_map(of).reduce(f64::max);
    line(
        "tables_mistral".into(),
        tables("mistral-7b-v0.3", "encoder_ns").map(|ns| ns / 1e9),
        "s",
        Target::AtMost(0.1),
    );
    line(
        "tables_any".into(),
        worst(&|name| tables(name, "encoder_ns")).map(|ns| ns / 1e9),
        "s",
        Target::AtMost(1.0),
    );
    line(
        "tables_bytes".into(),
        worst(&|name| tables(name, "encoder_bytes")).map(|bytes| bytes / 1e6),
        "MB",
        Target::AtMost(15.0),
    );
    let get = |name: &str, of: &str, who: &str, measure: &str| record.get((name, of, who), measure);
    for (of, ..) in constraints() {
        // What a compile takes beyond twice the plain one.
        let beyond = worst(&|name| {
            let compile = |who| get(name, of, who, "compile_ns").map(|of| of.p50);
            Some(compile("canonical")? - 2.0 * compile("any")?)
        });
        line(format!("compile_{of}_beyond_twice"), beyond.map(|ns| ns / 1e6), "ms", Target::AtMost(10.0));
    }
    let object = get(BUILT_IN, "object", "canonical", "compile_ns").map(|of| of.p50 / 1e6);
    line("compile_object".into(), object, "ms", Target::AtMost(60.0));
    for (of, ..) in constraints() {
        let fill = |part: fn(&Spread) -> f64| {
            worst(&|name| get(name, of, "canonical", "fill_ns").map(|of| part(&of) / 1e3))
        };
        line(format!("fill_{of}_p50"), fill(|of| of.p50), "us", Target::AtMost(0.6));
        line(format!("fill_{of}_p99"), fill(|of| of.p99), "us", Target::AtMost(2.0));
    }
    let forced = all().filter_map(|name| get(name, "object", "canonical", "forced_share").map(|of| of.p50));
    line("forced_object".into(), forced.reduce(f64::min), "%", Target::AtLeast(30.0));
    lines
}
