//! Every regular expression that people were found to use, on real vocabularies.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use gobo_artifact::{Matcher, Vocabulary};
use gobo_oracle::{Language, LanguageError, Segmenter, Tokens, allowed_where_every_byte_is_a_token};
use gobo_tokenizer::ImportOptions;
use gobo_types::{Binding, CompileError, Constraint, RefusalKind};
use serde_json::Value;

use crate::subject::{Answer, accepts, answer, compile, expected_of, index_of, tokens_of};

const TOKENIZERS: [&str; 4] = ["gpt2", "llama-3.1", "gemma", "o200k_base"];

/// Masks compared per regex and tokenizer. Each costs a walk of all the vocabulary's tokens.
const POSITIONS: usize = 16;

/// The folder of shared data: `GOBO_DATA`, or `shared/data` beside the repository. A clone does not have it, so tests that
/// need it are ignored unless they are asked for, as `.ci/run` does.
pub(crate) fn data_dir() -> PathBuf {
    let dir = std::env::var_os("GOBO_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"), PathBuf::from);
    assert!(dir.is_dir(), "no data in {}; GOBO_DATA names another folder", dir.display());
    dir
}

/// Tokenizers without byte fallback cannot write everything: a refusal that names the bytes, not a dead end.
#[test]
#[ignore = "needs GOBO_DATA"]
fn what_t5_and_bert_cannot_spell_is_refused_by_its_bytes() {
    let dir = data_dir();
    for (name, pattern, byte) in [
        ("t5-small", r#"\{"a": [0-9]+\}"#, "0x7b"),
        ("t5-small", " d'accord; naïve", "0xaf"),
        ("bert-base-uncased", "A[a-z]+", "0x41"),
    ] {
        let path = dir.join("tokenizers").join(name);
        let table = gobo_tokenizer::import(&path, &ImportOptions::default()).unwrap().table;
        let vocabulary = Vocabulary::from_bytes(&table.build().unwrap()).unwrap();
        match compile(&vocabulary, &Constraint::regex(pattern), 1) {
            Err(CompileError::Refused(refusal)) => {
                assert_eq!(refusal.kind, RefusalKind::Unspellable, "{name}");
                assert!(refusal.reason.contains(byte), "{name}: {refusal}");
            }
            other => panic!("{name}: {other:?}"),
        }
        compile(&vocabulary, &Constraint::regex("( [a-z]+)+"), 1).unwrap();
    }
}

/// phi-3 has llama2's vocabulary and more tokens behind it.
#[test]
#[ignore = "needs GOBO_DATA"]
fn llama2_and_phi_3_share_the_bytes_of_their_common_ids() {
    let dir = data_dir();
    let table = |name: &str| {
        gobo_tokenizer::import(&dir.join("tokenizers").join(name), &ImportOptions::default()).unwrap().table
    };
    let (llama2, phi3) = (table("llama2"), table("phi-3"));
    for (id, token) in llama2.tokens().iter().enumerate() {
        assert_eq!(token.bytes, phi3.tokens()[id].bytes, "{id}");
    }
}

pub(crate) struct Example {
    id: String,
    pub(crate) constraint: Constraint,
    pub(crate) accept: Vec<String>,
    reject: Vec<String>,
    pub(crate) invalid: bool,
    pub(crate) unsupported: bool,
}

pub(crate) fn examples(dir: &Path) -> Vec<Example> {
    let text = std::fs::read_to_string(dir.join("regexes/regexes.jsonl")).unwrap();
    let texts = |value: &Value| {
        value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let example = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let pattern = line["regex"].as_str().unwrap();
        let search = line.get("match").and_then(Value::as_str) == Some("search");
        Example {
            id: line["id"].as_str().unwrap().to_owned(),
            constraint: if search { Constraint::search(pattern) } else { Constraint::regex(pattern) },
            accept: texts(&line["accept"]),
            reject: texts(&line["reject"]),
            invalid: line.get("invalid").is_some(),
            unsupported: line.get("unsupported").is_some(),
        }
    };
    text.lines().map(example).collect()
}

/// The constraints of `benches/`, long lists of words apart: what is published as fast must be right.
fn benchmarks() -> Vec<Example> {
    let email = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*";
    let url = r"https?://(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~!$&'()*+,;=:@%-]*)*(?:\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?(?:#[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?";
    let iso = r"[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?|(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])|-W(?:0[1-9]|[1-4][0-9]|5[0-3])(?:-[1-7])?|W(?:0[1-9]|[1-4][0-9]|5[0-3])[1-7]?|-?(?:00[1-9]|0[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-6]))?(?:T(?:[01][0-9]|2[0-4])(?::?[0-5][0-9](?::?[0-5][0-9])?)?(?:[.,][0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?)?(?:/(?:[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?|(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])|-W(?:0[1-9]|[1-4][0-9]|5[0-3])(?:-[1-7])?|W(?:0[1-9]|[1-4][0-9]|5[0-3])[1-7]?|-?(?:00[1-9]|0[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-6]))?(?:T(?:[01][0-9]|2[0-4])(?::?[0-5][0-9](?::?[0-5][0-9])?)?(?:[.,][0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?)?|P(?:[0-9]+(?:[.,][0-9]+)?W|(?:[0-9]+(?:[.,][0-9]+)?Y)?(?:[0-9]+(?:[.,][0-9]+)?M)?(?:[0-9]+(?:[.,][0-9]+)?D)?(?:T(?:[0-9]+(?:[.,][0-9]+)?H)?(?:[0-9]+(?:[.,][0-9]+)?M)?(?:[0-9]+(?:[.,][0-9]+)?S)?)?)))?|(?:R[0-9]*/)?P(?:[0-9]+(?:[.,][0-9]+)?W|(?:[0-9]+(?:[.,][0-9]+)?Y)?(?:[0-9]+(?:[.,][0-9]+)?M)?(?:[0-9]+(?:[.,][0-9]+)?D)?(?:T(?:[0-9]+(?:[.,][0-9]+)?H)?(?:[0-9]+(?:[.,][0-9]+)?M)?(?:[0-9]+(?:[.,][0-9]+)?S)?)?)(?:/[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?|(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])|-W(?:0[1-9]|[1-4][0-9]|5[0-3])(?:-[1-7])?|W(?:0[1-9]|[1-4][0-9]|5[0-3])[1-7]?|-?(?:00[1-9]|0[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-6]))?(?:T(?:[01][0-9]|2[0-4])(?::?[0-5][0-9](?::?[0-5][0-9])?)?(?:[.,][0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?)?)?";
    let object = include_str!("../../benches/constraints/json_object.regex").trim_end();
    let hero = r#"{"name":"Zoë \"Z\"","class":"Rogue","life":10,"mana":-3,"equipment":[{"name":"bow","durability":1,"quality":"Magic"}]}"#;
    let sentence = r#""Two words, naïve""#;
    [
        ("Red|Orange|Yellow|Green|Blue|Indigo|Violet", "Indigo", "Re"),
        (
            r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d([+-][0-2]\d:[0-5]\d|Z)",
            "2026-11-21T0٣:04:05Z",
            "2026-11-21",
        ),
        (r"((25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(25[0-5]|2[0-4]\d|[01]?\d\d?)", "192.168.1.9٩", "1.2.3"),
        (r#"" *(?:[^\s"\\]|\\["n\\])(?: |[^\s"\\]|\\["n\\])*""#, sentence, "\"\""),
        (object, hero, "{}"),
        (r#""[^"\\\x00-\x1F]{0,200}""#, sentence, "\"a\nb\""),
        (r#""[^"\\\x00-\x1F]{0,10000}""#, sentence, "\"a\nb\""),
        (r"\p{L}{1,64}", "Straßenbahnhaltestelle東京", "a1"),
        (r"(\w+\s?){1,50}", "snake_case and слова 2026", " a"),
        (email, "jane.doe+news@mail.example.co.uk", "a@-b"),
        (url, "https://docs.example.net:8080/en/%7Euser/?q=1#top", "https://example"),
        (iso, "2026-11-20T23:12:59.125+01:00/P3DT12H", "2026-13-01"),
        (r"(?s:.{0,2000})", "Two lines\nof text — 東京 😀.", &"x".repeat(2001)),
        (r"[\p{Greek}\p{Cyrillic}]{1,40}", "φιλοσοφίядостопримечательность", "πa"),
    ]
    .map(|(pattern, accept, reject)| Example {
        id: format!("the benchmark {}", pattern.chars().take(30).collect::<String>()),
        constraint: Constraint::regex(pattern),
        accept: vec![accept.to_owned()],
        reject: vec![reject.to_owned()],
        invalid: false,
        unsupported: false,
    })
    .into()
}

pub(crate) struct Tokenizer {
    pub(crate) name: &'static str,
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) tokens: Tokens,
    pub(crate) segmenter: Segmenter,
    pub(crate) binding: Binding,
}

pub(crate) fn tokenizer(dir: &Path, name: &'static str) -> Tokenizer {
    let path = dir.join("tokenizers").join(name);
    let imported = gobo_tokenizer::import(&path, &ImportOptions::default()).unwrap();
    let bytes = imported.table.build().unwrap();
    let vocabulary = Arc::new(Vocabulary::from_bytes(&bytes).unwrap());
    let tokens = tokens_of(&vocabulary);
    for (id, token) in (0..).zip(imported.table.tokens()) {
        assert_eq!(vocabulary.bytes(id), token.bytes, "{name}: bytes of {id}");
        assert_eq!(vocabulary.is_special(id), token.special, "{name}: flag of {id}");
    }
    assert!(tokens.every_byte_is_a_token(), "{name}: the oracle judges single states only with all bytes");
    let binding = Binding::new(imported.eos, imported.logits_width);
    Tokenizer { name, segmenter: Segmenter::new(&tokens), vocabulary, tokens, binding }
}

/// What came of one regex on one tokenizer.
#[derive(Default)]
struct Outcome {
    index: bool,
    texts: usize,
    masks: usize,
    faults: Vec<String>,
}

/// FNV-1a: spreads positions over texts, the same ones in every run.
pub(crate) fn spread(parts: [&[u8]; 2]) -> usize {
    let mix = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    parts.into_iter().flatten().fold(0x811c_9dc5, mix) as usize
}

fn judge(example: &Example, tokenizer: &Tokenizer) -> Outcome {
    let mut outcome = Outcome::default();
    if example.unsupported {
        return judge_texts(example, tokenizer);
    }
    let language = Language::new(&example.constraint);
    let bytes = match (compile(&tokenizer.vocabulary, &example.constraint, 1), &language) {
        (Ok(bytes), Ok(_)) if !example.invalid => bytes,
        (Err(CompileError::Refused(refusal)), Err(why)) => {
            let kind = match why {
                LanguageError::Unsupported(_) => RefusalKind::Unsupported,
                _ => RefusalKind::Malformed,
            };
            if refusal.kind != kind || refusal.place.is_empty() {
                outcome.faults.push(format!("{kind} expected, found {refusal}"));
            }
            return outcome;
        }
        (found, _) => {
            let (found, wanted) = (found.map(|bytes| bytes.len()), language.map(|_| ()));
            outcome.faults.push(format!("the oracle says {wanted:?}, the compiler {found:?}"));
            return outcome;
        }
    };
    outcome.index = true;
    let start =
        Matcher::new(index_of(&bytes), Arc::clone(&tokenizer.vocabulary), &tokenizer.binding).unwrap();
    let mut language = language.expect("matched above");
    for (text, accept) in
        example.accept.iter().map(|text| (text, true)).chain(example.reject.iter().map(|text| (text, false)))
    {
        outcome.texts += 1;
        if language.contains(text.as_bytes()) != accept {
            outcome.faults.push(format!("the oracle is wrong about {text:?}"));
        }
        for cut in [Segmenter::bytes, Segmenter::greedy] {
            let ids = cut(&tokenizer.segmenter, text.as_bytes()).expect("every byte is a token");
            if accepts(&start, &ids) != accept {
                outcome.faults.push(format!("{text:?} as {ids:?}: accepted should be {accept}"));
            }
        }
    }
    compare_masks(example, tokenizer, &mut language, &start, &mut outcome);
    outcome
}

/// What comes of a regex that peers do not support, nor the oracle: a refusal that names a place, or an index that is right about its texts.
fn judge_texts(example: &Example, tokenizer: &Tokenizer) -> Outcome {
    let mut outcome = Outcome::default();
    let bytes = match compile(&tokenizer.vocabulary, &example.constraint, 1) {
        Ok(bytes) => bytes,
        Err(CompileError::Refused(refusal)) if !refusal.place.is_empty() => return outcome,
        Err(error) => {
            outcome.faults.push(format!("an index or a refusal expected, found {error}"));
            return outcome;
        }
    };
    let start =
        Matcher::new(index_of(&bytes), Arc::clone(&tokenizer.vocabulary), &tokenizer.binding).unwrap();
    let accept = example.accept.iter().map(|text| (text, true));
    for (text, accept) in accept.chain(example.reject.iter().map(|text| (text, false))) {
        outcome.texts += 1;
        let ids = tokenizer.segmenter.greedy(text.as_bytes()).expect("every byte is a token");
        if accepts(&start, &ids) != accept {
            outcome.faults.push(format!("{text:?} as {ids:?}: accepted should be {accept}"));
        }
    }
    outcome
}

/// Compares whole masks at some positions of the accepted texts; the start is always among them.
fn compare_masks(
    example: &Example,
    tokenizer: &Tokenizer,
    language: &mut Language,
    start: &Matcher,
    outcome: &mut Outcome,
) {
    let mut prefixes: Vec<&[u8]> =
        example.accept.iter().flat_map(|text| (1..=text.len()).map(|to| &text.as_bytes()[..to])).collect();
    prefixes.sort_unstable_by_key(|prefix| (spread([tokenizer.name.as_bytes(), prefix]), *prefix));
    prefixes.dedup();
    for prefix in std::iter::once([].as_slice()).chain(prefixes.into_iter().take(POSITIONS - 1)) {
        let mut matcher = start.clone();
        for id in tokenizer.segmenter.bytes(prefix).expect("every byte is a token") {
            if matcher.advance(id).is_err() {
                outcome.faults.push(format!("the prefix {} is refused", prefix.escape_ascii()));
                return;
            }
        }
        let Some(state) = language.walk(language.start(), prefix) else {
            outcome.faults.push(format!("the oracle refuses the prefix {}", prefix.escape_ascii()));
            return;
        };
        let complete = language.accepts(state);
        let ids = allowed_where_every_byte_is_a_token(language, &tokenizer.tokens, state);
        let eos = if complete { tokenizer.binding.eos.as_slice() } else { &[] };
        let wanted = expected_of(ids.iter().chain(eos).copied(), &tokenizer.binding);
        let found = answer(&matcher, &tokenizer.binding);
        outcome.masks += 1;
        if found != wanted || matcher.is_complete() != complete {
            let differing = differing(&found, &wanted);
            outcome.faults.push(format!("the mask after {} differs: {differing}", prefix.escape_ascii()));
        }
    }
}

pub(crate) fn differing(found: &Answer, wanted: &Answer) -> String {
    let (Answer::Mask(found), Answer::Mask(wanted)) = (found, wanted) else {
        return "one of them has ended".to_owned();
    };
    let words = (0_u32..).zip(found.iter().zip(wanted));
    let bits = words.flat_map(|(at, (found, wanted))| {
        (0..32).filter(move |bit| (found ^ wanted) >> bit & 1 == 1).map(move |bit| at * 32 + bit)
    });
    format!("ids {:?} …", bits.take(8).collect::<Vec<_>>())
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn all_collected_regexes_on_four_tokenizers() {
    let dir = data_dir();
    let began = Instant::now();
    let mut examples = examples(&dir);
    examples.extend(benchmarks());
    let tokenizers = TOKENIZERS.map(|name| tokenizer(&dir, name));
    println!("read {} tokenizers in {:?}", tokenizers.len(), began.elapsed());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut outcomes = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(example) = examples.get(number / tokenizers.len()) else { return outcomes };
            let tokenizer = &tokenizers[number % tokenizers.len()];
            let began = Instant::now();
            outcomes.push((example, tokenizer.name, judge(example, tokenizer), began.elapsed()));
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let mut outcomes: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no worker panics")).collect()
    });
    outcomes.sort_by_key(|(.., time)| std::cmp::Reverse(*time));
    for (example, tokenizer, _, time) in outcomes.iter().take(5) {
        println!("slow: {} on {tokenizer}: {time:?}", example.id);
    }
    let sum =
        |of: fn(&Outcome) -> usize| outcomes.iter().map(|(_, _, outcome, _)| of(outcome)).sum::<usize>();
    let (indices, texts, masks) =
        (sum(|outcome| outcome.index.into()), sum(|outcome| outcome.texts), sum(|outcome| outcome.masks));
    println!("{indices} indices, {texts} texts, {masks} masks in {:?}", began.elapsed());
    let faults: Vec<String> = outcomes
        .iter()
        .flat_map(|(example, tokenizer, outcome, _)| {
            outcome.faults.iter().map(move |fault| format!("{} on {tokenizer}: {fault}", example.id))
        })
        .collect();
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
    let refused = examples.iter().filter(|example| example.invalid || example.unsupported).count();
    assert_eq!(indices, (examples.len() - refused) * tokenizers.len());
}
