//! The order in which terminals are tried, and which keywords are kept from names.
//!
//! Lark's lexer tries the terminals that are active as one alternation: the highest priority first, then the longest possible match,
//! then the longest pattern, then the name. A text terminal that a regular expression of the same priority matches wholly leaves the
//! alternation, and a match of that expression with just this text takes its name.

use gobo_types::{DenseId as _, Table};

use super::super::bits::Bits;
use super::super::grammar::{Terminal, TerminalId};
use crate::regex::{Place, Scanner, Stuck};

/// A lexer: the terminals that are active, in the order in which they are tried.
#[derive(Debug)]
pub(in super::super) struct Lexer {
    /// The patterns that are tried.
    pub(in super::super) order: Vec<usize>,
    /// Expressions with the text terminals that take their matches, in the order in which these are asked.
    pub(in super::super) keywords: Vec<(usize, Vec<TerminalId>)>,
    /// Terminals whose texts are those of another grammar.
    pub(super) nested: Vec<TerminalId>,
}

/// The lexer of a set of terminals of which the longest match wins: none is preferred, and none is kept from another one.
pub(super) fn longest(active: &Bits, terminals: &Table<TerminalId, Terminal>) -> Lexer {
    let all = terminals.ids().filter(|id| active.contains(id.index()));
    let (nested, order): (Vec<TerminalId>, Vec<_>) = all.partition(|&id| terminals[id].text.nested.is_some());
    Lexer { order: order.into_iter().map(TerminalId::index).collect(), keywords: Vec::new(), nested }
}

/// The lexer of a set of terminals; the pattern of a terminal has its number.
///
/// # Errors
/// See [`Stuck`].
pub(in super::super) fn lexer(
    active: &Bits,
    terminals: &Table<TerminalId, Terminal>,
    scanner: &Scanner<'_>,
) -> Result<Lexer, Stuck> {
    let mut order: Vec<TerminalId> = terminals.ids().filter(|id| active.contains(id.index())).collect();
    order.sort_by_cached_key(|&id| {
        let Terminal { name, priority, text, .. } = &terminals[id];
        (-priority, std::cmp::Reverse((text.widths.1, text.length)), name.clone())
    });
    let mut keywords = Vec::new();
    let mut is_embedded = Table::filled(false, terminals.len());
    for &expression in order.iter().filter(|&&id| terminals[id].text.literal.is_none()) {
        let of = &terminals[expression];
        let mut texts = Vec::new();
        for &id in &order {
            let text = &terminals[id];
            let Some(literal) = &text.text.literal else { continue };
            if text.priority == of.priority && matches(scanner, expression.index(), literal)? {
                texts.push(id);
                is_embedded[id] |= text.text.flags.are_in(of.text.flags);
            }
        }
        if !texts.is_empty() {
            keywords.push((expression.index(), texts));
        }
    }
    let order = order.into_iter().filter(|&id| !is_embedded[id]).map(TerminalId::index).collect();
    Ok(Lexer { order, keywords, nested: Vec::new() })
}

/// Whether what a pattern finds first at the beginning of a text is all of it.
fn matches(scanner: &Scanner<'_>, pattern: usize, text: &str) -> Result<bool, Stuck> {
    let minterms: Vec<_> = text.chars().map(|char| scanner.minterms().of_char(char)).collect();
    let mut threads = scanner.begin(&[pattern])?;
    let mut end = None;
    for at in 0..=minterms.len() {
        for ended in 0..threads.entries.len() {
            let entry = &threads.entries[ended];
            if !matches!(entry.place, Place::Ended(_)) {
                continue;
            }
            let mut obligations = Some(entry.obligations.clone());
            for &minterm in &minterms[at..] {
                if let Some(before) = obligations {
                    obligations = scanner.obligations_after(&before, minterm)?;
                }
            }
            if obligations.is_some_and(|left| scanner.are_met(&left)) {
                end = Some(at);
                threads = scanner.only(&threads, ended);
                break;
            }
        }
        if let Some(&minterm) = minterms.get(at) {
            threads = scanner.step(&threads, minterm)?;
        }
    }
    Ok(end == Some(minterms.len()))
}
