use std::fs::File;
use std::path::Path;

use gobo_types::{
    COMPILER_EPOCH, Constraint, ConstraintDigest, IndexKey, Report, RestoreError, SchemaDocument,
    VocabularyDigest, index_key,
};

use crate::calls::{CallRoot, CallSpans, CallTables};
use crate::error::{ArtifactError, Fault};
use crate::file::{Artifact, Span};
use crate::header::ArtifactKind;
use crate::root::IndexRoot;
use crate::row::{self, Row, RowEntry};
use crate::section as kinds;
use crate::transitions::Transitions;
use crate::vocabulary::Vocabulary;

pub use gobo_types::DEAD;

/// Row number of states that no token may end in.
pub(crate) const NO_ROW: u32 = u32::MAX >> 1;

/// What an index needs at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexClass {
    /// A state says all: no stack.
    Regular,
    /// A state and a stack say all.
    Deterministic,
    /// A text may stand at several states with several stacks at once.
    Ambiguous,
}

impl IndexClass {
    /// The word in listings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Regular => "regular",
            Self::Deterministic => "deterministic",
            Self::Ambiguous => "ambiguous",
        }
    }

    /// The number in the root.
    pub(crate) fn number(self) -> u32 {
        self as u32
    }

    fn of_number(number: u32) -> Option<Self> {
        [Self::Regular, Self::Deterministic, Self::Ambiguous].get(number as usize).copied()
    }
}

/// An index file: for every state of a constraint's automaton the row of allowed ids, and the tables to advance.
///
/// `Send + Sync`; one per index and process, shared by any number of [`Matcher`](crate::Matcher)s.
#[derive(Debug)]
pub struct Index {
    artifact: Artifact,
    root: IndexRoot,
    row_words: usize,
    byte_classes: Span,
    transitions: Transitions,
    states: Span,
    row_table: Span,
    dense: Span,
    patches: Span,
    class: IndexClass,
    calls: Option<CallSpans>,
}

impl Index {
    /// Maps an index file. O(1), whatever the size of the file; safe on any bytes.
    ///
    /// # Errors
    /// [`ArtifactError::Io`] if it cannot be mapped, [`ArtifactError::Format`] if it is no sound index file.
    pub fn open(path: &Path) -> Result<Self, ArtifactError> {
        Self::of(Artifact::open(path, ArtifactKind::Index)?)
    }

    /// Maps the file that `file` has open: for those who open it in a way of their own. `path` is for errors.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_file(file: &File, path: &Path) -> Result<Self, ArtifactError> {
        Self::of(Artifact::open_file(file, path, ArtifactKind::Index)?)
    }

    /// Maps an index file and checks that it is the one of `key`.
    ///
    /// # Errors
    /// As [`Self::open`]; [`Fault::Key`] for the file of another key.
    pub fn open_key(path: &Path, key: &IndexKey) -> Result<Self, ArtifactError> {
        let index = Self::open(path)?;
        if index.key() != *key {
            let (found, expected) = (index.key().to_string(), key.to_string());
            return Err(index.artifact.fault(Fault::Key { found, expected }));
        }
        Ok(index)
    }

    /// Reads an index from bytes, which are copied.
    ///
    /// # Errors
    /// [`ArtifactError::Format`] if they are no sound index file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ArtifactError> {
        Self::of(Artifact::from_bytes(bytes, ArtifactKind::Index)?)
    }

    fn of(artifact: Artifact) -> Result<Self, ArtifactError> {
        let root: IndexRoot = artifact.root()?;
        let Some(class) = IndexClass::of_number(root.class) else {
            return Err(
                artifact.fault(Fault::Header { what: format!("class {}, which is unknown", root.class) })
            );
        };
        let calls = match (class, artifact.has_section(kinds::CALLS)) {
            (IndexClass::Regular, false) => None,
            (IndexClass::Deterministic | IndexClass::Ambiguous, true) => {
                Some(CallSpans::open(&artifact, &root)?)
            }
            _ => return Err(artifact.meaning("the class does not go with the sections")),
        };
        if !(1..=256).contains(&root.classes) || root.start >= root.states || root.start == DEAD {
            return Err(artifact.meaning("the root's counts of states and classes"));
        }
        let row_words = root.vocabulary_len.div_ceil(32) as usize;
        let transitions = Transitions::open(&artifact, root.states, root.classes)?;
        Ok(Self {
            byte_classes: artifact.span::<u8>(kinds::BYTE_CLASSES, 256)?,
            transitions,
            states: artifact.span::<u32>(kinds::STATES, u64::from(root.states))?,
            row_table: artifact.span::<RowEntry>(kinds::ROW_TABLE, u64::from(root.rows))?,
            dense: artifact.open_span::<u32>(kinds::DENSE_ROWS)?,
            patches: artifact.open_span::<[u32; 2]>(kinds::ROW_PATCHES)?,
            class,
            calls,
            row_words,
            root,
            artifact,
        })
    }

    /// The file.
    pub fn artifact(&self) -> &Artifact {
        &self.artifact
    }

    /// All bytes of the file.
    pub fn file_bytes(&self) -> &[u8] {
        self.artifact.bytes()
    }

    /// Counts and digests of the inputs.
    pub fn root(&self) -> &IndexRoot {
        &self.root
    }

    /// The key in the header.
    pub fn key(&self) -> IndexKey {
        IndexKey::from(self.artifact.key())
    }

    /// The vocabulary whose ids the rows hold.
    pub fn vocabulary_digest(&self) -> VocabularyDigest {
        VocabularyDigest::from(self.root.vocabulary_digest)
    }

    /// The constraint's digest.
    pub fn constraint_digest(&self) -> ConstraintDigest {
        ConstraintDigest::from(self.root.constraint_digest)
    }

    /// `regex`, `choice`, `grammar` or `json`.
    pub fn constraint_kind(&self) -> &str {
        &self.root.constraint_kind
    }

    /// The canonical text of the constraint.
    pub fn constraint_text(&self) -> &str {
        std::str::from_utf8(self.artifact.section_bytes(kinds::CONSTRAINT)).unwrap_or_default()
    }

    /// The constraint, put together from what the file keeps of it and the documents that a schema was compiled beside. O(its length).
    ///
    /// # Errors
    /// [`RestoreError`] if the file was written by an older gobo, or the documents are not the same.
    pub fn constraint(&self, documents: &[SchemaDocument]) -> Result<Constraint, RestoreError> {
        if !self.artifact.has_section(kinds::CONSTRAINT_OPTIONS) {
            return Err(RestoreError::NoOptions);
        }
        let options = std::str::from_utf8(self.artifact.section_bytes(kinds::CONSTRAINT_OPTIONS));
        Constraint::restore(
            self.constraint_text(),
            options.unwrap_or_default(),
            documents.to_vec(),
            &self.constraint_digest(),
        )
    }

    /// What it needs at run time.
    pub fn class(&self) -> IndexClass {
        self.class
    }

    /// The depths of the stack and the names of the return states; `None` for an index without calls. Decoded at each call.
    ///
    /// # Errors
    /// [`ArtifactError::Format`] if the section is damaged.
    pub fn call_root(&self) -> Result<Option<CallRoot>, ArtifactError> {
        self.calls.as_ref().map(|_| self.artifact.archive(kinds::CALLS)).transpose()
    }

    /// Number of classes of return states, and of rows that are kept for what tokens leave to them; 0 for an index without calls.
    /// O(return states).
    pub fn pair_counts(&self) -> (usize, usize) {
        self.calls().map_or((0, 0), |calls| (calls.class_count(), calls.pair_count()))
    }

    /// The tables of calls, if there are any.
    #[inline]
    pub(crate) fn calls(&self) -> Option<CallTables<'_>> {
        self.calls.as_ref().map(|calls| calls.tables(&self.artifact))
    }

    /// Number of states, the dead one included.
    pub fn states(&self) -> u32 {
        self.root.states
    }

    /// Number of distinct rows.
    pub fn rows(&self) -> u32 {
        self.root.rows
    }

    /// Words of a row: `ceil(vocabulary length / 32)`.
    pub fn row_words(&self) -> usize {
        self.row_words
    }

    /// What the index enforces of its constraint. Decoded at each call; O(report).
    ///
    /// # Errors
    /// [`ArtifactError::Format`] if the section is damaged.
    pub fn report(&self) -> Result<Report, ArtifactError> {
        self.artifact.archive(kinds::REPORT)
    }

    /// The state of the empty text.
    pub fn start(&self) -> u32 {
        self.root.start
    }

    /// The state after `byte` by the state's own transitions; [`DEAD`] where they lead nowhere, and for states that do not
    /// exist. In an index with calls a [`Matcher`](crate::Matcher) knows the other ways on. O(1).
    #[inline]
    pub fn next_state(&self, state: u32, byte: u8) -> u32 {
        self.walk(state, &[byte])
    }

    /// The class of `byte`: bytes of one class lead to the same state from every state. O(1).
    pub fn byte_class(&self, byte: u8) -> u8 {
        self.artifact.get::<u8>(&self.byte_classes).get(usize::from(byte)).copied().unwrap_or(0)
    }

    /// The state after `bytes`; [`DEAD`] where they lead nowhere. A few loads for each byte.
    #[inline]
    pub(crate) fn walk(&self, state: u32, bytes: &[u8]) -> u32 {
        let classes: &[u8] = self.artifact.get(&self.byte_classes);
        let class = |byte: &u8| classes.get(usize::from(*byte)).copied().unwrap_or_default();
        let shape = (self.root.states, self.root.classes);
        self.transitions.walk(&self.artifact, shape, state, bytes.iter().map(class))
    }

    /// The state after a byte of the class; [`DEAD`] where it leads nowhere.
    #[inline]
    pub(crate) fn next_by_class(&self, state: u32, class: u8) -> u32 {
        let shape = (self.root.states, self.root.classes);
        self.transitions.walk(&self.artifact, shape, state, std::iter::once(class))
    }

    /// Goes on by transitions alone, as long as nothing else can be done: the state, and how many bytes were read.
    #[inline]
    pub(crate) fn walk_inside(&self, calls: &CallTables<'_>, mut state: u32, bytes: &[u8]) -> (u32, usize) {
        let classes: &[u8] = self.artifact.get(&self.byte_classes);
        for (offset, &byte) in bytes.iter().enumerate() {
            // Where one configuration is all there can be, a transition that leads on is the only way.
            if self.class == IndexClass::Ambiguous
                && (self.is_complete(state) || !calls.openings(state).is_empty())
            {
                return (state, offset);
            }
            match self.next_by_class(state, classes.get(usize::from(byte)).copied().unwrap_or_default()) {
                DEAD => return (state, offset),
                next => state = next,
            }
        }
        (state, bytes.len())
    }

    #[inline]
    fn state_word(&self, state: u32) -> u32 {
        self.artifact.get::<u32>(&self.states).get(state as usize).copied().unwrap_or(NO_ROW << 1)
    }

    /// Whether the text may end in `state`; in an index with calls, whether the rule may. O(1).
    #[inline]
    pub fn is_complete(&self, state: u32) -> bool {
        self.state_word(state) & 1 == 1
    }

    /// The number of the row of `state`; `None` where no token may end. O(1).
    #[inline]
    pub fn row_number(&self, state: u32) -> Option<u32> {
        let number = self.state_word(state) >> 1;
        (number != NO_ROW).then_some(number)
    }

    /// The row of that number, over the vocabulary that the index was compiled for. O(1).
    #[inline]
    pub fn row<'a>(&'a self, vocabulary: &'a Vocabulary, number: u32) -> Option<Row<'a>> {
        let entry = self.row_entry(number)?;
        let dense = |number: u32| match number.checked_sub(self.root.shared_rows) {
            Some(own) => self.dense_row(own),
            None => vocabulary.shared_row(number),
        };
        Some(match entry.kind {
            row::DENSE => Row::Dense(dense(entry.offset)?),
            row::PATCHED => {
                let base = if entry.base == row::NO_BASE { None } else { Some(dense(entry.base)?) };
                Row::Patched { base, patches: self.patches_of(entry)? }
            }
            _ => return None,
        })
    }

    #[inline]
    fn row_entry(&self, number: u32) -> Option<&RowEntry> {
        self.artifact.get::<RowEntry>(&self.row_table).get(number as usize)
    }

    /// The words of a dense row of this file.
    #[inline]
    fn dense_row(&self, number: u32) -> Option<&[u32]> {
        let from = (number as usize).checked_mul(self.row_words)?;
        self.artifact.get::<u32>(&self.dense).get(from..from.checked_add(self.row_words)?)
    }

    #[inline]
    fn patches_of(&self, entry: &RowEntry) -> Option<&[[u32; 2]]> {
        let from = entry.offset as usize;
        self.artifact.get::<[u32; 2]>(&self.patches).get(from..from + entry.len as usize)
    }

    /// Reads everything: digests of all sections, that the key is that of the inputs, and that every number in the
    /// tables names something that is there. O(file), whatever its bytes.
    ///
    /// # Errors
    /// [`ArtifactError::Format`] naming the first fault.
    pub fn verify(&self) -> Result<(), ArtifactError> {
        self.artifact.verify_digests()?;
        self.report()?;
        if std::str::from_utf8(self.artifact.section_bytes(kinds::CONSTRAINT)).is_err() {
            return Err(self.artifact.meaning("the constraint is not UTF-8"));
        }
        // Another epoch's derivation is not known here.
        if self.root.compiler_epoch == COMPILER_EPOCH {
            if index_key(&self.vocabulary_digest(), &self.constraint_digest()) != self.key() {
                return Err(self.artifact.meaning("the key is not that of its vocabulary and constraint"));
            }
            match self.constraint(&[]) {
                // The texts of documents are in no file, so nothing more is known.
                Ok(_) | Err(RestoreError::NoOptions | RestoreError::Documents { .. }) => {}
                Err(error) => return Err(self.artifact.meaning(error.to_string())),
            }
        }
        let classes: &[u8] = self.artifact.get(&self.byte_classes);
        if classes.iter().any(|&class| u32::from(class) >= self.root.classes) {
            return Err(self.artifact.meaning("a byte class is out of range"));
        }
        self.verify_rows()?;
        if let Some(calls) = self.calls() {
            let named = self.call_root()?.map_or(0, |root| root.returns.len());
            if named != calls.return_count() {
                return Err(self.artifact.meaning("not every return state has its names"));
            }
            calls.verify(&self.root).map_err(|what| self.artifact.meaning(what))?;
        }
        self.verify_states()
    }

    fn verify_states(&self) -> Result<(), ArtifactError> {
        let transitions = self.transitions.verify(&self.artifact, self.root.states, self.root.classes);
        transitions.map_err(|what| self.artifact.meaning(what))?;
        if self.state_word(DEAD) != NO_ROW << 1 {
            return Err(self.artifact.meaning("the dead state is not dead"));
        }
        for state in 0..self.root.states {
            match self.row_number(state) {
                Some(number) if number >= self.root.rows => {
                    return Err(self.artifact.meaning(format!("state {state} has no row {number}")));
                }
                // Called rules may begin where the state's own row is empty.
                Some(number)
                    if self.is_empty_row(number) && !self.is_complete(state) && self.calls.is_none() =>
                {
                    let what = format!("state {state} allows nothing and is not complete");
                    return Err(self.artifact.meaning(what));
                }
                None if state == self.start() => return Err(self.artifact.meaning("the start has no row")),
                _ => {}
            }
        }
        Ok(())
    }

    /// The rows lie one behind the other, as they are written: nothing is read twice, and nothing lies between them. Only
    /// no patches over zeros allow nothing, so that [`Row::is_empty`] needs no look at the words. Shared rows are not at
    /// hand; none of them is empty, and a row that differs from one keeps a word that is not zero among its patches.
    fn verify_rows(&self) -> Result<(), ArtifactError> {
        let (mut dense, mut patches_end) = (0_u32, 0_usize);
        // `[dense rows so far]`: how many words of each are not zero.
        let mut set_words: Vec<usize> = Vec::new();
        let tail_is_zero = |word: u32| match self.root.vocabulary_len % 32 {
            0 => true,
            used => word >> used == 0,
        };
        let shared = self.root.shared_rows;
        for number in 0..self.root.rows {
            let fault = |what: &str| Err(self.artifact.meaning(format!("row {number}: {what}")));
            match self.row_entry(number) {
                Some(&RowEntry { kind: row::DENSE, offset, len, base }) => {
                    if len != 0 || base != row::NO_BASE {
                        return fault("it is dense and has patches");
                    }
                    if offset < shared {
                        continue;
                    }
                    let Some(words) = self.dense_row(offset - shared) else {
                        return fault("it points outside its section");
                    };
                    if offset - shared != dense {
                        return fault("it does not begin where the one before ends");
                    }
                    let set = words.iter().filter(|&&word| word != 0).count();
                    if set == 0 {
                        return fault("it is dense and allows nothing");
                    }
                    if !words.last().is_none_or(|&word| tail_is_zero(word)) {
                        return fault("it sets a bit beyond the vocabulary");
                    }
                    dense += 1;
                    set_words.push(set);
                }
                Some(entry @ RowEntry { kind: row::PATCHED, .. }) => {
                    let Some(patches) = self.patches_of(entry) else {
                        return fault("it points outside its section");
                    };
                    if entry.offset as usize != patches_end {
                        return fault("it does not begin where the one before ends");
                    }
                    let ascending = patches.windows(2).all(|pair| pair[0][0] < pair[1][0]);
                    let fits = |&[at, bits]: &[u32; 2]| {
                        (at as usize) < self.row_words
                            && (at as usize + 1 < self.row_words || tail_is_zero(bits))
                    };
                    if !ascending || !patches.iter().all(fits) {
                        return fault("its patches are not ascending words of a row");
                    }
                    patches_end += patches.len();
                    let nonzero = patches.iter().filter(|patch| patch[1] != 0).count();
                    let of_own = entry.base.checked_sub(shared).filter(|_| entry.base != row::NO_BASE);
                    let Some(base) = of_own else {
                        if entry.base == row::NO_BASE && nonzero != patches.len() {
                            return fault("it patches zeros with zeros");
                        }
                        if entry.base != row::NO_BASE && nonzero == 0 {
                            return fault("it patches a shared row with nothing but zeros");
                        }
                        continue;
                    };
                    let words = set_words.get(base as usize).copied().zip(self.dense_row(base));
                    let Some((set, base)) = words else {
                        return fault("its base does not come before it");
                    };
                    let replaced = patches.iter().filter(|patch| base[patch[0] as usize] != 0).count();
                    if set + nonzero == replaced {
                        return fault("it is patched and allows nothing");
                    }
                }
                _ => return fault("it is of an unknown kind"),
            }
        }
        let ends =
            [(kinds::DENSE_ROWS, dense as usize * self.row_words * 4), (kinds::ROW_PATCHES, patches_end * 8)];
        match ends.iter().find(|&&(kind, end)| self.artifact.section(kind).length != end as u64) {
            Some(&(kind, _)) => {
                let name = self.artifact.section(kind).name();
                Err(self.artifact.meaning(format!("no row holds the end of section {name}")))
            }
            None => Ok(()),
        }
    }

    /// Whether the row of that number, which verified, allows nothing.
    fn is_empty_row(&self, number: u32) -> bool {
        self.row_entry(number)
            .is_none_or(|entry| entry.kind == row::PATCHED && entry.base == row::NO_BASE && entry.len == 0)
    }

    /// Whether the index was compiled for `vocabulary`.
    pub(crate) fn belongs_to(&self, vocabulary: &Vocabulary) -> bool {
        self.root.vocabulary_digest == vocabulary.artifact().key()
            && self.root.vocabulary_len == vocabulary.len()
    }

    /// Whether the vocabulary file holds the shared rows that this file's rows are or differ from.
    pub(crate) fn shares_rows_of(&self, vocabulary: &Vocabulary) -> bool {
        self.root.shared_rows_digest == vocabulary.shared_rows_digest().0
    }
}
