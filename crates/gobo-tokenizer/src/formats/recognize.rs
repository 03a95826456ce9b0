//! Finds the tokenizer file of a folder, and recognises the format of a file by its content.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{gguf, ranks, sentence_piece};
use crate::ImportError;
use crate::file::{MAX_FILE_BYTES, begins_with, is_lfs_pointer, read_capped};

/// A tokenizer file's content, by format.
#[derive(Debug)]
pub(crate) enum Content<'b> {
    /// `tokenizer.json` of Hugging Face `tokenizers`.
    HuggingFace(&'b str),
    /// Lines of base64 and rank, in the format of tiktoken.
    Ranks(&'b str),
    /// `tekken.json` of Mistral.
    Tekken(&'b str),
    /// `.model` of SentencePiece.
    SentencePiece(&'b [u8]),
    /// GGUF, in memory. Of a file nothing is read yet.
    Gguf(Option<&'b [u8]>),
}

/// A tokenizer file, read and recognised.
#[derive(Debug)]
pub(crate) struct SourceFile<'b> {
    /// The file itself, also if a folder is imported.
    pub(crate) path: PathBuf,
    pub(crate) content: Content<'b>,
}

impl<'b> SourceFile<'b> {
    /// Recognises the bytes of the file at `path`; none are given of GGUF.
    pub(crate) fn of_file(path: PathBuf, bytes: Option<&'b [u8]>) -> Result<Self, ImportError> {
        let Some(bytes) = bytes else { return Ok(Self { path, content: Content::Gguf(None) }) };
        let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let content = recognize(&path, file_name, bytes)?;
        Ok(Self { path, content })
    }

    /// Recognises the bytes of a file, whose name tells nothing.
    pub(crate) fn of_bytes(name: &str, bytes: &'b [u8]) -> Result<Self, ImportError> {
        let path = PathBuf::from(name);
        if bytes.starts_with(gguf::MAGIC) {
            return Ok(Self { path, content: Content::Gguf(Some(bytes)) });
        }
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(ImportError::TooLarge { path, limit_bytes: MAX_FILE_BYTES });
        }
        let content = recognize(&path, "", bytes)?;
        Ok(Self { path, content })
    }
}

/// The format of a file, by its content where its name does not tell.
fn recognize<'b>(path: &Path, file_name: &str, bytes: &'b [u8]) -> Result<Content<'b>, ImportError> {
    if is_lfs_pointer(bytes) {
        return Err(ImportError::LfsPointer { path: path.into() });
    }
    let extension = Path::new(file_name).extension().and_then(|extension| extension.to_str());
    let extension = extension.unwrap_or_default();
    // The first field of a SentencePiece model is a nested message (tag 0x0a); the ranks that some models call
    // `tokenizer.model` are base64 text.
    let is_model = match extension {
        "model" => bytes.first() == Some(&0x0a),
        "json" | "tiktoken" => false,
        _ => sentence_piece::looks_like_a_model(bytes),
    };
    if is_model {
        return Ok(Content::SentencePiece(bytes));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| ImportError::not_text(path, error))?;
    if extension == "json" || text.trim_start().starts_with('{') {
        Ok(if is_tekken(file_name, text) { Content::Tekken(text) } else { Content::HuggingFace(text) })
    } else if extension == "tiktoken" || ranks::looks_like_ranks(text) {
        Ok(Content::Ranks(text))
    } else {
        Err(ImportError::Unrecognized { path: path.into() })
    }
}

/// Whether JSON is Mistral's: by its name, or by a field that only its configuration has, which comes first.
fn is_tekken(file_name: &str, text: &str) -> bool {
    let head = &text.as_bytes()[..text.len().min(1 << 12)];
    let field = b"\"default_num_special_tokens\"";
    file_name.starts_with("tekken") || head.windows(field.len()).any(|window| window == field)
}

/// The names of tokenizer files in a folder, the most informative first.
const FILE_NAMES: [&str; 4] = ["tokenizer.json", "tekken.json", "tokenizer.model", "spiece.model"];

/// The tokenizer file at `path` and its bytes. Of GGUF nothing is read: it has the weights too.
pub(crate) fn find(path: &Path) -> Result<(PathBuf, Option<Vec<u8>>), ImportError> {
    let path = locate(path)?;
    if begins_with(&path, gguf::MAGIC)? {
        return Ok((path, None));
    }
    let bytes = read_capped(&path, MAX_FILE_BYTES)?;
    Ok((path, Some(bytes)))
}

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

    fn recognize<'b>(name: &str, bytes: &'b [u8]) -> Result<Content<'b>, ImportError> {
        super::recognize(Path::new(name), name, bytes)
    }

    #[test]
    fn files_are_known_by_content_first() {
        assert!(matches!(recognize("tokenizer.json", b"").unwrap(), Content::HuggingFace(_)));
        assert!(matches!(recognize("anything", b" {}").unwrap(), Content::HuggingFace(_)));
        assert!(matches!(recognize("x.tiktoken", b"").unwrap(), Content::Ranks(_)));
        assert!(matches!(recognize("tokenizer.model", b"IQ== 0\nIg== 1\n").unwrap(), Content::Ranks(_)));
        let model = recognize("tokenizer.model", b"\n\x0e\n\x05<unk>").unwrap();
        assert!(matches!(model, Content::SentencePiece(_)));
        let model = recognize("any-1.5", b"\n\x0e\n\x05<unk>\xff").unwrap();
        assert!(matches!(model, Content::SentencePiece(_)));
        assert!(matches!(recognize("any", b"\n\n {}").unwrap(), Content::HuggingFace(_)));
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
    fn bytes_are_known_by_content_alone() {
        let of = |bytes| SourceFile::of_bytes("x.tiktoken", bytes).map(|source| source.content);
        assert!(matches!(of(b"{}").unwrap(), Content::HuggingFace("{}")));
        assert!(matches!(of(b"GGUF").unwrap(), Content::Gguf(Some(b"GGUF"))));
        assert!(matches!(of(b"IQ== 0").unwrap(), Content::Ranks(_)));
        assert!(
            matches!(of(b""), Err(ImportError::Unrecognized { path }) if path == Path::new("x.tiktoken"))
        );
    }

    #[test]
    fn missing_files() {
        let folder = std::env::temp_dir().join(format!("gobo-tokenizer-source-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert!(matches!(find(&folder), Err(ImportError::NoTokenizer { .. })));
        let missing = find(&folder.join("none")).unwrap_err();
        assert_eq!(missing.kind(), Kind::NotFound);
        fs::remove_dir_all(&folder).unwrap();
    }
}
