//! How deep JSON values nest.

use serde::{Deserialize, Serialize};

/// Most objects and most arrays around a value. With bounds to both the texts are a regular language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonNesting {
    /// Most objects around a value; a member's name is none.
    pub objects: u8,
    /// Most arrays around a value.
    pub arrays: u8,
}

impl JsonNesting {
    /// Highest value of either bound. Each way from the outermost value to an innermost one has states of its own, so the budget ends
    /// most constraints before.
    pub const MAX: u8 = 16;

    /// The bounds, if neither is too high.
    ///
    /// ```
    /// use gobo_types::JsonNesting;
    ///
    /// assert!(JsonNesting::new(2, 16).is_some() && JsonNesting::new(17, 0).is_none());
    /// ```
    pub fn new(objects: u8, arrays: u8) -> Option<Self> {
        (objects.max(arrays) <= Self::MAX).then_some(Self { objects, arrays })
    }
}
