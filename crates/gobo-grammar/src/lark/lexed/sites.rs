//! States of the parser that a rule does not tell apart.

use std::collections::HashMap;

use gobo_types::{Budget, CompileError, DenseId as _, Table, dense_id};

use super::bits::Bits;
use super::grammar::{NonterminalId, Productions, Symbol};
use super::lexer::ActiveId;
use super::tables::{ParserState, Tables};

const PHASE: &str = "reading rules at places";

dense_id! {
    /// States of the parser in which a rule has the same texts, with the rule.
    pub(super) struct SiteId;
}

/// The site of each state and rule, and the states of each site.
pub(super) type Sites = (HashMap<(ParserState, NonterminalId), SiteId>, Table<SiteId, Vec<ParserState>>);

/// Sites, each with one of its states: the coarsest partition of states and rules in which equal ones have the same productions along
/// the same active terminals, with the same terminals struck at their ends.
pub(super) fn sites(
    productions: &Productions,
    tables: &Tables,
    active: &Table<ParserState, ActiveId>,
    budget: &Budget,
) -> Result<Sites, CompileError> {
    type Signature<'a> = (SiteId, Vec<(Option<ActiveId>, Option<SiteId>, Option<&'a Bits>)>);
    let mut keys: Vec<(ParserState, NonterminalId)> = Vec::new();
    for (state, shifts) in tables.shifts.enumerate() {
        keys.extend(shifts.keys().filter_map(|symbol| match symbol {
            Symbol::Rule(rule) => Some((state, *rule)),
            Symbol::Terminal(_) => None,
        }));
    }
    let mut site_of: HashMap<(ParserState, NonterminalId), SiteId> =
        keys.iter().map(|&key| (key, SiteId::new(key.1.index()))).collect();
    let mut count = 0;
    loop {
        let mut known: HashMap<Signature<'_>, SiteId> = HashMap::new();
        let mut next = HashMap::with_capacity(keys.len());
        for &(state, rule) in &keys {
            let mut signature = Vec::new();
            for &production in &productions.of[rule] {
                let mut at = state;
                for &symbol in &productions.all[production].body {
                    let site = match symbol {
                        Symbol::Rule(rule) => Some(site_of[&(at, rule)]),
                        Symbol::Terminal(_) => None,
                    };
                    at = tables.shifts[at][&symbol];
                    let active = site.is_none().then(|| active[at]);
                    signature.push((active, site, None));
                }
                signature.push((None, None, tables.struck.get(&(at, production))));
            }
            budget.charge_steps(PHASE, 1 + signature.len() as u64)?;
            let new = SiteId::new(known.len());
            let site = *known.entry((site_of[&(state, rule)], signature)).or_insert(new);
            next.insert((state, rule), site);
        }
        site_of = next;
        if known.len() == count {
            break;
        }
        count = known.len();
    }
    let mut sites = Table::filled(Vec::new(), count);
    for &(state, rule) in &keys {
        sites[site_of[&(state, rule)]].push(state);
    }
    Ok((site_of, sites))
}
