//! What an import reads, held in memory, so that a caller can name what is imported by its bytes.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::formats::{SourceFile, find};
use crate::model::{ModelFolder, SideText};
use crate::{ImportError, ImportOptions, Imported};

/// The files that an import of a path reads: a tokenizer, and the files beside it where the path is a folder.
///
/// They are read once. An import of them says nothing of what the path leads to by then.
///
/// ```
/// use gobo_tokenizer::{Files, ImportOptions};
///
/// let path = std::env::temp_dir().join(format!("gobo-files-{}.tiktoken", std::process::id()));
/// std::fs::write(&path, "YQ== 0\n")?;
/// let files = Files::read(&path)?;
/// std::fs::write(&path, "replaced")?;
/// let contents: Vec<&[u8]> = files.contents().unwrap().map(|(_, bytes)| bytes).collect();
/// assert_eq!(contents, [b"YQ== 0\n"]);
/// assert_eq!(files.import(&ImportOptions::default())?.table.tokens()[0].bytes, b"a");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Files {
    tokenizer: PathBuf,
    /// `None` of GGUF, whose head is not told apart from its weights without reading it: that file is read by the import.
    bytes: Option<Vec<u8>>,
    beside: Vec<SideText>,
}

impl Files {
    /// Reads the files at `path`, as [`import`](crate::import) finds them. O(bytes).
    ///
    /// # Errors
    /// [`ImportError::Read`], `TooLarge` and `NoTokenizer`; `LfsPointer` and `NotText` of a file beside the tokenizer.
    pub fn read(path: &Path) -> Result<Self, ImportError> {
        let (tokenizer, bytes) = find(path)?;
        let beside = if path.is_dir() { SideText::read_all(path)? } else { Vec::new() };
        Ok(Self { tokenizer, bytes, beside })
    }

    /// The name and the bytes of each file, the tokenizer first: equal contents make equal imports under equal options. `None` if the
    /// tokenizer is GGUF, which an import reads from its path.
    #[must_use]
    pub fn contents(&self) -> Option<impl Iterator<Item = (Cow<'_, str>, &[u8])>> {
        // The end of a name may tell the format.
        let name = self.tokenizer.file_name().unwrap_or_default().to_string_lossy();
        let beside = self.beside.iter().map(|file| (Cow::Borrowed(file.name), file.text.as_bytes()));
        Some(std::iter::once((name, self.bytes.as_deref()?)).chain(beside))
    }

    /// Imports what was read. O(bytes).
    ///
    /// # Errors
    /// [`ImportError`]: each variant says when.
    pub fn import(&self, options: &ImportOptions) -> Result<Imported, ImportError> {
        crate::read(&self.source()?, &self.folder()?, options)
    }

    pub(crate) fn source(&self) -> Result<SourceFile<'_>, ImportError> {
        SourceFile::of_file(self.tokenizer.clone(), self.bytes.as_deref())
    }

    pub(crate) fn folder(&self) -> Result<ModelFolder, ImportError> {
        ModelFolder::of(&self.beside)
    }
}
