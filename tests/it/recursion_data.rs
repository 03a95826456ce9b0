//! Grammars that people use and JSON, on real vocabularies, against Earley's recogniser.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use gobo_artifact::{DEFAULT_MAX_ROLLBACK, Matcher};
use gobo_oracle::{Earley, Segmenter, SetId, SortedTokens};
use gobo_types::{Constraint, TokenId, Whitespace};
use serde_json::Value;

use crate::data::{Tokenizer, data_dir, differing, spread, tokenizer};
use crate::subject::{Answer, accepts, allowed, answer, compile, expected_of, index_of};

/// Masks compared per text and tokenizer. Each costs a walk of all the vocabulary's tokens.
const POSITIONS: usize = 16;

/// Texts of the grammars, by the names of their files.
const TEXTS: [(&str, &[&str]); 5] = [
    (
        "llama.cpp--chess.gbnf",
        &[
            "1. e4 e5\n2. Nf3 Nc6\n3. Bb5 a6\n",
            "1. d4 Nf6+\n2. exd5 O-O-O\n10. Rad1 fxg1=Q#\n99. Qh4xe1 Kg8\n",
            "1. O-O a8=N\n3. Nbd7 R1a3\n",
        ],
    ),
    ("llama.cpp--japanese.gbnf", &["こんにちは 世界\nカタカナ、漢字。", "日", "ひらがな\tと「カギ」"]),
    (
        "llama.cpp--json.gbnf",
        &[
            r#"{"name": "Zoë \"Z\"", "list":[1, -2.5e+1,true, null , {"a": []}],"e":"\u00e9\n東京😀"}"#,
            "{\n  \"a\":{\n    \"b\":[[[[]]]]}}",
            "{}",
        ],
    ),
    (
        "llama.cpp--json_arr.gbnf",
        &["[\n{\"a\": 1},\n \"b é\",\n[true, [null, [[0.5]]]]]", "[\n]", "[\n \"x\" ,\n{}]"],
    ),
    ("vllm--vllm-sql.gbnf", &["SELECTcol_1fromtable_2wherecol_2=1", "SELECTcol_2fromtable_1wherecol_1=2"]),
];

/// The `.gbnf` files of the collection, with texts of each. Of a file not known here only the start is judged.
fn grammars(dir: &Path) -> Vec<(String, Constraint, &'static [&'static str])> {
    let files = std::fs::read_dir(dir.join("grammars")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = files.filter(|path| path.extension().is_some_and(|ext| ext == "gbnf")).collect();
    paths.sort();
    let grammar = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let texts = TEXTS.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, texts)| texts);
        (name, Constraint::gbnf(std::fs::read_to_string(path).unwrap(), "root"), texts)
    };
    paths.iter().map(grammar).collect()
}

/// A constraint on a tokenizer that has a token for each byte: its matcher and the oracle's opinion.
struct Pair<'a> {
    tokenizer: &'a Tokenizer,
    sorted: &'a SortedTokens,
    earley: Earley,
    start: Matcher,
}

impl<'a> Pair<'a> {
    fn new(constraint: &Constraint, tokenizer: &'a Tokenizer, sorted: &'a SortedTokens) -> Self {
        let earley = Earley::of(constraint).unwrap();
        assert!(sorted.have_each_of(&earley.live_bytes()), "else tokens may be dead where bytes are alive");
        let bytes = compile(&tokenizer.vocabulary, constraint, 1)
            .unwrap_or_else(|error| panic!("{constraint:?} on {}: {error}", tokenizer.name));
        let vocabulary = Arc::clone(&tokenizer.vocabulary);
        let start = Matcher::new(index_of(&bytes), vocabulary, &tokenizer.binding).unwrap();
        Self { tokenizer, sorted, earley, start }
    }

    /// What a matcher must answer at `set`.
    fn expected(&mut self, set: SetId) -> Answer {
        let ids = self.sorted.allowed(&mut self.earley, set);
        let binding = &self.tokenizer.binding;
        let eos = if self.earley.accepts(set) { binding.eos.as_slice() } else { &[] };
        expected_of(ids.iter().chain(eos).copied(), binding)
    }

    fn check(&mut self, set: SetId, matcher: &Matcher, place: &str) {
        let (found, wanted) = (answer(matcher, &self.tokenizer.binding), self.expected(set));
        let name = self.tokenizer.name;
        assert!(found == wanted, "{name}: the mask {place} differs: {}", differing(&found, &wanted));
        assert_eq!(matcher.is_complete(), self.earley.accepts(set), "{name}: completeness {place}");
    }

    /// Compares masks at the start and at some prefixes of `text`; the cuts are bytes.
    fn check_prefixes(&mut self, text: &str) -> usize {
        let mut lengths: Vec<usize> = (1..=text.len()).collect();
        lengths.sort_unstable_by_key(|to| spread([self.tokenizer.name.as_bytes(), &text.as_bytes()[..*to]]));
        lengths.truncate(POSITIONS - 1);
        lengths.push(0);
        for &length in &lengths {
            let prefix = &text.as_bytes()[..length];
            let place = format!("after {}", prefix.escape_ascii());
            let mut matcher = self.start.clone();
            for id in self.tokenizer.segmenter.bytes(prefix).expect("every byte is a token") {
                matcher.advance(id).unwrap_or_else(|error| panic!("{place}: {error}"));
            }
            let set = self.earley.walk(self.earley.start(), prefix).expect("a prefix of a text");
            self.check(set, &matcher, &place);
        }
        lengths.len()
    }

    /// Whether matcher and oracle take `text`, cut into bytes and into long tokens: they must agree.
    fn takes(&mut self, text: &str) -> bool {
        let takes = self.earley.contains(text.as_bytes());
        for cut in [Segmenter::bytes, Segmenter::greedy] {
            let ids = cut(&self.tokenizer.segmenter, text.as_bytes()).expect("every byte is a token");
            assert_eq!(accepts(&self.start, &ids), takes, "{}: {text:?}", self.tokenizer.name);
        }
        takes
    }
}

/// The same numbers in every run (Steele, Lea & Flood 2014, *Fast splittable pseudorandom number generators*).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 33).expect("31 bits") % n
    }

    fn pick(&mut self, ids: &[TokenId]) -> TokenId {
        ids[self.below(ids.len())]
    }
}

/// Needs no product: whoever doubts a fault found below looks here first.
#[test]
#[ignore = "needs GOBO_DATA"]
fn the_oracle_takes_the_texts_written_for_each_grammar() {
    let dir = data_dir();
    let grammars = grammars(&dir);
    assert!(!grammars.is_empty());
    for (name, constraint, texts) in grammars {
        let mut earley = Earley::of(&constraint).unwrap_or_else(|error| panic!("{name}: {error}"));
        for text in texts {
            assert!(earley.contains(text.as_bytes()), "{name}: {text:?}");
            let cut = &text.as_bytes()[..text.len() - 1];
            assert!(!earley.contains(cut), "{name}: {}", cut.escape_ascii());
        }
    }
}

/// How long the oracle takes over a mask is for people to see; that tokens tried one by one allow the same is not.
#[test]
#[ignore = "needs GOBO_DATA"]
fn the_oracle_makes_masks_of_real_vocabularies() {
    let dir = data_dir();
    let tokenizer = tokenizer(&dir, "o200k_base");
    let sorted = SortedTokens::new(&tokenizer.tokens);
    let mut earley = Earley::of(&Constraint::json(Whitespace::Single)).unwrap();
    for prefix in ["", "{\"a\": [[{\"", "[\"\\u", "[[[[1"] {
        let set = earley.walk(earley.start(), prefix.as_bytes()).unwrap();
        let began = Instant::now();
        let ids = sorted.allowed(&mut earley, set);
        println!("{} ids after {prefix:?} in {:?}", ids.len(), began.elapsed());
        let one_by_one = tokenizer.tokens.ordinary().filter(|(_, bytes)| earley.walk(set, bytes).is_some());
        assert_eq!(ids, one_by_one.map(|(id, _)| id).collect::<Vec<_>>(), "after {prefix:?}");
    }
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn collected_grammars_on_real_vocabularies() {
    let dir = data_dir();
    let began = Instant::now();
    let mut masks = 0;
    for name in ["gpt2", "llama-3.1"] {
        let tokenizer = tokenizer(&dir, name);
        let sorted = SortedTokens::new(&tokenizer.tokens);
        for (file, constraint, texts) in grammars(&dir) {
            let began = Instant::now();
            let mut pair = Pair::new(&constraint, &tokenizer, &sorted);
            masks += pair.check_prefixes("");
            for text in texts {
                assert!(pair.takes(text), "{file}: {text:?}");
                assert!(!pair.takes(&format!("{text}!")), "{file}: {text:?} and more");
                masks += pair.check_prefixes(text);
            }
            println!("{file} on {name}: {:?}", began.elapsed());
        }
    }
    println!("{masks} masks in {:?}", began.elapsed());
}

/// The text of `value` with one space after each comma and each colon.
fn with_single_spaces(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(with_single_spaces).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), with_single_spaces(value))
            };
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        leaf => leaf.to_string(),
    }
}

/// Most brackets around a part of a document that are not empty.
fn depth(value: &Value) -> u32 {
    let inner = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        _ => None,
    };
    inner.map_or(0, |inner| inner + 1)
}

/// Instances that people wrote for their schemas, a bounded number from each part of the collection.
fn documents(dir: &Path) -> Vec<Value> {
    const LINES: usize = 25;
    const LONGEST: usize = 4_000;
    let mut documents = Vec::new();
    let files = std::fs::read_dir(dir.join("jsonschemabench")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = files.filter(|path| path.extension().is_some_and(|ext| ext == "jsonl")).collect();
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(path).unwrap();
        let lines = text.lines().step_by(text.lines().count().div_ceil(LINES));
        for line in lines {
            let mut line: Value = serde_json::from_str(line).unwrap();
            let tests = line.get_mut("tests").and_then(Value::as_array_mut).map(std::mem::take);
            let data = tests.into_iter().flatten().map(|mut test| test["data"].take());
            documents.extend(data.filter(|data| data.to_string().len() <= LONGEST).take(2));
        }
    }
    documents
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn documents_are_taken_by_the_policy_of_their_blanks() {
    let dir = data_dir();
    let tokenizer = tokenizer(&dir, "gpt2");
    let sorted = SortedTokens::new(&tokenizer.tokens);
    let pair = |policy| Pair::new(&Constraint::json(policy), &tokenizer, &sorted);
    let mut compact = pair(Whitespace::Compact);
    let mut single = pair(Whitespace::Single);
    let mut lines = pair(Whitespace::Lines);
    let mut flexible = pair(Whitespace::Flexible { max: 24 });
    let mut indented = pair(Whitespace::Indent { by: 2 });
    let documents = documents(&dir);
    assert!(documents.len() > 200, "{}", documents.len());
    for (number, document) in documents.iter().enumerate() {
        let (tight, spaced) = (document.to_string(), with_single_spaces(document));
        let has_blanks = tight != spaced;
        assert!(compact.takes(&tight) && single.takes(&tight) && flexible.takes(&tight), "{tight}");
        assert_eq!(compact.takes(&spaced), !has_blanks, "{spaced}");
        assert!(single.takes(&spaced) && lines.takes(&spaced) && flexible.takes(&spaced), "{spaced}");
        // Deep documents are indented by more blanks than the policy has; then all must refuse.
        let pretty = serde_json::to_string_pretty(document).unwrap();
        flexible.takes(&pretty);
        assert_eq!(single.takes(&pretty), pretty == tight, "{pretty}");
        // Up to 64 spaces: 32 levels of two.
        assert_eq!(lines.takes(&pretty), depth(document) <= 32, "{pretty}");
        let is_shallow = depth(document) <= Whitespace::MAX_INDENTED_DEPTH;
        assert_eq!(indented.takes(&pretty), is_shallow, "{pretty}");
        assert_eq!(indented.takes(&tight), pretty == tight, "{tight}");
        if number.is_multiple_of(60) {
            compact.check_prefixes(&tight);
            single.check_prefixes(&spaced);
            lines.check_prefixes(&pretty);
            flexible.check_prefixes(&spaced);
            if is_shallow {
                indented.check_prefixes(&pretty);
            }
        }
    }
    println!("{} documents", documents.len());
}

/// Bytes that end any JSON text sooner or later, if the first that is allowed is taken again and again: none of them opens
/// an array or object, and inside a string the quote comes first. A `-0` goes on to `-0.1`.
const CLOSING: &[u8] = b"\"}]:10.\\udcrealsn\x80\x90\xa0\n ";

/// Texts of random tokens that are then brought to an end.
#[test]
#[ignore = "needs GOBO_DATA"]
fn sampled_texts_are_json() {
    const TEXTS: usize = 60;
    /// Deeper than that is beyond what `serde_json` reads.
    const DEEPEST: usize = 100;
    let dir = data_dir();
    let tokenizer = tokenizer(&dir, "gpt2");
    let sorted = SortedTokens::new(&tokenizer.tokens);
    let mut dice = Dice(7);
    for policy in [
        Whitespace::Compact,
        Whitespace::Single,
        Whitespace::Lines,
        Whitespace::Flexible { max: 8 },
        Whitespace::Indent { by: 3 },
    ] {
        let mut pair = Pair::new(&Constraint::json(policy), &tokenizer, &sorted);
        let mut read = 0;
        for _ in 0..TEXTS {
            let (mut matcher, mut text) = (pair.start.clone(), Vec::new());
            for _ in 0..dice.below(40) {
                let ids = text_ids(&tokenizer, &matcher);
                if ids.is_empty() {
                    break;
                }
                let id = prefer(&tokenizer, &mut dice, &ids);
                matcher.advance(id).unwrap();
                text.extend_from_slice(tokenizer.vocabulary.bytes(id));
            }
            while !matcher.is_complete() {
                let closing = tokenizer.segmenter.bytes(CLOSING).expect("every byte is a token");
                let id = closing.into_iter().find(|&id| matcher.allows(id)).unwrap_or_else(|| {
                    panic!("{policy}: nothing that ends {}", text.escape_ascii());
                });
                matcher.advance(id).unwrap();
                text.extend_from_slice(tokenizer.vocabulary.bytes(id));
            }
            assert!(pair.earley.contains(&text), "{policy}: {}", text.escape_ascii());
            let text = std::str::from_utf8(&text).unwrap();
            if text.matches(['[', '{']).count() <= DEEPEST {
                let parsed = serde_json::from_str::<Value>(text);
                assert!(parsed.is_ok(), "{policy}: {text:?}: {parsed:?}");
                read += 1;
            }
        }
        assert!(read * 2 > TEXTS, "{policy}: only {read} were read");
    }
}

/// The allowed ids but for EOS.
fn text_ids(tokenizer: &Tokenizer, matcher: &Matcher) -> Vec<TokenId> {
    let ids = allowed(matcher, &tokenizer.binding);
    assert!(!ids.is_empty() || matcher.is_complete(), "an empty mask, and the text is not complete");
    ids.into_iter().filter(|&id| !tokenizer.binding.is_eos(id)).collect()
}

/// Any of `ids`, but more often one that opens an array or object, or has any of JSON's own characters: nearly all
/// tokens are words, so strings would hardly ever end.
fn prefer(tokenizer: &Tokenizer, dice: &mut Dice, ids: &[TokenId]) -> TokenId {
    let having = |characters: &[u8]| -> Vec<TokenId> {
        let has = |id: &TokenId| tokenizer.vocabulary.bytes(*id).iter().any(|byte| characters.contains(byte));
        ids.iter().copied().filter(has).collect()
    };
    let preferred = match dice.below(8) {
        0..=2 => having(b"[{"),
        3..=5 => having(b"\"[]{},:"),
        _ => vec![],
    };
    dice.pick(if preferred.is_empty() { ids } else { &preferred })
}

/// Ten thousand tokens, ever deeper, with copies that go their own way and steps taken back.
#[test]
#[ignore = "needs GOBO_DATA"]
fn a_long_walk_into_recursion_never_meets_an_empty_mask() {
    const TOKENS: usize = 10_000;
    /// How many masks are remembered, to be compared when steps are taken back.
    const REMEMBERED: usize = 60;
    let dir = data_dir();
    let tokenizer = tokenizer(&dir, "gpt2");
    let sorted = SortedTokens::new(&tokenizer.tokens);
    let mut pair = Pair::new(&Constraint::json(Whitespace::Single), &tokenizer, &sorted);
    let binding = &tokenizer.binding;
    let mut dice = Dice(11);
    let mut matcher = pair.start.clone();
    let mut sets = vec![pair.earley.start()];
    let mut masks = VecDeque::new();
    let mut deepest = 0_i64;
    let mut depth = vec![0_i64];
    for step in 0..TOKENS {
        let here = *sets.last().expect("the start stays");
        let ids = text_ids(&tokenizer, &matcher);
        assert_eq!(matcher.is_complete(), pair.earley.accepts(here), "at step {step}");
        if step.is_multiple_of(500) {
            pair.check(here, &matcher, &format!("at step {step}"));
        }
        if step % 97 == 96 {
            let before = answer(&matcher, binding);
            let mut fork = matcher.clone();
            for _ in 0..20 {
                let ids = text_ids(&tokenizer, &fork);
                if ids.is_empty() || fork.advance(prefer(&tokenizer, &mut dice, &ids)).is_err() {
                    break;
                }
            }
            assert_eq!(answer(&matcher, binding), before, "the original of a fork at step {step}");
        }
        // Where nothing follows, some steps have to be taken back.
        if ids.is_empty() || (step % 61 == 60 && !masks.is_empty()) {
            let back = 1 + dice.below(masks.len());
            matcher.rollback(back).unwrap();
            masks.truncate(masks.len() - back + 1);
            let before: Answer = masks.pop_back().expect("at least one is taken back");
            assert_eq!(answer(&matcher, binding), before, "{back} steps back at step {step}");
            sets.truncate(sets.len() - back);
            depth.truncate(depth.len() - back);
            continue;
        }
        let id = if step < 4 {
            tokenizer.segmenter.bytes(b"[").expect("every byte is a token")[0]
        } else {
            prefer(&tokenizer, &mut dice, &ids)
        };
        let before = answer(&matcher, binding);
        matcher.advance(id).unwrap_or_else(|error| panic!("token {id} at step {step}: {error}"));
        if masks.len() == REMEMBERED {
            masks.pop_front();
        }
        masks.push_back(before);
        let bytes = tokenizer.vocabulary.bytes(id);
        sets.push(pair.earley.walk(here, bytes).expect("an allowed token"));
        let opened = |opening: &[u8; 2]| {
            i64::try_from(bytes.iter().filter(|byte| opening.contains(byte)).count()).expect("few bytes")
        };
        depth.push(depth.last().expect("the start stays") + opened(b"[{") - opened(b"]}"));
        deepest = deepest.max(*depth.last().expect("just pushed"));
        // What was called and has returned is forgotten, but for what the remembered steps may come back to.
        let kept = matcher.kept_nodes();
        assert!(
            kept <= matcher.stack_depth() as usize + 2 * DEFAULT_MAX_ROLLBACK,
            "{kept} nodes at step {step}"
        );
    }
    println!("as deep as {deepest} or so, {} tokens in the end", sets.len() - 1);
    assert!(deepest > 100, "{deepest}");
}
