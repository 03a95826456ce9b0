//! The limits of a compile, and their message.

use gobo_types::CompileLimits;

use crate::v1;

/// The limits of a request; missing ones are taken from `defaults`.
pub fn limits_or(asked: Option<v1::CompileLimits>, defaults: CompileLimits) -> CompileLimits {
    let asked = asked.unwrap_or_default();
    CompileLimits {
        max_states: asked.max_states.unwrap_or(defaults.max_states),
        max_steps: asked.max_steps.unwrap_or(defaults.max_steps),
        max_bytes: asked.max_bytes.unwrap_or(defaults.max_bytes),
    }
}

impl From<CompileLimits> for v1::CompileLimits {
    fn from(limits: CompileLimits) -> Self {
        Self {
            max_states: Some(limits.max_states),
            max_steps: Some(limits.max_steps),
            max_bytes: Some(limits.max_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_limits_are_the_defaults() {
        let defaults = CompileLimits::default();
        assert_eq!(limits_or(None, defaults), defaults);
        let asked = v1::CompileLimits { max_steps: Some(5), ..Default::default() };
        assert_eq!(limits_or(Some(asked), defaults), CompileLimits { max_steps: 5, ..defaults });
    }
}
