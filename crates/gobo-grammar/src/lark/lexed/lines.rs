//! Variants where lines and blocks begin and end: the steps of [`super::variants`] that texts of terminals do not decide.
//!
//! A newline leads to a place that begins a line. There the terminals of blocks are read, which have no text: one that begins a block right
//! after the newline, or any number that end one. Every other symbol first reads the blanks of the level that is then open, unless it
//! is a rule whose texts may begin with a terminal of blocks; that rule reads them itself. At the end of the text blocks end, too.

use gobo_types::CompileError;

use super::grammar::{Symbol, TerminalId};
use super::indentation::Blocks;
use super::lexer::{Levels, PlaceId, TextsId};
use super::variants::{Edge, Explorer, Node, NodeId};
use crate::regex::Stuck;

impl Explorer<'_, '_> {
    /// The end of the part of a production that begins at a node and is read alike at every level, if it is longer than a symbol.
    pub(super) fn relative_part(&self, id: NodeId, blocks: &Blocks) -> Option<usize> {
        let Node { production, read, place, is_inside, .. } = self.nodes[id];
        let end = blocks.parts[production][read];
        let place = &self.lexemes.places[place];
        (place.levels.open.is_some() && place.begins.is_none() && !is_inside && end - read > 1).then_some(end)
    }

    /// Reads on from a node where newlines and blocks decide what is read; whether it was one.
    ///
    /// # Errors
    /// See [`Stuck`].
    pub(super) fn expand_line(&mut self, id: NodeId, next: Symbol, blocks: &Blocks) -> Result<bool, Stuck> {
        let place = self.nodes[id].place;
        let does_begin = self.lexemes.places[place].begins.is_some();
        match next {
            Symbol::Terminal(terminal) if terminal == blocks.indent => self.indent(id, blocks)?,
            Symbol::Terminal(terminal) if terminal == blocks.dedent => {
                self.dedent(id, blocks)?;
                // Blanks that stand at the end of the text.
                self.read_blanks(id, blocks)?;
            }
            Symbol::Rule(rule) if does_begin && blocks.may_begin[rule] => return Ok(false),
            _ if does_begin => self.read_blanks(id, blocks)?,
            Symbol::Terminal(terminal) if terminal == blocks.newline => self.newline(id, terminal)?,
            Symbol::Terminal(_) | Symbol::Rule(_) => return Ok(false),
        }
        Ok(true)
    }

    /// An edge that reads texts and the next terminal of a production.
    fn shift(&mut self, id: NodeId, texts: TextsId, place: PlaceId) -> Result<(), Stuck> {
        let node = &self.nodes[id];
        let (end, is_inside) = (node.end, node.is_inside);
        if let (site, production, read, Some(state)) =
            (node.site, node.production, node.read + 1, self.shifted(id))
        {
            let to = self.node((site, production, read, state), end, place, is_inside)?;
            self.edge(id, Edge::Letter { texts, tail: TextsId::EMPTY, to })?;
        }
        Ok(())
    }

    fn newline(&mut self, id: NodeId, newline: TerminalId) -> Result<(), Stuck> {
        let place = self.nodes[id].place;
        self.cut(place, newline)?;
        let Some(state) = self.shifted(id) else { return Ok(()) };
        let active = self.active_after(state);
        let open = self.lexemes.places[place].levels.open;
        for letter in self.lexemes.letters(place, newline)? {
            for (texts, rest) in self.lexemes.divided(letter.texts)? {
                let levels = Levels { open, may_indent: true, may_dedent: true };
                let line = self.lexemes.line(active, (letter.guard, rest), levels)?;
                self.shift(id, texts, line)?;
            }
        }
        Ok(())
    }

    fn indent(&mut self, id: NodeId, blocks: &Blocks) -> Result<(), Stuck> {
        let place = self.nodes[id].place;
        let levels = self.lexemes.places[place].levels;
        let (Some(open), true) = (levels.open, levels.may_indent) else { return Ok(()) };
        let (Some(state), true) = (self.shifted(id), open < blocks.indentation.depth()) else {
            return Ok(());
        };
        let levels = Levels { open: Some(open + 1), may_indent: false, may_dedent: false };
        if let Some(line) = self.lexemes.line_on(place, self.active_after(state), levels)? {
            self.shift(id, TextsId::EMPTY, line)?;
        }
        Ok(())
    }

    fn dedent(&mut self, id: NodeId, blocks: &Blocks) -> Result<(), Stuck> {
        let place = self.nodes[id].place;
        let levels = self.lexemes.places[place].levels;
        let (Some(open), true) = (levels.open, levels.may_dedent) else { return Ok(()) };
        let (Some(open), Some(state)) = (open.checked_sub(1), self.shifted(id)) else { return Ok(()) };
        debug_assert!(open < blocks.indentation.depth());
        let levels = Levels { open: Some(open), may_indent: false, may_dedent: true };
        let line = self.lexemes.line_on(place, self.active_after(state), levels)?;
        let to = match line {
            Some(line) => line,
            None => self.lexemes.text_end(open)?,
        };
        self.shift(id, TextsId::EMPTY, to)
    }

    /// Reads the blanks of a line where no block begins or ends any more.
    fn read_blanks(&mut self, id: NodeId, blocks: &Blocks) -> Result<(), Stuck> {
        let node = &self.nodes[id];
        let (place, at) = (node.place, (node.site, node.production, node.read, node.state));
        let (end, is_inside) = (node.end, node.is_inside);
        let Some(open) = self.lexemes.places[place].levels.open else { return Ok(()) };
        let blanks = u32::from(open) * u32::from(blocks.indentation.by());
        for (blanks, tail, place) in self.lexemes.indented(place, blanks)? {
            let to = self.node(at, end, place, is_inside)?;
            self.edge(id, Edge::Letter { texts: blanks, tail, to })?;
        }
        Ok(())
    }

    /// The texts with which a whole text may end after an exit of the start rule.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn endings(&mut self, exit: PlaceId) -> Result<Vec<(TextsId, TextsId)>, CompileError> {
        let is_end = |place: PlaceId, explorer: &Self| {
            let of = &explorer.lexemes.places[place];
            of.may_end && of.levels.open.unwrap_or(0) == 0
        };
        let mut endings = Vec::new();
        if is_end(exit, self) {
            endings.push((TextsId::EMPTY, TextsId::EMPTY));
        }
        // A line begins after the last newline, without blanks: all blocks have ended.
        for (blanks, tail, place) in self.lexemes.indented(exit, 0)? {
            if is_end(place, self) {
                endings.push((blanks, tail));
            }
        }
        Ok(endings)
    }
}
