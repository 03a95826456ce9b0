//! The rules, formats and named extensions that a text stands in.

use gobo_artifact::{Index, Vocabulary};
use gobo_automata::{OpenRule, OpenRules, Piece};
use gobo_types::{Budget, CompileError, CompileLimits, grouped};
use gobo_worker::open_rules;
use serde_json::{Value, json};

/// Ways that are shown, and rules of each that a person is shown.
const WAYS_SHOWN: usize = 16;
const RULES_SHOWN: usize = 8;

/// What is known of where a text stands.
#[derive(Debug, Clone)]
pub enum Ways {
    /// The constraint has no parts with names.
    None,
    /// The rules that have begun and not ended, in each way in which the text can be read.
    Found(OpenRules),
    /// Reading the text by its rules went past a limit.
    Unknown(CompileError),
}

impl Ways {
    /// Where `pieces` stand, which `index` has read.
    pub(crate) fn of(
        index: &Index,
        vocabulary: &Vocabulary,
        pieces: &[Piece<'_>],
        limits: CompileLimits,
    ) -> Self {
        let Ok(constraint) = index.constraint(&[]) else { return Self::None };
        match open_rules(vocabulary, &constraint, pieces, WAYS_SHOWN, &Budget::new(limits)) {
            Ok(None) => Self::None,
            Ok(Some(found)) => Self::Found(found),
            Err(error) => Self::Unknown(error),
        }
    }

    /// For a script: the list and whether there are more, or why it is not known; null where there are no parts with names.
    pub(crate) fn json(&self) -> Value {
        let rule = |rule: &OpenRule| json!({"name": rule.name, "from": rule.from});
        match self {
            Self::Found(found) => {
                let ways = found.ways.iter().map(|way| way.iter().map(rule).collect::<Vec<_>>());
                json!({"list": ways.collect::<Vec<_>>(), "has_more": found.has_more})
            }
            Self::Unknown(error) => json!({"unknown": error.to_string()}),
            Self::None => Value::Null,
        }
    }

    /// For a person: a line for each way, outermost rule first, each with the byte where it begins.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::None => Vec::new(),
            Self::Unknown(error) => vec![format!("not known: {error}")],
            Self::Found(found) => {
                let way = |way: &Vec<OpenRule>| {
                    let hidden = way.len().saturating_sub(RULES_SHOWN);
                    let rules = way[hidden..].iter().map(|rule| format!("{}@{}", rule.name, rule.from));
                    let more = (hidden > 0).then(|| format!("… {} more", grouped(hidden as u64)));
                    more.into_iter().chain(rules).collect::<Vec<_>>().join(" › ")
                };
                let more = found.has_more.then(|| "… and in other ways".to_owned());
                found.ways.iter().map(way).chain(more).collect()
            }
        }
    }
}
