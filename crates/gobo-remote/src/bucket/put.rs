use gobo_types::{CompileLimits, IndexKey, OverBudget, Refusal};

/// What is to be written.
#[derive(Debug, Clone)]
pub enum Content {
    /// The index of the key, as it is in the store by then.
    Index,
    /// That the constraint is refused.
    Refused(Box<Refusal>),
    /// That a compile under these limits went over one of them.
    OverBudget(Box<OverBudget>, CompileLimits),
}

/// An object to be written.
#[derive(Debug, Clone)]
pub struct Put {
    /// Of which key.
    pub key: IndexKey,
    /// With what.
    pub content: Content,
    /// Whether it takes the place of what is there. Else that stays, which spares bandwidth and is no matter of right and wrong: both
    /// say the same.
    pub replaces: bool,
}
