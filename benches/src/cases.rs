//! The constraints of the table, what is asked of each, and texts that it accepts.

use gobo_types::{Constraint, SchemaOptions};
use serde::{Deserialize, Serialize};

/// What a compile may take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Goal {
    /// At most this many times llguidance's time to its first mask.
    OfLlguidance(f64),
    /// At most this many milliseconds.
    Milliseconds(f64),
    /// Nothing is asked.
    None,
}

/// A constraint that calls itself, for which no regular expression stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recursive {
    /// As gobo takes it.
    pub constraint: Constraint,
    /// As llguidance takes it.
    pub llguidance: PeerGrammar,
    /// As XGrammar takes it, if it does: its EBNF reads GBNF.
    pub xgrammar: Option<String>,
}

/// A grammar of llguidance.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum PeerGrammar {
    Lark(String),
    /// JSON Schema, as text.
    Schema(String),
    /// None of the same language is known in its dialect.
    Unknown,
}

/// A constraint in each of the forms that a contestant may take it in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Case {
    pub name: String,
    /// The text that all contestants read unless one of the following applies.
    pub regex: String,
    /// The same language as a list, which gobo takes as its choice.
    pub items: Option<Vec<String>>,
    /// About the same language as a JSON Schema, which llguidance takes as that.
    pub schema: Option<String>,
    /// The schema is what all contestants read, and there is no regex.
    pub is_schema: bool,
    /// In place of the regex, where the language has none.
    pub recursive: Option<Box<Recursive>>,
    /// A match anywhere in the text suffices.
    pub search: bool,
    /// Accepted texts.
    pub texts: Vec<String>,
    pub goal: Goal,
}

impl Case {
    pub fn regex(name: &str, regex: &str, goal: Goal, texts: &[&str]) -> Self {
        Self {
            name: name.into(),
            regex: regex.into(),
            items: None,
            schema: None,
            is_schema: false,
            recursive: None,
            search: false,
            texts: texts.iter().map(|&text| text.into()).collect(),
            goal,
        }
    }

    /// A JSON Schema, as text.
    pub fn schema(name: &str, schema: &str) -> Self {
        Self { schema: Some(schema.into()), is_schema: true, ..Self::regex(name, "", Goal::None, &[]) }
    }

    /// The same without the schema: for comparing masks, where the very same language is needed.
    pub fn as_regex(&self) -> Self {
        Self { schema: None, ..self.clone() }
    }

    /// As gobo takes it.
    pub fn constraint(&self) -> Constraint {
        if let Some(recursive) = &self.recursive {
            return recursive.constraint.clone();
        }
        if let Some(schema) = self.schema.as_ref().filter(|_| self.is_schema) {
            return Constraint::schema(schema, SchemaOptions::default());
        }
        match &self.items {
            Some(items) => Constraint::choice(items),
            None if self.search => Constraint::search(&self.regex),
            None => Constraint::regex(&self.regex),
        }
    }
}

const DATE_TIME: &str = r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d([+-][0-2]\d:[0-5]\d|Z)";
const IPV4: &str = r"((25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(25[0-5]|2[0-4]\d|[01]?\d\d?)";
const QUOTED: &str = r#"" *(?:[^\s"\\]|\\["n\\])(?: |[^\s"\\]|\\["n\\])*""#;
const JSON_OBJECT: &str = include_str!("../constraints/json_object.regex");
const JSON_OBJECT_SCHEMA: &str = include_str!("../constraints/json_object.schema.json");
const EMAIL: &str = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*";
const URL: &str = r"https?://(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~!$&'()*+,;=:@%-]*)*(?:\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?(?:#[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?";

/// Dates by month, week and day of the year, times with fractions and offsets, in both formats; durations; intervals.
fn iso_8601() -> String {
    let (month, day) = ("(?:0[1-9]|1[0-2])", "(?:0[1-9]|[12][0-9]|3[01])");
    let week = "W(?:0[1-9]|[1-4][0-9]|5[0-3])";
    let ordinal = "(?:00[1-9]|0[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-6])";
    let date = format!(
        "[0-9]{{4}}(?:-{month}(?:-{day})?|{month}{day}|-{week}(?:-[1-7])?|{week}[1-7]?|-?{ordinal})?"
    );
    let offset = "(?:Z|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)";
    let time =
        format!("T(?:[01][0-9]|2[0-4])(?::?[0-5][0-9](?::?[0-5][0-9])?)?(?:[.,][0-9]{{1,9}})?{offset}?");
    let number = "[0-9]+(?:[.,][0-9]+)?";
    let clock = format!("T(?:{number}H)?(?:{number}M)?(?:{number}S)?");
    let duration = format!("P(?:{number}W|(?:{number}Y)?(?:{number}M)?(?:{number}D)?(?:{clock})?)");
    let moment = format!("{date}(?:{time})?");
    format!("{moment}(?:/(?:{moment}|{duration}))?|(?:R[0-9]*/)?{duration}(?:/{moment})?")
}

/// Ten thousand different words: the numbers of a generator, spelled in syllables.
fn words() -> Vec<String> {
    let (consonants, vowels) = (b"bcdfghjklmnprstvwz", b"aeiou");
    let mut state = 1_u64;
    let mut syllable = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw = (state >> 33) as usize;
        let pair = [consonants[draw % consonants.len()], vowels[(draw / 32) % vowels.len()]];
        pair.map(char::from)
    };
    let mut words = std::collections::BTreeSet::new();
    while words.len() < 10_000 {
        let syllables = 2 + words.len() % 4;
        words.insert((0..syllables).flat_map(|_| syllable()).collect::<String>());
    }
    words.into_iter().collect()
}

fn digits_as_ascii(regex: &str) -> String {
    regex.replace(r"\d", "[0-9]")
}

/// All of the table, in its order.
pub fn all() -> Vec<Case> {
    use Goal::{Milliseconds, OfLlguidance};
    let eighth = OfLlguidance(1.0 / 8.0);
    let twice = OfLlguidance(2.0);
    let times = [
        "2026-11-20T23:12:59+01:00",
        "1999-12-31T00:00:00Z",
        "0001-01-01T12:30:45-11:59",
        "2024-02-29T06:07:08Z",
    ];
    let addresses = ["192.168.101.27", "0.0.0.0", "255.255.255.255", "8.8.8.8", "10.20.30.40"];
    let long = "The quick brown fox jumps over the lazy dog, again and again, until the evening comes. ";
    let sentences = [
        "\"The quick brown fox jumps over the lazy dog.\"",
        "\"naïve café, 東京 and Москва; emoji 😀!\"",
        "\"x\"",
        "\"function(a,b){return(a+b)*0x1F;}\"",
    ];
    let bounded = [sentences[0], sentences[1], "\"\"", &format!("\"{}\"", &long.repeat(2)[..170])];
    let objects = [
        r#"{"name": "Conan", "class": "Warrior", "life": 100, "mana": 0, "equipment": [{"name": "Atlantean Sword", "durability": 99, "quality": "Unique"}, {"name": "Shield", "durability": 12, "quality": "Normal"}]}"#,
        r#"{"name":"Merlin \"the old\"","class":"Sorceror","life":42,"mana":9000,"equipment":[]}"#,
        r#"{"name": "Zoë Ünver 東京", "class": "Rogue", "life": -1, "mana": 7, "equipment": [{"name": "Dagger of the silent night", "durability": 3, "quality": "Magic"}]}"#,
    ];
    let words = words();
    let drawn: Vec<&str> = words.iter().step_by(1_999).map(String::as_str).collect();
    let list = Case {
        items: Some(words.clone()),
        ..Case::regex("words_10000", &words.join("|"), Milliseconds(50.0), &drawn)
    };
    let object = Case {
        schema: Some(JSON_OBJECT_SCHEMA.into()),
        ..Case::regex("json_object", JSON_OBJECT.trim_end(), OfLlguidance(0.5), &objects)
    };
    vec![
        Case::regex(
            "colours",
            "Red|Orange|Yellow|Green|Blue|Indigo|Violet",
            eighth,
            &["Red", "Orange", "Yellow", "Green", "Blue", "Indigo", "Violet"],
        ),
        Case::regex("datetime_ascii", &digits_as_ascii(DATE_TIME), eighth, &times),
        Case::regex("datetime_unicode", DATE_TIME, OfLlguidance(0.5), &times),
        Case::regex("ipv4_ascii", &digits_as_ascii(IPV4), eighth, &addresses),
        Case::regex("ipv4_unicode", IPV4, OfLlguidance(0.5), &addresses),
        Case::regex("quoted", QUOTED, OfLlguidance(1.0 / 3.0), &sentences),
        object,
        Case::regex("bounded_200", r#""[^"\\\x00-\x1F]{0,200}""#, Milliseconds(10.0), &bounded),
        Case::regex("bounded_10000", r#""[^"\\\x00-\x1F]{0,10000}""#, Milliseconds(50.0), &bounded),
        list,
        Case::regex(
            "letters_64",
            r"\p{L}{1,64}",
            twice,
            &["internationalization", "Straßenbahnhaltestelle", "достопримечательность", "東京都庁", "a"],
        ),
        Case::regex(
            "words_50",
            r"(\w+\s?){1,50}",
            twice,
            &[
                "The quick brown fox jumps over the lazy dog",
                "snake_case and CamelCase 2026",
                "слова на разных языках",
            ],
        ),
        Case::regex(
            "email",
            EMAIL,
            twice,
            &["jane.doe+news@mail.example.co.uk", "root@localhost", "a.b-c_d!x@xn--bcher-kva.example"],
        ),
        Case::regex(
            "url",
            URL,
            twice,
            &[
                "https://www.example.com/a/b/c.html?query=1&other=two#fragment",
                "http://example.org",
                "https://docs.example.net:8080/en/latest/api/%7Euser/",
            ],
        ),
        Case::regex(
            "iso_8601",
            &iso_8601(),
            twice,
            &[
                "2026-11-20T23:12:59.125+01:00/P3DT12H",
                "2026-W47-5",
                "20261120T231259Z",
                "P1Y2M3DT4H5M6.7S",
                "2026-324",
            ],
        ),
        Case::regex(
            "any_2000",
            r"(?s:.{0,2000})",
            twice,
            &["Two lines\nof text, naïve — 東京 😀.", &long.repeat(3)],
        ),
        Case::regex(
            "two_scripts",
            r"[\p{Greek}\p{Cyrillic}]{1,40}",
            twice,
            &["достопримечательность", "φιλοσοφία", "Москва"],
        ),
    ]
}
