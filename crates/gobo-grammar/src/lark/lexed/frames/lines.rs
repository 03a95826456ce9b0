//! Lines and blocks, read by states of the parser: the steps of [`super`] that texts of terminals do not decide.
//!
//! A newline leads to a place that begins a line. Where it is known how many blocks are open, the parser shifts terminals that begin or end
//! blocks, which have no text, and before any other terminal the blanks of the level are read. Where it is not known, the parser reduces as
//! long as it reduces before each terminal that may come next. If it may shift one, the level is sought: frames are popped up to a level, and
//! are kept above it, so that nothing of the stack is lost.
//!
//! At the end of a text, blocks end too.

use gobo_automata::{EndId, Node};
use gobo_types::{CompileError, DenseId as _, RefusalKind};

use super::super::bits::Bits;
use super::super::grammar::TerminalId;
use super::super::lexer::{GuardId, Levels, PlaceId, RestId, TextsId};
use super::actions::{Action, Stack};
use super::entries::{Entry, PHASE, Placed};
use super::{End, Explorer, Key, Ways};
use crate::bnf::shown;
use crate::regex::Stuck;

/// The most frames above a level where a line begins. Python has 13 at most.
const MOST_SOUGHT: usize = 64;

impl Explorer<'_, '_> {
    /// How many blocks are open at a place with this above the frames, where that matters, if it is known.
    pub(super) fn level(&self, stack: &[Entry], place: PlaceId) -> Option<u8> {
        let of = &self.lexemes.places[place];
        let does_matter = of.begins.is_some() || of.levels.may_dedent;
        let on_stack = || stack.iter().rev().find_map(|entry| entry.level());
        of.levels.open.or_else(|| if does_matter { on_stack() } else { None })
    }

    /// A newline has ended, but for blanks.
    pub(super) fn expand_newline(
        &mut self,
        to: Placed,
        (guard, rest): (GuardId, RestId),
        node: &mut Node,
    ) -> Result<(), Stuck> {
        let levels = Levels { open: None, may_indent: true, may_dedent: true };
        let [outside, _] = self.active[to.state];
        let line = self.lexemes.line(outside, (guard, rest), levels)?;
        let stack = vec![Entry::State(to)];
        let Some(line) = self.next(&stack, line)? else { return Ok(()) };
        self.expand_line(&stack, line, node)
    }

    /// Where a line begins.
    pub(super) fn expand_line(
        &mut self,
        stack: &Stack,
        place: PlaceId,
        node: &mut Node,
    ) -> Result<(), Stuck> {
        let Some(blocks) = self.blocks else { return Ok(()) };
        let levels = self.lexemes.places[place].levels;
        let actions = self.parser.actions(stack)?;
        let next = self.lexemes.next(place);
        let is_pop = |action: &Action| matches!(action, Action::Pop(..));
        if levels.open.is_none() && !next.iter().all(|terminal| actions.of[terminal].iter().all(is_pop)) {
            node.ends.push(self.seek(stack.clone(), place)?);
            return Ok(());
        }
        let mut ways = Ways::default();
        let end = self.productions.terminals.len();
        let mut is_read = Bits::new(end + 1);
        let mut is_end = false;
        for terminal in next.iter() {
            self.budget.charge_steps(PHASE, 1 + actions.of[terminal].len() as u64)?;
            for action in &actions.of[terminal] {
                match action {
                    Action::Pop(rule, frames) => self.pop((*rule, *frames), terminal, &mut ways),
                    Action::Shift(below) if terminal == blocks.indent.index() => {
                        self.indent(below, place, node)?;
                    }
                    Action::Shift(below) if terminal == blocks.dedent.index() => {
                        if levels.may_dedent {
                            self.dedent(below, place, node)?;
                        }
                        // Blanks that stand at the end of the text.
                        is_read.insert(terminal);
                    }
                    Action::Accept => is_end = true,
                    Action::Shift(_) => is_read.insert(terminal),
                }
            }
        }
        if is_end {
            let place = self.only(place, end)?;
            self.begin_line(&[], (stack, place), node)?;
        }
        if !is_read.is_empty() {
            let place = self.lexemes.without(place, &is_read.complement())?;
            // What is pushed is not popped before something is read, and there are no blanks without a block.
            let pushed = if levels.open == Some(0) { 0 } else { stack.len() - 1 };
            let (below, top) = stack.split_at(pushed);
            self.begin_line(&self.parser.frames(below), (&top.to_vec(), place), node)?;
        }
        Ok(self.go_ways(place, ways, node)?)
    }

    /// Reads the blanks of a line, when frames have been pushed: what is below the state on top does not matter to them.
    pub(super) fn begin_line(
        &mut self,
        stack: &[Entry],
        (top, place): (&Stack, PlaceId),
        node: &mut Node,
    ) -> Result<(), CompileError> {
        if let Some((&first, rest)) = stack.split_first() {
            let above = self.known(Key::AboveLine(rest.to_vec(), top.clone(), place))?;
            node.pushes.push((self.frame(first), above));
            return Ok(());
        }
        let (Some(blocks), Some(level)) = (self.blocks, self.lexemes.places[place].levels.open) else {
            return Ok(());
        };
        let blanks = u32::from(level) * u32::from(blocks.indentation.by());
        for (blanks, tail, place) in self.lexemes.indented(place, blanks)? {
            let to = if tail == TextsId::EMPTY {
                self.between(top.clone(), place)?
            } else {
                Some(self.known(Key::Indented(tail, top.clone(), place))?)
            };
            if let Some(to) = to {
                node.reads.push(self.read(blanks, to)?);
            }
        }
        Ok(())
    }

    /// Begins a block.
    fn indent(&mut self, below: &Stack, place: PlaceId, node: &mut Node) -> Result<(), Stuck> {
        let (Some(blocks), Some(open)) = (self.blocks, self.lexemes.places[place].levels.open) else {
            return Ok(());
        };
        if open == blocks.indentation.depth() {
            return Ok(());
        }
        let levels = Levels { open: Some(open + 1), may_indent: false, may_dedent: false };
        self.on(below, (blocks.indent, levels), place, node)
    }

    /// Ends a block.
    fn dedent(&mut self, below: &Stack, place: PlaceId, node: &mut Node) -> Result<(), Stuck> {
        let (Some(blocks), Some(open)) = (self.blocks, self.lexemes.places[place].levels.open) else {
            return Ok(());
        };
        let Some(open) = open.checked_sub(1) else { return Ok(()) };
        let levels = Levels { open: Some(open), may_indent: false, may_dedent: true };
        self.on(below, (blocks.dedent, levels), place, node)
    }

    /// Goes on after a block has begun or ended: in the same line, or at the end of the text.
    fn on(
        &mut self,
        below: &Stack,
        (terminal, levels): (TerminalId, Levels),
        place: PlaceId,
        node: &mut Node,
    ) -> Result<(), Stuck> {
        let Some(to) = self.shifted(below, terminal) else { return Ok(()) };
        let [outside, _] = self.active[to.state];
        let line = self.lexemes.line_on(place, outside, levels)?;
        let line = match (line, levels.open) {
            (Some(line), _) => line,
            (None, open) => self.lexemes.text_end(open.unwrap_or_default())?,
        };
        let mut stack = below.clone();
        stack.extend([Entry::Level(levels.open.unwrap_or_default()), Entry::State(to)]);
        match self.next(&stack, line)? {
            Some(line) => self.expand_between(&stack, line, node),
            None => Ok(()),
        }
    }

    /// Ends blocks at the end of a text.
    pub(super) fn end_blocks(
        &mut self,
        stack: &Stack,
        place: PlaceId,
        ways: &mut Ways,
        node: &mut Node,
    ) -> Result<(), Stuck> {
        let Some(blocks) = self.blocks else { return Ok(()) };
        let (dedent, level) = (blocks.dedent.index(), self.lexemes.places[place].levels.open);
        let actions = self.parser.actions(stack)?;
        let mut is_sought = false;
        for action in &actions.of[dedent] {
            match action {
                Action::Pop(rule, frames) => self.pop((*rule, *frames), dedent, ways),
                Action::Shift(below) if level.is_some() => self.dedent(below, place, node)?,
                Action::Shift(_) => is_sought = true,
                Action::Accept => {}
            }
        }
        if is_sought {
            let place = self.only(place, dedent)?;
            node.ends.push(self.seek(stack.clone(), place)?);
        }
        Ok(())
    }

    /// A place before nothing but one terminal.
    fn only(&mut self, place: PlaceId, terminal: usize) -> Result<PlaceId, CompileError> {
        let mut only = Bits::new(self.productions.terminals.len() + 1);
        only.insert(terminal);
        self.lexemes.without(place, &only.complement())
    }

    /// The end of the whole text, with nothing on the stack: a level at its bottom is popped before.
    pub(super) fn accept(&mut self, stack: &Stack, place: PlaceId) -> Result<EndId, CompileError> {
        if self.blocks.is_none() || stack.iter().any(|entry| entry.level().is_some()) {
            return Ok(EndId::WHOLE);
        }
        let end = self.productions.terminals.len();
        let place = self.only(place, end)?;
        self.seek(stack.clone(), place)
    }

    fn seek(&mut self, stack: Stack, place: PlaceId) -> Result<EndId, CompileError> {
        if stack.len() > MOST_SOUGHT {
            let name = shown(&self.made.frames[self.frame(stack[0])].name);
            let reason = format!(
                "more than {MOST_SOUGHT} symbols may stand before a line since the last block began, which is not supported in a grammar that is \
                 read by the states of its parser"
            );
            let error = CompileError::refuse(RefusalKind::Unsupported, format!("after {name}"), reason);
            return Err(error.advising("Let lines follow each other by `+` or `*`, or by left recursion."));
        }
        self.end(End::Seek(stack, place))
    }

    /// Where a text goes on when an entry is found below those from which the level is sought; `None` if nothing may come next.
    pub(super) fn sought(
        &mut self,
        found: Entry,
        above: Stack,
        place: PlaceId,
    ) -> Result<Option<Key>, CompileError> {
        let mut stack = vec![found];
        stack.extend(above);
        if found.level().is_none() {
            return Ok(Some(Key::Ending(self.seek(stack, place)?)));
        }
        self.at(stack, place)
    }
}
