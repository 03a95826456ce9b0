//! Lowered regular expressions against the Pike VM of `regex-automata`, which shares no automaton with them: both say
//! the same of every text, over characters of one to four bytes, under anchors and counted repetitions.
#![expect(clippy::unwrap_used, reason = "test code")]

use gobo_automata::Dfa;
use gobo_types::{Budget, CompileLimits, MatchMode, TextStart};
use proptest::prelude::*;
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::{Anchored, Input};

fn lowered(pattern: &str) -> Option<Dfa> {
    let budget = Budget::new(CompileLimits::default());
    Dfa::regex(pattern, MatchMode::Full, TextStart::Exact, &budget).ok()
}

/// Whether the whole of `text` matches.
struct Judge {
    vm: PikeVM,
}

impl Judge {
    fn new(pattern: &str) -> Self {
        Self { vm: PikeVM::new(&format!(r"\A(?:{pattern})\z")).unwrap() }
    }

    fn accepts(&self, text: &str) -> bool {
        self.vm.is_match(&mut self.vm.create_cache(), Input::new(text).anchored(Anchored::Yes))
    }
}

fn agree(pattern: &str, texts: &[String]) {
    let judge = Judge::new(pattern);
    let dfa = lowered(pattern);
    for text in texts {
        let ours = dfa.as_ref().is_some_and(|dfa| dfa.accepts(text.as_bytes()));
        assert_eq!(ours, judge.accepts(text), "{pattern:?} on {text:?}");
    }
}

fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => "[abc]".prop_map(String::from),
        2 => Just("é".to_owned()),
        1 => Just("日本".to_owned()),
        1 => Just("😀".to_owned()),
        2 => Just(".".to_owned()),
        1 => Just("(?s:.)".to_owned()),
        2 => Just("[^b]".to_owned()),
        2 => Just("[a-cé-ü]".to_owned()),
        1 => Just(r"\w".to_owned()),
        1 => Just(r"\s".to_owned()),
        1 => Just(r"[\u{7F}-\u{801}\u{FFFD}-\u{10001}]".to_owned()),
        1 => Just(r"[^\u{80}-\u{10FFFE}]".to_owned()),
        1 => Just("(?i:K)".to_owned()),
        1 => Just("^".to_owned()),
        1 => Just("$".to_owned()),
        1 => Just(String::new()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            (inner.clone(), prop::sample::select(&["*", "+", "?", "*?"][..]))
                .prop_map(|(inner, times)| format!("(?:{inner}){times}")),
            (inner.clone(), 0_u32..4, 0_u32..4)
                .prop_map(|(inner, min, more)| format!("(?:{inner}){{{min},{}}}", min + more)),
            (inner, 0_u32..4).prop_map(|(inner, min)| format!("(?:{inner}){{{min},}}")),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    let char = prop::sample::select(
        &[
            'a',
            'b',
            'c',
            'k',
            'K',
            'é',
            'ü',
            '\u{212A}',
            '日',
            '本',
            '😀',
            ' ',
            '\n',
            '\u{80}',
            '\u{FFFD}',
            '\u{10FFFF}',
        ][..],
    );
    prop::collection::vec(char, 0..8).prop_map(|chars| chars.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn on_random_patterns_and_texts(
        pattern in pattern(),
        texts in prop::collection::vec(text(), 24),
    ) {
        agree(&pattern, &texts);
    }

    /// Every text is UTF-8: no other byte sequence is accepted, at any place.
    #[test]
    fn only_utf8_is_accepted(pattern in pattern(), bytes in prop::collection::vec(
        prop::sample::select(&[b'a', b'b', 0x80, 0xA9, 0xC0, 0xC3, 0xE0, 0xED, 0xA0, 0xF0, 0xF5, 0xFF][..]), 0..6)) {
        if let Some(dfa) = lowered(&pattern) {
            prop_assert!(!dfa.accepts(&bytes) || std::str::from_utf8(&bytes).is_ok());
        }
    }

    /// One language, one automaton, however it is written.
    #[test]
    fn equal_languages_are_equal_automata(pattern in pattern()) {
        for other in [format!("(?:{pattern}|{pattern})"), format!("(?:(?:{pattern}){{1,1}})")] {
            prop_assert_eq!(lowered(&pattern), lowered(&other));
        }
    }
}

/// Copies of a counted repetition that overlap: the earlier one must read all that the later one would.
#[test]
fn dropping_covered_copies_keeps_every_text() {
    for pattern in [
        r"(a+b?){1,4}",
        r"(a+b?){2,4}",
        r"(a*b?){3}",
        r"(a|ab|ba){2,3}",
        r"((a|b){0,2}a){0,3}",
        r"((a?){2}b?){1,3}",
        r"((ab?){1,2}){2,3}c",
        r"((^|a)b?){2,3}",
        r"((a|$)b?){2,3}",
        r"(a{1,2}b{0,2}){2}",
        r"(a{2}|a{3}){2,3}",
    ] {
        let mut texts = vec![String::new()];
        for _ in 0..9 {
            let longer: Vec<String> = texts
                .iter()
                .filter(|text| text.len() + 1 == texts.last().map_or(0, String::len) + 1)
                .flat_map(|text| ["a", "b", "c"].map(|next| format!("{text}{next}")))
                .collect();
            let longest = longer.first().map_or(0, String::len);
            texts.extend(longer);
            if longest == 8 {
                break;
            }
        }
        agree(pattern, &texts);
    }
}

/// States that a subset construction without covering would multiply.
#[test]
fn overlapping_repetitions_stay_small() {
    for (pattern, most) in [
        (r"(\w+\s?){1,50}", 60_000),
        (r"(.{0,20}foo){0,20}", 40_000),
        (r"(?i)[\w\p{L}]{0,500}", 200_000),
        (r"(?:[a-z]+ ?){1,200}", 500),
    ] {
        let dfa = lowered(pattern).unwrap_or_else(|| panic!("{pattern} is over budget"));
        assert!(dfa.len() < most, "{pattern}: {} states", dfa.len());
    }
}
