//! Quarantine: files that failed a check are moved to a folder of their own, each with a note, and trimmed by age and size.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gobo_types::IndexKey;

use super::atomic_write::rename;
use crate::clock::unix_ms;
use crate::directory::folders::create_folder;
use crate::directory::scan::{entries, passing_over};
use crate::{Store, StoreError};

/// Why an entry is in quarantine; part of its name there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Its bytes are damaged.
    Corrupt,
    /// It is sound, and its masks are wrong.
    Wrong,
    /// A sound file under another file's name.
    Foreign,
    /// Another version's file in the way of a new one.
    Version,
    /// A catalog that this version cannot use.
    #[cfg(feature = "catalog")]
    Catalog,
}

impl Reason {
    fn word(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::Wrong => "wrong",
            Self::Foreign => "foreign",
            Self::Version => "version",
            #[cfg(feature = "catalog")]
            Self::Catalog => "unusable",
        }
    }
}

/// Bounds of the quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quarantine {
    /// Most bytes; the oldest go first. Default 1 GiB.
    pub max_bytes: u64,
    /// Longest time. Default 30 days.
    pub max_age: Duration,
}

impl Default for Quarantine {
    fn default() -> Self {
        Self { max_bytes: 1 << 30, max_age: Duration::from_secs(30 * 24 * 3600) }
    }
}

/// The result of trimming the quarantine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trimmed {
    /// Number of entries removed, each with its note.
    pub removed: u64,
    /// Their bytes.
    pub removed_bytes: u64,
    /// Number of entries left.
    pub left: u64,
    /// Their bytes.
    pub left_bytes: u64,
}

/// An entry of the quarantine and its note.
#[derive(Debug, Default)]
struct Kept {
    paths: Vec<PathBuf>,
    bytes: u64,
}

impl Store {
    /// Removes the entries older than `bounds.max_age` at `now`, then the oldest ones until `bounds.max_bytes` are left.
    /// Without `removing` it only counts them. O(files in quarantine).
    ///
    /// # Errors
    /// [`StoreError::Io`] if the folder cannot be read or an entry cannot be removed; the others were removed then.
    pub fn trim_quarantine(
        &self,
        bounds: &Quarantine,
        now: SystemTime,
        removing: bool,
    ) -> Result<Trimmed, StoreError> {
        let mut kept: BTreeMap<(SystemTime, String), Kept> = BTreeMap::new();
        for path in entries(&self.layout().quarantine())? {
            let Some((bytes, modified)) = passing_over(measure(&path))?.flatten() else { continue };
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let (name, since) = match mark(name) {
                Some((mark, since)) => (mark, since),
                // Not an entry of gobo.
                None => (name, modified),
            };
            let entry = kept.entry((since, name.to_owned())).or_default();
            entry.bytes += bytes;
            entry.paths.push(path);
        }
        let mut trimmed = Trimmed {
            left: kept.len() as u64,
            left_bytes: kept.values().map(|kept| kept.bytes).sum(),
            ..Trimmed::default()
        };
        let mut failed = None;
        for ((since, _), Kept { paths, bytes }) in kept {
            // Times beyond `now` come from a clock that was ahead: as old as nothing.
            let is_old = now.duration_since(since).is_ok_and(|age| age > bounds.max_age);
            if !is_old && trimmed.left_bytes <= bounds.max_bytes {
                continue;
            }
            let mut is_gone = true;
            for path in paths.iter().filter(|_| removing) {
                if let Err(error) = remove(path) {
                    is_gone = false;
                    failed.get_or_insert(error);
                }
            }
            // An entry that cannot be removed does not keep the others.
            if !is_gone {
                continue;
            }
            trimmed.removed += 1;
            trimmed.removed_bytes += bytes;
            trimmed.left -= 1;
            trimmed.left_bytes -= bytes;
        }
        failed.map_or(Ok(trimmed), Err)
    }

    /// Moves the index of `key` to quarantine because it is sound and its masks are wrong; `why` goes into its note. Processes
    /// that have it mapped keep it. The owner removes the catalog's record afterwards.
    ///
    /// # Errors
    /// [`StoreError::Io`] if it cannot be moved.
    pub fn condemn_index(&self, key: &IndexKey, why: &str) -> Result<(), StoreError> {
        self.quarantine(&self.index_path(key), Reason::Wrong, why).map(drop)
    }

    /// Moves `path` to quarantine, with a note. If that fails (a worker that may only read) the file stays: it is a miss all the
    /// same, and the owner will find it.
    pub(crate) fn set_aside(&self, path: &Path, reason: Reason, why: &str) {
        match self.quarantine(path, reason, why) {
            Ok(at) => {
                tracing::warn!(path = %path.display(), at = %at.display(), why, "moved to quarantine");
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, why, "unusable, and cannot be moved to quarantine");
            }
        }
    }

    /// Moves `path` to quarantine and returns its new path.
    pub(crate) fn quarantine(&self, path: &Path, reason: Reason, why: &str) -> Result<PathBuf, StoreError> {
        static MOVED: AtomicU64 = AtomicU64::new(0);

        let folder = self.layout().quarantine();
        create_folder(&folder)?;
        let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or("file");
        // The process and a count keep two moves within one millisecond apart.
        let mark = format!(
            "{}-{}-{}.{}",
            unix_ms(SystemTime::now()),
            std::process::id(),
            MOVED.fetch_add(1, Ordering::Relaxed),
            reason.word()
        );
        let mut name = format!("{stem}-{mark}");
        if let Some(extension) = path.extension().and_then(OsStr::to_str) {
            name.push('.');
            name.push_str(extension);
        }
        let at = folder.join(name);
        rename(path, &at).map_err(StoreError::io("move to quarantine", path))?;
        self.count_quarantined();
        let note = folder.join(format!("{stem}-{mark}.txt"));
        let text = format!("{}: {why}\nwas {}\n", reason.word(), path.display());
        // A file that has this name already is not opened.
        let written = File::options().write(true).create_new(true).open(&note);
        if let Err(error) = written.and_then(|mut note| note.write_all(text.as_bytes())) {
            tracing::warn!(note = %note.display(), %error, "cannot write a quarantine note");
        }
        Ok(at)
    }
}

fn remove(path: &Path) -> Result<(), StoreError> {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let removed = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// The common part of an entry's name and its note's, and when it came to quarantine:
/// `<stem>-<milliseconds>-<process>-<count>.<reason>`.
fn mark(name: &str) -> Option<(&str, SystemTime)> {
    let mark = name.split('.').next()?;
    let mut parts = mark.rsplitn(4, '-');
    let (count, process, milliseconds) = (parts.next()?, parts.next()?, parts.next()?);
    parts.next()?;
    count.parse::<u64>().ok().and(process.parse::<u32>().ok())?;
    let since = UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds.parse().ok()?))?;
    Some((mark, since))
}

/// Bytes of a file, or of all files below a folder, and its last change. `None`: it is gone.
fn measure(path: &Path) -> Result<Option<(u64, SystemTime)>, StoreError> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("read", path)(error)),
    };
    let mut bytes = metadata.len();
    if metadata.is_dir() {
        bytes = 0;
        for below in entries(path)? {
            bytes += measure(&below)?.map_or(0, |(bytes, _)| bytes);
        }
    }
    Ok(Some((bytes, metadata.modified().unwrap_or(UNIX_EPOCH))))
}
