//! An index file, opened: O(1), and every lookup is checked against the bounds of its table.

use std::fs::File;
use std::path::Path;

use gobo_types::{
    Constraint, ConstraintDigest, IndexKey, LengthRange, Report, RestoreError, SchemaDocument,
    VocabularyDigest,
};

use crate::layout::artifact::{Artifact, Span};
use crate::layout::error::{ArtifactError, Fault};
use crate::layout::index::borders::BorderSpans;
use crate::layout::index::calls::{CallRoot, CallSpans, CallTables};
use crate::layout::index::lengths::{LengthSpans, LengthTables};
use crate::layout::index::root::{IndexClass, IndexRoot};
use crate::layout::index::row::{self, Row, RowEntry};
use crate::layout::index::states::{DEAD, NO_ROW};
use crate::layout::index::tokens::TokenSpans;
use crate::layout::index::transitions::Transitions;
use crate::layout::kind::ArtifactKind;
use crate::layout::section as kinds;
use crate::read::vocabulary::Vocabulary;

/// An index file: for every state of a constraint's automaton the row of allowed ids, and the tables to advance.
///
/// `Send + Sync`; one for each index and process, shared by any number of [`Matcher`](crate::Matcher)s. Its memory is the map of
/// the file, which the processes of a host share, and some hundred bytes.
///
/// ```
/// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
/// use std::sync::Arc;
/// use gobo_artifact::{Binding, Index, Matcher, Vocabulary};
///
/// # let folder = tempfile::tempdir()?;
/// # let paths = (folder.path().join("index.gobo"), folder.path().join("vocabulary.gobov"));
/// # let (vocabulary, index) = small::files(&["a", "b"], &gobo_types::Constraint::regex("ab"));
/// # std::fs::write(&paths.0, index)?;
/// # std::fs::write(&paths.1, vocabulary)?;
/// # let (index_path, vocabulary_path) = (paths.0.as_path(), paths.1.as_path());
/// let index = Arc::new(Index::open(index_path)?);
/// let vocabulary = Arc::new(Vocabulary::open(vocabulary_path)?);
/// // The model puts out 3 logits, and id 2 ends a text.
/// let matcher = Matcher::new(index, vocabulary, &Binding::new(vec![2], 3))?;
/// assert_eq!(matcher.mask_words(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Index {
    pub(super) artifact: Artifact,
    pub(super) root: IndexRoot,
    pub(super) row_words: usize,
    pub(super) byte_classes: Span,
    pub(super) transitions: Transitions,
    pub(super) states: Span,
    pub(super) row_table: Span,
    pub(super) dense: Span,
    pub(super) patches: Span,
    pub(super) class: IndexClass,
    pub(super) calls: Option<CallSpans>,
    pub(super) lengths: Option<LengthSpans>,
    pub(super) tokens: Option<TokenSpans>,
    pub(super) borders: Option<BorderSpans>,
}

impl Index {
    /// Maps an index file. O(1), whatever the size of the file; safe on any bytes.
    ///
    /// # Errors
    /// [`ArtifactError::Io`] if it cannot be mapped, [`ArtifactError::Format`] if it is no sound index file.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::Index;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("index.gobo");
    /// # std::fs::write(&path, small::files(&["a"], &gobo_types::Constraint::regex("a+")).1)?;
    /// let index = Index::open(&path)?;
    /// assert_eq!(index.constraint_text(), "a+");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: &Path) -> Result<Self, ArtifactError> {
        Self::of(Artifact::open(path, ArtifactKind::Index)?)
    }

    /// Maps a file that is open already; `path` is for errors. O(1), as [`Self::open`].
    ///
    /// # Errors
    /// As [`Self::open`].
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use std::fs::File;
    /// use gobo_artifact::Index;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("index.gobo");
    /// # std::fs::write(&path, small::files(&["a"], &gobo_types::Constraint::regex("a+")).1)?;
    /// let index = Index::open_file(&File::open(&path)?, &path)?;
    /// assert!(index.file_bytes().len() > 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_file(file: &File, path: &Path) -> Result<Self, ArtifactError> {
        Self::of(Artifact::open_file(file, path, ArtifactKind::Index)?)
    }

    /// Maps an index file and checks that its header has this key. O(1).
    ///
    /// # Errors
    /// As [`Self::open`]; [`Fault::Key`] for the file of another key.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::{ArtifactError, Fault, Index};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("index.gobo");
    /// # std::fs::write(&path, small::files(&["a"], &gobo_types::Constraint::regex("a+")).1)?;
    /// let key = Index::open(&path)?.key();
    /// assert!(Index::open_key(&path, &key).is_ok());
    /// let another = gobo_types::IndexKey::from([0; 32]);
    /// let error = Index::open_key(&path, &another).unwrap_err();
    /// assert!(matches!(error, ArtifactError::Format { fault: Fault::Key { .. }, .. }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_key(path: &Path, key: &IndexKey) -> Result<Self, ArtifactError> {
        let index = Self::open(path)?;
        if index.key() != *key {
            let (found, expected) = (index.key().to_string(), key.to_string());
            return Err(index.artifact.fault(Fault::Key { found, expected }));
        }
        Ok(index)
    }

    /// Reads an index from bytes, which are copied. O(bytes).
    ///
    /// # Errors
    /// [`ArtifactError::Format`] if they are no sound index file.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::Index;
    ///
    /// # let (_, bytes) = small::files(&["a"], &gobo_types::Constraint::regex("a+"));
    /// assert!(Index::from_bytes(&bytes).is_ok());
    /// assert!(Index::from_bytes(&bytes[1..]).is_err());
    /// ```
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
            lengths: artifact
                .has_section(kinds::LENGTHS)
                .then(|| LengthSpans::open(&artifact))
                .transpose()?,
            tokens: artifact
                .has_section(kinds::TOKEN_RANGES)
                .then(|| TokenSpans::open(&artifact))
                .transpose()?,
            borders: BorderSpans::open(&artifact, root.states)?,
            calls,
            row_words,
            root,
            artifact,
        })
    }

    /// The header and the sections of the file. O(1).
    pub fn artifact(&self) -> &Artifact {
        &self.artifact
    }

    /// All bytes of the file. O(1).
    pub fn file_bytes(&self) -> &[u8] {
        self.artifact.bytes()
    }

    /// Counts, and digests of the inputs. O(1).
    pub fn root(&self) -> &IndexRoot {
        &self.root
    }

    /// The key in the header, under which stores have the file. O(1).
    pub fn key(&self) -> IndexKey {
        IndexKey::from(self.artifact.key())
    }

    /// The digest of the vocabulary whose ids the rows hold. O(1).
    pub fn vocabulary_digest(&self) -> VocabularyDigest {
        VocabularyDigest::from(self.root.vocabulary_digest)
    }

    /// The digest of the constraint. O(1).
    pub fn constraint_digest(&self) -> ConstraintDigest {
        ConstraintDigest::from(self.root.constraint_digest)
    }

    /// The kind of the constraint: `regex`, `choice`, `grammar`, `json` or `schema`. O(1).
    pub fn constraint_kind(&self) -> &str {
        &self.root.constraint_kind
    }

    /// The canonical text of the constraint. O(its length).
    pub fn constraint_text(&self) -> &str {
        std::str::from_utf8(self.artifact.section_bytes(kinds::CONSTRAINT)).unwrap_or_default()
    }

    /// The constraint, restored from its text and options in the file, and from the documents that a schema was compiled with. O(its
    /// length).
    ///
    /// # Errors
    /// [`RestoreError`] if the file was written by an older gobo, or the documents are not the same.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let (index, ..) = small::pattern();
    /// use gobo_types::Constraint;
    ///
    /// assert_eq!((index.constraint_kind(), index.constraint_text()), ("regex", "(ab)*"));
    /// assert_eq!(index.constraint(&[])?, Constraint::regex("(ab)*"));
    /// # Ok::<(), gobo_types::RestoreError>(())
    /// ```
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

    /// What a matcher needs beside the state. O(1).
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::IndexClass;
    ///
    /// # let ((regular, ..), (nested, ..)) = (small::pattern(), small::brackets());
    /// assert_eq!(regular.class(), IndexClass::Regular);
    /// assert_eq!(nested.class(), IndexClass::Deterministic);
    /// ```
    pub fn class(&self) -> IndexClass {
        self.class
    }

    /// The depths of the stack and the names of the return states; `None` for an index without calls. Decoded at each call.
    ///
    /// # Errors
    /// [`ArtifactError::Format`] if the section is damaged.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let ((regular, ..), (nested, ..)) = (small::pattern(), small::brackets());
    /// assert_eq!(regular.call_root()?, None);
    /// // Each `[` within brackets pushes one return state.
    /// let calls = nested.call_root()?.expect("brackets within brackets need a stack");
    /// assert_eq!(calls.push_depth, 1);
    /// # Ok::<(), gobo_artifact::ArtifactError>(())
    /// ```
    pub fn call_root(&self) -> Result<Option<CallRoot>, ArtifactError> {
        self.calls.as_ref().map(|_| self.artifact.archive(kinds::CALLS)).transpose()
    }

    /// Number of return classes, and of pairs of a pending-suffix set and a return class; 0 for an index without calls.
    /// O(return states).
    pub fn pair_counts(&self) -> (usize, usize) {
        self.calls().map_or((0, 0), |calls| (calls.class_count(), calls.pair_count()))
    }

    /// The tables of calls, if there are any.
    #[inline]
    pub(crate) fn calls(&self) -> Option<CallTables<'_>> {
        self.calls.as_ref().map(|calls| calls.tables(&self.artifact))
    }

    /// How many characters of a string may be read until the return state of that number is popped, at least and at most; `None` where
    /// they are not counted. O(1).
    pub fn lengths_of_return(&self, number: u32) -> Option<LengthRange> {
        self.lengths().and_then(|lengths| lengths.of_return(number))
    }

    /// The tables of counted rules, if there are any.
    #[inline]
    pub(crate) fn lengths(&self) -> Option<LengthTables<'_>> {
        self.lengths.as_ref().map(|lengths| lengths.tables(&self.artifact))
    }

    /// Number of states, the dead state 0 included. O(1).
    pub fn states(&self) -> u32 {
        self.root.states
    }

    /// Number of distinct rows. O(1).
    pub fn rows(&self) -> u32 {
        self.root.rows
    }

    /// Words of a row, 32 bits each: `ceil(vocabulary length / 32)`. O(1).
    pub fn row_words(&self) -> usize {
        self.row_words
    }

    /// What the index enforces of its constraint. Decoded at each call; O(report).
    ///
    /// # Errors
    /// [`ArtifactError::Format`] if the section is damaged.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let (index, ..) = small::pattern();
    /// let report = index.report()?;
    /// assert!(report.widened.is_empty());
    /// # Ok::<(), gobo_artifact::ArtifactError>(())
    /// ```
    pub fn report(&self) -> Result<Report, ArtifactError> {
        self.artifact.archive(kinds::REPORT)
    }

    /// The state of the empty text. O(1).
    pub fn start(&self) -> u32 {
        self.root.start
    }

    /// The state after `byte` by the state's own transitions; [`DEAD`] where they lead nowhere, and for states that do not
    /// exist. In an index with calls a [`Matcher`](crate::Matcher) also follows push transitions and pops. O(1).
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::layout::DEAD;
    ///
    /// # let (index, ..) = small::pattern();
    /// // Texts of (ab)*.
    /// let after_a = index.next_state(index.start(), b'a');
    /// assert!(!index.is_complete(after_a));
    /// assert!(index.is_complete(index.next_state(after_a, b'b')));
    /// assert_eq!(index.next_state(after_a, b'a'), DEAD);
    /// ```
    #[inline]
    pub fn next_state(&self, state: u32, byte: u8) -> u32 {
        if self.are_text(&[byte]) { self.walk(state, &[byte]) } else { DEAD }
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
                && (self.is_complete(state) || !calls.push_transitions(state).is_empty())
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
    pub(super) fn state_word(&self, state: u32) -> u32 {
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
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let (index, vocabulary, _) = small::pattern();
    /// // Ids 0 `a`, 1 `b`, 2 `ab`; texts of (ab)*.
    /// let number = index.row_number(index.start()).expect("a token may end at the start");
    /// let row = index.row(&vocabulary, number).expect("the file verified");
    /// assert_eq!(row.ids(index.row_words()), [0, 2]);
    /// ```
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
    pub(super) fn row_entry(&self, number: u32) -> Option<&RowEntry> {
        self.artifact.get::<RowEntry>(&self.row_table).get(number as usize)
    }

    /// The words of a dense row of this file.
    #[inline]
    pub(super) fn dense_row(&self, number: u32) -> Option<&[u32]> {
        let from = (number as usize).checked_mul(self.row_words)?;
        self.artifact.get::<u32>(&self.dense).get(from..from.checked_add(self.row_words)?)
    }

    #[inline]
    pub(super) fn patches_of(&self, entry: &RowEntry) -> Option<&[[u32; 2]]> {
        let from = entry.offset as usize;
        self.artifact.get::<[u32; 2]>(&self.patches).get(from..from + entry.len as usize)
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
