//! The error of reading a message.

/// A message without a meaning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// A required field is missing, or a newer peer filled one that this version does not know.
    #[error("{field} is missing or not known to this version")]
    Missing {
        /// The field's name in the proto file.
        field: &'static str,
    },
    /// A number outside of its enumeration.
    #[error("{field} is {found}, which this version does not know")]
    Unknown {
        /// The field's name in the proto file.
        field: &'static str,
        /// The number.
        found: i32,
    },
    /// A text that cannot be read.
    #[error("{field}: {reason}")]
    Malformed {
        /// The field's name in the proto file.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A digest that is not 32 bytes.
    #[error("{field} has {found} bytes, a digest has 32")]
    Digest {
        /// The field's name in the proto file.
        field: &'static str,
        /// Its length in bytes.
        found: usize,
    },
}

impl ConvertError {
    /// The field that is at fault, by its name in the proto file.
    pub fn field(&self) -> &'static str {
        match self {
            Self::Missing { field }
            | Self::Unknown { field, .. }
            | Self::Malformed { field, .. }
            | Self::Digest { field, .. } => field,
        }
    }
}
