//! Which tokens are live of those that are not so by where they end alone: by what can follow them within their chunk.
//!
//! Where a token leads to a state whose fronts are known, that is a look at them. Within a component it is the least fixpoint: what leads to a border is looked at again when more can
//! follow there. O(tokens × those that follow) for each time that more can follow; nearly all tokens are decided by the first of these.

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::layout::NO_CHUNK;
use gobo_types::{CompileError, DenseId as _};

use super::component::{Asked, Component, Group};
use super::solve::Solver;
use crate::canonical::lists::ListId;
use crate::canonical::texts::Spot;
use crate::canonical::walk::PHASE;

impl Solver<'_, '_> {
    /// Of tokens that end in a state whose fronts are known: those that are live, and those that may be.
    pub(super) fn fate(&mut self, to: Spot, tokens: ListId) -> Result<(ListId, ListId), CompileError> {
        let class = self.fronts.class_of[to.state.index()].expect("what a state depends on is known");
        if let Some(&known) = self.fates.get(&(class, to.chunk, tokens)) {
            return Ok(known);
        }
        let within = self.within(to).and_then(|at| self.fronts.front(self.texts, at));
        let follow: Vec<ListId> = within.map(|front| self.fronts.live(front).to_vec()).unwrap_or_default();
        let live = self.live(to, tokens, ListId::NONE, &follow)?;
        let maybe = if live == tokens {
            live
        } else if self.may_be(to, |at| {
            self.fronts.front(self.texts, at).is_some_and(|front| !self.fronts.leaving(front).is_empty())
        }) {
            tokens
        } else {
            let open = within.map(|front| self.fronts.open(front)).unwrap_or_default();
            let more: Vec<ListId> = open.iter().map(|open| open.maybe).collect();
            if more.is_empty() { live } else { self.following(tokens, live, &more)? }
        };
        self.walk.budget.charge_bytes(PHASE, 32)?;
        self.fates.insert((class, to.chunk, tokens), (live, maybe));
        Ok((live, maybe))
    }

    /// The border within the chunk.
    fn within(&self, Spot { state, chunk }: Spot) -> Option<Spot> {
        let chunk = self.walk.encoder.chunks.within(chunk);
        (chunk != NO_CHUNK).then_some(Spot { state, chunk })
    }

    /// Whether any token that ends there may be live, by what the stack lets follow. `leaves`: whether tokens leave the rule from a border.
    fn may_be(&self, to: Spot, leaves: impl Fn(Spot) -> bool) -> bool {
        let marked = Spot { chunk: self.walk.encoder.chunks.marked(to.chunk), ..to };
        let borders = self.within(to).into_iter().chain((marked.chunk != NO_CHUNK).then_some(marked));
        self.texts.may_leave(to) || self.texts.can_end(marked) || borders.into_iter().any(leaves)
    }

    /// The tokens that are live by a byte that can be read within the chunk, or by what can follow there, or were live before.
    fn live(
        &mut self,
        to: Spot,
        tokens: ListId,
        before: ListId,
        follow: &[ListId],
    ) -> Result<ListId, CompileError> {
        let open = self.texts.open_bytes(to);
        if open.is_empty() {
            return self.following(tokens, before, follow);
        }
        let lists = &self.tokens.lists;
        self.walk.budget.charge_steps(PHASE, lists.get(tokens).len() as u64)?;
        lists.get(before).iter().for_each(|&id| self.marks[id as usize] = true);
        let mut escaping = Vec::new();
        for &id in lists.get(tokens) {
            if self.marks[id as usize] || !open.is_subset(&self.joined.bytes(id)?) {
                escaping.push(id);
            }
        }
        lists.get(before).iter().for_each(|&id| self.marks[id as usize] = false);
        let escaping = self.tokens.lists.of(&escaping, self.walk.budget)?;
        if escaping == tokens { Ok(escaping) } else { self.following(tokens, escaping, follow) }
    }

    /// The tokens that do not join some token that follows, or are in `before`.
    fn following(
        &mut self,
        tokens: ListId,
        before: ListId,
        follow: &[ListId],
    ) -> Result<ListId, CompileError> {
        let lists = &self.tokens.lists;
        let count: u64 = follow.iter().map(|&list| lists.get(list).len() as u64).sum();
        if count == 0 {
            return Ok(before);
        }
        let marks = &mut self.marks;
        lists.get(before).iter().for_each(|&id| marks[id as usize] = true);
        let mut tests = 0;
        let mut found = Vec::new();
        for &id in lists.get(tokens) {
            let goes_on = marks[id as usize] || {
                tests += 1;
                // More can follow than it joins, or some token that it does not join is found.
                count > 64 && self.joined.count(id)? < count || {
                    let mut all = follow.iter().flat_map(|&list| lists.get(list));
                    all.any(|&follows| {
                        tests += 1;
                        !self.walk.encoder.merges.joins(id, follows)
                    })
                }
            };
            if goes_on {
                found.push(id);
            }
        }
        lists.get(before).iter().for_each(|&id| marks[id as usize] = false);
        let looked = (follow.len() + lists.get(before).len() / 8) as u64;
        self.walk.budget.charge_steps(PHASE, tests + looked)?;
        self.tokens.lists.of(&found, self.walk.budget)
    }

    /// The least fixpoint within a component: of what is live, and then of what may be.
    pub(super) fn settle(&mut self, component: &mut Component) -> Result<(), CompileError> {
        self.spread(component, Asked::Live)?;
        for number in 0..component.groups.len() {
            let Group { to, tokens, live, .. } = component.groups[number];
            let leaves =
                |at: Spot| component.front(self.texts, at).is_some_and(|front| !front.leaving.is_empty());
            let is_any = live != tokens && self.may_be(to, leaves);
            component.groups[number].maybe = if is_any { tokens } else { live };
        }
        self.spread(component, Asked::Maybe)
    }

    /// Goes on from what is known of groups to those before them, as long as any of them grows.
    fn spread(&mut self, component: &mut Component, asked: Asked) -> Result<(), CompileError> {
        // By border: the groups that end before it, within its chunk.
        let mut before: HashMap<Spot, Vec<usize>> = HashMap::new();
        for (number, group) in component.groups.iter().enumerate() {
            if let Some(at) = self.within(group.to) {
                before.entry(at).or_default().push(number);
            }
        }
        let mut open: Vec<usize> = (0..component.groups.len()).rev().collect();
        let mut is_open = vec![true; component.groups.len()];
        while let Some(number) = open.pop() {
            is_open[number] = false;
            let group = &component.groups[number];
            let (from, to, tokens, known) = (group.from, group.to, group.tokens, group.known(asked));
            let front = self.within(to).and_then(|at| component.front(self.texts, at));
            let Some(front) = front.filter(|_| known != tokens) else { continue };
            let mut follow = front.live.clone();
            follow.extend(front.groups.iter().map(|&number| component.groups[number].known(asked)));
            let now = match asked {
                Asked::Live => self.live(to, tokens, known, &follow)?,
                Asked::Maybe => {
                    follow.extend(front.open.iter().map(|open| open.maybe));
                    self.following(tokens, known, &follow)?
                }
            };
            if now == known {
                continue;
            }
            component.groups[number].learn(asked, now);
            // More can follow at the border from which they lead.
            for &other in before.get(&component.fronts[from].at).into_iter().flatten() {
                if !std::mem::replace(&mut is_open[other], true) {
                    open.push(other);
                }
            }
        }
        Ok(())
    }
}
