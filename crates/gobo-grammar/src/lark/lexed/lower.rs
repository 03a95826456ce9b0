//! The steps, from the grammar to rules over characters, and what the report says of them.

use std::collections::BTreeSet;

use gobo_types::{Budget, CompileError, DenseId as _, Lexer, RefusalKind, ReportEntry};

use super::super::modules::{DefinitionId, Modules};
use super::grammar::{OTHER_LEXERS, Productions, Terminal, TerminalId, productions};
use super::lexer::{Cut, Lexemes};
use super::tables::{Tables, tables};
use super::{emit, merge, variants};
use crate::bnf::{SHOWN_NAMES, shown};
use crate::regex::{Preference, Scanner, Stuck};
use crate::written::Read;

/// The grammar over characters whose texts begin with the rule `start`, and are split into lexemes by one of the lexers that do so.
///
/// # Errors
/// A refusal naming the construct, its line and its column; [`CompileError::OverBudget`].
pub(crate) fn lower(
    modules: &Modules<'_>,
    start: DefinitionId,
    lexer: Lexer,
    budget: &Budget,
) -> Result<Read, CompileError> {
    let is_longest = lexer == Lexer::Longest;
    if modules.initial_skip.is_some() && !is_longest {
        let reason = "%llguidance is of llguidance's dialect, and Lark's lexers have none";
        return Err(CompileError::refuse(RefusalKind::Unsupported, "the whole grammar", reason)
            .spanning(0..0)
            .advising(OTHER_LEXERS));
    }
    let productions = productions(modules, start, budget)?;
    let mut tables = tables(&productions, budget)?;
    if is_longest {
        // All ways stay.
        tables.settle_nothing();
    } else {
        check_widths(modules, &productions)?;
    }
    let nodes: Vec<_> = productions.terminals.iter().map(|terminal| terminal.text.node.clone()).collect();
    let preference = if is_longest {
        Preference::Longest(productions.terminals.iter().map(|of| of.text.ending.clone()).collect())
    } else {
        Preference::First
    };
    let scanner = Scanner::of(&nodes, preference, budget);
    let scanner = scanner.map_err(|error| placed(modules, &productions, error, budget))?;
    let mut lexemes = Lexemes::new(
        &productions.terminals,
        &productions.ignored,
        &scanner,
        lexer.look_ahead().unwrap_or_default().characters(),
        budget,
    )?;
    let skips = if is_longest { modules.initial_skip.unwrap_or(false) } else { true };
    let variants = variants::variants(&productions, &tables, &mut lexemes, (lexer, skips), budget);
    let variants = variants.map_err(|stuck| match stuck {
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
    let classes = merge::classes(&variants, budget)?;
    let grammar = emit::emit(&productions, &lexemes, &variants, &classes, budget)?;
    let narrowed = variants.cuts.iter().map(|&cut| narrowed(&productions, &lexemes.guards.cuts[cut]));
    let before_nested = lexemes.undecided_before_nested.then(|| {
        let why = "values of a schema right after a rule with stop, whose text has several characters, are left out";
        ReportEntry::whole("lexer", why)
    });
    let narrowed = narrowed.chain(before_nested).chain(productions.said.narrowed.iter().cloned());
    let narrowed = narrowed.collect();
    let mut notes = notes(modules, &productions, &tables, is_longest);
    notes.extend(productions.said.notes.iter().cloned());
    Ok(Read { grammar, narrowed, notes })
}

/// Refuses terminals with the empty text.
fn check_widths(modules: &Modules<'_>, productions: &Productions) -> Result<(), CompileError> {
    for &id in &productions.used {
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
