//! Models as people write them with Pydantic: each has an index, or is refused for `uniqueItems` alone; what a model writes is
//! let through, what it refuses is not, and what the masks let through is valid.
//!
//! `tests/pydantic/models.py` has the models, and writes the schemas and texts of `tests/pydantic/schemas.jsonl`.

use std::path::Path;

use gobo_types::{CompileError, RefusalKind, SchemaOptions};
use serde_json::Value;

use crate::schema::{Judge, Random, Texts};

/// The models with a set of any strings, or of any integers.
const SETS: [&str; 1] = ["Tags"];

/// Texts that are drawn under the masks of each model.
const SAMPLES: usize = 30;

struct Model {
    name: String,
    schema: Value,
    valid: Vec<String>,
    invalid: Vec<String>,
}

fn models() -> Vec<Model> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("pydantic/schemas.jsonl");
    let lines = std::fs::read_to_string(file).unwrap();
    let models = lines.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let texts = |list: &Value| -> Vec<String> {
            list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
        };
        Model {
            name: line["name"].as_str().unwrap().to_owned(),
            valid: texts(&line["valid"]),
            invalid: texts(&line["invalid"]),
            schema: line["schema"].take(),
        }
    });
    models.collect()
}

#[test]
fn models_of_pydantic_have_an_index() {
    let models = models();
    assert!(models.len() >= 32, "{}", models.len());
    let mut wrong = Vec::new();
    for Model { name, schema, valid, invalid } in models {
        assert!(!valid.is_empty() && !invalid.is_empty(), "{name}");
        let texts = match Texts::of(&schema.to_string(), SchemaOptions::default()) {
            Ok(texts) => texts,
            Err(CompileError::Refused(refusal))
                if refusal.kind == RefusalKind::Unsupported && refusal.place.ends_with("/uniqueItems") =>
            {
                if !SETS.contains(&name.as_str()) {
                    wrong.push(format!("{name}: {refusal}"));
                }
                continue;
            }
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        assert!(!SETS.contains(&name.as_str()), "{name} is no longer refused");
        wrong.extend(
            valid.iter().filter(|text| !texts.accepts(text)).map(|text| format!("{name} refuses {text}")),
        );
        wrong.extend(
            invalid.iter().filter(|text| texts.accepts(text)).map(|text| format!("{name} takes {text}")),
        );
        let judge = Judge::of_its_draft(&schema).unwrap();
        let mut random = Random(7);
        for text in std::iter::repeat_with(|| texts.sample(&mut random)).take(SAMPLES).flatten() {
            let value: Value = serde_json::from_str(&text).unwrap();
            // The judge takes no leading zeros in the address of a mail literal, `Snum` of RFC 5321 has them.
            let is_judged = !text.contains("@[");
            if is_judged && !judge.allows(&value) {
                wrong.push(format!("{name} lets {text} through"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
