//! Instances in the order that a schema gives to members.

use anyhow::Context;
use gobo_schema::{PolicyForm, plain_text};
use gobo_types::{Budget, SchemaOptions};
use serde_json::Value;

use crate::ask::Answer;
use crate::cases::Case;

/// The same values, members as the policy orders them. What is no value, such as half a surrogate pair, stays as it is.
pub fn of_schema(case: &Case, texts: &[String]) -> anyhow::Result<Answer> {
    let schema = case.schema.as_deref().context("no schema")?;
    let form = PolicyForm::new(schema, &SchemaOptions::default(), &Budget::default())?;
    let ordered = |text: &String| match serde_json::from_str::<Value>(text) {
        Ok(value) => plain_text(&form.in_order(&value).to_string()),
        Err(_) => text.clone(),
    };
    Ok(Answer { texts: texts.iter().map(ordered).collect(), ..Answer::default() })
}
