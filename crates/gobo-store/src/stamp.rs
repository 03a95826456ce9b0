//! That a file was verified is written down beside it, for the processes to come.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gobo_artifact::file::{FileState, Links, OpenRegular};
use gobo_types::{Digest, FORMAT_EPOCH, SLICE_SET_EPOCH};

use crate::publish::write_unsynced;

/// Part of each stamp: whoever makes `verify` find more bumps it, and every file is verified again.
const VERIFIER: u32 = 1;

/// File systems tell times by a clock that stands still for some milliseconds. Only a file that was left alone for
/// longer is stamped: a write after the stamp then surely shows.
const SETTLED: Duration = Duration::from_millis(100);

/// What the stamp of a file has to say, to the letter, for the file to be believed.
#[derive(Debug)]
pub(crate) struct Stamp {
    path: PathBuf,
    text: String,
    changed: SystemTime,
}

impl Stamp {
    /// Of the file at `path`, whose name is `name`. `None` where the system does not tell one start of it from another.
    pub(crate) fn new(path: &Path, name: Digest, state: &FileState) -> Option<Self> {
        // Another host, or this one started anew, numbers its devices otherwise and reads the disk again.
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let FileState { device, inode, bytes, modified, changed } = *state;
        let mut text =
            format!("gobo verified {VERIFIER} {FORMAT_EPOCH} {SLICE_SET_EPOCH} {name} {}", boot.trim());
        for part in [device, inode, bytes] {
            write!(text, " {part}").ok()?;
        }
        for (seconds, nanoseconds) in [modified, changed] {
            write!(text, " {seconds}.{nanoseconds:09}").ok()?;
        }
        text.push('\n');
        let since = Duration::new(u64::try_from(changed.0).ok()?, u32::try_from(changed.1).ok()?);
        Some(Self { path: path_of(path), text, changed: UNIX_EPOCH + since })
    }

    /// Whether it is there.
    pub(crate) fn is_set(&self) -> bool {
        let read = OpenRegular::new(Links::Refuse).read(&self.path, self.text.len() as u64);
        read.is_ok_and(|found| found == self.text.as_bytes())
    }

    /// Writes it. The file was verified after its state was taken, so what was written to it meanwhile shows too. Where
    /// nothing can be written, every process verifies for itself.
    pub(crate) fn set(&self) {
        if !SystemTime::now().duration_since(self.changed).is_ok_and(|age| age > SETTLED) {
            return;
        }
        if let Err(error) = write_unsynced(&self.path, self.text.as_bytes()) {
            tracing::debug!(path = %self.path.display(), %error, "cannot note that a file was verified");
        }
    }
}

/// Removes the stamp of the file at `path`, if there is one.
pub(crate) fn remove(path: &Path) {
    // One that stays is not believed: it is of a file that is gone.
    let _ = fs::remove_file(path_of(path));
}

/// `<name>.verified` beside `<name>.gobov`.
fn path_of(path: &Path) -> PathBuf {
    path.with_extension("verified")
}
