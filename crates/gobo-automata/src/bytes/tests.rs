use gobo_types::{Budget, CompileLimits, DenseId as _, MatchMode, TextStart};
use proptest::prelude::*;

use super::*;
use crate::chars::dfa::CharDfa;
use crate::{CharState, StateId, Symbol};

fn dfa(pattern: &str) -> Dfa {
    Dfa::regex(pattern, MatchMode::Full, TextStart::Exact, &Budget::new(CompileLimits::default())).unwrap()
}

const PATTERNS: &[&str] = &[
    "[ab]{0,6}c?",
    "[^\"\\\\]{2,5}\"",
    "(a|bé)*c{0,3}",
    r"\w{1,4}x",
    "(?s:.{0,5})",
    "[a-f]*|[c-z]{3}",
    "(aé{0,3}b)*",
    "日本|日{2,4}|a*",
    "[à-ÿ]{0,3}(a[b-d]{2}){0,2}",
];

fn chars(chars: &str) -> Vec<[u32; 2]> {
    let mut codes: Vec<u32> = chars.chars().map(u32::from).collect();
    codes.sort_unstable();
    codes.dedup();
    codes.chunk_by(|a, b| a + 1 == *b).map(|run| [run[0], run[run.len() - 1]]).collect()
}

/// The state after `text`, over bytes.
fn after(dfa: &Dfa, from: StateId, text: &str) -> StateId {
    text.bytes().fold(from, |state, byte| dfa.next(state, byte))
}

/// Whether every text, and whether some text, of `length` characters of `set` is alive.
fn alive(dfa: &Dfa, from: StateId, set: &[char], length: u32) -> (bool, bool) {
    if length == 0 {
        return (from != StateId::DEAD, from != StateId::DEAD);
    }
    let next = |char: &char| alive(dfa, after(dfa, from, &char.to_string()), set, length - 1);
    set.iter().map(next).fold((true, false), |all, one| (all.0 && one.0, all.1 || one.1))
}

#[test]
fn one_character_leads_where_its_bytes_lead() {
    for pattern in PATTERNS {
        let dfa = dfa(pattern);
        let states = dfa.chars.as_ref().unwrap();
        for (state, block) in CharState::enumerate(&states.blocks).skip(1) {
            for char in "abcdefxzé日本à\u{ff}\"\\ \0\u{10ffff}".chars() {
                let over_bytes = after(&dfa, block.root, &char.to_string());
                let root = |state: CharState| states.blocks[state.index()].root;
                assert_eq!(
                    states.after(state, u32::from(char)).map_or(StateId::DEAD, root),
                    over_bytes,
                    "{pattern} {char}"
                );
            }
        }
    }
}

proptest! {
    /// Depths are those that trying every text finds.
    #[test]
    fn closures_agree_with_trying_every_text(
        pattern in prop::sample::select(PATTERNS),
        set in prop::collection::btree_set(prop::sample::select(&['a', 'b', 'c', 'd', 'é', '日'][..]), 1..4),
    ) {
        const LONGEST: u32 = 5;
        let dfa = dfa(pattern);
        let states = dfa.chars.as_ref().unwrap();
        let set: Vec<char> = set.into_iter().collect();
        let Some(classes) = states.classes_of(&chars(&set.iter().collect::<String>())) else {
            // Some character leads nowhere, from anywhere.
            let nowhere = |char: &char| {
                states.blocks[1..]
                    .iter()
                    .all(|block| after(&dfa, block.root, &char.to_string()) == StateId::DEAD)
            };
            prop_assert!(set.iter().any(nowhere));
            return Ok(());
        };
        let budget = Budget::new(CompileLimits::default());
        let targets = states.targets(&budget).unwrap();
        let closure = states.closure(&targets, &classes, None, &budget).unwrap();
        for (state, block) in CharState::enumerate(&states.blocks).skip(1) {
            let depth = closure.depth(state);
            for length in 0..=LONGEST {
                let (every, some) = alive(&dfa, block.root, &set, length);
                prop_assert_eq!(every, length <= depth);
                if closure.is_exact(state) {
                    prop_assert_eq!(some, length <= depth);
                }
            }
            // Where nothing is alive beyond the depth, that is known.
            if depth < LONGEST && !alive(&dfa, block.root, &set, depth + 1).1 {
                prop_assert!(closure.is_exact(state));
            }
        }
    }

    /// Gaps and ranges of any width are searched equivalences.
    #[test]
    fn classes_are_found_wherever_they_lie(
        codes in prop::collection::btree_set(0_u32..300, 1..120),
        ranges in prop::collection::btree_set(0_u32..300, 2..40),
    ) {
        let bounds: Vec<u32> = ranges.into_iter().collect();
        let ranges: Vec<(u32, u32, Symbol)> = (0..)
            .zip(bounds.windows(2))
            .filter(|(at, _)| at % 3 != 2)
            .map(|(at, pair)| (pair[0], pair[1] - 1, Symbol::new(at % 7)))
            .collect();
        let states = CharStates { dfa: CharDfa::new(ranges.clone(), 7), blocks: Vec::new(), exits: Vec::new() };
        let class = |code: u32| ranges.iter().find(|range| range.0 <= code && code <= range.1).map(|range| range.2);
        let text: String = codes.iter().map(|&code| char::from_u32(code).unwrap()).collect();
        let expected: Option<std::collections::BTreeSet<Symbol>> = codes.iter().map(|&code| class(code)).collect();
        prop_assert_eq!(states.classes_of(&chars(&text)), expected.map(|classes| classes.into_iter().collect::<Vec<_>>()));
    }

    /// States of one group are told apart by no string of so many bytes: the routine over bytes agrees.
    #[test]
    fn groups_are_never_coarser_than_over_bytes(
        pattern in prop::sample::select(PATTERNS), longest in 1_u32..6, longest_inner in 1_u32..6,
    ) {
        let longest = longest.max(longest_inner);
        let dfa = dfa(pattern);
        let budget = Budget::new(CompileLimits::default());
        let states = dfa.chars.as_ref().unwrap();
        let RowClasses { of: groups, count, equivalences } =
            states.row_classes(dfa.len(), None, longest, longest_inner, &budget).unwrap();
        let useful: Vec<bool> = (0..dfa.len()).map(|state| state != 0).collect();
        let over_bytes = Dfa { chars: None, ..dfa.clone() };
        let expected = |longest| over_bytes.row_classes(&useful, longest, longest, 0, &budget).unwrap().of;
        let (between, inside) = (expected(longest), expected(longest_inner));
        let is_between = |state: usize| states.at(StateId::new(state)).is_some();
        // States that short texts do not tell apart, over bytes neither.
        for KEquivalence { chars, representative: first } in &equivalences {
            prop_assert!(*chars <= longest);
            let over_bytes = expected(*chars);
            for (state, &first) in first.iter().enumerate() {
                prop_assert_eq!(over_bytes[state], over_bytes[first.index()]);
            }
        }
        for a in 0..dfa.len() {
            prop_assert!(groups[a].index() < count);
            for b in 0..dfa.len() {
                if groups[a] != groups[b] || a == 0 {
                    continue;
                }
                prop_assert_eq!(is_between(a), is_between(b));
                let equivalences = if is_between(a) { between[a] == between[b] } else { inside[a] == inside[b] };
                prop_assert!(equivalences);
            }
        }
    }
}

/// Ten thousand repetitions make as many groups as the longest token has characters.
#[test]
fn counted_repetitions_share_groups() {
    let dfa = dfa(r#""[^"\\\x00-\x1F]{0,10000}""#);
    let RowClasses { count, .. } = dfa
        .chars
        .as_ref()
        .unwrap()
        .row_classes(dfa.len(), None, 16, 2, &Budget::new(CompileLimits::default()))
        .unwrap();
    assert!(count < 20 + 4 * 8, "{count} groups");
}
