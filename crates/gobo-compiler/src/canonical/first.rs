//! The tokens that may come next, so that the tokenizer itself would write the text as it stands, and some text can be completed.
//!
//! Let First(q) be the tokens that begin a canonical way from state q to the end. Whether a token f may follow a token t in the same chunk depends on the two
//! alone, so that the mask behind t is First(q) without the tokens that t joins. So First has no column for the last token: a token f of q,
//! which leads to d, is in First(q) exactly if d is *live behind f*: the text may end at d; or First is not empty behind the border of two chunks; or it
//! holds, behind a border within a chunk, a token that f does not join. First is the least fixpoint of that.
//!
//! **Groups.** The tokens from one state to another live and die together where it does not matter which one it was: where the text may end, where a
//! chunk may begin, and nearly everywhere else, since few tokens join all that can follow. They are counted and asked one by one only while what can
//! follow is joined by some of them.
//!
//! **Cost.** What it takes to find the groups ([`super::tokens`]); then a look at each group for each change of what it leads to, and a test of neighbours for each
//! token in groups that are not decided as a whole.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;

use gobo_artifact::layout::Encoder;
use gobo_automata::Interner;
use gobo_types::{Budget, ByteSet, CompileError, TokenId, checked_u32, dense_id};

use super::product::DEAD;
use super::rules::StackId;
use super::walk::{PHASE, Walk};

/// Bytes of a list beside its tokens.
const LIST_BYTES: u64 = 16;

/// Bytes of a state while liveness is found.
const SETTLED_BYTES: u64 = 32;

dense_id! {
    /// Tokens, each list once: the strings of a schema, and the counts of one string, have nearly the same lists.
    pub(super) struct ListId;
}

/// No tokens.
const NONE: ListId = ListId(0);

/// The tokens that lead from one state to another.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) from: u32,
    pub(super) to: u32,
    /// What they call on their way, and have not returned from.
    pub(super) stack: StackId,
    /// Other groups may have the same.
    pub(super) tokens: ListId,
}

/// From where liveness is found.
pub(super) struct Seeds<'s> {
    /// `[states]`: all tokens that lead there are live.
    pub(super) states: Vec<bool>,
    /// What may be read next within a chunk, where that is known of bytes.
    pub(super) escapes: Option<Escapes<'s>>,
    /// Whether those of [`First::live`] are known to be.
    pub(super) goes_on: bool,
}

/// What makes tokens live by a byte that can be read next within their chunk: that they join no token that begins with it.
#[derive(Clone, Copy)]
pub(super) struct Escapes<'s> {
    /// The bytes that can be read behind a border within the chunk, by the state before it.
    pub(super) open: &'s dyn Fn(u32) -> ByteSet,
    /// The bytes with which the tokens begin that a token joins.
    pub(super) joined: &'s dyn Fn(TokenId) -> ByteSet,
}

/// Live tokens.
pub(super) struct List<'a> {
    pub(super) ids: &'a [TokenId],
    /// Its number, if lists of other states may be the same.
    pub(super) number: Option<ListId>,
}

/// First of all states at which a token can end.
pub(super) struct First {
    /// By the state from which they lead.
    pub(super) groups: Vec<Group>,
    /// `[groups]`: the tokens of each that are live.
    pub(super) live: Vec<ListId>,
    /// `[states]`: its groups, for states at which a token can end.
    pub(super) of: Vec<Option<(u32, u32)>>,
    pub(super) lists: Interner<ListId, TokenId>,
}

impl First {
    /// Of so many states, at none of which a token can end yet.
    pub(super) fn none(states: usize) -> Self {
        let mut lists = Interner::default();
        let _: (ListId, bool) = lists.intern(&[]);
        Self { groups: Vec::new(), live: Vec::new(), of: vec![None; states], lists }
    }

    /// Whether tokens can end at a state.
    pub(super) fn is_reached(&self, state: u32) -> bool {
        self.of[state as usize].is_some()
    }

    /// The live tokens of a state.
    pub(super) fn tokens_of(&self, state: u32) -> impl Iterator<Item = TokenId> + '_ {
        self.groups_of(state).flat_map(|number| self.lists.get(self.live[number])).copied()
    }

    /// The same in lists, one for each group.
    pub(super) fn lists_of(&self, state: u32) -> impl Iterator<Item = List<'_>> {
        let live = &self.live[self.groups_of(state)];
        live.iter().map(|&list| List { ids: self.lists.get(list), number: Some(list) })
    }

    /// The numbers of the groups of a state.
    pub(super) fn groups_of(&self, state: u32) -> Range<usize> {
        let (from, to) = self.of[state as usize].unwrap_or_default();
        from as usize..to as usize
    }

    /// The list of some tokens. O(tokens).
    pub(super) fn list(&mut self, ids: &[TokenId], budget: &Budget) -> Result<ListId, CompileError> {
        budget.charge_steps(PHASE, ids.len() as u64)?;
        let (list, is_new) = self.lists.intern(ids);
        budget.charge_bytes(PHASE, if is_new { LIST_BYTES + ids.len() as u64 * 4 } else { 0 })?;
        Ok(list)
    }

    /// Finds the tokens that are live, by group: the least fixpoint. What is below the rule at hand is left to the seeds.
    pub(super) fn settle(&mut self, walk: &Walk<'_>, seeds: Seeds<'_>) -> Result<Vec<ListId>, CompileError> {
        let Walk { product, budget, .. } = walk;
        budget.charge_bytes(PHASE, product.len() as u64 * SETTLED_BYTES)?;
        // Of each state the groups that lead to it; and the states from which a border leads to it.
        let groups_to = Incoming::new(product.len(), || {
            self.groups.iter().zip(0..).map(|(group, number)| (group.to, number))
        });
        let borders_to = Incoming::new(product.len(), || {
            let borders = (1..checked_u32(product.len())).map(|state| (state, product.borders(state)));
            borders.flat_map(|(state, next)| next.map(|next| (next, state))).filter(|of| of.0 != DEAD)
        });
        let Seeds { states: mut is_sure, escapes, goes_on } = seeds;
        let mut live = if goes_on { self.live.clone() } else { vec![NONE; self.groups.len()] };
        // Of each state the tokens that are live, counted, and a mark for each id.
        let mut counts = vec![0_u64; product.len()];
        for (group, &list) in self.groups.iter().zip(&live) {
            counts[group.from as usize] += self.lists.get(list).len() as u64;
        }
        for state in 1..product.len() {
            is_sure[state] |= counts[product.marked[state] as usize] > 0;
        }
        let mut is_known = vec![false; walk.vocabulary.len() as usize];
        let joined = Joined::new(walk)?;
        let mut is_open = vec![false; product.len()];
        // States whose groups are live as a whole: nothing can be added.
        let mut is_done = vec![false; product.len()];
        let mut open: VecDeque<u32> = VecDeque::new();
        for at in 1..checked_u32(product.len()) {
            is_open[at as usize] = is_sure[at as usize] || escapes.is_some() || goes_on;
            open.extend(is_open[at as usize].then_some(at));
        }
        while let Some(to) = open.pop_front() {
            is_open[to as usize] = false;
            is_done[to as usize] = is_sure[to as usize];
            let groups = groups_to.of(to);
            budget.charge_steps(PHASE, 1 + groups.len() as u64)?;
            for &number in groups {
                let group = self.groups[number as usize];
                let before = live[number as usize];
                if before == group.tokens {
                    continue;
                }
                let (from, count) = (group.from, self.lists.get(before).len());
                let was_empty = counts[from as usize] == 0;
                let next = product.within[to as usize];
                let follow = counts[next as usize];
                let now_live = if is_sure[to as usize] {
                    group.tokens
                } else {
                    let asked = Asked { group, before, next, follow, escapes };
                    let found = self.recheck(&asked, &live, &mut is_known, &joined, walk)?;
                    if found.len() == count {
                        continue;
                    }
                    let is_all = found.len() == self.lists.get(group.tokens).len();
                    if is_all { group.tokens } else { self.list(&found, budget)? }
                };
                let now = self.lists.get(now_live).len();
                counts[from as usize] += (now - count) as u64;
                live[number as usize] = now_live;
                // More can follow at `from`: what leads to a border before it is looked at again.
                for &state in borders_to.of(from) {
                    if was_empty && product.marked[state as usize] == from {
                        is_sure[state as usize] = true;
                    }
                    if !is_done[state as usize] && !std::mem::replace(&mut is_open[state as usize], true) {
                        open.push_back(state);
                    }
                }
            }
        }
        Ok(live)
    }

    /// The tokens of a group that are live by what can follow them within the chunk. `is_known` has a mark for each id, none of them set.
    fn recheck(
        &self,
        asked: &Asked<'_>,
        live: &[ListId],
        is_known: &mut [bool],
        joined: &Joined<'_>,
        walk: &Walk<'_>,
    ) -> Result<Vec<TokenId>, CompileError> {
        let Walk { encoder, budget, .. } = walk;
        let &Asked { group, before, next, follow, escapes } = asked;
        let before = self.lists.get(before);
        let mut found = before.to_vec();
        let open = escapes.map(|of| (of, (of.open)(group.to))).filter(|(_, open)| !open.is_empty());
        if next == DEAD || follow == 0 && open.is_none() {
            return Ok(found);
        }
        before.iter().for_each(|&id| is_known[id as usize] = true);
        let mut tests = 0;
        for &id in self.lists.get(group.tokens).iter().filter(|&&id| !is_known[id as usize]) {
            tests += 1;
            let mut lists = self.groups_of(next).flat_map(|number| self.lists.get(live[number]));
            // More can follow than it joins, or some token that it does not join is found.
            let is_live = open.is_some_and(|(of, open)| !open.is_subset(&(of.joined)(id)))
                || joined.by(id) < follow
                || lists.any(|&follows| {
                    tests += 1;
                    !encoder.merges.joins(id, follows)
                });
            if is_live {
                found.push(id);
            }
        }
        before.iter().for_each(|&id| is_known[id as usize] = false);
        budget.charge_steps(PHASE, tests + before.len() as u64 / 8)?;
        Ok(found)
    }
}

/// What leads to each state.
struct Incoming {
    /// `[states + 1]`.
    starts: Vec<u32>,
    all: Vec<u32>,
}

impl Incoming {
    /// From what `pairs` gives, twice the same: a state, and what leads to it.
    fn new<I: Iterator<Item = (u32, u32)>>(states: usize, pairs: impl Fn() -> I) -> Self {
        let mut starts = vec![0; states + 1];
        pairs().for_each(|(to, _)| starts[to as usize + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut ends = starts.clone();
        let mut all = vec![0; starts[states] as usize];
        for (to, from) in pairs() {
            all[ends[to as usize] as usize] = from;
            ends[to as usize] += 1;
        }
        Self { starts, all }
    }

    fn of(&self, state: u32) -> &[u32] {
        let at = state as usize;
        &self.all[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

/// A group whose tokens may be live by what can follow them within the chunk.
struct Asked<'a> {
    group: Group,
    /// Its tokens that are live already.
    before: ListId,
    /// The state behind the border.
    next: u32,
    /// How many live tokens that has.
    follow: u64,
    escapes: Option<Escapes<'a>>,
}

/// How many tokens each joins.
struct Joined<'a> {
    encoder: &'a Encoder<'a>,
    /// `[cuts + 1]`: the tokens in all cuts before.
    before: Vec<u64>,
    /// `[ids]`, once asked for.
    known: RefCell<Vec<Option<u64>>>,
}

impl<'a> Joined<'a> {
    fn new(walk: &Walk<'a>) -> Result<Self, CompileError> {
        let cuts = walk.encoder.merges.cuts();
        let ids = walk.vocabulary.len() as usize;
        walk.budget.charge_steps(PHASE, cuts.len() as u64 / 8)?;
        walk.budget.charge_bytes(PHASE, (cuts.len() * 8 + ids * 16) as u64)?;
        let mut sum = 0;
        let mut before = vec![0];
        before.extend(cuts.iter().map(|cut| {
            sum += u64::from(cut.to.saturating_sub(cut.from));
            sum
        }));
        Ok(Self { encoder: walk.encoder, before, known: RefCell::new(vec![None; ids]) })
    }

    /// How many tokens `id` joins, or more, where cuts overlap. O(parts × log cuts) at first, and some have a hundred thousand cuts.
    fn by(&self, id: TokenId) -> u64 {
        let count = || {
            let ranges = self.encoder.merges.cut_ranges_after(id);
            ranges.map(|of| self.before[of.end] - self.before[of.start]).sum()
        };
        *self.known.borrow_mut()[id as usize].get_or_insert_with(count)
    }
}
