//! A vocabulary from a table that somebody has in memory: tokenizers without a file that can be read.

use std::path::Path;

use gobo_types::TokenId;
use gobo_vocab::{TokenTable, VocabError};

use crate::ImportError;
use crate::bytes::Spelling;
use crate::checked::ID_LIMIT;
use crate::file::MAX_FILE_BYTES;
use crate::imported::{ImportOptions, Imported};
use crate::model::ModelFolder;
use crate::named_tokens::NamedTokens;

/// In errors, where a file has its path.
const NAME: &str = "the table";

/// Imports a table: the bytes that each id adds to a text, and whether it is special, in the order of ids. The kind is `table`.
///
/// An ordinary token without bytes is a hole. The bytes of a special token are its name, as in the table of any import: by it
/// [`ImportOptions::eos`] can name it, and so it is found where no option says how a text ends, if the name is well known.
/// Ordinary tokens have no names, so only ids name them. There are as many logits as tokens, holes at the end included. O(bytes).
///
/// # Errors
/// [`ImportError::Token`] with the id of a token longer than 4 KiB, of one beyond 2^22, or if no token spells anything;
/// [`ImportError::TooLarge`] for more than [`MAX_FILE_BYTES`] bytes in all; [`ImportError::OwnSpecialTokens`];
/// [`ImportError::UnknownName`], [`ImportError::BeyondWidth`], [`ImportError::WidthTooSmall`] for options that do not fit.
///
/// ```
/// use gobo_tokenizer::{ImportOptions, import_table};
///
/// let tokens = [(&b"a"[..], false), (b"", false), (b"\xc3", false), (b"</s>", true)];
/// let tokens = tokens.map(|(bytes, is_special)| (bytes.to_vec(), is_special));
/// let imported = import_table(tokens, &ImportOptions::default())?;
/// assert_eq!((imported.kind, imported.logits_width), ("table", 4));
/// assert_eq!(imported.eos, [3]);
/// # Ok::<(), gobo_tokenizer::ImportError>(())
/// ```
pub fn import_table(
    tokens: impl IntoIterator<Item = (Vec<u8>, bool)>,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    within(MAX_FILE_BYTES, tokens, options)
}

fn within(
    limit_bytes: u64,
    tokens: impl IntoIterator<Item = (Vec<u8>, bool)>,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let path = Path::new(NAME);
    if options.special.is_some() {
        return Err(ImportError::OwnSpecialTokens { path: path.into() });
    }
    let failed = |source| ImportError::Token { path: path.into(), source };
    let (mut table, mut names) = (TokenTable::new(), Vec::new());
    let (mut count, mut bytes_left): (TokenId, u64) = (0, limit_bytes);
    for (id, (bytes, is_special)) in (0..).zip(tokens) {
        if u64::from(id) >= ID_LIMIT {
            let limit = usize::try_from(ID_LIMIT).expect("the limit is small");
            return Err(failed(VocabError::TooManyIds { id, limit }));
        }
        bytes_left = bytes_left
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| ImportError::TooLarge { path: path.into(), limit_bytes })?;
        count = id + 1;
        // Holes at the end are the padding of the logits, and no part of the vocabulary.
        if bytes.is_empty() && !is_special {
            continue;
        }
        if let Ok(name) = std::str::from_utf8(&bytes)
            && is_special
            && !name.is_empty()
        {
            names.push((name.to_owned(), id));
        }
        table.insert(id, bytes, is_special).map_err(failed)?;
    }
    let tokens = NamedTokens::new(table, "table", Spelling::ByteLevel, names);
    NamedTokens { logits_width: Some(count), ..tokens }.spelling_something(path)?.bind(
        path,
        &ModelFolder::default(),
        options,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_too_many_bytes_is_read_no_further() {
        let mut taken = 0;
        let tokens = std::iter::repeat_with(|| {
            taken += 1;
            (b"abc".to_vec(), false)
        });
        let error = within(10, tokens, &ImportOptions::default()).unwrap_err();
        assert!(matches!(error, ImportError::TooLarge { limit_bytes: 10, .. }), "{error:?}");
        assert_eq!(taken, 4);
    }
}
