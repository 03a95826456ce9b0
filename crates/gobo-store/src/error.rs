//! The errors of a store.

use std::io;
use std::path::{Path, PathBuf};

use gobo_artifact::ArtifactError;
use gobo_artifact::file::OpenError;
use gobo_types::{Digest, ErrorKind};
use rustix::io::Errno;

use crate::{Owner, OwnerProcess};

/// Everything that can go wrong with a store. Each error names the path it is about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file system refused.
    #[error("cannot {action} {path}", path = path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No space, quota or allowed file size is left. Nothing became visible, and the temporary file is gone.
    #[error("no room to {action} {path}", path = path.display())]
    NoRoom {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something that is no regular file is where the store needs one of its own.
    #[error("{path} is {found}, not a regular file; hint: move it away", path = path.display())]
    NotRegular {
        /// Its path.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// Other users than the store's owner may put files into it.
    #[error(
        "others may write to the store: {path} has mode {mode:04o} and belongs to user {owner}; hint: `{mend}` ends that, \
         and `gobo catalog rebuild` verifies what is there; `--store-writers group` or `anyone` allows it",
        path = path.display()
    )]
    OtherWriters {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// Its owner.
        owner: u32,
        /// The command that mends it.
        mend: String,
    },
    /// The bytes to publish, or a file in the store, are no whole artifact.
    #[error("no sound artifact for {path}", path = path.display())]
    Artifact {
        /// The path of the file, published or not.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<ArtifactError>,
    },
    /// The bytes to publish are a sound artifact of another name.
    #[error("wrong artifact for {path}: expected {expected}, found {found}", path = path.display())]
    WrongKey {
        /// The path at which the file would have been published.
        path: PathBuf,
        /// The name asked for.
        expected: Digest,
        /// The name in the bytes.
        found: Digest,
    },
    /// Not a name for a vocabulary.
    #[error(
        "{name:?} is no vocabulary name: 1 to 100 of A-Z, a-z, 0-9, '.', '_' and '-', beginning with a letter or digit"
    )]
    BadName {
        /// What was given, cut to 120 characters.
        name: String,
    },
    /// The file of a name is damaged. Import the vocabulary again under this name to replace it.
    #[error("the name {name:?} is damaged in {path}", path = path.display())]
    BrokenName {
        /// The name.
        name: String,
        /// Its file.
        path: PathBuf,
        /// The position of the error.
        source: serde_json::Error,
    },
    /// Another owner has the catalog open.
    #[error("{} owns the catalog {}; hint: {}", who(owner.as_ref()), path.display(), wait_or_ask(owner.as_ref(), socket))]
    Locked {
        /// The catalog's folder.
        path: PathBuf,
        /// The socket of its owner, if that is a daemon.
        socket: PathBuf,
        /// Its owner, where that is known.
        owner: Option<OwnerProcess>,
    },
    /// The store lies on a network file system: its locks, its `fsync` and the safety of maps depend on other hosts.
    #[error(
        "the store {path} is on {kind}, a network file system, which cannot be owned from here; \
         hint: put the store on a disk of this host, or let workers read it there and run the daemon on the host of the disk",
        path = path.display()
    )]
    NetworkFileSystem {
        /// The root of the store.
        path: PathBuf,
        /// Which one: `NFS`, `SMB`, `fuse.sshfs`.
        kind: String,
    },
    /// The catalog's database failed.
    #[cfg(feature = "catalog")]
    #[error("the catalog {path} failed", path = path.display())]
    Catalog {
        /// The catalog's folder.
        path: PathBuf,
        /// What the database said.
        source: crate::DatabaseError,
    },
    /// A record of the catalog is not what this version writes.
    #[cfg(feature = "catalog")]
    #[error("the record {record} of the catalog {path} is damaged", path = path.display())]
    Record {
        /// The catalog's folder.
        path: PathBuf,
        /// The key of the record.
        record: String,
        /// The position of the error.
        source: serde_json::Error,
    },
    /// A value could not be written as JSON: a bug of gobo.
    #[error("cannot encode {what}")]
    Encode {
        /// What.
        what: &'static str,
        /// Why.
        source: serde_json::Error,
    },
    /// A migration built into this program is malformed: a bug of gobo.
    #[cfg(feature = "catalog")]
    #[error("the built-in migration {file} is malformed")]
    Migration {
        /// Its file name in `migrations/`.
        file: &'static str,
        /// The position of the error; none if its number is not its position.
        source: Option<Box<toml::de::Error>>,
    },
}

impl StoreError {
    /// The kind of error: `Busy` for a full disk and a second owner, `Corrupt` for damage, `NotFound` and `Invalid`
    /// for paths that are absent or may not be used, `Internal` for the rest.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { source, .. } => io_kind(source),
            Self::NoRoom { .. } | Self::Locked { .. } => ErrorKind::Busy,
            Self::Artifact { source, .. } => source.kind(),
            Self::WrongKey { .. } | Self::BrokenName { .. } | Self::NotRegular { .. } => ErrorKind::Corrupt,
            Self::BadName { .. } | Self::NetworkFileSystem { .. } | Self::OtherWriters { .. } => {
                ErrorKind::Invalid
            }
            Self::Encode { .. } => ErrorKind::Internal,
            #[cfg(feature = "catalog")]
            Self::Catalog { source, .. } => match source {
                crate::DatabaseError::Io(source) => io_kind(source),
                crate::DatabaseError::InUse => ErrorKind::Busy,
                crate::DatabaseError::Damaged(_) => ErrorKind::Corrupt,
                crate::DatabaseError::Version(_) => ErrorKind::Version,
                _ => ErrorKind::Internal,
            },
            #[cfg(feature = "catalog")]
            Self::Record { .. } => ErrorKind::Corrupt,
            #[cfg(feature = "catalog")]
            Self::Migration { .. } => ErrorKind::Internal,
        }
    }

    /// Whether the error concerns only the file or folder that it names, and not this process or its machine: then other files
    /// may be usable.
    pub(crate) fn is_of_its_path(&self) -> bool {
        let source = match self {
            Self::Io { source, .. } => source,
            Self::Artifact { source, .. } => match &**source {
                ArtifactError::Io { source, .. } => source,
                _ => return true,
            },
            _ => return false,
        };
        let of_path = [
            Errno::ACCESS,
            Errno::PERM,
            Errno::LOOP,
            Errno::IO,
            Errno::NOTDIR,
            Errno::ISDIR,
            Errno::NAMETOOLONG,
            Errno::NOTEMPTY,
            Errno::STALE,
        ];
        Errno::from_io_error(source).is_some_and(|errno| of_path.contains(&errno))
    }

    /// Wraps an error of opening a file: for `map_err`.
    pub(crate) fn open(action: &'static str, path: &Path) -> impl FnOnce(OpenError) -> Self {
        move |error| match error {
            OpenError::Io(source) => Self::io(action, path)(source),
            OpenError::NotRegular { found } => Self::NotRegular { path: path.to_owned(), found },
            other => Self::Io { action, path: path.to_owned(), source: io::Error::other(other) },
        }
    }

    /// Wraps an I/O error: for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| {
            let path = path.to_owned();
            if is_no_room(&source) {
                Self::NoRoom { action, path, source }
            } else {
                Self::Io { action, path, source }
            }
        }
    }
}

/// The owner of a catalog, as the subject of a sentence.
fn who(owner: Option<&OwnerProcess>) -> String {
    match owner {
        None => "another process".to_owned(),
        Some(OwnerProcess { owner: Owner::Daemon, process }) => format!("another daemon (process {process})"),
        Some(OwnerProcess { owner, process }) if *owner == Owner::default() => {
            format!("another program (process {process})")
        }
        Some(OwnerProcess { owner, process }) => format!("`gobo {owner}` (process {process})"),
    }
}

/// What to do next where somebody else owns a catalog.
fn wait_or_ask(owner: Option<&OwnerProcess>, socket: &Path) -> String {
    let socket = socket.display();
    match owner.map(|owner| &owner.owner) {
        Some(Owner::Daemon) => format!("talk to it through unix:{socket}, or stop it first"),
        Some(Owner::Command(_)) => {
            "wait until it ends; commands share a store while `gobo serve` runs on it".to_owned()
        }
        None => format!("if it is a daemon, talk to it through unix:{socket}; otherwise wait until it ends"),
    }
}

fn is_no_room(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

/// Whether this process or the whole system has as many files open as it may.
fn is_out_of_descriptors(error: &io::Error) -> bool {
    let errors = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE];
    errors.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn io_kind(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::AlreadyExists
        | io::ErrorKind::InvalidInput
        | io::ErrorKind::InvalidFilename => ErrorKind::Invalid,
        io::ErrorKind::WouldBlock
        | io::ErrorKind::ResourceBusy
        | io::ErrorKind::StaleNetworkFileHandle
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::TimedOut => ErrorKind::Busy,
        _ if is_no_room(error) || is_out_of_descriptors(error) => ErrorKind::Busy,
        _ => ErrorKind::Internal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lack_of_resources_is_no_bug() {
        for (errno, kind) in [
            (rustix::io::Errno::MFILE, ErrorKind::Busy),
            (rustix::io::Errno::NFILE, ErrorKind::Busy),
            (rustix::io::Errno::NOSPC, ErrorKind::Busy),
            (rustix::io::Errno::NOENT, ErrorKind::NotFound),
            (rustix::io::Errno::IO, ErrorKind::Internal),
        ] {
            let error = StoreError::io("open", Path::new("x"))(errno.into());
            assert_eq!(error.kind(), kind, "{error}");
        }
    }
}
