//! Bytes that were taken back from a prompt and are written anew, by the tokens that the tokenizer itself would write (*token healing*).
//!
//! Within these bytes a text stands in no state of the index. It has a *place*: how many of them are written, where the chunks stand, and which word the chunk may be
//! the beginning of. The tokens that may follow a border at a place are those that are the next bytes, and those that begin with all that are left and go on
//! with the constraint's text; of these, the ones behind which some way leads on. That is found once, when the text begins, from the last place
//! backwards, since tokens lead forwards only: O(places × (tokens below the bytes × log + rows)). Bytes are as many as a token has, so places are few, and
//! the tokens of most are few, too.

use std::collections::{BTreeMap, HashMap};

use gobo_types::TokenId;

use super::{Border, Frames, Pair, Reading, Readings, Tables};
use crate::layout::{NO_CHUNK, Row, Trie};

/// Most bytes that are written anew.
pub(crate) const MAX_HEALED: usize = 256;

/// Marks a place in the place of a state; the limit of states is below it.
const IS_PLACE: u32 = 1 << 31;

/// A row: pairs (word, bits).
type Patches = Box<[[u32; 2]]>;

/// A token, and where it ends: in the text or at a place, and on which stack.
type Ending = (TokenId, (Pair, u32));

/// The bytes, and what may follow each border within them.
#[derive(Debug)]
pub(crate) struct Healing {
    bytes: Box<[u8]>,
    /// By place and word.
    rows: HashMap<(Pair, u32), Patches>,
    /// Whether a word that begins in them may be spelled in the text, and could not go on.
    pub(crate) is_stuck: bool,
}

/// The place where so many bytes are written and the chunks stand at `chunk`.
fn place(written: usize, chunk: u16) -> Pair {
    let written = u32::try_from(written).expect("256 bytes at most are written anew");
    Pair { state: IS_PLACE | written, chunk }
}

/// How many bytes are written at a place, if it stands in the place of a state.
fn written(state: u32) -> Option<usize> {
    is_place(state).then_some((state & !IS_PLACE) as usize)
}

/// Whether a place stands in the place of a state.
pub(crate) fn is_place(state: u32) -> bool {
    state & IS_PLACE != 0
}

impl Healing {
    /// What may be written behind `before`, readings that stand in no state of the index; the text begins on the stack `frame`.
    pub(crate) fn new(
        tables: &Tables<'_>,
        (frames, frame): (&mut Frames, u32),
        bytes: &[u8],
        before: &Readings,
    ) -> (Self, Readings) {
        let mut healing = Self { bytes: bytes.into(), rows: HashMap::new(), is_stuck: false };
        let mut beginning = Readings::none();
        for reading in before.all() {
            let is_added = beginning.add(Reading { at: place(0, reading.at.chunk), frame, ..*reading });
            debug_assert!(is_added, "there are as many");
        }
        // Behind each border: the tokens, and where they end.
        let mut steps: BTreeMap<(Pair, u32), Vec<Ending>> = BTreeMap::new();
        let borders = |reading: &Reading| reading.borders(tables).into_iter().flatten();
        let mut open: Vec<Border> = beginning.all().iter().flat_map(borders).collect();
        while let Some(border) = open.pop() {
            let key = (border.at, border.word);
            if is_place(border.at.state) && !steps.contains_key(&key) {
                let found = healing.steps(tables, frames, (border.at, frame));
                for &(id, (at, frame)) in &found {
                    let word = tables.encoder.words.next(border.word, id);
                    let after = Reading { at, last: id, word, frame };
                    if is_place(at.state) {
                        open.extend(borders(&after));
                    } else {
                        healing.is_stuck |= after.may_be_stuck(tables, frames);
                    }
                }
                steps.insert(key, found);
            }
        }
        // Tokens lead to places that are greater.
        for (&border, found) in steps.iter().rev() {
            let row = healing.live(tables, frames, border.1, found);
            healing.rows.insert(border, row);
        }
        (healing, beginning)
    }

    /// The row behind a border at a place, in a chunk that may be the beginning of `word`.
    pub(super) fn row(&self, place: Pair, word: u32) -> Option<Row<'_>> {
        let patches = self.rows.get(&(place, word)).filter(|patches| !patches.is_empty())?;
        Some(Row::Patched { base: None, patches })
    }

    /// The bytes that are not written at a place yet.
    pub(crate) fn rest(&self, state: u32) -> &[u8] {
        written(state).and_then(|written| self.bytes.get(written..)).unwrap_or_default()
    }

    /// Where the bytes of a token lead from a border at a place.
    pub(super) fn walk(
        &self,
        tables: &Tables<'_>,
        frames: &mut Frames,
        (Pair { state, chunk }, frame): (Pair, u32),
        bytes: &[u8],
    ) -> (Pair, u32) {
        let Some(written) = written(state) else { return (Pair::NOWHERE, frame) };
        let rest = self.bytes.get(written..).unwrap_or_default();
        let (own, text) = bytes.split_at(bytes.len().min(rest.len()));
        if !rest.starts_with(own) {
            return (Pair::NOWHERE, frame);
        }
        match own.iter().fold(chunk, |chunk, &byte| tables.encoder.chunks.next(chunk, byte)) {
            NO_CHUNK => (Pair::NOWHERE, frame),
            chunk if own.len() < rest.len() => (place(written + own.len(), chunk), frame),
            chunk => tables.read(frames, (Pair { state: tables.index.start(), chunk }, frame), text),
        }
    }

    /// The tokens that may be written from a border at a place, and where they lead.
    fn steps(&self, tables: &Tables<'_>, frames: &mut Frames, from: (Pair, u32)) -> Vec<Ending> {
        let mut found = Vec::new();
        let (Some(written), chunk) = (written(from.0.state), from.0.chunk) else { return found };
        let Tables { vocabulary, encoder, .. } = tables;
        let chunks = &encoder.chunks;
        let is_between = chunks.is_between(chunk);
        let may_be = |id: TokenId| {
            if is_between {
                chunks.class_of(id) != 0 && (chunks.begins(chunk) || !encoder.merges.is_whole(id))
            } else {
                encoder.merges.is_proper(id)
            }
        };
        let mut add = |ids: &[TokenId], to: (Pair, u32)| {
            if !to.0.is_nowhere() {
                found.extend(ids.iter().filter(|&&id| may_be(id)).map(|&id| (id, to)));
            }
        };
        let rest = &self.bytes[written..];
        let trie = vocabulary.trie();
        let mut path = trie.prefixes(rest);
        for (length, ids) in path.by_ref() {
            add(ids, self.walk(tables, frames, from, &rest[..length]));
        }
        if let Some((block, to)) = path.below() {
            let at = self.walk(tables, frames, from, rest);
            let mut open = Vec::from_iter((!at.0.is_nowhere()).then_some((block, to, at)));
            while let Some((first, to, at)) = open.pop() {
                each_node(&trie, first, to, |byte, ids, below| {
                    let next = tables.read(frames, at, &[byte]);
                    add(ids, next);
                    open.extend(
                        below.filter(|_| !next.0.is_nowhere()).map(|(child, end)| (child, end, next)),
                    );
                });
            }
        }
        found
    }

    /// The tokens behind which a way leads on.
    fn live(&self, tables: &Tables<'_>, frames: &Frames, word: u32, steps: &[Ending]) -> Patches {
        let mut words: BTreeMap<u32, u32> = BTreeMap::new();
        let tables = Tables { healing: Some(self), ..*tables };
        let mut next: HashMap<(Pair, u32, u32), Vec<TokenId>> = HashMap::new();
        for &(id, (at, frame)) in steps {
            let after = Reading { at, last: id, word: tables.encoder.words.next(word, id), frame };
            let [within, marked] = after.borders(&tables);
            let mut goes_on = |within: Border| {
                next.entry((within.at, within.word, frame))
                    .or_insert_with(|| tables.ids(frames, &within))
                    .iter()
                    .any(|&next| !tables.encoder.merges.joins(id, next))
            };
            let is_live = after.can_end() && tables.may_end(frames, at, frame)
                || marked.is_some_and(|marked| tables.has_any(frames, &marked))
                || within.is_some_and(&mut goes_on);
            if is_live {
                *words.entry(id >> 5).or_default() |= 1 << (id & 31);
            }
        }
        words.into_iter().map(|(at, bits)| [at, bits]).collect()
    }
}

/// Calls `found` with each node from `first` on, whose ids end at `to`: its byte, its own ids, and the first node below it with the end of theirs.
fn each_node(
    trie: &Trie<'_>,
    first: usize,
    to: u32,
    mut found: impl FnMut(u8, &[TokenId], Option<(usize, u32)>),
) {
    for number in first.. {
        let node = trie.nodes[number];
        let end = trie.subtree_end(number, to);
        let own = &trie.order[node.first as usize..trie.own_end(number, end) as usize];
        found(node.byte(), own, node.children().map(|child| (child, end)));
        if node.is_last() {
            return;
        }
    }
}
