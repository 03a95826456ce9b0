//! The automaton of a pre-tokenizer between characters: places of threads and obligations, made from a pattern. [`super::chunks`] says what they mean.

use std::collections::{HashMap, HashSet, VecDeque};

use super::pattern::{Pattern, PatternError, State};

/// Most states in which a text may be by all ways to put marks that are open at once: half of what a matcher has room for, because of two readings in one
/// state one may be at the beginning of a word.
const MAX_OPEN: usize = gobo_artifact::layout::MAX_READINGS / 2;

/// Most states of the automaton, and of the one over bytes; those of known pre-tokenizers have some thousand.
pub(super) const MAX_STATES: usize = 30_000;

/// Most states between characters before equal ones are merged; those of known pre-tokenizers have less than a hundred, times the texts that they cut
/// out first.
const MAX_PLACES: usize = 4_096;

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
pub(super) struct OfChars {
    /// `[states][atoms]`.
    pub(super) steps: Vec<Vec<usize>>,
    pub(super) marked: Vec<usize>,
    pub(super) ends: Vec<bool>,
    pub(super) begins: Vec<bool>,
    pub(super) start: usize,
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
            let of_suffix = if at == 0 { vec![0; count] } else { steps[suffix].clone() };
            for (step, of_suffix) in steps[at].iter_mut().zip(of_suffix) {
                match *step {
                    NONE => *step = of_suffix,
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
    pub(super) fn new(pattern: &Pattern, literals: &[&str]) -> Result<Self, PatternError> {
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
            if places.len() > MAX_PLACES {
                return Err(PatternError::TooLarge { what: "states between characters", limit: MAX_PLACES });
            }
            at += 1;
        }
        Ok(all)
    }

    /// The same without ways that lead to no end.
    pub(super) fn trimmed(mut self) -> Self {
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
    pub(super) fn merged(self) -> Self {
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
    pub(super) fn check_readings(&self) -> Result<(), PatternError> {
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
