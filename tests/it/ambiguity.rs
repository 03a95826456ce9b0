//! Texts that can be read in ever more ways, against Earley's recogniser at every prefix, and the limits on their stacks.

use gobo_artifact::layout::section::PUSHED;
use gobo_artifact::{Fill, IndexClass, Matcher, MatcherError};
use gobo_types::{Binding, Constraint, TokenId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

use crate::cases::config;
use crate::drafts;
use crate::judge::{Judge, Taken, Verdict, Words};
use crate::recursion_random::{grammar, words};
use crate::subject::{allowed, answer};

/// Grammars whose texts have more ways to be read with each byte, each in its own manner.
const AMBIGUOUS: [&str; 12] = [
    // Lukasiewicz words with a choice of arity: any number of levels may be open.
    r#"root ::= "a" root root | "a""#,
    // Palindromes, with and without a middle.
    r#"root ::= "a" root "a" | "b" root "b" | "a" | "b""#,
    r#"root ::= "a" root "a" | "b" root "b" | "" "#,
    r#"root ::= "a" root "a" | "a""#,
    // Every bracket may be left open.
    r#"root ::= "a" root "b"? | "a""#,
    r#"root ::= "a" root ("b" root)? | "b""#,
    // Two rules that read the same, and return to different places.
    "root ::= s \"a\" | t \"b\" | \"a\" root\ns ::= \"a\" s \"b\" | \"b\"\nt ::= \"a\" t \"b\" | \"b\"",
    "root ::= s root s | \"b\"\ns ::= \"a\" s? | \"a\" s \"b\"",
    // Cells within cells that end where they please.
    "root ::= \"a\" s \"b\" root | \"b\"\ns ::= root s | \"a\"",
    "root ::= s+\ns ::= \"a\" s* \"b\" | \"a\" \"a\"? | \"b\"",
    // Several returns at once.
    "root ::= \"a\" root \"b\" | \"a\" root \"a\" \"b\" | \"a\" t | \"b\"\nt ::= root \"a\" | \"a\" t \"b\" | \"ab\"",
    "root ::= root s root | \"a\"\ns ::= \"b\" s \"b\" | \"b\" | \"a\" s?",
];

fn compiled(judge: &Judge, grammar: &str) -> Matcher {
    match judge.compile() {
        Ok(Verdict::Index(matcher)) => *matcher,
        Ok(_) => panic!("{grammar}\nhas no index"),
        Err(error) => panic!("{grammar}\n{error}"),
    }
}

/// One of the allowed tokens of some text, by a seed; `None` where none follows.
fn choose(matcher: &Matcher, binding: &Binding, seed: u32) -> Option<TokenId> {
    let mut ids = allowed(matcher, binding);
    ids.retain(|&id| !binding.is_eos(id));
    ids.get(seed as usize % ids.len().max(1)).copied()
}

/// A step of a generator of Lehmer: any numbers will do, if they are always the same.
pub(crate) fn next(seed: &mut u32) -> u32 {
    *seed = u32::try_from(u64::from(*seed) * 48_271 % 0x7fff_ffff).expect("a remainder");
    *seed
}

/// Walks until `bytes` are read or nothing follows, down by the letter a alone for the first `down` of them; each mask, and each token that is taken, is judged. Some steps are taken
/// back on the way. The text.
pub(crate) fn walk(
    judge: &mut Judge,
    start: &Matcher,
    down: usize,
    bytes: usize,
    mut seed: u32,
) -> Result<Vec<u8>, TestCaseError> {
    let mut matcher = start.clone();
    let mut places = vec![judge.start()];
    let mut text: Vec<TokenId> = Vec::new();
    let mut length = 0;
    while length < bytes {
        let here = places[places.len() - 1];
        judge.check(here, &matcher)?;
        let deeper = |&id: &TokenId| matcher.vocabulary().bytes(id).iter().all(|&byte| byte == b'a');
        let chosen = if length < down {
            allowed(&matcher, &judge.binding).into_iter().filter(|&id| !judge.binding.is_eos(id)).find(deeper)
        } else {
            choose(&matcher, &judge.binding, next(&mut seed))
        };
        let Some(id) = chosen else { break };
        let Taken::To(place) = judge.take(here, &mut matcher, id)? else {
            return Err(TestCaseError::fail(format!("token {id} was shown and is refused after {text:?}")));
        };
        length += matcher.vocabulary().bytes(id).len();
        places.push(place);
        text.push(id);
        if next(&mut seed).is_multiple_of(13) {
            let back = next(&mut seed) as usize % text.len().min(7);
            matcher.rollback(back).expect("as many are remembered");
            places.truncate(places.len() - back);
            let taken_back = text.drain(text.len() - back..);
            length -= taken_back.map(|id| matcher.vocabulary().bytes(id).len()).sum::<usize>();
        }
    }
    let bytes: Vec<u8> = text.iter().flat_map(|&id| matcher.vocabulary().bytes(id)).copied().collect();
    // A text has the same configurations and nodes wherever it is read, however it was cut.
    let mut fresh = start.clone();
    for part in bytes.chunks(1 + seed as usize % 5) {
        fresh.advance_bytes(part).expect("the text was read before");
    }
    prop_assert_eq!(fresh.stack_nodes(), matcher.stack_nodes());
    prop_assert_eq!(fresh.configuration_count(), matcher.configuration_count());
    prop_assert_eq!(fresh.configurations(32), matcher.configurations(32));
    prop_assert_eq!(answer(&fresh, &judge.binding), answer(&matcher, &judge.binding));
    let seeds: Vec<TokenId> = (0..6).map(|_| next(&mut seed) % 64).collect();
    drafts::check(&matcher, &seeds)?;
    Ok(bytes)
}

#[test]
fn masks_of_ambiguous_texts_at_every_prefix_of_200_bytes() {
    let words = Words::of(&[b"aa", b"ab", b"ba", b"bb", b"aab", b"abab", b"aaaa"]);
    for grammar in AMBIGUOUS {
        let mut judge = Judge::new(&Constraint::gbnf(grammar, "root"), &words);
        let matcher = compiled(&judge, grammar);
        let mut longest = 0;
        // Texts that end soon after their first b among others.
        for (seed, down) in [(1, 0), (2, 0), (3, 0), (4, 100), (5, 150), (6, 199)] {
            let text = walk(&mut judge, &matcher, down, 200, seed)
                .unwrap_or_else(|error| panic!("{grammar}\n{error}"));
            longest = longest.max(text.len());
        }
        assert!(longest >= 200, "{grammar}: {longest} bytes");
    }
}

/// A token that a mask shows is taken, however tiny the limits; where there is no mask, the error says which limit and the value, and
/// all that was before is there again after a step back.
pub(crate) fn within_limits(
    judge: &Judge,
    free: &Matcher,
    depth: u32,
    nodes: u32,
    mut seed: u32,
) -> Result<bool, TestCaseError> {
    let (index, vocabulary) = (free.index().clone(), free.vocabulary().clone());
    let limited = Matcher::with_limits(index, vocabulary, &judge.binding, 4, depth).expect("as the other");
    let (mut limited, mut free) = (limited.with_max_nodes(nodes), free.clone());
    let mut mask = vec![0; free.mask_words()];
    for _ in 0..60 {
        let before = (limited.stack_depth(), limited.stack_nodes());
        match limited.fill(&mut mask) {
            Ok(_) => {
                prop_assert!(before.0 <= depth && before.1 <= nodes as usize);
                prop_assert_eq!(answer(&limited, &judge.binding), answer(&free, &judge.binding));
                for id in allowed(&free, &judge.binding) {
                    let mut fork = limited.clone();
                    prop_assert_eq!(fork.advance(id), Ok(()), "token {} was shown", id);
                    fork.rollback(1).expect("one step");
                    prop_assert_eq!(fork.configurations(16), limited.configurations(16));
                    prop_assert_eq!((fork.stack_depth(), fork.stack_nodes()), before);
                    prop_assert_eq!(limited.validate(&[id]), 1);
                }
            }
            Err(error) => {
                match error {
                    MatcherError::StackDepth { limit, frames } => {
                        prop_assert!(limit == depth && frames > depth);
                    }
                    MatcherError::StackNodes { limit, nodes: found } => {
                        prop_assert!(limit == nodes && found == before.1 && found > nodes as usize);
                    }
                    other => return Err(TestCaseError::fail(other.to_string())),
                }
                prop_assert!(allowed_none(&limited));
                prop_assert_eq!(limited.is_complete(), free.is_complete());
                limited.rollback(1).expect("the token before");
                prop_assert!(limited.fill(&mut mask).is_ok(), "there was a mask before");
                return Ok(true);
            }
        }
        let Some(id) = choose(&free, &judge.binding, next(&mut seed)) else { break };
        free.advance(id).expect("it was shown");
        limited.advance(id).expect("it was shown");
    }
    Ok(false)
}

/// Whether no token of text may come next.
fn allowed_none(matcher: &Matcher) -> bool {
    let mut text = (0..matcher.vocabulary().len()).filter(|&id| !matcher.binding().is_eos(id));
    text.all(|id| !matcher.allows(id) && matcher.validate(&[id]) == 0)
}

#[test]
fn a_token_that_is_shown_is_taken_at_tiny_limits() {
    let words = Words::of(&[b"aa", b"ab", b"bb", b"aaaa", b"abbb"]);
    let mut met = 0;
    for grammar in AMBIGUOUS {
        let judge = Judge::new(&Constraint::gbnf(grammar, "root"), &words);
        let matcher = compiled(&judge, grammar);
        for (depth, nodes) in [(0, 0), (1, 100), (3, 5), (1000, 1), (1000, 17), (9, 1000)] {
            let found = within_limits(&judge, &matcher, depth, nodes, depth + 1);
            met += usize::from(found.unwrap_or_else(|error| panic!("{grammar}\n{error}")));
        }
    }
    assert!(met >= 30, "{met}");
}

/// Return states that all push transitions of an index push.
fn pushes(matcher: &Matcher) -> usize {
    let sections = matcher.index().artifact().sections();
    let bytes = sections.iter().find(|section| section.kind == PUSHED).map_or(0, |section| section.length);
    usize::try_from(bytes / 4).expect("a small file")
}

/// After so many bytes, there are at most as many configurations as states, and frames as bytes × (states + pushes).
fn is_bounded(matcher: &Matcher, bytes: usize) -> Result<(), TestCaseError> {
    let states = matcher.index().states() as usize;
    let (frames, most) = (matcher.stack_frames(), bytes * (states + pushes(matcher)));
    prop_assert!(frames <= most, "{} frames after {} bytes, at most {}", frames, bytes, most);
    // Each of them may take as long as the graph of stacks is large.
    if bytes.is_multiple_of(64) {
        let mut in_states: Vec<u32> =
            matcher.configurations(64).into_iter().map(|(state, _)| state).collect();
        in_states.dedup();
        prop_assert!(in_states.len() <= states.max(4));
    }
    Ok(())
}

/// Texts of so many bytes, at random: what their stacks have most of, in nodes for each byte.
fn bounded_walk(
    start: &Matcher,
    binding: &Binding,
    bytes: usize,
    mut seed: u32,
) -> Result<usize, TestCaseError> {
    let (mut matcher, mut length, mut most) = (start.clone(), 0, 0);
    while length < bytes {
        let Some(id) = choose(&matcher, binding, next(&mut seed)) else { break };
        matcher.advance(id).map_err(|error| TestCaseError::fail(format!("{error} after {length} bytes")))?;
        length += matcher.vocabulary().bytes(id).len();
        is_bounded(&matcher, length)?;
        most = most.max(matcher.stack_nodes().div_ceil(length));
    }
    Ok(most)
}

/// Nodes grow with the text and not with the ways to read it, and those of texts that are not kept are forgotten.
#[test]
fn nodes_are_few_for_each_byte() {
    for grammar in AMBIGUOUS {
        let constraint = Constraint::gbnf(grammar, "root");
        let judge = Judge::new(&constraint, &Words::of(&[b"aa", b"ab"]));
        let mut matcher = compiled(&judge, grammar);
        for length in 1..=600 {
            if matcher.advance_bytes(b"a").is_err() {
                break;
            }
            is_bounded(&matcher, length).unwrap_or_else(|error| panic!("{grammar}\n{error}"));
            let nodes = matcher.stack_nodes();
            assert!(nodes <= 10 * length + 20, "{grammar}\n{nodes} nodes after {length} bytes");
            // Those of the present text, and what the steps before have beside them.
            assert!(matcher.kept_nodes() <= 20 * (length + 256), "{grammar}");
        }
        matcher.reset();
        assert_eq!((matcher.stack_nodes(), matcher.kept_nodes()), (0, 0));
        for seed in 1..=4 {
            let most = bounded_walk(&matcher, &judge.binding, 400, seed);
            let most = most.unwrap_or_else(|error| panic!("{grammar}\n{error}"));
            assert!(most <= 40, "{grammar}\n{most} nodes for each byte");
        }
    }
}

/// Texts of 2,000 bytes of two grammars that plain stacks cannot hold: at most two nodes for each byte, where stacks are as many as
/// can be, and less than 16 MiB with all texts that the matcher can go back to.
#[test]
fn stacks_of_2000_bytes_take_two_nodes_a_byte() {
    for grammar in [AMBIGUOUS[0], AMBIGUOUS[1]] {
        let judge = Judge::new(&Constraint::gbnf(grammar, "root"), &Words::of(&[b"aa"]));
        let mut matcher = compiled(&judge, grammar);
        for length in 1..=2_000 {
            matcher.advance_bytes(b"a").unwrap();
            if length % 100 == 0 {
                is_bounded(&matcher, length).unwrap_or_else(|error| panic!("{grammar}\n{error}"));
            }
        }
        assert!(matcher.stack_nodes() <= 2 * 2_000, "{grammar}\n{} nodes", matcher.stack_nodes());
        let bytes = 32 * matcher.kept_nodes();
        assert!(bytes <= 1 << 20, "{grammar}\n{bytes} bytes");
    }
}

#[test]
fn a_text_may_have_very_many_stacks() {
    let judge = Judge::new(&Constraint::gbnf(AMBIGUOUS[0], "root"), &Words::of(&[b"aa"]));
    let mut matcher = compiled(&judge, AMBIGUOUS[0]);
    matcher.advance_bytes(&[b'a'; 2_000]).unwrap();
    assert!(matcher.configuration_count() > 1 << 40);
    let mut mask = vec![0; matcher.mask_words()];
    assert_eq!(matcher.fill(&mut mask), Ok(Fill::Masked));
    // One stack for every second level.
    let stacks = matcher.configurations(16);
    assert_eq!(stacks.len(), 16);
    assert!(stacks.windows(2).all(|two| two[0] != two[1]));
}

/// Random grammars, those alone that are ambiguous, over long random walks.
#[test]
fn random_ambiguous_grammars_over_long_walks() {
    let mut runner = TestRunner::new(ProptestConfig { source_file: Some(file!()), ..config(8) });
    let (walked, most) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let run = |(grammar, words, seeds): &(String, Words, Vec<u32>)| -> Result<(), TestCaseError> {
        let mut judge = Judge::new(&Constraint::gbnf(grammar, "root"), words);
        let Ok(Verdict::Index(matcher)) = judge.compile() else { return Ok(()) };
        if matcher.index().class() != IndexClass::Ambiguous {
            return Ok(());
        }
        for &seed in seeds {
            let length = walk(&mut judge, &matcher, 0, 120, seed)?.len();
            let nodes = bounded_walk(&matcher, &judge.binding, 500, seed)?;
            most.set(most.get().max(nodes));
            walked.set(walked.get() + usize::from(length >= 60));
            within_limits(&judge, &matcher, seed % 7, seed % 31, seed)?;
        }
        Ok(())
    };
    let seeds = vec(1..1_000_000_u32, 1..3);
    runner.run(&(grammar(), words(), seeds), |case| run(&case)).unwrap_or_else(|error| panic!("{error}"));
    println!("{} long walks, at most {} nodes for each byte", walked.get(), most.get());
}
