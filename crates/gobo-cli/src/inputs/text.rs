//! Text files.
use std::path::Path;

use anyhow::Context;

/// The text of a file.
///
/// # Errors
/// If the file cannot be read, or is no UTF-8.
pub(super) fn read_text(file: &Path) -> anyhow::Result<String> {
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    String::from_utf8(text).with_context(|| format!("{} is not UTF-8", file.display()))
}
