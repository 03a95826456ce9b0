//! Finds the tokenizer file of a folder, and recognises the format of a file by its content.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{gguf, ranks};
use crate::ImportError;
use crate::file::{MAX_FILE_BYTES, begins_with, is_lfs_pointer, read_capped};

/// A tokenizer file's content, by format.
#[derive(Debug)]
pub(crate) enum Content {
    /// `tokenizer.json` of Hugging Face `tokenizers`.
    HuggingFace(String),
    /// Lines of base64 and rank, in the format of tiktoken.
    Ranks(String),
    /// `tekken.json` of Mistral.
    Tekken(String),
    /// `.model` of SentencePiece.
    SentencePiece(Vec<u8>),
    /// GGUF. Nothing is read yet: the file has the weights too.
    Gguf,
}

/// A tokenizer file, read and recognised.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// The file itself, also if a folder is imported.
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

/// Whether JSON is Mistral's: by its name, or by a field that only its configuration has, which comes first.
fn is_tekken(path: &Path, text: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let head = &text.as_bytes()[..text.len().min(1 << 12)];
    let field = b"\"default_num_special_tokens\"";
    name.starts_with("tekken") || head.windows(field.len()).any(|window| window == field)
}

/// The names of tokenizer files in a folder, the most informative first.
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
    fn missing_files() {
        let folder = std::env::temp_dir().join(format!("gobo-tokenizer-source-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert!(matches!(SourceFile::open(&folder), Err(ImportError::NoTokenizer { .. })));
        let missing = SourceFile::open(&folder.join("none")).unwrap_err();
        assert_eq!(missing.kind(), Kind::NotFound);
        fs::remove_dir_all(&folder).unwrap();
    }
}
