//! What vocabularies are read from: names, paths, objects, tables.
//!
//! A vocabulary that was read once is published under a name made of what it was read from, `of-` and 32 digits of a digest over
//! every byte that the import would read. So the next process maps it, and a changed file or object has another name. The head of
//! a GGUF file is not told apart from its weights without reading it, so that such a file is imported each time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gobo_lookup::{Bound as BoundVocabulary, Lookup, LookupError};
use gobo_tokenizer::{Files, ImportError, ImportOptions, Imported, import_bytes, import_table};
use gobo_types::Binding;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::Text;
use crate::errors::{invalid, of, of_kind, of_lookup};

/// Why there is no vocabulary.
enum Fault {
    Lookup(LookupError),
    Import(ImportError),
}

impl Fault {
    fn raised(&self, py: Python<'_>) -> PyErr {
        match self {
            Self::Lookup(error) => of_lookup(py, error, false),
            Self::Import(error) => of(py, error.kind(), error),
        }
    }
}

/// The name of what was read: `parts` are its kind and its bytes.
fn name_of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    format!("of-{}", &hasher.finalize().to_hex()[..32])
}

/// The vocabulary of that name, else what the import makes of it.
fn published(
    lookup: &Lookup,
    name: &str,
    import: impl FnOnce() -> Result<Imported, ImportError>,
) -> Result<BoundVocabulary, Fault> {
    if let Some(bound) = lookup.vocabulary_by_name(name).map_err(Fault::Lookup)? {
        return Ok(bound);
    }
    let imported = import().map_err(Fault::Import)?;
    lookup.publish_vocabulary(Some(name), &imported).map_err(Fault::Lookup)
}

pub(super) fn of_name_or_path(py: Python<'_>, lookup: &Lookup, text: String) -> PyResult<BoundVocabulary> {
    // A built-in name may be imported now.
    let named =
        py.detach(|| lookup.vocabulary_by_name(&text)).map_err(|error| of_lookup(py, &error, false))?;
    if let Some(bound) = named {
        return Ok(bound);
    }
    let path = PathBuf::from(text);
    if !path.exists() {
        let message = format!("{} is no vocabulary of the store, and no file", path.display());
        return Err(of_kind(py, gobo_types::ErrorKind::NotFound, message));
    }
    of_path(py, lookup, &path)
}

pub(super) fn of_path(py: Python<'_>, lookup: &Lookup, path: &Path) -> PyResult<BoundVocabulary> {
    let options = ImportOptions::default();
    let read = || {
        let files = Files::read(path).map_err(Fault::Import)?;
        let Some(contents) = files.contents() else {
            let imported = files.import(&options).map_err(Fault::Import)?;
            let name = name_of([b"table".as_slice(), imported.table.digest().as_bytes()]);
            return lookup.publish_vocabulary(Some(&name), &imported).map_err(Fault::Lookup);
        };
        let parts: Vec<_> = contents.collect();
        let name = name_of(parts.iter().flat_map(|(name, bytes)| [name.as_bytes(), bytes]));
        published(lookup, &name, || files.import(&options))
    };
    py.detach(read).map_err(|fault| fault.raised(py))
}

/// What `_vocabulary.describe` says of an object: its form, its content, its special ids, and the binding that it knows.
type Description<'py> = (String, Bound<'py, PyAny>, Vec<u32>, Option<Vec<u32>>, Option<u32>);

pub(super) fn of_object(lookup: &Lookup, tokenizer: &Bound<'_, PyAny>) -> PyResult<BoundVocabulary> {
    let py = tokenizer.py();
    let describe = py.import("gobo_masks._vocabulary")?.getattr("describe")?;
    let (form, content, special, eos, width) = describe.call1((tokenizer,))?.extract::<Description<'_>>()?;
    let bound = match form.as_str() {
        "json" => {
            let text = content.extract::<Text>()?.0;
            let read = || {
                let name = name_of([b"json".as_slice(), text.as_bytes()]);
                let import = || import_bytes("the tokenizer", text.as_bytes(), &ImportOptions::default());
                published(lookup, &name, import)
            };
            py.detach(read).map_err(|fault| fault.raised(py))?
        }
        "file" => of_path(py, lookup, &content.extract::<PathBuf>()?)?,
        _ => {
            let special: Vec<i64> = special.into_iter().map(i64::from).collect();
            of_tokens(py, lookup, &content, &special)?
        }
    };
    let Binding { bos, pad, .. } = *bound.binding;
    // An object may know ids that its library's text does not have, and never fewer logits than ids.
    let least = bound.vocabulary.len();
    let width = width.map_or(bound.binding.logits_width, |width| width.max(least));
    let eos = eos.unwrap_or_else(|| bound.binding.eos.clone());
    if let Some(id) = eos.iter().find(|id| **id >= width) {
        return Err(invalid(py, format!("the tokenizer's EOS id {id} lies outside of its {width} ids")));
    }
    let binding = Arc::new(Binding { bos, pad, ..Binding::new(eos, width) });
    Ok(BoundVocabulary { binding, ..bound })
}

pub(super) fn of_tokens(
    py: Python<'_>,
    lookup: &Lookup,
    tokens: &Bound<'_, PyAny>,
    special: &[i64],
) -> PyResult<BoundVocabulary> {
    let mut table: Vec<(Vec<u8>, bool)> = Vec::new();
    for token in tokens.try_iter()? {
        let token = token?;
        let bytes = if token.is_none() { &[] } else { token.cast::<PyBytes>()?.as_bytes() };
        table.push((bytes.to_vec(), false));
    }
    let length = table.len();
    for id in special {
        let token = usize::try_from(*id).ok().and_then(|id| table.get_mut(id));
        token.ok_or_else(|| invalid(py, format!("special id {id} is none of the {length} ids")))?.1 = true;
    }
    let read = || {
        let flags: Vec<u8> = table.iter().map(|(_, is_special)| u8::from(*is_special)).collect();
        let bytes = table.iter().map(|(bytes, _)| bytes.as_slice());
        let name = name_of([b"table".as_slice(), &flags].into_iter().chain(bytes));
        let tokens = table.iter().cloned();
        published(lookup, &name, || import_table(tokens, &ImportOptions::default()))
    };
    py.detach(read).map_err(|fault| fault.raised(py))
}
