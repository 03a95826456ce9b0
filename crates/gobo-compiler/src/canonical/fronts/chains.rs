//! Tokens of free text.
//!
//! Most states between characters stand in strings, where nearly all characters lead to one state: to the state itself or, where characters are
//! counted, to that of the next count. These characters are *free*, and the states that they lead along are a *chain*. A token of k free characters
//! leads k states along the chain, whatever its characters are. So the tokens of free characters are listed once, by their length and by what they do to
//! chunks of text, and the states of all chains with these characters have those lists in common. A state from which most characters enter a chain,
//! as where a name of an object may be one of the declared ones, has them without the tokens that begin in another way. The vocabulary is walked for the other tokens
//! alone, and not those in which a character follows that leads nowhere in the chain, as control characters in strings of JSON. O(bytes of all tokens) for each set of free characters that is met twice; O(length of the chain + nodes above the other tokens) for each
//! state, and O(tokens) where some begin in another way.

use std::rc::Rc;

use foldhash::HashMap;
use gobo_automata::StateId;
use gobo_types::{ByteSet, CompileError, DenseId as _, TokenId, checked_u32};

use super::numbers::Numbers;
use crate::canonical::lists::{ListId, Lists};
use crate::canonical::rules::{Rules, Wanted};
use crate::canonical::walk::{PHASE, UnderNodes, Walk};

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
    /// Characters of ASCII that lead nowhere, wherever free ones lead.
    dead: ByteSet,
}

/// What becomes of a token that begins with free characters.
enum Run {
    /// It has so many, and no other ones.
    Free(usize),
    /// One follows that leads nowhere.
    Dead,
    Other,
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

/// Tokens of free characters that do the same to chunks.
#[derive(Clone)]
struct FreeList {
    of: OfChunks,
    list: ListId,
    /// Where those under each node of the root of the trie lie in the list.
    nodes: Rc<UnderNodes<(u32, u32)>>,
}

/// The tokens of a set of free characters.
struct FreeTokens {
    free: Free,
    /// `[most characters]`: those of one character, of two, and so on.
    of_length: Vec<Vec<FreeList>>,
    /// Those of so many characters, at least and at most, once asked for.
    between: HashMap<(usize, usize), Vec<FreeList>>,
    /// `[tokens + 1]`: how many tokens before each place in the order of the trie are not of free characters alone.
    others_before: Vec<u32>,
    next: HashMap<StateId, Next>,
}

/// The tokens of free characters from a state.
pub(super) struct Chain<'c> {
    /// The lists of tokens that are live by where they end.
    pub(super) sure: Vec<(OfChunks, ListId)>,
    /// The other lists of tokens, and the state to which each of them leads.
    pub(super) lists: Vec<(StateId, OfChunks, ListId)>,
    /// `[nodes of the root]`: whether tokens of free characters that begin so are in the lists.
    begins: Vec<bool>,
    others_before: &'c [u32],
}

impl<'c> Chain<'c> {
    /// The tokens below a node of the root that are not in the lists.
    pub(super) fn others(&self, node: usize) -> Wanted<'c> {
        if self.begins[node] { Wanted::Some(self.others_before) } else { Wanted::All }
    }
}

/// What is known of chains.
#[derive(Default)]
pub(super) struct Chains {
    /// The sets that have been met, and their tokens, from the second time on.
    numbers: HashMap<Free, Option<usize>>,
    tokens: Vec<FreeTokens>,
}

/// A state from which most characters of ASCII lead to one state, and a set of characters that may be free from there.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    to: StateId,
    free: Free,
}

impl Chains {
    /// The ways from a state into a chain.
    pub(super) fn entries(walk: &Walk<'_>, state: StateId) -> Result<Vec<Entry>, CompileError> {
        walk.budget.charge_steps(PHASE, 512)?;
        let Some((to, own)) = Free::at(&walk.rules, state) else { return Ok(Vec::new()) };
        // Behind the last character that is counted none is free.
        let next = Free::at(&walk.rules, to).map(|of| of.1);
        Ok(next.into_iter().chain([own]).map(|free| Entry { to, free }).collect())
    }

    /// The number of tokens that are listed for one of some entries.
    pub(super) fn known(&self, entries: &[Entry]) -> Option<(Entry, usize)> {
        entries.iter().find_map(|entry| Some((*entry, (*self.numbers.get(&entry.free)?)?)))
    }

    /// The same for the first entry, once its characters are met for the second time.
    pub(super) fn meet(
        &mut self,
        walk: &Walk<'_>,
        lists: &mut Lists,
        is_whole: &[bool],
        entries: &[Entry],
    ) -> Result<Option<(Entry, usize)>, CompileError> {
        let Some(entry) = entries.first() else { return Ok(None) };
        if self.numbers.insert(entry.free, None).is_none() {
            return Ok(None);
        }
        let number = self.tokens.len();
        self.tokens.push(FreeTokens::new(walk, lists, is_whole, entry.free)?);
        self.numbers.insert(entry.free, Some(number));
        Ok(Some((*entry, number)))
    }

    /// The tokens from a state; `None` if characters that are free at first are not free later on. `nodes`: the bytes of the nodes of the root; `sure`: `[states]`, where all tokens
    /// are live that end there, whose lengths are not told apart.
    pub(super) fn chain<'c>(
        &'c mut self,
        walk: &Walk<'_>,
        lists: &mut Lists,
        state: StateId,
        (entry, number): (Entry, usize),
        nodes: &[u8],
        sure: &[bool],
    ) -> Result<Option<Chain<'c>>, CompileError> {
        let (rules, tokens) = (&walk.rules, &mut self.tokens[number]);
        let others = entry.free.others && others_from(rules, state) == Next::To(entry.to);
        let begins = |&byte: &u8| match byte {
            0..0x80 => entry.free.ascii.contains(byte) && rules.dfa.next(state, byte) == entry.to,
            _ => others,
        };
        let begins: Vec<bool> = nodes.iter().map(begins).collect();
        let most = tokens.of_length.len();
        let (mut surely, mut found) = (Vec::new(), Vec::new());
        // Behind so many characters tokens are still sure.
        let mut sure_to = 0;
        let mut at = Some(entry.to);
        let mut length = 1;
        while let Some(state) = at.filter(|_| length <= most) {
            let next = tokens.next(rules, state);
            let is_last = next == Next::To(state);
            at = match next {
                Next::Several => return Ok(None),
                Next::To(next) if !is_last => Some(next),
                Next::To(_) | Next::Nowhere => None,
            };
            let longest = if is_last { most } else { length };
            if sure[state.index()] && sure_to + 1 == length {
                sure_to = longest;
            } else {
                for free in tokens.between(walk, lists, (length, longest))? {
                    let list = free.beginning(walk, lists, &begins)?;
                    found.extend(list.map(|list| (state, free.of, list)));
                }
            }
            length = longest + 1;
        }
        if sure_to > 0 {
            for free in tokens.between(walk, lists, (1, sure_to))? {
                let list = free.beginning(walk, lists, &begins)?;
                surely.extend(list.map(|list| (free.of, list)));
            }
        }
        walk.budget.charge_steps(PHASE, (length + surely.len() + found.len()) as u64)?;
        Ok(Some(Chain { sure: surely, lists: found, begins, others_before: &tokens.others_before }))
    }
}

impl FreeList {
    /// The tokens of some lists of one class, at least one.
    fn joined(parts: &[&Self], walk: &Walk<'_>, lists: &mut Lists) -> Result<Self, CompileError> {
        if let [only] = parts {
            return Ok((*only).clone());
        }
        let (mut ids, mut nodes): (Vec<TokenId>, UnderNodes<(u32, u32)>) = Default::default();
        for part in parts {
            let before = checked_u32(ids.len());
            ids.extend(lists.get(part.list));
            nodes.extend(part.nodes.iter().map(|&(node, (from, to))| (node, (before + from, before + to))));
        }
        walk.budget.charge_bytes(PHASE, nodes.len() as u64 * 12)?;
        Ok(Self { of: parts[0].of, list: lists.of(&ids, walk.budget)?, nodes: Rc::new(nodes) })
    }

    /// Its tokens below some nodes of the root; `None` if there are none.
    fn beginning(
        &self,
        walk: &Walk<'_>,
        lists: &mut Lists,
        begins: &[bool],
    ) -> Result<Option<ListId>, CompileError> {
        let does = |of: &&(u16, (u32, u32))| begins[usize::from(of.0)];
        if self.nodes.iter().all(|of| does(&of)) {
            return Ok(Some(self.list));
        }
        let all = lists.get(self.list);
        let places = self.nodes.iter().filter(does).map(|of| of.1);
        let ids: Vec<TokenId> =
            places.flat_map(|(from, to)| &all[from as usize..to as usize]).copied().collect();
        if ids.is_empty() { Ok(None) } else { lists.of(&ids, walk.budget).map(Some) }
    }
}

impl Free {
    /// The state to which most characters of ASCII lead, and the characters that do; `None` if they are few.
    fn at(rules: &Rules<'_>, state: StateId) -> Option<(StateId, Self)> {
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
        let mut dead = ByteSet::default();
        (0..0x80).filter(|&byte| leads_nowhere(rules, state, byte)).for_each(|byte| dead.insert(byte));
        (ascii.len() >= LEAST_FREE).then_some((next, Self { ascii, others, dead }))
    }

    /// What becomes of a token.
    fn run(&self, token: &[u8]) -> Run {
        let is_free = |&byte: &u8| if byte < 0x80 { self.ascii.contains(byte) } else { self.others };
        match token.iter().find(|byte| !is_free(byte)) {
            None => std::str::from_utf8(token).map_or(Run::Other, |text| Run::Free(text.chars().count())),
            Some(&byte) if self.dead.contains(byte) => Run::Dead,
            Some(_) => Run::Other,
        }
    }

    /// Where they lead from a state.
    fn next(&self, rules: &Rules<'_>, state: StateId) -> Next {
        let ascii = (0..0x80).filter(|&byte| self.ascii.contains(byte));
        let found = one(rules, state, ascii.map(|byte| rules.dfa.next(state, byte)));
        let is_dead = |byte: u8| leads_nowhere(rules, state, byte);
        if self.others && found != others_from(rules, state) || !self.dead.bytes().all(is_dead) {
            return Next::Several;
        }
        found
    }
}

impl FreeTokens {
    fn new(walk: &Walk<'_>, lists: &mut Lists, is_whole: &[bool], free: Free) -> Result<Self, CompileError> {
        let trie = walk.vocabulary.trie();
        let order = &trie.order[trie.from as usize..trie.to as usize];
        walk.budget.charge_steps(PHASE, order.len() as u64 * 4)?;
        walk.budget.charge_bytes(PHASE, order.len() as u64 * 4)?;
        let mut numbers = Numbers::default();
        let mut found: Vec<Found> = Vec::new();
        let mut others = 0;
        let mut others_before = vec![0; trie.from as usize + 1];
        let (mut node, mut byte) = (0, None);
        for &id in order {
            let bytes = walk.vocabulary.bytes(id);
            // In the order of the trie, tokens that begin alike stand side by side.
            if byte != bytes.first() {
                node += u16::from(byte.is_some());
                byte = bytes.first();
            }
            match free.run(bytes) {
                Run::Other => others += 1,
                Run::Dead => {}
                Run::Free(length) => {
                    let class = walk.encoder.chunks.class_of(id);
                    // Tokens of class 0 are no encodings, or are within no chunk.
                    if class != 0 {
                        let is_whole = is_whole.get(id as usize).is_some_and(|&is_whole| is_whole);
                        let of = OfChunks { class, is_whole };
                        let number = numbers.of((length, of)) as usize;
                        if number == found.len() {
                            found.push(Found { length, of, ids: Vec::new(), nodes: Vec::new() });
                        }
                        found[number].push(node, id);
                    }
                }
            }
            others_before.push(others);
        }
        let most = found.iter().map(|of| of.length).max().unwrap_or(0);
        let mut of_length = vec![Vec::new(); most];
        for Found { length, of, ids, nodes } in found {
            walk.budget.charge_bytes(PHASE, nodes.len() as u64 * 12)?;
            let list = lists.of(&ids, walk.budget)?;
            of_length[length - 1].push(FreeList { of, list, nodes: Rc::new(nodes) });
        }
        Ok(Self { free, of_length, between: HashMap::default(), others_before, next: HashMap::default() })
    }

    fn next(&mut self, rules: &Rules<'_>, state: StateId) -> Next {
        *self.next.entry(state).or_insert_with(|| self.free.next(rules, state))
    }

    /// The tokens of so many characters, at least and at most.
    fn between(
        &mut self,
        walk: &Walk<'_>,
        lists: &mut Lists,
        (least, most): (usize, usize),
    ) -> Result<&[FreeList], CompileError> {
        let known = (least..=most).rev().find(|&to| self.between.contains_key(&(least, to)));
        if known != Some(most) {
            // Most classes have no tokens of so many characters: what they have is shared.
            let before = known.map(|to| self.between[&(least, to)].as_slice()).unwrap_or_default();
            let more = &self.of_length[known.unwrap_or(least - 1)..most];
            let mut parts: Vec<Vec<&FreeList>> = Vec::new();
            let mut numbers = Numbers::default();
            for free in before.iter().chain(more.iter().flatten()) {
                let number = numbers.of(free.of) as usize;
                if number == parts.len() {
                    parts.push(Vec::new());
                }
                parts[number].push(free);
            }
            let all: Result<Vec<FreeList>, CompileError> =
                parts.into_iter().map(|parts| FreeList::joined(&parts, walk, lists)).collect();
            let all = all?;
            walk.budget.charge_bytes(PHASE, all.len() as u64 * 16)?;
            self.between.insert((least, most), all);
        }
        Ok(&self.between[&(least, most)])
    }
}

/// Tokens of free characters while they are listed.
struct Found {
    length: usize,
    of: OfChunks,
    ids: Vec<TokenId>,
    nodes: UnderNodes<(u32, u32)>,
}

impl Found {
    fn push(&mut self, node: u16, id: TokenId) {
        let at = checked_u32(self.ids.len());
        self.ids.push(id);
        match self.nodes.last_mut().filter(|of| of.0 == node) {
            Some(of) => of.1.1 = at + 1,
            None => self.nodes.push((node, (at, at + 1))),
        }
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

/// Whether a byte leads nowhere, whatever is on the stack.
fn leads_nowhere(rules: &Rules<'_>, state: StateId, byte: u8) -> bool {
    rules.dfa.next(state, byte) == StateId::DEAD && !may_leave(rules, state)
}

/// Whether the rule at hand can call another one, or end before a byte.
fn may_leave(rules: &Rules<'_>, state: StateId) -> bool {
    !rules.calls.push_transitions(state).is_empty()
        || rules.dfa.accepting[state] && !rules.calls.follow(state).is_empty()
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
    if may_leave(rules, state) { Next::Several } else { Next::Nowhere }
}
