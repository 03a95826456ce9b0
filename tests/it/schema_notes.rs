//! Notes on schemas that people wrote: few, and of what looks misspelt.

use std::collections::BTreeMap;

use gobo_schema::schema;
use gobo_types::{Budget, CompileLimits, SchemaOptions};

use crate::data::data_dir;

/// Enough for all but a few schemas.
const LIMITS: CompileLimits =
    CompileLimits { max_states: 1 << 16, max_steps: 10_000_000, max_bytes: 128 << 20 };

#[test]
#[ignore = "needs GOBO_DATA"]
fn schemas_of_the_collection_are_seldom_noted() {
    let folder = data_dir().join("jsonschemabench");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let (mut schemas, mut noted) = (0, 0);
    let options = SchemaOptions { allow_widening: true, ..SchemaOptions::default() };
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = line["schema"].to_string();
            let Ok((_, report)) = schema(&text, &options, &Budget::new(LIMITS)) else { continue };
            schemas += 1;
            noted += usize::from(!report.notes.is_empty());
            for note in report.notes {
                *counts.entry(note.why).or_default() += 1;
            }
        }
    }
    for (why, count) in &counts {
        println!("{count:6}  {why}");
    }
    println!("{noted} of {schemas} schemas are noted");
    assert!(schemas > 7000 && noted * 50 < schemas, "{noted} of {schemas}");
}
