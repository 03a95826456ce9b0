//! What an index says of its token edges.

use gobo_types::TokenId;

use crate::layout::index::tokens::{LETTER_BYTES, TokenTables};
use crate::read::index::Index;

impl Index {
    /// The tables of token edges, if there are any.
    #[inline]
    pub(crate) fn tokens(&self) -> Option<TokenTables<'_>> {
        self.tokens.as_ref().map(|tokens| tokens.tables(&self.artifact))
    }

    /// Whether some edge may read the token of an id. O(log ranges of ids).
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let (index, ..) = small::pattern();
    /// assert!(!index.may_read_whole(0));
    /// ```
    pub fn may_read_whole(&self, id: TokenId) -> bool {
        self.tokens().is_some_and(|tokens| tokens.class_of(id).is_some())
    }

    /// The letter that is read where a budget of tokens is spent, if some rule has one. O(1).
    #[inline]
    pub(crate) fn spent(&self) -> Option<&[u8]> {
        self.tokens()?.spent()
    }

    /// Whether it has token edges: then some texts need tokens that are read whole, whatever their bytes are. O(1).
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let (index, ..) = small::pattern();
    /// assert!(!index.has_token_edges());
    /// ```
    pub fn has_token_edges(&self) -> bool {
        self.tokens.is_some()
    }

    /// Whether all of these are bytes of texts. With token edges, the transitions also read letters, whose bytes no text has.
    #[inline]
    pub(crate) fn are_text(&self, bytes: &[u8]) -> bool {
        self.tokens.is_none() || !bytes.iter().any(|byte| LETTER_BYTES.contains(byte))
    }
}
