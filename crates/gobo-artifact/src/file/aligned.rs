//! The alignment of sections, and memory that has it.

/// Sections begin at multiples of this many bytes: one cache line.
pub const SECTION_ALIGN: usize = 64;

/// Bytes aligned as sections are, so that a file that was just written can be read in place.
pub type AlignedBytes = rkyv::util::AlignedVec<SECTION_ALIGN>;
