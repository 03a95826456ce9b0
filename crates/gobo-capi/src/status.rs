//! What a call says to C: a status, and a message that the thread can ask for. No panic crosses this border.

use std::cell::RefCell;
use std::error::Error;
use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ::gobo_store::StoreError;
use gobo_artifact::{ArtifactError, BatchError, DraftError, MatcherError};
use gobo_types::{ErrorKind, ParseDigestError, error_chain, panic_message};

/// What a call says. `gobo_last_error` has the message of everything but `GOBO_OK`.
#[expect(non_camel_case_types, reason = "these are the names in C")]
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum gobo_status {
    /// Done.
    GOBO_OK = 0,
    /// An argument is malformed: a text, a size, an alignment, an id.
    GOBO_INVALID = 1,
    /// An argument is well-formed, and this library does not support it.
    GOBO_UNSUPPORTED = 2,
    /// A documented limit was passed.
    GOBO_LIMIT = 3,
    /// There is no such vocabulary, index or file.
    GOBO_NOT_FOUND = 4,
    /// The name stands for something else already.
    GOBO_EXISTS = 5,
    /// A file, or the program itself, was made for another version of this library.
    GOBO_VERSION = 6,
    /// A file is damaged.
    GOBO_CORRUPT = 7,
    /// There is no room now, or no descriptor: try again.
    GOBO_BUSY = 8,
    /// Time ran out: try again.
    GOBO_DEADLINE = 9,
    /// The caller went away.
    GOBO_CANCELLED = 10,
    /// A bug of gobo. The handles of the call are to be freed and not used again.
    GOBO_INTERNAL = 11,
    /// The token is not allowed here. The matcher is as it was.
    GOBO_REFUSED = 12,
    /// The text has ended: nothing can follow.
    GOBO_ENDED = 13,
    /// A pointer is NULL where that has no meaning.
    GOBO_NULL_ARGUMENT = 14,
}

use gobo_status::{
    GOBO_BUSY, GOBO_CANCELLED, GOBO_CORRUPT, GOBO_DEADLINE, GOBO_ENDED, GOBO_EXISTS, GOBO_INTERNAL,
    GOBO_INVALID, GOBO_LIMIT, GOBO_NOT_FOUND, GOBO_NULL_ARGUMENT, GOBO_OK, GOBO_REFUSED, GOBO_UNSUPPORTED,
    GOBO_VERSION,
};

/// The word of each status, by its number.
const NAMES: [(gobo_status, &CStr); 15] = [
    (GOBO_OK, c"ok"),
    (GOBO_INVALID, c"invalid"),
    (GOBO_UNSUPPORTED, c"unsupported"),
    (GOBO_LIMIT, c"limit"),
    (GOBO_NOT_FOUND, c"not found"),
    (GOBO_EXISTS, c"exists"),
    (GOBO_VERSION, c"version"),
    (GOBO_CORRUPT, c"corrupt"),
    (GOBO_BUSY, c"busy"),
    (GOBO_DEADLINE, c"deadline"),
    (GOBO_CANCELLED, c"cancelled"),
    (GOBO_INTERNAL, c"internal"),
    (GOBO_REFUSED, c"refused"),
    (GOBO_ENDED, c"ended"),
    (GOBO_NULL_ARGUMENT, c"null argument"),
];

/// The word of a number that may be a status.
pub(crate) fn name(status: i32) -> &'static CStr {
    NAMES.iter().find(|(known, _)| *known as i32 == status).map_or(c"unknown", |(_, name)| name)
}

/// A call that failed: what C is told.
#[derive(Debug)]
pub(crate) struct Failure {
    status: gobo_status,
    message: String,
}

impl Failure {
    pub(crate) fn new(status: gobo_status, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    fn of(kind: ErrorKind, error: &dyn Error) -> Self {
        Self::new(kind.into(), error_chain(error))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", name(self.status as i32).to_string_lossy(), self.message)
    }
}

impl From<ErrorKind> for gobo_status {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Invalid => GOBO_INVALID,
            ErrorKind::Unsupported => GOBO_UNSUPPORTED,
            ErrorKind::Limit => GOBO_LIMIT,
            ErrorKind::NotFound => GOBO_NOT_FOUND,
            ErrorKind::Exists => GOBO_EXISTS,
            ErrorKind::Version => GOBO_VERSION,
            ErrorKind::Corrupt => GOBO_CORRUPT,
            ErrorKind::Busy => GOBO_BUSY,
            ErrorKind::Deadline => GOBO_DEADLINE,
            ErrorKind::Cancelled => GOBO_CANCELLED,
            _ => GOBO_INTERNAL,
        }
    }
}

impl From<&MatcherError> for gobo_status {
    fn from(error: &MatcherError) -> Self {
        match error {
            MatcherError::Refused { .. } | MatcherError::RefusedByte { .. } => GOBO_REFUSED,
            MatcherError::Ended => GOBO_ENDED,
            other => other.kind().into(),
        }
    }
}

impl From<MatcherError> for Failure {
    fn from(error: MatcherError) -> Self {
        Self::new(gobo_status::from(&error), error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::of(error.kind(), &error)
    }
}

impl From<ArtifactError> for Failure {
    fn from(error: ArtifactError) -> Self {
        Self::of(error.kind(), &error)
    }
}

impl From<BatchError> for Failure {
    fn from(error: BatchError) -> Self {
        Self::of(error.kind(), &error)
    }
}

impl From<DraftError> for Failure {
    fn from(error: DraftError) -> Self {
        Self::of(error.kind(), &error)
    }
}

impl From<ParseDigestError> for Failure {
    fn from(error: ParseDigestError) -> Self {
        Self::of(ErrorKind::Invalid, &error)
    }
}

thread_local! {
    /// The message of this thread's last failure.
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs a call. An error becomes its status, and so does a panic; the message is kept for the thread.
pub(crate) fn answer(call: impl FnOnce() -> Result<(), Failure>) -> gobo_status {
    // A matcher that panicked may be in the middle of a step. It stays within its own memory, and the header says not to use it.
    let failure = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return GOBO_OK,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let message = format!("a bug of gobo: {}", panic_message(&*panic));
            // Dropping what was thrown may panic again.
            std::mem::forget(panic);
            Failure::new(GOBO_INTERNAL, message)
        }
    };
    let message = c_text(&failure.message);
    // A thread that is ending keeps no message.
    let _ = LAST.try_with(|last| last.replace(message));
    failure.status
}

/// The message of this thread's last failure; empty without one. Valid until the thread's next failure.
pub(crate) fn last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// A text for C: a NUL within it would end it.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        let pointer = last_error();
        LAST.with(|last| {
            assert_eq!(last.borrow().as_ptr(), pointer);
            last.borrow().to_str().unwrap().to_owned()
        })
    }

    #[test]
    fn each_thread_has_the_message_of_its_own_last_failure() {
        assert_eq!(last(), "");
        assert_eq!(answer(|| Err(Failure::new(GOBO_LIMIT, "one\0two"))), GOBO_LIMIT);
        assert_eq!(answer(|| Ok(())), GOBO_OK);
        assert_eq!(last(), "one\u{fffd}two");
        std::thread::spawn(|| assert_eq!(last(), "")).join().unwrap();
        assert_eq!(answer(|| Err(MatcherError::Refused { id: 7 }.into())), GOBO_REFUSED);
        assert_eq!(last(), "token 7 is not allowed here");
    }

    #[test]
    fn no_panic_gets_out() {
        /// Panics once more when it is dropped.
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("again");
            }
        }
        assert_eq!(answer(|| panic!("number {}", 1)), GOBO_INTERNAL);
        assert_eq!(last(), "a bug of gobo: number 1");
        assert_eq!(answer(|| std::panic::panic_any(Bomb)), GOBO_INTERNAL);
        assert_eq!(last(), "a bug of gobo: a panic without a message");
    }

    #[test]
    fn statuses_are_numbered_and_named() {
        for (number, (status, name)) in (0..).zip(NAMES) {
            assert_eq!(status as i32, number);
            assert_eq!(super::name(number), name);
        }
        for stranger in [-1, 15, i32::MAX, i32::MIN] {
            assert_eq!(name(stranger), c"unknown");
        }
        assert_eq!(gobo_status::from(ErrorKind::NotFound), GOBO_NOT_FOUND);
        assert_eq!(gobo_status::from(&MatcherError::Ended), GOBO_ENDED);
        assert_eq!(gobo_status::from(&MatcherError::StackDepth { limit: 1, frames: 2 }), GOBO_LIMIT);
    }
}
