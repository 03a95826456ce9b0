//! Blocks of indented lines, as Lark's `Indenter` makes them of newlines.
//!
//! The lexer finds newlines; after each of them stand as many terminals without a text as blocks begin (one) or end (any number), and at the
//! end of the text those of all blocks that are still open. Within brackets newlines are dropped. Everything else is the parser's affair.
//!
//! Of a place in a text it so matters how many blocks are open, because that decides which blanks a line begins with; but only to rules
//! in which a line begins, or a block. Such rules have variants for each number of *levels*, up to a bound; all others, among them those
//! that end with a newline, are read alike at every level, and their callers remember it. Where a line begins, nothing is known of it
//! until blocks have begun or ended ([`super::lexer`], `lines`): so no rule has to guess how its last line is followed.
//!
//! Within a rule that knows the level, the part of an alternative between two blocks does not: such parts are variants of their own, so that
//! the head of a block is there once and not once for each level.
//!
//! Brackets are counted within an alternative of a rule: it has to close what it opens, or it is refused. A rule then begins
//! within brackets or outside of them, and has variants for both.
//!
//! Invariant: texts are those that Lark reads, whose lines are indented by a fixed number of blanks for each level. Cost: the rules with
//! blocks, times the levels; other rules twice, within brackets and outside.

use gobo_types::{Budget, CompileError, DenseId as _, Indentation, RefusalKind, Table};

use super::super::modules::Modules;
use super::bits::Bits;
use super::grammar::{NonterminalId, ProductionId, Productions, Symbol, Terminal, TerminalId};
use super::lexer::{Levels, PlaceId, TextsId, lexer};
use super::tables::Tables;
use super::variants::{Edge, Explorer, Node, NodeId};
use crate::bnf::shown;
use crate::regex::{Node as Pattern, Scanner, Stuck};

const PHASE: &str = "reading rules at places";

/// Names of the terminal of newlines, the first of which counts.
const NEWLINES: [&str; 2] = ["_NEWLINE", "_NL"];

/// What opens brackets and what closes them.
const BRACKETS: [&str; 2] = ["([{", ")]}"];

/// What is known of a grammar with blocks before its texts are.
pub(super) struct Blocks {
    pub(super) newline: TerminalId,
    indent: TerminalId,
    dedent: TerminalId,
    indentation: Indentation,
    /// Whether a line or a block may begin within texts of a rule, so that it has to know which levels are open.
    pub(super) count_levels: Table<NonterminalId, bool>,
    /// Whether texts of a rule may begin with the beginning or the end of a block, or be empty.
    begins_blocks: Table<NonterminalId, bool>,
    /// `[productions][symbols]`: how many brackets are open before each symbol of a production, and after the last.
    brackets: Table<ProductionId, Vec<u32>>,
    /// `[productions][symbols]`: where a part that begins before each symbol ends, which need not know which levels are open.
    parts: Table<ProductionId, Vec<usize>>,
}

impl Blocks {
    /// The blocks of a grammar, if it declares their terminals.
    ///
    /// # Errors
    /// A refusal of a grammar without newlines or with brackets that are not closed where they are opened;
    /// [`CompileError::OverBudget`].
    pub(super) fn of(
        modules: &Modules<'_>,
        productions: &Productions,
        tables: &Tables,
        indentation: Indentation,
        budget: &Budget,
    ) -> Result<Option<Self>, CompileError> {
        let Some((indent, dedent)) = productions.blocks else { return Ok(None) };
        let named =
            |name: &&str| productions.terminals.ids().find(|&id| productions.terminals[id].name == *name);
        let Some(newline) = NEWLINES.iter().find_map(named) else {
            let reason = "blocks of indented lines need a terminal of newlines, _NEWLINE or _NL";
            return Err(CompileError::refuse(RefusalKind::Unsupported, "%declare _INDENT _DEDENT", reason));
        };
        if productions.ignored.contains(&newline) {
            let Terminal { name, at, .. } = &productions.terminals[newline];
            let reason =
                format!("newlines are ignored ({}), and blocks of indented lines need them", shown(name));
            return Err(modules.refuse(RefusalKind::Unsupported, at.0, at.1, reason));
        }
        let brackets = brackets(productions, budget)?;
        let (count_levels, ends) = counting(productions, tables, [newline, indent, dedent], budget)?;
        let parts = parts(productions, &count_levels, &ends, [newline, indent, dedent]);
        let begins = |rule: NonterminalId| {
            let first = &tables.first[rule];
            tables.nullable[rule] || first.contains(indent.index()) || first.contains(dedent.index())
        };
        let begins_blocks = productions.names.ids().map(begins).collect();
        Ok(Some(Self { newline, indent, dedent, indentation, count_levels, begins_blocks, brackets, parts }))
    }

    /// The terminals of a newline, and of the beginning and the end of a block.
    pub(super) fn terminals(&self) -> [TerminalId; 3] {
        [self.newline, self.indent, self.dedent]
    }

    /// Makes active what a lexer finds: newlines always, and never what has no text. Returns newlines, which are dropped within brackets.
    pub(super) fn prepare(&self, active: &mut Bits) -> TerminalId {
        active.remove(self.indent.index());
        active.remove(self.dedent.index());
        active.insert(self.newline.index());
        self.newline
    }

    /// Whether brackets of a production are open after so many of its symbols.
    pub(super) fn is_within_brackets(&self, production: ProductionId, read: usize) -> bool {
        self.brackets[production][read] > 0
    }

    /// Refuses newlines that are read as what another terminal matches.
    ///
    /// # Errors
    /// A refusal of the terminal; [`CompileError::OverBudget`].
    pub(super) fn check(
        &self,
        modules: &Modules<'_>,
        productions: &Productions,
        scanner: &Scanner<'_>,
    ) -> Result<(), Stuck> {
        let mut used = Bits::new(productions.terminals.len() + 1);
        productions.used.iter().for_each(|terminal| used.insert(terminal.index()));
        let newline = self.prepare(&mut used);
        let lexer = lexer(&used, &productions.terminals, scanner)?;
        let Some((other, _)) = lexer.keywords.iter().find(|of| of.1.contains(&newline)) else {
            return Ok(());
        };
        let Terminal { name, at, .. } = &productions.terminals[newline];
        let other = shown(&productions.terminals[TerminalId::new(*other)].name);
        let reason = format!(
            "the newline {} is a text of {other} too, which is not supported with blocks",
            shown(name)
        );
        Err(modules.refuse(RefusalKind::Unsupported, at.0, at.1, reason).into())
    }
}

/// How many brackets are open before each symbol of each production, and after its last.
fn brackets(
    productions: &Productions,
    budget: &Budget,
) -> Result<Table<ProductionId, Vec<u32>>, CompileError> {
    let mut brackets = Table::new();
    for production in &productions.all {
        budget.charge_steps(PHASE, production.body.len() as u64)?;
        let mut open = Some(0_u32);
        let mut all = vec![0];
        for symbol in &production.body {
            let Symbol::Terminal(terminal) = *symbol else {
                all.extend(open);
                continue;
            };
            let of = bracket(&productions.terminals[terminal]);
            open = match (open, of) {
                (Some(open), Some(true)) => Some(open + 1),
                (Some(open), Some(false)) => open.checked_sub(1),
                (open, _) => open,
            };
            all.extend(open);
        }
        if open != Some(0) {
            let name = shown(&productions.names[production.origin]);
            let reason = "an alternative opens and closes brackets that do not match within it, which is not supported with blocks of \
                          indented lines: newlines are dropped within brackets";
            return Err(CompileError::refuse(RefusalKind::Unsupported, format!("the rule {name}"), reason)
                .advising("Let each alternative, and each repeated or optional part, close the brackets that it opens."));
        }
        brackets.push(all);
    }
    Ok(brackets)
}

/// Whether a terminal's only text is a bracket, and opens.
fn bracket(terminal: &Terminal) -> Option<bool> {
    let only = only_text(&terminal.text.node)?;
    let is_in = |brackets: &str| brackets.contains(&only) && only.len() == 1;
    let [opens, closes] = BRACKETS.map(is_in);
    (opens || closes).then_some(opens)
}

/// The text of a pattern that has one, whatever it looks at beside it.
fn only_text(node: &Pattern) -> Option<String> {
    match node {
        Pattern::Text(text) => Some(text.clone()),
        Pattern::Chars(set) => set.only().map(String::from),
        Pattern::Concat(parts) => parts.iter().map(only_text).collect(),
        Pattern::Look(_) => Some(String::new()),
        Pattern::Alternate(_) | Pattern::Repeat { .. } | Pattern::Texts(_) => None,
    }
}

/// Two facts about each rule. The first: a line or a block may begin within its texts, because it has a terminal of blocks, or a symbol
/// after one that may end with a newline, or calls such a rule. The second: its texts may end with a newline.
fn counting(
    productions: &Productions,
    tables: &Tables,
    [newline, indent, dedent]: [TerminalId; 3],
    budget: &Budget,
) -> Result<(Table<NonterminalId, bool>, Table<NonterminalId, bool>), CompileError> {
    let mut ends = Table::filled(false, productions.names.len());
    let mut counts = Table::filled(false, productions.names.len());
    loop {
        let mut has_changed = false;
        for production in &productions.all {
            budget.charge_steps(PHASE, 1 + production.body.len() as u64)?;
            // Whether what was read so far may end with a newline.
            let mut is_line = false;
            let mut does_count = false;
            for symbol in &production.body {
                does_count |= is_line;
                match *symbol {
                    Symbol::Terminal(terminal) => {
                        is_line = terminal == newline;
                        does_count |= terminal == indent || terminal == dedent;
                    }
                    Symbol::Rule(rule) => {
                        is_line = ends[rule] || (is_line && tables.nullable[rule]);
                        does_count |= counts[rule];
                    }
                }
            }
            let (ends, counts) = (&mut ends[production.origin], &mut counts[production.origin]);
            has_changed |= (is_line && !*ends) || (does_count && !*counts);
            *ends |= is_line;
            *counts |= does_count;
        }
        if !has_changed {
            counts[productions.start] = true;
            return Ok((counts, ends));
        }
    }
}

/// Where the longest part ends that begins before each symbol of each production, has no blocks, and has a newline at its end alone.
fn parts(
    productions: &Productions,
    counts: &Table<NonterminalId, bool>,
    ends: &Table<NonterminalId, bool>,
    [newline, indent, dedent]: [TerminalId; 3],
) -> Table<ProductionId, Vec<usize>> {
    let of = |body: &[Symbol]| {
        let mut parts = vec![body.len(); body.len() + 1];
        for (at, &symbol) in body.iter().enumerate().rev() {
            let (is_counted, is_line) = match symbol {
                Symbol::Terminal(terminal) => (terminal == indent || terminal == dedent, terminal == newline),
                Symbol::Rule(rule) => (counts[rule], ends[rule]),
            };
            parts[at] = match (is_counted, is_line) {
                (true, _) => at,
                (false, true) => at + 1,
                (false, false) => parts[at + 1],
            };
        }
        parts
    };
    productions.all.iter().map(|production| of(&production.body)).collect()
}

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
            Symbol::Rule(rule) if does_begin && blocks.begins_blocks[rule] => return Ok(false),
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
