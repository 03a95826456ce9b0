//! Parameters in XML: which texts are those of a schema in a style, by a reader that takes a text apart and asks a judge of its values.

use std::sync::LazyLock;

use gobo_artifact::Matcher;
use gobo_oracle::Tokens;
use gobo_types::{Constraint, Draft, SchemaOptions, SpecialText, Whitespace};
use serde_json::{Map, Value, json};

use crate::schema::{Judge, Random};
use crate::subject::matcher;

static BYTES: LazyLock<Tokens> = LazyLock::new(|| {
    let bytes: Vec<[u8; 1]> = (0..=255).map(|byte| [byte]).collect();
    Tokens::of(&bytes.iter().map(<[u8; 1]>::as_slice).collect::<Vec<_>>())
});

/// A style, as its users describe it.
struct Style {
    word: &'static str,
    /// Before the name, and after the value.
    marks: (&'static str, &'static str),
    /// Between name and value, for the values of some types: s(tring), n(umber), b(oolean), z for null, o(bject) and a(rray).
    ways: &'static [(&'static str, &'static str)],
    escapes: &'static [(&'static str, &'static str)],
}

const STYLES: [Style; 7] = [
    Style {
        word: "qwen_xml",
        marks: ("<parameter=", "</parameter>"),
        ways: &[("snbzoa", ">")],
        escapes: &[],
    },
    Style {
        word: "minimax_xml",
        marks: ("<parameter name=\"", "</parameter>"),
        ways: &[("snbzoa", "\">")],
        escapes: &[],
    },
    Style {
        word: "deepseek_xml",
        marks: ("<｜DSML｜parameter name=\"", "</｜DSML｜parameter>"),
        ways: &[("s", "\" string=\"true\">"), ("nbzoa", "\" string=\"false\">")],
        escapes: &[],
    },
    Style {
        word: "deepseek_v4_1_xml",
        marks: ("<｜DSML｜ parameter name=\"", "</｜DSML｜ parameter>"),
        ways: &[("s", "\" string=\"true\">"), ("nbzoa", "\" string=\"false\">")],
        escapes: &[],
    },
    Style {
        word: "glm_xml",
        marks: ("<arg_key>", "</arg_value>"),
        ways: &[("snbzoa", "</arg_key>~<arg_value>")],
        escapes: &[],
    },
    Style {
        word: "cohere_xml",
        marks: ("<cofl:value name=\"", "</cofl:value>"),
        ways: &[
            ("s", "\" type=\"raw\">"),
            ("nbz", "\" type=\"json\">"),
            ("o", "\" type=\"dict\">"),
            ("a", "\" type=\"list\">"),
        ],
        escapes: &[("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")],
    },
    Style {
        word: "kimi_k3_xml",
        marks: ("<|open|>argument key=\"", "<|close|>argument<|sep|>"),
        ways: &[
            ("s", "\" type=\"string\"<|sep|>"),
            ("n", "\" type=\"number\"<|sep|>"),
            ("b", "\" type=\"boolean\"<|sep|>"),
            ("z", "\" type=\"null\"<|sep|>"),
            ("o", "\" type=\"object\"<|sep|>"),
            ("a", "\" type=\"array\"<|sep|>"),
        ],
        escapes: &[("&quot;", "\""), ("&amp;", "&")],
    },
];

/// The letter of the type of a value.
fn letter(value: &Value) -> char {
    match value {
        Value::Null => 'z',
        Value::Bool(_) => 'b',
        Value::Number(_) => 'n',
        Value::String(_) => 's',
        Value::Array(_) => 'a',
        Value::Object(_) => 'o',
    }
}

/// What is left of a text after what it begins with.
type Rest<'t, T> = Vec<(T, &'t str)>;

/// With one line feed, where there is one, or without it.
fn blank(text: &str, is_single: bool) -> Vec<&str> {
    let after = text.strip_prefix('\n').filter(|_| is_single);
    [Some(text), after].into_iter().flatten().collect()
}

/// What follows a mark, in which `~` stands for whitespace.
fn after<'t>(mark: &str, text: &'t str, is_single: bool) -> Vec<&'t str> {
    let mut rests = vec![text];
    for (at, part) in mark.split('~').enumerate() {
        if at > 0 {
            rests = rests.into_iter().flat_map(|rest| blank(rest, is_single)).collect();
        }
        rests = rests.into_iter().filter_map(|rest| rest.strip_prefix(part)).collect();
    }
    rests
}

impl Style {
    fn nests(&self) -> bool {
        self.word == "cohere_xml"
    }

    /// The readings of a value that stands between marks, and the rest after the closing one.
    fn value<'t>(&self, text: &'t str, way: usize, is_single: bool) -> Rest<'t, Value> {
        let types = self.ways[way].0;
        let mut found = Vec::new();
        if self.nests() && types == "o" {
            for (members, rest) in self.members(text, is_single) {
                let object: Map<String, Value> = members.into_iter().collect();
                found.extend(rest.strip_prefix(self.marks.1).map(|rest| (Value::Object(object), rest)));
            }
            return found;
        }
        if self.nests() && types == "a" {
            for (items, rest) in self.items(text, is_single) {
                found.extend(rest.strip_prefix(self.marks.1).map(|rest| (Value::Array(items), rest)));
            }
            return found;
        }
        let Some((inside, rest)) = text.split_once(self.marks.1) else { return found };
        let mut insides = vec![inside];
        if is_single {
            insides.extend(inside.strip_prefix('\n'));
            insides.extend(inside.strip_suffix('\n'));
            insides.extend(inside.strip_prefix('\n').and_then(|inside| inside.strip_suffix('\n')));
        }
        for (at, inside) in insides.into_iter().enumerate() {
            let is_whole = at == 0 || !self.word.starts_with("deepseek");
            if types.contains('s') && is_whole {
                found.push((Value::String(inside.to_owned()), rest));
            }
            let json: Option<Value> = serde_json::from_str(inside).ok();
            found.extend(json.filter(|json| is_written(json, inside)).and_then(|json| {
                (letter(&json) != 's' && types.contains(letter(&json))).then_some((json, rest))
            }));
        }
        found
    }

    /// The readings of any number of members.
    fn members<'t>(&self, text: &'t str, is_single: bool) -> Rest<'t, Vec<(String, Value)>> {
        let mut found: Rest<'t, Vec<(String, Value)>> = Vec::new();
        let mut open: Rest<'t, Vec<(String, Value)>> =
            blank(text, is_single).into_iter().map(|rest| (Vec::new(), rest)).collect();
        while let Some((members, text)) = open.pop() {
            found.push((members.clone(), text));
            let Some(text) = text.strip_prefix(self.marks.0) else { continue };
            for (way, (_, mark)) in self.ways.iter().enumerate() {
                let Some(end) = mark.chars().next().and_then(|char| text.find(char)) else { continue };
                let Some(name) = self.name(&text[..end]) else { continue };
                for rest in after(mark, &text[end..], is_single) {
                    for (value, rest) in self.value(rest, way, is_single) {
                        for rest in blank(rest, is_single) {
                            let mut longer = members.clone();
                            longer.push((name.clone(), value.clone()));
                            open.push((longer, rest));
                        }
                    }
                }
            }
        }
        found
    }

    /// The readings of any number of items.
    fn items<'t>(&self, text: &'t str, is_single: bool) -> Rest<'t, Vec<Value>> {
        let mut found: Rest<'t, Vec<Value>> = Vec::new();
        let mut open: Rest<'t, Vec<Value>> =
            blank(text, is_single).into_iter().map(|rest| (Vec::new(), rest)).collect();
        while let Some((items, text)) = open.pop() {
            // Between no items there is one place for whitespace.
            let last = if items.is_empty() { vec![text] } else { blank(text, is_single) };
            found.extend(last.into_iter().map(|rest| (items.clone(), rest)));
            let Some(text) = text.strip_prefix("<cofl:value") else { continue };
            for (way, (_, mark)) in self.ways.iter().enumerate() {
                for rest in after(&mark[1..], text, is_single) {
                    for (value, rest) in self.value(rest, way, is_single) {
                        open.push((items.iter().cloned().chain([value]).collect(), rest));
                    }
                }
            }
        }
        found
    }

    /// A name as it is written; none for what no name is.
    fn name(&self, text: &str) -> Option<String> {
        let mut name = text.to_owned();
        for (escape, char) in self.escapes {
            name = name.replace(escape, char);
        }
        (self.named(&name) == text && !name.is_empty()).then_some(name)
    }

    fn named(&self, name: &str) -> String {
        self.escapes.iter().rev().fold(name.to_owned(), |name, (escape, char)| name.replace(char, escape))
    }

    /// A text of an object.
    fn write(&self, object: &Map<String, Value>, blank: &mut impl FnMut() -> &'static str) -> String {
        let mut text = String::new();
        for (name, value) in object {
            let (_, mark) = self.ways.iter().find(|way| way.0.contains(letter(value))).unwrap();
            let mark = mark.replace(">~<", &format!(">{}<", blank()));
            let (open, close) = self.marks;
            let (before, inside) = (blank(), self.inside(value, blank));
            text.extend([before, open, &self.named(name), &mark, &inside, close]);
        }
        text + blank()
    }

    fn inside(&self, value: &Value, blank: &mut impl FnMut() -> &'static str) -> String {
        match value {
            Value::String(text) => format!("{}{text}{}", blank(), blank()),
            Value::Object(object) if self.nests() => self.write(object, blank),
            Value::Array(items) if self.nests() => {
                let mut text = blank().to_owned();
                for item in items {
                    let (_, mark) = self.ways.iter().find(|way| way.0.contains(letter(item))).unwrap();
                    text.extend(["<cofl:value", &mark[1..], &self.inside(item, blank), "</cofl:value>"]);
                }
                text + blank()
            }
            other => format!("{}{other}{}", blank(), blank()),
        }
    }
}

/// Whether a text of JSON is written without whitespace but for one space after separators, each character in its shortest form.
fn is_written(json: &Value, text: &str) -> bool {
    let compact = text.replace(", ", ",").replace(": ", ":");
    serde_json::to_string(json).is_ok_and(|written| written == compact)
}

/// A schema, the names that it lists in their order, and how others begin.
struct Case {
    schema: Value,
    names: &'static [&'static str],
    /// Of each name, values that it may have.
    values: Value,
    others: &'static [&'static str],
    /// Whether other names are unconstrained.
    is_free: bool,
}

fn cases() -> Vec<Case> {
    let string = json!({"type": "string"});
    let closed = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    vec![
        Case {
            schema: closed(
                json!({
                    "a": string, "b": {"type": "integer"}, "c": {"enum": ["x", "y\n", 3, null]}, "d": {"type": ["string", "null"]},
                    "e": {"type": "string", "minLength": 1, "maxLength": 2}, "f": {"type": "array", "items": {"type": "integer"}},
                }),
                json!(["a"]),
            ),
            names: &["a", "b", "c", "d", "e", "f"],
            values: json!([
                ["x", "y"],
                [0, 12],
                ["x", "y\n", 3, null],
                ["z", null],
                ["a", "<"],
                [[], [1, 2]]
            ]),
            others: &[],
            is_free: true,
        },
        Case {
            schema: closed(
                json!({"a": closed(json!({"b": string, "c": {"type": "boolean"}}), json!(["c"])), "b": {}, "&\"": {"const": "<"}}),
                json!([]),
            ),
            names: &["a", "b", "&\""],
            values: json!([[{"c": true}, {"b": "x", "c": false}], [1, "x", [], {"z": [null]}], ["<"]]),
            others: &[],
            is_free: true,
        },
        Case {
            schema: json!({"type": "object", "properties": {"a": {"type": "number"}}, "additionalProperties": {"type": "integer"}}),
            names: &["a"],
            values: json!([[1, 2]]),
            others: &["b", "_c", "1", "x-y", "é"],
            is_free: true,
        },
        Case {
            schema: json!({
                "type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": false,
                "patternProperties": {"^x-": {"type": "string"}}, "minProperties": 1,
            }),
            names: &["a"],
            values: json!([[true]]),
            others: &["x-", "x-y", "x", "x->", "x-\""],
            is_free: false,
        },
        Case {
            schema: json!({
                "type": "object", "properties": {"a": {"enum": ["k", "l"]}, "b": {"type": "integer"}, "c": {"type": "integer"}}, "additionalProperties": false,
                "if": {"properties": {"a": {"const": "k"}}, "required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]},
            }),
            names: &["a", "b", "c"],
            values: json!([["k", "l"], [1], [2]]),
            others: &[],
            is_free: true,
        },
        Case { schema: json!(true), names: &[], values: json!([]), others: &["a", "_", "-"], is_free: true },
        Case {
            schema: closed(
                json!({"a": {"type": "string", "pattern": "^[ab\n<]*$"}, "b": {"type": "array", "items": string, "maxItems": 2}}),
                json!(["b"]),
            ),
            names: &["a", "b"],
            values: json!([["ab", "", "\n", "<a"], [[], ["x", "y"]]]),
            others: &[],
            is_free: true,
        },
    ]
}

/// A value that a schema may or may not allow.
fn any_value(random: &mut Random, depth: usize, close: &str) -> Value {
    let texts = ["", "x", "k", "y\n", "null", "3", "abc", "\nb", "<", "</", "true", "{}", close, "\"", "é"];
    match random.below(if depth == 0 { 10 } else { 13 }) {
        0 => json!(null),
        1 => json!(random.below(2) == 0),
        2 | 3 => json!(random.below(4)),
        4 => json!(-7),
        5..=9 => json!(texts[random.below(texts.len())]),
        10 => json!({"c": random.below(2) == 0}),
        11 => Value::Array((0..random.below(3)).map(|_| any_value(random, depth - 1, close)).collect()),
        _ => {
            let name = ["b", "c", "z"][random.below(3)];
            json!({name: any_value(random, depth - 1, close)})
        }
    }
}

fn any_object(case: &Case, random: &mut Random, close: &str) -> Map<String, Value> {
    let mut object = Map::new();
    for (at, name) in case.names.iter().enumerate() {
        let values = case.values[at].as_array().unwrap();
        match random.below(8) {
            0 => _ = object.insert((*name).to_owned(), any_value(random, 2, close)),
            1..=5 => _ = object.insert((*name).to_owned(), values[random.below(values.len())].clone()),
            _ => {}
        }
    }
    for _ in 0..random.below(3) {
        if let Some(name) = case.others.get(random.below(5)) {
            object.insert((*name).to_owned(), any_value(random, 2, close));
        }
    }
    object
}

/// Whether the members of some reading are in order, have names that can be written, and make a valid object.
fn is_text(style: &Style, case: &Case, judge: &Judge, text: &str, is_single: bool) -> bool {
    let is_identifier = |name: &str| {
        name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
            && !name.starts_with(|char: char| char.is_ascii_digit())
    };
    style.members(text, is_single).into_iter().any(|(members, rest)| {
        let mut last = 0;
        let is_ordered =
            members.iter().all(|(name, _)| match case.names.iter().position(|known| known == name) {
                Some(at) => std::mem::replace(&mut last, at + 1) <= at,
                None => {
                    last = usize::MAX;
                    style.nests() || !case.is_free || is_identifier(name)
                }
            });
        rest.is_empty() && is_ordered && judge.allows(&Value::Object(members.into_iter().collect()))
    })
}

fn accepts(matcher: &Matcher, text: &str) -> bool {
    let mut matcher = matcher.clone();
    text.bytes().all(|byte| matcher.advance(u32::from(byte)).is_ok()) && matcher.is_complete()
}

fn subject(style: &Style, case: &Case, whitespace: Whitespace) -> Matcher {
    let format = json!({"type": "json_schema", "style": style.word, "json_schema": case.schema});
    let options = SchemaOptions { whitespace, ..SchemaOptions::of_tags() };
    matcher(&Constraint::tag(&format.to_string(), SpecialText::Both, options), &BYTES)
}

/// How often a text was one, and was none.
fn judge_texts(style: &Style, case: &Case, whitespace: Whitespace, seed: u64, count: usize) -> [usize; 2] {
    let is_single = whitespace == Whitespace::Single;
    let judge = Judge::new(&case.schema, Draft::Draft202012);
    let matcher = subject(style, case, whitespace);
    let mut random = Random(seed);
    let mut counts = [0, 0];
    for _ in 0..count {
        let object = any_object(case, &mut random, style.marks.1);
        let many = random.below(2) == 0;
        let mut text = style.write(&object, &mut || if many && random.below(3) == 0 { "\n" } else { "" });
        if random.below(3) == 0 {
            let marks: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            if let Some(&at) = marks.get(random.below(marks.len().max(1))) {
                let end = at + text[at..].chars().next().map_or(0, char::len_utf8);
                text.replace_range(at..end, ["", "\n", "x", "<", "\"", " "][random.below(6)]);
            }
        }
        let expected = is_text(style, case, &judge, &text, is_single);
        assert_eq!(
            accepts(&matcher, &text),
            expected,
            "{} {} {whitespace}: {text:?}",
            style.word,
            case.schema
        );
        counts[usize::from(expected)] += 1;
    }
    counts
}

#[test]
fn texts_of_each_style_are_those_that_a_reader_takes_apart() {
    for style in &STYLES {
        let mut counts = [0, 0];
        for (at, case) in cases().iter().enumerate() {
            // Only two styles write names with these characters.
            if case.names.contains(&"&\"") && style.escapes.is_empty() {
                continue;
            }
            for whitespace in [Whitespace::Compact, Whitespace::Single] {
                let [none, some] = judge_texts(style, case, whitespace, at as u64, 400);
                counts = [counts[0] + none, counts[1] + some];
            }
        }
        assert!(counts.iter().all(|&count| count > 700), "{}: {counts:?}", style.word);
    }
}
