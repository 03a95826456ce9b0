//! Judges history: an index must not depend on what its process has compiled before.
//!
//! Constraints of all kinds, schemas under every policy of whitespace, order and spelling and as YAML, classes of tokens, grammars under every lexer, over several
//! vocabularies, are compiled in shuffled orders through one cache of rows, and each has to have the bytes that it has compiled alone. So are many of them in canonical tokens.

use std::sync::Arc;

use gobo_artifact::Vocabulary;
use gobo_compiler::{CompileOptions, RowCache};
use gobo_oracle::Tokens;
use gobo_tokenizer::ImportOptions;
use gobo_types::{
    Budget, CompileError, CompileLimits, Constraint, Dialect, Lexer, NamedClasses, Notation, SchemaOptions,
    SpecialText, Tokenization, Whitespace,
};
use serde_json::Value;

use crate::data::data_dir;
use crate::subject::vocabulary_of;

/// Each of the constraints that the file makes.
fn constraints() -> Vec<Constraint> {
    let file: Value = serde_json::from_str(include_str!("../history.json")).unwrap();
    let list = |name: &str| file[name].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut all = Vec::new();
    for whitespace in list("whitespace") {
        let policy: Whitespace = text(&whitespace).parse().unwrap();
        all.push(Constraint::json(policy));
        for style in list("styles") {
            let mut options: SchemaOptions = serde_json::from_value(style).unwrap();
            options.whitespace = policy;
            let of = |schema: &Value| Constraint::schema(&schema.to_string(), options.clone());
            all.extend(list("schemas").iter().map(of));
        }
    }
    let options = SchemaOptions { notation: Notation::Yaml, closed: true, ..SchemaOptions::default() };
    let yaml = |schema: &Value| Constraint::schema(&schema.to_string(), options.clone());
    all.extend(list("schemas").iter().map(yaml));
    let addresses = list("addresses").into_iter();
    all.extend(addresses.map(|schema| Constraint::schema(&schema.to_string(), SchemaOptions::default())));
    let tag = |format: &Value| {
        Constraint::tag(&format.to_string(), SpecialText::default(), SchemaOptions::of_tags())
    };
    all.extend(list("tags").iter().map(tag));
    all.extend(list("grammars").iter().map(|grammar| Constraint::gbnf(text(grammar), "root")));
    for lexer in list("lexers") {
        let lexer: Lexer = text(&lexer).parse().unwrap();
        let of =
            |grammar| Constraint::grammar(Dialect::Lark, text(grammar), "start", Some(lexer), Vec::new());
        all.extend(list("lark").iter().map(of));
    }
    for of in list("classes") {
        let classes: NamedClasses = serde_json::from_value(of[0].clone()).unwrap();
        all.push(Constraint::regex(text(&of[1])).naming(classes));
    }
    all.extend(list("regexes").iter().map(|pattern| Constraint::regex(text(pattern))));
    all.extend(
        list("choices").iter().map(|items| Constraint::choice(items.as_array().unwrap().iter().map(text))),
    );
    all
}

/// Bytes, and pieces with which rules of JSON end and go on, in both policies of whitespace.
fn pieces() -> Arc<Vocabulary> {
    let mut tokens = Tokens::new();
    for byte in 0..=u8::MAX {
        tokens.push(&[byte], false);
    }
    for piece in [
        "\":", "\": ", "\": \"", "\",", "\", ", "\", \"", "\",\n", "\"\n", "\"\r\n", "\"}", "\"}\n", "\" }",
        "\"]", "\"}]", "}\n", "},", "}, ", "},\n", "}}", "{\"", "{ \"", "{\n", "{\n  \"", "[\"", "[ ", "[\n",
        "[]", "{}", "\n", "\n\n", "\n  ", "\r\n", "  ", "    ", "\t", " a", "ab", "abc", "name", " name",
        "value", "0", "12", "123", "1.", ".5", "e+", "true", "null", "\\n", "\\\"", "\\u", "\\u00", "//",
        "://", "http", ".com", "@", "日本", "日", "本", "ключ", "é", "\u{2028}", "(", ")", "()", ")(", " = ",
        ";\n", " + ", "12:", "T1", "-0", "Z\"",
    ] {
        tokens.push(piece.as_bytes(), false);
    }
    vocabulary_of(&tokens)
}

type Ended = Result<Vec<u8>, CompileError>;

/// Most steps of a compile of a canonical index.
const MOST_STEPS: u64 = 20_000_000;

fn compiled(vocabulary: &Vocabulary, constraint: &Constraint, cache: Option<&RowCache>) -> Ended {
    let mut limits = CompileLimits::default();
    if !constraint.tokenization.is_any() {
        // The lengths of strings are states, and thousands of them say no more here.
        limits.max_steps = MOST_STEPS;
    }
    let budget = Budget::new(limits);
    let lowered = gobo_worker::lower_over(vocabulary, constraint, &budget)?;
    let options = CompileOptions { threads: 1, cache, ..CompileOptions::default() };
    Ok(gobo_worker::compile_lowered(vocabulary, constraint, &lowered, &options, &budget)?.bytes().to_vec())
}

/// Every seventh of the constraints, with the tokens that a tokenizer itself would write: at the beginning of a text, or behind prompts.
fn canonical() -> Vec<Constraint> {
    let cuts = [Tokenization::Canonical, Tokenization::CanonicalStrict, Tokenization::CanonicalHeal];
    let constraints = constraints().into_iter().step_by(7);
    let cut = |(constraint, tokenization): (Constraint, &Tokenization)| constraint.cut(*tokenization);
    constraints.zip(cuts.iter().cycle()).map(cut).collect()
}

/// Compiles constraints in shuffled orders, interleaved over the vocabularies, and compares with each alone. `most`: in percent, the constraints that
/// have no index.
fn judge(vocabularies: &[Arc<Vocabulary>], constraints: &[Constraint], most: usize, orders: u64) {
    let cases: Vec<(&Vocabulary, &Constraint)> = (vocabularies.iter())
        .flat_map(|vocabulary| constraints.iter().map(move |constraint| (&**vocabulary, constraint)))
        .collect();
    let alone: Vec<Ended> =
        cases.iter().map(|(vocabulary, constraint)| compiled(vocabulary, constraint, None)).collect();
    let indices = alone.iter().filter(|ended| ended.is_ok()).count();
    assert!(indices * 100 > cases.len() * (100 - most), "only {indices} of {} make an index", cases.len());
    for seed in 0..orders {
        // Every other time only what is dear is kept, and a small cache forgets.
        let cache =
            if seed % 2 == 0 { RowCache::new(64 << 20).from_steps(0) } else { RowCache::new(1 << 20) };
        for at in shuffled(cases.len(), seed) {
            let (vocabulary, constraint) = cases[at];
            let ended = compiled(vocabulary, constraint, Some(&cache));
            let is_same = match (&ended, &alone[at]) {
                (Ok(ended), Ok(alone)) => ended == alone,
                (ended, alone) => ended.as_ref().err() == alone.as_ref().err(),
            };
            let digest = vocabulary.digest();
            assert!(is_same, "order {seed}: over {digest} other bytes than alone: {constraint:?}");
        }
    }
}

/// The numbers below `n` in an order of their own for each seed (Fisher & Yates, with the generator of Knuth's MMIX).
fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    for at in (1..n).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        all.swap(at, usize::try_from(state >> 33).unwrap() % (at + 1));
    }
    all
}

#[test]
fn small_vocabularies_forget_their_history() {
    let mut bytes = Tokens::new();
    for byte in 0..=u8::MAX {
        bytes.push(&[byte], false);
    }
    judge(&[pieces(), vocabulary_of(&bytes)], &constraints(), 10, 6);
}

#[test]
fn a_built_in_vocabulary_forgets_its_history() {
    judge(&[builtin("o200k_base")], &constraints(), 10, 2);
}

#[test]
fn canonical_indices_forget_their_history() {
    judge(&["r50k_base", "cl100k_base"].map(builtin), &canonical(), 60, 2);
}

fn builtin(name: &str) -> Arc<Vocabulary> {
    let table = gobo_tokenizer::builtin(name).unwrap().table;
    Arc::new(Vocabulary::from_bytes(&table.build().unwrap()).unwrap())
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn real_vocabularies_forget_their_history() {
    let dir = data_dir();
    let open = |name: &&str| {
        let table = gobo_tokenizer::import(&dir.join("tokenizers").join(name), &ImportOptions::default());
        Arc::new(Vocabulary::from_bytes(&table.unwrap().table.build().unwrap()).unwrap())
    };
    judge(&["gpt2", "mistral-7b-v0.3"].iter().map(open).collect::<Vec<_>>(), &constraints(), 10, 2);
    judge(&["llama-3.1", "gemma"].iter().map(open).collect::<Vec<_>>(), &canonical(), 70, 1);
}
