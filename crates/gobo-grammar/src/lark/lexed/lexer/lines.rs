//! Lines: the beginning of a line, after a newline, and its blanks.
//!
//! A newline is a text with a line feed, and the blanks after its last one say how the next line is indented: as before, by one level
//! more, or by any number of levels less. Where blocks end, the parser reads a terminal without a text for each of them. How many there are
//! is known when the blanks have been read. So a newline is divided: its texts are read up to the last line feed, and lead to a place that
//! *begins a line*, where blocks may begin or end before anything is read. After that exactly the blanks of the level are read, and the
//! text goes on as after the newline. No frame and no rule has to know in advance how the line will be indented.
//!
//! The *rest* of a newline is the language of blanks with which it may end: one for each state of the newline's automaton after a line feed,
//! equal ones together. Blanks are counted as Lark's `Indenter` counts them: a tab is eight.
//!
//! Invariant: a newline up to its last line feed, and a text of its rest, are together a text of the newline, and each of its texts that
//! has a line feed, and blanks alone after the last one, is read so in one way. Cost: the states of a newline for each of its guards, and a
//! language of blanks for each rest and level.

use std::collections::{BTreeMap, HashSet};

use gobo_automata::{CharSet, CharState, Language, Minterms, Symbol as Minterm};
use gobo_types::{CompileError, DenseId as _};

use super::super::bits::Bits;
use super::guards::GuardId;
use super::lexemes::Lexemes;
use super::places::{ActiveId, Beginning, Levels, Place, PlaceId, RestId, Texts, TextsId};
use crate::regex::Stuck;

/// Blanks for which a tab counts.
const TAB: u32 = 8;

/// What the texts of a newline have had after their last line feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Line {
    /// There was none.
    First,
    /// Nothing so far.
    Empty,
    /// Blanks.
    Blank,
    /// Others.
    Other,
}

impl Lexemes<'_> {
    /// What is known of levels before lexemes: a block may end where the text does, outside of brackets.
    pub(super) fn levels_before(&self, active: ActiveId, may_end: bool) -> Levels {
        let is_outside =
            self.lines.terminals.is_some_and(|[newline, ..]| !self.dropped[active].contains(newline.index()));
        Levels { may_dedent: may_end && is_outside, ..Levels::default() }
    }

    pub(super) fn levels_without(&self, mut levels: Levels, struck: &Bits) -> Levels {
        if let Some([_, indent, dedent]) = self.lines.terminals {
            levels.may_indent &= !struck.contains(indent.index());
            levels.may_dedent &= !struck.contains(dedent.index());
        }
        levels
    }

    pub(super) fn beginning_without(
        &mut self,
        begins: Beginning,
        levels: Levels,
        struck: &Bits,
    ) -> Result<Beginning, CompileError> {
        let mut after = Vec::with_capacity(begins.after.len());
        for (tail, place) in begins.after {
            let place = self.without(place, struck)?;
            let Place { may_end, letters, cuts, levels, .. } = &self.places[place];
            if *may_end || levels.may_dedent || !letters.is_empty() || !cuts.is_empty() {
                after.push((tail, place));
            }
        }
        let decides = levels.may_indent || levels.may_dedent;
        Ok(Beginning { guard: if decides { begins.guard } else { GuardId::PASS }, after, ..begins })
    }

    /// The terminals that may come next at a place, the end of the text after them.
    pub(in super::super) fn next(&self, place: PlaceId) -> Bits {
        let Place { may_end, letters, levels, begins, .. } = &self.places[place];
        let end = self.terminals.len();
        let mut next = Bits::new(end + 1);
        letters.iter().for_each(|letter| next.insert(letter.terminal.index()));
        if *may_end {
            next.insert(end);
        }
        if let Some([_, indent, dedent]) = self.lines.terminals {
            if levels.may_indent {
                next.insert(indent.index());
            }
            if levels.may_dedent {
                next.insert(dedent.index());
            }
        }
        for &(_, place) in begins.iter().flat_map(|begins| &begins.after) {
            next.unite(&self.next(place));
        }
        next
    }

    /// The number of a language of texts.
    pub(super) fn texts_id(&mut self, language: Language) -> TextsId {
        if let Some(&known) = self.texts_of.get(&language) {
            return known;
        }
        let id = self.texts.push(Texts::Plain(language.clone()));
        self.texts_of.insert(language, id);
        id
    }

    /// A place with so many open levels.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(in super::super) fn at_level(
        &mut self,
        place: PlaceId,
        open: Option<u8>,
    ) -> Result<PlaceId, CompileError> {
        if self.places[place].levels.open == open {
            return Ok(place);
        }
        if let Some(&known) = self.lines.at_levels.get(&(place, open)) {
            return Ok(known);
        }
        let of = self.places[place].clone();
        let id = self.intern(Place { levels: Levels { open, ..of.levels }, ..of })?;
        self.lines.at_levels.insert((place, open), id);
        Ok(id)
    }

    /// A place as a rule is entered with it, whose caller may know which levels are open instead: not where a line begins.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(in super::super) fn entering(
        &mut self,
        place: PlaceId,
        is_relative: bool,
    ) -> Result<PlaceId, CompileError> {
        if is_relative && self.places[place].begins.is_none() {
            self.at_level(place, None)
        } else {
            Ok(place)
        }
    }

    /// The place where a line begins, after a newline that left this guard and rest, or after blocks began or ended there.
    ///
    /// # Errors
    /// See [`Stuck`].
    pub(in super::super) fn line(
        &mut self,
        active: ActiveId,
        (guard, rest): (GuardId, RestId),
        levels: Levels,
    ) -> Result<PlaceId, Stuck> {
        let after = self.tails(active, guard)?;
        let begins = Some(Beginning { rest, guard, after });
        Ok(self.intern(Place { may_end: false, letters: Vec::new(), cuts: Vec::new(), levels, begins })?)
    }

    /// The same line after a block began or ended; `None` where none begins.
    ///
    /// # Errors
    /// See [`Stuck`].
    pub(in super::super) fn line_on(
        &mut self,
        place: PlaceId,
        active: ActiveId,
        levels: Levels,
    ) -> Result<Option<PlaceId>, Stuck> {
        let Some(Beginning { rest, guard, .. }) = self.places[place].begins else { return Ok(None) };
        Ok(Some(self.line(active, (guard, rest), levels)?))
    }

    /// The place at the end of the text, with so many open levels.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(in super::super) fn text_end(&mut self, open: u8) -> Result<PlaceId, CompileError> {
        let levels = Levels { open: Some(open), may_indent: false, may_dedent: true };
        self.intern(Place { may_end: true, letters: Vec::new(), cuts: Vec::new(), levels, begins: None })
    }

    /// What may be read where a line begins that is indented by so many blanks: the blanks, the ignored text after them, and the place
    /// to which that leads.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(in super::super) fn indented(
        &mut self,
        place: PlaceId,
        blanks: u32,
    ) -> Result<Vec<(TextsId, TextsId, PlaceId)>, CompileError> {
        let Place { begins: Some(Beginning { rest, after, .. }), levels, .. } = self.places[place].clone()
        else {
            return Ok(Vec::new());
        };
        let Some(blanks) = self.blanks(rest, blanks)? else { return Ok(Vec::new()) };
        let after = after.into_iter();
        after.map(|(tail, place)| Ok((blanks, tail, self.at_level(place, levels.open)?))).collect()
    }

    /// The texts of a rest that are so many blanks.
    fn blanks(&mut self, rest: RestId, column: u32) -> Result<Option<TextsId>, CompileError> {
        if let Some(&known) = self.lines.blanks.get(&(rest, column)) {
            return Ok(known);
        }
        let width = |char| if char == '\t' { TAB } else { 1 };
        let next = |at: &u32, char| Some(at + width(char)).filter(|at| *at <= column);
        let columns = Language::explore(&[' ', '\t'], 0, next, |at| *at == column, self.budget)?;
        let texts = columns.intersection(&self.lines.rests[rest], self.budget)?;
        let id = (!texts.is_empty()).then(|| self.texts_id(texts));
        self.lines.blanks.insert((rest, column), id);
        Ok(id)
    }

    /// The texts of a newline up to their last line feeds, each with the blanks that may follow.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(in super::super) fn divided(
        &mut self,
        texts: TextsId,
    ) -> Result<Vec<(TextsId, RestId)>, CompileError> {
        if let Some(known) = self.lines.divided.get(&texts) {
            return Ok(known.clone());
        }
        // A newline stands for no other grammar.
        let Texts::Plain(language) = &self.texts[texts] else { return Ok(Vec::new()) };
        let language = language.clone();
        let budget = self.budget;
        let sets = [' ', '\t', '\n'].map(|char| CharSet::new([(char, char)]));
        let minterms = Minterms::of(&sets, std::slice::from_ref(&language), budget)?;
        let [space, tab, feed] = [' ', '\t', '\n'].map(|char| minterms.of_char(char));
        let step = |state, minterm| {
            let next = minterms.step(minterm, 0, &language, state);
            (next != CharState::DEAD).then_some(next)
        };
        let line = |line: Line, minterm: Minterm| match line {
            _ if minterm == feed => Line::Empty,
            Line::Empty | Line::Blank if minterm == space || minterm == tab => Line::Blank,
            Line::First => Line::First,
            _ => Line::Other,
        };
        let mut open = vec![(language.start(), Line::First)];
        let mut seen: HashSet<(CharState, Line)> = open.iter().copied().collect();
        while let Some((state, at)) = open.pop() {
            self.lines.has_others |= at == Line::Other && language.may_end(state);
            for minterm in minterms.all() {
                budget.charge_steps("dividing newlines", 1)?;
                let next = step(state, minterm).map(|next| (next, line(at, minterm)));
                open.extend(next.filter(|next| seen.insert(*next)));
            }
        }
        let mut feeds: Vec<CharState> =
            seen.into_iter().filter(|of| of.1 == Line::Empty).map(|of| of.0).collect();
        feeds.sort_unstable();
        let mut by_rest: BTreeMap<RestId, Vec<CharState>> = BTreeMap::new();
        for state in feeds {
            let expand = |&state: &CharState, row: &mut Vec<(Minterm, CharState)>| {
                let blanks = minterms.all().filter(|&minterm| minterm == space || minterm == tab);
                row.extend(blanks.filter_map(|minterm| Some((minterm, step(state, minterm)?))));
                Ok(language.may_end(state))
            };
            let rest = Language::explore_minterms(&minterms, state, expand, budget)?;
            if !rest.is_empty() {
                by_rest.entry(self.rest(rest)).or_default().push(state);
            }
        }
        let mut divided = Vec::with_capacity(by_rest.len());
        for (rest, states) in by_rest {
            let start = (language.start(), false);
            let expand = |&(state, is_fed): &(CharState, bool),
                          row: &mut Vec<(Minterm, (CharState, bool))>| {
                let next = minterms.all().filter_map(|minterm| Some((minterm, step(state, minterm)?)));
                row.extend(next.map(|(minterm, next)| (minterm, (next, minterm == feed))));
                Ok(is_fed && states.contains(&state))
            };
            let texts = Language::explore_minterms(&minterms, start, expand, budget)?;
            divided.push((self.texts_id(texts), rest));
        }
        for &(of, _) in &divided {
            let terminal = self.lines.terminals.map(|[newline, ..]| newline);
            terminal.iter().for_each(|&newline| {
                self.read_as.entry(of).or_insert(newline);
            });
        }
        self.lines.divided.insert(texts, divided.clone());
        Ok(divided)
    }

    fn rest(&mut self, language: Language) -> RestId {
        if let Some(&known) = self.lines.rest_of.get(&language) {
            return known;
        }
        let id = self.lines.rests.push(language.clone());
        self.lines.rest_of.insert(language, id);
        id
    }
}
