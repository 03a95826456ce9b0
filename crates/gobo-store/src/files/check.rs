//! Decides whether a published file is sound: what is wrong with a *file* is a miss, what is wrong with this process or its
//! machine is an error.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use gobo_artifact::file::{Links, OpenRegular};
use gobo_artifact::layout::Artifact;
use gobo_artifact::{ArtifactError, Index, Vocabulary};
use gobo_types::{Digest, ErrorKind, IndexKey, VocabularyDigest, error_chain};

use super::quarantine::Reason;
use super::stamp::{self, Stamp};
use crate::{Store, StoreError};

/// A kind of published file.
pub(crate) trait ArtifactFile: Sized {
    fn open_file(file: &File, path: &Path) -> Result<Self, ArtifactError>;
    fn from_bytes(bytes: &[u8]) -> Result<Self, ArtifactError>;
    /// The whole file: digests and meaning. O(bytes).
    fn verify(&self) -> Result<(), ArtifactError>;
    /// The key or digest that the file claims.
    fn name(&self) -> Digest;
    fn artifact(&self) -> &Artifact;
}

impl ArtifactFile for Index {
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

/// How much of a file is checked before it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// O(1): header, bounds, root, name.
    Open,
    /// O(1) if the very same file was verified before on this host since its start; otherwise all of it.
    VerifyOnce,
    /// O(bytes): all of it.
    Verify,
}

/// The result of opening a published file.
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

/// The identity that a published file must have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    /// The key or digest that the file must claim.
    name: Digest,
    /// blake3 of its header, where that is recorded: a file with another header is another file.
    header: Option<Digest>,
}

impl Expected {
    /// The file of this name with this header.
    pub(crate) fn recorded(name: Digest, header: Digest) -> Self {
        Self { name, header: Some(header) }
    }

    /// Why a sound artifact is not the one expected.
    fn objection<A: ArtifactFile>(&self, artifact: &A) -> Option<String> {
        if artifact.name() != self.name {
            return Some(format!("the file says it is {}", artifact.name()));
        }
        let found = artifact.artifact().header_digest();
        self.header
            .filter(|recorded| *recorded != found)
            .map(|recorded| format!("its header has the digest {found}, and {recorded} is on record"))
    }
}

impl From<Digest> for Expected {
    fn from(name: Digest) -> Self {
        Self { name, header: None }
    }
}

/// Opens `path`: mapped, or copied on a network file system; a verification leaves the access time alone.
fn open<A: ArtifactFile>(store: &Store, path: &Path, depth: Depth) -> Result<A, ArtifactError> {
    let refuse = |error| ArtifactError::of_open(path, error);
    // Verification is no use of a file, and eviction goes by uses.
    let unnoticed = OpenRegular::new(Links::Refuse).unnoticed();
    if store.network().is_some() {
        // Another host may truncate the file while it is mapped, and that kills a process that reads on.
        return A::from_bytes(&unnoticed.read(path, u64::MAX).map_err(refuse)?);
    }
    let how = if depth == Depth::Verify { unnoticed } else { OpenRegular::new(Links::Refuse) };
    A::open_file(&how.open(path).map_err(refuse)?, path)
}

/// Why an unreadable file counts as damaged, if it does: published files are readable by everybody.
fn closed_to_all(path: &Path, error: &ArtifactError) -> Option<String> {
    let ArtifactError::Io { source, .. } = error else { return None };
    if source.kind() != io::ErrorKind::PermissionDenied {
        return None;
    }
    let mode = fs::symlink_metadata(path).ok()?.mode() & 0o7777;
    (mode & 0o444 != 0o444).then(|| format!("it has mode {mode:04o} and was published with 0444"))
}

/// Opens `path`, which should hold the artifact named `expected`. A fault of the *file* is a miss; an error is a fault of this
/// process or its machine (no permission, no file handles).
pub(crate) fn look<A: ArtifactFile>(
    store: &Store,
    path: &Path,
    expected: impl Into<Expected>,
    depth: Depth,
) -> Result<Looked<A>, StoreError> {
    let expected = expected.into();
    let opened = open::<A>(store, path, depth).and_then(|artifact| {
        if depth == Depth::Open {
            return Ok(artifact);
        }
        let stamp =
            artifact.artifact().file_state().and_then(|state| Stamp::new(path, expected.name, &state));
        if depth == Depth::VerifyOnce && stamp.as_ref().is_some_and(Stamp::is_set) {
            return Ok(artifact);
        }
        store.count_verification();
        artifact.verify()?;
        if let Some(stamp) = stamp.filter(|_| depth == Depth::VerifyOnce && artifact.name() == expected.name)
        {
            stamp.set();
        }
        Ok(artifact)
    });
    match opened {
        Ok(artifact) => match expected.objection(&artifact) {
            None => Ok(Looked::Sound(artifact)),
            Some(why) => {
                store.set_aside(path, Reason::Foreign, &why);
                stamp::remove(path);
                Ok(Looked::Quarantined)
            }
        },
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
            _ => match closed_to_all(path, &error) {
                Some(why) => {
                    store.set_aside(path, Reason::Corrupt, &why);
                    Ok(Looked::Quarantined)
                }
                None => Err(StoreError::Artifact { path: path.to_owned(), source: Box::new(error) }),
            },
        },
    }
}

/// Opens the file at `temp`, and refuses it unless it is wholly sound and named `expected`. `path` is its final path.
pub(crate) fn require<A: ArtifactFile>(temp: &Path, path: &Path, expected: Digest) -> Result<A, StoreError> {
    let refuse = |source| StoreError::Artifact { path: path.to_owned(), source: Box::new(source) };
    let file = OpenRegular::new(Links::Refuse).open(temp);
    let file = file.map_err(|error| refuse(ArtifactError::of_open(temp, error)))?;
    let artifact = A::open_file(&file, temp).map_err(refuse)?;
    artifact.verify().map_err(refuse)?;
    let found = artifact.name();
    if found != expected {
        return Err(StoreError::WrongKey { path: path.to_owned(), expected, found });
    }
    Ok(artifact)
}
