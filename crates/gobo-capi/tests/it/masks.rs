//! Over the command line's library and random walks: what C answers is what Rust answers, bit for bit.

use std::ffi::CStr;
use std::mem::MaybeUninit;

use fastrand::Rng;
use gobo::{
    gobo_binding, gobo_index_describe, gobo_index_facts, gobo_index_find_key, gobo_index_free,
    gobo_index_open, gobo_index_report, gobo_matcher, gobo_matcher_accept, gobo_matcher_after_prompt,
    gobo_matcher_completed, gobo_matcher_ended, gobo_matcher_fill, gobo_matcher_fill_batch,
    gobo_matcher_fill_chain, gobo_matcher_forced, gobo_matcher_forced_token, gobo_matcher_forced_tokens,
    gobo_matcher_fork, gobo_matcher_free, gobo_matcher_mask_words, gobo_matcher_new, gobo_matcher_reset,
    gobo_matcher_rollback, gobo_matcher_validate, gobo_matcher_with_prefix, gobo_status,
    gobo_vocabulary_by_digest, gobo_vocabulary_describe, gobo_vocabulary_facts, gobo_vocabulary_free,
    gobo_vocabulary_open, gobo_vocabulary_token,
};
use gobo_artifact::{Fill, Matcher};
use gobo_types::{Binding, TokenId};

use crate::fixture::{Case, Fixture, c_path, free_all, made, matcher, told};

use gobo_status::{GOBO_ENDED, GOBO_INVALID, GOBO_OK, GOBO_REFUSED};

/// The mask of a matcher of C in a row that is a few words too long and was full of ones.
pub(crate) fn fill(matcher: &gobo_matcher, words: usize) -> (gobo_status, Vec<u32>) {
    let mut row = vec![u32::MAX; words + 3];
    // SAFETY: the row has so many words.
    let status = unsafe { gobo_matcher_fill(Some(matcher), row.as_mut_ptr(), row.len()) };
    assert_eq!(row.split_off(words), [0; 3], "words after the mask are zero");
    (status, row)
}

fn in_rust(matcher: &Matcher) -> (gobo_status, Vec<u32>) {
    let mut mask = vec![u32::MAX; matcher.mask_words()];
    match matcher.fill(&mut mask).unwrap() {
        Fill::Masked => (GOBO_OK, mask),
        Fill::Ended => (GOBO_ENDED, mask),
    }
}

fn forced(matcher: &gobo_matcher) -> Vec<u8> {
    let mut bytes = vec![0; 1000];
    // SAFETY: there is room for so many bytes.
    let length =
        told(7, |place| unsafe { gobo_matcher_forced(Some(matcher), bytes.as_mut_ptr(), 1000, place) });
    bytes.truncate(length.unwrap());
    bytes
}

fn forced_token(matcher: &gobo_matcher) -> Option<TokenId> {
    let token = told(7, |place| gobo_matcher_forced_token(Some(matcher), place)).unwrap();
    (token != u32::MAX).then_some(token)
}

/// Behind a prompt, of which constraints whose texts may be cut in any way know nothing.
fn after_prompt(matcher: &gobo_matcher) -> (Box<gobo_matcher>, usize) {
    let mut taken_back = MaybeUninit::new(7);
    let prompt = [1, 2];
    // SAFETY: there are so many tokens.
    let after = made(|place| unsafe {
        gobo_matcher_after_prompt(Some(matcher), prompt.as_ptr(), prompt.len(), place, Some(&mut taken_back))
    });
    // SAFETY: it was filled from the beginning.
    (after.unwrap(), unsafe { taken_back.assume_init() })
}

fn forced_tokens(matcher: &gobo_matcher) -> usize {
    let mut tokens = [0; 4];
    // SAFETY: there is room for so many tokens.
    told(7, |place| unsafe { gobo_matcher_forced_tokens(Some(matcher), tokens.as_mut_ptr(), 4, place) })
        .unwrap()
}

fn validate(matcher: &gobo_matcher, tokens: &[TokenId]) -> usize {
    // SAFETY: there are so many tokens.
    told(7, |place| unsafe { gobo_matcher_validate(Some(matcher), tokens.as_ptr(), tokens.len(), place) })
        .unwrap()
}

fn chain(matcher: &gobo_matcher, drafts: &[TokenId], words: usize) -> (Vec<u32>, usize, usize) {
    let mut matrix = vec![0; (drafts.len() + 1) * words];
    let mut filled = 7;
    let taken = told(7, |taken| {
        let (drafts, count, room) = (drafts.as_ptr(), drafts.len(), matrix.len());
        let mut status = GOBO_OK;
        filled = told(7, |filled| {
            // SAFETY: the lists have these lengths.
            status = unsafe {
                gobo_matcher_fill_chain(
                    Some(matcher),
                    drafts,
                    count,
                    matrix.as_mut_ptr(),
                    room,
                    words,
                    taken,
                    filled,
                )
            };
            status
        })
        .unwrap();
        status
    });
    (matrix, taken.unwrap(), filled)
}

/// An id whose bit is set, and often one whose bit is not.
pub(crate) fn choose(mask: &[u32], rng: &mut Rng) -> TokenId {
    let bits = u32::try_from(mask.len() * 32).unwrap();
    let allowed: Vec<TokenId> =
        (0..bits).filter(|id| mask[*id as usize / 32] >> (id % 32) & 1 == 1).collect();
    if allowed.is_empty() || rng.u8(..8) == 0 { rng.u32(..bits) } else { allowed[rng.usize(..allowed.len())] }
}

/// One walk through both at once.
fn walk(c: &mut Box<gobo_matcher>, rust: &mut Matcher, steps: usize, rng: &mut Rng) -> usize {
    let words = rust.mask_words();
    let mut masks = 0;
    for _ in 0..steps {
        let expected = in_rust(rust);
        assert_eq!(fill(c, words), expected);
        masks += 1;
        let (completed, ended) = (
            told(false, |place| gobo_matcher_completed(Some(c), place)).unwrap(),
            told(false, |place| gobo_matcher_ended(Some(c), place)).unwrap(),
        );
        assert_eq!((completed, ended), (rust.is_complete(), rust.is_ended()));
        let mut must = Vec::new();
        rust.forced(&mut must);
        assert_eq!(forced_tokens(c), 0);
        assert_eq!(forced(c), must);
        assert_eq!(forced_token(c), rust.forced_token());
        let drafts: Vec<TokenId> = (0..rng.usize(..5)).map(|_| choose(&expected.1, rng)).collect();
        assert_eq!(validate(c, &drafts), rust.validate(&drafts));
        let mut matrix = vec![0; (drafts.len() + 1) * words];
        let along = rust.fill_chain(&drafts, &mut matrix, words).unwrap();
        assert_eq!(chain(c, &drafts, words), (matrix, along.taken, along.rows));
        match rng.u8(..20) {
            0 => {
                let count = rng.usize(..6);
                let status = gobo_matcher_rollback(Some(c), count);
                let expected = if rust.rollback(count).is_ok() { GOBO_OK } else { GOBO_INVALID };
                assert_eq!(status, expected);
            }
            1 => {
                let fork = made(|place| gobo_matcher_fork(Some(c), place)).unwrap();
                gobo_matcher_free(Some(std::mem::replace(c, fork)));
            }
            4 => {
                let (after, taken_back) = after_prompt(c);
                assert_eq!(taken_back, 0);
                gobo_matcher_free(Some(std::mem::replace(c, after)));
                rust.reset();
            }
            // A prompt that ends inside of a token.
            3 => {
                let prefix = ["", "a", "{", "\"", "ab"][rng.usize(..5)].as_bytes();
                // SAFETY: the prefix has so many bytes.
                let prefixed = made(|place| unsafe {
                    gobo_matcher_with_prefix(Some(c), prefix.as_ptr(), prefix.len(), place)
                });
                match rust.clone().with_prefix(prefix) {
                    Ok(matcher) => {
                        gobo_matcher_free(Some(std::mem::replace(c, prefixed.unwrap())));
                        *rust = matcher;
                    }
                    Err(_) => assert_eq!(prefixed.err().unwrap().0, GOBO_INVALID),
                }
            }
            2 if rust.is_complete() => {
                assert_eq!(gobo_matcher_reset(Some(c)), GOBO_OK);
                rust.reset();
            }
            _ => {
                let id = choose(&expected.1, rng);
                let is_ended = rust.is_ended();
                let expected = match rust.advance(id) {
                    Ok(()) => GOBO_OK,
                    Err(_) if is_ended => GOBO_ENDED,
                    Err(_) => GOBO_REFUSED,
                };
                assert_eq!(gobo_matcher_accept(Some(c), id), expected);
            }
        }
        if rust.is_ended() && rng.bool() {
            assert_eq!(gobo_matcher_reset(Some(c)), GOBO_OK);
            rust.reset();
        }
    }
    masks
}

#[test]
fn masks_and_steps_over_the_library_are_those_of_rust() {
    let fixture = Fixture::new(|_| true);
    let opened = fixture.open();
    let mut masks = 0;
    for (seed, case) in (0..).zip(&fixture.cases) {
        let mut c = opened.matcher(&case.json()).unwrap();
        let mut rust = fixture.matcher(&case.constraint);
        let words = told(0, |place| gobo_matcher_mask_words(Some(&c), place)).unwrap();
        assert_eq!(words, fixture.binding.mask_words());
        let mut rng = Rng::with_seed(seed);
        for _ in 0..4 {
            masks += walk(&mut c, &mut rust, 60, &mut rng);
            gobo_matcher_reset(Some(&mut c));
            rust.reset();
        }
        gobo_matcher_free(Some(c));
    }
    opened.free();
    assert_eq!(masks, fixture.cases.len() * 240);
}

fn few(case: &Case) -> bool {
    ["iso-date", "json", "arithmetic", "ipv4"].contains(&case.id.as_str())
}

/// What a batch writes, in a matrix that was full of ones.
fn batch(
    matchers: &[Box<gobo_matcher>],
    rows: Option<&[usize]>,
    matrix: &mut [u32],
    stride: usize,
    threads: u32,
) -> (gobo_status, Vec<gobo_status>) {
    let pointers: Vec<Option<&gobo_matcher>> = matchers.iter().map(|matcher| Some(&**matcher)).collect();
    let mut statuses = vec![GOBO_REFUSED; matchers.len()];
    let rows = rows.map_or(std::ptr::null(), <[usize]>::as_ptr);
    // SAFETY: the lists have these lengths.
    let status = unsafe {
        gobo_matcher_fill_batch(
            pointers.as_ptr(),
            rows,
            pointers.len(),
            matrix.as_mut_ptr(),
            matrix.len(),
            stride,
            threads,
            statuses.as_mut_ptr(),
        )
    };
    (status, statuses)
}

#[test]
fn a_batch_fills_the_rows_that_are_named() {
    let fixture = Fixture::new(few);
    let opened = fixture.open();
    let mut matchers: Vec<_> =
        fixture.cases.iter().map(|case| opened.matcher(&case.json()).unwrap()).collect();
    // One that has ended, and one whose binding takes the only way on.
    let index = opened.find(&fixture.cases[0].json()).unwrap();
    let mut ended = matcher(&index).unwrap();
    let mut rust = fixture.matcher(&fixture.cases[0].constraint);
    for byte in b"2024-02-29" {
        let id = (0..fixture.vocabulary.len()).find(|id| fixture.vocabulary.bytes(*id) == [*byte]).unwrap();
        rust.advance(id).unwrap();
        assert_eq!(gobo_matcher_accept(Some(&mut ended), id), GOBO_OK);
    }
    assert_eq!(gobo_matcher_accept(Some(&mut ended), fixture.binding.eos[0]), GOBO_OK);
    matchers.push(ended);
    let words = fixture.binding.mask_words();
    let stride = words + 2;
    let alone: Vec<_> = matchers.iter().map(|matcher| fill(matcher, words)).collect();
    let rows = [7, 0, 3, 6, 2];
    assert_eq!(rows.len(), matchers.len());
    for threads in [0, 1, 2, 5, u32::MAX] {
        for rows in [Some(rows.as_slice()), None] {
            let mut matrix = vec![7; stride * 8];
            let (status, statuses) = batch(&matchers, rows, &mut matrix, stride, threads);
            assert_eq!(status, GOBO_OK);
            let rows = rows.map_or_else(|| (0..matchers.len()).collect(), <[usize]>::to_vec);
            for (row, is) in matrix.chunks(stride).enumerate() {
                match rows.iter().position(|named| *named == row) {
                    Some(matcher) => {
                        assert_eq!((statuses[matcher], &is[..words]), (alone[matcher].0, &*alone[matcher].1));
                        assert_eq!(is[words..], [0; 2]);
                    }
                    None => assert!(is.iter().all(|word| *word == 7)),
                }
            }
        }
    }
    assert_eq!(alone[4].0, GOBO_ENDED);
    // Rows and sizes that do not fit: nothing is written.
    let mut matrix = vec![7; stride * 8];
    for rows in [[7, 0, 3, 6, 7], [8, 0, 1, 2, 3], [usize::MAX, 0, 1, 2, 3]] {
        assert_eq!(batch(&matchers, Some(&rows), &mut matrix, stride, 1).0, GOBO_INVALID);
    }
    for stride in [0, usize::MAX, stride * 2] {
        assert_eq!(batch(&matchers, None, &mut matrix, stride, 1).0, GOBO_INVALID, "{stride}");
    }
    assert!(matrix.iter().all(|word| *word == 7));
    // Rows that are too short fail one by one.
    let (status, statuses) = batch(&matchers, None, &mut matrix, words - 1, 1);
    assert_eq!((status, statuses), (GOBO_INVALID, vec![GOBO_INVALID; 5]));
    free_all(matchers);
    gobo_index_free(Some(index));
    opened.free();
}

#[test]
fn an_index_is_found_by_constraint_key_and_path_and_says_what_it_is() {
    let fixture = Fixture::new(few);
    let opened = fixture.open();
    let case = &fixture.cases[0];
    let key = fixture.key(&case.constraint);
    let path = fixture.store.index_path(&key);
    let (c_key, c_index_path) = (std::ffi::CString::new(key.to_string()).unwrap(), c_path(&path));
    let (store, vocabulary) = (Some(&*opened.store), Some(&*opened.vocabulary));
    // SAFETY: the texts live during the calls.
    let indices = unsafe {
        [
            opened.find(&case.json()).unwrap(),
            made(|place| gobo_index_find_key(store, vocabulary, c_key.as_ptr(), place)).unwrap(),
            made(|place| gobo_index_open(vocabulary, c_index_path.as_ptr(), place)).unwrap(),
        ]
    };
    let rust = fixture.matcher(&case.constraint);
    for index in indices {
        let size = size_of::<gobo_index_facts>();
        let null = std::ptr::null();
        let (key, vocabulary, constraint_kind) = (null, null, null);
        let mut facts =
            gobo_index_facts { size, key, vocabulary, constraint_kind, file_bytes: 0, states: 0, rows: 0 };
        // SAFETY: it is such a structure.
        assert_eq!(unsafe { gobo_index_describe(Some(&index), &raw mut facts) }, GOBO_OK);
        let json = told(null, |place| gobo_index_report(Some(&index), place)).unwrap();
        assert_eq!(told(null, |place| gobo_index_report(Some(&index), place)).unwrap(), json, "decoded once");
        // SAFETY: they are valid as long as the index.
        let [key, vocabulary, kind, json] = [facts.key, facts.vocabulary, facts.constraint_kind, json]
            .map(|text| unsafe { CStr::from_ptr(text) }.to_str().unwrap());
        assert_eq!(key, fixture.key(&case.constraint).to_string());
        assert_eq!((vocabulary, kind), (fixture.vocabulary.digest().to_string().as_str(), "regex"));
        assert_eq!((facts.states, facts.rows), (rust.index().states(), rust.index().rows()));
        assert_eq!(facts.file_bytes, std::fs::metadata(&path).unwrap().len());
        let report: gobo_types::Report = serde_json::from_str(json).unwrap();
        assert_eq!(report, rust.index().report().unwrap());
        gobo_index_free(Some(index));
    }
    opened.free();
}

#[test]
fn a_vocabulary_is_found_by_name_digest_and_path_and_gives_its_tokens() {
    let fixture = Fixture::new(|_| false);
    let opened = fixture.open();
    let digest = std::ffi::CString::new(fixture.vocabulary.digest().to_string()).unwrap();
    let path = c_path(&fixture.store.vocabulary_path(&fixture.vocabulary.digest()));
    // SAFETY: the texts live during the calls.
    let (by_digest, by_path) = unsafe {
        (
            made(|place| gobo_vocabulary_by_digest(Some(&opened.store), digest.as_ptr(), place)).unwrap(),
            made(|place| gobo_vocabulary_open(path.as_ptr(), place)).unwrap(),
        )
    };
    let unbound = Binding::new(vec![], fixture.vocabulary.len());
    for (vocabulary, binding) in
        [(&opened.vocabulary, &fixture.binding), (&by_digest, &unbound), (&by_path, &unbound)]
    {
        let (size, null) = (size_of::<gobo_vocabulary_facts>(), std::ptr::null());
        let mut facts = gobo_vocabulary_facts {
            size,
            digest: null,
            eos: std::ptr::null(),
            eos_count: 0,
            length: 0,
            logits_width: 0,
        };
        // SAFETY: it is such a structure.
        assert_eq!(unsafe { gobo_vocabulary_describe(Some(vocabulary), &raw mut facts) }, GOBO_OK);
        // SAFETY: they are valid as long as the vocabulary.
        let (found, eos) =
            unsafe { (CStr::from_ptr(facts.digest), std::slice::from_raw_parts(facts.eos, facts.eos_count)) };
        assert_eq!(found, &*digest);
        assert_eq!((eos, facts.logits_width), (&*binding.eos, binding.logits_width));
        assert_eq!(facts.length, fixture.vocabulary.len());
    }
    for id in 0..fixture.vocabulary.len() {
        let (mut length, mut special) = (7, false);
        let bytes = told(std::ptr::null(), |bytes| {
            let mut status = GOBO_OK;
            length = told(7, |length| {
                let told = told(false, |special| {
                    status = gobo_vocabulary_token(Some(&opened.vocabulary), id, bytes, length, special);
                    status
                });
                special = told.unwrap();
                status
            })
            .unwrap();
            status
        });
        // SAFETY: they are valid as long as the vocabulary.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.unwrap(), length) };
        assert_eq!((bytes, special), (fixture.vocabulary.bytes(id), fixture.vocabulary.is_special(id)));
    }
    [by_digest, by_path].into_iter().for_each(|vocabulary| gobo_vocabulary_free(Some(vocabulary)));
    opened.free();
}

#[test]
fn a_binding_of_the_callers_changes_what_it_says_and_nothing_else() {
    let fixture = Fixture::new(few);
    let opened = fixture.open();
    let index = opened.find(&fixture.cases[0].json()).unwrap();
    let default = gobo_binding {
        size: size_of::<gobo_binding>(),
        eos: std::ptr::null(),
        eos_count: 0,
        logits_width: 0,
        max_rollback: 0,
        max_stack_depth: 0,
    };
    let with = |binding: &gobo_binding| {
        // SAFETY: it is such a structure, and its ids live as long.
        let matcher = made(|place| unsafe { gobo_matcher_new(Some(&index), binding, place) }).unwrap();
        let words = told(0, |place| gobo_matcher_mask_words(Some(&matcher), place)).unwrap();
        (matcher, words)
    };
    let rust = |binding: &Binding, max_rollback| {
        let start = fixture.matcher(&fixture.cases[0].constraint);
        Matcher::with_rollback(start.index().clone(), start.vocabulary().clone(), binding, max_rollback)
            .unwrap()
    };
    let ends = [3, 1];
    let wide = fixture.vocabulary.len() + 1000;
    for (given, binding, max_rollback) in [
        (default, fixture.binding.clone(), 256),
        (
            gobo_binding { eos: ends.as_ptr(), eos_count: 2, ..default },
            Binding::new(ends.to_vec(), fixture.binding.logits_width),
            256,
        ),
        (
            gobo_binding { eos: ends.as_ptr(), ..default },
            Binding::new(vec![], fixture.binding.logits_width),
            256,
        ),
        (
            gobo_binding { logits_width: wide, max_rollback: 2, max_stack_depth: 3, ..default },
            Binding::new(fixture.binding.eos.clone(), wide),
            2,
        ),
    ] {
        let (mut c, words) = with(&given);
        let mut rust = rust(&binding, max_rollback);
        assert_eq!(words, rust.mask_words());
        walk(&mut c, &mut rust, 200, &mut Rng::with_seed(5));
        gobo_matcher_free(Some(c));
    }
    gobo_index_free(Some(index));
    opened.free();
}

#[test]
fn threads_share_an_index() {
    let fixture = Fixture::new(few);
    let opened = fixture.open();
    for case in &fixture.cases {
        let index = opened.find(&case.json()).unwrap();
        std::thread::scope(|scope| {
            for seed in 0..8 {
                let (index, fixture) = (&index, &fixture);
                scope.spawn(move || {
                    let mut c = matcher(index).unwrap();
                    walk(&mut c, &mut fixture.matcher(&case.constraint), 100, &mut Rng::with_seed(seed));
                    gobo_matcher_free(Some(c));
                });
            }
        });
        gobo_index_free(Some(index));
    }
    opened.free();
}
