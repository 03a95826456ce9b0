//! The rules, formats and named extensions that a text stands in.

use gobo_artifact::{Index, Vocabulary};
use gobo_automata::{OpenRule, OpenRules, Piece};
use gobo_types::{Budget, CompileError, CompileLimits};
use gobo_worker::open_rules;
use serde_json::{Value, json};

use crate::inputs::Pieces;
use crate::output::{self, grouped};

/// Ways that are shown, and rules of each that a person is shown.
const WAYS_SHOWN: usize = 16;
const RULES_SHOWN: usize = 8;

/// What is known of where a text stands.
pub(super) enum Ways {
    /// The constraint has no parts with names.
    None,
    Found(OpenRules),
    /// Reading the text by its rules went past a limit.
    Unknown(CompileError),
}

/// Where tokens and a text after them stand, which `index` has read.
pub(super) fn ways(
    (index, vocabulary): (&Index, &Vocabulary),
    (tokens, text): (Option<&Pieces>, &[u8]),
    limits: CompileLimits,
) -> anyhow::Result<Ways> {
    let Ok(constraint) = index.constraint(&[]) else { return Ok(Ways::None) };
    let mut pieces = tokens.map(|tokens| tokens.read(vocabulary)).transpose()?.unwrap_or_default();
    pieces.push(Piece::Text(text));
    Ok(match open_rules(vocabulary, &constraint, &pieces, WAYS_SHOWN, &Budget::new(limits)) {
        Ok(None) => Ways::None,
        Ok(Some(found)) => Ways::Found(found),
        Err(error) => Ways::Unknown(error),
    })
}

impl Ways {
    /// For a script: the list and whether there are more, or why it is not known; null where there are no parts with names.
    pub(super) fn json(&self) -> Value {
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
    pub(super) fn print(&self) -> anyhow::Result<()> {
        match self {
            Self::None => Ok(()),
            Self::Unknown(error) => output::line(format_args!("in        not known: {error}")),
            Self::Found(found) => {
                for way in &found.ways {
                    let hidden = way.len().saturating_sub(RULES_SHOWN);
                    let rules = way[hidden..].iter().map(|rule| format!("{}@{}", rule.name, rule.from));
                    let more = (hidden > 0).then(|| format!("… {} more", grouped(hidden as u64)));
                    let shown: Vec<String> = more.into_iter().chain(rules).collect();
                    output::line(format_args!("in        {}", shown.join(" › ")))?;
                }
                if found.has_more { output::line("          … and in other ways") } else { Ok(()) }
            }
        }
    }
}
