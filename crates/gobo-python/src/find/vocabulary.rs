//! Vocabularies, each with the binding that its model uses it under.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use gobo_lookup::Bound as BoundVocabulary;
use gobo_types::{Binding, VocabularyDigest};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::finder::{Finder, PyClient, finder};
use super::tokenizer;
use crate::arguments::{Count, Id, Text};
use crate::errors::{invalid, of_kind, of_lookup};
use crate::mask::ids;

/// The table of a tokenizer, from ids to bytes, mapped from a file; and a binding: the ids that end a text, and the number of logits.
#[pyclass(frozen, module = "gobo_masks", name = "Vocabulary")]
pub(crate) struct PyVocabulary {
    pub(crate) bound: BoundVocabulary,
    pub(crate) finder: Arc<Finder>,
}

/// A binding: the present one, with what the caller says instead.
pub(crate) fn rebound(
    py: Python<'_>,
    bound: &BoundVocabulary,
    eos: Option<&Bound<'_, PyAny>>,
    width: Option<Count>,
) -> PyResult<Arc<Binding>> {
    if eos.is_none() && width.is_none() {
        return Ok(Arc::clone(&bound.binding));
    }
    let length = bound.vocabulary.len();
    let width = match width {
        Some(Count(width)) => {
            u32::try_from(width).ok().filter(|width| *width >= length).ok_or_else(|| {
                invalid(py, format!("logits of width {width} cannot hold a vocabulary of length {length}"))
            })?
        }
        None => bound.binding.logits_width,
    };
    let eos = match eos {
        Some(eos) => ids::read(eos)?
            .into_iter()
            .map(|id| {
                let id = u32::try_from(id).ok().filter(|id| *id < width);
                id.ok_or_else(|| invalid(py, format!("an EOS id lies outside of logits of width {width}")))
            })
            .collect::<PyResult<Vec<u32>>>()?,
        None => bound.binding.eos.clone(),
    };
    let Binding { bos, pad, .. } = *bound.binding;
    Ok(Arc::new(Binding { bos, pad, ..Binding::new(eos, width) }))
}

impl PyVocabulary {
    pub(crate) fn new(bound: BoundVocabulary, finder: &Arc<Finder>) -> Self {
        Self { bound, finder: Arc::clone(finder) }
    }

    fn id(&self, py: Python<'_>, id: Id) -> PyResult<u32> {
        let width = self.bound.binding.logits_width;
        let known = u32::try_from(id.0).ok().filter(|id| *id < width);
        known.ok_or_else(|| invalid(py, format!("id {} lies outside of logits of width {width}", id.0)))
    }
}

#[pymethods]
impl PyVocabulary {
    /// The vocabulary of a tokenizer, with the object's own ids.
    ///
    /// `tokenizer` is a name in the client's store or of a built-in vocabulary; else a path, to a tokenizer file or a model's
    /// folder; else an object: a `tokenizers.Tokenizer`, a fast tokenizer of `transformers`, a `tiktoken.Encoding`, a Mistral
    /// tokenizer, or an object that wraps one, as those of engines do. Others raise `InvalidError`: see `from_tokens`.
    ///
    /// `eos` and `width` replace what the tokenizer says. A vocabulary is published in the client's store under a name made of what
    /// was read, so that the next process maps it. Reading takes some seconds at most, mapping some milliseconds.
    #[staticmethod]
    #[pyo3(signature = (tokenizer, *, eos = None, width = None, client = None))]
    fn of(
        tokenizer: &Bound<'_, PyAny>,
        eos: Option<&Bound<'_, PyAny>>,
        width: Option<Count>,
        client: Option<&Bound<'_, PyClient>>,
    ) -> PyResult<Self> {
        let py = tokenizer.py();
        let finder = finder(py, client)?;
        let bound = if tokenizer.is_instance_of::<PyString>() {
            tokenizer::of_name_or_path(py, &finder.lookup, tokenizer.extract::<Text>()?.0)?
        } else if let Ok(path) = tokenizer.extract::<PathBuf>() {
            tokenizer::of_path(py, &finder.lookup, &path)?
        } else {
            tokenizer::of_object(&finder.lookup, tokenizer)?
        };
        let binding = rebound(py, &bound, eos, width)?;
        Ok(Self { bound: BoundVocabulary { binding, ..bound }, finder })
    }

    /// The vocabulary of a table: the bytes of each id in order, None for an id that stands for nothing, and the ids of special
    /// tokens, which no text is made of. Without `eos` no id ends a text; `width` is the number of ids unless given.
    #[staticmethod]
    #[pyo3(signature = (tokens, special = None, *, eos = None, width = None, client = None), text_signature = "(tokens, special=(), *, eos=None, width=None, client=None)")]
    fn from_tokens(
        tokens: &Bound<'_, PyAny>,
        special: Option<&Bound<'_, PyAny>>,
        eos: Option<&Bound<'_, PyAny>>,
        width: Option<Count>,
        client: Option<&Bound<'_, PyClient>>,
    ) -> PyResult<Self> {
        let py = tokens.py();
        let finder = finder(py, client)?;
        let special = special.map_or_else(|| Ok(Vec::new()), ids::read)?;
        let bound = tokenizer::of_tokens(py, &finder.lookup, tokens, &special)?;
        let none = BoundVocabulary {
            binding: Arc::new(Binding { eos: Vec::new(), ..(*bound.binding).clone() }),
            ..bound
        };
        let binding = rebound(py, &none, eos, width)?;
        Ok(Self { bound: BoundVocabulary { binding, ..none }, finder })
    }

    /// The same table under another binding.
    #[pyo3(signature = (*, eos = None, width = None))]
    fn bind(&self, py: Python<'_>, eos: Option<&Bound<'_, PyAny>>, width: Option<Count>) -> PyResult<Self> {
        let binding = rebound(py, &self.bound, eos, width)?;
        Ok(Self::new(BoundVocabulary { binding, ..self.bound.clone() }, &self.finder))
    }

    /// The digest of the table, 64 hexadecimal digits: equal for equal ids, bytes and special flags.
    #[getter]
    fn digest(&self) -> String {
        self.bound.vocabulary.digest().to_string()
    }

    /// The name under which the store has it, if it has one.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.bound.name.as_deref()
    }

    /// The kind of tokenizer that it was read from, such as `byte-level BPE`.
    #[getter]
    fn kind(&self) -> &str {
        &self.bound.kind
    }

    /// The ids that end a text, ascending.
    #[getter]
    fn eos<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        pyo3::types::PyTuple::new(py, &self.bound.binding.eos)
    }

    /// The number of logits: at least the number of ids.
    #[getter]
    fn width(&self) -> u32 {
        self.bound.binding.logits_width
    }

    /// The number of ids: the highest, and one.
    fn __len__(&self) -> usize {
        self.bound.vocabulary.len() as usize
    }

    /// The bytes that a token adds to the text; empty for an id that stands for nothing.
    fn token_bytes<'py>(&self, py: Python<'py>, id: Id) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, self.bound.vocabulary.bytes(self.id(py, id)?)))
    }

    /// Whether an id is special: no text is made of it.
    fn is_special(&self, py: Python<'_>, id: Id) -> PyResult<bool> {
        Ok(self.bound.vocabulary.is_special(self.id(py, id)?))
    }

    fn __repr__(&self) -> String {
        let name = self.bound.name.as_deref().unwrap_or("without a name");
        format!("<gobo_masks.Vocabulary {name} {} ids>", self.bound.vocabulary.len())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, StoredVocabulary)> {
        Ok((py.import("gobo_masks._native")?.getattr("_vocabulary")?, stored(&self.bound, &self.finder)))
    }
}

/// What a pickle holds of a vocabulary: the store, the digest, and the binding.
pub(crate) type StoredVocabulary = (OsString, String, Vec<u32>, u32);

pub(crate) fn stored(bound: &BoundVocabulary, finder: &Finder) -> StoredVocabulary {
    let Binding { eos, logits_width, .. } = &*bound.binding;
    let digest = bound.vocabulary.digest().to_string();
    (finder.lookup.store_root().as_os_str().to_owned(), digest, eos.clone(), *logits_width)
}

/// A vocabulary from what its pickle holds, by its digest.
#[pyfunction]
#[pyo3(name = "_vocabulary")]
#[expect(clippy::needless_pass_by_value, reason = "arguments of Python come by value")]
pub(crate) fn restore(
    py: Python<'_>,
    store: PathBuf,
    digest: Text,
    eos: Vec<u32>,
    width: u32,
) -> PyResult<PyVocabulary> {
    let finder = PyClient::of_store(py, store.clone())?;
    let of = digest.0.parse::<VocabularyDigest>().map_err(|error| invalid(py, error.to_string()))?;
    let found = finder.lookup.vocabulary_by_digest(&of, Binding::new(eos, width));
    let found = found.map_err(|error| of_lookup(py, &error, false))?;
    let missing = || format!("vocabulary {of} is not in the store {}", store.display());
    let bound = found.ok_or_else(|| of_kind(py, gobo_types::ErrorKind::NotFound, missing()))?;
    Ok(PyVocabulary { bound, finder })
}
