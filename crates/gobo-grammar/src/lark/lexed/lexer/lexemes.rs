//! What can be read between two places of a text: lexemes and ignored text, as languages.
//!
//! A *place* is where one lexeme has ended, with the ignored text after it, and the next one begins. All that matters there is which
//! texts are read as which terminal, and what guard each of them leaves: its *letters*. Places with equal letters are one place, whichever
//! terminals are active and whatever guard is pending. After a letter, the parser's state says which terminals are active next; its
//! *tails* are the ignored texts that may follow, each with the place that it leads to.
//!
//! Letters and tails are found by running the ordered threads ([`crate::regex::Scanner`]) of the active terminals beside the guard, and
//! become canonical automata, so that equal ones are one.
//!
//! Cost: states of the threads beside those of the guard, times classes of characters, for each pair of active terminals and guard.

use std::collections::{BTreeSet, HashMap};

use gobo_automata::{CharSet, Language, Symbol as Minterm};
use gobo_types::{Budget, CompileError, DenseId as _, Table, dense_id};

use super::super::bits::Bits;
use super::super::grammar::{Terminal, TerminalId};
use super::graph::Graph;
use super::guards::{CutId, GuardId, Guards};
use super::order::{Lexer, lexer, longest};
use super::places::{ActiveId, Letter, Lines, Place, PlaceId, Texts, TextsId};
use crate::regex::{Place as At, Scanner, StateId, Stuck, Threads};

pub(super) const PHASE: &str = "scanning lexemes";

/// Bytes of a set of threads, without its entries.
pub(super) const SCAN_BYTES: u64 = 96;

dense_id! {
    /// The threads that a text leads to.
    pub(super) struct ScanId;
}

/// Threads of active terminals, and the states of keywords beside them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Scan {
    threads: Threads,
    /// Ascending.
    beside: Vec<StateId>,
}

struct Scanned {
    scan: Scan,
    /// The patterns whose texts it may be in, ascending.
    patterns: Vec<usize>,
    /// Patterns that end here, with the guards that they leave.
    ends: Option<Vec<(usize, GuardId)>>,
    /// `[minterms]`.
    after: Vec<Step>,
}

/// Where a character leads from some threads.
#[derive(Debug, Clone, Copy)]
enum Step {
    Unknown,
    /// No thread is left.
    Dead,
    To(ScanId),
}

/// Between lexemes, or within an ignored one; with a guard.
type Reading = (Option<ScanId>, GuardId);

/// The lexemes of a grammar.
pub(in super::super) struct Lexemes<'a> {
    pub(super) terminals: &'a Table<TerminalId, Terminal>,
    pub(super) ignored: Bits,
    /// The terminals whose texts are dropped.
    pub(super) dropped: Table<ActiveId, Bits>,
    pub(super) scanner: &'a Scanner<'a>,
    pub(in super::super) guards: Guards<'a>,
    active: HashMap<(Bits, Bits), ActiveId>,
    pub(super) lexers: Table<ActiveId, Lexer>,
    pub(super) starts: Table<ActiveId, ScanId>,
    scans: Table<ScanId, Scanned>,
    scan_of: HashMap<Scan, ScanId>,
    pub(in super::super) texts: Table<TextsId, Texts>,
    pub(super) texts_of: HashMap<Language, TextsId>,
    /// Texts of other grammars, with those characters with which alone they may begin.
    pub(super) nested: HashMap<(TerminalId, Option<CharSet>), TextsId>,
    /// Languages in which so many tokens may begin.
    pub(super) budgeted: HashMap<(TextsId, u32), TextsId>,
    /// The first terminal as which texts are read.
    pub(super) read_as: HashMap<TextsId, TerminalId>,
    pub(in super::super) places: Table<PlaceId, Place>,
    pub(in super::super) lines: Lines,
    place_of: HashMap<Place, PlaceId>,
    rows: HashMap<(ActiveId, GuardId), PlaceId>,
    tails: HashMap<(ActiveId, GuardId), Vec<(TextsId, PlaceId)>>,
    /// Whether a guard of several characters stands before the texts of another grammar, which are left out then.
    pub(in super::super) undecided_before_nested: bool,
    /// Guards that are cut while ignored text is read.
    pub(in super::super) cut_in_tails: BTreeSet<CutId>,
    pub(super) budget: &'a Budget,
}

impl<'a> Lexemes<'a> {
    pub(in super::super) fn new(
        terminals: &'a Table<TerminalId, Terminal>,
        ignored: &[TerminalId],
        scanner: &'a Scanner<'a>,
        look_ahead: u8,
        budget: &'a Budget,
    ) -> Result<Self, CompileError> {
        let mut bits = Bits::new(terminals.len() + 1);
        ignored.iter().for_each(|terminal| bits.insert(terminal.index()));
        let empty = Language::choice(&[String::new()], budget)?;
        Ok(Self {
            terminals,
            ignored: bits,
            dropped: Table::new(),
            scanner,
            guards: Guards::new(scanner, look_ahead, budget),
            active: HashMap::new(),
            lexers: Table::new(),
            starts: Table::new(),
            scans: Table::new(),
            scan_of: HashMap::new(),
            texts_of: HashMap::from([(empty.clone(), TextsId::EMPTY)]),
            texts: vec![Texts::Plain(empty)].into(),
            nested: HashMap::new(),
            budgeted: HashMap::new(),
            undecided_before_nested: false,
            read_as: HashMap::new(),
            places: Table::new(),
            lines: Lines::default(),
            place_of: HashMap::new(),
            rows: HashMap::new(),
            tails: HashMap::new(),
            cut_in_tails: BTreeSet::new(),
            budget,
        })
    }

    /// The lexer of active terminals, to which the ignored ones are added where ignored text may stand; `dropped` is ignored here too.
    ///
    /// # Errors
    /// See [`Stuck`].
    pub(in super::super) fn active(
        &mut self,
        active: &Bits,
        dropped: Option<TerminalId>,
        skips: bool,
    ) -> Result<ActiveId, Stuck> {
        let mut also = if skips { self.ignored.clone() } else { Bits::new(self.terminals.len() + 1) };
        dropped.iter().for_each(|terminal| also.insert(terminal.index()));
        let (mut active, dropped) = (active.clone(), also);
        active.unite(&dropped);
        let key = (active.clone(), dropped.clone());
        if let Some(&known) = self.active.get(&key) {
            return Ok(known);
        }
        self.budget.charge_bytes(PHASE, SCAN_BYTES + active.words() as u64 * 16)?;
        let lexer = if self.scanner.is_longest() {
            longest(&active, self.terminals)
        } else {
            lexer(&active, self.terminals, self.scanner)?
        };
        let threads = self.scanner.begin(&lexer.order)?;
        let mut beside: Vec<StateId> = (lexer.keywords.iter())
            .flat_map(|of| of.1.iter().map(|text| self.scanner.bounds(text.index()).0))
            .collect();
        beside.sort_unstable();
        beside.dedup();
        let id = self.lexers.push(lexer);
        let start = self.scan(Scan { threads, beside })?;
        self.starts.push(start);
        self.dropped.push(dropped);
        self.active.insert(key, id);
        Ok(id)
    }

    fn scan(&mut self, scan: Scan) -> Result<ScanId, CompileError> {
        if let Some(&known) = self.scan_of.get(&scan) {
            return Ok(known);
        }
        let size = scan.threads.entries.len() as u64 * 32 + scan.beside.len() as u64 * 4;
        let minterms = self.scanner.minterms().all().len();
        self.budget.charge_bytes(PHASE, SCAN_BYTES + 2 * size + 8 * minterms as u64)?;
        self.budget.check_states(PHASE, self.scans.len())?;
        let patterns = self.scanner.patterns(&scan.threads);
        let scanned =
            Scanned { scan: scan.clone(), patterns, ends: None, after: vec![Step::Unknown; minterms] };
        let id = self.scans.push(scanned);
        self.scan_of.insert(scan, id);
        Ok(id)
    }

    /// The threads after a character; `None` if there are none.
    pub(super) fn step(&mut self, scan: ScanId, minterm: Minterm) -> Result<Option<ScanId>, Stuck> {
        match self.scans[scan].after[minterm.index()] {
            Step::Unknown => {}
            Step::Dead => return Ok(None),
            Step::To(after) => return Ok(Some(after)),
        }
        let Scan { threads, beside } = &self.scans[scan].scan;
        let threads = self.scanner.step(threads, minterm)?;
        let is_alive = threads.entries.iter().any(|entry| !matches!(entry.place, At::Past));
        let after = if is_alive {
            self.budget.charge_steps(PHASE, beside.len() as u64)?;
            let mut beside: Vec<StateId> =
                beside.iter().filter_map(|&state| self.scanner.along(state, minterm)).collect();
            beside.sort_unstable();
            beside.dedup();
            Some(self.scan(Scan { threads, beside })?)
        } else {
            None
        };
        self.scans[scan].after[minterm.index()] = after.map_or(Step::Dead, Step::To);
        Ok(after)
    }

    /// The patterns that end after some text, with the guards that they leave.
    pub(super) fn ends(&mut self, scan: ScanId) -> Result<Vec<(usize, GuardId)>, Stuck> {
        if let Some(known) = &self.scans[scan].ends {
            return Ok(known.clone());
        }
        let threads = self.scans[scan].scan.threads.clone();
        let mut ends = Vec::new();
        if self.scanner.is_longest() {
            let ended = threads.entries.iter().filter_map(|entry| match entry.place {
                At::Ended(pattern) if !self.scanner.stops_before(pattern) => Some(pattern),
                At::Ended(_) | At::Reading(_) | At::Past => None,
            });
            let ended: Vec<usize> = ended.collect();
            if !ended.is_empty() {
                let mut goes_on = Vec::new();
                for minterm in self.scanner.minterms().all() {
                    goes_on.push(self.step(scan, minterm)?.is_some());
                }
                let guard = self.guards.unless(&goes_on)?;
                ends = ended.into_iter().map(|pattern| (pattern, guard)).collect();
            }
            for &at in threads.stopping.iter().filter(|&&at| self.scanner.may_stop(at)) {
                ends.push((at.pattern, self.guards.before(self.scanner, at)?));
            }
            self.scans[scan].ends = Some(ends.clone());
            return Ok(ends);
        }
        for (at, entry) in threads.entries.iter().enumerate() {
            let At::Ended(pattern) = entry.place else { continue };
            let above = self.scanner.only(&threads, at);
            let guard = self.guards.after_match(self.scanner, pattern, above, entry.obligations.clone())?;
            if guard != GuardId::DEAD {
                ends.push((pattern, guard));
            }
        }
        self.scans[scan].ends = Some(ends.clone());
        Ok(ends)
    }

    /// The terminal of a match of a pattern, a keyword perhaps.
    pub(super) fn terminal(&self, active: ActiveId, scan: ScanId, pattern: usize) -> TerminalId {
        let keywords = self.lexers[active].keywords.iter().find(|of| of.0 == pattern);
        let beside = &self.scans[scan].scan.beside;
        let is_read = |text: &&TerminalId| beside.binary_search(&self.scanner.bounds(text.index()).1).is_ok();
        let keyword = keywords.and_then(|of| of.1.iter().find(is_read));
        keyword.copied().unwrap_or_else(|| TerminalId::new(pattern))
    }

    /// The place where these terminals are active and this guard is pending.
    ///
    /// # Errors
    /// See [`Stuck`].
    pub(in super::super) fn place(&mut self, active: ActiveId, guard: GuardId) -> Result<PlaceId, Stuck> {
        if let Some(&known) = self.rows.get(&(active, guard)) {
            return Ok(known);
        }
        let mut states = vec![(self.starts[active], guard)];
        // Nothing ends where nothing was read, so the first state is none of those after it.
        let mut number: HashMap<(ScanId, GuardId), usize> = HashMap::new();
        let mut graph = Graph { edges: Vec::new(), ends: vec![Vec::new()] };
        let mut cuts: BTreeSet<(CutId, TerminalId)> = BTreeSet::new();
        let mut at = 0;
        while let Some(&(scan, guard)) = states.get(at) {
            let mut edges = Vec::new();
            for minterm in self.scanner.minterms().all() {
                self.budget.charge_steps(PHASE, 1)?;
                let next_guard = self.guards.step(guard, minterm);
                if next_guard == GuardId::DEAD {
                    continue;
                }
                let Some(next) = self.step(scan, minterm)? else { continue };
                let read = self.scans[next].patterns.iter().filter(|&&of| !self.dropped[active].contains(of));
                if let Some(cut) = self.guards.cut(next_guard) {
                    cuts.extend(read.map(|&pattern| (cut, TerminalId::new(pattern))));
                    continue;
                }
                if read.count() == 0 {
                    continue;
                }
                let known = states.len();
                let to = *number.entry((next, next_guard)).or_insert(known);
                if to == known {
                    self.budget.charge_bytes(PHASE, 64)?;
                    states.push((next, next_guard));
                    let mut ends = Vec::new();
                    for (pattern, left) in self.ends(next)? {
                        let left = self.guards.both(next_guard, left)?;
                        if left != GuardId::DEAD && !self.dropped[active].contains(pattern) {
                            ends.push((self.terminal(active, next, pattern), left));
                        }
                    }
                    graph.ends.push(ends);
                }
                edges.push((minterm, to));
            }
            graph.edges.push(edges);
            at += 1;
        }
        let letters = self.languages(&graph)?.into_iter();
        let mut letters: Vec<Letter> =
            letters.map(|((terminal, guard), texts)| self.letter(terminal, texts, guard)).collect();
        // Texts that end before anything is read, because what follows them may.
        for at in self.scans[self.starts[active]].scan.threads.stopping.clone() {
            let left = self.guards.before(self.scanner, at)?;
            let left = self.guards.both(guard, left)?;
            if self.scanner.may_stop(at) && left != GuardId::DEAD {
                let terminal = TerminalId::new(at.pattern);
                letters.push(Letter { terminal, texts: TextsId::EMPTY, guard: left });
            }
        }
        for terminal in self.lexers[active].nested.clone() {
            if let Some(texts) = self.nested(terminal, guard)? {
                letters.push(Letter { terminal, texts, guard: GuardId::PASS });
            }
        }
        letters.sort_unstable();
        for letter in &letters {
            self.read_as.entry(letter.texts).or_insert(letter.terminal);
        }
        let may_end = self.guards.may_end(guard);
        let levels = self.levels_before(active, may_end);
        let place = Place { may_end, letters, cuts: cuts.into_iter().collect(), levels, begins: None };
        let id = self.intern(place)?;
        self.rows.insert((active, guard), id);
        Ok(id)
    }

    pub(super) fn intern(&mut self, place: Place) -> Result<PlaceId, CompileError> {
        if let Some(&known) = self.place_of.get(&place) {
            return Ok(known);
        }
        self.budget.charge_bytes(PHASE, SCAN_BYTES + place.letters.len() as u64 * 24)?;
        let id = self.places.push(place.clone());
        self.place_of.insert(place, id);
        Ok(id)
    }

    /// A place without the struck terminals; the end of the text is the terminal after the last.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(in super::super) fn without(
        &mut self,
        place: PlaceId,
        struck: &Bits,
    ) -> Result<PlaceId, CompileError> {
        let Place { may_end, letters, cuts, levels, begins } = self.places[place].clone();
        let is_kept = |terminal: TerminalId| !struck.contains(terminal.index());
        self.budget.charge_steps(PHASE, letters.len() as u64)?;
        let may_end = may_end && !struck.contains(self.terminals.len());
        let letters = letters.into_iter().filter(|letter| is_kept(letter.terminal)).collect();
        let cuts = cuts.into_iter().filter(|cut| is_kept(cut.1)).collect();
        let levels = self.levels_without(levels, struck);
        let begins = begins.map(|begins| self.beginning_without(begins, levels, struck)).transpose()?;
        self.intern(Place { may_end, letters, cuts, levels, begins })
    }

    /// The letters of a terminal at a place.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(in super::super) fn letters(
        &self,
        place: PlaceId,
        terminal: TerminalId,
    ) -> Result<Vec<Letter>, CompileError> {
        let letters = &self.places[place].letters;
        let first = letters.partition_point(|letter| letter.terminal < terminal);
        let letters = letters[first..].iter().take_while(|letter| letter.terminal == terminal);
        let letters: Vec<Letter> = letters.copied().collect();
        self.budget.charge_steps(PHASE, 1 + letters.len() as u64)?;
        Ok(letters)
    }

    /// The ignored texts that may follow a lexeme, each with the place after it.
    ///
    /// # Errors
    /// See [`Stuck`].
    pub(in super::super) fn tails(
        &mut self,
        active: ActiveId,
        guard: GuardId,
    ) -> Result<Vec<(TextsId, PlaceId)>, Stuck> {
        if let Some(known) = self.tails.get(&(active, guard)) {
            return Ok(known.clone());
        }
        let mut states: Vec<Vec<Reading>> = vec![vec![(None, guard)]];
        let mut number: HashMap<Vec<Reading>, usize> = HashMap::from([(states[0].clone(), 0)]);
        let mut graph = Graph { edges: Vec::new(), ends: vec![vec![self.place(active, guard)?]] };
        let mut at = 0;
        while let Some(readings) = states.get(at).cloned() {
            let mut edges = Vec::new();
            for minterm in self.scanner.minterms().all() {
                let mut after: BTreeSet<Reading> = BTreeSet::new();
                for &(scan, guard) in &readings {
                    self.budget.charge_steps(PHASE, 1)?;
                    let next_guard = self.guards.step(guard, minterm);
                    if next_guard == GuardId::DEAD {
                        continue;
                    }
                    let scan = scan.unwrap_or(self.starts[active]);
                    let Some(next) = self.step(scan, minterm)? else { continue };
                    if !self.scans[next].patterns.iter().any(|&of| self.dropped[active].contains(of)) {
                        continue;
                    }
                    if let Some(cut) = self.guards.cut(next_guard) {
                        self.cut_in_tails.insert(cut);
                        continue;
                    }
                    after.insert((Some(next), next_guard));
                    for (pattern, left) in self.ends(next)? {
                        if self.dropped[active].contains(pattern) {
                            let left = self.guards.both(next_guard, left)?;
                            if left != GuardId::DEAD {
                                after.insert((None, left));
                            }
                        }
                    }
                }
                if after.is_empty() {
                    continue;
                }
                let after: Vec<Reading> = after.into_iter().collect();
                let known = number.len();
                let to = *number.entry(after.clone()).or_insert(known);
                if to == known {
                    self.budget.charge_bytes(PHASE, 64 + after.len() as u64 * 32)?;
                    let mut ends = Vec::new();
                    for (_, guard) in after.iter().filter(|reading| reading.0.is_none()) {
                        ends.push(self.place(active, *guard)?);
                    }
                    graph.ends.push(ends);
                    states.push(after);
                }
                edges.push((minterm, to));
            }
            graph.edges.push(edges);
            at += 1;
        }
        let tails: Vec<(TextsId, PlaceId)> =
            self.languages(&graph)?.into_iter().map(|(place, texts)| (texts, place)).collect();
        self.budget.charge_bytes(PHASE, 16 * tails.len() as u64)?;
        self.tails.insert((active, guard), tails.clone());
        Ok(tails)
    }
}
