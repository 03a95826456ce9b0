//! The functions of matchers. The proofs name the promises of [`super`].

use std::mem::MaybeUninit;

use super::{check_size, list, list_mut};
use crate::arguments::{free, give, given, tell};
use crate::find::gobo_index;
use crate::matcher::{BindingOptions, fill_batch, gobo_matcher};
use crate::status::{Failure, answer, gobo_status};
use crate::structs::gobo_binding;

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

/// Another matcher of the same constraint behind a prompt: the `count` tokens since the last special one at least, of which those before it are not looked at. It stands at the
/// beginning. Under a constraint whose tokenization is `canonical-strict` or `canonical-heal`, what comes is what the tokenizer would write behind the
/// prompt; `*taken_back` tokens are to be dropped from its end, 0 or 1, whose bytes are written anew. Under others the prompt excludes nothing.
/// `GOBO_INVALID` where the tokenizer would have written the prompt otherwise, and if it would write no text of the constraint behind it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_matcher_after_prompt(
    matcher: Option<&gobo_matcher>,
    prompt: *const u32,
    count: usize,
    after: Option<&mut MaybeUninit<*mut gobo_matcher>>,
    taken_back: Option<&mut MaybeUninit<usize>>,
) -> gobo_status {
    answer(|| {
        let taken_back = given(taken_back, "taken_back")?;
        // SAFETY: the caller keeps promise 1.
        let prompt = unsafe { list(prompt, count, "prompt") };
        give(after, "after", || {
            let matcher = given(matcher, "matcher")?.after_prompt(prompt?)?;
            taken_back.write(matcher.taken_back());
            Ok(matcher)
        })
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

/// The tokens that must come next under a constraint with a canonical tokenization, as far as they fit into `capacity`; `*count` is how many there are, 0 where there
/// is a choice, and under other tokenizations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gobo_matcher_forced_tokens(
    matcher: Option<&gobo_matcher>,
    tokens: *mut u32,
    capacity: usize,
    count: Option<&mut MaybeUninit<usize>>,
) -> gobo_status {
    answer(|| {
        let count = given(count, "count")?;
        // SAFETY: the caller keeps promise 1; a token that is not looked at may be anything.
        let tokens = unsafe { list_mut(tokens.cast::<MaybeUninit<u32>>(), capacity, "tokens") }?;
        count.write(given(matcher, "matcher")?.forced_tokens(tokens));
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
