//! The pre-tokenizer as an automaton over bytes and marks between chunks.
//!
//! Merges happen within chunks alone, and a pre-tokenizer cuts a text into chunks by an ordered pattern: where one chunk ends, the first
//! match of the pattern in the order of preference is the next one. Whether a chunk ends between two tokens may be decided only by what
//! follows, so it is guessed: a *mark*, or none. The automaton reads a text with its marks and accepts it exactly if they stand
//! where the pre-tokenizer puts them.
//!
//! **A state** is a list of threads of the pattern since the last mark, in the order of preference, and a set of *obligations*. A mark is
//! possible only where some thread is a match; the threads before it become obligations, none of which may ever be a match. Without a mark the threads
//! behind a match are dropped, since a thread before it has to match later. A match that asks for white space behind it is decided by the next
//! character; until then, a mark keeps the list as it was. Given the marks, the automaton is deterministic. A mark stands between
//! characters, and never within a token: what no chunk can contain dies out.
//!
//! **Literals** are texts that are cut out before anything else, and that may not be written here: Aho & Corasick's automaton of them
//! (1975) runs beside.
//!
//! **Bytes.** States between characters are made over classes of characters, and merged where nothing tells them apart (Moore 1956). The bytes of a
//! character are read from its last byte backwards: blocks of 64 characters that lead to the same states are one state.
//!
//! Cost: linear in the states between characters, times the distinct blocks of 64 characters (some hundred).

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use gobo_types::TokenId;

use super::pattern::{Atoms, Pattern, PatternError, State};

/// The state from which nothing leads on.
pub(crate) const DEAD: u16 = 0;

/// Most states in which a text may be by all ways to put marks that are open at once: half of what a matcher has room for, because of two readings in one
/// state one may be at the beginning of a word.
const MAX_OPEN: usize = gobo_artifact::layout::MAX_READINGS / 2;

/// Most states of the automaton; those of known pre-tokenizers have some thousand.
const MAX_STATES: usize = 30_000;

/// A pre-tokenizer over bytes. All tables have an entry for each state, [`DEAD`] first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunks {
    /// Classes of bytes.
    pub(crate) classes: [u8; 256],
    pub(crate) stride: usize,
    /// `[states, classes]`.
    pub(crate) steps: Vec<u16>,
    /// The state behind the border of two tokens within a chunk.
    pub(crate) within: Vec<u16>,
    /// The state behind a mark, or [`DEAD`].
    pub(crate) marked: Vec<u16>,
    /// Whether the text may end.
    pub(crate) ends: Vec<bool>,
    /// Whether a chunk begins.
    pub(crate) begins: Vec<bool>,
    /// The state at the beginning of a chunk of which nothing is known.
    pub(crate) start: u16,
    /// How many states stand between characters, the dead one among them; they come first.
    pub(crate) between: usize,
}

/// A state between two characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Place {
    /// In the order of preference, up to the first match.
    threads: Vec<usize>,
    /// Ascending.
    obligations: Vec<usize>,
    /// The threads before the last mark, if the next character decides which of them was the match.
    pending: Vec<usize>,
    /// How much of a literal has been read.
    literal: usize,
    /// Whether a chunk has begun, and has a character.
    is_within: bool,
}

/// The automaton between characters: `[states]`, the first one dead.
struct OfChars {
    /// `[states][atoms]`.
    steps: Vec<Vec<usize>>,
    marked: Vec<usize>,
    ends: Vec<bool>,
    begins: Vec<bool>,
    start: usize,
}

impl Chunks {
    /// The state after a byte. O(1).
    pub(crate) fn next(&self, state: u16, byte: u8) -> u16 {
        self.steps[usize::from(state) * self.stride + usize::from(self.classes[usize::from(byte)])]
    }

    /// The automaton of a pre-tokenizer's pattern, or of one that cuts nothing, over texts without `literals`.
    ///
    /// # Errors
    /// [`PatternError`].
    pub(crate) fn new(pattern: Option<&str>, literals: &[&str]) -> Result<Self, PatternError> {
        let pattern = match pattern {
            Some(text) => Pattern::new(text, literals)?,
            None => Pattern::whole(literals)?,
        };
        let of_chars = OfChars::new(&pattern, literals)?.trimmed().merged();
        of_chars.check_readings()?;
        of_chars.over_bytes(&pattern)
    }

    /// The automaton of a tokenizer that cuts nothing, whose symbols are characters, and which spells by single bytes those that it lacks.
    ///
    /// A token of one byte stands for no character that there is a symbol for. So behind a border inside of a character only those go
    /// on that are `missing`; those that are `unwritten` are read nowhere.
    ///
    /// # Errors
    /// [`PatternError::TooLarge`].
    pub(crate) fn over_chars(
        is_missing: impl Fn(char) -> bool,
        is_unwritten: impl Fn(char) -> bool,
    ) -> Result<Self, PatternError> {
        const PRESENT: u8 = 0;
        const MISSING: u8 = 1;
        const UNWRITTEN: u8 = 2;
        const BETWEEN: u16 = 1;
        let class = |char: u32| match char::from_u32(char) {
            Some(char) if is_unwritten(char) => UNWRITTEN,
            Some(char) if is_missing(char) => MISSING,
            _ => PRESENT,
        };
        let mut ranges: Vec<(u32, u32, u8)> = Vec::new();
        for char in 0..0x11_0000 {
            match ranges.last_mut() {
                Some(last) if last.2 == class(char) => last.1 = char,
                _ => ranges.push((char, char, class(char))),
            }
        }
        let blocks = Blocks::new(&Atoms { ranges, count: 3 });
        // Of each block two states, the first for any character, the second for missing ones.
        let mut rows = vec![[DEAD; 256]; 2];
        let mut within = vec![DEAD, BETWEEN];
        let mut both = |next: &dyn Fn(usize) -> [u16; 2]| {
            let mut of = [[DEAD; 256]; 2];
            for at in 0..64 {
                [of[0][0x80 + at], of[1][0x80 + at]] = next(at);
            }
            let [any, missing] = of.map(|row| {
                let is_dead = row.iter().all(|&next| next == DEAD);
                (!is_dead).then(|| {
                    rows.push(row);
                    narrow(rows.len() - 1)
                })
            });
            within.extend(any.map(|_| missing.unwrap_or(DEAD)));
            within.extend(missing);
            [any.unwrap_or(DEAD), missing.unwrap_or(DEAD)]
        };
        let of_atom =
            |atom: u8| [atom != UNWRITTEN, atom == MISSING].map(|is| if is { BETWEEN } else { DEAD });
        let of = |states: &[[u16; 2]], at: Option<usize>| at.map_or([DEAD; 2], |at| states[at]);
        let ends: Vec<[u16; 2]> = blocks.ends.iter().map(|block| both(&|at| of_atom(block[at]))).collect();
        let middles: Vec<[u16; 2]> =
            blocks.middles.iter().map(|block| both(&|at| of(&ends, block[at]))).collect();
        let firsts: Vec<[u16; 2]> =
            blocks.firsts.iter().map(|block| both(&|at| of(&middles, block[at]))).collect();
        for (byte, lead) in blocks.leads.iter().enumerate() {
            let [any, _] = match *lead {
                Lead::None => [DEAD; 2],
                Lead::Atom(atom) => of_atom(atom),
                Lead::End(end) => ends[end],
                Lead::Middle(middle) => middles[middle],
                Lead::First(first) => firsts[first],
            };
            rows[usize::from(BETWEEN)][byte] = any;
        }
        if rows.len() > MAX_STATES {
            return Err(PatternError::TooLarge { what: "states", limit: MAX_STATES });
        }
        let (classes, stride, steps) = classes(&rows);
        let marked = vec![DEAD; rows.len()];
        let ends = (0..rows.len()).map(|at| at == usize::from(BETWEEN)).collect();
        let begins = vec![false; rows.len()];
        Ok(Self { classes, stride, steps, within, marked, ends, begins, start: BETWEEN, between: 2 })
    }
}

/// What tokens do to the states between characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TokenChunks {
    /// `[ids]`: the class of each; tokens of class 0 lead nowhere.
    pub(crate) class_of: Vec<u16>,
    /// `[classes, states between characters]`: the state after a token.
    pub(crate) steps: Vec<u16>,
}

impl TokenChunks {
    /// The classes of some tokens, in the order of their bytes. O(bytes that a token does not share with the one before × states
    /// between characters).
    ///
    /// # Errors
    /// [`PatternError::TooLarge`].
    pub(crate) fn new<'t>(
        chunks: &Chunks,
        ids: usize,
        sorted: impl Iterator<Item = (TokenId, &'t [u8])>,
    ) -> Result<Self, PatternError> {
        let between = chunks.between;
        let mut all = Self { class_of: vec![0; ids], steps: vec![DEAD; between] };
        let mut known: HashMap<Vec<u16>, u16> = HashMap::from([(vec![DEAD; between], 0)]);
        // The states after each beginning of the token at hand, and its bytes.
        let mut path: Vec<Vec<u16>> = vec![(0..between).map(narrow).collect()];
        let mut before: &[u8] = &[];
        for (id, bytes) in sorted {
            let shared = before.iter().zip(bytes).take_while(|(one, other)| one == other).count();
            path.truncate(shared + 1);
            for &byte in &bytes[shared..] {
                let last = &path[path.len() - 1];
                path.push(last.iter().map(|&state| chunks.next(state, byte)).collect());
            }
            before = bytes;
            let to = &path[bytes.len()];
            let class = match known.get(to) {
                Some(&class) => class,
                None if known.len() > MAX_STATES => {
                    return Err(PatternError::TooLarge { what: "classes of tokens", limit: MAX_STATES });
                }
                None => {
                    all.steps.extend_from_slice(to);
                    let class = narrow(known.len());
                    known.insert(to.clone(), class);
                    class
                }
            };
            all.class_of[id as usize] = class;
        }
        Ok(all)
    }
}

/// Aho & Corasick's automaton of some texts over classes of characters: `[states][atoms]`, and the states at which one of them ends.
struct Literals {
    steps: Vec<Vec<usize>>,
    is_whole: Vec<bool>,
}

impl Literals {
    fn new(pattern: &Pattern, literals: &[&str]) -> Self {
        const NONE: usize = usize::MAX;
        let count = pattern.atoms.count;
        let (mut steps, mut is_whole) = (vec![vec![NONE; count]], vec![false]);
        for literal in literals {
            let mut at = 0;
            for char in literal.chars() {
                let atom = usize::from(pattern.atoms.get(char.into()));
                if steps[at][atom] == NONE {
                    steps[at][atom] = steps.len();
                    steps.push(vec![NONE; count]);
                    is_whole.push(false);
                }
                at = steps[at][atom];
            }
            is_whole[at] = true;
        }
        // In the order of their lengths, with the state of the longest proper suffix.
        let mut open = VecDeque::from([(0, 0)]);
        while let Some((at, suffix)) = open.pop_front() {
            is_whole[at] |= is_whole[suffix];
            for atom in 0..count {
                let of_suffix = if at == 0 { 0 } else { steps[suffix][atom] };
                match steps[at][atom] {
                    NONE => steps[at][atom] = of_suffix,
                    next => open.push_back((next, of_suffix)),
                }
            }
        }
        Self { steps, is_whole }
    }
}

impl Pattern {
    /// The threads behind a character, in their order: without a mark, so that a match before it drops what stands behind.
    fn step(&self, threads: &[usize], atom: u8) -> Vec<usize> {
        let mut next = Vec::new();
        for &thread in threads {
            match self.states[thread] {
                State::Chars { atoms, next: to } if atoms >> atom & 1 == 1 => self.close(to, &mut next),
                State::MatchBefore(atoms) if atoms >> atom & 1 == 1 => break,
                _ => {}
            }
        }
        self.cut(&mut next);
        next
    }

    /// Drops what stands behind a match.
    fn cut(&self, threads: &mut Vec<usize>) {
        if let Some(at) = threads.iter().position(|&thread| self.states[thread] == State::Match) {
            threads.truncate(at + 1);
        }
    }

    /// The obligations behind a character, before which these threads stood: `None` if one of them has become a match.
    fn step_obligations(&self, threads: impl Iterator<Item = usize>, atom: u8) -> Option<Vec<usize>> {
        let mut next = Vec::new();
        for thread in threads {
            match self.states[thread] {
                State::Chars { atoms, next: to } if atoms >> atom & 1 == 1 => self.close(to, &mut next),
                State::MatchBefore(atoms) if atoms >> atom & 1 == 1 => return None,
                _ => {}
            }
        }
        next.sort_unstable();
        (!next.iter().any(|&thread| self.states[thread] == State::Match)).then_some(next)
    }

    /// The threads before the match that the next character decides on, or the end of the text: `None` if there is no match.
    fn before_match(&self, pending: &[usize], atom: Option<u8>) -> Option<Vec<usize>> {
        let mut before = Vec::new();
        for &thread in pending {
            match self.states[thread] {
                State::Match => return Some(before),
                State::MatchBefore(atoms) if atom.is_none_or(|atom| atoms >> atom & 1 == 1) => {
                    return Some(before);
                }
                State::MatchBefore(_) => {}
                _ => before.push(thread),
            }
        }
        None
    }
}

impl OfChars {
    fn new(pattern: &Pattern, literals: &[&str]) -> Result<Self, PatternError> {
        let mut fresh = Vec::new();
        pattern.close(pattern.start, &mut fresh);
        if fresh.iter().any(|&thread| !matches!(pattern.states[thread], State::Chars { .. })) {
            return Err(PatternError::Empty);
        }
        // A character that begins no chunk would be one by itself, of which the pattern says nothing.
        for &(first, _, atom) in &pattern.atoms.ranges {
            if pattern.step(&fresh, atom).is_empty() {
                return Err(PatternError::LeavesOut(
                    char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER),
                ));
            }
        }
        let of_literals = Literals::new(pattern, literals);
        let begin = Place { threads: fresh.clone(), ..Place::default() };
        let mut number: HashMap<Place, usize> = HashMap::from([(begin.clone(), 1)]);
        let mut places = vec![Place::default(), begin];
        let mut all = Self {
            steps: vec![vec![0; pattern.atoms.count]],
            marked: vec![0],
            ends: vec![false],
            begins: vec![false],
            start: 1,
        };
        let mut at = 1;
        while at < places.len() {
            let place = places[at].clone();
            let mut number_of = |place: Option<Place>| {
                let Some(place) = place else { return 0 };
                *number.entry(place).or_insert_with_key(|place| {
                    places.push(place.clone());
                    places.len() - 1
                })
            };
            let atoms = 0..u8::try_from(pattern.atoms.count).expect("there are 64 at most");
            let steps = atoms.map(|atom| number_of(place.after(pattern, &of_literals, atom))).collect();
            all.steps.push(steps);
            all.marked.push(number_of(place.marked(pattern, &fresh)));
            all.ends.push(place.may_end(pattern));
            all.begins.push(!place.is_within);
            if places.len() > MAX_STATES {
                return Err(PatternError::TooLarge { what: "states between characters", limit: MAX_STATES });
            }
            at += 1;
        }
        Ok(all)
    }

    /// The same without ways that lead to no end.
    fn trimmed(mut self) -> Self {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.steps.len()];
        for (at, steps) in self.steps.iter().enumerate() {
            steps.iter().chain([&self.marked[at]]).for_each(|&next| before[next].push(at));
        }
        let mut is_live = self.ends.clone();
        let mut open: Vec<usize> = (0..is_live.len()).filter(|&at| is_live[at]).collect();
        while let Some(at) = open.pop() {
            for &of in &before[at] {
                if of != 0 && !std::mem::replace(&mut is_live[of], true) {
                    open.push(of);
                }
            }
        }
        let dead = |next: &mut usize| *next *= usize::from(is_live[*next]);
        self.steps.iter_mut().flatten().for_each(dead);
        self.marked.iter_mut().for_each(dead);
        self
    }

    /// The same, in which states that nothing tells apart are one. The dead state stays the first.
    fn merged(self) -> Self {
        let flags = self.ends.iter().zip(&self.begins);
        let mut class: Vec<usize> =
            flags.map(|(&ends, &begins)| usize::from(ends) | usize::from(begins) << 1).collect();
        let mut count = 0;
        loop {
            let mut of: HashMap<(usize, Vec<usize>), usize> = HashMap::new();
            let next: Vec<usize> = (0..class.len())
                .map(|at| {
                    let ways =
                        self.steps[at].iter().chain([&self.marked[at]]).map(|&next| class[next]).collect();
                    let new = of.len();
                    *of.entry((class[at], ways)).or_insert(new)
                })
                .collect();
            let (before, now) = (count, of.len());
            (class, count) = (next, now);
            if before == now {
                break;
            }
        }
        // The dead state comes first, so its class is the first.
        let mut first = vec![usize::MAX; count];
        for (at, &class) in class.iter().enumerate().rev() {
            first[class] = at;
        }
        let of = |at: usize| class[at];
        Self {
            steps: first.iter().map(|&at| self.steps[at].iter().map(|&next| of(next)).collect()).collect(),
            marked: first.iter().map(|&at| of(self.marked[at])).collect(),
            ends: first.iter().map(|&at| self.ends[at]).collect(),
            begins: first.iter().map(|&at| self.begins[at]).collect(),
            start: of(self.start),
        }
    }

    /// Checks how many states a text may be in, by all ways to put marks that are still open: the sets of states are made, with a mark
    /// wherever one can be.
    fn check_readings(&self) -> Result<(), PatternError> {
        let too_large = |what, limit| Err(PatternError::TooLarge { what, limit });
        let mut seen = HashSet::from([vec![self.start]]);
        let mut open = vec![vec![self.start]];
        while let Some(set) = open.pop() {
            for atom in 0..self.steps[0].len() {
                let both = set.iter().flat_map(|&at| [at, self.marked[at]]);
                let mut next: Vec<usize> =
                    both.map(|at| self.steps[at][atom]).filter(|&next| next != 0).collect();
                next.sort_unstable();
                next.dedup();
                if next.len() > MAX_OPEN {
                    return too_large("ways to go on that are open at once", MAX_OPEN);
                }
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
            if seen.len() > MAX_STATES {
                return too_large("sets of ways to go on", MAX_STATES);
            }
        }
        Ok(())
    }

    /// The same over bytes.
    fn over_bytes(&self, pattern: &Pattern) -> Result<Chunks, PatternError> {
        let mut rows = Rows::new(self.steps.len());
        let blocks = Blocks::new(&pattern.atoms);
        for at in 1..self.steps.len() {
            let steps = &self.steps[at];
            let ends: Vec<u16> = blocks
                .ends
                .iter()
                .map(|block| {
                    rows.inside(block.iter().map(|&atom| narrow(steps[usize::from(atom)])).collect())
                })
                .collect();
            let middles: Vec<u16> = blocks
                .middles
                .iter()
                .map(|block| {
                    rows.inside(block.iter().map(|&end| end.map_or(DEAD, |end| ends[end])).collect())
                })
                .collect();
            let mut row = [DEAD; 256];
            for (byte, next) in row.iter_mut().enumerate() {
                *next = match blocks.leads[byte] {
                    Lead::None => DEAD,
                    Lead::Atom(atom) => narrow(steps[usize::from(atom)]),
                    Lead::End(end) => ends[end],
                    Lead::Middle(middle) => middles[middle],
                    Lead::First(first) => rows.inside(
                        blocks.firsts[first]
                            .iter()
                            .map(|&middle| middle.map_or(DEAD, |middle| middles[middle]))
                            .collect(),
                    ),
                };
            }
            rows.rows[at] = row;
            if rows.rows.len() > MAX_STATES {
                return Err(PatternError::TooLarge { what: "states", limit: MAX_STATES });
            }
        }
        let inside = rows.rows.len() - self.steps.len();
        let of_chars = |of: &dyn Fn(usize) -> u16| {
            (0..self.steps.len()).map(of).chain(std::iter::repeat_n(DEAD, inside)).collect::<Vec<u16>>()
        };
        let marked = of_chars(&|at| narrow(self.marked[at]));
        let within = (0..rows.rows.len()).map(narrow).collect();
        let ends = of_chars(&|at| u16::from(self.ends[at])).into_iter().map(|ends| ends == 1).collect();
        let (classes, stride, steps) = classes(&rows.rows);
        let begins =
            of_chars(&|at| u16::from(self.begins[at])).into_iter().map(|begins| begins == 1).collect();
        let (start, between) = (narrow(self.start), self.steps.len());
        Ok(Chunks { classes, stride, steps, within, marked, ends, begins, start, between })
    }
}

impl Place {
    /// The place after a character.
    fn after(&self, pattern: &Pattern, literals: &Literals, atom: u8) -> Option<Self> {
        let literal = literals.steps[self.literal][usize::from(atom)];
        let threads = pattern.step(&self.threads, atom);
        if literals.is_whole[literal] || threads.is_empty() {
            return None;
        }
        let decided = if self.pending.is_empty() {
            Vec::new()
        } else {
            pattern.before_match(&self.pending, Some(atom))?
        };
        let obligations = pattern.step_obligations(self.obligations.iter().copied().chain(decided), atom)?;
        Some(Self { threads, obligations, pending: Vec::new(), literal, is_within: true })
    }

    /// The place behind a mark.
    fn marked(&self, pattern: &Pattern, fresh: &[usize]) -> Option<Self> {
        if !self.is_within || pattern.before_match(&self.threads, None).is_none() {
            return None;
        }
        let mut marked = Self {
            threads: fresh.to_vec(),
            literal: self.literal,
            obligations: self.obligations.clone(),
            ..Self::default()
        };
        if self.threads.iter().any(|&thread| matches!(pattern.states[thread], State::MatchBefore(_))) {
            marked.pending.clone_from(&self.threads);
        } else {
            marked.obligations.extend(pattern.before_match(&self.threads, None)?);
            marked.obligations.sort_unstable();
            marked.obligations.dedup();
        }
        Some(marked)
    }

    /// Whether the text may end: in the last chunk, where no obligation is a match.
    fn may_end(&self, pattern: &Pattern) -> bool {
        let is_match = |&thread: &usize| matches!(pattern.states[thread], State::MatchBefore(_));
        if self.obligations.iter().any(is_match) {
            return false;
        }
        // Only the empty text ends before its first chunk.
        let is_empty = !self.is_within && self.obligations.is_empty() && self.pending.is_empty();
        is_empty || self.is_within && pattern.before_match(&self.threads, None).is_some()
    }
}

/// Characters by their bytes in UTF-8.
struct Blocks {
    /// Distinct blocks of 64 characters: the class of each.
    ends: Vec<[u8; 64]>,
    /// Distinct blocks of 64 such blocks.
    middles: Vec<[Option<usize>; 64]>,
    /// And of 64 of those.
    firsts: Vec<[Option<usize>; 64]>,
    /// `[bytes]`.
    leads: Vec<Lead>,
}

/// What the first byte of a character leads to.
#[derive(Debug, Clone, Copy)]
enum Lead {
    None,
    Atom(u8),
    End(usize),
    Middle(usize),
    First(usize),
}

impl Blocks {
    fn new(of_chars: &Atoms) -> Self {
        let mut ends: BTreeMap<[u8; 64], usize> = BTreeMap::new();
        let mut middles: BTreeMap<[Option<usize>; 64], usize> = BTreeMap::new();
        let mut firsts: BTreeMap<[Option<usize>; 64], usize> = BTreeMap::new();
        fn number<T: Ord>(of: &mut BTreeMap<T, usize>, block: T) -> usize {
            let new = of.len();
            *of.entry(block).or_insert(new)
        }
        let mut atoms = Vec::with_capacity(0x11_0000);
        for &(first, last, atom) in &of_chars.ranges {
            atoms.extend((first..=last).map(|_| atom));
        }
        let mut end = |block: usize| {
            let chars: [u8; 64] = atoms.get(block * 64..block * 64 + 64)?.try_into().ok()?;
            Some(number(&mut ends, chars))
        };
        let mut leads = Vec::with_capacity(256);
        for byte in 0..=u8::MAX {
            let lead = usize::from(byte);
            leads.push(match byte {
                0..0x80 => Lead::Atom(atoms[lead]),
                0xC2..0xE0 => end(lead & 0x1F).map_or(Lead::None, Lead::End),
                0xE0..0xF0 => {
                    // Neither surrogates nor what two bytes write.
                    let is_char = |at: usize| (byte != 0xE0 || at >= 32) && (byte != 0xED || at < 32);
                    let block = std::array::from_fn(|at| end((lead & 0xF) * 64 + at).filter(|_| is_char(at)));
                    Lead::Middle(number(&mut middles, block))
                }
                0xF0..0xF5 => {
                    let plane = |at: usize| {
                        let number_of = (lead & 7) * 64 + at;
                        (16..0x110).contains(&number_of).then_some(number_of)
                    };
                    let block = std::array::from_fn(|at| {
                        let of = plane(at)?;
                        Some(number(&mut middles, std::array::from_fn(|at| end(of * 64 + at))))
                    });
                    Lead::First(number(&mut firsts, block))
                }
                _ => Lead::None,
            });
        }
        fn in_order<T: Copy + Ord>(of: &BTreeMap<T, usize>) -> Vec<T> {
            let mut all: Vec<(usize, T)> = of.iter().map(|(&block, &number)| (number, block)).collect();
            all.sort_unstable_by_key(|&(number, _)| number);
            all.into_iter().map(|(_, block)| block).collect()
        }
        Self { ends: in_order(&ends), middles: in_order(&middles), firsts: in_order(&firsts), leads }
    }
}

/// The states over bytes: those between characters first.
struct Rows {
    rows: Vec<[u16; 256]>,
    inside: HashMap<Vec<u16>, u16>,
}

impl Rows {
    fn new(states: usize) -> Self {
        Self { rows: vec![[DEAD; 256]; states], inside: HashMap::new() }
    }

    /// The state inside of a character that leads to these at the 64 bytes that go on: one for equal ones.
    fn inside(&mut self, next: Vec<u16>) -> u16 {
        if next.iter().all(|&next| next == DEAD) {
            return DEAD;
        }
        let rows = &mut self.rows;
        *self.inside.entry(next).or_insert_with_key(|next| {
            let mut row = [DEAD; 256];
            row[0x80..0xC0].copy_from_slice(next);
            rows.push(row);
            narrow(rows.len() - 1)
        })
    }
}

/// Classes of bytes that no state tells apart, how many there are, and the transitions by class.
fn classes(rows: &[[u16; 256]]) -> ([u8; 256], usize, Vec<u16>) {
    let mut of: HashMap<Vec<u16>, u8> = HashMap::new();
    let mut first = Vec::new();
    let classes = std::array::from_fn(|byte| {
        let column: Vec<u16> = rows.iter().map(|row| row[byte]).collect();
        *of.entry(column).or_insert_with(|| {
            first.push(byte);
            u8::try_from(first.len() - 1).expect("there are 256 bytes")
        })
    });
    let steps = rows.iter().flat_map(|row| first.iter().map(|&byte| row[byte])).collect();
    (classes, first.len(), steps)
}

/// Limits keep the numbers of states below 2^16, but for those that are refused.
fn narrow(state: usize) -> u16 {
    u16::try_from(state).unwrap_or(u16::MAX)
}
