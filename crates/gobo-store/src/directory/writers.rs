//! Which users may write to a store.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::Store;
use crate::StoreError;

/// The users, beside root, that may write to a store. A user who may put a file into one of its folders can change masks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Writers {
    /// The user of the store's owner process alone.
    #[default]
    Owner,
    /// The folders' group too: several users who trust each other publish into one store. Their folders may belong to
    /// any of them.
    Group,
    /// Anybody: nothing is checked.
    Anyone,
}

impl Writers {
    /// The bits that no folder may have.
    fn refused(self) -> u32 {
        match self {
            Self::Owner => 0o022,
            Self::Group => 0o002,
            Self::Anyone => 0,
        }
    }
}

impl Store {
    /// Refuses a store if other users than `writers` may put files into its folders. An owner calls it before it relies on
    /// any file. Folders that are missing or unreadable are skipped; folders above the store, and access control lists
    /// beyond the mode, are not checked. O(1): some 520 folders.
    ///
    /// # Errors
    /// [`StoreError::OtherWriters`] naming the first such folder, and the command that mends it.
    pub fn refuse_other_writers(&self, writers: Writers) -> Result<(), StoreError> {
        if writers == Writers::Anyone {
            return Ok(());
        }
        let user = rustix::process::geteuid().as_raw();
        for folder in self.layout().folders() {
            let Ok(metadata) = fs::metadata(&folder) else { continue };
            let (mode, owner) = (metadata.mode() & 0o7777, metadata.uid());
            let is_foreign = writers == Writers::Owner && owner != user && owner != 0;
            let is_open = mode & writers.refused() != 0;
            if !is_foreign && !is_open {
                continue;
            }
            let root = quoted(self.root());
            let mend = match (is_foreign, writers) {
                (true, _) => format!("chown -R {user} {root}"),
                (false, Writers::Group) => format!("chmod -R o-w {root}"),
                (false, _) => format!("chmod -R go-w {root}"),
            };
            return Err(StoreError::OtherWriters { path: folder, mode, owner, mend });
        }
        Ok(())
    }
}

/// A path as a word of a shell.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    if path.bytes().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_a_shell() {
        assert_eq!(quoted(Path::new("/var/lib/gobo-1.0")), "/var/lib/gobo-1.0");
        assert_eq!(quoted(Path::new("/a b/it's $HOME")), r"'/a b/it'\''s $HOME'");
    }
}
