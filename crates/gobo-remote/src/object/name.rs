//! Where an object lies in its bucket.

use gobo_types::{COMPILER_EPOCH, Digest, FORMAT_EPOCH, IndexKey, SLICE_SET_EPOCH, VocabularyDigest};
use object_store::path::{Path, PathPart};

/// The names of the objects below one prefix. All epochs are part of them: two versions of gobo share a bucket without seeing each
/// other's objects, and what an old one has left is one prefix to remove.
///
/// ```
/// use gobo_remote::object::Names;
/// use gobo_types::IndexKey;
///
/// let names = Names::under("team/gobo".into());
/// let name = names.index(&IndexKey::from([0xab; 32])).to_string();
/// assert!(name.starts_with("team/gobo/v0-c") && name.contains("/index/ab/abab"));
/// ```
#[derive(Debug, Clone)]
pub struct Names {
    root: Path,
}

/// The epochs of this version of gobo, as they stand in the names of its objects.
pub fn version() -> String {
    format!("v{FORMAT_EPOCH}-c{COMPILER_EPOCH}-s{SLICE_SET_EPOCH}")
}

impl Names {
    /// The names below `prefix`.
    pub fn under(prefix: Path) -> Self {
        Self { root: prefix.join(version()) }
    }

    /// Everything of this version of gobo.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn fan_out(&self, folder: &str, key: &Digest) -> Path {
        let name = key.to_string();
        self.root.clone().join(folder).join(&name[..2]).join(name)
    }

    /// The object of an index, or of the verdict on its constraint.
    pub fn index(&self, key: &IndexKey) -> Path {
        self.fan_out("index", &key.0)
    }

    /// The object of a vocabulary.
    pub fn vocabulary(&self, digest: &VocabularyDigest) -> Path {
        self.fan_out("vocab", &digest.0)
    }

    /// The folder of the parts of a manifest. Whatever its name, it is one folder.
    pub fn manifest(&self, name: &str) -> Path {
        self.root.clone().join("manifest").join(PathPart::from(name))
    }
}
