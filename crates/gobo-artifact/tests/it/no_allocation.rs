//! A step of decoding allocates nothing, counted by an allocator that knows how often the present thread has asked it.
#![expect(unsafe_code, reason = "an allocator is an unsafe trait; this one passes everything on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use gobo_artifact::layout::Row;
use gobo_artifact::{Fill, Index, Matcher, Vocabulary, fill_batch, fill_rows};
use gobo_types::{Binding, Constraint, TokenId};

use crate::example;

struct Counting;

thread_local! {
    // Of this thread alone: the test harness has others.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.with(|count| count.set(count.get() + 1));
}

// SAFETY: every method passes its arguments on to the system's allocator unchanged, and counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is the same.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How many allocations `work` makes.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    work();
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn a_step_allocates_nothing() {
    let letters = || b'a'..=b'z';
    let mut tokens: Vec<Vec<u8>> = (b'0'..=b'9').chain(letters()).map(|byte| vec![byte]).collect();
    tokens.extend(letters().flat_map(|one| letters().map(move |two| vec![one, two])));
    tokens.extend((0..1400_u32).map(|n| format!("x{n:x}").into_bytes()));
    let tokens: Vec<(&[u8], bool)> = tokens.iter().map(|token| (token.as_slice(), false)).collect();
    let (vocabulary, index) = example::build(&tokens, &Constraint::regex("[a-z]+0?"));
    let index = Arc::new(Index::from_bytes(&index).unwrap());
    let vocabulary = Arc::new(Vocabulary::from_bytes(&vocabulary).unwrap());
    let eos = vocabulary.len() + 1;
    let binding = Binding::new(vec![eos], eos + 1);
    let mut matcher = Matcher::with_rollback(index, vocabulary, &binding, 8).unwrap();
    let mut mask = vec![0; matcher.mask_words()];
    let stride = mask.len();
    let mut matrix = vec![0; 6 * stride];
    let mut forced = Vec::with_capacity(64);
    let (zero, letter, pair) = (0, 10, 40);

    assert!(allocations(|| drop(vec![1_u8])) > 0, "the counter counts");
    let mut kinds = [false; 3];
    let count = allocations(|| {
        for _ in 0..20 {
            for id in [letter, pair, letter, zero, eos] {
                matcher.fill(&mut mask).unwrap();
                let kind = match matcher.index().row_number(matcher.state().unwrap()) {
                    Some(number) => match matcher.index().row(matcher.vocabulary(), number).unwrap() {
                        Row::Dense(_) => 0,
                        Row::Patched { base: None, .. } => 1,
                        Row::Patched { base: Some(_), .. } => 2,
                    },
                    None => unreachable!("a matcher stands where tokens may end"),
                };
                kinds[kind] = true;
                matcher.mask();
                matcher.allows(id);
                // Refusals are values too.
                matcher.allows(u32::MAX);
                matcher.advance(u32::MAX).unwrap_err();
                matcher.validate(&[letter, pair, zero, eos, letter]);
                matcher.fill_chain(&[letter, pair, zero, eos, letter], &mut matrix, stride).unwrap();
                matcher.forced(&mut forced);
                matcher.advance(id).unwrap();
                matcher.rollback(1).unwrap();
                matcher.rollback(100).unwrap_err();
                matcher.advance(id).unwrap();
            }
            matcher.fill(&mut mask).unwrap();
            matcher.reset();
            matcher.advance_bytes(b"abc").unwrap();
            matcher.reset();
        }
    });
    assert_eq!(kinds, [true; 3], "rows of every kind are filled");
    assert_eq!(count, 0);

    let matchers = [matcher.clone(), matcher];
    let mut matrix = vec![0; 2 * mask.len()];
    let mut fills = vec![Ok(Fill::Ended); 2];
    let count = allocations(|| fill_batch(&matchers, &mut matrix, mask.len(), 1, &mut fills).unwrap());
    assert_eq!(fills, [Ok(Fill::Masked), Ok(Fill::Masked)]);
    assert_eq!(count, 0, "a batch of one thread allocates nothing either");
    let mut matrix = vec![0; 4 * stride];
    let count = allocations(|| fill_rows(&matchers, &[1, 3], &mut matrix, stride, 1, &mut fills).unwrap());
    assert_eq!(count, 0, "nor does one at rows that ascend");
}

#[test]
fn a_step_through_calls_allocates_nothing_once_the_stack_was_as_deep() {
    let tokens: &[(&[u8], bool)] = &[
        (b"[", false),
        (b"]", false),
        (b",", false),
        (b"x", false),
        (b"[[", false),
        (b"]],", false),
        (b"<eos>", true),
    ];
    let lists = "root ::= \"[\" (item (\",\" item)*)? \"]\"\nitem ::= root | \"x\"";
    // Every place may be the middle, so that there are as many configurations as letters.
    let palindromes = "root ::= \"[\" root \"[\" | \"x\" root \"x\" | \",\"? | \"]\"";
    let steps: [(&str, &[TokenId]); 2] =
        [(lists, &[0, 4, 3, 1, 2, 4, 3, 5, 0, 1, 1, 1, 6]), (palindromes, &[0, 4, 0, 3, 2, 3, 4, 4])];
    for (grammar, ids) in steps {
        let (vocabulary, index) = example::build(tokens, &Constraint::gbnf(grammar, "root"));
        let index = Arc::new(Index::from_bytes(&index).unwrap());
        let vocabulary = Arc::new(Vocabulary::from_bytes(&vocabulary).unwrap());
        let binding = Binding::new(vec![6], 7);
        let mut matcher = Matcher::with_rollback(index, vocabulary, &binding, 4).unwrap();
        let mut mask = vec![0; matcher.mask_words()];
        let mut walk = |matcher: &mut Matcher| {
            for &id in ids {
                matcher.fill(&mut mask).unwrap();
                matcher.mask();
                assert!(matcher.allows(id), "{id} in {grammar}");
                matcher.advance(id).unwrap();
                matcher.rollback(1).unwrap();
                matcher.advance(id).unwrap();
                matcher.advance(u32::MAX).unwrap_err();
            }
            matcher.reset();
        };
        walk(&mut matcher);
        assert_eq!(allocations(|| walk(&mut matcher)), 0, "{grammar}");
    }
}
