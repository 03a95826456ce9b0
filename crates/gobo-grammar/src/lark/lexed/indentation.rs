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
use super::lexer::lexer;
use super::tables::Tables;
use crate::bnf::shown;
use crate::regex::{Node, Scanner, Stuck};

const PHASE: &str = "reading rules at places";

/// Names of the terminal of newlines, the first of which counts.
const NEWLINES: [&str; 2] = ["_NEWLINE", "_NL"];

/// What opens brackets and what closes them.
const BRACKETS: [&str; 2] = ["([{", ")]}"];

/// A fact about each rule.
type OfRules = Table<NonterminalId, bool>;

/// What is known of a grammar with blocks before its texts are.
pub(super) struct Blocks {
    pub(super) newline: TerminalId,
    pub(super) indent: TerminalId,
    pub(super) dedent: TerminalId,
    pub(super) indentation: Indentation,
    /// Whether a line or a block may begin within texts of a rule, so that it has to know which levels are open.
    pub(super) count_levels: Table<NonterminalId, bool>,
    /// Whether texts of a rule may begin with the beginning or the end of a block, or be empty.
    pub(super) may_begin: Table<NonterminalId, bool>,
    /// `[productions][symbols]`: how many brackets are open before each symbol of a production, and after the last.
    brackets: Table<ProductionId, Vec<u32>>,
    /// `[productions][symbols]`: where a part that begins before each symbol ends, which need not know which levels are open.
    pub(super) parts: Table<ProductionId, Vec<usize>>,
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
        let may_begin = productions.names.ids().map(begins).collect();
        Ok(Some(Self { newline, indent, dedent, indentation, count_levels, may_begin, brackets, parts }))
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

    /// How many brackets of a production are open after so many of its symbols.
    pub(super) fn brackets(&self, production: ProductionId, read: usize) -> u32 {
        self.brackets[production][read]
    }

    /// Whether brackets of a production are open after so many of its symbols.
    pub(super) fn is_within_brackets(&self, production: ProductionId, read: usize) -> bool {
        self.brackets(production, read) > 0
    }

    /// Whether each production ends the blocks that it begins, and no others.
    pub(super) fn are_balanced(&self, productions: &Productions) -> bool {
        productions.all.iter().all(|production| {
            let open = production.body.iter().try_fold(0_u32, |open, symbol| match *symbol {
                Symbol::Terminal(terminal) if terminal == self.indent => Some(open + 1),
                Symbol::Terminal(terminal) if terminal == self.dedent => open.checked_sub(1),
                Symbol::Terminal(_) | Symbol::Rule(_) => Some(open),
            });
            open == Some(0)
        })
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
pub(super) fn bracket(terminal: &Terminal) -> Option<bool> {
    let only = only_text(&terminal.text.node)?;
    let is_in = |brackets: &str| brackets.contains(&only) && only.len() == 1;
    let [opens, closes] = BRACKETS.map(is_in);
    (opens || closes).then_some(opens)
}

/// The text of a pattern that has one, whatever it looks at beside it.
fn only_text(node: &Node) -> Option<String> {
    match node {
        Node::Text(text) => Some(text.clone()),
        Node::Chars(set) => set.only().map(String::from),
        Node::Concat(parts) => parts.iter().map(only_text).collect(),
        Node::Look(_) => Some(String::new()),
        Node::Named(_, node) => only_text(node),
        Node::Alternate(_) | Node::Repeat { .. } | Node::Texts(_) => None,
    }
}

/// Two facts about each rule. The first: a line or a block may begin within its texts, because it has a terminal of blocks, or a symbol
/// after one that may end with a newline, or calls such a rule. The second: its texts may end with a newline.
fn counting(
    productions: &Productions,
    tables: &Tables,
    [newline, indent, dedent]: [TerminalId; 3],
    budget: &Budget,
) -> Result<(OfRules, OfRules), CompileError> {
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
