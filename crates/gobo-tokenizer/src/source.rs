use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::{ImportError, gguf, ranks};

/// Largest tokenizer file that is read, 512 MiB. The largest in use have about 35 MB.
pub const MAX_FILE_BYTES: u64 = 512 << 20;

/// A tokenizer file's content, by how it is written.
#[derive(Debug)]
pub(crate) enum Content {
    /// `tokenizer.json` of Hugging Face `tokenizers`.
    HuggingFace(String),
    /// Lines of base64 and rank, as tiktoken has them.
    Ranks(String),
    /// `tekken.json` of Mistral.
    Tekken(String),
    /// `.model` of SentencePiece.
    SentencePiece(Vec<u8>),
    /// GGUF, of which nothing is read yet: it has the weights too.
    Gguf,
}

/// A tokenizer file, read and recognised.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// The file itself, also where a folder was asked for.
    pub(crate) path: PathBuf,
    pub(crate) content: Content,
}

impl SourceFile {
    /// Finds, reads and recognises the tokenizer at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, ImportError> {
        let path = locate(path)?;
        if begins_with(&path, gguf::MAGIC)? {
            return Ok(Self { path, content: Content::Gguf });
        }
        let bytes = read_capped(&path, MAX_FILE_BYTES)?;
        Self::recognize(path, bytes)
    }

    fn recognize(path: PathBuf, bytes: Vec<u8>) -> Result<Self, ImportError> {
        if is_lfs_pointer(&bytes) {
            return Err(ImportError::LfsPointer { path });
        }
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        // The first field of a SentencePiece model is a nested message (tag 0x0a); the ranks that some models call
        // `tokenizer.model` are base64 text.
        if bytes.first() == Some(&0x0a) && extension == "model" {
            return Ok(Self { path, content: Content::SentencePiece(bytes) });
        }
        let text =
            String::from_utf8(bytes).map_err(|error| ImportError::not_text(&path, error.utf8_error()))?;
        let content = if extension == "json" || text.trim_start().starts_with('{') {
            if is_tekken(&path, &text) { Content::Tekken(text) } else { Content::HuggingFace(text) }
        } else if extension == "tiktoken" || ranks::looks_like_ranks(&text) {
            Content::Ranks(text)
        } else {
            return Err(ImportError::Unrecognized { path });
        };
        Ok(Self { path, content })
    }
}

/// Whether JSON is Mistral's, by its name or by what its configuration, which comes first, has and no other.
fn is_tekken(path: &Path, text: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let head = &text.as_bytes()[..text.len().min(1 << 12)];
    let field = b"\"default_num_special_tokens\"";
    name.starts_with("tekken") || head.windows(field.len()).any(|window| window == field)
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

/// The names under which a folder has its tokenizer, the one that says most first.
const FILE_NAMES: [&str; 4] = ["tokenizer.json", "tekken.json", "tokenizer.model", "spiece.model"];

fn locate(path: &Path) -> Result<PathBuf, ImportError> {
    let metadata = fs::metadata(path).map_err(|source| ImportError::Read { path: path.into(), source })?;
    if !metadata.is_dir() {
        return Ok(path.into());
    }
    for name in FILE_NAMES {
        let file = path.join(name);
        match fs::metadata(&file) {
            Ok(_) => return Ok(file),
            Err(source) if source.kind() == ErrorKind::NotFound => {}
            Err(source) => return Err(ImportError::Read { path: file, source }),
        }
    }
    Err(ImportError::NoTokenizer { path: path.into() })
}

fn begins_with(path: &Path, magic: &[u8]) -> Result<bool, ImportError> {
    let failed = |source| ImportError::Read { path: path.into(), source };
    let file = File::open(path).map_err(failed)?;
    // What is read from a pipe or a device would be gone.
    if !file.metadata().map_err(failed)?.is_file() {
        return Ok(false);
    }
    let mut head = Vec::new();
    file.take(magic.len() as u64).read_to_end(&mut head).map_err(failed)?;
    Ok(head == magic)
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

    fn recognize(name: &str, bytes: &[u8]) -> Result<Content, ImportError> {
        SourceFile::recognize(name.into(), bytes.to_vec()).map(|source| source.content)
    }

    #[test]
    fn files_are_known_by_content_first() {
        assert!(matches!(recognize("tokenizer.json", b"").unwrap(), Content::HuggingFace(_)));
        assert!(matches!(recognize("anything", b" {}").unwrap(), Content::HuggingFace(_)));
        assert!(matches!(recognize("x.tiktoken", b"").unwrap(), Content::Ranks(_)));
        assert!(matches!(recognize("tokenizer.model", b"IQ== 0\nIg== 1\n").unwrap(), Content::Ranks(_)));
        let model = recognize("tokenizer.model", b"\n\x0e\n\x05<unk>").unwrap();
        assert!(matches!(model, Content::SentencePiece(_)));
        assert!(matches!(recognize("tekken_240718.json", b"{}").unwrap(), Content::Tekken(_)));
        let tekken = br#"{"config": {"default_num_special_tokens": 3}}"#;
        assert!(matches!(recognize("tokenizer.json", tekken).unwrap(), Content::Tekken(_)));
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
