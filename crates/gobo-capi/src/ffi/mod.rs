//! The functions of `gobo.h`, and the one place where pointers of C become references.
//!
//! A handle is an `Option` of a reference or of a box, and a place for a result one of a `MaybeUninit`: these are pointers in C,
//! and `None` is NULL. Texts, lists and structures come as raw pointers, which [`text`], [`list`] and [`check_size`] check and
//! read. Each function runs inside [`answer`], so that no panic crosses, and leaves the work to the safe modules.
//!
//! What no function can check, the header makes its callers promise. The proofs below name these promises:
//!
//! 1. *Memory*: a pointer that is not NULL is aligned, and points to as many values as the call says, valid during the call and
//!    written to by nobody else meanwhile; what the call writes overlaps nothing else that it is given.
//! 2. *Handles*: a handle that is not NULL was made by [`give`], as that type, and has not been freed.
//! 3. *Threads*: one thread at a time uses a matcher.
//!
//! The references among the arguments rest on all three.
#![expect(unsafe_code, reason = "pointers of C are the point of this file")]
#![expect(clippy::missing_safety_doc, reason = "the promises stand above, and at the head of the header")]

mod matchers;

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::slice;

pub use self::matchers::*;
use crate::arguments::{check, free, give, given};
use crate::find::{gobo_index, gobo_store, gobo_vocabulary};
use crate::status::{self, Failure, answer, gobo_status};
use crate::structs::{GOBO_ABI_VERSION, gobo_index_facts, gobo_vocabulary_facts};

use gobo_status::{GOBO_INVALID, GOBO_VERSION};

unsafe fn list<'a, T>(pointer: *const T, length: usize, name: &str) -> Result<&'a [T], Failure> {
    check(pointer, length, name)?;
    // SAFETY: not null, aligned and short enough, as was just checked; valid and unchanged by promise 1.
    Ok(if length == 0 { &[] } else { unsafe { slice::from_raw_parts(pointer, length) } })
}

unsafe fn list_mut<'a, T>(pointer: *mut T, length: usize, name: &str) -> Result<&'a mut [T], Failure> {
    check(pointer, length, name)?;
    // SAFETY: not null, aligned and short enough, as was just checked; valid, and used by nobody else, by promise 1.
    Ok(if length == 0 { &mut [] } else { unsafe { slice::from_raw_parts_mut(pointer, length) } })
}

unsafe fn bytes<'a>(pointer: *const c_char, name: &str) -> Result<&'a [u8], Failure> {
    check(pointer, 1, name)?;
    // SAFETY: not null; it ends with a NUL by promise 1.
    Ok(unsafe { CStr::from_ptr(pointer) }.to_bytes())
}

unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Failure> {
    // SAFETY: the promises are the caller's.
    let bytes = unsafe { bytes(pointer, name) }?;
    str::from_utf8(bytes).map_err(|error| Failure::new(GOBO_INVALID, format!("{name} is no UTF-8: {error}")))
}

unsafe fn path<'a>(pointer: *const c_char) -> Result<&'a Path, Failure> {
    // SAFETY: the promises are the caller's.
    Ok(Path::new(OsStr::from_bytes(unsafe { bytes(pointer, "path") }?)))
}

/// Checks the size with which every structure begins.
unsafe fn check_size<T>(pointer: *const T, name: &str) -> Result<(), Failure> {
    check(pointer, 1, name)?;
    // SAFETY: not null, and aligned as the structure is; it begins with its size, which is valid by promise 1.
    let (given, expected) = (unsafe { pointer.cast::<usize>().read() }, size_of::<T>());
    if given == expected {
        return Ok(());
    }
    let hint = "was the program built with the header of another version?";
    let message = format!("{name} has size {given}, and this library takes {expected}; hint: {hint}");
    Err(Failure::new(GOBO_VERSION, message))
}

/// Fills in a structure that is as large as this library has it.
unsafe fn describe<T>(place: *mut T, facts: impl FnOnce() -> T) -> Result<(), Failure> {
    // SAFETY: the promises are the caller's.
    unsafe { check_size(place, "facts") }?;
    // SAFETY: not null, and aligned, as was just checked; valid, and used by nobody else, by promise 1.
    unsafe { place.write(facts()) };
    Ok(())
}

/// The version of the interface that this library has, to be compared with `GOBO_ABI_VERSION` of the header.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_abi_version() -> u32 {
    GOBO_ABI_VERSION
}

/// The message of this thread's last failed call; empty if none has failed. Valid until the thread's next failed call.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_last_error() -> *const c_char {
    status::last_error()
}

/// The word of a `gobo_status`, such as "not found"; "unknown" for other numbers. Valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_status_name(status: c_int) -> *const c_char {
    status::name(status).as_ptr()
}

/// Opens the store at a path, and creates its missing folders. A store that may only be read serves too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_store_open(
    path: *const c_char,
    store: Option<&mut MaybeUninit<*mut gobo_store>>,
) -> gobo_status {
    // SAFETY: the caller keeps promise 1.
    answer(|| give(store, "store", || gobo_store::open(unsafe { self::path(path) }?)))
}

/// Frees a store. What was found in it stays.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_store_free(store: Option<Box<gobo_store>>) {
    free(store);
}

/// The vocabulary that a name of the store stands for, with the binding of the name. `GOBO_NOT_FOUND` if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_vocabulary_by_name(
    store: Option<&gobo_store>,
    name: *const c_char,
    vocabulary: Option<&mut MaybeUninit<*mut gobo_vocabulary>>,
) -> gobo_status {
    // SAFETY: the caller keeps promise 1.
    let name = || unsafe { text(name, "name") };
    answer(|| give(vocabulary, "vocabulary", || given(store, "store")?.vocabulary_by_name(name()?)))
}

/// The vocabulary with this digest (64 hexadecimal digits). No id ends a text by default, and there are as many logits as
/// ids.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_vocabulary_by_digest(
    store: Option<&gobo_store>,
    digest: *const c_char,
    vocabulary: Option<&mut MaybeUninit<*mut gobo_vocabulary>>,
) -> gobo_status {
    // SAFETY: the caller keeps promise 1.
    let digest = || unsafe { text(digest, "digest") };
    answer(|| give(vocabulary, "vocabulary", || given(store, "store")?.vocabulary_by_digest(digest()?)))
}

/// The vocabulary of a file, with the defaults of `gobo_vocabulary_by_digest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_vocabulary_open(
    path: *const c_char,
    vocabulary: Option<&mut MaybeUninit<*mut gobo_vocabulary>>,
) -> gobo_status {
    // SAFETY: the caller keeps promise 1.
    answer(|| give(vocabulary, "vocabulary", || gobo_vocabulary::open(unsafe { self::path(path) }?)))
}

/// Frees a vocabulary. Indices that were opened with it stay.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_vocabulary_free(vocabulary: Option<Box<gobo_vocabulary>>) {
    free(vocabulary);
}

/// Says what a vocabulary is. facts->size is set before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_vocabulary_describe(
    vocabulary: Option<&gobo_vocabulary>,
    facts: *mut gobo_vocabulary_facts,
) -> gobo_status {
    answer(|| {
        let vocabulary = given(vocabulary, "vocabulary")?;
        // SAFETY: the caller keeps promise 1.
        unsafe { describe(facts, || vocabulary.facts()) }
    })
}

/// The bytes of a token, which may hold NULs and end within a character, and whether it is special: then no mask has it,
/// unless it ends a text. An id that the tokenizer leaves out has no bytes; one beyond the vocabulary is `GOBO_INVALID`.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_vocabulary_token(
    vocabulary: Option<&gobo_vocabulary>,
    id: u32,
    bytes: Option<&mut MaybeUninit<*const u8>>,
    length: Option<&mut MaybeUninit<usize>>,
    is_special: Option<&mut MaybeUninit<bool>>,
) -> gobo_status {
    answer(|| {
        let (bytes, length) = (given(bytes, "bytes")?, given(length, "length")?);
        let is_special = given(is_special, "is_special")?;
        let (token, special) = given(vocabulary, "vocabulary")?.token(id)?;
        bytes.write(token.as_ptr());
        length.write(token.len());
        is_special.write(special);
        Ok(())
    })
}

/// The index of a constraint over a vocabulary, if the store has it: nothing is compiled. The constraint is JSON, such as
/// {"kind": "regex", "pattern": "[0-9]+"}; docs/c-api.md has all forms. `GOBO_NOT_FOUND`, with the key, if the store has
/// none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_index_find(
    store: Option<&gobo_store>,
    vocabulary: Option<&gobo_vocabulary>,
    constraint: *const c_char,
    index: Option<&mut MaybeUninit<*mut gobo_index>>,
) -> gobo_status {
    // SAFETY: the caller keeps promise 1.
    let constraint = || unsafe { text(constraint, "constraint") };
    let find = || given(store, "store")?.index(given(vocabulary, "vocabulary")?, constraint()?);
    answer(|| give(index, "index", find))
}

/// The index with this key (64 hexadecimal digits), if the store has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_index_find_key(
    store: Option<&gobo_store>,
    vocabulary: Option<&gobo_vocabulary>,
    key: *const c_char,
    index: Option<&mut MaybeUninit<*mut gobo_index>>,
) -> gobo_status {
    // SAFETY: the caller keeps promise 1.
    let key = || unsafe { text(key, "key") };
    let find = || given(store, "store")?.index_by_key(given(vocabulary, "vocabulary")?, key()?);
    answer(|| give(index, "index", find))
}

/// The index of a file. `GOBO_INVALID` if it was compiled for another vocabulary.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_index_open(
    vocabulary: Option<&gobo_vocabulary>,
    path: *const c_char,
    index: Option<&mut MaybeUninit<*mut gobo_index>>,
) -> gobo_status {
    // SAFETY: the caller keeps promise 1.
    let path = || unsafe { self::path(path) };
    answer(|| give(index, "index", || gobo_index::open(given(vocabulary, "vocabulary")?, path()?)))
}

/// Frees an index. Its matchers stay.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_index_free(index: Option<Box<gobo_index>>) {
    free(index);
}

/// Says what an index is. facts->size is set before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_index_describe(
    index: Option<&gobo_index>,
    facts: *mut gobo_index_facts,
) -> gobo_status {
    answer(|| {
        let index = given(index, "index")?;
        // SAFETY: the caller keeps promise 1.
        unsafe { describe(facts, || index.facts()) }
    })
}

/// What an index enforces of its constraint, and what not, as JSON: lists named enforced, narrowed, unspellable,
/// annotations, widened and notes, of {"pointer", "keyword", "why"}.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_index_report(
    index: Option<&gobo_index>,
    json: Option<&mut MaybeUninit<*const c_char>>,
) -> gobo_status {
    answer(|| {
        let json = given(json, "json")?;
        json.write(given(index, "index")?.report()?.as_ptr());
        Ok(())
    })
}
