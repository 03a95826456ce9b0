//! Named extensions of patterns, and prompts that end inside of a token: compiles, files and first masks, beside XGrammar and llguidance where they have
//! the like.
//!
//! The long text is the beginning of a file of the data. A prefix is timed to its first mask, from a matcher that has met none; the prefixes of this kind
//! are all beginnings of up to four bytes of ordinary tokens, below which there are as many tokens as is said.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use gobo_artifact::{Index, Matcher, Vocabulary};
use gobo_measure::Target;
use gobo_types::{Constraint, Whitespace};
use serde_json::{Value, json};

use crate::cases::{Case, Goal, PeerGrammar, Recursive};
use crate::clock::Clock;
use crate::contestants::{Contestant as _, Gobo, Llguidance};
use crate::record::Record;
use crate::spread::Spread;
use crate::tags::{alone, beside_xgrammar};
use crate::vocabularies::{Source, data};

/// Bytes of the long text.
const LONG: usize = 100 << 10;
/// Compiles that are timed after one that is not: of those with the long text, and of others.
const RUNS_LONG: usize = 5;
const RUNS_SHORT: usize = 101;
/// Longest prefix that is looked at, and how many of a kind are timed.
const PREFIX_BYTES: usize = 4;
const PREFIXES: usize = 1_000;
/// Most tokens below a prefix that is a short way into the vocabulary.
const FEW_TOKENS: usize = 1_000;

/// The names of the figures, in their order; `alone_ns` are XGrammar's compiles.
pub const MEASURES: [&str; 4] = ["compile_ns", "alone_ns", "file_bytes", "first_mask_ns"];

/// The pattern of the paper that introduced quoted text (Koo, Liu & He 2024, C.4.4).
const QUOTED: &str = r#"" *([^\s"\\]|\\["n\\])([^\s"\\]|\\["n\\]| )*""#;

/// A pattern, and what says the same to the peers: a grammar in Lark, and one in EBNF.
struct Asked {
    name: &'static str,
    pattern: String,
    lark: Option<String>,
    ebnf: Option<String>,
}

fn asked(long: &str) -> Vec<Asked> {
    let sign = |char: char| if char.is_ascii_punctuation() && char != '_' { "\\" } else { "" };
    let spelled: String = long.chars().flat_map(|char| sign(char).chars().chain([char])).collect();
    let quoted = Value::from(long);
    let of = |name, pattern: &str| Asked { name, pattern: pattern.to_owned(), lark: None, ebnf: None };
    vec![
        of("quoted_text", "(?P<QUOTED_TEXT>)"),
        of("quoted_regex", QUOTED),
        Asked {
            lark: Some("start: text\ntext[suffix=\"</answer>\"]: /(?s:.*)/".to_owned()),
            ..of("text_until", "(?P<TEXT_UNTIL></answer>)")
        },
        Asked {
            lark: Some(format!("start: PART\nPART: %regex {{\"substring_chars\": {quoted}}}")),
            ebnf: Some(format!("root ::= Substring({quoted})")),
            ..of("substring", &format!("(?P<SUBSTRING_OF>{spelled})"))
        },
        Asked {
            lark: Some(format!("start: PART\nPART: %regex {{\"substring_words\": {quoted}}}")),
            ..of("substring_words", &format!("(?P<SUBSTRING_OF_WORDS>{spelled})"))
        },
    ]
}

/// Measures over one vocabulary.
pub fn measure(source: &Source, folder: &Path, record: &mut Record) -> anyhow::Result<()> {
    let (gobo, peer) = (Gobo::new(source)?, Llguidance::new(source)?);
    let clock = Clock::calibrated();
    let path = data().join("jsonschemabench/BFCL.jsonl");
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("{}: set GOBO_DATA", path.display()))?;
    let long = &text[..text.floor_char_boundary(LONG)];
    let mut grammars = Vec::new();
    for Asked { name, pattern, lark, ebnf } in asked(long) {
        eprintln!("{}: {name}", source.name);
        let runs = if pattern.len() > LONG { RUNS_LONG } else { RUNS_SHORT };
        let constraint = Constraint::regex(pattern);
        let of = |who| (source.name.as_str(), name, who);
        let bytes = alone(&gobo, &constraint)?;
        record.push(of("gobo"), "file_bytes", Ok(Spread::exact(bytes.bytes().len() as f64)));
        let times = (0..runs).map(|_| {
            let (compiled, ns) = clock.time(|| alone(&gobo, &constraint));
            compiled.map(|_| ns)
        });
        let times = times.collect::<Result<Vec<_>, _>>()?;
        record.push(of("gobo"), "compile_ns", Spread::of(&times).ok_or_else(|| "no samples".to_owned()));
        if let Some(lark) = lark {
            let recursive = Recursive { constraint, llguidance: PeerGrammar::Lark(lark), xgrammar: None };
            let case =
                Case { recursive: Some(Box::new(recursive)), ..Case::regex(name, "", Goal::None, &[]) };
            let times = (0..runs).map(|_| {
                let (ready, ns) = clock.time(|| peer.compile(&case));
                ready.map(|_| ns).map_err(|error| error.to_string())
            });
            let spread = times.collect::<Result<Vec<_>, _>>();
            let spread = spread.and_then(|times| Spread::of(&times).ok_or_else(|| "no samples".to_owned()));
            record.push(of("llguidance"), "compile_ns", spread);
        }
        let tag =
            |grammar| json!({"type": "structural_tag", "format": {"type": "grammar", "grammar": grammar}});
        grammars.extend(ebnf.map(|grammar| (name.to_owned(), tag(grammar).to_string())));
    }
    prefixes(source, &gobo, record)?;
    beside_xgrammar(source, &gobo, &grammars, folder, record)
}

/// First masks behind prefixes, under a pattern that reads all text, and under any JSON value.
fn prefixes(source: &Source, gobo: &Gobo, record: &mut Record) -> anyhow::Result<()> {
    let clock = Clock::calibrated();
    let few = short_prefixes(&gobo.vocabulary);
    let space: &[u8] = b" ";
    for (of, constraint) in
        [("text", Constraint::regex("(?s).*")), ("json", Constraint::json(Whitespace::Single))]
    {
        let index = Arc::new(Index::from_bytes(alone(gobo, &constraint)?.bytes())?);
        let plain = gobo.matcher(index)?;
        for (name, prefixes, times_each) in [
            ("few", few.iter().map(Vec::as_slice).collect::<Vec<_>>(), 1),
            ("space", vec![space], PREFIXES / 10),
        ] {
            eprintln!("{}: prefix_{name}_{of}", source.name);
            let mut times = Vec::new();
            for prefix in prefixes {
                for _ in 0..times_each {
                    times.extend(first_mask(&plain, prefix, gobo.mask_words(), &clock));
                }
            }
            let name = format!("prefix_{name}_{of}");
            let at = (source.name.as_str(), name.as_str(), "gobo");
            record.push(at, "first_mask_ns", Spread::of(&times).ok_or_else(|| "no samples".to_owned()));
        }
    }
    Ok(())
}

/// The time of a first mask, if there is one.
fn first_mask(plain: &Matcher, prefix: &[u8], words: usize, clock: &Clock) -> Option<f64> {
    let healed = plain.clone().with_prefix(prefix).ok()?;
    let mut mask = vec![0; words];
    let (filled, ns) = clock.time(|| healed.fill(&mut mask));
    filled.ok().map(|_| ns)
}

/// Beginnings of ordinary tokens below which there are a few tokens, evenly from all of them.
fn short_prefixes(vocabulary: &Vocabulary) -> Vec<Vec<u8>> {
    let tokens = (0..vocabulary.len()).filter(|id| !vocabulary.is_special(*id));
    let mut all: Vec<&[u8]> =
        tokens.map(|id| vocabulary.bytes(id)).filter(|bytes| !bytes.is_empty()).collect();
    all.sort_unstable();
    let beginnings: BTreeSet<&[u8]> =
        all.iter().flat_map(|bytes| (1..=bytes.len().min(PREFIX_BYTES)).map(|len| &bytes[..len])).collect();
    let count = |prefix: &[u8]| {
        let first = all.partition_point(|bytes| *bytes < prefix);
        all[first..].iter().take_while(|bytes| bytes.starts_with(prefix)).take(FEW_TOKENS + 1).count()
    };
    let few: Vec<&[u8]> = beginnings.into_iter().filter(|prefix| count(prefix) <= FEW_TOKENS).collect();
    few.iter().step_by((few.len() / PREFIXES).max(1)).map(|prefix| prefix.to_vec()).collect()
}

/// The targets, as comments of the record: name, value, unit, target, verdict.
pub fn targets(vocabulary: &str, record: &Record) -> Vec<String> {
    let get = |name: &str, who: &str, measure: &str| record.get((vocabulary, name, who), measure);
    let mut lines = Vec::new();
    let mut line = |name: &str, value: Option<f64>, unit: &str, target: Target| {
        if let Some(value) = value {
            lines.push(format!("{name},{value:.3},{unit},{target},{}", target.verdict(value).name()));
        }
    };
    let compile = |name, who| get(name, who, "compile_ns").map(|of| of.p50);
    let ratio = |ours: Option<f64>, theirs: Option<f64>| ours.zip(theirs).map(|(ours, theirs)| ours / theirs);
    let quoted = ratio(compile("quoted_text", "gobo"), compile("quoted_regex", "gobo"));
    line("quoted_text_of_its_regex", quoted, "times", Target::AtMost(1.0));
    line("text_until", compile("text_until", "gobo").map(|ns| ns / 1e6), "ms", Target::AtMost(1.0));
    line("substring", compile("substring", "gobo").map(|ns| ns / 1e9), "s", Target::AtMost(1.5));
    let bytes = get("substring", "gobo", "file_bytes").map(|of| of.p50 / 1_048_576.0);
    line("substring_file", bytes, "MiB", Target::AtMost(64.0));
    for name in ["text_until", "substring", "substring_words"] {
        for peer in ["xgrammar", "llguidance"] {
            let theirs = compile(name, peer).or(get(name, peer, "alone_ns").map(|of| of.p50));
            line(
                &format!("{name}_of_{peer}"),
                ratio(compile(name, "gobo"), theirs),
                "times",
                Target::AtMost(1.0),
            );
        }
    }
    for (name, unit, most) in [("few", 1e3, 100.0), ("space", 1e6, 5.0)] {
        for of in ["text", "json"] {
            let name = format!("prefix_{name}_{of}");
            let p99 = get(&name, "gobo", "first_mask_ns").map(|of| of.p99 / unit);
            line(&name, p99, if unit > 1e5 { "ms" } else { "us" }, Target::AtMost(most));
        }
    }
    lines
}
