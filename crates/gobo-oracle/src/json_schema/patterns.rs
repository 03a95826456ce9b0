//! The names of members that a pattern of `patternProperties` matches, by the validator `jsonschema`.

use std::cell::RefCell;
use std::collections::HashMap;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::error::PolicyError;

/// Validators of patterns, each built once.
#[derive(Debug, Default)]
pub(super) struct Patterns(RefCell<HashMap<String, Validator>>);

impl Patterns {
    pub(super) fn matches(&self, pattern: &str, name: &str) -> Result<bool, PolicyError> {
        if !self.0.borrow().contains_key(pattern) {
            let validator = jsonschema::validator_for(&json!({ "pattern": pattern }))
                .map_err(|_| PolicyError::Pattern(pattern.to_owned()))?;
            self.0.borrow_mut().insert(pattern.to_owned(), validator);
        }
        Ok(self.0.borrow()[pattern].is_valid(&Value::from(name)))
    }
}
