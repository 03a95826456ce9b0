//! Single fields: digests, whitespace policies and forms of numbers.

use gobo_types::{NumberForm, Whitespace, WhitespaceError};

use super::error::ConvertError;
use crate::v1;

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

/// Reads a form of numbers.
///
/// # Errors
/// [`ConvertError::Unknown`] for a form of a newer peer; `field` names it.
pub(super) fn number_form(field: &'static str, numbers: i32) -> Result<NumberForm, ConvertError> {
    match v1::NumberForm::try_from(numbers) {
        Ok(v1::NumberForm::Unspecified) => Ok(NumberForm::default()),
        Ok(v1::NumberForm::Plain) => Ok(NumberForm::Plain),
        Ok(v1::NumberForm::Json) => Ok(NumberForm::Json),
        Err(error) => Err(ConvertError::Unknown { field, found: error.0 }),
    }
}

/// The message of a form of numbers.
pub(super) fn number_form_message(numbers: NumberForm) -> v1::NumberForm {
    match numbers {
        NumberForm::Plain => v1::NumberForm::Plain,
        NumberForm::Json => v1::NumberForm::Json,
    }
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
