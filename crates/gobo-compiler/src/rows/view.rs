//! All that the computation of a row sees of an automaton and of a vocabulary.
//!
//! A row outlives the compile that computed it ([`crate::RowCache`]), so it has to be a function of its key. [`RowKey`] and
//! [`super::computer`] therefore read one and the same object. The fields of a [`RuleView`] are private, and each
//! method answers from three things and from nothing else:
//!
//! 1. the vocabulary;
//! 2. the [`SliceSet`]: the slices that are walked at all. It is chosen from the bytes that are live anywhere in the automaton, and a
//!    slice outside it leaves no pending suffixes, so two automata may well differ in it where a rule of theirs is the same;
//! 3. the future of the state that is asked about, up to the end of its rule: which characters and calls lead from it, where they lead, and
//!    where the rule may end. Numbers of states, of classes and of return states are names, whose values no answer depends on.
//!
//! [`RuleView::key`] is made of these three: the digest of the vocabulary, the set, and the digest of the future
//! ([`gobo_automata::StateDigests`]). What lies outside the rule (what may follow its end, the other rules, the states that share
//! rows) has no method here.

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::Vocabulary;
use gobo_artifact::layout::{Slice, Trie};
use gobo_automata::{Calls, Closure, Dfa, ExitId, PushTransition, ReturnId, StateDigests, StateId, Symbol};
use gobo_types::{Budget, ByteSet, CompileError, DenseId as _, NO_STEP, Table, checked_u32, dense_id};

use super::lengths::Lengths;
use super::row::{RowKey, RowTokens, SliceSet};

const PHASE: &str = "preparing to walk the vocabulary";

/// Slices are looked at one by one where those that can be taken hold at least one in so many tokens; elsewhere one walk
/// of the trie over all tokens is cheaper: entering some thirty tries takes the time of walking some hundred tokens.
const WORTH_TAKING: usize = 256;

/// A trie whose root block is found by byte: it is the largest, and the states of most constraints read few bytes.
pub(crate) struct Rooted<'a> {
    pub(crate) trie: Trie<'a>,
    /// `[256]`: the number of the root's child on each byte; `u32::MAX` for none.
    children: Box<[u32; 256]>,
}

impl<'a> Rooted<'a> {
    fn new(trie: Trie<'a>) -> Self {
        let mut children = Box::new([u32::MAX; 256]);
        let first = checked_u32(trie.root);
        for (number, node) in (first..).zip(&trie.nodes[trie.root..]) {
            children[usize::from(node.byte())] = number;
            if node.is_last() {
                break;
            }
        }
        Self { trie, children }
    }

    #[inline]
    pub(crate) fn child(&self, byte: u8) -> Option<usize> {
        let number = self.children[usize::from(byte)];
        (number != u32::MAX).then_some(number as usize)
    }
}

/// A slice of the set, beside an automaton.
pub(crate) struct Part<'a> {
    /// The number of the slice in the vocabulary.
    pub(crate) number: usize,
    pub(crate) slice: Slice<'a>,
    pub(crate) rooted: Rooted<'a>,
    /// Number of the closure under its characters; `None` where one of them leads nowhere from any state, so that no state
    /// reads all of them.
    pub(crate) closure: Option<usize>,
}

/// What becomes of a slice at a state.
pub(crate) enum Fate {
    /// No token of it leads on.
    Dropped,
    /// Exactly the tokens of at most this many characters lead on.
    Taken(u32),
    /// All tokens of at most this many characters lead on, and perhaps others.
    Walked(u32),
}

impl Fate {
    /// Up to how many characters all tokens lead on.
    pub(crate) fn alive_chars(&self) -> u32 {
        match self {
            Self::Dropped => 0,
            Self::Taken(chars) | Self::Walked(chars) => *chars,
        }
    }
}

/// See the [module](self).
pub(crate) struct RuleView<'a> {
    dfa: &'a Dfa,
    vocabulary: &'a Vocabulary,
    /// The trie over all ordinary tokens.
    all: Rooted<'a>,
    /// The tries of the slices of tokens that are not text: only they begin inside a character.
    pieces: Vec<Rooted<'a>>,
    slices: SliceSet,
    /// The slices of the set; empty where none can be taken whole.
    parts: Vec<Part<'a>>,
    closures: Vec<Closure>,
    /// The first node of each trie, ascending, and the number of the closure under its characters.
    closure_of_trie: Vec<(usize, Option<usize>)>,
    /// `[classes]`: the bytes of each class.
    class_bytes: Vec<ByteSet>,
    /// `[rows of transitions]`.
    shapes: Vec<Shape>,
    loops: Table<LoopSetId, ByteSet>,
    /// `None` where nobody asks for keys.
    futures: Option<StateDigests>,
    lengths: Lengths,
}

dense_id! {
    /// A set of bytes that lead from a state to itself.
    struct LoopSetId;
}

/// No byte leads from a state to itself.
const NO_LOOPS: LoopSetId = LoopSetId(0);

/// What a row of transitions looks like.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// Whether it leads nowhere.
    is_dead: bool,
    /// The bytes that lead from a state to itself.
    loops: LoopSetId,
}

impl<'a> RuleView<'a> {
    /// A view without slices or keys. O(transitions).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn new(
        dfa: &'a Dfa,
        vocabulary: &'a Vocabulary,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        budget.charge_steps(PHASE, dfa.deltas.len() as u64)?;
        let mut loops = Table::from(vec![ByteSet::default()]);
        let mut known: HashMap<ByteSet, LoopSetId> = HashMap::new();
        let mut shape_of = |row: &[i32]| {
            let is_dead = row.iter().all(|&delta| delta == NO_STEP);
            if !row.contains(&0) {
                return Shape { is_dead, loops: NO_LOOPS };
            }
            let set = dfa.bytes_of(|class| row[class] == 0);
            let loops = *known.entry(set).or_insert_with(|| loops.push(set));
            Shape { is_dead, loops }
        };
        let shapes = dfa.deltas.chunks_exact(dfa.stride).map(&mut shape_of).collect();
        let mut class_bytes = vec![ByteSet::default(); dfa.stride];
        for (byte, &class) in (0..=u8::MAX).zip(dfa.classes.iter()) {
            class_bytes[usize::from(class)].insert(byte);
        }
        let pieces = vocabulary.slices().filter(|slice| slice.max_chars == 0);
        Ok(Self {
            dfa,
            all: Rooted::new(vocabulary.trie()),
            pieces: pieces.map(|slice| Rooted::new(slice.trie)).collect(),
            vocabulary,
            slices: SliceSet::default(),
            parts: Vec::new(),
            closures: Vec::new(),
            closure_of_trie: Vec::new(),
            class_bytes,
            shapes,
            loops,
            futures: None,
            lengths: Lengths::new(dfa, vocabulary, budget)?,
        })
    }

    /// The view with the slices of a set, so that rows take them whole where their characters close a state. Every state but the
    /// dead one must be useful: then a token may end wherever its text is alive.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn with_slices(mut self, slices: SliceSet, budget: &Budget) -> Result<Self, CompileError> {
        let Some(chars) = &self.dfa.chars else { return Ok(self) };
        self.slices = slices;
        let mut known: HashMap<Vec<Symbol>, usize> = HashMap::new();
        // Asked for by all closures, if there are any.
        let mut targets = None;
        for (number, slice) in self.vocabulary.slices().enumerate().filter(|&(number, _)| slices.has(number))
        {
            let mut closure = None;
            if slice.max_chars > 0 {
                let ranges = slice.chars.len().min(chars.ranges());
                budget.charge_steps(PHASE, ranges as u64 + 1)?;
                if let Some(classes) = chars.classes_of(slice.chars) {
                    closure = Some(match known.get(&classes) {
                        Some(&number) => number,
                        None => {
                            let targets = match &mut targets {
                                Some(targets) => targets,
                                unknown => unknown.insert(chars.targets(budget)?),
                            };
                            let close = || chars.closure(targets, &classes, self.dfa.calls.as_ref(), budget);
                            self.closures.push(budget.holding(close, Closure::bytes)?);
                            known.insert(classes, self.closures.len() - 1);
                            self.closures.len() - 1
                        }
                    });
                }
            }
            self.parts.push(Part { number, slice, rooted: Rooted::new(slice.trie), closure });
        }
        if self.closures.is_empty() {
            // No state reads all characters of a slice, so none has a slice worth a look of its own.
            self.parts.clear();
            return Ok(self);
        }
        let others = std::iter::once(self.all.trie.root)
            .chain(self.vocabulary.slices().map(|slice| slice.trie.root))
            .map(|root| (root, None));
        let parts = self.parts.iter().map(|part| (part.slice.trie.root, part.closure));
        self.closure_of_trie = others.chain(parts).collect();
        // Of a trie's two entries that of its part is the last.
        self.closure_of_trie.sort_by_key(|&(root, _)| root);
        Ok(self)
    }

    /// The view with keys of rows. O(edges).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn with_keys(mut self, budget: &Budget) -> Result<Self, CompileError> {
        self.futures = Some(self.dfa.state_digests(budget)?);
        Ok(self)
    }

    /// All that a row of the state is computed from; `None` for a state inside a character or outside called rules, or where the
    /// view has no keys.
    pub(crate) fn key(&self, state: StateId) -> Option<RowKey> {
        let between = self.dfa.chars.as_ref()?.at(state)?;
        let future = *self.futures.as_ref()?.digest(between)?;
        Some(RowKey { vocabulary: self.vocabulary.digest(), slices: self.slices, future })
    }

    /// The bounds of counted rules.
    pub(crate) fn lengths(&self) -> &Lengths {
        &self.lengths
    }

    /// Whether a push transition begins a rule some bound of which a token may reach by itself.
    pub(crate) fn is_counted(&self, push: &PushTransition) -> bool {
        self.pushed(push).last().is_some_and(|&top| self.lengths.pushed(top).is_counted())
    }

    /// The trie over all ordinary tokens.
    pub(crate) fn all(&self) -> &Rooted<'a> {
        &self.all
    }

    /// Bytes of the longest token.
    pub(crate) fn longest_token(&self) -> u32 {
        self.vocabulary.root().longest_token_bytes
    }

    /// Words of a row.
    pub(crate) fn row_words(&self) -> usize {
        self.vocabulary.row_words()
    }

    /// The tries of the slices of tokens that are not text.
    pub(crate) fn pieces(&self) -> &[Rooted<'a>] {
        &self.pieces
    }

    /// The slices of the set; empty where none can be taken whole.
    pub(crate) fn parts(&self) -> &[Part<'a>] {
        &self.parts
    }

    /// [`Vocabulary::trie_heights`], if slices or blocks are ever compared with them.
    pub(crate) fn heights(&self) -> &'a [u8] {
        self.vocabulary.trie_heights()
    }

    /// The class of each byte.
    #[inline]
    pub(crate) fn classes(&self) -> &'a [u8; 256] {
        &self.dfa.classes
    }

    /// Number of classes.
    #[inline]
    pub(crate) fn stride(&self) -> usize {
        self.dfa.stride
    }

    /// Number of states.
    pub(crate) fn len(&self) -> usize {
        self.dfa.len()
    }

    /// The state after a byte of the class, where it leads on.
    #[inline]
    pub(crate) fn step(&self, state: StateId, class: u8) -> Option<StateId> {
        self.dfa.step(state, usize::from(class))
    }

    /// Whether the rule may end at the state.
    #[inline]
    pub(crate) fn accepts(&self, state: StateId) -> bool {
        self.dfa.accepting[state]
    }

    /// Whether rules can be followed by anything at all: an automaton without calls is one rule, which nothing follows.
    pub(crate) fn has_calls(&self) -> bool {
        self.dfa.has_calls()
    }

    /// The first states of the rules that can be called at the state.
    #[inline]
    pub(crate) fn push_transitions(&self, state: StateId) -> &'a [PushTransition] {
        self.dfa.calls.as_ref().map_or(&[], |calls| calls.push_transitions(state))
    }

    /// The return states that a push transition puts on the stack, outermost first.
    #[inline]
    pub(crate) fn pushed(&self, push: &PushTransition) -> &'a [ReturnId] {
        self.dfa.calls.as_ref().map_or(&[], |calls| calls.pushed(push))
    }

    /// The exit of a state at which the rule may end.
    #[inline]
    pub(crate) fn exit(&self, state: StateId) -> ExitId {
        self.dfa.calls.as_ref().map_or(ExitId::FIRST, |calls| calls.exit(state))
    }

    /// The state to which a return state on the stack leads at an exit of the rule above it.
    #[inline]
    pub(crate) fn return_state(&self, top: ReturnId, exit: ExitId) -> Option<StateId> {
        self.calls().returns[top.index()].state(exit)
    }

    fn calls(&self) -> &'a Calls {
        self.dfa.calls.as_ref().expect("only calls push")
    }

    fn shape(&self, state: StateId) -> Shape {
        self.shapes[self.dfa.row_of[state.index()] as usize]
    }

    /// Whether nothing can be read at the state, so that its rule has to end there.
    pub(crate) fn is_end(&self, state: StateId) -> bool {
        self.accepts(state) && self.shape(state).is_dead && self.push_transitions(state).is_empty()
    }

    /// Whether no transition leads from the state.
    pub(crate) fn reads_nothing(&self, state: StateId) -> bool {
        self.shape(state).is_dead
    }

    /// Whether some byte leads from the state to itself.
    pub(crate) fn has_loops(&self, state: StateId) -> bool {
        self.shape(state).loops != NO_LOOPS
    }

    /// Whether every token below `node` leads from `state` back to it.
    #[inline]
    pub(crate) fn stays(&self, trie: &Trie<'_>, node: usize, state: StateId) -> bool {
        // Few states have loops, and what is asked of them is near; the sets of the trie are far.
        let Shape { loops, .. } = self.shape(state);
        if loops == NO_LOOPS {
            return false;
        }
        let set = trie.set_ids[node];
        set != 0 && ByteSet::from_words(trie.sets[usize::from(set)]).is_subset(&self.loops[loops])
    }

    /// The bytes that lead on from a state.
    pub(crate) fn live(&self, state: StateId) -> ByteSet {
        let mut live = ByteSet::default();
        for (bytes, &delta) in self.class_bytes.iter().zip(self.dfa.row(state)) {
            if delta != NO_STEP {
                live.insert_all(bytes);
            }
        }
        live
    }

    /// Whether the state lies inside a character, so that only what continues it leads on.
    pub(crate) fn is_inside(&self, state: StateId) -> bool {
        self.dfa.chars.as_ref().is_some_and(|chars| chars.at(state).is_none())
    }

    /// The number of the closure under the characters of the trie that a block belongs to. O(log tries).
    pub(crate) fn closure_of_trie_at(&self, block: usize) -> Option<usize> {
        let after = self.closure_of_trie.partition_point(|&(root, _)| root <= block);
        self.closure_of_trie[..after].last().and_then(|&(_, closure)| closure)
    }

    /// Number of closures.
    pub(crate) fn closures(&self) -> usize {
        self.closures.len()
    }

    /// Up to how many characters every text over those of a closure is alive from a state, on transitions alone.
    pub(crate) fn depth(&self, closure: usize, state: StateId) -> u32 {
        let between = self.dfa.chars.as_ref().and_then(|chars| chars.at(state));
        between.map_or(0, |state| self.closures[closure].depth(state))
    }

    /// What becomes of each slice of the set at a state, as far as its own transitions go; empty for a state inside a
    /// character.
    ///
    /// A slice is taken without a look at its tokens where every text over its characters is alive, up to some length, and
    /// no longer one is.
    pub(crate) fn fates(&self, state: StateId) -> Vec<Fate> {
        let Some(chars) = &self.dfa.chars else { return Vec::new() };
        let Some(state) = chars.at(state) else { return Vec::new() };
        let fate = |Part { slice, closure, .. }: &Part<'_>| {
            let Some(closure) = closure.map(|number| &self.closures[number]) else {
                return Fate::Walked(0);
            };
            // The characters of a slice are those after its lead, and there are some in every token.
            let after = slice.lead.map_or(Some(state), |lead| chars.after(state, lead));
            let Some(after) = after else { return Fate::Dropped };
            let is_call_boundary =
                || self.dfa.calls.as_ref().is_some_and(|calls| calls.is_call_boundary(after));
            let is_exact = closure.is_exact(after) && !(slice.lead.is_some() && is_call_boundary());
            match closure.depth(after) {
                0 if is_exact => Fate::Dropped,
                depth => {
                    let chars = depth.saturating_add(u32::from(slice.lead.is_some()));
                    if chars < slice.max_chars && !is_exact {
                        return Fate::Walked(if depth == 0 { 0 } else { chars });
                    }
                    Fate::Taken(chars.min(slice.max_chars))
                }
            }
        };
        self.parts.iter().map(fate).collect()
    }

    /// Whether enough is taken for slices to be looked at one by one.
    pub(crate) fn is_worth_it(&self, fates: &[Fate]) -> bool {
        let taken: usize = (self.parts.iter().zip(fates))
            .filter(|(_, fate)| fate.alive_chars() > 0)
            .map(|(part, _)| (part.slice.trie.to - part.slice.trie.from) as usize)
            .sum();
        let all = (self.all.trie.to - self.all.trie.from) as usize;
        taken * WORTH_TAKING >= all && taken > 0
    }

    /// The tokens of the given slices, as a row: `[row words]`.
    pub(crate) fn union(&self, slices: SliceSet) -> Vec<u32> {
        let mut words = vec![0; self.vocabulary.row_words()];
        for part in self.parts.iter().filter(|part| slices.has(part.number)) {
            words.iter_mut().zip(part.slice.all()).for_each(|(word, row)| *word |= row);
        }
        words
    }

    /// Sets the bits of those tokens of a row that do not belong to slices taken whole.
    pub(crate) fn add_bits(&self, tokens: &RowTokens, words: &mut [u32]) {
        for part in &self.parts {
            for &(_, chars) in tokens.short.iter().filter(|&&(slice, _)| slice as usize == part.number) {
                let (row, long) = part.slice.at_most(chars);
                words.iter_mut().zip(row).for_each(|(word, row)| *word |= row);
                long.iter().for_each(|&[_, id]| words[(id >> 5) as usize] |= 1 << (id & 31));
            }
        }
        for &(from, to) in &tokens.ranges {
            for &id in &self.all.trie.order[from as usize..to as usize] {
                words[(id >> 5) as usize] |= 1 << (id & 31);
            }
        }
    }
}
