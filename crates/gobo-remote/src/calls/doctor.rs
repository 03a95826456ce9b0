//! What an operator wants to know of a bucket before hosts rely on it.

use std::time::{Duration, Instant, SystemTime};

use gobo_types::IndexKey;
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutMode, PutPayload};

use super::remote::Remote;
use crate::RemoteError;
use crate::bucket::Mode;

/// Calls whose times are taken.
const CALLS: u32 = 20;

/// What was found.
#[derive(Debug)]
pub struct Examined {
    /// The versions of gobo whose objects are there, by their epochs; or why they cannot be listed.
    pub versions: Result<Vec<String>, RemoteError>,
    /// Whether a key that is not there is said not to be there; or what is said instead.
    pub absent: Result<(), RemoteError>,
    /// What was found by writing a small object and removing it; `None` where nothing is to be written.
    pub written: Option<Result<Written, RemoteError>>,
}

/// What writing has shown.
#[derive(Debug, Clone)]
pub struct Written {
    /// How long it took to write the object.
    pub put: Duration,
    /// How long it took to read it, ascending.
    pub gets: Vec<Duration>,
    /// Whether an object that is only to be made where there is none was refused where there is one. gobo needs that for nothing but
    /// bandwidth; some servers take such an object.
    pub is_condition_kept: bool,
    /// How far the clock of the bucket is ahead of this one, in whole seconds; below zero: behind.
    pub clock_ahead: i64,
}

impl Remote {
    /// Lists, reads, and where this host writes, writes and removes one object of 13 bytes. Blocks, for some calls.
    pub fn examine(&self) -> Examined {
        Examined {
            versions: self.versions(),
            absent: self.absent(),
            written: (self.config().mode == Mode::Write).then(|| self.try_writing()),
        }
    }

    fn versions(&self) -> Result<Vec<String>, RemoteError> {
        let root = self.names().root();
        let parts: Vec<_> = root.parts().collect();
        let above: Path = parts[..parts.len() - 1].iter().cloned().collect();
        let listed = self.wait("a list of versions", self.bucket().list_with_delimiter(Some(&above)))?;
        let names = listed.common_prefixes.iter().filter_map(|prefix| prefix.filename());
        Ok(names.filter(|name| name.starts_with('v')).map(str::to_owned).collect())
    }

    fn absent(&self) -> Result<(), RemoteError> {
        let nobody = IndexKey::from(random_key());
        let name = self.names().index(&nobody);
        match self.wait("a key that is not there", self.bucket().get(&name)) {
            Ok(_) | Err(RemoteError::NotThere { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn try_writing(&self) -> Result<Written, RemoteError> {
        let name = self.names().root().clone().join("doctor").join(format!("{:016x}", fastrand::u64(..)));
        let content = || PutPayload::from_static(b"gobo was here");
        let begun = Instant::now();
        self.wait("writing an object", self.bucket().put(&name, content()))?;
        let put = begun.elapsed();
        let examined = self.try_reading(&name, put, content);
        // Whatever was found; an object that stays does no harm.
        let removed = self.wait("removing an object", self.bucket().delete(&name));
        let examined = examined?;
        removed.map(|()| examined)
    }

    fn try_reading(
        &self,
        name: &Path,
        put: Duration,
        content: impl Fn() -> PutPayload,
    ) -> Result<Written, RemoteError> {
        let mut gets = Vec::new();
        for _ in 0..CALLS {
            let begun = Instant::now();
            self.wait("reading an object", async { self.bucket().get(name).await?.bytes().await })?;
            gets.push(begun.elapsed());
        }
        gets.sort();
        let twice = self.bucket().put_opts(name, content(), PutMode::Create.into());
        let is_condition_kept = self.wait("writing an object where one is", twice).is_err();
        let begun = SystemTime::now();
        let head = self.wait("reading the time of an object", self.bucket().head(name))?;
        let here = begun.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let here = i64::try_from(here.as_secs()).unwrap_or(i64::MAX);
        Ok(Written { put, gets, is_condition_kept, clock_ahead: head.last_modified.timestamp() - here })
    }
}

/// A key that nobody has.
fn random_key() -> [u8; 32] {
    let mut key = [0; 32];
    fastrand::fill(&mut key);
    key
}
