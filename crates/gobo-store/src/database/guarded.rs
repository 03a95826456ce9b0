//! A database whose panics are errors.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::{Database, DatabaseError, Entry, MemoryDatabase, OpenDatabase};

/// A database whose panics are errors: some databases panic over damaged bytes, and a panic must not end a caller of the
/// catalog.
#[derive(Debug)]
pub(crate) struct Guarded(Box<dyn Database>);

impl Guarded {
    pub(crate) fn open(opener: &dyn OpenDatabase, folder: &Path) -> Result<Self, DatabaseError> {
        contained(|| opener.open(folder)).map(Self)
    }

    /// An empty database without a disk.
    pub(crate) fn in_memory() -> Self {
        Self(Box::new(MemoryDatabase::default()))
    }
}

impl Database for Guarded {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DatabaseError> {
        contained(|| self.0.get(key))
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>, DatabaseError> {
        contained(|| self.0.insert(key, value))
    }

    fn remove(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DatabaseError> {
        contained(|| self.0.remove(key))
    }

    fn apply(&self, batch: &[Entry]) -> Result<(), DatabaseError> {
        contained(|| self.0.apply(batch))
    }

    fn scan<'db>(
        &'db self,
        from: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Entry, DatabaseError>> + Send + 'db> {
        let mut entries = match contained(|| Ok(self.0.scan(from))) {
            Ok(entries) => Some(entries),
            Err(error) => return Box::new(std::iter::once(Err(error))),
        };
        Box::new(std::iter::from_fn(move || {
            let next = contained(|| entries.as_mut().and_then(Iterator::next).transpose()).transpose();
            // A scan that panicked is not asked again.
            if matches!(next, Some(Err(DatabaseError::Panicked { .. }))) {
                entries = None;
            }
            next
        }))
    }

    fn flush(&self) -> Result<(), DatabaseError> {
        contained(|| self.0.flush())
    }
}

fn contained<T>(job: impl FnOnce() -> Result<T, DatabaseError>) -> Result<T, DatabaseError> {
    catch_unwind(AssertUnwindSafe(job))
        .unwrap_or_else(|panic| Err(DatabaseError::Panicked { message: message(&*panic) }))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}
