//! Arrays of files, of bounded length.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::id_map::ID_LIMIT;
use crate::ImportError;

/// An array with at most as many elements as a vocabulary may have ids. Further ones are counted and dropped, so that memory
/// is bounded for any file.
#[derive(Debug)]
pub(crate) struct Capped<T> {
    kept: Vec<T>,
    given: u64,
}

impl<T> Capped<T> {
    /// All elements of the field at `path`.
    ///
    /// # Errors
    /// [`ImportError::TooMany`] if there are more than the limit.
    pub(crate) fn all(self, path: &Path, field: &'static str) -> Result<Vec<T>, ImportError> {
        if self.given > ID_LIMIT {
            let (path, given) = (path.into(), self.given);
            return Err(ImportError::TooMany { path, field, given, limit: ID_LIMIT });
        }
        Ok(self.kept)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Capped<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CappedVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for CappedVisitor<T> {
            type Value = Capped<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut kept = Vec::new();
                let mut given = 0;
                while given < ID_LIMIT {
                    let Some(element) = access.next_element()? else { return Ok(Capped { kept, given }) };
                    kept.push(element);
                    given += 1;
                }
                while access.next_element::<IgnoredAny>()?.is_some() {
                    given += 1;
                }
                Ok(Capped { kept, given })
            }
        }

        deserializer.deserialize_seq(CappedVisitor(PhantomData))
    }
}
