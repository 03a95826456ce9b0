//! Schemas whose policy the oracle does not know.

/// A schema of which nothing can be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A reference or an address that leads nowhere.
    #[error(transparent)]
    Reference(#[from] referencing::Error),
    /// An address that is none.
    #[error(transparent)]
    Address(#[from] referencing::UriError),
    /// A document that is no JSON.
    #[error(transparent)]
    Document(#[from] serde_json::Error),
    /// A pattern that the validator does not take.
    #[error("the pattern {0:?}")]
    Pattern(String),
}
