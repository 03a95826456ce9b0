//! Collections of constraints: a library to compile as a whole, and the corpus whose files are weighed.

use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use crate::cases::{Case, Goal};
use crate::vocabularies::data;

/// Lines of JSON with `regex` or `choice`, without those that are marked as what everybody refuses.
fn read(path: &Path) -> anyhow::Result<Vec<Case>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
    let mut cases = Vec::new();
    for line in text.lines() {
        let value: Value = serde_json::from_str(line)?;
        if value.get("invalid").is_some() || value.get("unsupported").is_some() {
            continue;
        }
        let texts =
            |list: &Value| list.as_array()?.iter().map(|item| Some(item.as_str()?.to_owned())).collect();
        let (id, regex) =
            (value["id"].as_str().context("an id")?, value["regex"].as_str().unwrap_or_default());
        let (items, search) = (texts(&value["choice"]), value["match"] == "search");
        cases.push(Case { items, search, ..Case::regex(id, regex, Goal::None, &[]) });
    }
    Ok(cases)
}

/// The regexes that people use, collected from the tests of our peers. Empty, and said, without the data.
pub fn corpus() -> Vec<Case> {
    read(&data().join("regexes/regexes.jsonl")).unwrap_or_else(|error| {
        eprintln!("!!! the regex corpus is not measured: {error:#}");
        Vec::new()
    })
}

/// The library that the command line brings along, and the table's own constraints, each also as an optional part.
pub fn everyday(cases: &[&Case]) -> anyhow::Result<Vec<Case>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/gobo-cli/library/everyday.jsonl");
    let mut library = read(&path)?;
    for case in cases {
        library.push((*case).clone());
        library.push(Case::regex(&case.name, &format!("(?:{})?|none", case.regex), Goal::None, &[]));
    }
    Ok(library)
}
