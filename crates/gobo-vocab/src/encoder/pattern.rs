//! The pattern by which a pre-tokenizer cuts a text into chunks, as an automaton with an order: Thompson's construction over classes of characters.
//!
//! Taken are ordered alternatives of greedy repetitions, as all known patterns of byte-level BPE are, each perhaps with `(?!\S)` or `$` at
//! its end, which ask for white space or the end of the text, or for the end alone. A possessive repetition is taken where it reads the
//! same as a greedy one: at the end of its alternative, and before characters that it does not repeat itself. All else is refused.

use std::collections::HashMap;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

/// Most classes of characters that a pattern may tell apart: a bit each.
const MAX_ATOMS: usize = 64;

/// Most states of a pattern; those in use have about 60.
const MAX_STATES: usize = 512;

/// Longest pattern in bytes; those in use have some hundred.
const MAX_BYTES: usize = 4_096;

/// Why a pattern is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It does not parse, or has something that is not understood.
    #[error("its pre-tokenizer has {0:?}, which is not supported")]
    Unsupported(String),
    /// It matches the empty text, so that chunks may be empty.
    #[error("its pre-tokenizer matches the empty text")]
    Empty,
    /// Some character begins no chunk.
    #[error("its pre-tokenizer leaves out {0:?}")]
    LeavesOut(char),
    /// It is too large.
    #[error("its pre-tokenizer has more than {limit} {what}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

/// A state of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// Reads a character of these classes.
    Chars { atoms: u64, next: usize },
    /// Goes on at each of these, in this order of preference.
    Union(Vec<usize>),
    /// A match, if a character of these classes follows, or nothing.
    MatchBefore(u64),
    /// A match.
    Match,
}

/// A pattern.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    pub(super) states: Vec<State>,
    pub(super) start: usize,
    pub(super) atoms: Atoms,
}

/// Classes of characters that a pattern does not tell apart.
#[derive(Debug, Clone)]
pub(super) struct Atoms {
    /// Disjoint, ascending, and together all characters: first and last one, and the class.
    pub(super) ranges: Vec<(u32, u32, u8)>,
    pub(super) count: usize,
}

/// What a chunk ends before.
enum Ending {
    Any,
    /// One of these characters, or the end of the text.
    Before(ClassUnicode),
}

impl Pattern {
    /// The pattern of a text; `literals` are texts whose characters have to be told apart, too.
    pub(super) fn new(text: &str, literals: &[&str]) -> Result<Self, PatternError> {
        if text.len() > MAX_BYTES {
            return Err(PatternError::TooLarge { what: "bytes", limit: MAX_BYTES });
        }
        let mut alternatives = Vec::new();
        for part in alternatives_of(text)? {
            let (body, ending) = match (part.strip_suffix(r"(?!\S)"), part.strip_suffix('$')) {
                (Some(body), _) => (body, Ending::Before(class_of(&parse(r"\s")?)?)),
                (None, Some(body)) if !body.ends_with('\\') => (body, Ending::Before(ClassUnicode::empty())),
                _ => (part, Ending::Any),
            };
            // Only behind `(?!\S)` it matters whether characters are given back.
            let is_open = !part.ends_with(r"(?!\S)");
            alternatives.push((items(body, is_open)?, ending));
        }
        let mut sets: Vec<ClassUnicode> = Vec::new();
        for (body, ending) in &alternatives {
            body.iter().try_for_each(|hir| classes(hir, &mut sets))?;
            if let Ending::Before(class) = ending {
                sets.push(class.clone());
            }
        }
        let literals = literals.iter().flat_map(|literal| literal.chars());
        sets.extend(literals.map(|char| ClassUnicode::new([ClassUnicodeRange::new(char, char)])));
        let atoms = Atoms::new(&sets)?;
        let mut builder = Builder { states: vec![State::Match], atoms: &atoms };
        let mut starts = Vec::new();
        for (body, ending) in &alternatives {
            let end = match ending {
                Ending::Any => 0,
                Ending::Before(class) => builder.push(State::MatchBefore(atoms.of(class)))?,
            };
            starts.push(builder.concat(body, end)?);
        }
        let start = builder.push(State::Union(starts))?;
        Ok(Self { states: builder.states, start, atoms })
    }

    /// A pattern whose only chunk is the text: for tokenizers that cut nothing.
    pub(super) fn whole(literals: &[&str]) -> Result<Self, PatternError> {
        Self::new(r"(?s:.)+", literals)
    }

    /// The states from which `from` reads a character or is a match, in the order of preference, behind those of `into`. Nothing stands behind
    /// a match.
    pub(super) fn close(&self, from: usize, into: &mut Vec<usize>) {
        let mut open = vec![from];
        let mut seen = vec![false; self.states.len()];
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            match &self.states[at] {
                State::Union(next) => open.extend(next.iter().rev()),
                _ if into.contains(&at) => {}
                _ => into.push(at),
            }
        }
    }
}

impl Atoms {
    fn new(sets: &[ClassUnicode]) -> Result<Self, PatternError> {
        // Most classes stand in a pattern several times.
        let mut sets = sets.to_vec();
        let bounds = |set: &ClassUnicode| -> Vec<(char, char)> {
            set.ranges().iter().map(|range| (range.start(), range.end())).collect()
        };
        sets.sort_by_cached_key(bounds);
        sets.dedup();
        let mut starts = vec![0_u32, 0x11_0000];
        for range in sets.iter().flat_map(ClassUnicode::ranges) {
            starts.extend([u32::from(range.start()), u32::from(range.end()) + 1]);
        }
        starts.sort_unstable();
        starts.dedup();
        let mut of: HashMap<Vec<bool>, u8> = HashMap::new();
        let mut ranges: Vec<(u32, u32, u8)> = Vec::new();
        for bounds in starts.windows(2) {
            let signature: Vec<bool> = sets.iter().map(|set| has(set, bounds[0])).collect();
            let next = of.len();
            if next > MAX_ATOMS {
                break;
            }
            let atom = *of.entry(signature).or_insert(u8::try_from(next).unwrap_or(u8::MAX));
            match ranges.last_mut() {
                Some(last) if last.2 == atom => last.1 = bounds[1] - 1,
                _ => ranges.push((bounds[0], bounds[1] - 1, atom)),
            }
        }
        if of.len() > MAX_ATOMS {
            return Err(PatternError::TooLarge { what: "classes of characters", limit: MAX_ATOMS });
        }
        Ok(Self { ranges, count: of.len() })
    }

    /// The class of a character. O(log ranges).
    pub(super) fn get(&self, char: u32) -> u8 {
        let at = self.ranges.partition_point(|&(first, ..)| first <= char);
        self.ranges[at - 1].2
    }

    /// The classes whose characters are in `set`, which is a union of some.
    fn of(&self, set: &ClassUnicode) -> u64 {
        let of = self.ranges.iter().filter(|&&(first, ..)| has(set, first));
        of.fold(0, |all, &(.., atom)| all | 1 << atom)
    }
}

fn has(set: &ClassUnicode, char: u32) -> bool {
    let ranges = set.ranges();
    let at = ranges.partition_point(|range| u32::from(range.start()) <= char);
    at > 0 && u32::from(ranges[at - 1].end()) >= char
}

fn unsupported(what: impl Into<String>) -> PatternError {
    PatternError::Unsupported(what.into())
}

fn parse(text: &str) -> Result<Hir, PatternError> {
    regex_syntax::Parser::new().parse(text).map_err(|_| unsupported(text))
}

fn class_of(hir: &Hir) -> Result<ClassUnicode, PatternError> {
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => Ok(class.clone()),
        HirKind::Class(Class::Bytes(class)) => {
            class.to_unicode_class().ok_or_else(|| unsupported(hir.to_string()))
        }
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0).map(|text| text.chars()) {
            Ok(mut chars) => match (chars.next(), chars.next()) {
                (Some(char), None) => Ok(ClassUnicode::new([ClassUnicodeRange::new(char, char)])),
                _ => Err(unsupported(hir.to_string())),
            },
            Err(_) => Err(unsupported(hir.to_string())),
        },
        _ => Err(unsupported(hir.to_string())),
    }
}

/// All classes of an expression.
fn classes(hir: &Hir, into: &mut Vec<ClassUnicode>) -> Result<(), PatternError> {
    match hir.kind() {
        HirKind::Empty => Ok(()),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).map_err(|_| unsupported(hir.to_string()))?;
            into.extend(text.chars().map(|char| ClassUnicode::new([ClassUnicodeRange::new(char, char)])));
            Ok(())
        }
        HirKind::Class(_) => {
            into.push(class_of(hir)?);
            Ok(())
        }
        HirKind::Look(_) => Err(unsupported(hir.to_string())),
        HirKind::Repetition(repetition) => classes(&repetition.sub, into),
        HirKind::Capture(capture) => classes(&capture.sub, into),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().try_for_each(|part| classes(part, into))
        }
    }
}

/// The alternatives of a pattern as texts: what stands between `|` that are in no group and no class.
fn alternatives_of(text: &str) -> Result<Vec<&str>, PatternError> {
    let (mut parts, mut from, mut at) = (Vec::new(), 0, 0);
    while at < text.len() {
        if text[at..].starts_with('|') {
            parts.push(&text[from..at]);
            from = at + 1;
        }
        at += atom_len(&text[at..])?;
    }
    parts.push(&text[from..]);
    Ok(parts)
}

/// The bytes of a character, an escape, a class or a group at the beginning of `text`.
fn atom_len(text: &str) -> Result<usize, PatternError> {
    let mut chars = text.char_indices();
    let (mut groups, mut is_class) = (0_u32, false);
    while let Some((_, char)) = chars.next() {
        match char {
            '\\' => {
                // `\p{…}`
                let (_, escaped) = chars.next().ok_or_else(|| unsupported(text))?;
                if matches!(escaped, 'p' | 'P') && chars.as_str().starts_with('{') {
                    chars.find(|&(_, char)| char == '}').ok_or_else(|| unsupported(text))?;
                }
            }
            '[' if !is_class => is_class = true,
            // Classes within classes are no part of any known pattern.
            '[' => return Err(unsupported(text)),
            ']' if is_class => is_class = false,
            '(' if !is_class => groups += 1,
            ')' if !is_class => groups = groups.checked_sub(1).ok_or_else(|| unsupported(text))?,
            _ => {}
        }
        if groups == 0 && !is_class {
            return Ok(text.len() - chars.as_str().len());
        }
    }
    Err(unsupported(text))
}

/// The bytes of a repetition at the beginning of `text`.
fn repetition_len(text: &str) -> usize {
    match text.bytes().next() {
        Some(b'?' | b'*' | b'+') => 1,
        Some(b'{') => text.find('}').map_or(0, |end| end + 1),
        _ => 0,
    }
}

/// The parts of an alternative, one after the other. `is_open` says that no repetition at its end has to give back what it has read.
fn items(text: &str, is_open: bool) -> Result<Vec<Hir>, PatternError> {
    let mut found: Vec<Hir> = Vec::new();
    // The class of a possessive repetition that ends here.
    let mut possessive: Option<ClassUnicode> = None;
    let mut at = 0;
    while at < text.len() {
        let atom = &text[at..at + atom_len(&text[at..])?];
        at += atom.len();
        let repetition = &text[at..at + repetition_len(&text[at..])];
        at += repetition.len();
        let hir = parse(&format!("{atom}{repetition}"))?;
        if let Some(before) = &possessive {
            // What may follow, if this is not left out.
            let mut both = class_of(&parse(atom)?)?;
            both.intersect(before);
            if !both.ranges().is_empty() {
                return Err(unsupported(text));
            }
        }
        let is_possessive = !repetition.is_empty() && text[at..].starts_with('+');
        if is_possessive {
            at += 1;
            let mut class = class_of(&parse(atom)?)?;
            class.union(&possessive.filter(|_| is_optional(&hir)).unwrap_or_else(ClassUnicode::empty));
            possessive = Some(class);
        } else if !is_optional(&hir) {
            possessive = None;
        }
        if text[at..].starts_with('?') && !repetition.is_empty() {
            return Err(unsupported(text));
        }
        found.push(hir);
    }
    if possessive.is_some() && !is_open {
        return Err(unsupported(text));
    }
    Ok(found)
}

fn is_optional(hir: &Hir) -> bool {
    hir.properties().minimum_len() == Some(0)
}

struct Builder<'a> {
    states: Vec<State>,
    atoms: &'a Atoms,
}

impl Builder<'_> {
    fn push(&mut self, state: State) -> Result<usize, PatternError> {
        if self.states.len() == MAX_STATES {
            return Err(PatternError::TooLarge { what: "states", limit: MAX_STATES });
        }
        self.states.push(state);
        Ok(self.states.len() - 1)
    }

    fn concat(&mut self, parts: &[Hir], next: usize) -> Result<usize, PatternError> {
        parts.iter().rev().try_fold(next, |next, part| self.build(part, next))
    }

    /// The state from which `hir` is read, and then the rest from `next`.
    fn build(&mut self, hir: &Hir, next: usize) -> Result<usize, PatternError> {
        match hir.kind() {
            HirKind::Empty => Ok(next),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).map_err(|_| unsupported(hir.to_string()))?;
                text.chars().rev().try_fold(next, |next, char| {
                    let atoms = 1 << self.atoms.get(char.into());
                    self.push(State::Chars { atoms, next })
                })
            }
            HirKind::Class(_) => {
                let atoms = self.atoms.of(&class_of(hir)?);
                self.push(State::Chars { atoms, next })
            }
            HirKind::Look(_) => Err(unsupported(hir.to_string())),
            HirKind::Capture(capture) => self.build(&capture.sub, next),
            HirKind::Concat(parts) => self.concat(parts, next),
            HirKind::Alternation(parts) => {
                let starts: Result<Vec<usize>, _> = parts.iter().map(|part| self.build(part, next)).collect();
                self.push(State::Union(starts?))
            }
            HirKind::Repetition(repetition) => {
                if !repetition.greedy || is_optional(&repetition.sub) {
                    return Err(unsupported(hir.to_string()));
                }
                let mut from = next;
                match repetition.max {
                    None => {
                        let again = self.push(State::Union(Vec::new()))?;
                        let body = self.build(&repetition.sub, again)?;
                        self.states[again] = State::Union(vec![body, next]);
                        from = again;
                    }
                    Some(max) => {
                        for _ in repetition.min..max {
                            let body = self.build(&repetition.sub, from)?;
                            from = self.push(State::Union(vec![body, next]))?;
                        }
                    }
                }
                (0..repetition.min).try_fold(from, |next, _| self.build(&repetition.sub, next))
            }
        }
    }
}
