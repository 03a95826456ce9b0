//! The paths of a store: [`Layout`] makes them, `parse_*` reads the names of files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use gobo_types::{FORMAT_EPOCH, IndexKey, SLICE_SET_EPOCH, VocabularyDigest};

/// The folder of the catalog.
const CATALOG: &str = "catalog";

/// The paths of a store. The format version is part of them, so that two versions never share a folder.
#[derive(Debug)]
pub(crate) struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    fn versioned(&self, folder: &str) -> PathBuf {
        self.root.join(format!("v{FORMAT_EPOCH}")).join(folder)
    }

    /// All folders of a store, whether they exist or not, each after its parent.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let version = self.root.join(format!("v{FORMAT_EPOCH}"));
        let fans = [self.indices(), self.vocabularies()];
        let mut folders = vec![self.root.clone(), version, self.names(), self.pins(), self.quarantine()];
        folders.push(self.root.join(CATALOG));
        folders.extend(fans.iter().cloned());
        folders.extend(fans.iter().flat_map(|fan| fan_out_names().map(|two| fan.join(two))));
        folders
    }

    pub(crate) fn indices(&self) -> PathBuf {
        self.versioned("index")
    }

    pub(crate) fn vocabularies(&self) -> PathBuf {
        self.versioned("vocab")
    }

    pub(crate) fn names(&self) -> PathBuf {
        self.versioned("names")
    }

    pub(crate) fn pins(&self) -> PathBuf {
        self.versioned("pins")
    }

    pub(crate) fn quarantine(&self) -> PathBuf {
        self.root.join("quarantine")
    }

    pub(crate) fn id(&self) -> PathBuf {
        self.root.join("store.id")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.root.join("daemon.sock")
    }

    #[cfg(feature = "catalog")]
    pub(crate) fn catalog(&self) -> PathBuf {
        self.root.join(CATALOG)
    }

    #[cfg(feature = "catalog")]
    pub(crate) fn catalog_lock(&self) -> PathBuf {
        self.root.join("catalog.lock")
    }

    pub(crate) fn index(&self, key: &IndexKey) -> PathBuf {
        fan_out(self.indices(), &format!("{key}.gobo"))
    }

    pub(crate) fn vocabulary(&self, digest: &VocabularyDigest) -> PathBuf {
        fan_out(self.vocabularies(), &format!("{digest}-{SLICE_SET_EPOCH}.gobov"))
    }
}

/// The names of the 256 folders.
pub(crate) fn fan_out_names() -> impl Iterator<Item = String> {
    (0..=u8::MAX).map(|two| format!("{two:02x}"))
}

/// 256 folders by the first two digits keep each of them small.
fn fan_out(folder: PathBuf, file: &str) -> PathBuf {
    let mut path = folder;
    path.push(&file[..2]);
    path.push(file);
    path
}

/// Whether a folder is one of the 256.
pub(crate) fn is_fan_out(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    bytes.len() == 2 && bytes.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// The key in the name of an index file; `None` if `name` is no such name.
pub(crate) fn parse_index(name: &str) -> Option<IndexKey> {
    name.strip_suffix(".gobo")?.parse().ok()
}

/// The digest in the name of a vocabulary file of this slice-set epoch.
pub(crate) fn parse_vocabulary(name: &str) -> Option<VocabularyDigest> {
    let (digest, epoch) = name.strip_suffix(".gobov")?.split_once('-')?;
    (epoch == SLICE_SET_EPOCH.to_string()).then(|| digest.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_folders_have_names() {
        let names: std::collections::BTreeSet<_> = fan_out_names().collect();
        assert_eq!(names.len(), 256);
        assert!(names.iter().all(|name| is_fan_out(OsStr::new(name))));
    }

    #[test]
    fn paths_are_those_of_the_design_and_parse_back() {
        let layout = Layout::new("/s".into());
        let index = layout.index(&IndexKey::from([0xab; 32]));
        assert_eq!(index, Path::new(&format!("/s/v0/index/ab/{}.gobo", "ab".repeat(32))));
        let vocabulary = layout.vocabulary(&VocabularyDigest::from([0xcd; 32]));
        let expected = format!("/s/v0/vocab/cd/{}-{SLICE_SET_EPOCH}.gobov", "cd".repeat(32));
        assert_eq!(vocabulary, Path::new(&expected));

        let name = |path: &Path| path.file_name().and_then(OsStr::to_str).map(str::to_owned).unwrap();
        assert_eq!(parse_index(&name(&index)), Some(IndexKey::from([0xab; 32])));
        assert_eq!(parse_vocabulary(&name(&vocabulary)), Some(VocabularyDigest::from([0xcd; 32])));
        for stranger in [".tmp-1-abcdef", "README", "ab.gobo", &format!("{}-77.gobov", "cd".repeat(32))] {
            assert_eq!((parse_index(stranger), parse_vocabulary(stranger)), (None, None), "{stranger}");
        }
    }
}
