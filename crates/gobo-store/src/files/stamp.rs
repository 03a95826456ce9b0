//! Stamps: notes beside files that they were verified on this host, for later processes.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gobo_artifact::file::{FileState, Links, OpenRegular};
use gobo_types::{Digest, FORMAT_EPOCH, SLICE_SET_EPOCH};

use super::atomic_write::write_unsynced;

/// Part of each stamp. To be raised with each change that makes `verify` stricter: then every file is verified again.
const VERIFIER: u32 = 1;

/// The clock of file times stands still for some milliseconds. Only a file that was unchanged for longer is stamped, so that
/// a write after the stamp changes its times.
const SETTLED: Duration = Duration::from_millis(100);

/// The exact text that the stamp of a file must have for the file to count as verified.
#[derive(Debug)]
pub(crate) struct Stamp {
    path: PathBuf,
    text: String,
    changed: SystemTime,
}

impl Stamp {
    /// The stamp of the file at `path`, whose name is `name`. `None` if the system does not identify its boot.
    pub(crate) fn new(path: &Path, name: Digest, state: &FileState) -> Option<Self> {
        // After a reboot, or on another host, device numbers differ and the disk is read again.
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

    /// Writes it. The file was verified after its state was taken, so a write meanwhile invalidates the stamp too. If it cannot
    /// be written, every process verifies the file itself.
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
    // A stamp that stays is ignored: its file is gone.
    let _ = fs::remove_file(path_of(path));
}

/// `<name>.verified` beside `<name>.gobov`.
fn path_of(path: &Path) -> PathBuf {
    path.with_extension("verified")
}
