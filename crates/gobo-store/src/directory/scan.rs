//! Lists the published files by their names, without opening them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gobo_artifact::file::kind_name;
use gobo_types::{IndexKey, VocabularyDigest, error_chain};

use super::Store;
use super::layout::{is_fan_out, parse_index, parse_vocabulary};
use crate::StoreError;

/// A published file, found by its name. It was not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published<K> {
    /// The key in its name.
    pub key: K,
    /// Its path.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// When it was published.
    pub published: SystemTime,
    /// When a reader last opened it, as far as the file system records that: with `relatime` to the day.
    pub accessed: SystemTime,
    /// Its number on its device.
    pub inode: u64,
}

/// What a store holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of published indices.
    pub indices: u64,
    /// Their bytes.
    pub index_bytes: u64,
    /// Number of published vocabularies of this slice-set epoch.
    pub vocabularies: u64,
    /// Their bytes.
    pub vocabulary_bytes: u64,
}

impl Usage {
    /// Bytes of all published files.
    pub fn bytes(&self) -> u64 {
        self.index_bytes + self.vocabulary_bytes
    }
}

impl Store {
    /// The published indices, ascending by key. Skips temporary files, and with a warning unreadable folders and entries that
    /// are no regular files. Reads one of at most 256 folders at a time; a file that comes or goes meanwhile may or may not
    /// be seen.
    ///
    /// # Errors
    /// An item is [`StoreError::Io`] if the system refuses for a reason that concerns more than one folder or file.
    pub fn scan_indices(&self) -> impl Iterator<Item = Result<Published<IndexKey>, StoreError>> + use<> {
        scan(&self.layout().indices(), parse_index)
    }

    /// The published vocabularies of this slice-set epoch, like [`Store::scan_indices`].
    ///
    /// # Errors
    /// As for [`Store::scan_indices`].
    pub fn scan_vocabularies(
        &self,
    ) -> impl Iterator<Item = Result<Published<VocabularyDigest>, StoreError>> + use<> {
        scan(&self.layout().vocabularies(), parse_vocabulary)
    }

    /// Counts the published files. O(files), none is opened.
    ///
    /// # Errors
    /// As for [`Store::scan_indices`].
    pub fn usage(&self) -> Result<Usage, StoreError> {
        let mut usage = Usage::default();
        for index in self.scan_indices() {
            usage.indices += 1;
            usage.index_bytes += index?.bytes;
        }
        for vocabulary in self.scan_vocabularies() {
            usage.vocabularies += 1;
            usage.vocabulary_bytes += vocabulary?.bytes;
        }
        Ok(usage)
    }
}

fn scan<K>(
    folder: &Path,
    parse: fn(&str) -> Option<K>,
) -> impl Iterator<Item = Result<Published<K>, StoreError>> + use<K> {
    each(fan_out_folders(folder))
        .flat_map(move |folder| each(folder.and_then(|folder| files(&folder, parse))))
        .filter_map(|item| passing_over(item).transpose())
}

/// The result, or none with a warning if the error concerns only one file or folder: it must not hide the others.
pub(crate) fn passing_over<T>(result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_of_its_path() => {
            tracing::warn!(error = error_chain(&error), "passed over");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The items, or the one error.
fn each<T>(result: Result<Vec<T>, StoreError>) -> impl Iterator<Item = Result<T, StoreError>> {
    let (items, error) = match result {
        Ok(items) => (items, None),
        Err(error) => (Vec::new(), Some(Err(error))),
    };
    items.into_iter().map(Ok).chain(error)
}

fn files<K>(folder: &Path, parse: fn(&str) -> Option<K>) -> Result<Vec<Published<K>>, StoreError> {
    let mut files = Vec::new();
    for path in entries(folder)? {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        // A file under the wrong two digits is never looked up: it is not published.
        let is_here =
            folder.file_name().and_then(|digits| digits.to_str()).is_some_and(|two| name.starts_with(two));
        let Some(key) = is_here.then(|| parse(name)).flatten() else { continue };
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => files.push(Published {
                key,
                bytes: metadata.len(),
                published: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                accessed: metadata.accessed().unwrap_or(SystemTime::UNIX_EPOCH),
                inode: metadata.ino(),
                path,
            }),
            Ok(metadata) => {
                let found = kind_name(metadata.file_type());
                tracing::warn!(path = %path.display(), found, "in the place of a published file; passed over");
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                passing_over(Err::<(), _>(StoreError::io("read", &path)(error)))?;
            }
        }
    }
    Ok(files)
}

/// The folders named by two digits, ascending.
pub(crate) fn fan_out_folders(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut folders = entries(folder)?;
    folders.retain(|path| path.file_name().is_some_and(is_fan_out) && path.is_dir());
    Ok(folders)
}

/// The paths in a folder, ascending; none if it does not exist.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let read = || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>();
    let mut paths = match read() {
        Ok(paths) => paths,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("read the folder", folder)(error)),
    };
    paths.sort_unstable();
    Ok(paths)
}
