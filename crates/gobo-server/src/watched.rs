//! Values that are read from files, and read anew when what the files hold changes.
//!
//! Files are read every [`EVERY`] and compared by content: Kubernetes and certificate managers replace them through links, whose times say
//! nothing. Where the new contents make no value, the old value stays, and a count and a line of the log say so.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gobo_types::{Digest, error_chain};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::error::FileError;

/// How often files are read.
const EVERY: Duration = Duration::from_secs(5);

/// Most bytes of one file.
const MAX_BYTES: u64 = 4 << 20;

/// Reads a file.
///
/// # Errors
/// [`FileError::Read`] if it cannot be read, and [`FileError::TooLong`] if it has more than 4 MiB.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    let failed = |source| FileError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(FileError::TooLong { path: path.to_owned(), limit: MAX_BYTES });
    }
    Ok(bytes)
}

type Parse<T> = Box<dyn Fn(&[Vec<u8>]) -> Result<T, FileError> + Send + Sync>;

/// A value from files.
pub(crate) struct Watched<T> {
    /// What they are, for the log.
    what: &'static str,
    paths: Vec<PathBuf>,
    parse: Parse<T>,
    current: watch::Sender<Arc<T>>,
    /// The digest of what was looked at last, or of the error.
    seen: Mutex<Digest>,
    /// Whether that made no value.
    is_broken: AtomicBool,
    replaced: AtomicU64,
    broken: AtomicU64,
}

/// How often a value was replaced since the start, and how often what was there was none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Replacements {
    pub(crate) replaced: u64,
    pub(crate) broken: u64,
}

impl<T> fmt::Debug for Watched<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Watched").field("paths", &self.paths).finish_non_exhaustive()
    }
}

impl<T: Send + Sync + 'static> Watched<T> {
    /// Reads the value. `parse` is given the contents of all files in their order.
    ///
    /// # Errors
    /// If a file cannot be read or they make no value.
    pub(crate) fn open(
        what: &'static str,
        paths: Vec<PathBuf>,
        parse: impl Fn(&[Vec<u8>]) -> Result<T, FileError> + Send + Sync + 'static,
    ) -> Result<Arc<Self>, FileError> {
        let contents = contents(&paths)?;
        let value = parse(&contents)?;
        let seen = Mutex::new(digest(&contents));
        let [replaced, broken] = [0; 2].map(AtomicU64::new);
        let current = watch::Sender::new(Arc::new(value));
        Ok(Arc::new(Self {
            what,
            paths,
            parse: Box::new(parse),
            current,
            seen,
            is_broken: AtomicBool::new(false),
            replaced,
            broken,
        }))
    }

    /// The value now.
    pub(crate) fn get(&self) -> Arc<T> {
        Arc::clone(&self.current.borrow())
    }

    pub(crate) fn replacements(&self) -> Replacements {
        let [replaced, broken] = [&self.replaced, &self.broken].map(|count| count.load(Ordering::Relaxed));
        Replacements { replaced, broken }
    }

    /// Looks at the files once: whether there is a new value. What was looked at before is not told of again.
    pub(crate) fn look(&self) -> Result<bool, FileError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let read = contents(&self.paths);
        let now = match &read {
            Ok(contents) => digest(contents),
            Err(error) => Digest::of(error_chain(error).as_bytes()),
        };
        if *seen == now {
            return Ok(false);
        }
        *seen = now;
        let value = read.and_then(|contents| (self.parse)(&contents));
        self.is_broken.store(value.is_err(), Ordering::Relaxed);
        match value {
            Ok(value) => {
                self.current.send_replace(Arc::new(value));
                self.replaced.fetch_add(1, Ordering::Relaxed);
                tracing::info!("{} are replaced", self.what);
                Ok(true)
            }
            Err(error) => {
                self.broken.fetch_add(1, Ordering::Relaxed);
                tracing::error!(
                    error = error_chain(&error),
                    "{} cannot be replaced; those from before stay",
                    self.what
                );
                Err(error)
            }
        }
    }

    /// As [`Self::look`], and tells again of files that could not be used before: somebody asks.
    pub(crate) fn look_again(&self) -> Result<bool, FileError> {
        let is_broken = self.is_broken.load(Ordering::Relaxed);
        if is_broken {
            *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Digest::of(b"");
        }
        self.look()
    }

    /// Looks at the files from now on, for as long as somebody has the value.
    pub(crate) fn keep(self: &Arc<Self>) {
        let (runtime, weak) = (Handle::current(), Arc::downgrade(self));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(EVERY).await;
                let Some(watched) = weak.upgrade() else { return };
                // What is wrong is logged there. A disk may be slow.
                let _ = runtime.spawn_blocking(move || watched.look()).await;
            }
        });
    }
}

fn contents(paths: &[PathBuf]) -> Result<Vec<Vec<u8>>, FileError> {
    paths.iter().map(|path| read(path)).collect()
}

fn digest(contents: &[Vec<u8>]) -> Digest {
    let lengths = contents.iter().flat_map(|bytes| (bytes.len() as u64).to_le_bytes());
    let all: Vec<u8> = lengths.chain(contents.iter().flatten().copied()).collect();
    Digest::of(&all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_replaced_by_a_sound_one_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("number");
        std::fs::write(&path, "1").unwrap();
        let parse = |contents: &[Vec<u8>]| {
            let text = String::from_utf8_lossy(&contents[0]);
            text.parse::<u32>()
                .map_err(|_| FileError::Content { path: "number".into(), why: "no number".into() })
        };
        let watched = Watched::open("numbers", vec![path.clone()], parse).unwrap();
        assert!(!watched.look().unwrap() && !watched.look_again().unwrap());
        std::fs::write(&path, "2").unwrap();
        assert!(watched.look().unwrap());
        for broken in 0..2 {
            std::fs::write(&path, format!("half{broken}")).unwrap();
            assert!(watched.look().is_err());
            assert!(!watched.look().unwrap(), "once is enough");
            assert!(watched.look_again().is_err(), "unless somebody asks");
            assert_eq!(*watched.get(), 2);
        }
        std::fs::remove_file(&path).unwrap();
        assert!(watched.look().is_err());
        std::fs::create_dir(&path).unwrap();
        assert!(matches!(watched.look(), Err(FileError::Read { .. })));
        std::fs::remove_dir(&path).unwrap();
        std::fs::write(&path, "3").unwrap();
        assert!(watched.look().unwrap());
        assert_eq!(*watched.get(), 3);
        assert_eq!(watched.replacements(), Replacements { replaced: 2, broken: 6 });
        std::fs::write(&path, vec![b'1'; 5 << 20]).unwrap();
        assert!(matches!(watched.look(), Err(FileError::TooLong { .. })));
    }
}
