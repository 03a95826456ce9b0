//! Reads whole files, up to a limit.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::ImportError;

/// Largest tokenizer file that is read, 512 MiB. The largest in use have about 35 MB.
pub const MAX_FILE_BYTES: u64 = 512 << 20;

/// Reads a text file of at most `limit_bytes` bytes.
pub(crate) fn read_text(path: &Path, limit_bytes: u64) -> Result<String, ImportError> {
    let bytes = read_capped(path, limit_bytes)?;
    if is_lfs_pointer(&bytes) {
        return Err(ImportError::LfsPointer { path: path.into() });
    }
    String::from_utf8(bytes).map_err(|error| ImportError::not_text(path, error.utf8_error()))
}

/// Whether a file is the placeholder of Git LFS for a large file.
pub(crate) fn is_lfs_pointer(bytes: &[u8]) -> bool {
    bytes.starts_with(b"version https://git-lfs.github.com/spec/")
}

/// Whether a regular file begins with `magic`.
pub(crate) fn begins_with(path: &Path, magic: &[u8]) -> Result<bool, ImportError> {
    let failed = |source| ImportError::Read { path: path.into(), source };
    let file = File::open(path).map_err(failed)?;
    // Bytes that are read from a pipe or a device are lost.
    if !file.metadata().map_err(failed)?.is_file() {
        return Ok(false);
    }
    let mut head = Vec::new();
    file.take(magic.len() as u64).read_to_end(&mut head).map_err(failed)?;
    Ok(head == magic)
}

/// Reads a file of at most `limit_bytes` bytes.
pub(crate) fn read_capped(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, ImportError> {
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
    use gobo_types::ErrorKind;

    use super::*;

    #[test]
    fn a_file_has_at_most_the_limit() {
        let file = std::env::temp_dir().join(format!("gobo-tokenizer-file-{}", std::process::id()));
        std::fs::write(&file, "1234").unwrap();
        assert_eq!(read_capped(&file, 4).unwrap(), b"1234");
        assert_eq!(read_capped(&file, 3).unwrap_err().kind(), ErrorKind::Limit);
        std::fs::remove_file(&file).unwrap();
    }
}
