//! Locations: a document and a JSON pointer (RFC 6901) into it.

/// A value in one of the documents.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Location {
    /// 0 for the schema itself.
    pub(crate) document: usize,
    /// A JSON pointer.
    pub(crate) pointer: String,
}

impl Location {
    /// Steps of copying or hashing the pointer, or of following it.
    pub(crate) fn steps(&self) -> u64 {
        self.pointer.len() as u64 / 4
    }

    /// The location that further pointer tokens lead to.
    pub(crate) fn at(&self, tokens: &[&str]) -> Self {
        let mut pointer = self.pointer.clone();
        for token in tokens {
            pointer.push('/');
            pointer.push_str(&escape_token(token));
        }
        Self { document: self.document, pointer }
    }
}

/// One token of a JSON pointer, escaped (RFC 6901, section 3).
pub(crate) fn escape_token(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}
