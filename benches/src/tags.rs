//! Structural tags: free text and calls of many tools, as engines ask for them, beside XGrammar and llguidance.
//!
//! The tools are functions of the Berkeley Function-Calling Leaderboard, from the data. A tag has a call for each, as Qwen writes it: its arguments as
//! JSON, or as parameters in XML. *Alone* nothing is kept of other compiles; *behind* the process has compiled the same tools in a tag of another
//! form before. XGrammar gets the same tag; llguidance a grammar in Lark with a `%json` for each tool, and is timed to its first mask.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;
use gobo_artifact::Index;
use gobo_compiler::{CompileOptions, Compiled};
use gobo_measure::Target;
use gobo_types::{Budget, CompileLimits, Constraint, SchemaOptions, SpecialText, Whitespace};
use gobo_worker::{compile_constraint, compile_lowered, lower_over};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cases::{Case, Goal, PeerGrammar, Recursive};
use crate::clock::Clock;
use crate::contestants::{Contestant as _, Gobo, Llguidance};
use crate::record::Record;
use crate::recursion::xgrammar::PYTHON;
use crate::run::Tokens;
use crate::spread::Spread;
use crate::vocabularies::{Source, data};

/// How many tools tags have.
const COUNTS: [usize; 2] = [64, 400];
/// Compiles that are timed.
const RUNS: usize = 5;
/// Walks of a text that are timed, after one that is not.
const ROUNDS: usize = 20;

/// The names of the figures, in their order.
pub const MEASURES: [&str; 6] =
    ["alone_ns", "behind_ns", "file_bytes", "fill_text_ns", "fill_arguments_ns", "copy_ns"];

/// The names, parameters and arguments of functions.
type Tools = BTreeMap<String, (Value, Value)>;

fn tools() -> anyhow::Result<Tools> {
    let path = data().join("jsonschemabench/BFCL.jsonl");
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("{}: set GOBO_DATA", path.display()))?;
    let mut tools = Tools::new();
    for line in text.lines() {
        let entry: Value = serde_json::from_str(line)?;
        let Some(functions) = entry["schema"]["properties"].as_object() else { continue };
        for (name, schema) in functions {
            let arguments = entry["tests"][0]["data"][name].clone();
            tools.entry(name.clone()).or_insert_with(|| (schema.clone(), arguments));
        }
    }
    Ok(tools)
}

/// A call of a tool: what stands before its arguments, and behind them.
fn around(name: &str, is_xml: bool) -> (String, &'static str) {
    if is_xml {
        (format!("<tool_call>\n<function={name}>\n"), "\n</function>\n</tool_call>")
    } else {
        (format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": "), "}\n</tool_call>")
    }
}

fn tag<'a>(
    tools: impl Iterator<Item = (&'a String, &'a (Value, Value))>,
    is_xml: bool,
    is_asked: bool,
) -> String {
    let style = if is_xml { "qwen_xml" } else { "json" };
    let of = |(name, (schema, _)): (&String, &(Value, Value))| {
        let (begin, end) = around(name, is_xml);
        let content = json!({"type": "json_schema", "json_schema": schema, "style": style});
        json!({"type": "tag", "begin": begin, "content": content, "end": end})
    };
    let tags: Vec<Value> = tools.map(of).collect();
    json!({"type": "structural_tag", "format": {
        "type": "triggered_tags", "triggers": ["<tool_call>"], "tags": tags, "at_least_one": is_asked,
    }})
    .to_string()
}

/// The same calls for llguidance.
fn lark<'a>(tools: impl Iterator<Item = (&'a String, &'a (Value, Value))>) -> String {
    let (mut calls, mut rules) = (Vec::new(), String::new());
    for (at, (name, (schema, _))) in tools.enumerate() {
        let (begin, end) = around(name, false);
        calls.push(format!("{} a{at} {}", Value::from(begin), Value::from(end)));
        rules += &format!("a{at}: %json {schema}\n");
    }
    format!("start: (TEXT call)* TEXT\nTEXT: /[^<]*/\ncall: {}\n{rules}", calls.join("\n  | "))
}

fn constraint(tag: &str) -> Constraint {
    let options = SchemaOptions { whitespace: Whitespace::Lines, ..SchemaOptions::of_tags() };
    Constraint::tag(tag, SpecialText::Both, options)
}

/// A compile that knows nothing of others.
pub(crate) fn alone(gobo: &Gobo, constraint: &Constraint) -> anyhow::Result<Compiled> {
    let budget = Budget::new(CompileLimits::default());
    let lowered = lower_over(&gobo.vocabulary, constraint, &budget)?;
    Ok(compile_lowered(&gobo.vocabulary, constraint, &lowered, &CompileOptions::default(), &budget)?)
}

/// Measures all tags over one vocabulary.
pub fn measure(source: &Source, folder: &Path, record: &mut Record) -> anyhow::Result<()> {
    let (gobo, peer, tools) = (Gobo::new(source)?, Llguidance::new(source)?, tools()?);
    let clock = Clock::calibrated();
    let mut asked = Vec::new();
    for count in COUNTS {
        let some = || tools.iter().take(count);
        for is_xml in [false, true] {
            let name = format!("{count}_tools_{}", if is_xml { "xml" } else { "json" });
            eprintln!("{}: {name}", source.name);
            let text = tag(some(), is_xml, false);
            let (free, required) = (constraint(&text), constraint(&tag(some(), is_xml, true)));
            let at = (source.name.as_str(), name.as_str(), "gobo");
            let mut times = [Vec::new(), Vec::new()];
            let bytes = alone(&gobo, &free)?;
            for _ in 0..RUNS {
                let (compiled, ns) = clock.time(|| alone(&gobo, &free));
                compiled?;
                times[0].push(ns);
            }
            compile_constraint(&gobo.vocabulary, &required, 1, &Budget::new(CompileLimits::default()))?;
            let (compiled, ns) = clock.time(|| {
                compile_constraint(&gobo.vocabulary, &free, 1, &Budget::new(CompileLimits::default()))
            });
            compiled?;
            times[1].push(ns);
            for (measure, times) in [("alone_ns", &times[0]), ("behind_ns", &times[1])] {
                record.push(at, measure, Spread::of(times).ok_or_else(|| "no samples".to_owned()));
            }
            record.push(at, "file_bytes", Ok(Spread::exact(bytes.bytes().len() as f64)));
            walk(&gobo, &bytes, some().next().context("a tool")?, is_xml, at, record)?;
            if !is_xml {
                let grammar = PeerGrammar::Lark(lark(some()));
                let recursive = Recursive { constraint: free, llguidance: grammar, xgrammar: None };
                let case =
                    Case { recursive: Some(Box::new(recursive)), ..Case::regex(&name, "", Goal::None, &[]) };
                let mut times = Vec::new();
                for _ in 0..RUNS {
                    let (ready, ns) = clock.time(|| peer.compile(&case));
                    ready?;
                    times.push(ns);
                }
                let at = (at.0, at.1, "llguidance");
                record.push(at, "alone_ns", Spread::of(&times).ok_or_else(|| "no samples".to_owned()));
            }
            asked.push((name, text));
        }
    }
    beside_xgrammar(source, &gobo, &asked, folder, record)
}

/// Masks along free text and a call, beside copies of a dense row.
fn walk(
    gobo: &Gobo,
    compiled: &Compiled,
    (name, (_, arguments)): (&String, &(Value, Value)),
    is_xml: bool,
    at: (&str, &str, &str),
    record: &mut Record,
) -> anyhow::Result<()> {
    let (begin, _) = around(name, is_xml);
    let text = "Let me see what the tools have to say about that, and then answer. ";
    let arguments = if is_xml { String::new() } else { gobo_schema::plain_text(&arguments.to_string()) };
    let tokens = Tokens::of(&gobo.vocabulary);
    let parts = [tokens.greedy(text), tokens.greedy(&begin), tokens.greedy(&arguments)];
    let mut matcher = gobo.matcher(Index::from_bytes(compiled.bytes())?.into())?;
    let (mut mask, clock) = (vec![0; gobo.mask_words()], Clock::calibrated());
    let row = vec![u32::MAX; gobo.mask_words()];
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..=ROUNDS {
        matcher.reset();
        for (part, ids) in parts.iter().enumerate() {
            for &id in ids {
                let (filled, ns) = clock.time(|| matcher.fill(&mut mask));
                filled?;
                let ((), copy_ns) = clock.time(|| mask.copy_from_slice(&row));
                if round > 0 && part != 1 {
                    times[usize::from(part == 2)].push(ns);
                    times[2].push(copy_ns);
                }
                if matcher.advance(id).is_err() {
                    break;
                }
            }
        }
    }
    for (measure, times) in ["fill_text_ns", "fill_arguments_ns", "copy_ns"].into_iter().zip(&times) {
        if let Some(spread) = Spread::of(times) {
            record.push(at, measure, Ok(spread));
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct Measured {
    name: String,
    compile_ns: Vec<f64>,
    bytes: f64,
}

/// XGrammar's compiles of the same tags.
pub(crate) fn beside_xgrammar(
    source: &Source,
    gobo: &Gobo,
    asked: &[(String, String)],
    folder: &Path,
    record: &mut Record,
) -> anyhow::Result<()> {
    let Some(python) = std::env::var_os(PYTHON) else {
        eprintln!("!!! XGRAMMAR IS NOT MEASURED: {PYTHON} names no Python");
        return Ok(());
    };
    let (tokens, input) = (folder.join("tokens"), folder.join("tags.json"));
    let mut file = BufWriter::new(File::create(&tokens)?);
    for id in 0..source.binding.logits_width {
        let bytes = if gobo.vocabulary.is_special(id) { &[] } else { gobo.vocabulary.bytes(id) };
        file.write_all(&u32::try_from(bytes.len())?.to_le_bytes())?;
        file.write_all(bytes)?;
    }
    file.flush()?;
    let cases: Vec<Value> = asked.iter().map(|(name, tag)| json!({"name": name, "tag": tag})).collect();
    let all = json!({
        "tokens": tokens, "logits_width": source.binding.logits_width, "eos": source.binding.eos, "cases": cases,
    });
    std::fs::write(&input, all.to_string())?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/xgrammar_tags.py");
    let ran = Command::new(python).arg(script).arg(&input).stderr(Stdio::inherit()).output()?;
    for line in String::from_utf8(ran.stdout)?.lines() {
        let Measured { name, compile_ns, bytes } = serde_json::from_str(line)?;
        let at = (source.name.as_str(), name.as_str(), "xgrammar");
        record.push(at, "alone_ns", Spread::of(&compile_ns).ok_or_else(|| "no samples".to_owned()));
        record.push(at, "file_bytes", Ok(Spread::exact(bytes)));
    }
    Ok(())
}

/// The targets, as comments of the record: name, value, unit, target, verdict.
pub fn targets(vocabulary: &str, record: &Record) -> Vec<String> {
    let get = |name: &str, who: &str, measure: &str| record.get((vocabulary, name, who), measure);
    let mut lines = Vec::new();
    let mut line = |name: String, value: Option<f64>, unit: &str, target: Target| {
        if let Some(value) = value {
            lines.push(format!("{name},{value:.3},{unit},{target},{}", target.verdict(value).name()));
        }
    };
    for form in ["json", "xml"] {
        let few = format!("64_tools_{form}");
        let median = |measure| get(&few, "gobo", measure).map(|of| of.p50);
        line(format!("{few}_alone"), median("alone_ns").map(|ns| ns / 1e6), "ms", Target::AtMost(100.0));
        line(format!("{few}_behind"), median("behind_ns").map(|ns| ns / 1e6), "ms", Target::AtMost(30.0));
        line(
            format!("{few}_file"),
            median("file_bytes").map(|of| of / 1_048_576.0),
            "MiB",
            Target::AtMost(2.0),
        );
        let copies = get(&few, "gobo", "fill_text_ns").zip(get(&few, "gobo", "copy_ns"));
        line(
            format!("{few}_text"),
            copies.map(|(fill, copy)| fill.p99 / copy.p99),
            "copies",
            Target::AtMost(1.1),
        );
        let many = format!("400_tools_{form}");
        for peer in ["xgrammar", "llguidance"] {
            let both = get(&many, "gobo", "alone_ns").zip(get(&many, peer, "alone_ns"));
            let ratio = both.map(|(ours, theirs)| ours.p50 / theirs.p50);
            line(format!("{many}_of_{peer}"), ratio, "times", Target::AtMost(1.0));
            let both = get(&many, "gobo", "behind_ns").zip(get(&many, peer, "alone_ns"));
            let ratio = both.map(|(ours, theirs)| ours.p50 / theirs.p50);
            line(format!("{many}_behind_of_{peer}"), ratio, "times", Target::AtMost(0.333));
        }
    }
    lines
}
