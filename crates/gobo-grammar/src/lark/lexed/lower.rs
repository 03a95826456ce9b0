//! The steps, from the grammar to rules over characters, and what the report says of them.

use std::collections::BTreeSet;

use gobo_types::{Budget, CompileError, DenseId as _, LookAhead, RefusalKind, ReportEntry};

use super::super::modules::{DefinitionId, Modules};
use super::grammar::{Productions, Terminal, TerminalId, WITHOUT_LEXER, productions};
use super::lexer::{Cut, Lexemes};
use super::tables::{Tables, tables};
use super::{emit, merge, variants};
use crate::bnf::{SHOWN_NAMES, shown};
use crate::regex::{Scanner, Stuck};
use crate::written::Read;

/// The grammar over characters whose texts begin with the rule `start`, and are split into lexemes; with `contextual` only those terminals
/// are active that the parser can use.
///
/// # Errors
/// A refusal naming the construct, its line and its column; [`CompileError::OverBudget`].
pub(crate) fn lower(
    modules: &Modules<'_>,
    start: DefinitionId,
    contextual: bool,
    look_ahead: LookAhead,
    budget: &Budget,
) -> Result<Read, CompileError> {
    if modules.initial_skip.is_some() {
        let reason = "%llguidance is of llguidance's dialect, and Lark's lexers have none";
        return Err(CompileError::refuse(RefusalKind::Unsupported, "the whole grammar", reason)
            .spanning(0..0)
            .advising(WITHOUT_LEXER));
    }
    let productions = productions(modules, start, budget)?;
    check_widths(modules, &productions)?;
    let tables = tables(&productions, budget)?;
    let nodes: Vec<_> = productions.terminals.iter().map(|terminal| terminal.text.node.clone()).collect();
    let scanner =
        Scanner::of(&nodes, budget).map_err(|error| placed(modules, &productions, error, budget))?;
    let mut lexemes = Lexemes::new(
        &productions.terminals,
        &productions.ignored,
        &scanner,
        look_ahead.characters(),
        budget,
    )?;
    let variants = variants::variants(&productions, &tables, &mut lexemes, contextual, budget);
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
    let narrowed =
        variants.cuts.iter().map(|&cut| narrowed(&productions, &lexemes.guards.cuts[cut])).collect();
    let notes = notes(modules, &productions, &tables);
    Ok(Read { grammar, narrowed, notes })
}

/// Refuses terminals with the empty text.
///
/// # Errors
/// The refusal.
pub(super) fn check_widths(modules: &Modules<'_>, productions: &Productions) -> Result<(), CompileError> {
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
        match Scanner::of(std::slice::from_ref(&terminal.text.node), budget) {
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

fn notes(modules: &Modules<'_>, productions: &Productions, tables: &Tables) -> Vec<ReportEntry> {
    let mut notes: Vec<ReportEntry> = (modules.remarks.iter())
        .filter(|remark| **remark != "priority")
        .map(|&remark| ReportEntry::whole(remark, "it means nothing for texts"))
        .collect();
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
