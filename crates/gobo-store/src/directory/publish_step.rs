//! The steps of publishing a file, which an observer of a store is told of.

/// The steps of publishing, in order. An observer is told of each after it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PublishStep {
    /// The temporary file exists, empty and locked by its writer.
    TempCreated,
    /// It holds all bytes (and was verified, if that was requested).
    Written,
    /// It can no longer be opened for writing (mode 0444).
    ModeSet,
    /// Its bytes are on the disk.
    FileSynced,
    /// It has its name: from now on others see it.
    Renamed,
    /// Its name is on the disk.
    DirectorySynced,
    /// The catalog's record of it is on the disk.
    Catalogued,
}

impl PublishStep {
    /// All steps, in order.
    pub const ALL: [Self; 7] = [
        Self::TempCreated,
        Self::Written,
        Self::ModeSet,
        Self::FileSynced,
        Self::Renamed,
        Self::DirectorySynced,
        Self::Catalogued,
    ];
}
