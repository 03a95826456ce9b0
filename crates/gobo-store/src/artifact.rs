use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use gobo_artifact::{Artifact, ArtifactError, Index, Vocabulary};
use gobo_types::{Digest, ErrorKind, IndexKey, VocabularyDigest, error_chain};
use rustix::fs::OFlags;

use crate::quarantine::Reason;
use crate::stamp::{self, Stamp};
use crate::{Store, StoreError};

/// What the store has to know of a kind of file.
pub(crate) trait ArtifactFile: Sized {
    fn open(path: &Path) -> Result<Self, ArtifactError>;
    fn open_file(file: &File, path: &Path) -> Result<Self, ArtifactError>;
    fn from_bytes(bytes: &[u8]) -> Result<Self, ArtifactError>;
    /// The whole file: digests and meaning. O(bytes).
    fn verify(&self) -> Result<(), ArtifactError>;
    /// What the file says it is.
    fn name(&self) -> Digest;
    fn artifact(&self) -> &Artifact;
}

impl ArtifactFile for Index {
    fn open(path: &Path) -> Result<Self, ArtifactError> {
        Self::open(path)
    }

    fn open_file(file: &File, path: &Path) -> Result<Self, ArtifactError> {
        Self::open_file(file, path)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, ArtifactError> {
        Self::from_bytes(bytes)
    }

    fn verify(&self) -> Result<(), ArtifactError> {
        self.verify()
    }

    fn name(&self) -> Digest {
        let IndexKey(digest) = self.key();
        digest
    }

    fn artifact(&self) -> &Artifact {
        self.artifact()
    }
}

impl ArtifactFile for Vocabulary {
    fn open(path: &Path) -> Result<Self, ArtifactError> {
        Self::open(path)
    }

    fn open_file(file: &File, path: &Path) -> Result<Self, ArtifactError> {
        Self::open_file(file, path)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, ArtifactError> {
        Self::from_bytes(bytes)
    }

    fn verify(&self) -> Result<(), ArtifactError> {
        self.verify()
    }

    fn name(&self) -> Digest {
        let VocabularyDigest(digest) = self.digest();
        digest
    }

    fn artifact(&self) -> &Artifact {
        self.artifact()
    }
}

/// How far a file is looked into before it is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// O(1): header, bounds, root, name.
    Open,
    /// O(1) if the very same file was verified before on this host, since it started; else all of it.
    VerifyOnce,
    /// O(bytes): all of it.
    Verify,
}

/// What came of opening a published file.
pub(crate) enum Looked<A> {
    Sound(A),
    Absent,
    /// Written by another version; left alone.
    OtherVersion,
    /// Damaged or foreign; moved to quarantine where possible.
    Quarantined,
}

impl<A> Looked<A> {
    pub(crate) fn sound(self) -> Option<A> {
        match self {
            Self::Sound(artifact) => Some(artifact),
            Self::Absent | Self::OtherVersion | Self::Quarantined => None,
        }
    }
}

/// Opens `path` as suits where it lies and what for.
fn open<A: ArtifactFile>(store: &Store, path: &Path, depth: Depth) -> Result<A, ArtifactError> {
    let refuse = |source| ArtifactError::Io { path: path.to_owned(), source };
    if store.network().is_some() {
        // Another host may cut the file while it is mapped, and that kills whoever reads on.
        return A::from_bytes(&read(path).map_err(refuse)?);
    }
    if depth == Depth::Verify {
        return A::open_file(&open_unnoticed(path).map_err(refuse)?, path);
    }
    A::open(path)
}

/// The bytes of a regular file. Others are refused: reading a pipe waits for its writer.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_unnoticed(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a regular file without changing its time of access, where that is allowed (the file's owner, or root): looking
/// after a file is no use of it, and eviction goes by uses.
pub(crate) fn open_unnoticed(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let flags = i32::from_ne_bytes(OFlags::NOATIME.bits().to_ne_bytes());
    File::options().read(true).custom_flags(flags).open(path).or_else(|error| {
        if error.kind() == io::ErrorKind::PermissionDenied { File::open(path) } else { Err(error) }
    })
}

/// Opens `path`, which should hold the artifact named `expected`. Everything that is wrong with the *file* is a miss;
/// an error is something wrong with this process or its machine (no permission, no file handles).
pub(crate) fn look<A: ArtifactFile>(
    store: &Store,
    path: &Path,
    expected: Digest,
    depth: Depth,
) -> Result<Looked<A>, StoreError> {
    let opened = open::<A>(store, path, depth).and_then(|artifact| {
        if depth == Depth::Open {
            return Ok(artifact);
        }
        let stamp = artifact.artifact().file_state().and_then(|state| Stamp::new(path, expected, &state));
        if depth == Depth::VerifyOnce && stamp.as_ref().is_some_and(Stamp::is_set) {
            return Ok(artifact);
        }
        store.count_verification();
        artifact.verify()?;
        if let Some(stamp) = stamp.filter(|_| depth == Depth::VerifyOnce && artifact.name() == expected) {
            stamp.set();
        }
        Ok(artifact)
    });
    match opened {
        Ok(artifact) if artifact.name() == expected => Ok(Looked::Sound(artifact)),
        Ok(artifact) => {
            let why = format!("the file says it is {}", artifact.name());
            store.set_aside(path, Reason::Foreign, &why);
            stamp::remove(path);
            Ok(Looked::Quarantined)
        }
        Err(error) => match error.kind() {
            ErrorKind::NotFound => Ok(Looked::Absent),
            ErrorKind::Version => {
                tracing::warn!(path = %path.display(), %error, "a file of another version is a miss");
                Ok(Looked::OtherVersion)
            }
            ErrorKind::Corrupt | ErrorKind::Invalid | ErrorKind::Unsupported | ErrorKind::Limit => {
                store.set_aside(path, Reason::Corrupt, &error_chain(&error));
                stamp::remove(path);
                Ok(Looked::Quarantined)
            }
            _ => Err(StoreError::Artifact { path: path.to_owned(), source: Box::new(error) }),
        },
    }
}

/// Opens the file at `temp`, refused unless it is wholly sound and is `expected`. `path` is where it would be published.
pub(crate) fn require<A: ArtifactFile>(temp: &Path, path: &Path, expected: Digest) -> Result<A, StoreError> {
    let refuse = |source| StoreError::Artifact { path: path.to_owned(), source: Box::new(source) };
    let artifact = A::open(temp).map_err(refuse)?;
    artifact.verify().map_err(refuse)?;
    let found = artifact.name();
    if found != expected {
        return Err(StoreError::WrongKey { path: path.to_owned(), expected, found });
    }
    Ok(artifact)
}
