//! Single fields: digests and whitespace policies.

use gobo_types::{Whitespace, WhitespaceError};

use super::error::ConvertError;

/// Reads a digest.
///
/// # Errors
/// [`ConvertError::Digest`] if it has not 32 bytes; `field` names it.
pub fn digest<D: From<[u8; 32]>>(field: &'static str, bytes: &[u8]) -> Result<D, ConvertError> {
    <[u8; 32]>::try_from(bytes).map(D::from).map_err(|_| ConvertError::Digest { field, found: bytes.len() })
}

/// Reads a whitespace policy; an empty text is the default.
pub(super) fn whitespace(field: &'static str, text: &str) -> Result<Whitespace, ConvertError> {
    if text.is_empty() {
        return Ok(Whitespace::default());
    }
    text.parse()
        .map_err(|error: WhitespaceError| ConvertError::Malformed { field, reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use gobo_types::IndexKey;

    use super::*;

    #[test]
    fn a_digest_has_32_bytes() {
        assert_eq!(
            digest::<IndexKey>("key", &[0; 31]),
            Err(ConvertError::Digest { field: "key", found: 31 })
        );
    }
}
