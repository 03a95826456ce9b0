//! The steps, from the grammar to rules over characters, and what the report says of them.

use std::collections::BTreeSet;

use gobo_types::{Budget, CompileError, DenseId as _, Indentation, Lexer, RefusalKind, ReportEntry};

use super::super::modules::{DefinitionId, Modules};
use super::grammar::{OTHER_LEXERS, Productions, Terminal, TerminalId, productions};
use super::indentation::Blocks;
use super::lexer::{Cut, Lexemes};
use super::tables::{Tables, tables};
use super::{emit, frames, merge, variants};
use crate::bnf::{SHOWN_NAMES, shown};
use crate::regex::{Preference, Scanner, Stuck};
use crate::written::{Form, Read, Texts};

/// How many characters after a lexeme may decide where it ends, at most, where texts are read by the states of the parser: what is still undecided
/// behind a lexeme is known of it, with each stack on which it may end.
const MOST_LOOK_AHEAD: u8 = 3;

/// The texts that begin with the rule `start`, and are split into lexemes by one of the lexers that do so. Its lines are
/// indented so, if it has blocks of them.
///
/// # Errors
/// A refusal naming the construct, its line and its column; [`CompileError::OverBudget`].
pub(crate) fn lower(
    modules: &Modules<'_>,
    start: DefinitionId,
    (lexer, indentation): (Lexer, Indentation),
    form: Form,
    budget: &Budget,
) -> Result<Read, CompileError> {
    let is_longest = lexer == Lexer::Longest;
    if modules.initial_skip.is_some() && !is_longest {
        let reason = "%llguidance is of llguidance's dialect, and Lark's lexers have none";
        return Err(CompileError::refuse(RefusalKind::Unsupported, "the whole grammar", reason)
            .spanning(0..0)
            .advising(OTHER_LEXERS));
    }
    let mut productions = productions(modules, start, budget)?;
    let mut tables = tables(&productions, budget)?;
    settle(modules, &productions, &mut tables, lexer)?;
    let blocks = blocks(modules, &mut productions, &tables, (lexer, indentation), budget)?;
    let nodes: Vec<_> = productions.terminals.iter().map(|terminal| terminal.text.node.clone()).collect();
    let scanner = Scanner::of(&nodes, preference(&productions, lexer), budget);
    let scanner = scanner.map_err(|error| placed(modules, &productions, error, budget))?;
    let input = Input { productions: &productions, tables: &tables, blocks: blocks.as_ref(), lexer };
    let entries = input.entries(modules, budget)?;
    let skips = if is_longest { modules.initial_skip.unwrap_or(false) } else { true };
    let unbounded = |read: Option<Texted>| read.expect("only bounded rules are given up");
    let smaller = || match form {
        Form::States if entries.is_some() => Ok(None),
        Form::States | Form::Smaller => {
            by_rules(modules, input, &scanner, (skips, entries.is_some()), budget)
        }
    };
    let checked = blocks.as_ref().map_or(Ok(()), |blocks| blocks.check(modules, &productions, &scanner));
    let read = checked.and_then(|()| match (smaller()?, &entries) {
        (None, Some(entries)) => match (by_states(input, entries, &scanner, budget), form) {
            // Lines by right recursion, say, which rules read as far as the budget goes.
            (Err(Stuck::Over(CompileError::Refused(_))), Form::Smaller) if blocks.is_some() => {
                by_rules(modules, input, &scanner, (skips, false), budget).map(unbounded)
            }
            (read, _) => read,
        },
        (read, _) => Ok(unbounded(read)),
    });
    let (texts, mut narrowed, has_others) = read.map_err(|stuck| match stuck {
        Stuck::Over(error) => error,
        Stuck::Behind(pattern) => {
            let Terminal { name, at, .. } = &productions.terminals[TerminalId::new(pattern)];
            let reason = format!(
                "the terminal {} looks at what stands before it, which is not supported under a lexer",
                shown(name)
            );
            modules.refuse(RefusalKind::Unsupported, at.0, at.1, reason)
        }
    })?;
    if blocks.is_some() {
        narrowed.extend(unlike(indentation, has_others));
    }
    narrowed.extend(productions.said.narrowed.iter().cloned());
    let mut notes = notes(modules, &productions, &tables, is_longest);
    notes.extend(productions.said.notes.iter().cloned());
    Ok(Read { texts, is_indented: blocks.is_some(), narrowed, notes })
}

/// The blocks of a grammar, if it has any.
fn blocks(
    modules: &Modules<'_>,
    productions: &mut Productions,
    tables: &Tables,
    (lexer, indentation): (Lexer, Indentation),
    budget: &Budget,
) -> Result<Option<Blocks>, CompileError> {
    let blocks = Blocks::of(modules, productions, tables, indentation, budget)?;
    if let Some(blocks) = &blocks {
        if lexer == Lexer::Longest {
            let reason = "blocks of indented lines are Lark's, and the lexer longest is llguidance's";
            let error = CompileError::refuse(RefusalKind::Unsupported, "%declare _INDENT _DEDENT", reason);
            return Err(error.advising("Give --lexer contextual or basic (the field lexer)."));
        }
        // The lexer finds newlines, whether or not a rule has them.
        productions.used.extend([blocks.newline]);
        productions.used.sort_unstable();
        productions.used.dedup();
    } else if indentation != Indentation::default() {
        let reason =
            "the lines of texts cannot be indented: the grammar does not declare _INDENT and _DEDENT";
        let error = CompileError::refuse(RefusalKind::Unsupported, "the whole grammar", reason);
        return Err(error.advising("Leave out how they are indented (the field indentation)."));
    }
    Ok(blocks)
}

/// A grammar with its parser.
#[derive(Clone, Copy)]
struct Input<'a> {
    productions: &'a Productions,
    tables: &'a Tables,
    blocks: Option<&'a Blocks>,
    lexer: Lexer,
}

impl Input<'_> {
    /// What may lie on the stack if its texts are read by the states of the parser, which needs that all its terminals are Lark's.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    fn entries(
        self,
        modules: &Modules<'_>,
        budget: &Budget,
    ) -> Result<Option<frames::Entries>, CompileError> {
        let is_plain = |terminal: &Terminal| terminal.text.nested.is_none() && terminal.text.budget.is_none();
        let Input { productions, tables, blocks, lexer } = self;
        let may_have = lexer != Lexer::Longest
            && modules.tokens.sets.is_empty()
            && productions.terminals.iter().all(is_plain);
        if may_have { frames::Entries::of(productions, tables, blocks, budget) } else { Ok(None) }
    }
}

/// Texts, what is left out of them, and whether newlines were met that end in other characters.
type Texted = (Texts, Vec<ReportEntry>, bool);

/// Texts by rules; `None` if they are too many, and the states of the parser can read them.
fn by_rules(
    modules: &Modules<'_>,
    input: Input<'_>,
    scanner: &Scanner<'_>,
    (skips, is_bounded): (bool, bool),
    budget: &Budget,
) -> Result<Option<Texted>, Stuck> {
    let Input { productions, tables, blocks, lexer } = input;
    let look_ahead = lexer.look_ahead().unwrap_or_default().characters();
    let mut lexemes =
        Lexemes::new(&productions.terminals, &productions.ignored, scanner, look_ahead, budget)?;
    lexemes.lines.terminals = blocks.map(Blocks::terminals);
    let options = (lexer, skips, is_bounded);
    let Some(variants) = variants::variants(productions, (tables, blocks), &mut lexemes, options, budget)?
    else {
        return Ok(None);
    };
    let classes = merge::classes(&variants, budget)?;
    let mut grammar = emit::emit(productions, &lexemes, &variants, &classes, budget)?;
    grammar.tokens.clone_from(&modules.tokens.sets);
    let cuts = variants.cuts.iter().map(|&cut| narrowed(productions, &lexemes.guards.cuts[cut]));
    let mut narrowed: Vec<ReportEntry> = cuts.collect();
    if lexemes.undecided_before_nested {
        let why = "values of a schema right after a rule with stop, whose text has several characters, are left out";
        narrowed.push(ReportEntry::whole("lexer", why));
    }
    Ok(Some((Texts::Rules(grammar), narrowed, lexemes.lines.has_others)))
}

/// Texts by the states of the parser.
fn by_states(
    input: Input<'_>,
    entries: &frames::Entries,
    scanner: &Scanner<'_>,
    budget: &Budget,
) -> Result<Texted, Stuck> {
    let Input { productions, tables, blocks, lexer } = input;
    let asked = lexer.look_ahead().unwrap_or_default().characters();
    let look_ahead = asked.min(MOST_LOOK_AHEAD);
    let mut lexemes =
        Lexemes::new(&productions.terminals, &productions.ignored, scanner, look_ahead, budget)?;
    lexemes.lines.terminals = blocks.map(Blocks::terminals);
    let frames = frames::frames(productions, (tables, entries, blocks), &mut lexemes, lexer, budget)?;
    let cuts = frames.cuts.iter().map(|&cut| narrowed(productions, &lexemes.guards.cuts[cut]));
    let mut narrowed: Vec<ReportEntry> = cuts.collect();
    if look_ahead < asked && !narrowed.is_empty() {
        let why = format!(
            "{look_ahead} characters at most decide where a lexeme ends, not {asked}: the grammar is read by the states of its parser"
        );
        narrowed.push(ReportEntry::whole("lexer_look_ahead", why));
    }
    Ok((Texts::States(frames.push_down), narrowed, lexemes.lines.has_others))
}

/// Lets a lexer have its way with conflicts: under Lark's they are settled, and terminals with the empty text are refused; under `longest` all
/// ways stay.
///
/// # Errors
/// The refusal.
pub(super) fn settle(
    modules: &Modules<'_>,
    productions: &Productions,
    tables: &mut Tables,
    lexer: Lexer,
) -> Result<(), CompileError> {
    if lexer == Lexer::Longest {
        tables.settle_nothing();
        return Ok(());
    }
    check_widths(modules, productions)
}

/// Which of several matches a lexer takes.
pub(super) fn preference(productions: &Productions, lexer: Lexer) -> Preference {
    if lexer == Lexer::Longest {
        Preference::Longest(productions.terminals.iter().map(|of| of.text.ending.clone()).collect())
    } else {
        Preference::First
    }
}

/// Refuses terminals with the empty text.
fn check_widths(modules: &Modules<'_>, productions: &Productions) -> Result<(), CompileError> {
    let is_block =
        |id: &&TerminalId| productions.blocks.is_some_and(|(begin, end)| **id == begin || **id == end);
    for &id in productions.used.iter().filter(|id| !is_block(id)) {
        let Terminal { name, text, at, .. } = &productions.terminals[id];
        if text.widths.0 == 0 {
            let reason = format!("the terminal {} has the empty text, which no lexer finds", shown(name));
            return Err(modules.malformed(at.0, at.1, reason));
        }
    }
    Ok(())
}

/// Gives a refusal without a place that of the terminal which is at fault.
fn placed(
    modules: &Modules<'_>,
    productions: &Productions,
    error: CompileError,
    budget: &Budget,
) -> CompileError {
    let CompileError::Refused(refusal) = error else { return error };
    for terminal in productions.terminals.iter().filter(|terminal| terminal.text.node.looks_around()) {
        let node = std::slice::from_ref(&terminal.text.node);
        match Scanner::of(node, Preference::First, budget) {
            Ok(_) => {}
            Err(CompileError::Refused(of_terminal)) => {
                let reason = format!("the terminal {}: {}", shown(&terminal.name), of_terminal.reason);
                return modules.refuse(refusal.kind, terminal.at.0, terminal.at.1, reason);
            }
            Err(error) => return error,
        }
    }
    CompileError::Refused(refusal)
}

/// Which texts with blocks are left out.
fn unlike(indentation: Indentation, has_others: bool) -> Vec<ReportEntry> {
    let (by, depth) = (indentation.by(), indentation.depth());
    let why = format!(
        "lines are indented by {by} blanks for each level, where a tab counts as 8, up to {depth} levels: other texts are left out"
    );
    let mut entries = vec![ReportEntry::whole("indentation", why)];
    if has_others {
        let why = "a newline that goes on with other characters than blanks after its last line feed is left out, outside of brackets";
        entries.push(ReportEntry::whole("indentation", why));
    }
    entries
}

fn narrowed(productions: &Productions, cut: &Cut) -> ReportEntry {
    let name = |&pattern: &usize| shown(&productions.terminals[TerminalId::new(pattern)].name);
    let above: Vec<String> = cut.above.iter().take(SHOWN_NAMES).map(name).collect();
    let other = if above.is_empty() { "what it looks ahead for".to_owned() } else { above.join(", ") };
    let why = format!(
        "whether {} ends or {other} goes on is not decided by so few characters after it as {:?}: such texts are left out",
        name(&cut.ended),
        cut.example
    );
    ReportEntry::whole("lexer", why)
}

fn notes(
    modules: &Modules<'_>,
    productions: &Productions,
    tables: &Tables,
    is_longest: bool,
) -> Vec<ReportEntry> {
    let mut notes: Vec<ReportEntry> = (modules.remarks.iter())
        .filter(|remark| is_longest || **remark != "priority")
        .map(|&remark| ReportEntry::whole(remark, "it means nothing for texts"))
        .collect();
    if is_longest && !productions.said.lazy.is_empty() {
        let names: Vec<String> =
            productions.said.lazy.iter().take(SHOWN_NAMES).map(|name| shown(name)).collect();
        let why = format!(
            "the longest text is the lexeme, so the lazy repetition of {} goes on past its first end; [lazy] at a rule ends it there",
            names.join(", ")
        );
        notes.push(ReportEntry::whole("lazy", why));
    }
    if tables.shifted > 0 {
        let why = format!("{} shift/reduce conflicts are decided by shifting, as in Lark", tables.shifted);
        notes.push(ReportEntry::whole("conflicts", why));
    }
    let pairs: BTreeSet<(String, String)> = (tables.undecided.iter())
        .map(|&(one, other, _)| {
            let name = |production| shown(&productions.names[productions.all[production].origin]);
            (name(one), name(other))
        })
        .collect();
    if !pairs.is_empty() {
        let shown: Vec<String> =
            pairs.iter().take(SHOWN_NAMES).map(|(one, other)| format!("{one} and {other}")).collect();
        let why = format!(
            "nothing decides between rules that end at one place, and Lark refuses the grammar: all readings stay ({})",
            shown.join("; ")
        );
        notes.push(ReportEntry::whole("conflicts", why));
    }
    notes
}
