//! Removes the temporary files of dead publishers.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use gobo_artifact::file::{Links, OpenRegular};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::directory::scan::{entries, fan_out_folders, passing_over};
use crate::files::TEMP_PREFIX;
use crate::{Store, StoreError};

/// No publish takes this long: for an older temporary file, the process id in its name is no protection.
const OLD: Duration = Duration::from_secs(3600);

impl Store {
    /// Removes the temporary files that dead publishers left behind and returns their number. The store's owner calls
    /// it at its start; doing so while others publish is safe. O(files).
    ///
    /// A file goes only if nobody holds its lock (the system frees it when the publisher dies) and if no process has
    /// the id in its name or it is over an hour old.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the system refuses for a reason that concerns more than one folder or file. Others are skipped with
    /// a warning.
    pub fn sweep(&self) -> Result<u64, StoreError> {
        let layout = self.layout();
        let mut folders = Vec::new();
        for fan in [layout.indices(), layout.vocabularies()] {
            folders.extend(passing_over(fan_out_folders(&fan))?.unwrap_or_default());
        }
        folders.extend([layout.names(), layout.pins(), layout.root().to_owned()]);
        let mut removed = 0;
        for folder in folders {
            for path in passing_over(entries(&folder))?.unwrap_or_default() {
                if !is_abandoned(&path, SystemTime::now()) {
                    continue;
                }
                match fs::remove_file(&path) {
                    Ok(()) => removed += 1,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    // In a folder of another user, for example: the file does no harm.
                    Err(error) => {
                        passing_over(Err::<(), _>(StoreError::io("remove", &path)(error)))?;
                    }
                }
            }
        }
        Ok(removed)
    }
}

fn is_abandoned(path: &Path, now: SystemTime) -> bool {
    let Some(rest) = path.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_prefix(TEMP_PREFIX))
    else {
        return false;
    };
    // No publisher makes anything but files.
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    let Some(modified) = metadata.modified().ok().filter(|_| metadata.is_file()) else { return false };
    let is_old = now.duration_since(modified).is_ok_and(|age| age > OLD);
    (is_old || !is_alive(rest)) && !is_locked(path)
}

/// Whether the process exists whose id follows the prefix. A name without an id counts as alive.
fn is_alive(rest: &str) -> bool {
    let id = rest.split_once('-').and_then(|(id, _)| id.parse().ok()).filter(|id| *id > 0);
    let Some(pid) = id.and_then(Pid::from_raw) else { return true };
    test_kill_process(pid) != Err(Errno::SRCH)
}

fn is_locked(path: &Path) -> bool {
    let Ok(file) = OpenRegular::new(Links::Refuse).open(path) else { return true };
    flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn only_what_is_unlocked_and_dead_or_old_is_abandoned() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = folder.path().join(name);
            File::create(&path).unwrap();
            path
        };
        let now = SystemTime::now();
        let later = now + 2 * OLD;
        // Process ids end at 2^22 on Linux.
        let dead = file(".tmp-2000000000-a");
        let mine = file(&format!(".tmp-{}-a", std::process::id()));
        let odd = file(".tmp-odd");
        let published = file("published");
        assert!(is_abandoned(&dead, now));
        assert!(!is_abandoned(&mine, now) && is_abandoned(&mine, later));
        assert!(!is_abandoned(&odd, now) && is_abandoned(&odd, later));
        assert!(!is_abandoned(&published, later));

        let holder = File::open(&dead).unwrap();
        flock(&holder, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(!is_abandoned(&dead, later));
    }
}
