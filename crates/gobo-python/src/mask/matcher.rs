//! One text being decoded, as engines know it: tokens that come after the end are taken and ignored, and -1 ends a chain.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gobo_artifact::{DraftTree, Fill, Index, Matcher, MatcherError, Vocabulary};
use gobo_lookup::Lookup;
use gobo_types::{Binding, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use super::fault::Fault;
use super::ids;
use super::rows::{Matrix, check_width, rows_mut, with_whole_rows};
use crate::arguments::{Count, Id};
use crate::buffer::PyBitmask;
use crate::errors::{invalid, of_kind, of_matcher};

/// Most tokens that a matcher may be asked to take back: 4 bytes each.
const MAX_ROLLBACK: usize = 1 << 20;

/// One text being decoded: the mask of its next token, and steps forward and back. Any number of threads may share one; each call is
/// one step. Does not pickle.
///
/// The text has ended once an EOS was taken, or where nothing can follow and the binding has no EOS. `accept_tokens` takes
/// and ignores tokens that come after the end, as engines that draft tokens have them.
#[pyclass(frozen, module = "gobo_masks", name = "Matcher")]
pub(crate) struct PyMatcher {
    state: Mutex<State>,
    /// The object of Python that it was made by.
    index: Py<PyAny>,
    binding: Binding,
    lookup: Arc<Lookup>,
}

#[derive(Clone)]
pub(crate) struct State {
    pub(crate) matcher: Matcher,
    /// Tokens after the end that were taken and ignored.
    ignored: usize,
    /// Whether a mask was written, for the counter of first masks.
    has_filled: bool,
}

impl State {
    /// Whether nothing comes after the text. O(1), but for a binding without EOS: a mask.
    fn has_ended(&self) -> bool {
        if self.matcher.is_ended() || !self.matcher.binding().eos.is_empty() || !self.matcher.is_complete() {
            return self.matcher.is_ended();
        }
        let mut mask = vec![0; self.matcher.mask_words()];
        self.matcher.fill(&mut mask) == Ok(Fill::Ended)
    }

    /// How many of the tokens are text or an EOS, and whether the text has ended after those.
    fn split(&self, tokens: &[u32]) -> (usize, bool) {
        let taken = self.matcher.validate(tokens);
        if taken == tokens.len() {
            return (taken, false);
        }
        let binding = self.matcher.binding();
        if !binding.eos.is_empty() {
            let ends =
                taken.checked_sub(1).map_or(self.matcher.is_ended(), |last| binding.is_eos(tokens[last]));
            return (taken, ends);
        }
        // Without an EOS only the state tells whether anything can follow.
        let mut ahead = self.clone();
        let has_moved = tokens[..taken].iter().all(|&id| ahead.matcher.advance(id).is_ok());
        (taken, has_moved && ahead.has_ended())
    }
}

impl PyMatcher {
    pub(crate) fn new(
        index: &Bound<'_, PyAny>,
        file: Arc<Index>,
        vocabulary: Arc<Vocabulary>,
        binding: &Binding,
        max_rollback: usize,
        lookup: Arc<Lookup>,
    ) -> PyResult<Self> {
        let py = index.py();
        if max_rollback > MAX_ROLLBACK {
            return Err(invalid(py, format!("max_rollback: {max_rollback} is more than {MAX_ROLLBACK}")));
        }
        let matcher = Matcher::with_rollback(file, vocabulary, binding, max_rollback);
        let matcher = matcher.map_err(|error| of_matcher(py, &error))?;
        let state = State { matcher, ignored: 0, has_filled: false };
        Ok(Self { state: Mutex::new(state), index: index.clone().unbind(), binding: binding.clone(), lookup })
    }

    /// The text, for this caller alone.
    #[inline]
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Words of a mask.
    pub(crate) fn mask_words(&self) -> usize {
        self.binding.mask_words()
    }

    /// Counts the first mask of the text.
    #[inline]
    pub(crate) fn has_filled(&self, state: &mut State) {
        if !state.has_filled {
            state.has_filled = true;
            self.lookup.count_first_mask();
        }
    }

    #[inline]
    fn fill_row(&self, bitmask: &PyBitmask, row: usize) -> Result<bool, Fault> {
        let mut view = bitmask.view();
        check_width(&view, self.mask_words())?;
        let (mask, tail) = rows_mut(&mut view, row, 1)?.split_at_mut(self.mask_words());
        tail.fill(0);
        let mut state = self.state();
        self.has_filled(&mut state);
        let filled = state.matcher.fill(mask);
        if filled.is_err() {
            mask.fill(0);
        }
        Ok(filled? == Fill::Masked)
    }

    fn fill_chain(&self, bitmask: &PyBitmask, from: usize, drafts: &[u32]) -> Result<usize, Fault> {
        let mut view = bitmask.view();
        check_width(&view, self.mask_words())?;
        let (words, rows) = (view.layout().columns, drafts.len() + 1);
        let mut state = self.state();
        self.has_filled(&mut state);
        let chain =
            with_whole_rows(&mut view, from, rows, |rows| state.matcher.fill_chain(drafts, rows, words))??;
        match chain.stopped {
            Some(error) if has_no_mask(&error) => Err(error.into()),
            _ => Ok(chain.taken),
        }
    }

    fn fill_tree(&self, bitmask: &PyBitmask, from: usize, tree: DraftTree<'_>) -> Result<(), Fault> {
        let mut view = bitmask.view();
        check_width(&view, self.mask_words())?;
        let (words, rows) = (view.layout().columns, tree.tokens.len().max(1));
        let mut broken = None;
        let mut state = self.state();
        self.has_filled(&mut state);
        let visited = |_, fill: Result<Fill, MatcherError>| {
            if let Err(error) = fill
                && has_no_mask(&error)
            {
                broken.get_or_insert(error);
            }
        };
        with_whole_rows(&mut view, from, rows, |rows| state.matcher.fill_tree(tree, rows, words, visited))??;
        broken.map_or(Ok(()), |error| Err(error.into()))
    }

    #[inline]
    fn id(&self, py: Python<'_>, id: i64) -> PyResult<u32> {
        let width = self.binding.logits_width;
        let known = u32::try_from(id).ok().filter(|id| *id < width);
        known.ok_or_else(|| invalid(py, format!("id {id} lies outside of logits of width {width}")))
    }

    /// The ids of a chain: up to the first -1, and all of them logits.
    fn chain(&self, tokens: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        let ids = ids::chain(tokens)?;
        if let Some(id) = ids.iter().find(|id| **id >= self.binding.logits_width) {
            return self.id(tokens.py(), i64::from(*id)).map(|_| Vec::new());
        }
        Ok(ids)
    }
}

#[pymethods]
impl PyMatcher {
    /// The index.
    #[getter]
    fn index(&self, py: Python<'_>) -> Py<PyAny> {
        self.index.clone_ref(py)
    }

    /// The ids that end the text, ascending.
    #[getter]
    fn eos<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.binding.eos)
    }

    /// The number of logits.
    #[getter]
    fn width(&self) -> u32 {
        self.binding.logits_width
    }

    /// Writes the mask of the next token to row `index` of a matrix: bit `id & 31` of word `id >> 5` says whether `id` may come next,
    /// and words after the mask are zero. False if the text has ended: the row is all zero.
    ///
    /// About one copy of a row through a `Bitmask`; a matrix that is bound for this call alone costs some microseconds more.
    #[pyo3(signature = (bitmask, index = Count(0)), text_signature = "($self, bitmask, index=0)")]
    fn fill_next_token_bitmask(&self, bitmask: &Bound<'_, PyAny>, index: Count) -> PyResult<bool> {
        let py = bitmask.py();
        let matrix = Matrix::of(bitmask)?;
        self.fill_row(matrix.bitmask(), index.0).map_err(|fault| fault.raised(py))
    }

    /// Takes a token. False if it is not allowed here, or the text has ended: nothing has changed then.
    fn accept_token(&self, py: Python<'_>, token: Id) -> PyResult<bool> {
        let id = self.id(py, token.0)?;
        let result = self.state().matcher.advance(id);
        match result {
            Ok(()) => Ok(true),
            Err(MatcherError::Refused { .. } | MatcherError::Ended) => Ok(false),
            Err(error) => Err(of_matcher(py, &error)),
        }
    }

    /// Takes all of some tokens, or none: False if one of them is not allowed where it stands. -1 ends them. Tokens that come after the
    /// end of the text are taken and ignored; `rollback` counts them. After an error of kind `corrupt` the matcher is of no more use.
    fn accept_tokens(&self, tokens: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = tokens.py();
        let tokens = self.chain(tokens)?;
        let mut state = self.state();
        let (taken, has_ended) = state.split(&tokens);
        if taken < tokens.len() && !has_ended {
            return Ok(false);
        }
        for (at, &id) in tokens[..taken].iter().enumerate() {
            // What could be taken can be: this fails of a damaged file alone.
            if let Err(error) = state.matcher.advance(id) {
                let _ = state.matcher.rollback(at);
                drop(state);
                return Err(of_matcher(py, &error));
            }
        }
        state.ignored += tokens.len() - taken;
        Ok(true)
    }

    /// The longest beginning of some tokens that `accept_tokens` would take. The text does not move.
    fn validate_tokens<'py>(&self, tokens: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let ids = self.chain(tokens)?;
        let (taken, has_ended) = self.state().split(&ids);
        PyList::new(tokens.py(), &ids[..if has_ended { ids.len() } else { taken }])
    }

    /// Takes back the last `count` tokens, an EOS and ignored ones among them. Raises `InvalidError` if fewer are remembered; nothing
    /// is taken back then.
    #[pyo3(signature = (count = Count(1)), text_signature = "($self, count=1)")]
    fn rollback(&self, py: Python<'_>, count: Count) -> PyResult<()> {
        let mut state = self.state();
        let ignored = state.ignored.min(count.0);
        let result = state.matcher.rollback(count.0 - ignored);
        if result.is_ok() {
            state.ignored -= ignored;
        }
        drop(state);
        result.map_err(|error| of_matcher(py, &error))
    }

    /// Goes back to the empty text, and forgets the tokens before.
    fn reset(&self) {
        let mut state = self.state();
        state.matcher.reset();
        state.ignored = 0;
    }

    /// Another matcher at the same text, which goes its own way from here.
    fn fork(&self, py: Python<'_>) -> Self {
        let state = self.state().clone();
        let (index, binding, lookup) =
            (self.index.clone_ref(py), self.binding.clone(), Arc::clone(&self.lookup));
        Self { state: Mutex::new(state), index, binding, lookup }
    }

    /// Another matcher at the beginning of a text that begins with `prefix`, bytes that were taken back from the prompt so that it ends where a token
    /// does: tokens spell the prefix and then the constraint's text, in any segmentation.
    fn with_prefix(&self, py: Python<'_>, prefix: &[u8]) -> PyResult<Self> {
        let other = self.fork(py);
        let mut state = other.state();
        state.matcher = state.matcher.clone().with_prefix(prefix).map_err(|error| of_matcher(py, &error))?;
        state.ignored = 0;
        drop(state);
        Ok(other)
    }

    /// Another matcher at the beginning of a text behind a prompt, given its tokens since the last special one at least: under `canonical-strict` and
    /// `canonical-heal` what comes is what the tokenizer would write behind it. `taken_back` tokens are to be dropped from its end.
    fn after_prompt(&self, tokens: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = tokens.py();
        let prompt = ids::chain(tokens)?;
        let other = self.fork(py);
        let mut state = other.state();
        state.matcher =
            state.matcher.clone().after_prompt(&prompt).map_err(|error| of_matcher(py, &error))?;
        state.ignored = 0;
        drop(state);
        Ok(other)
    }

    /// How many tokens of the prompt were taken back: their bytes are written anew.
    #[getter]
    fn taken_back(&self) -> usize {
        self.state().matcher.taken_back()
    }

    /// Whether the text has ended: an EOS was taken, or it is complete, nothing can follow, and the binding has no EOS.
    fn is_terminated(&self) -> bool {
        self.state().has_ended()
    }

    /// Whether the text so far satisfies the constraint.
    fn is_completed(&self) -> bool {
        self.state().matcher.is_complete()
    }

    /// The one token that must come next, `None` where there is a choice or the text may end: it tells what :meth:`forced` stops before, a
    /// token edge.
    fn forced_token(&self) -> Option<u32> {
        self.state().matcher.forced_token()
    }

    /// The tokens that must come next where texts are cut as the tokenizer cuts them (`Constraint.cut("canonical")`); empty where there is a choice, where
    /// the text may end, and for other constraints.
    fn forced_tokens(&self) -> Vec<u32> {
        let mut tokens = Vec::new();
        self.state().matcher.forced_tokens(&mut tokens);
        tokens
    }

    /// The bytes that must come next, whatever tokens they are made of; empty where there is a choice, and before a token edge.
    fn forced<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut bytes = Vec::new();
        self.state().matcher.forced(&mut bytes);
        PyBytes::new(py, &bytes)
    }

    /// Writes the masks along a chain of drafts: row `index` is the mask here, row `index + i` the mask after the first `i` drafts.
    /// Returns how many drafts can be taken one after the other; -1 ends them. There is no mask after an EOS, nor after a draft
    /// that cannot be taken: those rows are left as they were. The matcher stays as it is, what it can take back included.
    fn fill_draft_chain(
        &self,
        bitmask: &Bound<'_, PyAny>,
        index: Count,
        drafts: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        let py = bitmask.py();
        let drafts = self.chain(drafts)?;
        let matrix = Matrix::of(bitmask)?;
        self.fill_chain(matrix.bitmask(), index.0, &drafts).map_err(|fault| fault.raised(py))
    }

    /// Writes the masks over a tree of drafts, which is given as arrays of the first child and the next sibling of each node (-1 for
    /// none) and of the nodes' tokens. Node 0 is the root, whose token was taken. Row `index + i` is the mask after the tokens
    /// on the path to node `i`; rows of nodes that cannot be taken, that lie below such, or where the text has ended are left as they
    /// were. The matcher stays as it is, what it can take back included.
    ///
    /// The arrays are lists, or arrays of int32 or int64. One call, and about one copy of a row for each node.
    #[pyo3(signature = (first_child, next_sibling, tokens, bitmask, index = Count(0)), text_signature = "($self, first_child, next_sibling, tokens, bitmask, index=0)")]
    fn traverse_draft_tree(
        &self,
        first_child: &Bound<'_, PyAny>,
        next_sibling: &Bound<'_, PyAny>,
        tokens: &Bound<'_, PyAny>,
        bitmask: &Bound<'_, PyAny>,
        index: Count,
    ) -> PyResult<()> {
        let py = bitmask.py();
        let (first_child, next_sibling) = (ids::read(first_child)?, ids::read(next_sibling)?);
        let tokens = ids::read(tokens)?;
        let tree = DraftTree { tokens: &tokens, first_child: &first_child, next_sibling: &next_sibling };
        let matrix = Matrix::of(bitmask)?;
        self.fill_tree(matrix.bitmask(), index.0, tree).map_err(|fault| fault.raised(py))
    }

    fn __repr__(&self) -> String {
        let state = self.state();
        let (is_complete, has_ended) = (state.matcher.is_complete(), state.matcher.is_ended());
        format!("<gobo_masks.Matcher complete={is_complete} ended={has_ended}>")
    }

    #[expect(clippy::unused_self, reason = "a method of Python")]
    fn __reduce__(&self, py: Python<'_>) -> PyResult<()> {
        Err(of_kind(py, ErrorKind::Unsupported, "a matcher does not pickle; its index does"))
    }
}

/// Whether this is why a text has no mask, and not why it does not take a token.
fn has_no_mask(error: &MatcherError) -> bool {
    use MatcherError::{Corrupt, OnlyEos, StackDepth, StackNodes};
    matches!(error, Corrupt { .. } | OnlyEos | StackDepth { .. } | StackNodes { .. })
}
