//! How much of what programs write each policy of whitespace lets through: valid instances of the collected schemas, in the layouts,
//! escapes and numbers of well-known writers. The table in `docs/json-schema.md` is made again here; `UPDATE=1` writes it.
//!
//! The writers are written out here after their documentation, one line for each choice in which they differ.

use std::fmt::Write as _;
use std::path::Path;

use gobo_schema::PolicyForm;
use gobo_types::{Budget, CompileLimits, SchemaOptions, Whitespace};
use serde_json::{Map, Value};

use crate::data::data_dir;
use crate::documents::stands_in;
use crate::schema::Texts;

/// Schemas of each part of the collection, and the longest ones.
const SCHEMAS: usize = 10;
const LONGEST: usize = 6_000;
/// Instances of one schema.
const INSTANCES: usize = 2;

pub(crate) const LIMITS: CompileLimits =
    CompileLimits { max_states: 1 << 16, max_steps: 100_000_000, max_bytes: 256 << 20 };

const POLICIES: [Whitespace; 5] = [
    Whitespace::Compact,
    Whitespace::Single,
    Whitespace::Lines,
    Whitespace::Flexible { max: 8 },
    Whitespace::Indent { by: 2 },
];

/// What stands between tokens.
#[derive(Clone, Copy)]
enum Space {
    /// The texts of a comma and of a colon.
    Line([&'static str; 2]),
    /// An item on a line, with this indentation for each level.
    Lines(&'static str),
}

/// Which characters of a string are escaped beside quotes, backslashes and controls.
#[derive(Clone, Copy)]
enum Escapes {
    None,
    NonAscii,
    Html,
}

/// How a number is written that has a fraction or an exponent.
#[derive(Clone, Copy)]
enum Floats {
    Python,
    JavaScript,
    Rust,
    Go,
}

pub(crate) struct Writer {
    pub(crate) name: &'static str,
    space: Space,
    escapes: Escapes,
    floats: Floats,
    is_sorted: bool,
}

const fn writer(name: &'static str, space: Space, escapes: Escapes, floats: Floats) -> Writer {
    Writer { name, space, escapes, floats, is_sorted: false }
}

const COMPACT: Space = Space::Line([",", ":"]);
const SPACED: Space = Space::Line([", ", ": "]);

pub(crate) const WRITERS: [Writer; 13] = [
    writer("`json.dumps`, `separators=(\",\", \":\")`", COMPACT, Escapes::NonAscii, Floats::Python),
    writer("`json.dumps`", SPACED, Escapes::NonAscii, Floats::Python),
    writer("`json.dumps`, `ensure_ascii=False`", SPACED, Escapes::None, Floats::Python),
    writer("`json.dumps`, `indent=1`", Space::Lines(" "), Escapes::NonAscii, Floats::Python),
    writer("`json.dumps`, `indent=2`", Space::Lines("  "), Escapes::NonAscii, Floats::Python),
    writer("`json.dumps`, `indent=4`", Space::Lines("    "), Escapes::NonAscii, Floats::Python),
    writer("`json.dumps`, `indent=\"\\t\"`", Space::Lines("\t"), Escapes::NonAscii, Floats::Python),
    Writer {
        name: "`json.dumps`, `sort_keys=True`",
        space: SPACED,
        escapes: Escapes::NonAscii,
        floats: Floats::Python,
        is_sorted: true,
    },
    writer("`JSON.stringify`", COMPACT, Escapes::None, Floats::JavaScript),
    writer("`serde_json::to_string`", COMPACT, Escapes::None, Floats::Rust),
    writer("`serde_json::to_string_pretty`", Space::Lines("  "), Escapes::None, Floats::Rust),
    writer("Go's `json.Marshal`", COMPACT, Escapes::Html, Floats::Go),
    writer("Go's `json.MarshalIndent`, a tab", Space::Lines("\t"), Escapes::Html, Floats::Go),
];

impl Writer {
    pub(crate) fn text(&self, value: &Value) -> String {
        let mut out = String::new();
        self.write(value, 0, &mut out);
        out
    }

    fn write(&self, value: &Value, depth: usize, out: &mut String) {
        match value {
            Value::Array(items) => {
                self.list(['[', ']'], items.len(), depth, out, |at, out| {
                    self.write(&items[at], depth + 1, out);
                });
            }
            Value::Object(members) => {
                let mut members: Vec<(&String, &Value)> = members.iter().collect();
                if self.is_sorted {
                    members.sort_by_key(|member| member.0);
                }
                self.list(['{', '}'], members.len(), depth, out, |at, out| {
                    let (name, value) = members[at];
                    self.string(name, out);
                    out.push_str(match self.space {
                        Space::Line([_, colon]) => colon,
                        Space::Lines(_) => ": ",
                    });
                    self.write(value, depth + 1, out);
                });
            }
            Value::String(text) => self.string(text, out),
            Value::Number(number) => out.push_str(&self.number(&number.to_string())),
            other => out.push_str(&other.to_string()),
        }
    }

    fn list(
        &self,
        [open, close]: [char; 2],
        len: usize,
        depth: usize,
        out: &mut String,
        element: impl Fn(usize, &mut String),
    ) {
        let line = |depth: usize, out: &mut String| {
            if let Space::Lines(indent) = self.space
                && len > 0
            {
                out.push('\n');
                out.push_str(&indent.repeat(depth));
            }
        };
        out.push(open);
        for at in 0..len {
            if at > 0 {
                out.push_str(match self.space {
                    Space::Line([comma, _]) => comma,
                    Space::Lines(_) => ",",
                });
            }
            line(depth + 1, out);
            element(at, out);
        }
        line(depth, out);
        out.push(close);
    }

    fn string(&self, text: &str, out: &mut String) {
        out.push('"');
        for char in text.chars() {
            let is_escaped = match self.escapes {
                Escapes::None => false,
                Escapes::NonAscii => !char.is_ascii(),
                Escapes::Html => "<>&\u{2028}\u{2029}".contains(char),
            };
            // Go 1.22 and later have the short escapes of backspace and form feed too.
            match char {
                '"' | '\\' => out.extend(['\\', char]),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                _ if is_escaped || char < ' ' => {
                    let mut units = [0; 2];
                    for unit in char.encode_utf16(&mut units) {
                        write!(out, "\\u{unit:04x}").unwrap();
                    }
                }
                _ => out.push(char),
            }
        }
        out.push('"');
    }

    /// A number as the writer has it after reading its text. Integers stay as they are: those of the instances are small.
    fn number(&self, text: &str) -> String {
        if !text.contains(['.', 'e', 'E']) {
            return text.to_owned();
        }
        let value: f64 = text.parse().unwrap();
        let scientific = format!("{value:e}");
        let (mantissa, exponent) = scientific.split_once('e').unwrap();
        let exponent: i32 = exponent.parse().unwrap();
        let plain = format!("{value}");
        // From which powers of ten on there is an exponent, and how it is written; whether a whole number has a point.
        let (least, most, has_point) = match self.floats {
            Floats::Python => (-4, 16, true),
            Floats::Rust => (-5, 16, true),
            Floats::JavaScript | Floats::Go => (-6, 21, false),
        };
        if value == 0.0 || (least..most).contains(&exponent) {
            let point = if has_point && !plain.contains('.') { ".0" } else { "" };
            return format!("{plain}{point}");
        }
        match self.floats {
            Floats::Python => {
                let sign = if exponent < 0 { '-' } else { '+' };
                format!("{mantissa}e{sign}{:02}", exponent.abs())
            }
            Floats::Rust => scientific,
            Floats::JavaScript | Floats::Go => format!("{mantissa}e{exponent:+}"),
        }
    }
}

/// A sample of the schemas with valid instances, evenly from each part, the same on every host.
pub(crate) fn sample(dir: &Path) -> Vec<(String, Vec<Value>)> {
    let mut files: Vec<_> =
        std::fs::read_dir(dir.join("jsonschemabench")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "jsonl"));
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| line.len() <= LONGEST).collect();
        let step = (lines.len() / SCHEMAS).max(1);
        for line in lines.into_iter().step_by(step).take(SCHEMAS) {
            let mut line: Map<String, Value> = serde_json::from_str(line).unwrap();
            let tests = line.remove("tests").unwrap_or_default();
            let valid = tests.as_array().into_iter().flatten().filter(|test| test["valid"] == true);
            let values: Vec<Value> = valid.map(|test| test["data"].clone()).take(INSTANCES).collect();
            if !values.is_empty() {
                all.push((line["schema"].to_string(), values));
            }
        }
    }
    all
}

/// The table, and the shares in it.
fn table(dir: &Path) -> String {
    let mut taken = vec![[0_usize; POLICIES.len()]; WRITERS.len()];
    let (mut schemas, mut instances) = (0, 0);
    for (schema, values) in sample(dir) {
        let options = |whitespace| SchemaOptions { whitespace, ..SchemaOptions::default() };
        let masks: Result<Vec<Texts>, _> =
            POLICIES.iter().map(|&policy| Texts::within(&schema, options(policy), LIMITS)).collect();
        let Ok(masks) = masks else { continue };
        let form = PolicyForm::new(&schema, &options(Whitespace::Single), &Budget::default()).unwrap();
        schemas += 1;
        for value in values {
            instances += 1;
            let value = form.in_order(&value);
            for (writer, taken) in WRITERS.iter().zip(&mut taken) {
                let text = writer.text(&value);
                for (masks, taken) in masks.iter().zip(taken) {
                    *taken += usize::from(masks.accepts(&text));
                }
            }
        }
    }
    let mut out = format!("Of {instances} valid instances of {schemas} schemas:\n\n| writer |");
    POLICIES.iter().for_each(|policy| write!(out, " `{policy}` |").unwrap());
    out.push_str("\n|---|");
    POLICIES.iter().for_each(|_| out.push_str("---|"));
    for (writer, taken) in WRITERS.iter().zip(taken) {
        write!(out, "\n| {} |", writer.name).unwrap();
        for taken in taken {
            let share = taken * 1000 / instances;
            write!(out, " {}.{} % |", share / 10, share % 10).unwrap();
        }
    }
    out.push('\n');
    out
}

#[test]
#[ignore = "needs GOBO_DATA"]
fn the_shares_of_what_programs_write_are_those_of_the_documentation() {
    stands_in("docs/json-schema.md", "written", "written", &table(&data_dir()));
}

#[test]
fn writers_differ_as_their_documentation_says() {
    let value: Value = serde_json::from_str(r#"{"b":[1,2.0,1e-5,1e20,[],{}],"a<é😀\n":true}"#).unwrap();
    for (name, expected) in [
        ("`json.dumps`", r#"{"b": [1, 2.0, 1e-05, 1e+20, [], {}], "a<\u00e9\ud83d\ude00\n": true}"#),
        (
            "`json.dumps`, `sort_keys=True`",
            r#"{"a<\u00e9\ud83d\ude00\n": true, "b": [1, 2.0, 1e-05, 1e+20, [], {}]}"#,
        ),
        ("`JSON.stringify`", r#"{"b":[1,2,0.00001,100000000000000000000,[],{}],"a<é😀\n":true}"#),
        ("`serde_json::to_string`", r#"{"b":[1,2.0,0.00001,1e20,[],{}],"a<é😀\n":true}"#),
        ("Go's `json.Marshal`", r#"{"b":[1,2,0.00001,100000000000000000000,[],{}],"a\u003cé😀\n":true}"#),
        (
            "`json.dumps`, `indent=1`",
            "{\n \"b\": [\n  1,\n  2.0,\n  1e-05,\n  1e+20,\n  [],\n  {}\n ],\n \"a<\\u00e9\\ud83d\\ude00\\n\": true\n}",
        ),
    ] {
        let writer = WRITERS.iter().find(|writer| writer.name == name).unwrap();
        assert_eq!(writer.text(&value), expected, "{name}");
    }
    let pretty = WRITERS.iter().find(|writer| writer.name == "`serde_json::to_string_pretty`").unwrap();
    let value: Value = serde_json::from_str(r#"{"a":[1,[],{"b":null}],"c":{}}"#).unwrap();
    assert_eq!(pretty.text(&value), serde_json::to_string_pretty(&value).unwrap());
}
