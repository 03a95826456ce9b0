use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::{ImportError, ranks};

/// Largest tokenizer file that is read, 512 MiB. The largest in use have about 35 MB.
pub const MAX_FILE_BYTES: u64 = 512 << 20;

/// How a tokenizer file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// `tokenizer.json` of Hugging Face `tokenizers`.
    HuggingFace,
    /// Lines of base64 and rank, as tiktoken has them.
    Ranks,
}

/// A tokenizer file, read whole and recognised.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// The file itself, also where a folder was asked for.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) format: Format,
}

impl SourceFile {
    /// Finds, reads and recognises the tokenizer at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, ImportError> {
        let path = locate(path)?;
        let bytes = read_capped(&path, MAX_FILE_BYTES)?;
        Self::recognize(path, bytes)
    }

    fn recognize(path: PathBuf, bytes: Vec<u8>) -> Result<Self, ImportError> {
        if is_lfs_pointer(&bytes) {
            return Err(ImportError::LfsPointer { path });
        }
        if let Some(kind) = known_by_name(&path, &bytes) {
            return Err(ImportError::UnsupportedKind { path, kind: kind.into() });
        }
        let text =
            String::from_utf8(bytes).map_err(|error| ImportError::not_text(&path, error.utf8_error()))?;
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let format = if extension == "json" || text.trim_start().starts_with('{') {
            Format::HuggingFace
        } else if extension == "tiktoken" || ranks::looks_like_ranks(&text) {
            Format::Ranks
        } else {
            return Err(ImportError::Unrecognized { path });
        };
        Ok(Self { path, text, format })
    }
}

/// A text file beside the tokenizer.
pub(crate) fn read_text(path: &Path, limit_bytes: u64) -> Result<String, ImportError> {
    let bytes = read_capped(path, limit_bytes)?;
    if is_lfs_pointer(&bytes) {
        return Err(ImportError::LfsPointer { path: path.into() });
    }
    String::from_utf8(bytes).map_err(|error| ImportError::not_text(path, error.utf8_error()))
}

/// Whether this is what Git leaves in the place of a large file.
fn is_lfs_pointer(bytes: &[u8]) -> bool {
    bytes.starts_with(b"version https://git-lfs.github.com/spec/")
}

/// Formats that gobo does not read, recognised so that the refusal can name them.
fn known_by_name(path: &Path, bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"GGUF") {
        return Some("GGUF");
    }
    let (stem, extension) = (path.file_stem()?.to_str()?, path.extension()?.to_str()?);
    // The first field of a SentencePiece model is a nested message (tag 0x0a); the ranks that some models call
    // `tokenizer.model` are base64 text.
    if bytes.first() == Some(&0x0a) && extension == "model" {
        Some("SentencePiece model")
    } else if stem.starts_with("tekken") && extension == "json" {
        Some("Mistral tekken")
    } else {
        None
    }
}

fn locate(path: &Path) -> Result<PathBuf, ImportError> {
    let metadata = fs::metadata(path).map_err(|source| ImportError::Read { path: path.into(), source })?;
    if !metadata.is_dir() {
        return Ok(path.into());
    }
    let file = path.join("tokenizer.json");
    match fs::metadata(&file) {
        Ok(_) => Ok(file),
        Err(source) if source.kind() == ErrorKind::NotFound => {
            Err(ImportError::NoTokenizer { path: path.into() })
        }
        Err(source) => Err(ImportError::Read { path: file, source }),
    }
}

fn read_capped(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, ImportError> {
    let failed = |source| ImportError::Read { path: path.into(), source };
    let file = File::open(path).map_err(failed)?;
    let announced = file.metadata().map_err(failed)?.len();
    if announced > limit_bytes {
        return Err(ImportError::TooLarge { path: path.into(), limit_bytes });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(announced).unwrap_or_default());
    // Devices and pipes announce no length.
    file.take(limit_bytes + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit_bytes {
        return Err(ImportError::TooLarge { path: path.into(), limit_bytes });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use gobo_types::ErrorKind as Kind;

    use super::*;

    fn recognize(name: &str, bytes: &[u8]) -> Result<Format, ImportError> {
        SourceFile::recognize(name.into(), bytes.to_vec()).map(|source| source.format)
    }

    #[test]
    fn files_are_known_by_content_first() {
        assert_eq!(recognize("tokenizer.json", b"").unwrap(), Format::HuggingFace);
        assert_eq!(recognize("anything", b" {}").unwrap(), Format::HuggingFace);
        assert_eq!(recognize("x.tiktoken", b"").unwrap(), Format::Ranks);
        assert_eq!(recognize("tokenizer.model", b"IQ== 0\nIg== 1\n").unwrap(), Format::Ranks);
    }

    #[test]
    fn what_is_not_read_is_refused_by_name() {
        for (name, bytes, kind) in [
            ("model.gguf", &b"GGUF\x03\0\0\0"[..], "GGUF"),
            ("tokenizer.model", b"\n\x0e\n\x05<unk>", "SentencePiece model"),
            ("tekken.json", b"{}", "Mistral tekken"),
        ] {
            let error = recognize(name, bytes).unwrap_err();
            assert_eq!(error.kind(), Kind::Unsupported);
            assert!(matches!(error, ImportError::UnsupportedKind { kind: found, .. } if found == kind));
        }
    }

    #[test]
    fn files_that_are_not_tokenizers_say_what_they_are() {
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
        let error = recognize("tokenizer.json", pointer).unwrap_err();
        assert!(matches!(error, ImportError::LfsPointer { .. }));
        assert!(error.to_string().contains("git lfs pull"));
        let error = recognize("tokenizer.json", b"{\"a\": \"\xff\"}").unwrap_err();
        assert!(matches!(error, ImportError::NotText { offset: 7, .. }));
        assert!(matches!(recognize("x", b"hello").unwrap_err(), ImportError::Unrecognized { .. }));
    }

    #[test]
    fn missing_and_oversized_files() {
        let folder = std::env::temp_dir().join(format!("gobo-tokenizer-source-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert!(matches!(SourceFile::open(&folder), Err(ImportError::NoTokenizer { .. })));
        let missing = SourceFile::open(&folder.join("none")).unwrap_err();
        assert_eq!(missing.kind(), Kind::NotFound);
        let file = folder.join("four");
        fs::write(&file, "1234").unwrap();
        assert_eq!(read_capped(&file, 4).unwrap(), b"1234");
        assert_eq!(read_capped(&file, 3).unwrap_err().kind(), Kind::Limit);
        fs::remove_dir_all(&folder).unwrap();
    }
}
