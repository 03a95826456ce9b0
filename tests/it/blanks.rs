//! The whitespace of JSON texts: each policy against a reader of its definition, and how much of what programs write it lets through.

use gobo_oracle::blanks_belong;
use gobo_types::{Constraint, SchemaOptions, Whitespace};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use crate::cases::config;
use crate::judge::{Judge, Place, Verdict, Words};
use crate::schema::Texts;

/// Schemas that a value below is valid under, in the order of its members: of any value, of open objects, of listed members and
/// items, of values that are written out, and of a schema that refers to itself.
const SCHEMAS: [(&str, &[&str]); 6] = [
    ("{}", &["1", "[]", "{}", "\"a, {b}: \\\" \"", "[1,[true,{}]]", r#"{"a":{"b":[1,2]},"c":[{}]}"#]),
    (r#"{"type":"object"}"#, &["{}", r#"{"x":[[]],"y":{"z":null}}"#]),
    (
        r#"{"properties":{"a":{"type":"integer"},"b":{"items":{"type":"string","maxLength":3}},"c":{"type":"number"}},
            "required":["a"],"additionalProperties":false,"type":"object"}"#,
        &[r#"{"a":1}"#, r#"{"a":1,"b":[]}"#, r#"{"a":12,"b":["x","y"],"c":1.5}"#],
    ),
    (
        r#"{"enum":[{"k":[1,{}],"l":[]},[true,"a b"],"a"]}"#,
        &[r#"{"k":[1,{}],"l":[]}"#, r#"[true,"a b"]"#, "\"a\""],
    ),
    (
        r##"{"type":"object","properties":{"v":{"type":"boolean"},"n":{"$ref":"#"}},"additionalProperties":false}"##,
        &[r#"{"v":true,"n":{"v":false,"n":{"n":{}}}}"#, "{}"],
    ),
    (r#"{"type":"array","uniqueItems":true,"items":{"enum":[1,2,3]},"minItems":1}"#, &["[3,1]", "[1,2,3]"]),
];

fn policies() -> Vec<Whitespace> {
    vec![
        Whitespace::Compact,
        Whitespace::Single,
        Whitespace::Lines,
        Whitespace::Lines,
        Whitespace::Flexible { max: 1 },
        Whitespace::Flexible { max: 8 },
        Whitespace::Flexible { max: 64 },
        Whitespace::Indent { by: 2 },
    ]
}

/// Whitespace as writers have it, and some that only a slip has.
fn gap() -> impl Strategy<Value = String> {
    let line = (
        select(vec!["\n", "\r\n"]),
        select(vec![" ", "\t"]),
        select(vec![0_usize, 1, 2, 4, 8, 16, 17, 63, 64, 65]),
    );
    prop_oneof![
        6 => Just(String::new()),
        4 => Just(" ".to_owned()),
        4 => line.prop_map(|(end, blank, count)| format!("{end}{}", blank.repeat(count))),
        1 => vec(select(vec![" ", "\t", "\n", "\r"]), 0..5).prop_map(|blanks| blanks.concat()),
    ]
}

/// A text of a value with whitespace of its own in each gap; the gaps are found by a scan for what stands outside of strings.
fn with_gaps(compact: &str, gaps: &[String]) -> String {
    let mut gaps = gaps.iter().cycle();
    let mut out = gaps.next().cloned().unwrap_or_default();
    let (mut is_quoted, mut is_escaped) = (false, false);
    let mut chars = compact.chars().peekable();
    while let Some(char) = chars.next() {
        out.push(char);
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ => {}
        }
        let is_mark = |char: &char| "[]{},:".contains(*char);
        let ends_here = is_mark(&char) || chars.peek().is_none_or(is_mark);
        if !is_quoted && ends_here {
            out.extend(gaps.next().map(String::as_str));
        }
    }
    out
}

proptest! {
    #![proptest_config(config(192))]

    /// A valid value is let through with whitespace that belongs to the policy, and with no other.
    #[test]
    fn whitespace_is_that_of_the_definition(
        policy in select(policies()),
        schema in 0..SCHEMAS.len(),
        value in any::<prop::sample::Index>(),
        texts in vec((vec(gap(), 1..24), 0_u8..3), 8),
    ) {
        let (schema, values) = SCHEMAS[schema];
        let value = value.get(values);
        let options = SchemaOptions { whitespace: policy, ..SchemaOptions::default() };
        let masks = Texts::of(schema, options).expect("an index");
        let value: Value = serde_json::from_str(value).unwrap();
        let mut written = vec![value.to_string(), serde_json::to_string_pretty(&value).unwrap()];
        for (gaps, kind) in &texts {
            // Gaps that are all alike, those of the policy alone, or any.
            let gaps = match kind {
                0 => &gaps[..1],
                _ => &gaps[..],
            };
            let text = with_gaps(&value.to_string(), gaps);
            // Nothing around the value, as most policies have it.
            let inner = if *kind == 1 { text.trim_matches([' ', '\t', '\n', '\r']).to_owned() } else { text };
            written.push(inner);
        }
        for text in written {
            prop_assert_eq!(masks.accepts(&text), blanks_belong(&text, policy), "{}: {:?}", policy, text);
        }
    }
}

#[test]
fn the_reader_is_given_texts_of_the_same_values() {
    let gaps = [" ".to_owned(), "\n".to_owned()];
    let text = with_gaps(r#"{"a, ":[1,{}],"b":true}"#, &gaps);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value.to_string(), r#"{"a, ":[1,{}],"b":true}"#);
    assert_eq!(text, " {\n\"a, \" :\n[ 1\n, {\n} ]\n, \"b\"\n: true\n} ");
}

/// Every column of a line, in any value and after it, with tokens that reach beyond the last one.
#[test]
fn indentation_ends_at_the_last_column() {
    let mut words: Vec<Vec<u8>> = Vec::new();
    for (char, lengths) in [(b' ', &[2, 3, 8, 31, 63, 64, 65, 130][..]), (b'\t', &[2, 5, 15, 16, 17][..])] {
        for &length in lengths {
            let blanks = vec![char; length];
            let around = [
                ("", ""),
                ("\n", ""),
                ("\n", "1"),
                (",\r\n", "\""),
                ("", "]"),
                ("", "\"a"),
                ("", "{\n "),
                ("[\n", "["),
            ];
            words.extend(
                around.map(|(before, after)| [before.as_bytes(), &blanks, after.as_bytes()].concat()),
            );
        }
    }
    let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
    let constraint = Constraint::json(Whitespace::Lines);
    let mut judge = Judge::new(&constraint, &Words::of(&words));
    let Ok(Verdict::Index(start)) = judge.compile() else { panic!("an index") };
    for before in ["[", "[1,", "{", "{\"a\":", "[[1", "[{\"a\": []", "[1\n  ,", "{\"a\"\r"] {
        for (blank, most) in [(" ", 64), ("\t", 16)] {
            for columns in (0..=most).filter(|columns| columns % 7 < 2 || most - columns < 4) {
                let text = format!("{before}\n{}", blank.repeat(columns));
                let mut matcher = start.clone();
                matcher.advance_bytes(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text:?}"));
                let place =
                    judge.earley.walk(judge.earley.start(), text.as_bytes()).expect("it begins a text");
                judge.check(Place::At(place), &matcher).unwrap_or_else(|error| panic!("{error}: {text:?}"));
            }
            let text = format!("{before}\n{}", blank.repeat(most + 1));
            assert!(start.clone().advance_bytes(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
