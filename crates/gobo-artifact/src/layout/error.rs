//! Why a file cannot be used: the system refuses it, or its bytes are not those of a sound file.

use std::path::{Path, PathBuf};

use gobo_types::ErrorKind;

use crate::file::OpenError;
use crate::layout::kind::ArtifactKind;

/// Why a file cannot be used.
///
/// ```
/// use std::path::Path;
/// use gobo_artifact::Index;
/// use gobo_types::ErrorKind;
///
/// let error = Index::open(Path::new("/nowhere.gobo")).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::NotFound);
/// assert_eq!(error.to_string(), "cannot open /nowhere.gobo");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// The operating system refused.
    #[error("cannot open {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The bytes are not those of a sound file of this version.
    #[error("{origin} is not usable")]
    Format {
        /// The file, or `bytes in memory`.
        origin: String,
        /// The fault.
        #[source]
        fault: Fault,
    },
}

/// A fault in the bytes of an artifact.
///
/// ```
/// use gobo_artifact::{ArtifactError, Fault, Index};
///
/// let error = Index::from_bytes(b"not an index").unwrap_err();
/// assert!(matches!(error, ArtifactError::Format { fault: Fault::Magic, .. }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A named pipe, a folder, a device: nothing that could hold an artifact.
    #[error("it is {found}, not a regular file")]
    NotRegular {
        /// The kind of file.
        found: &'static str,
    },
    /// Not an artifact at all.
    #[error("it does not begin with gobo's magic bytes")]
    Magic,
    /// Written by another version.
    #[error("it has format version {found}, this program reads version {expected}")]
    Version {
        /// In the file.
        found: u32,
        /// Of this program.
        expected: u32,
    },
    /// A vocabulary where an index was asked for, or the reverse.
    #[error("it holds {found}, not {expected}")]
    Kind {
        /// In the file.
        found: String,
        /// Asked for.
        expected: ArtifactKind,
    },
    /// The file is shorter or longer than it says.
    #[error("it has {found} bytes and should have {expected}")]
    Length {
        /// Bytes there.
        found: u64,
        /// Bytes according to the header, or needed for one.
        expected: u64,
    },
    /// The header's own checksum does not hold.
    #[error("its header does not match its checksum")]
    HeaderChecksum,
    /// A field of the header is out of its bounds.
    #[error("its header says {what}")]
    Header {
        /// The field and its value.
        what: String,
    },
    /// A section is unknown, missing, twice there, misplaced or of the wrong size.
    #[error("section {section}: {what}")]
    Section {
        /// The section's name or number.
        section: String,
        /// The fault, for a person.
        what: String,
    },
    /// A section does not match its digest.
    #[error("section {section} does not match its digest")]
    Digest {
        /// The section's name.
        section: &'static str,
    },
    /// The bytes are whole and mean nothing: written by a broken or hostile program.
    #[error("its content contradicts itself: {what}")]
    Meaning {
        /// Which rule is broken, and where.
        what: String,
    },
    /// The file is sound, and another one was asked for.
    #[error("it is the file of key {found}, not of {expected}")]
    Key {
        /// In the file.
        found: String,
        /// Asked for.
        expected: String,
    },
}

impl ArtifactError {
    /// Why nothing was opened at `path`.
    pub fn of_open(path: &Path, error: OpenError) -> Self {
        match error {
            OpenError::Io(source) => Self::Io { path: path.into(), source },
            OpenError::NotRegular { found } => {
                Self::Format { origin: path.display().to_string(), fault: Fault::NotRegular { found } }
            }
            OpenError::TooLong { limit_bytes } => {
                let source = std::io::Error::other(OpenError::TooLong { limit_bytes });
                Self::Io { path: path.into(), source }
            }
        }
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            Self::Io { .. } => ErrorKind::Busy,
            Self::Format { fault: Fault::Version { .. }, .. } => ErrorKind::Version,
            Self::Format { .. } => ErrorKind::Corrupt,
        }
    }
}
