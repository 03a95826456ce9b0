//! Arguments that no program should give: each is answered with a status and a message, and none with a crash.

use std::ffi::{CStr, CString, c_char};
use std::ptr;

use fastrand::Rng;
use gobo::{
    gobo_abi_version, gobo_binding, gobo_index_describe, gobo_index_facts, gobo_index_find,
    gobo_index_find_key, gobo_index_free, gobo_index_open, gobo_index_report, gobo_matcher,
    gobo_matcher_accept, gobo_matcher_after_prompt, gobo_matcher_completed, gobo_matcher_ended,
    gobo_matcher_fill, gobo_matcher_fill_batch, gobo_matcher_fill_chain, gobo_matcher_forced,
    gobo_matcher_forced_token, gobo_matcher_forced_tokens, gobo_matcher_fork, gobo_matcher_free,
    gobo_matcher_mask_words, gobo_matcher_new, gobo_matcher_reset, gobo_matcher_rollback,
    gobo_matcher_validate, gobo_matcher_with_prefix, gobo_status, gobo_status_name, gobo_store_free,
    gobo_store_open, gobo_vocabulary_by_digest, gobo_vocabulary_by_name, gobo_vocabulary_describe,
    gobo_vocabulary_facts, gobo_vocabulary_free, gobo_vocabulary_open, gobo_vocabulary_token,
};

use crate::fixture::{Fixture, NAME, c_path, json, last_error, made, matcher, told};
use crate::masks::{choose, fill};

use gobo_status::{
    GOBO_CORRUPT, GOBO_ENDED, GOBO_INVALID, GOBO_LIMIT, GOBO_NOT_FOUND, GOBO_NULL_ARGUMENT, GOBO_OK,
    GOBO_REFUSED, GOBO_VERSION,
};

#[test]
fn the_version_and_the_words_of_statuses() {
    assert_eq!(gobo_abi_version(), gobo::GOBO_ABI_VERSION);
    for (status, name) in
        [(GOBO_OK as i32, "ok"), (GOBO_NULL_ARGUMENT as i32, "null argument"), (99, "unknown")]
    {
        // SAFETY: it is valid for ever.
        assert_eq!(unsafe { CStr::from_ptr(gobo_status_name(status)) }.to_str(), Ok(name));
    }
}

/// The same of prompts and of runs of tokens.
#[test]
fn null_is_a_status_of_prompts() {
    let fixture = Fixture::new(|case| case.id == "iso-date");
    let opened = fixture.open();
    let taken = opened.matcher(&fixture.cases[0].json()).unwrap();
    let is_null = |name: &str, status: gobo_status| {
        assert_eq!((status, last_error()), (GOBO_NULL_ARGUMENT, format!("{name} is NULL")));
    };
    let of = |told: Result<(), (gobo_status, String)>| told.unwrap_err().0;
    // SAFETY: everything is NULL or a place.
    unsafe {
        let of_none = told(0, |place| gobo_matcher_forced_tokens(None, ptr::null_mut(), 0, place));
        is_null("matcher", of(of_none.map(drop)));
        is_null("count", gobo_matcher_forced_tokens(Some(&taken), ptr::null_mut(), 0, None));
        is_null("taken_back", gobo_matcher_after_prompt(Some(&taken), ptr::null(), 0, None, None));
        let mut count = std::mem::MaybeUninit::new(0);
        is_null("after", gobo_matcher_after_prompt(Some(&taken), ptr::null(), 0, None, Some(&mut count)));
        let no_tokens =
            made(|place| gobo_matcher_after_prompt(Some(&taken), ptr::null(), 1, place, Some(&mut count)));
        is_null("prompt", of(no_tokens.map(drop)));
    }
    gobo_matcher_free(Some(taken));
}

/// Every function, with each pointer NULL in turn.
#[test]
fn null_is_a_status() {
    let fixture = Fixture::new(|case| case.id == "iso-date");
    let opened = fixture.open();
    let constraint = fixture.cases[0].json();
    let index = opened.find(&constraint).unwrap();
    let mut taken = matcher(&index).unwrap();
    let path = c_path(fixture.root());
    let (store, vocabulary) = (Some(&*opened.store), Some(&*opened.vocabulary));
    let (path, name, json) = (path.as_ptr(), NAME.as_ptr(), constraint.as_ptr());
    let null: *const c_char = ptr::null();
    let is_null = |name: &str, status: gobo_status| {
        assert_eq!(status, GOBO_NULL_ARGUMENT, "{name}");
        assert_eq!(last_error(), format!("{name} is NULL"));
    };
    let of = |told: Result<(), (gobo_status, String)>| told.unwrap_err().0;
    // SAFETY: the texts live during the calls, and everything else is NULL or a place.
    unsafe {
        is_null("store", gobo_store_open(path, None));
        is_null("path", of(made(|place| gobo_store_open(null, place)).map(drop)));
        is_null("vocabulary", gobo_vocabulary_by_name(store, name, None));
        is_null("store", of(made(|place| gobo_vocabulary_by_name(None, name, place)).map(drop)));
        is_null("name", of(made(|place| gobo_vocabulary_by_name(store, null, place)).map(drop)));
        is_null("vocabulary", gobo_vocabulary_by_digest(store, name, None));
        is_null("store", of(made(|place| gobo_vocabulary_by_digest(None, name, place)).map(drop)));
        is_null("digest", of(made(|place| gobo_vocabulary_by_digest(store, null, place)).map(drop)));
        is_null("vocabulary", gobo_vocabulary_open(path, None));
        is_null("path", of(made(|place| gobo_vocabulary_open(null, place)).map(drop)));
        is_null("index", gobo_index_find(store, vocabulary, json, None));
        is_null("store", of(made(|place| gobo_index_find(None, vocabulary, json, place)).map(drop)));
        is_null("vocabulary", of(made(|place| gobo_index_find(store, None, json, place)).map(drop)));
        is_null("constraint", of(made(|place| gobo_index_find(store, vocabulary, null, place)).map(drop)));
        is_null("index", gobo_index_find_key(store, vocabulary, name, None));
        is_null("store", of(made(|place| gobo_index_find_key(None, vocabulary, name, place)).map(drop)));
        is_null("vocabulary", of(made(|place| gobo_index_find_key(store, None, name, place)).map(drop)));
        is_null("key", of(made(|place| gobo_index_find_key(store, vocabulary, null, place)).map(drop)));
        is_null("index", gobo_index_open(vocabulary, path, None));
        is_null("vocabulary", of(made(|place| gobo_index_open(None, path, place)).map(drop)));
        is_null("path", of(made(|place| gobo_index_open(vocabulary, null, place)).map(drop)));
        is_null("vocabulary", gobo_vocabulary_describe(None, ptr::null_mut()));
        is_null("facts", gobo_vocabulary_describe(vocabulary, ptr::null_mut()));
        is_null("index", gobo_index_describe(None, ptr::null_mut()));
        is_null("facts", gobo_index_describe(Some(&index), ptr::null_mut()));
        is_null("matcher", gobo_matcher_new(Some(&index), ptr::null(), None));
        is_null("index", of(made(|place| gobo_matcher_new(None, ptr::null(), place)).map(drop)));
        is_null("matcher", gobo_matcher_fill(None, ptr::null_mut(), 0));
        is_null("mask", gobo_matcher_fill(Some(&taken), ptr::null_mut(), 9));
        is_null("matcher", of(told(0, |place| gobo_matcher_validate(None, ptr::null(), 0, place)).map(drop)));
        is_null("taken", gobo_matcher_validate(Some(&taken), ptr::null(), 0, None));
        is_null(
            "tokens",
            of(told(0, |place| gobo_matcher_validate(Some(&taken), ptr::null(), 1, place)).map(drop)),
        );
        is_null(
            "matcher",
            of(told(0, |place| gobo_matcher_forced(None, ptr::null_mut(), 0, place)).map(drop)),
        );
        is_null("matcher", of(told(0, |place| gobo_matcher_forced_token(None, place)).map(drop)));
        is_null("token", gobo_matcher_forced_token(Some(&taken), None));
        is_null("length", gobo_matcher_forced(Some(&taken), ptr::null_mut(), 0, None));
        is_null(
            "bytes",
            of(told(0, |place| gobo_matcher_forced(Some(&taken), ptr::null_mut(), 1, place)).map(drop)),
        );
    }
    is_null("bytes", gobo_vocabulary_token(vocabulary, 0, None, None, None));
    is_null(
        "length",
        of(told(ptr::null(), |bytes| gobo_vocabulary_token(vocabulary, 0, bytes, None, None)).map(drop)),
    );
    is_null("json", gobo_index_report(Some(&index), None));
    is_null("index", of(told(null, |place| gobo_index_report(None, place)).map(drop)));
    is_null("fork", gobo_matcher_fork(Some(&taken), None));
    is_null("matcher", of(made(|place| gobo_matcher_fork(None, place)).map(drop)));
    // SAFETY: no bytes are told.
    unsafe {
        is_null("prefixed", gobo_matcher_with_prefix(Some(&taken), ptr::null(), 0, None));
        let no_matcher = made(|place| gobo_matcher_with_prefix(None, ptr::null(), 0, place));
        is_null("matcher", of(no_matcher.map(drop)));
        let no_bytes = made(|place| gobo_matcher_with_prefix(Some(&taken), ptr::null(), 1, place));
        is_null("prefix", of(no_bytes.map(drop)));
    }
    is_null("words", gobo_matcher_mask_words(Some(&taken), None));
    is_null("matcher", of(told(0, |place| gobo_matcher_mask_words(None, place)).map(drop)));
    is_null("is_completed", gobo_matcher_completed(Some(&taken), None));
    is_null("matcher", of(told(false, |place| gobo_matcher_completed(None, place)).map(drop)));
    is_null("is_ended", gobo_matcher_ended(Some(&taken), None));
    is_null("matcher", of(told(false, |place| gobo_matcher_ended(None, place)).map(drop)));
    is_null("matcher", gobo_matcher_reset(None));
    is_null("matcher", gobo_matcher_accept(None, 0));
    is_null("matcher", gobo_matcher_rollback(None, 0));
    gobo_store_free(None);
    gobo_vocabulary_free(None);
    gobo_index_free(None);
    gobo_matcher_free(None);
    // Nothing of it has moved the matcher.
    assert_eq!(gobo_matcher_rollback(Some(&mut taken), 1), GOBO_INVALID);
    gobo_matcher_free(Some(taken));
    gobo_index_free(Some(index));
    opened.free();
}

#[test]
fn null_within_a_batch_and_a_chain_is_a_status() {
    let fixture = Fixture::new(|case| case.id == "iso-date");
    let opened = fixture.open();
    let one = opened.matcher(&fixture.cases[0].json()).unwrap();
    let words = fixture.binding.mask_words();
    let mut matrix = vec![7; 2 * words];
    let (matrix, room) = (matrix.as_mut_ptr(), matrix.len());
    let fill = |matchers: *const Option<&gobo_matcher>, count, matrix: *mut u32| {
        // SAFETY: the matrix is NULL or has these words, and statuses are not asked for.
        unsafe {
            gobo_matcher_fill_batch(matchers, ptr::null(), count, matrix, room, words, 1, ptr::null_mut())
        }
    };
    let matchers = [Some(&*one), None];
    assert_eq!(fill(ptr::null(), 2, matrix), GOBO_NULL_ARGUMENT);
    assert_eq!(fill(matchers.as_ptr(), 2, ptr::null_mut()), GOBO_NULL_ARGUMENT);
    assert_eq!(fill(matchers.as_ptr(), 2, matrix), GOBO_NULL_ARGUMENT);
    assert_eq!(last_error(), "one of the matchers is NULL");
    assert_eq!(fill(ptr::null(), 0, matrix), GOBO_OK, "no matchers at all");
    assert_eq!(fill(matchers.as_ptr(), 1, matrix), GOBO_OK, "statuses need not be asked for");
    let chain = |drafts: *const u32, count, matrix: *mut u32, room| {
        told(0, |taken| {
            let mut status = GOBO_OK;
            let _ = told(0, |filled| {
                let matcher = Some(&*one);
                // SAFETY: the lists are NULL or have these lengths.
                status = unsafe {
                    gobo_matcher_fill_chain(matcher, drafts, count, matrix, room, words, taken, filled)
                };
                status
            });
            status
        })
        .map_err(|(status, _)| status)
    };
    let drafts = [0];
    assert_eq!(chain(ptr::null(), 1, matrix, room), Err(GOBO_NULL_ARGUMENT));
    assert_eq!(chain(drafts.as_ptr(), 1, ptr::null_mut(), room), Err(GOBO_NULL_ARGUMENT));
    assert_eq!(chain(drafts.as_ptr(), 1, matrix, room - words), Err(GOBO_INVALID));
    assert_eq!(chain(drafts.as_ptr(), usize::MAX, matrix, room), Err(GOBO_INVALID));
    assert_eq!(chain(ptr::null(), 0, matrix, room), Ok(0));
    gobo_matcher_free(Some(one));
    opened.free();
}

#[test]
fn texts_and_names_that_mean_nothing_are_statuses() {
    let fixture = Fixture::new(|_| false);
    let opened = fixture.open();
    let (store, vocabulary) = (Some(&*opened.store), Some(&*opened.vocabulary));
    let absent = "0".repeat(64);
    let by_name = |name: &CStr| {
        // SAFETY: the text lives during the call.
        made(|place| unsafe { gobo_vocabulary_by_name(store, name.as_ptr(), place) }).map(drop)
    };
    let by_digest = |digest: &CStr| {
        // SAFETY: the text lives during the call.
        made(|place| unsafe { gobo_vocabulary_by_digest(store, digest.as_ptr(), place) }).map(drop)
    };
    let by_key = |key: &CStr| {
        // SAFETY: the text lives during the call.
        made(|place| unsafe { gobo_index_find_key(store, vocabulary, key.as_ptr(), place) }).map(drop)
    };
    let find = |json: &CStr| opened.find(json).map(drop);
    let open = |path: &CStr| {
        // SAFETY: the text lives during the call.
        made(|place| unsafe { gobo_index_open(vocabulary, path.as_ptr(), place) }).map(drop)
    };
    let bad_utf8 = c"\xff\xfe";
    for answer in [by_name(bad_utf8), by_digest(bad_utf8), by_key(bad_utf8), find(bad_utf8)] {
        let (status, message) = answer.unwrap_err();
        assert_eq!(status, GOBO_INVALID);
        assert!(message.contains("is no UTF-8"), "{message}");
    }
    for (answer, status, words) in [
        (by_name(c""), GOBO_INVALID, "is no vocabulary name"),
        (by_name(c"../x"), GOBO_INVALID, "is no vocabulary name"),
        (by_name(c"absent"), GOBO_NOT_FOUND, "has no vocabulary named \"absent\""),
        (by_digest(c"abc"), GOBO_INVALID, "a digest is 64 hexadecimal digits"),
        (
            by_digest(&CString::new(absent.clone()).unwrap()),
            GOBO_NOT_FOUND,
            "has no sound file of the vocabulary",
        ),
        (by_key(c"ABC"), GOBO_INVALID, "a digest is 64 hexadecimal digits"),
        (by_key(&CString::new(absent).unwrap()), GOBO_NOT_FOUND, "has no sound file of the index"),
        (find(c"{}"), GOBO_INVALID, "the JSON of the constraint cannot be read"),
        (
            find(c"{\"kind\": \"regex\", \"pattern\": \"a\", \"mode\": 1}"),
            GOBO_INVALID,
            "unknown member \"mode\"",
        ),
        (find(&json(&gobo_types::Constraint::regex("x"))), GOBO_NOT_FOUND, "`gobo get`"),
        (open(c"/absent"), GOBO_NOT_FOUND, "cannot open /absent"),
        (open(c"/"), GOBO_CORRUPT, "it is a folder"),
        (open(c""), GOBO_NOT_FOUND, "cannot open"),
        (open(bad_utf8), GOBO_NOT_FOUND, "cannot open"),
        (
            open(&c_path(&fixture.store.vocabulary_path(&fixture.vocabulary.digest()))),
            GOBO_CORRUPT,
            "vocabulary",
        ),
    ] {
        let (found, message) = answer.unwrap_err();
        assert_eq!(found, status, "{message}");
        assert!(message.contains(words), "{message}");
    }
    // SAFETY: the texts live during the calls.
    let (store_at, vocabulary_at) = unsafe {
        (
            made(|place| gobo_store_open(c"/dev/null/store".as_ptr(), place)).map(drop),
            made(|place| gobo_vocabulary_open(c"/dev/null".as_ptr(), place)).map(drop),
        )
    };
    assert_eq!(store_at.unwrap_err().0, GOBO_INVALID);
    assert_eq!(vocabulary_at.unwrap_err().0, GOBO_CORRUPT);
    opened.free();
}

/// Structures of another size or askew, and options beyond their limits.
#[test]
fn structures_that_do_not_fit_are_statuses() {
    let fixture = Fixture::new(|case| case.id == "iso-date");
    let opened = fixture.open();
    let index = opened.find(&fixture.cases[0].json()).unwrap();
    let size = size_of::<gobo_binding>();
    let eos = fixture.binding.eos.as_ptr();
    let good = gobo_binding { size, eos, eos_count: 2, logits_width: 0, max_rollback: 0, max_stack_depth: 0 };
    let with = |binding: *const gobo_binding| {
        // SAFETY: it is a structure, or refused before it is read.
        made(|place| unsafe { gobo_matcher_new(Some(&index), binding, place) })
            .map(|matcher| gobo_matcher_free(Some(matcher)))
    };
    assert_eq!(with(&raw const good), Ok(()));
    for size in [0, 1, size - 1, size + 1, usize::MAX] {
        let (status, message) = with(&gobo_binding { size, ..good }).unwrap_err();
        assert_eq!(status, GOBO_VERSION);
        assert!(
            message.starts_with(&format!("binding has size {size}, and this library takes ")),
            "{message}"
        );
    }
    let askew = (&raw const good).wrapping_byte_add(1);
    assert_eq!(with(askew).unwrap_err().0, GOBO_INVALID);
    let narrow = fixture.vocabulary.len() - 1;
    let ends = [fixture.binding.logits_width];
    for (binding, status) in [
        (gobo_binding { logits_width: narrow, ..good }, GOBO_INVALID),
        (gobo_binding { eos: ends.as_ptr(), eos_count: 1, ..good }, GOBO_INVALID),
        (gobo_binding { eos: ptr::null(), ..good }, GOBO_NULL_ARGUMENT),
        (gobo_binding { eos: eos.wrapping_byte_add(2), ..good }, GOBO_INVALID),
        (gobo_binding { eos_count: usize::MAX, ..good }, GOBO_INVALID),
        (gobo_binding { max_rollback: (1 << 20) + 1, ..good }, GOBO_LIMIT),
        (gobo_binding { max_stack_depth: u32::MAX, ..good }, GOBO_LIMIT),
        (gobo_binding { max_rollback: 1 << 20, max_stack_depth: 1 << 20, ..good }, GOBO_OK),
        (gobo_binding { logits_width: u32::MAX, ..good }, GOBO_OK),
    ] {
        let answer = with(&raw const binding);
        assert_eq!(answer.as_ref().map_or_else(|(status, _)| *status, |()| GOBO_OK), status, "{answer:?}");
    }
    let mut facts = [0_usize; size_of::<gobo_index_facts>() / 8 + 1];
    for size in [0, size_of::<gobo_index_facts>() - 8, size_of::<gobo_vocabulary_facts>(), usize::MAX] {
        if size != size_of::<gobo_index_facts>() {
            facts[0] = size;
            // SAFETY: there is room for such a structure.
            assert_eq!(unsafe { gobo_index_describe(Some(&index), facts.as_mut_ptr().cast()) }, GOBO_VERSION);
        }
    }
    assert!(facts[1..].iter().all(|word| *word == 0));
    let askew = facts.as_mut_ptr().cast::<gobo_vocabulary_facts>().wrapping_byte_add(4);
    // SAFETY: it is refused before it is read.
    assert_eq!(unsafe { gobo_vocabulary_describe(Some(&opened.vocabulary), askew) }, GOBO_INVALID);
    gobo_index_free(Some(index));
    opened.free();
}

#[test]
fn an_index_of_another_vocabulary_is_refused() {
    let fixture = Fixture::new(|case| case.id == "iso-date");
    let opened = fixture.open();
    let mut table = gobo_vocab::TokenTable::new();
    table.insert(0, b"a".to_vec(), false).unwrap();
    let other = fixture.root().join("other.gobov");
    std::fs::write(&other, table.build().unwrap()).unwrap();
    let path = c_path(&other);
    // SAFETY: the text lives during the call.
    let other = made(|place| unsafe { gobo_vocabulary_open(path.as_ptr(), place) }).unwrap();
    let path = c_path(&fixture.store.index_path(&fixture.key(&fixture.cases[0].constraint)));
    // SAFETY: the text lives during the call.
    let (status, message) =
        made(|place| unsafe { gobo_index_open(Some(&other), path.as_ptr(), place) }).map(drop).unwrap_err();
    assert_eq!(status, GOBO_INVALID);
    assert!(message.starts_with("the index belongs to vocabulary "), "{message}");
    gobo_vocabulary_free(Some(other));
    opened.free();
}

/// A file of the store that is damaged counts as absent; a mask that cannot be made is zero.
#[test]
fn damage_is_a_status() {
    let fixture = Fixture::new(|case| case.id == "iso-date");
    let opened = fixture.open();
    let case = &fixture.cases[0];
    let path = fixture.store.index_path(&fixture.key(&case.constraint));
    let bytes = std::fs::read(&path).unwrap();
    let words = fixture.binding.mask_words();
    let copy = fixture.root().join("copy.gobo");
    let mut rng = Rng::with_seed(1);
    let mut statuses = std::collections::BTreeMap::new();
    for _ in 0..300 {
        let mut damaged = bytes.clone();
        for _ in 0..rng.usize(1..40) {
            // Behind the header, which has a checksum.
            let at = rng.usize(2000.min(damaged.len() - 1)..damaged.len());
            damaged[at] = rng.u8(..);
        }
        std::fs::remove_file(&copy).unwrap_or_default();
        std::fs::write(&copy, damaged).unwrap();
        let path = c_path(&copy);
        // SAFETY: the text lives during the call.
        let index = made(|place| unsafe { gobo_index_open(Some(&opened.vocabulary), path.as_ptr(), place) });
        let Ok(index) = index else { continue };
        let mut matcher = matcher(&index).unwrap();
        let _ = told(ptr::null(), |place| gobo_index_report(Some(&index), place));
        for _ in 0..20 {
            let (status, mask) = fill(&matcher, words);
            *statuses.entry(status as i32).or_insert(0) += 1;
            assert!(status == GOBO_OK || mask.iter().all(|word| *word == 0));
            gobo_matcher_accept(Some(&mut matcher), rng.u32(..fixture.binding.logits_width));
            let allowed = mask.iter().position(|word| *word != 0);
            if let Some(word) = allowed {
                let id = u32::try_from(word).unwrap() * 32 + mask[word].trailing_zeros();
                gobo_matcher_accept(Some(&mut matcher), id);
            }
        }
        gobo_matcher_free(Some(matcher));
        gobo_index_free(Some(index));
    }
    assert!(statuses.contains_key(&(GOBO_CORRUPT as i32)), "{statuses:?}");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, b"damaged").unwrap();
    assert_eq!(opened.find(&case.json()).map(drop).unwrap_err().0, GOBO_NOT_FOUND);
    opened.free();
}

/// Random calls with random arguments: each answers, and the matcher stays one.
#[test]
fn random_arguments_never_crash() {
    let fixture = Fixture::new(|case| ["iso-date", "json"].contains(&case.id.as_str()));
    let opened = fixture.open();
    for (seed, case) in (0..).zip(&fixture.cases) {
        let mut matcher = opened.matcher(&case.json()).unwrap();
        let mut rng = Rng::with_seed(seed);
        let words = fixture.binding.mask_words();
        let mut matrix = vec![0_u32; 8 * words];
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..20_000 {
            let token = match rng.u8(..5) {
                0 => rng.u32(..),
                1 => choose(&fill(&matcher, words).1, &mut rng),
                2 => fixture.binding.eos[rng.usize(..2)],
                _ => rng.u32(..fixture.binding.logits_width + 9),
            };
            let drafts = [token, rng.u32(..), 0];
            let count = rng.usize(..=3);
            let room = rng.usize(..=matrix.len());
            let stride = [0, 1, words - 1, words, words + 1, usize::MAX, rng.usize(..)][rng.usize(..7)];
            let pointers = [Some(&*matcher); 3];
            let rows = [rng.usize(..4), [rng.usize(..), usize::MAX, 1][rng.usize(..3)], 2];
            let data = matrix.as_mut_ptr();
            // SAFETY: the lists have at least these lengths.
            let status = unsafe {
                match rng.u8(..8) {
                    0 => gobo_matcher_fill(Some(&matcher), data, room),
                    1 => {
                        let rows = if rng.bool() { ptr::null() } else { rows.as_ptr() };
                        let (matchers, threads) = (pointers.as_ptr(), rng.u32(..) >> rng.u32(..32));
                        gobo_matcher_fill_batch(
                            matchers,
                            rows,
                            count,
                            data,
                            room,
                            stride,
                            threads,
                            ptr::null_mut(),
                        )
                    }
                    2 => {
                        let filled = &mut std::mem::MaybeUninit::uninit();
                        told(0, |taken| {
                            let drafts = drafts.as_ptr();
                            let matcher = Some(&*matcher);
                            gobo_matcher_fill_chain(
                                matcher,
                                drafts,
                                count,
                                data,
                                room,
                                stride,
                                taken,
                                Some(filled),
                            )
                        })
                        .map_or_else(
                            |(status, _)| status,
                            |taken| if taken <= count { GOBO_OK } else { GOBO_CORRUPT },
                        )
                    }
                    3 => gobo_matcher_rollback(Some(&mut matcher), rng.usize(..) >> rng.u32(..64)),
                    4 => {
                        told(0, |place| gobo_matcher_validate(Some(&matcher), drafts.as_ptr(), count, place))
                            .map_or_else(|(status, _)| status, |_| GOBO_OK)
                    }
                    5 => told(0, |place| gobo_matcher_forced(Some(&matcher), data.cast(), room, place))
                        .map_or_else(|(status, _)| status, |_| GOBO_OK),
                    _ => gobo_matcher_accept(Some(&mut matcher), token),
                }
            };
            seen.insert(status as i32);
        }
        assert_eq!(
            seen,
            [GOBO_OK, GOBO_INVALID, GOBO_REFUSED, GOBO_ENDED].map(|status| status as i32).into()
        );
        assert_eq!(gobo_matcher_reset(Some(&mut matcher)), GOBO_OK);
        assert_eq!(fill(&matcher, words), fill(&opened.matcher(&case.json()).unwrap(), words));
        gobo_matcher_free(Some(matcher));
    }
    opened.free();
}
