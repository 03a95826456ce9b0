//! The rows that a vocabulary file holds for all indices of the vocabulary. `SLICE_SET_EPOCH` rises with every change here.
//!
//! Most constraints write JSON, and the rows inside its strings, in its numbers and before its values are the same in most
//! indices, or differ by few tokens. They are dense, and would be most of an index file. The choice of shared rows affects
//! sizes alone: an index stores how its own row differs.
//!
//! A row is the set of tokens that lead from a state of a small DFA to a useful state, found by a walk of the trie beside the
//! DFA. Cost: O(trie nodes) for each row.

use std::sync::LazyLock;

use foldhash::HashMap;
use gobo_artifact::layout::TrieNode;
use gobo_types::TokenId;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::util::primitives::StateID;
use regex_automata::{Anchored, MatchKind, util::start};

/// A string after its opening quote, with every escape that JSON knows; surrogates in pairs only.
const STRING: &str = r#"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u(?:[0-9A-CEFa-cef][0-9A-Fa-f]{3}|[Dd](?:[0-7][0-9A-Fa-f]{2}|[89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}))))*""#;

/// The same with each character in its shortest spelling.
const SHORTEST: &str = r#"(?:[^"\\\x00-\x1f]|\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f])))*""#;

const NUMBER: &str = "-?(?:0|[1-9][0-9]*)(?:[.][0-9]+)?(?:[eE][+-]?[0-9]+)?";

/// Languages, each with the texts after which a row is kept: the tokens with which the text can go on.
static LANGUAGES: LazyLock<[(Language, &[&str]); 4]> = LazyLock::new(|| {
    let value = format!(r#" ?(?:"{STRING}|{NUMBER}|true|false|null|[\[{{])"#);
    [
        (Language::new(STRING), &["", r"\", r"\u", r"\u0", r"\u00", r"\u000", r"\ud", r"\ud800\ud"]),
        (Language::new(SHORTEST), &[r"\", r"\u000", r"\u001"]),
        (Language::new(NUMBER), &["", "1"]),
        (Language::new(&value), &[""]),
    ]
});

/// The texts that go on to a match of a pattern, as an automaton.
struct Language {
    /// `[states]`: the next state by byte; 0 is dead, 1 the start.
    next: Vec<[u8; 256]>,
}

const DEAD: u8 = 0;
const START: u8 = 1;

impl Language {
    fn new(pattern: &str) -> Self {
        // Longest matches, so that no way on is left out; and nothing for searches, which would take ten times as long.
        let config =
            dense::Config::new().match_kind(MatchKind::All).start_kind(StartKind::Anchored).accelerate(false);
        let dfa = dense::Builder::new().configure(config).build(pattern);
        let dfa = dfa.expect("a pattern that every version knows");
        // A match is reported one byte late: a state may be accepting, and have no other way on.
        let leads_on = |state: StateID| {
            let byte = (0..=u8::MAX).map(|byte| dfa.next_state(state, byte));
            byte.chain([dfa.next_eoi_state(state)]).any(|next| !dfa.is_dead_state(next))
        };
        let start = dfa.start_state(&start::Config::new().anchored(Anchored::Yes));
        let mut states = vec![start.expect("no pattern looks behind its start")];
        let mut known: HashMap<StateID, u8> = HashMap::from_iter([(states[0], START)]);
        let mut next = vec![[DEAD; 256]];
        while let Some(&state) = states.get(next.len() - 1) {
            next.push(std::array::from_fn(|byte| {
                let to = dfa.next_state(state, u8::try_from(byte).expect("256 bytes"));
                *known.entry(to).or_insert_with(|| {
                    if !leads_on(to) {
                        return DEAD;
                    }
                    states.push(to);
                    u8::try_from(states.len()).expect("patterns of few states")
                })
            }));
        }
        Self { next }
    }

    fn step(&self, state: u8, byte: u8) -> u8 {
        self.next[usize::from(state)][usize::from(byte)]
    }

    fn after(&self, text: &str) -> u8 {
        text.bytes().fold(START, |state, byte| self.step(state, byte))
    }
}

/// A row is kept if more than one in so many of its words is not zero: sparser rows are small in any case.
const WORDS_PER_SET_WORD: usize = 16;

/// `[shared rows, row words]`, over the trie `nodes` of the ids `order`: distinct rows, as far as they are large.
pub(crate) fn shared_rows(nodes: &[TrieNode], order: &[TokenId], row_words: usize) -> Vec<u32> {
    let mut rows: Vec<Vec<u32>> = Vec::new();
    for (language, texts) in LANGUAGES.iter() {
        for text in *texts {
            let mut row = vec![0; row_words];
            add(nodes, order, 0, order.len(), language, language.after(text), &mut row);
            let set = row.iter().filter(|&&word| word != 0).count();
            if set * WORDS_PER_SET_WORD > row_words && !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    rows.concat()
}

/// Sets the bits of the tokens below a block, whose ids end at `end`, that lead from `state` to a useful state. Recursion depth:
/// at most the length of a token.
fn add(
    nodes: &[TrieNode],
    order: &[TokenId],
    block: usize,
    end: usize,
    language: &Language,
    state: u8,
    row: &mut [u32],
) {
    for number in block.. {
        let node = nodes[number];
        let next = language.step(state, node.byte());
        if next != DEAD {
            let from = node.first as usize;
            let to = if node.is_last() { end } else { nodes[number + 1].first as usize };
            let own_end = node.children().map_or(to, |child| nodes[child].first as usize);
            order[from..own_end].iter().for_each(|&id| row[(id >> 5) as usize] |= 1 << (id & 31));
            if let Some(child) = node.children() {
                add(nodes, order, child, to, language, next, row);
            }
        }
        if node.is_last() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use gobo_artifact::Vocabulary;

    use super::*;
    use crate::TokenTable;

    /// The format names the patterns and the texts, because another writer has to make the same rows.
    #[test]
    fn the_format_lists_these_patterns_and_texts() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FORMAT.md");
        let document = std::fs::read_to_string(path).unwrap();
        let table = document.split("| pattern | after |").nth(1).unwrap();
        let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        let quoted =
            |text: &str| -> Vec<String> { text.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
        // A pipe is escaped inside a table, and `H`, `S` and `N` stand for patterns.
        let pattern = |text: &str| {
            let (number, string) = (NUMBER, STRING);
            let hex = text.replace(r"\|", "|").replace('H', "[0-9A-Fa-f]");
            hex.replace('S', string).replace('N', number)
        };
        let listed: Vec<(String, Vec<String>)> = lines
            .map(|line| {
                let (patterns, texts) = line.trim_matches(['|', ' ']).rsplit_once(" | ").unwrap();
                let names = ["S", "N"];
                let of_line = quoted(patterns).into_iter().find(|text| !names.contains(&text.as_str()));
                let empty = texts.contains("the empty text").then(String::new);
                (pattern(&of_line.unwrap()), empty.into_iter().chain(quoted(texts)).collect())
            })
            .collect();
        let value = format!(r#" ?(?:"{STRING}|{NUMBER}|true|false|null|[\[{{])"#);
        let texts = LANGUAGES.iter().map(|(_, texts)| texts.iter().map(|text| (*text).to_owned()).collect());
        let patterns = [STRING, SHORTEST, NUMBER, &value].map(str::to_owned);
        assert_eq!(listed, patterns.into_iter().zip(texts).collect::<Vec<(String, Vec<String>)>>());
    }

    /// Each row holds exactly the tokens with which its text goes on to a match, told by the pattern with the rest of a match
    /// at will: a matcher of whole texts.
    #[test]
    fn shared_rows_are_the_tokens_that_go_on() {
        let tokens = [
            "a", "abc", "A\"", "\"", "\",", "\"\"", "\\", "\\\"", "\\u", "\\ud8", "u", "u0041\"", "0", "00",
            "000", "01", "12", "1.", "1e5", "-", "-1", "d83d\\u", "D8", "D800", "c000\"", "C0", "é", " \"",
            " ", " -", " true", "t", "null", "nulls", "{", "[", "]", "}", "/", "b", "b\\", "f", "\u{7f}",
            "\n", "\u{1f}",
        ];
        let mut table = TokenTable::new();
        let pieces: &[&[u8]] = &[b"\xc3", b"\xa9", b"\xe6\xbc", b"a\xf0\x9f", b"\xff", b"\xed\xa0"];
        let all: Vec<&[u8]> =
            tokens.iter().map(|token| token.as_bytes()).chain(pieces.iter().copied()).collect();
        for (id, token) in (0..).zip(&all) {
            table.insert(id, token.to_vec(), false).unwrap();
        }
        let vocabulary = Vocabulary::from_bytes(&table.build().unwrap()).unwrap();
        let shared: Vec<&[u32]> = (0..).map_while(|number| vocabulary.shared_row(number)).collect();
        // Possible ends of a match after a token that stops short of it, tried one after the other.
        let completions: &[&[u8]] = &[
            b"",
            b"\"",
            b"a\"",
            b"n\"",
            b"0\"",
            b"00\"",
            b"000\"",
            b"0000\"",
            b"u0000\"",
            b"dc00\"",
            b"c00\"",
            b"udc00\"",
            b"\\udc00\"",
            b"0\\udc00\"",
            b"00\\udc00\"",
            b"800\\udc00\"",
            b"000\\udc00\"",
            b"\xa9\"",
            b"\x9f\x98\x80\"",
            b"\xbc\xa2\"",
            b"\xa2\"",
            b"\x98\x80\"",
            b"1",
            b"0",
            b"rue",
            b"ull",
            b"alse",
        ];
        let mut expected: Vec<Vec<u32>> = Vec::new();
        let value = format!(r#" ?(?:"{STRING}|{NUMBER}|true|false|null|[\[{{])"#);
        for (pattern, (_, texts)) in [STRING, SHORTEST, NUMBER, &value].into_iter().zip(LANGUAGES.iter()) {
            let whole = regex_automata::meta::Regex::new(&format!(r"\A(?:{pattern})\z")).unwrap();
            for text in *texts {
                let mut row = vec![0_u32; vocabulary.row_words()];
                for (id, token) in all.iter().enumerate() {
                    let goes_on = |rest: &&[u8]| whole.is_match(&[text.as_bytes(), token, rest].concat());
                    if completions.iter().any(goes_on) {
                        row[id >> 5] |= 1 << (id & 31);
                    }
                }
                if row.iter().any(|&word| word != 0) && !expected.contains(&row) {
                    expected.push(row);
                }
            }
        }
        assert_eq!(shared, expected);
        assert!(shared.len() > 10);
    }
}
