//! Steps of tokens in rules that count them.
//!
//! A rule with a budget says how many tokens may begin in it; the return state on top of the stack tells the budget, and the count is a part of the
//! configuration. A token that begins in the rule counts, whatever it leads to; one that only ends there does not. When so many have begun, the
//! text there has to end as soon as it can: the configuration goes on from the *twin* of its state, to which a letter of its own leads that no
//! token has (`gobo_automata::Language::spent`). Behind a part of a character there is no twin: the configuration is *overdue* then, and moves
//! within the next token, at the first place that has one. Its row has tokens that go on beyond it, so where something is overdue a mask is
//! tried token by token.
//!
//! Rules with budgets call no others, so the one on top is the only one that counts. What a configuration can do with a smaller count includes what it
//! can do with a greater one; both are kept.

use gobo_types::CharCount;

use super::{Configuration, Configurations, Stuck, Tables};
use crate::layout::DEAD;
use crate::matcher::counted::Counted;
use crate::matcher::stacks::Stacks;
use crate::read::index::Index;

/// The count of a configuration that was told to end: it is in a twin.
const TOLD: CharCount = CharCount::of(CharCount::MAX_CHARS);

/// The budget of the rule that a configuration is in.
fn budget(tables: &Tables<'_>, stacks: &Stacks, at: &Configuration) -> Option<u32> {
    tables.counted.lengths(stacks, at.frame)?.tokens
}

impl Configurations {
    /// As [`Self::advance`], by what a token stands for.
    pub(crate) fn advance_token(&mut self, index: &Index, way: &[u8]) -> Result<(), Stuck> {
        self.check()?;
        let result = self.walk_token(index, way);
        self.arrived(result)
    }

    /// As [`Self::would_take`], by what a token stands for.
    pub(crate) fn would_take_token(&mut self, index: &Index, way: &[u8]) -> bool {
        let result = self.walk_token(index, way);
        self.next.clear();
        self.stacks.settle();
        result.is_ok()
    }

    /// Whether a budget is spent somewhere where the text could not be told to end.
    pub(crate) fn is_overdue(&self, index: &Index) -> bool {
        // Most indices have no budgets, and need not read their tables for that.
        let Some(calls) = index.spent().and_then(|_| index.calls()) else { return false };
        let tables = &Tables { index, calls, counted: Counted::new(index) };
        let is_late = |at: &Configuration| {
            budget(tables, &self.stacks, at).is_some_and(|most| at.count.chars() >= most) && at.count != TOLD
        };
        self.now.iter().any(is_late)
    }

    /// The configurations after a token, in `next`.
    pub(super) fn walk_token(&mut self, index: &Index, way: &[u8]) -> Result<(), Stuck> {
        let Some((letter, calls)) = index.spent().zip(index.calls()) else { return self.walk(index, way) };
        let tables = &Tables { index, calls, counted: Counted::new(index) };
        self.next.clear();
        for at in &self.now {
            let begun = budget(tables, &self.stacks, at).filter(|_| at.count != TOLD);
            let count = begun.map_or(at.count, |_| CharCount::of(at.count.chars() + 1));
            self.next.push(Configuration { count, ..*at });
        }
        for (offset, &byte) in way.iter().enumerate() {
            std::mem::swap(&mut self.next, &mut self.last);
            self.next.clear();
            self.step(tables, byte);
            if self.next.is_empty() {
                return Err(Stuck::Refused(offset));
            }
            self.tell(tables, letter, (offset == 0, offset + 1 == way.len()));
        }
        self.limits.check(&self.stacks, &self.next)?;
        Ok(())
    }

    /// Counts the token where its first byte has begun a rule, and tells configurations to end whose budgets are spent: at the end of the token, or where
    /// that is overdue.
    fn tell(&mut self, tables: &Tables<'_>, letter: &[u8], (is_first, is_last): (bool, bool)) {
        let mut is_changed = false;
        for number in 0..self.next.len() {
            let at = &mut self.next[number];
            let Some(most) = budget(tables, &self.stacks, at).filter(|_| at.count != TOLD) else { continue };
            if is_first && at.count == CharCount::default() {
                at.count = CharCount::of(1);
                is_changed = true;
            }
            let begun = at.count.chars();
            if begun > most || is_last && begun == most {
                let twin = tables.index.walk(at.state, letter);
                if twin != DEAD {
                    (at.state, at.count) = (twin, TOLD);
                    is_changed = true;
                }
            }
        }
        if is_changed {
            self.merger.found.clear();
            self.merger.found.append(&mut self.next);
            self.arrive_merged(tables);
            self.merge(tables);
        }
    }
}
