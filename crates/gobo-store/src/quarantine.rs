use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::clock::unix_ms;
use crate::publish::rename;
use crate::{Store, StoreError};

/// Why something lies in quarantine; part of its name there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Its bytes are not what was written.
    Corrupt,
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
            Self::Foreign => "foreign",
            Self::Version => "version",
            #[cfg(feature = "catalog")]
            Self::Catalog => "unusable",
        }
    }
}

impl Store {
    /// Moves `path` to quarantine, with a note beside it. Where that fails (a worker that may only read) the file
    /// stays: it is a miss all the same, and the owner will find it.
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

    /// Moves `path` to quarantine and says where it is now.
    pub(crate) fn quarantine(&self, path: &Path, reason: Reason, why: &str) -> Result<PathBuf, StoreError> {
        static MOVED: AtomicU64 = AtomicU64::new(0);

        let folder = self.layout().quarantine();
        fs::create_dir_all(&folder).map_err(StoreError::io("create", &folder))?;
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
        let note = folder.join(format!("{stem}-{mark}.txt"));
        let text = format!("{}: {why}\nwas {}\n", reason.word(), path.display());
        if let Err(error) = fs::write(&note, text) {
            tracing::warn!(note = %note.display(), %error, "cannot write a quarantine note");
        }
        Ok(at)
    }
}
