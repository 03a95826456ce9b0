//! A store with a vocabulary and the indices of the command line's library over it, and handles of C for them.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::Arc;

use ::gobo_store::{NamedVocabulary, Store};
use gobo::{
    gobo_index, gobo_index_find, gobo_index_free, gobo_last_error, gobo_matcher, gobo_matcher_free,
    gobo_matcher_new, gobo_status, gobo_store, gobo_store_free, gobo_store_open, gobo_vocabulary,
    gobo_vocabulary_by_name, gobo_vocabulary_free,
};
use gobo_artifact::{Index, Matcher, Vocabulary};
use gobo_types::{Binding, Budget, CompileLimits, Constraint, IndexKey, TokenId, Whitespace, index_key};
use gobo_vocab::TokenTable;
use gobo_worker::compile_constraint;
use serde_json::Value;
use tempfile::TempDir;

/// The name of the vocabulary.
pub(crate) const NAME: &CStr = c"grams";

/// A constraint of the library.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) constraint: Constraint,
    /// A few texts of it.
    pub(crate) texts: Vec<String>,
}

impl Case {
    /// As C gives it.
    pub(crate) fn json(&self) -> CString {
        json(&self.constraint)
    }
}

pub(crate) fn json(constraint: &Constraint) -> CString {
    CString::new(serde_json::to_string(constraint).unwrap()).unwrap()
}

/// The cases of the command line's library.
pub(crate) fn library() -> Vec<Case> {
    let lines = include_str!("../../../gobo-cli/library/everyday.jsonl").lines();
    let texts = |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap() };
    lines
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let text = |name: &str| line[name].as_str();
            let constraint = if let Some(pattern) = text("regex") {
                Constraint::regex(pattern)
            } else if let Some(grammar) = text("grammar") {
                Constraint::gbnf(grammar, "root")
            } else if let Some(whitespace) = text("json") {
                Constraint::json(whitespace.parse::<Whitespace>().unwrap())
            } else {
                Constraint::choice(texts(&line["choice"]))
            };
            Case { id: text("id").unwrap().to_owned(), constraint, texts: texts(&line["accept"]) }
        })
        .collect()
}

/// Every byte, what two and three bytes of the library's texts have often been cut to, a special token and two ends of a text.
fn tokens(cases: &[Case]) -> (TokenTable, Vec<TokenId>) {
    let mut grams: BTreeSet<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    for text in cases.iter().flat_map(|case| &case.texts) {
        for length in [2, 3, 5] {
            grams.extend(text.as_bytes().windows(length).map(<[u8]>::to_vec));
        }
    }
    let mut table = TokenTable::new();
    let mut id = 0;
    let mut add = |bytes: &[u8], is_special: bool| {
        table.insert(id, bytes.to_vec(), is_special).unwrap();
        id += 1;
        id - 1
    };
    for gram in &grams {
        add(gram, false);
    }
    add(b"<pad>", true);
    let ends = [add(b"<eos>", true), add(b"<end>", true)];
    (table, ends.to_vec())
}

/// The store, and the same things in Rust.
pub(crate) struct Fixture {
    folder: TempDir,
    pub(crate) store: Store,
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) binding: Binding,
    pub(crate) cases: Vec<Case>,
}

impl Fixture {
    /// With the indices of all cases that `which` chooses.
    pub(crate) fn new(which: impl Fn(&Case) -> bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let mut cases = library();
        let (table, ends) = tokens(&cases);
        cases.retain(which);
        let file = table.build().unwrap();
        let vocabulary = Arc::new(Vocabulary::from_bytes(&file).unwrap());
        store.publish_vocabulary(&vocabulary.digest(), &file).unwrap();
        // Padded logits, and no multiple of 32.
        let binding = Binding::new(ends, vocabulary.len() + 45);
        let named = NamedVocabulary {
            vocabulary: vocabulary.digest(),
            binding: binding.clone(),
            kind: "test".into(),
            tokens: vocabulary.len(),
            special: 3,
            source: None,
            source_digest: None,
        };
        store.put_name(NAME.to_str().unwrap(), &named).unwrap();
        let fixture = Self { folder, store, vocabulary, binding, cases };
        for case in &fixture.cases {
            fixture.publish(&case.constraint);
        }
        fixture
    }

    /// Compiles a constraint into the store.
    pub(crate) fn publish(&self, constraint: &Constraint) -> IndexKey {
        let budget = Budget::new(CompileLimits::default());
        let compiled = compile_constraint(&self.vocabulary, constraint, 1, &budget).unwrap();
        let key = self.key(constraint);
        self.store.publish_index(&key, compiled.bytes()).unwrap();
        key
    }

    pub(crate) fn key(&self, constraint: &Constraint) -> IndexKey {
        index_key(&self.vocabulary.digest(), &constraint.digest())
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// A matcher in Rust.
    pub(crate) fn matcher(&self, constraint: &Constraint) -> Matcher {
        let index = Index::open(&self.store.index_path(&self.key(constraint))).unwrap();
        Matcher::new(Arc::new(index), Arc::clone(&self.vocabulary), &self.binding).unwrap()
    }

    /// The same store and vocabulary through C.
    pub(crate) fn open(&self) -> Opened {
        let path = c_path(self.root());
        // SAFETY: the text lives during the call.
        let store = made(|place| unsafe { gobo_store_open(path.as_ptr(), place) }).unwrap();
        // SAFETY: the text lives during the call.
        let vocabulary =
            made(|place| unsafe { gobo_vocabulary_by_name(Some(&store), NAME.as_ptr(), place) }).unwrap();
        Opened { store, vocabulary }
    }
}

pub(crate) fn c_path(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

/// A store and a vocabulary of C.
pub(crate) struct Opened {
    pub(crate) store: Box<gobo_store>,
    pub(crate) vocabulary: Box<gobo_vocabulary>,
}

impl Opened {
    pub(crate) fn find(&self, constraint: &CStr) -> Result<Box<gobo_index>, (gobo_status, String)> {
        // SAFETY: the text lives during the call.
        made(|place| unsafe {
            gobo_index_find(Some(&self.store), Some(&self.vocabulary), constraint.as_ptr(), place)
        })
    }

    /// A matcher with the defaults.
    pub(crate) fn matcher(&self, constraint: &CStr) -> Result<Box<gobo_matcher>, (gobo_status, String)> {
        let index = self.find(constraint)?;
        let matcher = matcher(&index);
        gobo_index_free(Some(index));
        matcher
    }

    pub(crate) fn free(self) {
        gobo_vocabulary_free(Some(self.vocabulary));
        gobo_store_free(Some(self.store));
    }
}

/// A matcher with the defaults.
pub(crate) fn matcher(index: &gobo_index) -> Result<Box<gobo_matcher>, (gobo_status, String)> {
    // SAFETY: NULL is a binding.
    made(|place| unsafe { gobo_matcher_new(Some(index), std::ptr::null(), place) })
}

/// Frees matchers.
pub(crate) fn free_all(matchers: impl IntoIterator<Item = Box<gobo_matcher>>) {
    matchers.into_iter().for_each(|matcher| gobo_matcher_free(Some(matcher)));
}

/// The handle that a call makes. A call that fails leaves NULL.
pub(crate) fn made<T>(
    call: impl FnOnce(Option<&mut MaybeUninit<*mut T>>) -> gobo_status,
) -> Result<Box<T>, (gobo_status, String)> {
    let mut place = MaybeUninit::new(std::ptr::without_provenance_mut(1));
    let status = call(Some(&mut place));
    // SAFETY: it was written before the call, and by it.
    let handle = unsafe { place.assume_init() };
    if status == gobo_status::GOBO_OK {
        // SAFETY: the functions make their handles from boxes.
        return Ok(unsafe { Box::from_raw(handle) });
    }
    assert!(handle.is_null(), "a call that fails leaves NULL");
    Err((status, last_error()))
}

/// The value that a call writes.
pub(crate) fn told<T: Copy>(
    before: T,
    call: impl FnOnce(Option<&mut MaybeUninit<T>>) -> gobo_status,
) -> Result<T, (gobo_status, String)> {
    let mut place = MaybeUninit::new(before);
    let status = call(Some(&mut place));
    // SAFETY: it was written before the call.
    let value = unsafe { place.assume_init() };
    if status == gobo_status::GOBO_OK { Ok(value) } else { Err((status, last_error())) }
}

pub(crate) fn last_error() -> String {
    // SAFETY: valid until the next failing call of this thread.
    unsafe { CStr::from_ptr(gobo_last_error()) }.to_str().unwrap().to_owned()
}
