//! Kinds of errors across all crates, and errors as text.

/// The kind of an error, across all crates: callers act on it, people read the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input is malformed.
    Invalid,
    /// The input is well-formed, and gobo does not support it.
    Unsupported,
    /// A documented limit was passed.
    Limit,
    /// The named object does not exist.
    NotFound,
    /// The name stands for something else already.
    Exists,
    /// The file or peer speaks another version.
    Version,
    /// Stored bytes are damaged.
    Corrupt,
    /// Another owner holds it, or there is no room now; try again.
    Busy,
    /// Time ran out; try again.
    Deadline,
    /// The caller went away.
    Cancelled,
    /// The caller may not do this.
    Denied,
    /// A bug of gobo.
    Internal,
}

/// An error and its sources on one line: for logs, and for replies that carry text.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text.push_str(": ");
        text.push_str(&source.to_string());
        next = source.source();
    }
    text
}

/// The message of a caught panic.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
        .to_owned()
}
