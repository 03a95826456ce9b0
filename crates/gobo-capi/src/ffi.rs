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

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::slice;

use crate::arguments::{check, free, give, given, tell};
use crate::find::{gobo_index, gobo_store, gobo_vocabulary};
use crate::matcher::{BindingOptions, fill_batch, gobo_matcher};
use crate::status::{self, Failure, answer, gobo_status};
use crate::structs::{GOBO_ABI_VERSION, gobo_binding, gobo_index_facts, gobo_vocabulary_facts};

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

/// A matcher at the empty text. NULL as binding stands for all defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_matcher_new(
    index: Option<&gobo_index>,
    binding: *const gobo_binding,
    matcher: Option<&mut MaybeUninit<*mut gobo_matcher>>,
) -> gobo_status {
    // SAFETY: the caller keeps promise 1.
    let options = || unsafe { options(binding) };
    answer(|| give(matcher, "matcher", || gobo_matcher::new(given(index, "index")?, &options()?)))
}

unsafe fn options<'a>(binding: *const gobo_binding) -> Result<BindingOptions<'a>, Failure> {
    if binding.is_null() {
        return Ok(BindingOptions::default());
    }
    // SAFETY: the promises are the caller's.
    unsafe { check_size(binding, "binding") }?;
    // SAFETY: not null, aligned, and as large as this, as was just checked; valid and unchanged by promise 1.
    let gobo_binding { size: _, eos, eos_count, logits_width, max_rollback, max_stack_depth } =
        unsafe { binding.read() };
    let is_default = eos.is_null() && eos_count == 0;
    // SAFETY: the promises are the caller's.
    let eos = (!is_default).then(|| unsafe { list(eos, eos_count, "binding->eos") }).transpose()?;
    Ok(BindingOptions { eos, logits_width, max_rollback, max_stack_depth })
}

/// Frees a matcher.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_matcher_free(matcher: Option<Box<gobo_matcher>>) {
    free(matcher);
}

/// Another matcher at the same text, with the same way back.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_matcher_fork(
    matcher: Option<&gobo_matcher>,
    fork: Option<&mut MaybeUninit<*mut gobo_matcher>>,
) -> gobo_status {
    answer(|| give(fork, "fork", || Ok(given(matcher, "matcher")?.fork())))
}

/// Another matcher of the same constraint whose texts begin with `length` bytes of a prompt, those of its last token that are to be written again:
/// its first tokens spell the prefix, and may go beyond it. It stands at the beginning. `GOBO_INVALID` for a prefix of more than 65,536 bytes, or
/// with a byte for which the vocabulary has no token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_matcher_with_prefix(
    matcher: Option<&gobo_matcher>,
    prefix: *const u8,
    length: usize,
    prefixed: Option<&mut MaybeUninit<*mut gobo_matcher>>,
) -> gobo_status {
    answer(|| {
        // SAFETY: the caller keeps promise 1.
        let prefix = unsafe { list(prefix, length, "prefix") };
        give(prefixed, "prefixed", || given(matcher, "matcher")?.with_prefix(prefix?))
    })
}

/// Goes back to the empty text, and forgets the tokens before.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_matcher_reset(matcher: Option<&mut gobo_matcher>) -> gobo_status {
    answer(|| given(matcher, "matcher").map(gobo_matcher::reset))
}

/// Words of a mask, 32 bits each: the number of logits divided by 32, rounded up.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_matcher_mask_words(
    matcher: Option<&gobo_matcher>,
    words: Option<&mut MaybeUninit<usize>>,
) -> gobo_status {
    tell(matcher, words, "words", gobo_matcher::mask_words)
}

/// Writes the mask of the next token. There is room for `words` words, at least `gobo_matcher_mask_words`. An id is allowed
/// if bit (id & 31) of mask[id >> 5] is set; words after the mask are zero. `GOBO_ENDED`, and all words zero, if the text
/// has ended, or if nothing can follow and no id ends a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_matcher_fill(
    matcher: Option<&gobo_matcher>,
    mask: *mut u32,
    words: usize,
) -> gobo_status {
    // SAFETY: the caller keeps promise 1; any 32 bits are a word.
    answer(|| given(matcher, "matcher")?.fill(unsafe { list_mut(mask, words, "mask") }?))
}

/// Fills many masks in a matrix of `matrix_words` words, whose rows begin every `row_stride_words`: that of matchers[n] in
/// row rows[n], or in row n if rows is NULL. No row is named twice; rows that are not named stay as they are. The call uses
/// so many threads, 0 and 1 for its own, at most 64; it takes hundreds of rows for a second one to be worth its start.
/// statuses[n] is what `gobo_matcher_fill` would say; statuses may be NULL.
///
/// The call returns the first failure of a row (`GOBO_ENDED` is none); that row is zero, and the others are filled all the
/// same. If rows or sizes do not fit, nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_matcher_fill_batch(
    matchers: *const Option<&gobo_matcher>,
    rows: *const usize,
    count: usize,
    matrix: *mut u32,
    matrix_words: usize,
    row_stride_words: usize,
    threads: u32,
    statuses: *mut gobo_status,
) -> gobo_status {
    answer(|| {
        // SAFETY: the caller keeps promises 1 to 3; any 32 bits are a word.
        let (matchers, matrix) =
            unsafe { (list(matchers, count, "matchers")?, list_mut(matrix, matrix_words, "matrix")?) };
        // SAFETY: the caller keeps promise 1.
        let rows = (!rows.is_null()).then(|| unsafe { list(rows, count, "rows") }).transpose()?;
        let statuses = statuses.cast::<MaybeUninit<gobo_status>>();
        let room = if statuses.is_null() { 0 } else { count };
        // SAFETY: the caller keeps promise 1; a status that is not looked at may be anything.
        let statuses = unsafe { list_mut(statuses, room, "statuses") }?;
        let matchers: Option<Vec<&gobo_matcher>> = matchers.iter().copied().collect();
        let matchers = given(matchers, "one of the matchers")?;
        fill_batch(&matchers, rows, matrix, row_stride_words, threads, statuses)
    })
}

/// Fills the masks along a chain of draft tokens: row 0 is the mask here, row i that after the first i drafts. It stops
/// before a draft that is not allowed, and where the text has ended; both are `GOBO_OK`. The matrix has a row more than
/// there are drafts. `*taken` is how many drafts can be accepted, `*filled` how many rows hold a mask; rows after these stay
/// as they are. The matcher does not move, and can take back as many tokens as before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_matcher_fill_chain(
    matcher: Option<&gobo_matcher>,
    drafts: *const u32,
    count: usize,
    matrix: *mut u32,
    matrix_words: usize,
    row_stride_words: usize,
    taken: Option<&mut MaybeUninit<usize>>,
    filled: Option<&mut MaybeUninit<usize>>,
) -> gobo_status {
    answer(|| {
        let (matcher, taken, filled) =
            (given(matcher, "matcher")?, given(taken, "taken")?, given(filled, "filled")?);
        // SAFETY: the caller keeps promise 1; any 32 bits are a word.
        let (drafts, matrix) =
            unsafe { (list(drafts, count, "drafts")?, list_mut(matrix, matrix_words, "matrix")?) };
        let (drafts_taken, rows_filled, stopped) = matcher.fill_chain(drafts, matrix, row_stride_words)?;
        taken.write(drafts_taken);
        filled.write(rows_filled);
        stopped
    })
}

/// Takes a token. `GOBO_REFUSED` if its bit is not set here, `GOBO_ENDED` after an id that ended the text; the matcher is
/// as it was then.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_matcher_accept(matcher: Option<&mut gobo_matcher>, token: u32) -> gobo_status {
    answer(|| given(matcher, "matcher")?.accept(token))
}

/// How many of the tokens could be accepted one after the other. The matcher does not move.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_matcher_validate(
    matcher: Option<&gobo_matcher>,
    tokens: *const u32,
    count: usize,
    taken: Option<&mut MaybeUninit<usize>>,
) -> gobo_status {
    answer(|| {
        let taken = given(taken, "taken")?;
        // SAFETY: the caller keeps promise 1.
        taken.write(given(matcher, "matcher")?.validate(unsafe { list(tokens, count, "tokens") }?));
        Ok(())
    })
}

/// Takes back the last count tokens. `GOBO_INVALID`, and none is taken back, if fewer are remembered.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_matcher_rollback(matcher: Option<&mut gobo_matcher>, count: usize) -> gobo_status {
    answer(|| given(matcher, "matcher")?.rollback(count))
}

/// The bytes that must come next, as far as they fit into `capacity` bytes; `*length` is how many there are, 0 where there
/// is a choice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_matcher_forced(
    matcher: Option<&gobo_matcher>,
    bytes: *mut u8,
    capacity: usize,
    length: Option<&mut MaybeUninit<usize>>,
) -> gobo_status {
    answer(|| {
        let length = given(length, "length")?;
        // SAFETY: the caller keeps promise 1; a byte that is not looked at may be anything.
        let bytes = unsafe { list_mut(bytes.cast::<MaybeUninit<u8>>(), capacity, "bytes") }?;
        length.write(given(matcher, "matcher")?.forced(bytes));
        Ok(())
    })
}

/// The one token that must come next, `UINT32_MAX` where there is a choice or the text may end: before a token edge no bytes are forced.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_matcher_forced_token(
    matcher: Option<&gobo_matcher>,
    token: Option<&mut MaybeUninit<u32>>,
) -> gobo_status {
    answer(|| {
        let token = given(token, "token")?;
        token.write(given(matcher, "matcher")?.forced_token().unwrap_or(u32::MAX));
        Ok(())
    })
}

/// Whether the text so far satisfies the constraint.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_matcher_completed(
    matcher: Option<&gobo_matcher>,
    is_completed: Option<&mut MaybeUninit<bool>>,
) -> gobo_status {
    tell(matcher, is_completed, "is_completed", gobo_matcher::is_completed)
}

/// Whether an id that ends a text was accepted.
#[unsafe(no_mangle)]
pub extern "C" fn gobo_matcher_ended(
    matcher: Option<&gobo_matcher>,
    is_ended: Option<&mut MaybeUninit<bool>>,
) -> gobo_status {
    tell(matcher, is_ended, "is_ended", gobo_matcher::is_ended)
}
