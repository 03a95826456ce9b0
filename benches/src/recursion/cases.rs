//! The constraints that call themselves, texts of each, and what is asked of them.

use std::path::{Path, PathBuf};

use anyhow::Context;
use gobo_types::{Constraint, Whitespace};
use serde_json::json;

use crate::cases::{Case, Goal, PeerGrammar, Recursive};
use crate::vocabularies::data;

/// What absolute targets say of one constraint, on the machine that they were written for.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub compile_ms: f64,
    pub file_kib: f64,
    pub fill_p50_ns: f64,
    pub fill_p99_ns: f64,
    pub advance_p50_ns: Option<f64>,
}

/// A constraint with its limits; its texts have names.
#[derive(Debug, Clone)]
pub struct RecursiveCase {
    pub case: Case,
    pub text_names: Vec<String>,
    pub limits: Limits,
}

const GRAMMAR: Limits = Limits {
    compile_ms: 60.0,
    file_kib: 768.0,
    fill_p50_ns: 1200.0,
    fill_p99_ns: 6000.0,
    advance_p50_ns: None,
};

fn json_limits(compile_ms: f64) -> Limits {
    Limits {
        compile_ms,
        file_kib: 256.0,
        fill_p50_ns: 800.0,
        fill_p99_ns: 2000.0,
        advance_p50_ns: Some(100.0),
    }
}

fn constraints() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("constraints")
}

pub(super) fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))
}

/// The texts of a folder by their names, in order, without the line end that editors leave.
pub(super) fn texts(folder: &str) -> anyhow::Result<Vec<(String, String)>> {
    let folder = constraints().join("texts").join(folder);
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("{}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_stem().context("a name")?.to_string_lossy().into_owned();
        texts.push((name, read(&path)?.trim_end_matches('\n').to_owned()));
    }
    texts.sort();
    Ok(texts)
}

pub(super) fn case(
    name: &str,
    recursive: Recursive,
    texts: Vec<(String, String)>,
    limits: Limits,
) -> anyhow::Result<RecursiveCase> {
    anyhow::ensure!(!texts.is_empty(), "{name} has no texts");
    let (text_names, texts) = texts.into_iter().unzip();
    let case = Case { recursive: Some(Box::new(recursive)), texts, ..Case::regex(name, "", Goal::None, &[]) };
    Ok(RecursiveCase { case, text_names, limits })
}

fn grammar(name: &str, gbnf: String) -> anyhow::Result<RecursiveCase> {
    let lark = constraints().join(format!("{name}.lark"));
    let recursive = Recursive {
        constraint: Constraint::gbnf(&gbnf, "root"),
        llguidance: if lark.exists() { PeerGrammar::Lark(read(&lark)?) } else { PeerGrammar::Unknown },
        xgrammar: Some(gbnf),
    };
    case(name, recursive, texts(name)?, GRAMMAR)
}

/// A compact document with the blanks that a policy has: `deep` for line ends and at most seven spaces.
fn spaced(compact: &str, deep: bool) -> String {
    let (mut text, mut depth, mut quoted, mut escaped) = (String::new(), 0, false, false);
    let mut chars = compact.chars().peekable();
    while let Some(char) = chars.next() {
        let closes = !quoted && matches!(char, ']' | '}');
        depth -= usize::from(closes);
        let line = |text: &mut String, depth: usize| {
            text.push('\n');
            text.push_str(&" ".repeat((2 * depth).min(7)));
        };
        if deep && closes && !text.ends_with(['[', '{']) {
            line(&mut text, depth);
        }
        text.push(char);
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '[' | '{' => {
                depth += 1;
                if deep && !chars.peek().is_some_and(|next| matches!(next, ']' | '}')) {
                    line(&mut text, depth);
                }
            }
            ',' if deep => line(&mut text, depth),
            ',' | ':' => text.push(' '),
            _ => {}
        }
    }
    text
}

/// Any JSON value under each policy of blanks.
fn any_json(whitespace: Whitespace) -> anyhow::Result<RecursiveCase> {
    let (name, ws, separator, schema, compile_ms) = match whitespace {
        Whitespace::Compact => {
            ("json_compact", String::new(), String::new(), json!({"whitespace_flexible": false}), 4.0)
        }
        Whitespace::Single => (
            "json_single",
            String::new(),
            " ?".to_owned(),
            json!({"whitespace_flexible": false, "item_separator": ", ?", "key_separator": ": ?"}),
            4.0,
        ),
        Whitespace::Flexible { max } => {
            let blanks = format!("[ \\t\\n\\r]{{0,{max}}}");
            let schema = json!({"whitespace_pattern": blanks});
            ("json_flexible", blanks.clone(), blanks, schema, 10.0)
        }
        Whitespace::Lines => {
            let blanks = "( |\\r?\\n( {0,64}|\\t{0,16}))?".to_owned();
            let schema = json!({"whitespace_pattern": blanks});
            ("json_lines", " ?".to_owned(), " ?".to_owned(), schema, 10.0)
        }
        Whitespace::Indent { .. } => anyhow::bail!("indented JSON has a depth and no recursion"),
    };
    let separator = separator.replace(" ?", "\" \"?");
    // An empty sequence is spelled as the empty literal.
    let spelled = |blanks: &str| if blanks.is_empty() { "\"\"".to_owned() } else { blanks.to_owned() };
    let rules = read(&constraints().join("json.gbnf"))?;
    let recursive = Recursive {
        constraint: Constraint::json(whitespace),
        llguidance: PeerGrammar::Schema(json!({"x-guidance": schema}).to_string()),
        xgrammar: Some(format!("{rules}ws ::= {}\nsep ::= {}\n", spelled(&ws), spelled(&separator))),
    };
    let texts = texts("json")?.into_iter().map(|(name, compact)| {
        let text = match whitespace {
            Whitespace::Compact => compact,
            Whitespace::Single => spaced(&compact, false),
            Whitespace::Lines | Whitespace::Flexible { .. } | Whitespace::Indent { .. } => {
                spaced(&compact, true)
            }
        };
        (name, text)
    });
    case(name, recursive, texts.collect(), json_limits(compile_ms))
}

/// All, in the order of the tables.
pub fn all() -> anyhow::Result<Vec<RecursiveCase>> {
    let policies = [Whitespace::Compact, Whitespace::Single, Whitespace::Flexible { max: 8 }];
    let mut cases = policies.into_iter().map(any_json).collect::<anyhow::Result<Vec<_>>>()?;
    let vllm = data().join("grammars/vllm--vllm-sql.gbnf");
    match std::fs::read_to_string(&vllm) {
        Ok(text) => cases.push(grammar("vllm_sql", text)?),
        Err(error) => eprintln!("!!! vllm_sql IS NOT MEASURED: {}: {error}", vllm.display()),
    }
    for name in ["c_core", "sql_core", "c", "sql"] {
        cases.push(grammar(name, read(&constraints().join(format!("{name}.gbnf")))?)?);
    }
    Ok(cases)
}
