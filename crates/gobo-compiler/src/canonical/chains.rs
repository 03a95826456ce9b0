//! Tokens of free text.
//!
//! Most states between characters stand in strings, where nearly all characters lead to one state: to the state itself or, where characters are
//! counted, to that of the next count. These characters are *free*, and the states that they lead along are a *chain*. A token of k free characters
//! leads k states along the chain, whatever its characters are. So the tokens of free characters are listed once, by their length and by what they do to
//! chunks of text, and the states of all chains with these characters have those lists in common. The vocabulary is walked for the other tokens alone. O(bytes of all
//! tokens) for each set of free characters that is met twice; O(length of the chain + nodes above the other tokens) for each state.

use foldhash::HashMap;
use gobo_automata::StateId;
use gobo_types::{ByteSet, CompileError, TokenId};

use super::first::{First, ListId};
use super::rules::{Rules, Wanted};
use super::walk::{PHASE, Walk};

/// With fewer bytes of ASCII that are free there are few such tokens.
const LEAST_FREE: u32 = 24;

/// The first bytes of characters beyond ASCII.
const FIRST_BYTES: std::ops::RangeInclusive<u8> = 0xC2..=0xF4;

/// Characters that are free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Free {
    ascii: ByteSet,
    /// Whether all characters beyond ASCII are.
    others: bool,
}

/// Where free characters lead from a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    To(StateId),
    Nowhere,
    /// Not all to one state.
    Several,
}

/// Tokens that do the same to chunks: their class, and whether they are whole chunks, which follow a border of chunks alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct OfChunks {
    pub(super) class: u16,
    pub(super) is_whole: bool,
}

/// Lists of tokens of free characters.
type FreeLists = Vec<(OfChunks, ListId)>;

/// The tokens of a set of free characters.
struct FreeTokens {
    free: Free,
    /// `[most characters]`: those of one character, of two, and so on.
    of_length: Vec<FreeLists>,
    /// Those of so many characters or more, once asked for.
    from_length: HashMap<usize, FreeLists>,
    /// `[tokens + 1]`: how many tokens before each place in the order of the trie are not of free characters alone.
    others_before: Vec<u32>,
    next: HashMap<StateId, Next>,
}

/// The tokens of free characters from a state.
pub(super) struct Chain<'c> {
    /// The lists of tokens, and the state to which each of them leads.
    pub(super) lists: Vec<(StateId, OfChunks, ListId)>,
    /// The tokens that are not of free characters alone.
    pub(super) others: Wanted<'c>,
}

/// What is known of chains.
#[derive(Default)]
pub(super) struct Chains {
    /// The sets that have been met, and their tokens, from the second time on.
    numbers: HashMap<Free, Option<usize>>,
    tokens: Vec<FreeTokens>,
}

impl Chains {
    /// The chain from a state, if it is worth while.
    pub(super) fn from<'c>(
        &'c mut self,
        walk: &Walk<'_>,
        first: &mut First,
        is_whole: &[bool],
        state: StateId,
    ) -> Result<Option<Chain<'c>>, CompileError> {
        walk.budget.charge_steps(PHASE, 256)?;
        let Some(free) = Free::at(&walk.rules, state) else { return Ok(None) };
        let number = match self.numbers.get(&free) {
            None => {
                self.numbers.insert(free, None);
                return Ok(None);
            }
            Some(Some(known)) => *known,
            Some(None) => {
                self.tokens.push(FreeTokens::new(walk, first, is_whole, free)?);
                self.numbers.insert(free, Some(self.tokens.len() - 1));
                self.tokens.len() - 1
            }
        };
        let tokens = &mut self.tokens[number];
        let most = tokens.of_length.len();
        let mut lists = Vec::new();
        let mut at = state;
        for length in 1..=most {
            let next = match tokens.next(&walk.rules, at) {
                Next::To(next) => next,
                Next::Nowhere => break,
                Next::Several => return Ok(None),
            };
            let is_last = next == at;
            let of_length = if is_last {
                tokens.from_length(walk, first, length)?
            } else {
                &tokens.of_length[length - 1]
            };
            lists.extend(of_length.iter().map(|&(of, list)| (next, of, list)));
            if is_last {
                break;
            }
            at = next;
        }
        walk.budget.charge_steps(PHASE, lists.len() as u64)?;
        Ok(Some(Chain { lists, others: Wanted::Some(&tokens.others_before) }))
    }
}

impl Free {
    /// The characters that lead to the state to which most lead; `None` if they are few.
    fn at(rules: &Rules<'_>, state: StateId) -> Option<Self> {
        let mut to: Vec<(StateId, ByteSet)> = Vec::new();
        for byte in 0..0x80 {
            let next = rules.dfa.next(state, byte);
            if next != StateId::DEAD {
                match to.iter_mut().find(|of| of.0 == next) {
                    Some(of) => of.1.insert(byte),
                    None => to.push((next, ByteSet::single(byte))),
                }
            }
        }
        let (next, ascii) = to.into_iter().max_by_key(|of| of.1.len())?;
        let others = others_from(rules, state) == Next::To(next);
        (ascii.len() >= LEAST_FREE).then_some(Self { ascii, others })
    }

    /// How many characters a token has, if all are free.
    fn length(&self, token: &[u8]) -> Option<usize> {
        let is_free = |&byte: &u8| if byte < 0x80 { self.ascii.contains(byte) } else { self.others };
        if !token.iter().all(is_free) {
            return None;
        }
        std::str::from_utf8(token).ok().map(|text| text.chars().count())
    }

    /// Where they lead from a state.
    fn next(&self, rules: &Rules<'_>, state: StateId) -> Next {
        let ascii = (0..0x80).filter(|&byte| self.ascii.contains(byte));
        let found = one(rules, state, ascii.map(|byte| rules.dfa.next(state, byte)));
        if self.others && found != others_from(rules, state) { Next::Several } else { found }
    }
}

impl FreeTokens {
    fn new(walk: &Walk<'_>, first: &mut First, is_whole: &[bool], free: Free) -> Result<Self, CompileError> {
        let trie = walk.vocabulary.trie();
        let order = &trie.order[trie.from as usize..trie.to as usize];
        walk.budget.charge_steps(PHASE, order.len() as u64 * 4)?;
        walk.budget.charge_bytes(PHASE, order.len() as u64 * 4)?;
        let mut by: HashMap<(usize, OfChunks), Vec<TokenId>> = HashMap::default();
        let (mut most, mut others) = (0, 0);
        let mut others_before = vec![0; trie.from as usize + 1];
        for &id in order {
            match free.length(walk.vocabulary.bytes(id)) {
                None => others += 1,
                Some(length) => {
                    let class = walk.encoder.chunks.class_of(id);
                    // Tokens of class 0 are no encodings, or are within no chunk.
                    if class != 0 {
                        let is_whole = is_whole.get(id as usize).is_some_and(|&is_whole| is_whole);
                        by.entry((length, OfChunks { class, is_whole })).or_default().push(id);
                        most = most.max(length);
                    }
                }
            }
            others_before.push(others);
        }
        let mut by: Vec<_> = by.into_iter().collect();
        by.sort_unstable_by_key(|of| of.0);
        let mut of_length = vec![FreeLists::new(); most];
        for ((length, of), ids) in by {
            let list = first.list(&ids, walk.budget)?;
            of_length[length - 1].push((of, list));
        }
        Ok(Self { free, of_length, from_length: HashMap::default(), others_before, next: HashMap::default() })
    }

    fn next(&mut self, rules: &Rules<'_>, state: StateId) -> Next {
        *self.next.entry(state).or_insert_with(|| self.free.next(rules, state))
    }

    /// The tokens of so many characters or more.
    fn from_length(
        &mut self,
        walk: &Walk<'_>,
        first: &mut First,
        length: usize,
    ) -> Result<&FreeLists, CompileError> {
        if !self.from_length.contains_key(&length) {
            let mut by: HashMap<OfChunks, Vec<TokenId>> = HashMap::default();
            for &(of, list) in self.of_length[length - 1..].iter().flatten() {
                by.entry(of).or_default().extend(first.lists.get(list));
            }
            let mut by: Vec<_> = by.into_iter().collect();
            by.sort_unstable_by_key(|of| of.0);
            let lists = by.into_iter().map(|(of, ids)| Ok((of, first.list(&ids, walk.budget)?)));
            let lists = lists.collect::<Result<FreeLists, CompileError>>()?;
            self.from_length.insert(length, lists);
        }
        Ok(&self.from_length[&length])
    }
}

/// Where all characters beyond ASCII lead.
fn others_from(rules: &Rules<'_>, state: StateId) -> Next {
    // The states behind the first bytes, with the bytes that have to follow: RFC 3629, section 4.
    let first = FIRST_BYTES.map(|byte| (byte, rules.dfa.next(state, byte)));
    let mut found: Option<Next> = None;
    let mut known: Vec<((StateId, u8), Next)> = Vec::new();
    for (byte, next) in first {
        let kind = match byte {
            0xE0 | 0xED | 0xF0 | 0xF4 => byte,
            0xC2..=0xDF => 1,
            0xE1..=0xEF => 2,
            _ => 3,
        };
        let to = match known.iter().find(|of| of.0 == (next, kind)) {
            Some(of) => of.1,
            None => {
                let to = if next == StateId::DEAD {
                    one(rules, state, std::iter::once(next))
                } else {
                    rest_from(rules, next, kind)
                };
                known.push(((next, kind), to));
                to
            }
        };
        match found {
            Some(found) if found != to => return Next::Several,
            _ => found = Some(to),
        }
    }
    found.unwrap_or(Next::Several)
}

/// Where the bytes behind the first one lead: `kind` is the first byte, or how many follow.
fn rest_from(rules: &Rules<'_>, state: StateId, kind: u8) -> Next {
    let (bytes, more) = match kind {
        0xE0 => (0xA0..=0xBF, 1),
        0xED => (0x80..=0x9F, 1),
        0xF0 => (0x90..=0xBF, 2),
        0xF4 => (0x80..=0x8F, 2),
        more => (0x80..=0xBF, more - 1),
    };
    let mut found: Option<StateId> = None;
    for next in bytes.map(|byte| rules.dfa.next(state, byte)) {
        if next == StateId::DEAD || found.is_some_and(|found| found != next) {
            return Next::Several;
        }
        found = Some(next);
    }
    match found {
        None => Next::Several,
        Some(next) if more == 0 => Next::To(next),
        Some(next) => rest_from(rules, next, more),
    }
}

/// What all of some next states are. Nothing leads on where the rule at hand can neither call another one nor end before a byte.
fn one(rules: &Rules<'_>, state: StateId, mut all: impl Iterator<Item = StateId>) -> Next {
    let Some(next) = all.next() else { return Next::Several };
    if all.any(|other| other != next) {
        return Next::Several;
    }
    if next != StateId::DEAD {
        return Next::To(next);
    }
    let calls = !rules.calls.push_transitions(state).is_empty();
    let ends = rules.dfa.accepting[state] && !rules.calls.follow(state).is_empty();
    if calls || ends { Next::Several } else { Next::Nowhere }
}
