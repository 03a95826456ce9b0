//! The configurations of a text under an index with calls: a state and a stack each, several where the text so far can be read in
//! several ways.
//!
//! A step simulates the push-down automaton on all configurations at once, byte by byte, as Thompson's simulation does for the
//! states of an NFA (Bouajjani, Esparza & Maler, *Reachability Analysis of Pushdown Automata*, 1997, for configurations). Stacks
//! are a graph-structured stack (`stack.rs`). Invariant: no configuration is kept that another one covers, and there are at most
//! [`MAX_CONFIGURATIONS`], and each can be brought to an end: in a counted rule the count of characters is a part of the configuration
//! (`counted.rs`). While there is one configuration that only its own transitions lead on from, a byte costs one load; else
//! O(configurations × push transitions), and the depth of the stack where rules end.

mod rows;

use std::collections::VecDeque;

use gobo_types::{CharCount, LengthRange};

use crate::layout::DEAD;
use crate::layout::index::calls::{CallTables, END};
use crate::matcher::counted::Counted;
use crate::matcher::stack::{BOTTOM, Configuration, Frames};
use crate::read::index::Index;

/// Most frames of a stack unless told otherwise.
///
/// ```
/// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
/// # use gobo_artifact::Matcher;
/// # let (index, vocabulary, binding) = small::brackets();
/// # let mut matcher = Matcher::new(index, vocabulary, &binding)?;
/// // A text of brackets may be nested as deep as the stack may get, and one bracket more.
/// let depth = gobo_artifact::DEFAULT_MAX_STACK_DEPTH as usize;
/// assert!(matcher.advance_bytes(&vec![b'['; depth + 1]).is_ok());
/// assert!(matcher.advance_bytes(b"[").is_err());
/// # Ok::<(), gobo_artifact::MatcherError>(())
/// ```
pub const DEFAULT_MAX_STACK_DEPTH: u32 = 65_536;

/// Most configurations that a text may have at once.
///
/// ```
/// use gobo_artifact::{MAX_CONFIGURATIONS, MatcherError};
///
/// let error = MatcherError::Configurations { limit: MAX_CONFIGURATIONS };
/// assert_eq!(error.to_string(), "the text can be read in more than 64 ways");
/// ```
pub const MAX_CONFIGURATIONS: usize = 64;

/// The configurations of a text under an index with calls: one, or several where the text so far can be read in several ways.
#[derive(Debug, Clone)]
pub(crate) struct Configurations {
    frames: Frames,
    now: Vec<Configuration>,
    /// The configurations after a step, before it is known whether the whole token can be taken.
    next: Vec<Configuration>,
    last: Vec<Configuration>,
    /// The return states that were popped to in one step.
    returned: Vec<u32>,
    /// The configurations before the last steps, one step after the other.
    kept: VecDeque<Configuration>,
    /// How many configurations there were before each of these steps.
    lengths: VecDeque<u8>,
    /// Most steps that are kept.
    remembered: usize,
    max_depth: u32,
}

/// Why a step cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// Nothing goes on with the byte at this offset.
    Refused(usize),
    /// The stack would be deeper than its limit.
    TooDeep,
    /// There would be too many configurations.
    TooMany,
}

/// The tables that a step reads.
#[derive(Clone, Copy)]
struct Tables<'a> {
    index: &'a Index,
    calls: CallTables<'a>,
    counted: Counted<'a>,
}

impl Stuck {
    /// The same, `by` bytes later.
    fn later(self, by: usize) -> Self {
        match self {
            Self::Refused(offset) => Self::Refused(offset + by),
            limit => limit,
        }
    }
}

/// Whether two configurations differ in their stacks alone.
#[inline]
fn is_beside(one: &Configuration, other: &Configuration) -> bool {
    one.state == other.state && one.count == other.count
}

impl Tables<'_> {
    /// Whether a rule may end in the state.
    #[inline]
    fn accepts(&self, state: u32) -> bool {
        self.index.is_complete(state)
    }

    /// Whether a rule has to end in the state: nothing can be read there.
    #[inline]
    fn is_end(&self, state: u32) -> bool {
        self.calls.suffix_set(state) == END && self.accepts(state)
    }
}

impl Configurations {
    /// The empty text, with room to go back `remembered` steps.
    pub(crate) fn new(start: u32, remembered: usize, max_depth: u32) -> Self {
        let mut configurations = Self {
            frames: Frames::new(),
            now: Vec::new(),
            next: Vec::new(),
            last: Vec::new(),
            returned: Vec::new(),
            kept: VecDeque::with_capacity(remembered),
            lengths: VecDeque::with_capacity(remembered),
            remembered,
            max_depth,
        };
        configurations.reset(start);
        configurations
    }

    /// Back to the empty text.
    pub(crate) fn reset(&mut self, start: u32) {
        self.kept.clear();
        self.lengths.clear();
        self.frames.clear();
        self.frames.hold(BOTTOM);
        self.now.clear();
        self.now.push(Configuration { state: start, frame: BOTTOM, count: CharCount::default() });
    }

    /// The same text, without the steps before, with room to go back `remembered` steps. O(frames kept): those of the steps before
    /// are copied with the others, and held for as long as the copy lives.
    pub(crate) fn probe(&self, remembered: usize) -> Self {
        Self {
            frames: self.frames.with_room(),
            now: self.now.clone(),
            next: Vec::new(),
            last: Vec::new(),
            returned: Vec::new(),
            kept: VecDeque::new(),
            lengths: VecDeque::new(),
            remembered,
            max_depth: self.max_depth,
        }
    }

    /// The present configurations: at least one.
    pub(crate) fn now(&self) -> &[Configuration] {
        &self.now
    }

    pub(crate) fn frames(&self) -> &Frames {
        &self.frames
    }

    /// The deepest of the present stacks, in frames.
    pub(crate) fn depth(&self) -> u32 {
        self.now.iter().map(|at| self.frames.depth(at.frame)).max().unwrap_or(0)
    }

    pub(crate) fn max_depth(&self) -> u32 {
        self.max_depth
    }

    /// Whether the text so far satisfies the constraint. O(configurations).
    pub(crate) fn is_complete(&self, index: &Index) -> bool {
        let counted = Counted::new(index);
        let completes = |at: &Configuration| {
            index.is_complete(at.state)
                && self.frames.completes(at.frame)
                && counted.may_pop(&self.frames, at)
        };
        self.now.iter().any(completes)
    }

    /// Goes on by `bytes`, all of them or none, as one step.
    #[inline]
    pub(crate) fn advance(&mut self, index: &Index, bytes: &[u8]) -> Result<(), Stuck> {
        let result = self.walk(index, bytes);
        if result.is_ok() {
            self.next.iter().for_each(|at| self.frames.hold(at.frame));
            std::mem::swap(&mut self.now, &mut self.next);
            // The configurations before the step are in `next`, and are kept.
            self.keep();
        }
        self.next.clear();
        self.frames.settle();
        result
    }

    /// A step that leads nowhere else: the end of the text.
    pub(crate) fn stay(&mut self) {
        self.next.clear();
        self.next.extend_from_slice(&self.now);
        self.next.iter().for_each(|at| self.frames.hold(at.frame));
        self.keep();
        self.next.clear();
    }

    /// Keeps `next`, whose frames are held, and forgets the oldest step if there are too many.
    fn keep(&mut self) {
        if self.remembered == 0 {
            self.next.iter().for_each(|at| self.frames.release(at.frame));
            return;
        }
        if self.lengths.len() == self.remembered {
            let oldest = self.lengths.pop_front().unwrap_or(0);
            self.kept.drain(..oldest as usize).for_each(|at| self.frames.release(at.frame));
        }
        self.lengths.push_back(u8::try_from(self.next.len()).expect("fewer than 256 configurations"));
        self.kept.extend(self.next.iter().copied());
    }

    /// Takes back `n` steps; there are as many.
    pub(crate) fn rollback(&mut self, n: usize) {
        for _ in 0..n {
            let Some(length) = self.lengths.pop_back() else { return };
            self.now.drain(..).for_each(|at| self.frames.release(at.frame));
            let from = self.kept.len() - usize::from(length);
            self.now.extend(self.kept.drain(from..));
        }
    }

    /// Whether the text could go on by `bytes`, were there no limits.
    pub(crate) fn would_take(&mut self, index: &Index, bytes: &[u8]) -> bool {
        let result = self.walk(index, bytes);
        self.next.clear();
        self.frames.settle();
        !matches!(result, Err(Stuck::Refused(_)))
    }

    /// The configurations after `bytes`, in `next`.
    fn walk(&mut self, index: &Index, bytes: &[u8]) -> Result<(), Stuck> {
        let Some(calls) = index.calls() else { return Err(Stuck::Refused(0)) };
        let tables = Tables { index, calls, counted: Counted::new(index) };
        self.next.clear();
        let mut offset = 0;
        if let [one] = *self.now {
            // One configuration that only its own transitions lead on from: most bytes.
            let at;
            (at, offset) = self.walk_inside(tables, one, bytes)?;
            if offset == bytes.len() {
                return self.end_at(tables, at, offset);
            }
            self.next.push(at);
        } else {
            self.next.extend_from_slice(&self.now);
        }
        while offset < bytes.len() {
            std::mem::swap(&mut self.next, &mut self.last);
            self.next.clear();
            self.step(tables, bytes[offset])?;
            offset += 1;
            match *self.next {
                [] => return Err(Stuck::Refused(offset - 1)),
                [one] if offset < bytes.len() => {
                    let inside = self.walk_inside(tables, one, &bytes[offset..]);
                    let (at, read) = inside.map_err(|stuck| stuck.later(offset))?;
                    offset += read;
                    self.next[0] = at;
                    if offset == bytes.len() {
                        self.next.clear();
                        return self.end_at(tables, at, offset);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Goes on by transitions of the configuration's own, as long as nothing else can be done: where that leads, and how many bytes
    /// were read.
    #[inline]
    fn walk_inside(
        &self,
        tables: Tables<'_>,
        at: Configuration,
        bytes: &[u8],
    ) -> Result<(Configuration, usize), Stuck> {
        if let Some(lengths) = tables.counted.lengths(&self.frames, at.frame) {
            return (tables.counted.walk_inside(tables.index, &tables.calls, &lengths, at, bytes))
                .map_err(Stuck::Refused);
        }
        let (state, read) = tables.index.walk_inside(&tables.calls, at.state, bytes);
        Ok((Configuration { state, ..at }, read))
    }

    /// The step ends with one configuration, after `offset` bytes.
    #[inline]
    fn end_at(&mut self, tables: Tables<'_>, at: Configuration, offset: usize) -> Result<(), Stuck> {
        let at = self.arrive(tables, at).ok_or(Stuck::Refused(offset.saturating_sub(1)))?;
        self.next.push(at);
        Ok(())
    }

    /// One byte on from `last`, to `next`.
    fn step(&mut self, tables: Tables<'_>, byte: u8) -> Result<(), Stuck> {
        for number in 0..self.last.len() {
            let mut at = self.last[number];
            self.read(tables, at, byte)?;
            self.returned.clear();
            self.returned.push(at.state);
            while at.frame != BOTTOM && tables.accepts(at.state) && tables.counted.may_pop(&self.frames, &at)
            {
                let back = |frame: u32| tables.calls.return_state(self.frames.top(frame));
                // A long run of equal return states costs O(1).
                if back(at.frame) == at.state {
                    at.frame = self.frames.below_run(at.frame);
                    if at.frame == BOTTOM {
                        break;
                    }
                }
                let (state, frame) = (back(at.frame), self.frames.below(at.frame));
                at = Configuration { state, frame, count: CharCount::default() };
                // Back in the same state with less below, nothing can be read that could not be read before.
                if !self.returned.contains(&at.state) {
                    self.returned.push(at.state);
                    self.read(tables, at, byte)?;
                }
            }
        }
        Ok(())
    }

    /// Steps of one configuration that pop nothing.
    #[inline]
    fn read(&mut self, tables: Tables<'_>, at: Configuration, byte: u8) -> Result<(), Stuck> {
        let class = tables.index.byte_class(byte);
        let next = tables.index.next_by_class(at.state, class);
        if next != DEAD {
            self.add(tables, Configuration { state: next, ..at }, byte)?;
        }
        for push in tables.calls.push_transitions(at.state) {
            let next = tables.index.next_by_class(push.entry, class);
            if next == DEAD {
                continue;
            }
            let mut frame = at.frame;
            for &top in tables.calls.pushed(push) {
                if self.frames.depth(frame) >= self.max_depth {
                    return Err(Stuck::TooDeep);
                }
                frame = self.frames.push(frame, top, tables.accepts(tables.calls.return_state(top)));
            }
            let count = if frame == at.frame { at.count } else { CharCount::default() };
            self.add(tables, Configuration { state: next, frame, count }, byte)?;
        }
        Ok(())
    }

    /// Adds a configuration that `byte` has led to, once it is counted, unless another does all that it can; removes those that it
    /// covers.
    fn add(&mut self, tables: Tables<'_>, mut at: Configuration, byte: u8) -> Result<(), Stuck> {
        if let Some(lengths) = tables.counted.lengths(&self.frames, at.frame) {
            at.count = at.count.after(byte);
            if !tables.counted.fits(&lengths, at.state, at.count) {
                return Ok(());
            }
        }
        let Some(at) = self.arrive(tables, at) else { return Ok(()) };
        let accepts = |top: u32| tables.accepts(tables.calls.return_state(top));
        let frames = &self.frames;
        let covered =
            |known: &Configuration| is_beside(known, &at) && frames.covers(known.frame, at.frame, accepts);
        if self.next.iter().any(covered) {
            return Ok(());
        }
        self.next.retain(|known| !is_beside(known, &at) || !frames.covers(at.frame, known.frame, accepts));
        if self.next.len() == MAX_CONFIGURATIONS {
            return Err(Stuck::TooMany);
        }
        self.next.push(at);
        Ok(())
    }

    /// A rule that has to end has ended; `None` where too little was read for that.
    #[inline]
    fn arrive(&self, tables: Tables<'_>, mut at: Configuration) -> Option<Configuration> {
        while at.frame != BOTTOM && tables.is_end(at.state) {
            if !tables.counted.may_pop(&self.frames, &at) {
                return None;
            }
            let state = tables.calls.return_state(self.frames.top(at.frame));
            at = Configuration { state, frame: self.frames.below(at.frame), count: CharCount::default() };
        }
        Some(at)
    }

    /// Of each configuration, the characters that have begun and how many there may be, where they are counted.
    pub(crate) fn counts(&self, index: &Index) -> Vec<Option<(u32, LengthRange)>> {
        let counted = Counted::new(index);
        let of = |at: &Configuration| Some((at.count.chars(), counted.lengths(&self.frames, at.frame)?));
        self.now.iter().map(of).collect()
    }
}
