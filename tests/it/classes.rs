//! Classes of characters at the places where encodings and tables change, in every front end, against an algebra of
//! its own: a character is taken exactly if it is in the class.

use gobo_automata::Dfa;
use gobo_oracle::{Characters, Language};
use gobo_types::{Budget, CompileError, CompileLimits, Constraint, RefusalKind, SchemaOptions};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::cases::config;

/// Code points at which something begins or ends: numbers of bytes, the surrogates, assigned characters, letters.
const EDGES: [u32; 24] = [
    0, 1, 0x20, 0x41, 0x5A, 0x61, 0x7A, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FE, 0xD7FF, 0xE000, 0xE001, 0xF8FF,
    0xFFFD, 0xFFFE, 0xFFFF, 0x1_0000, 0x1_0001, 0x10_FFFD, 0x10_FFFE, 0x10_FFFF,
];

/// A class as front ends write it.
#[derive(Debug, Clone)]
enum Class {
    Range(u32, u32),
    /// A table, and whether its complement is meant: `\p{Cn}`, `\P{Cn}`.
    Table(&'static str, bool),
    /// Brackets around all of these.
    Any(Vec<Class>, bool),
    And(Box<Class>, Box<Class>),
    Without(Box<Class>, Box<Class>),
    Either(Box<Class>, Box<Class>),
}

impl Class {
    fn set(&self) -> Characters {
        let complement_if = |negated: bool, set: Characters| if negated { set.complement() } else { set };
        match self {
            Self::Range(first, last) => Characters::of(&[(*first, *last)]),
            Self::Table(name, negated) => {
                complement_if(*negated, Characters::table(&format!(r"\p{{{name}}}")).unwrap())
            }
            Self::Any(parts, negated) => {
                let none = Characters::of(&[]);
                complement_if(*negated, parts.iter().fold(none, |set, part| set.or(&part.set())))
            }
            Self::And(one, two) => one.set().and(&two.set()),
            Self::Without(one, two) => one.set().without(&two.set()),
            Self::Either(one, two) => one.set().either(&two.set()),
        }
    }

    /// What stands in the brackets of a regular expression: code points in hexadecimal, by `code`.
    fn written(&self, code: &impl Fn(u32) -> String) -> String {
        let operands = |one: &Self, sign: &str, two: &Self| {
            format!("[{}]{sign}[{}]", one.written(code), two.written(code))
        };
        match self {
            Self::Range(first, last) if first == last => code(*first),
            Self::Range(first, last) => format!("{}-{}", code(*first), code(*last)),
            Self::Table(name, negated) => format!(r"\{}{{{name}}}", if *negated { "P" } else { "p" }),
            Self::Any(parts, negated) => {
                let parts: String = parts.iter().map(|part| part.written(code)).collect();
                format!("[{}{parts}]", if *negated { "^" } else { "" })
            }
            Self::And(one, two) => operands(one, "&&", two),
            Self::Without(one, two) => operands(one, "--", two),
            Self::Either(one, two) => operands(one, "~~", two),
        }
    }
}

/// A range between edges. Surrogates lie inside of some, and are no characters.
fn range() -> impl Strategy<Value = Class> {
    let edge = || prop::sample::select(&EDGES[..]);
    (edge(), edge()).prop_map(|(one, two)| Class::Range(one.min(two), one.max(two)))
}

fn table() -> impl Strategy<Value = Class> {
    (prop::sample::select(&["Cn", "Co", "L", "Lu", "Nd", "Zl"][..]), any::<bool>())
        .prop_map(|(name, negated)| Class::Table(name, negated))
}

/// A class without classes inside, as all front ends have them.
fn flat(item: impl Strategy<Value = Class> + 'static) -> impl Strategy<Value = Class> {
    (prop::collection::vec(item, 1..5), any::<bool>()).prop_map(|(parts, negated)| Class::Any(parts, negated))
}

/// A class of a regular expression: nested, and with set operations.
fn nested() -> impl Strategy<Value = Class> {
    flat(prop_oneof![6 => range(), 1 => table()]).prop_recursive(3, 10, 3, |inner| {
        let both = (inner.clone(), inner.clone()).prop_map(|(one, two)| (Box::new(one), Box::new(two)));
        prop_oneof![
            3 => (prop::collection::vec(prop_oneof![inner, range()], 1..4), any::<bool>())
                .prop_map(|(parts, negated)| Class::Any(parts, negated)),
            1 => (both, 0..3, any::<bool>()).prop_map(|((one, two), sign, negated)| {
                let operation = match sign {
                    0 => Class::And(one, two),
                    1 => Class::Without(one, two),
                    _ => Class::Either(one, two),
                };
                Class::Any(vec![operation], negated)
            }),
        ]
    })
}

fn lowered(constraint: &Constraint) -> Result<Option<Dfa>, TestCaseError> {
    match gobo_worker::lower(constraint, &Budget::new(CompileLimits::default())) {
        Ok(lowered) => Ok(Some(lowered.dfa)),
        // A class without characters.
        Err(CompileError::Refused(refusal)) if refusal.kind == RefusalKind::Unsatisfiable => Ok(None),
        Err(error) => Err(TestCaseError::fail(format!("{constraint:?}: {error}"))),
    }
}

/// Every character is taken exactly if it is in the set. `text`: how it is written.
fn agree(
    constraint: &Constraint,
    set: &Characters,
    text: impl Fn(char) -> String,
) -> Result<(), TestCaseError> {
    let dfa = lowered(constraint)?;
    // Nothing is assigned in the planes between, and no edge lies there.
    let planes = ('\0'..='\u{3ffff}').chain('\u{dfff0}'..=char::MAX);
    for char in planes {
        let taken = dfa.as_ref().is_some_and(|dfa| dfa.accepts(text(char).as_bytes()));
        prop_assert_eq!(taken, set.has(char), "{:?} on {:?}", constraint, char);
    }
    Ok(())
}

fn json(char: char) -> String {
    serde_json::Value::from(char.to_string()).to_string()
}

fn pattern_schema(schema: &serde_json::Value) -> Constraint {
    Constraint::schema(&schema.to_string(), SchemaOptions::default())
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn of_regular_expressions(class in nested(), ignores_case in any::<bool>()) {
        let set = class.set();
        let written = class.written(&|code| format!(r"\x{{{code:X}}}"));
        let pattern = if ignores_case { format!("(?i){written}") } else { written };
        let constraint = Constraint::regex(pattern);
        if !ignores_case {
            agree(&constraint, &set, String::from)?;
        }
        // The judge of all other tests says the same, cases and all.
        let mut judge = Language::new(&constraint).unwrap();
        let dfa = lowered(&constraint)?;
        for char in EDGES.iter().filter_map(|code| char::from_u32(*code)).chain(['k', '\u{212a}', 'ſ', 'é']) {
            let text = char.to_string();
            let taken = judge.contains(text.as_bytes());
            prop_assert!(ignores_case || taken == set.has(char), "the judge of {constraint:?} on {char:?}");
            prop_assert_eq!(dfa.as_ref().is_some_and(|dfa| dfa.accepts(text.as_bytes())), taken, "{:?}", constraint);
        }
    }

    /// Code points are written as they are in JSON Schemas, as pairs or in braces.
    #[test]
    fn of_patterns_in_schemas(class in flat(prop_oneof![6 => range(), 1 => table()]), is_inside_out in any::<bool>()) {
        let set = class.set();
        let written = class.written(&|code| match code {
            0..=0xFFFF => format!(r"\u{code:04X}"),
            _ => format!(r"\u{{{code:X}}}"),
        });
        let (schema, set) = if is_inside_out {
            // A character that the class has anywhere in the string is one too many.
            let one = serde_json::json!({"type": "string", "minLength": 1, "maxLength": 1});
            (serde_json::json!({"allOf": [one, {"not": {"pattern": written}}]}), set.complement())
        } else {
            (serde_json::json!({"type": "string", "pattern": format!("^{written}$")}), set)
        };
        agree(&pattern_schema(&schema), &set, json)?;
    }

    /// Look-ahead intersects and subtracts.
    #[test]
    fn of_look_aheads_in_schemas(one in flat(range()), two in flat(range()), is_negated in any::<bool>()) {
        let written = |class: &Class| class.written(&|code| format!(r"\u{{{code:X}}}"));
        let sign = if is_negated { "!" } else { "=" };
        let schema = serde_json::json!({
            "type": "string", "pattern": format!("^(?{sign}{}){}$", written(&one), written(&two))
        });
        let (one, two) = (one.set(), two.set());
        let set = if is_negated { two.without(&one) } else { two.and(&one) };
        agree(&pattern_schema(&schema), &set, json)?;
    }

    #[test]
    fn of_grammars(class in flat(range())) {
        let written = class.written(&|code| format!(r"\U{code:08X}"));
        agree(&Constraint::gbnf(format!("root ::= {written}"), "root"), &class.set(), String::from)?;
    }
}

/// Those that were found wrong, by name.
#[test]
fn what_ends_and_begins_at_the_surrogates() {
    let xml = r"\x{9}\x{A}\x{D}\x{20}-\x{D7FF}\x{E000}-\x{FFFD}\x{10000}-\x{10FFFF}";
    let xml_set =
        Characters::of(&[(9, 10), (13, 13), (0x20, 0xD7FF), (0xE000, 0xFFFD), (0x1_0000, 0x10_FFFF)]);
    let unassigned_or_private =
        Characters::table(r"\p{Cn}").unwrap().or(&Characters::table(r"\p{Co}").unwrap());
    for (pattern, set) in [
        (r"[^\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]".to_owned(), Characters::of(&[])),
        (r"[^\p{Cn}\p{Co}]".to_owned(), unassigned_or_private.complement()),
        (format!("[^{xml}]"), xml_set.complement()),
        (format!("[^[^{xml}]]"), xml_set),
        (r"[^[^\x{D7FF}\x{E000}]]".to_owned(), Characters::of(&[(0xD7FF, 0xE000)])),
    ] {
        agree(&Constraint::regex(pattern), &set, String::from).unwrap();
    }
    for (pattern, first) in
        [(r"^[^\u0000-\uFFFF]$", 0x1_0000), (r"^[^\u0000-\uD7FF\uE000-\uFFFF]$", 0x1_0000)]
    {
        let schema = serde_json::json!({"type": "string", "pattern": pattern});
        agree(&pattern_schema(&schema), &Characters::of(&[(first, 0x10_FFFF)]), json).unwrap();
    }
    let valid = serde_json::json!({"type": "string", "minLength": 1, "maxLength": 1, "not": {"pattern": "[^\u{20}-\u{FFFF}]"}});
    agree(&pattern_schema(&valid), &Characters::of(&[(0x20, 0xFFFF)]), json).unwrap();
}
