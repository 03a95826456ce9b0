//! Opens a regular file at a path where something else may be: a pipe, a device, a link.

use std::fs::{self, File, FileType};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// How a symbolic link at the end of a path is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Links {
    /// It is followed: for paths that a person has named.
    Follow,
    /// It is no regular file: for paths at which a program puts files itself.
    Refuse,
}

/// Why a path was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Something lies there that is no regular file.
    #[error("it is {found}, not a regular file")]
    NotRegular {
        /// The kind of file: `a named pipe`, `a folder`.
        found: &'static str,
    },
    /// It has more bytes than the reader allows.
    #[error("it has more than {limit_bytes} bytes")]
    TooLong {
        /// Most bytes.
        limit_bytes: u64,
    },
}

/// Opens regular files for reading, and nothing else: a named pipe at the path makes no caller wait, and a device is not
/// opened. The kind of file is checked before it is opened, and again afterwards, as another file may have taken its place.
#[derive(Debug, Clone, Copy)]
pub struct OpenRegular {
    links: Links,
    unnoticed: bool,
}

impl OpenRegular {
    /// Opens regular files.
    pub fn new(links: Links) -> Self {
        Self { links, unnoticed: false }
    }

    /// Leaves the time of access as it is, where that is allowed: to the file's owner, and to root.
    #[must_use]
    pub fn unnoticed(self) -> Self {
        Self { unnoticed: true, ..self }
    }

    /// Opens the regular file at `path`. Never waits for another process. O(1).
    ///
    /// # Errors
    /// [`OpenError::NotRegular`] if something else is there; [`OpenError::Io`] if nothing is, or the system refuses.
    pub fn open(self, path: &Path) -> Result<File, OpenError> {
        let metadata = match self.links {
            Links::Follow => fs::metadata(path)?,
            Links::Refuse => fs::symlink_metadata(path)?,
        };
        check_regular(metadata.file_type())?;
        let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        if self.links == Links::Refuse {
            flags |= OFlags::NOFOLLOW;
        }
        let noatime = if self.unnoticed { NOATIME } else { OFlags::empty() };
        let file = match open_with(path, flags | noatime) {
            // Only its owner may hide a look.
            Err(error) if !noatime.is_empty() && error.kind() == io::ErrorKind::PermissionDenied => {
                open_with(path, flags)
            }
            other => other,
        };
        let file = match file {
            // Since it was looked at, a link has taken its place.
            Err(error)
                if self.links == Links::Refuse && Errno::from_io_error(&error) == Some(Errno::LOOP) =>
            {
                return Err(OpenError::NotRegular { found: "a symbolic link" });
            }
            other => other?,
        };
        check_regular(file.metadata()?.file_type())?;
        Ok(file)
    }

    /// The bytes of the regular file at `path`, if they are at most `limit_bytes`.
    ///
    /// # Errors
    /// Those of [`OpenRegular::open`], and [`OpenError::TooLong`].
    pub fn read(self, path: &Path, limit_bytes: u64) -> Result<Vec<u8>, OpenError> {
        let mut bytes = Vec::new();
        self.open(path)?.take(limit_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit_bytes {
            return Err(OpenError::TooLong { limit_bytes });
        }
        Ok(bytes)
    }
}

#[cfg(target_os = "linux")]
const NOATIME: OFlags = OFlags::NOATIME;
#[cfg(not(target_os = "linux"))]
const NOATIME: OFlags = OFlags::empty();

fn open_with(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = i32::from_ne_bytes(flags.bits().to_ne_bytes());
    File::options().read(true).custom_flags(flags).open(path)
}

/// Refuses every kind of file but a regular one.
pub(crate) fn check_regular(found: FileType) -> Result<(), OpenError> {
    if found.is_file() { Ok(()) } else { Err(OpenError::NotRegular { found: kind_name(found) }) }
}

/// The name of this kind of file, with its article.
pub fn kind_name(found: FileType) -> &'static str {
    if found.is_file() {
        "a regular file"
    } else if found.is_dir() {
        "a folder"
    } else if found.is_symlink() {
        "a symbolic link"
    } else if found.is_fifo() {
        "a named pipe"
    } else if found.is_socket() {
        "a socket"
    } else if found.is_block_device() || found.is_char_device() {
        "a device"
    } else {
        "something unknown"
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Each of them would hang a reader, or hand it what is no file, if it were opened as files are.
    #[test]
    fn nothing_but_a_regular_file_is_opened_and_nobody_waits() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), b"bytes").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink(at("loop"), at("loop")).unwrap();
        let pipe = rustix::fs::Mode::RWXU;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, pipe, 0).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        let found = |links, path: &Path| match OpenRegular::new(links).open(path) {
            Ok(_) => "opened",
            Err(OpenError::NotRegular { found }) => found,
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => "absent",
            Err(_) => "refused",
        };
        for links in [Links::Follow, Links::Refuse] {
            assert_eq!(found(links, &at("file")), "opened");
            assert_eq!(found(links, &at("pipe")), "a named pipe");
            assert_eq!(found(links, &at("socket")), "a socket");
            assert_eq!(found(links, folder.path()), "a folder");
            assert_eq!(found(links, Path::new("/dev/null")), "a device");
            assert_eq!(found(links, &at("none")), "absent");
        }
        assert_eq!(found(Links::Follow, &at("link")), "opened");
        assert_eq!(found(Links::Follow, &at("loop")), "refused");
        assert_eq!(found(Links::Refuse, &at("link")), "a symbolic link");
        assert_eq!(found(Links::Refuse, &at("loop")), "a symbolic link");
        let unnoticed = OpenRegular::new(Links::Refuse).unnoticed();
        assert_eq!(unnoticed.read(&at("file"), 5).unwrap(), b"bytes");
        assert!(matches!(unnoticed.read(&at("file"), 4), Err(OpenError::TooLong { limit_bytes: 4 })));
    }
}
