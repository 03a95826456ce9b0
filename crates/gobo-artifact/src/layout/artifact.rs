//! A file whose header was checked, and typed views of its sections.
//!
//! Invariant: the range of every section lies within the file, and begins at a multiple of
//! [`SECTION_ALIGN`](crate::file::SECTION_ALIGN). A [`Span`] is made once at open, after its length was checked; a look at its
//! elements is O(1) and cannot fail.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use gobo_types::{ArtifactDigest, Digest};
use zerocopy::{FromBytes, Immutable, KnownLayout};

use crate::file::{Backing, FileState, OpenError};
use crate::layout::error::{ArtifactError, Fault};
use crate::layout::header::{Header, Section, header_bytes};
use crate::layout::kind::ArtifactKind;
use crate::layout::section as kinds;

/// Longest root in bytes, some ten times the longest that is written: it is the one section that `open` reads.
const MAX_ROOT_BYTES: u64 = 1 << 12;

/// The bytes of a file whose header has been checked. Vocabularies and indices are views of one.
#[derive(Debug)]
pub struct Artifact {
    backing: Backing,
    header: Header,
    origin: String,
}

/// The error for something at `path` that is no file: for `map_err`.
fn refused(path: &Path) -> impl FnOnce(OpenError) -> ArtifactError {
    move |error| ArtifactError::of_open(path, error)
}

/// Where a typed section lies; made once at open, so that a lookup is a slice and no search.
#[derive(Debug, Clone)]
pub(crate) struct Span(Range<usize>);

impl Artifact {
    pub(crate) fn open(path: &Path, kind: ArtifactKind) -> Result<Self, ArtifactError> {
        let backing = Backing::map(path).map_err(refused(path))?;
        Self::check(backing, kind, path.display().to_string())
    }

    pub(crate) fn open_file(file: &File, path: &Path, kind: ArtifactKind) -> Result<Self, ArtifactError> {
        let backing = Backing::map_file(file).map_err(refused(path))?;
        Self::check(backing, kind, path.display().to_string())
    }

    pub(crate) fn from_bytes(bytes: &[u8], kind: ArtifactKind) -> Result<Self, ArtifactError> {
        Self::check(Backing::heap(bytes), kind, "bytes in memory".into())
    }

    fn check(backing: Backing, kind: ArtifactKind, origin: String) -> Result<Self, ArtifactError> {
        match Header::decode(&backing, kind) {
            Ok(header) => Ok(Self { backing, header, origin }),
            Err(fault) => Err(ArtifactError::Format { origin, fault }),
        }
    }

    /// All bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.backing
    }

    /// blake3 of all bytes. O(file).
    pub fn digest(&self) -> ArtifactDigest {
        ArtifactDigest(Digest::of(&self.backing))
    }

    /// The state of the mapped file when it was opened; `None` for bytes in memory.
    pub fn file_state(&self) -> Option<FileState> {
        self.backing.state()
    }

    /// The section table.
    pub fn sections(&self) -> &[Section] {
        &self.header.sections
    }

    /// The key in the header: an index key, or a vocabulary digest.
    pub fn key(&self) -> [u8; 32] {
        self.header.key
    }

    /// blake3 of the header, as it stands in the header. The header holds the digests of all sections, so of two files that
    /// verify and agree in this, all bytes are equal. O(1).
    pub fn header_digest(&self) -> Digest {
        Digest(self.header.digest)
    }

    /// The path the file was opened at, or `bytes in memory`.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    pub(crate) fn fault(&self, fault: Fault) -> ArtifactError {
        ArtifactError::Format { origin: self.origin.clone(), fault }
    }

    pub(crate) fn meaning(&self, what: impl Into<String>) -> ArtifactError {
        self.fault(Fault::Meaning { what: what.into() })
    }

    pub(crate) fn section(&self, kind: u32) -> &Section {
        self.header
            .sections
            .iter()
            .find(|section| section.kind == kind)
            .expect("the header check proved that every section of the file's kind is there")
    }

    pub(crate) fn has_section(&self, kind: u32) -> bool {
        self.header.sections.iter().any(|section| section.kind == kind)
    }

    pub(crate) fn section_bytes(&self, kind: u32) -> &[u8] {
        &self.backing[self.range(kind)]
    }

    fn range(&self, kind: u32) -> Range<usize> {
        let section = self.section(kind);
        let at = |offset: u64| {
            usize::try_from(offset).expect("the header check bounds offsets by the file's length")
        };
        at(section.offset)..at(section.offset + section.length)
    }

    /// The span of a section of `count` elements of `T`.
    pub(crate) fn span<T>(&self, kind: u32, count: u64) -> Result<Span, ArtifactError> {
        let section = self.section(kind);
        if Some(section.length) != count.checked_mul(size_of::<T>() as u64) {
            let what = format!("it has {} bytes instead of {count} times {}", section.length, size_of::<T>());
            return Err(self.fault(Fault::Section { section: section.name().into(), what }));
        }
        Ok(Span(self.range(kind)))
    }

    /// The span of a section of any whole number of elements of `T`.
    pub(crate) fn open_span<T>(&self, kind: u32) -> Result<Span, ArtifactError> {
        self.span::<T>(kind, self.section(kind).length / size_of::<T>() as u64)
    }

    /// The elements of a span. O(1).
    pub(crate) fn get<T: FromBytes + Immutable + KnownLayout>(&self, span: &Span) -> &[T] {
        // Length and alignment were checked when the span was made: sections are 64-byte aligned in a backing that
        // is aligned at least as much.
        <[T]>::ref_from_bytes(&self.backing[span.0.clone()]).unwrap_or_default()
    }

    /// The root of the file. O(1): a root is a few counts and digests.
    pub(crate) fn root<T>(&self) -> Result<T, ArtifactError>
    where
        T: rkyv::Archive,
        T::Archived: for<'a> rkyv::bytecheck::CheckBytes<rkyv::api::high::HighValidator<'a, rkyv::rancor::Failure>>
            + rkyv::Deserialize<T, rkyv::api::high::HighDeserializer<rkyv::rancor::Failure>>,
    {
        let section = self.section(kinds::ROOT);
        if section.length > MAX_ROOT_BYTES {
            let what = format!("it has {} bytes, more than {MAX_ROOT_BYTES}", section.length);
            return Err(self.fault(Fault::Section { section: section.name().into(), what }));
        }
        self.archive(kinds::ROOT)
    }

    /// The value archived in a section.
    pub(crate) fn archive<T>(&self, kind: u32) -> Result<T, ArtifactError>
    where
        T: rkyv::Archive,
        T::Archived: for<'a> rkyv::bytecheck::CheckBytes<rkyv::api::high::HighValidator<'a, rkyv::rancor::Failure>>
            + rkyv::Deserialize<T, rkyv::api::high::HighDeserializer<rkyv::rancor::Failure>>,
    {
        rkyv::from_bytes::<T, rkyv::rancor::Failure>(self.section_bytes(kind)).map_err(|_| {
            let section = kinds::name(kind).unwrap_or_default().into();
            self.fault(Fault::Section { section, what: "it is not a valid archive".into() })
        })
    }

    /// Checks every section against its digest, and the padding between them. O(file).
    pub(crate) fn verify_digests(&self) -> Result<(), ArtifactError> {
        let mut end = header_bytes(self.header.sections.len());
        for section in &self.header.sections {
            let range = self.range(section.kind);
            if self.backing[end..range.start].iter().any(|&byte| byte != 0) {
                return Err(self.meaning(format!("padding before section {} is not zero", section.name())));
            }
            end = range.end;
            if blake3::hash(&self.backing[range]).as_bytes() != &section.digest {
                return Err(self.fault(Fault::Digest { section: section.name() }));
            }
        }
        Ok(())
    }
}
