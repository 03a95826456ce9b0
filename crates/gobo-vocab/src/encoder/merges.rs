//! The merges of byte-pair encoding as a relation between neighbours.
//!
//! Encoding repeats "merge the adjacent pair of lowest rank, leftmost first". Watch a sequence of tokens being encoded anew: until the first
//! merge across a border of two tokens, what goes on within any two neighbours is what goes on if these two are alone. So a sequence is
//! its own encoding exactly if each token is, and each pair of neighbours is (the README of the crate `bpe`, corollaries II and III).
//!
//! **Times.** A merge of rank r may have to wait for its parts, whose merges may have higher ranks. The *time* of a token is the highest rank
//! in its tree of merges, and that of a merge the highest of its own rank and the times of its parts. A merge with a lower time
//! comes first: nothing that it waits for has a rank as high as what the other one waits for.
//!
//! **Which pairs merge.** The *right spine* of a token is the token, its right part, the right part of that, and so on; left spines
//! likewise. A part is *consumed* by the merge that makes the token above it, the token itself never. A merge of x and y joins the pair
//! (a, b) exactly if x is on the right spine of a, y on the left spine of b, and the merge comes before both are consumed.
//!
//! **Ties.** Of two merges with one rank the one further left comes first. Let m = (x, y) have the same time v as c = (w, x), which consumes x.
//! If y waits for a merge of rank v, that is further right than all for which c waits, so c is first. Else, if x waits for one, both wait
//! for x alone in the end, and the lower rank is first, c if they are equal. Else m has rank v itself, and what c waits for, or c, is
//! further left. Against c = (y, z), which consumes y: if z waits for a merge of rank v, m is first; else, if y waits for one, the lower
//! rank is first, m if they are equal; else m is first. So a time and a rank, or none, are the keys by which both are compared.
//!
//! **Intervals.** Tokens are numbered in the preorder of the forest in which a token stands under its left part, children with later keys
//! first. Then the tokens b that have y on the left spine, consumed after the merge, are an interval: y, and all below its first
//! children. The whole relation is an interval for each merge, listed at x by key (a *cut*), and the tokens that may not follow a are
//! the cuts along its right spine, each list up to the key with which the spine is consumed. O(merges), never O(tokens²).

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::layout::{Cut, NO_POSITION, NO_TOKEN, SpineToken};
use gobo_types::TokenId;

use crate::trie_order::count;

/// A merge: two tokens, and the token that they become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Merge {
    /// The part on the left.
    pub left: TokenId,
    /// The part on the right.
    pub right: TokenId,
    /// What they become.
    pub product: TokenId,
}

/// A token, and the encoding of its text.
pub(crate) type Spelled = (TokenId, Vec<TokenId>);

/// The tables of the merges of an encoder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct MergeTables {
    /// `[ids + 1]`; the last one only says where the cuts end.
    pub(crate) tokens: Vec<SpineToken>,
    /// `[proper tokens]`: the ids by their numbers.
    pub(crate) order: Vec<TokenId>,
    /// Token by token, and ascending by time.
    pub(crate) cuts: Vec<Cut>,
    /// The tokens whose texts are encoded as others, and these others.
    pub(crate) spelled: Vec<Spelled>,
}

/// Merges by their parts.
struct Ranks(HashMap<u64, (u32, TokenId)>);

impl Ranks {
    /// `merges`, each with its rank. The first of equal ones counts.
    fn new(merges: impl Iterator<Item = (u32, Merge)>) -> Self {
        let mut of = HashMap::with_capacity(merges.size_hint().0);
        for (rank, merge) in merges {
            of.entry(pair(merge.left, merge.right)).or_insert((rank, merge.product));
        }
        Self(of)
    }

    fn get(&self, left: TokenId, right: TokenId) -> Option<(u32, TokenId)> {
        self.0.get(&pair(left, right)).copied()
    }

    /// Encodes `symbols`, and returns the parts of the last merge. O(symbols²), and a look-up for each neighbour.
    fn encode(&self, symbols: &mut Vec<Symbol>) -> Option<(TokenId, TokenId)> {
        for at in 1..symbols.len() {
            symbols[at - 1].next = self.get(symbols[at - 1].id, symbols[at].id);
        }
        let mut parts = None;
        loop {
            let ranks = symbols.iter().enumerate().filter_map(|(at, symbol)| Some((symbol.next?.0, at)));
            let Some((_, at)) = ranks.min() else { break };
            let (left, right) = (symbols[at].id, symbols[at + 1].id);
            parts = Some((left, right));
            if let Some((_, product)) = symbols[at].next {
                symbols[at].id = product;
            }
            symbols.remove(at + 1);
            let after = symbols.get(at + 1).map(|symbol| symbol.id);
            symbols[at].next = after.and_then(|after| self.get(symbols[at].id, after));
            if at > 0 {
                symbols[at - 1].next = self.get(symbols[at - 1].id, symbols[at].id);
            }
        }
        parts
    }
}

/// A token in a sequence that is being encoded, and its merge with the one after it.
struct Symbol {
    id: TokenId,
    next: Option<(u32, TokenId)>,
}

fn pair(left: TokenId, right: TokenId) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// How a proper token comes about.
#[derive(Debug, Clone, Copy)]
struct Tree {
    parts: Option<(TokenId, TokenId)>,
    /// One more than the highest rank in the tree; 0 where there is none.
    time: u32,
    /// One more than the rank of the last merge.
    rank: u32,
}

/// A time, then a rank that decides between equal times.
type Key = (u32, u32);

/// After all ranks.
const LAST: u32 = u32::MAX;

/// When a merge takes place, if parts and product are proper: against what consumes its left part, and against what consumes the right one.
struct Moment {
    left: Key,
    right: Key,
}

impl MergeTables {
    /// The tables of `ids` tokens. `symbols_of` appends the symbols that the text of a token is before any merge, and says
    /// whether the token has a text that is made of symbols. `ranked` are the merges, each with its rank.
    ///
    /// A token is *proper* if its text is encoded as the token. O(ids × length² + merges × log merges).
    pub(crate) fn new(
        ids: u32,
        symbols_of: impl Fn(TokenId, &mut Vec<TokenId>) -> bool,
        ranked: &[(u32, Merge)],
    ) -> Self {
        let ranks = Ranks::new(ranked.iter().copied());
        let (trees, spelled) = trees(ids, symbols_of, &ranks);
        let moment = |rank: u32, left: TokenId, right: TokenId| {
            let (left, right) = (trees[left as usize]?, trees[right as usize]?);
            let rank = rank + 1;
            let time = rank.max(left.time).max(right.time);
            let waits_for_left = left.time == time && right.time < time;
            Some(Moment { left: (time, if waits_for_left { rank } else { LAST }), right: (time, rank) })
        };
        // What consumes its left part, as that is compared.
        let consumes_left = |tree: &Tree| {
            let (left, right) = tree.parts?;
            let (left, right) = (trees[left as usize]?, trees[right as usize]?);
            let waits_for_left = left.time == tree.time && right.time < tree.time;
            Some((tree.time, if waits_for_left { tree.rank } else { LAST }))
        };
        let key_of = |id: TokenId| trees[id as usize].as_ref().and_then(consumes_left);
        let (order, position, end) = left_order(&trees, key_of);
        // `[ids]`: the tokens that have a token as left part, later ones first: what consumes it, and where what lies below ends.
        let mut below: Vec<Vec<(Key, u32)>> = vec![Vec::new(); ids as usize];
        for &id in &order {
            if let Some((Tree { parts: Some((left, _)), .. }, key)) = trees[id as usize].zip(key_of(id)) {
                below[left as usize].push((key, end[id as usize]));
            }
        }
        let mut cuts: Vec<(TokenId, Key, u32, u32)> = Vec::with_capacity(ranked.len());
        for &(rank, Merge { left, right, .. }) in ranked {
            let Some(moment) = moment(rank, left, right) else { continue };
            let children = &below[right as usize];
            let later = children.partition_point(|&(key, _)| key >= moment.right);
            let from = position[right as usize];
            let to = later.checked_sub(1).map_or(from + 1, |last| children[last].1);
            cuts.push((left, moment.left, from, to));
        }
        cuts.sort_unstable();
        // Keys are numbered, so that a word holds one. The last number stands for what is never consumed.
        let consumes_right = |tree: &Tree| tree.parts.map(|_| (tree.time, tree.rank));
        let mut keys: Vec<Key> = cuts.iter().map(|&(_, key, ..)| key).collect();
        keys.extend(trees.iter().flatten().filter_map(consumes_right));
        keys.sort_unstable();
        keys.dedup();
        let number = |key: Key| count(keys.partition_point(|&other| other < key));
        let mut tokens = Vec::with_capacity(ids as usize + 1);
        let mut at = 0;
        for (id, tree) in (0..ids).zip(&trees) {
            let (right, time) = tree.as_ref().map_or((NO_TOKEN, 0), |tree| {
                let right = tree.parts.map_or(NO_TOKEN, |(_, right)| right);
                (right, consumes_right(tree).map_or(0, number))
            });
            tokens.push(SpineToken { right, time, position: position[id as usize], cuts: count(at) });
            at += cuts[at..].iter().take_while(|(left, ..)| *left == id).count();
        }
        tokens.push(SpineToken { right: NO_TOKEN, time: 0, position: NO_POSITION, cuts: count(at) });
        let cuts = cuts.into_iter().map(|(_, key, from, to)| Cut { time: number(key), from, to }).collect();
        Self { tokens, order, cuts, spelled }
    }

    /// Makes a token join all others, before it and behind: one that is a whole chunk. `whole` is ascending.
    pub(crate) fn set_apart(&mut self, whole: &[TokenId]) {
        let everything = Cut { time: 0, from: 0, to: count(self.order.len()) };
        let mut cuts = Vec::with_capacity(self.cuts.len() + whole.len());
        for id in 0..self.tokens.len() {
            let from = self.tokens[id].cuts as usize;
            let to = self.tokens.get(id + 1).map_or(from, |next| next.cuts as usize);
            self.tokens[id].cuts = count(cuts.len());
            cuts.extend_from_slice(&self.cuts[from..to]);
            if whole.binary_search(&count(id)).is_ok() {
                cuts.push(everything);
            }
        }
        self.cuts = cuts;
    }
}

/// `[ids]`: the trees of proper tokens; and the encodings of the texts of others.
fn trees(
    ids: u32,
    symbols_of: impl Fn(TokenId, &mut Vec<TokenId>) -> bool,
    ranks: &Ranks,
) -> (Vec<Option<Tree>>, Vec<Spelled>) {
    let mut others = Vec::new();
    let mut parts: Vec<Option<Option<(TokenId, TokenId)>>> = vec![None; ids as usize];
    let (mut spelled, mut symbols) = (Vec::new(), Vec::new());
    for (id, parts) in (0..ids).zip(&mut parts) {
        spelled.clear();
        if !symbols_of(id, &mut spelled) {
            continue;
        }
        if spelled == [id] {
            *parts = Some(None);
            continue;
        }
        symbols.clear();
        symbols.extend(spelled.iter().map(|&id| Symbol { id, next: None }));
        let last = ranks.encode(&mut symbols);
        match symbols[..] {
            [Symbol { id: only, .. }] if only == id => *parts = last.map(Some),
            _ => others.push((id, symbols.iter().map(|symbol| symbol.id).collect())),
        }
    }
    let mut trees: Vec<Option<Tree>> = vec![None; ids as usize];
    let mut open = Vec::new();
    for id in 0..ids {
        open.push(id);
        while let Some(&id) = open.last() {
            if trees[id as usize].is_none() {
                match parts[id as usize] {
                    None => {}
                    Some(None) => trees[id as usize] = Some(Tree { parts: None, time: 0, rank: 0 }),
                    // The parts of a proper token are proper, unless the text of one is no text of symbols; and shorter.
                    Some(Some((left, right))) => match (trees[left as usize], trees[right as usize]) {
                        _ if parts[left as usize].is_none() || parts[right as usize].is_none() => {}
                        (Some(one), Some(two)) => {
                            let (rank, _) = ranks.get(left, right).expect("the last merge is a merge");
                            let rank = rank + 1;
                            let time = rank.max(one.time).max(two.time);
                            trees[id as usize] = Some(Tree { parts: Some((left, right)), time, rank });
                        }
                        (None, _) => {
                            open.push(left);
                            continue;
                        }
                        (_, None) => {
                            open.push(right);
                            continue;
                        }
                    },
                }
            }
            open.pop();
        }
    }
    (trees, others)
}

/// Proper tokens in the preorder of the forest in which a token stands under its left part, and `[ids]`: the number of each, and where what
/// lies below it ends.
fn left_order(
    trees: &[Option<Tree>],
    key_of: impl Fn(TokenId) -> Option<Key>,
) -> (Vec<TokenId>, Vec<u32>, Vec<u32>) {
    let mut children: Vec<Vec<TokenId>> = vec![Vec::new(); trees.len()];
    let mut roots = Vec::new();
    for (id, tree) in (0..).zip(trees) {
        match tree {
            None => {}
            Some(Tree { parts: None, .. }) => roots.push(id),
            Some(Tree { parts: Some((left, _)), .. }) => children[*left as usize].push(id),
        }
    }
    for of in &mut children {
        // In the order in which they are taken from a stack: earlier ones last.
        of.sort_unstable_by_key(|&id| (key_of(id), id));
    }
    let (mut position, mut end) = (vec![NO_POSITION; trees.len()], vec![0; trees.len()]);
    let mut order = Vec::new();
    // A token, and whether what lies below it is done.
    let mut open: Vec<(TokenId, bool)> = roots.iter().rev().map(|&id| (id, false)).collect();
    while let Some((id, is_done)) = open.pop() {
        if is_done {
            end[id as usize] = count(order.len());
            continue;
        }
        position[id as usize] = count(order.len());
        order.push(id);
        open.push((id, true));
        open.extend(children[id as usize].iter().map(|&child| (child, false)));
    }
    (order, position, end)
}

#[cfg(test)]
mod tests {
    use gobo_artifact::layout::Merges;
    use proptest::prelude::*;

    use super::*;

    /// Tokens as texts over `abc`, and merges of them.
    #[derive(Debug)]
    struct Table {
        texts: Vec<String>,
        ranked: Vec<(u32, Merge)>,
    }

    impl Table {
        /// Merges of tokens by their numbers, modulo those that there are; `shuffle` are the ranks before they are sorted.
        fn new(parts: &[(usize, usize)], shuffle: Option<&[u32]>) -> Self {
            let mut texts: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
            let mut ranked: Vec<(u32, Merge)> = Vec::new();
            for &(left, right) in parts {
                let (left, right) = (left % texts.len(), right % texts.len());
                let text = texts[left].clone() + &texts[right];
                let id = |at: usize| u32::try_from(at).unwrap();
                if text.len() > 8 || ranked.iter().any(|(_, of)| (of.left, of.right) == (id(left), id(right)))
                {
                    continue;
                }
                let known = texts.iter().position(|of| *of == text);
                let product = known.unwrap_or_else(|| {
                    texts.push(text);
                    texts.len() - 1
                });
                ranked.push((
                    id(ranked.len()),
                    Merge { left: id(left), right: id(right), product: id(product) },
                ));
            }
            if let Some(keys) = shuffle {
                let mut ranks: Vec<u32> = ranked.iter().map(|&(rank, _)| rank).collect();
                ranks.sort_by_key(|&rank| keys[rank as usize]);
                ranked.iter_mut().zip(ranks).for_each(|((of, _), rank)| *of = rank);
            }
            Self { texts, ranked }
        }

        /// By definition: the pair of lowest rank is merged, leftmost first, until there is none.
        fn encode(&self, text: &str) -> Vec<TokenId> {
            let mut ids: Vec<TokenId> = text.bytes().map(|byte| u32::from(byte - b'a')).collect();
            loop {
                let merge_of = |pair: &[TokenId]| {
                    self.ranked
                        .iter()
                        .find(|(_, of)| [of.left, of.right] == pair)
                        .map(|&(rank, of)| (rank, of.product))
                };
                let found = ids.windows(2).enumerate().filter_map(|(at, pair)| Some((merge_of(pair)?, at)));
                let Some(((_, product), at)) = found.min_by_key(|&((rank, _), at)| (rank, at)) else {
                    return ids;
                };
                ids.splice(at..at + 2, [product]);
            }
        }

        fn tables(&self) -> MergeTables {
            let symbols = |id: TokenId, out: &mut Vec<TokenId>| {
                out.extend(self.texts[id as usize].bytes().map(|byte| u32::from(byte - b'a')));
                true
            };
            MergeTables::new(count(self.texts.len()), symbols, &self.ranked)
        }

        fn check(&self) {
            let MergeTables { tokens, order, cuts, .. } = self.tables();
            let merges = Merges::new(&tokens, &order, &cuts);
            let ids = || 0..count(self.texts.len());
            let text =
                |ids: &[TokenId]| ids.iter().map(|&id| self.texts[id as usize].as_str()).collect::<String>();
            let is_own = |ids: &[TokenId]| self.encode(&text(ids)) == ids;
            for id in ids() {
                assert_eq!(merges.is_proper(id), is_own(&[id]), "{id} of {self:?}");
            }
            let proper: Vec<TokenId> = ids().filter(|&id| merges.is_proper(id)).collect();
            for &left in &proper {
                let mut row = vec![u32::MAX; self.texts.len().div_ceil(32)];
                merges.strike(left, &mut row);
                for &right in &proper {
                    let joins = merges.joins(left, right);
                    assert_eq!(joins, !is_own(&[left, right]), "{left} before {right} of {self:?}");
                    assert_eq!(joins, row[(right >> 5) as usize] >> (right & 31) & 1 == 0);
                    // Neighbours decide of longer sequences, too.
                    for &third in &proper {
                        let all = [left, right, third];
                        assert_eq!(joins || merges.joins(right, third), !is_own(&all), "{all:?} of {self:?}");
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Tables of merges as training makes them, with several splits of some tokens, and with ranks in any order.
        #[test]
        fn neighbours_merge_as_encoding_by_definition_says(
            parts in prop::collection::vec((0_usize..12, 0_usize..12), 1..14),
            keys in prop::option::of(prop::collection::vec(any::<u32>(), 14)),
        ) {
            Table::new(&parts, keys.as_deref()).check();
        }
    }
}
