//! The destination of a file that a command writes.
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// Decided by the file at the path, before any work is done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// A regular file, or nothing yet: the new file takes its place in one step; processes that have mapped the old one keep it.
    File(PathBuf),
    /// `-`, or another path of standard output.
    Stdout,
    /// A named pipe or a character device (`/dev/null`, `>(program)`): written to as it is, for there is nothing to replace.
    Stream(PathBuf),
}

impl Destination {
    /// A link is followed: it stays, and the file that it leads to is replaced.
    ///
    /// # Errors
    /// For a folder, a socket, a block device, a link that leads nowhere, and for a terminal.
    pub(crate) fn at(path: &Path) -> anyhow::Result<Self> {
        let found = if path == Path::new("-") { Self::Stdout } else { Self::of_path(path)? };
        if found == Self::Stdout && io::stdout().is_terminal() {
            bail!("an index is no text for a terminal\nhint: --out FILE, or send stdout somewhere");
        }
        Ok(found)
    }

    fn of_path(path: &Path) -> anyhow::Result<Self> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
                return Ok(Self::File(path.to_owned()));
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot write {}", path.display()));
            }
        };
        let stdout = io::stdout().as_fd().try_clone_to_owned().map(File::from).and_then(|out| out.metadata());
        if stdout.is_ok_and(|stdout| (stdout.dev(), stdout.ino()) == (metadata.dev(), metadata.ino()))
            && !is_null(&metadata)
        {
            return Ok(Self::Stdout);
        }
        if metadata.is_file() {
            // The new file has to be made in the folder of the target of the link.
            let target = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
            return Ok(Self::File(target));
        }
        let found = metadata.file_type();
        if is_stream(found) {
            return Ok(Self::Stream(path.to_owned()));
        }
        bail!("cannot write {}: it is {}", path.display(), gobo_artifact::file::kind_name(found))
    }

    /// Writes all of it. A file is on the disk afterwards.
    pub(crate) fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        match self {
            Self::File(path) => Ok(gobo_store::write_file(path, bytes)?),
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes)?;
                Ok(stdout.flush()?)
            }
            Self::Stream(path) => {
                let opened = OpenOptions::new().write(true).open(path);
                opened
                    .and_then(|mut stream| stream.write_all(bytes))
                    .with_context(|| format!("cannot write {}", path.display()))
            }
        }
    }
}

fn is_stream(found: FileType) -> bool {
    found.is_fifo() || found.is_char_device()
}

/// Whether it is a device that swallows everything: naming it means no other than itself, also where stdout is the same.
fn is_null(metadata: &fs::Metadata) -> bool {
    let null = fs::metadata("/dev/null");
    metadata.file_type().is_char_device() && null.is_ok_and(|null| null.rdev() == metadata.rdev())
}
