//! Rules by the places at which they begin and end: the product of the productions with the lexemes (Bar-Hillel, Perles & Shamir 1961).
//!
//! What a rule has for texts depends on the parser's state in which it begins, because that decides which terminals are active within it,
//! and on the place; and it ends at several places, its *exits*. A *variant* is a rule with the first two. A node is a production, how
//! much of it was read, and the place; an edge reads a letter with its tail, or a text of a variant that ends at an exit. Nodes know which
//! variants lead to them, so that those that begin at several places share what is the same after the first symbol. Variants are
//! found from the start on, exits as they come up, each told to all nodes that call the variant.
//!
//! Of a place only what can come next matters: the letters of terminals with which the rest of a production begins, and, if that may be
//! empty, of those before which the production ends at the site. All others are taken from the place of a node.
//!
//! Of the parser's state only what can be told apart matters: states are *sites* by the terminals that are active within a rule and by
//! what is struck there, a partition that is refined until it is stable.
//!
//! Invariant: a text leads from a variant's beginning to an exit exactly if the parser reads it as the rule, and the lexer ends it there.
//! Cost: nodes, times letters; the budget bounds it.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use gobo_types::{Budget, CompileError, DenseId as _, Lexer, Table, dense_id};

use super::bits::Bits;
use super::grammar::{NonterminalId, ProductionId, Productions, Symbol};
use super::lexer::{ActiveId, CutId, GuardId, Lexemes, PlaceId, TextsId};
use super::tables::{ParserState, START, Tables};
use crate::regex::Stuck;

const PHASE: &str = "reading rules at places";

/// Bytes of a node and of an edge.
const NODE_BYTES: u64 = 112;

dense_id! {
    /// States of the parser in which a rule has the same texts, with the rule.
    pub(super) struct SiteId;

    /// A rule that begins at a site and a place.
    pub(super) struct VariantId;

    /// Where a variant stands in a production.
    pub(super) struct NodeId;
}

/// What leads from a node to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Edge {
    /// A letter and its tail.
    Letter { texts: TextsId, tail: TextsId, to: NodeId },
    /// A text of a variant that ends at a place.
    Call { variant: VariantId, exit: PlaceId, to: NodeId },
}

/// A node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) site: SiteId,
    production: ProductionId,
    read: usize,
    state: ParserState,
    place: PlaceId,
    pub(super) edges: Vec<Edge>,
    /// The exit that variants have here, at the end of the production.
    pub(super) exit: Option<PlaceId>,
    /// The variants that lead here, ascending.
    of: Vec<VariantId>,
}

/// A variant.
#[derive(Debug)]
pub(super) struct Variant {
    pub(super) rule: NonterminalId,
    pub(super) site: SiteId,
    pub(super) exits: Vec<PlaceId>,
    /// The nodes that call it.
    callers: Vec<NodeId>,
    pub(super) starts: Vec<NodeId>,
}

/// All variants of a grammar.
pub(super) struct Variants {
    pub(super) all: Table<VariantId, Variant>,
    pub(super) nodes: Table<NodeId, Node>,
    /// What may stand first, and the variant of the whole text after it.
    pub(super) starts: Vec<(TextsId, VariantId)>,
    /// `[places]`: whether the text may end.
    is_final: Table<PlaceId, bool>,
    /// Guards that are cut.
    pub(super) cuts: BTreeSet<CutId>,
}

impl Variants {
    /// Whether a whole text may end at an exit of the start rule.
    pub(super) fn may_end(&self, exit: PlaceId) -> bool {
        self.is_final[exit]
    }
}

/// The site of each state and rule, and the states of each site.
type Sites = (HashMap<(ParserState, NonterminalId), SiteId>, Table<SiteId, Vec<ParserState>>);

struct Explorer<'a, 'b> {
    productions: &'a Productions,
    tables: &'a Tables,
    lexemes: &'a mut Lexemes<'b>,
    active: Table<ParserState, ActiveId>,
    site_of: HashMap<(ParserState, NonterminalId), SiteId>,
    /// The states of each site.
    sites: Table<SiteId, Vec<ParserState>>,
    /// What cannot come next: see [`Explorer::barred`].
    barred: HashMap<(SiteId, ProductionId, usize), Rc<Bits>>,
    variants: Table<VariantId, Variant>,
    variant_of: HashMap<(SiteId, PlaceId), VariantId>,
    nodes: Table<NodeId, Node>,
    node_of: HashMap<(SiteId, ProductionId, usize, PlaceId), NodeId>,
    /// Nodes without edges so far.
    open: Vec<NodeId>,
    /// Variants that lead to a node, which does not know it so far.
    leading: Vec<(NodeId, VariantId)>,
    cuts: BTreeSet<CutId>,
    budget: &'a Budget,
}

/// The variants of a grammar. Active are the terminals of an action, unless the lexer is Lark's basic one: then all. `skips` says whether
/// ignored text may stand first.
///
/// # Errors
/// See [`Stuck`].
pub(super) fn variants(
    productions: &Productions,
    tables: &Tables,
    lexemes: &mut Lexemes<'_>,
    (lexer, skips): (Lexer, bool),
    budget: &Budget,
) -> Result<Variants, Stuck> {
    let mut all = Bits::new(productions.terminals.len() + 1);
    productions.used.iter().for_each(|terminal| all.insert(terminal.index()));
    let mut active = Table::new();
    for (state, actions) in tables.actions.enumerate() {
        let mut of_state = if matches!(lexer, Lexer::Basic(_)) { all.clone() } else { actions.clone() };
        of_state.remove(productions.terminals.len());
        // No shift leads to the first state.
        active.push(lexemes.active(&of_state, skips || state != START)?);
    }
    let (site_of, sites) = sites(productions, tables, &active, budget)?;
    let mut explorer = Explorer {
        productions,
        tables,
        lexemes,
        active,
        site_of,
        sites,
        barred: HashMap::new(),
        variants: Table::new(),
        variant_of: HashMap::new(),
        nodes: Table::new(),
        node_of: HashMap::new(),
        open: Vec::new(),
        leading: Vec::new(),
        cuts: BTreeSet::new(),
        budget,
    };
    let mut starts = Vec::new();
    let first = explorer.active[START];
    let tails = if skips {
        explorer.lexemes.tails(first, GuardId::PASS)?
    } else {
        vec![(TextsId::EMPTY, explorer.lexemes.place(first, GuardId::PASS)?)]
    };
    for (texts, place) in tails {
        starts.push((texts, explorer.variant(START, productions.start, place)?));
    }
    loop {
        if let Some((node, variant)) = explorer.leading.pop() {
            explorer.lead(node, variant)?;
        } else if let Some(node) = explorer.open.pop() {
            explorer.expand(node)?;
        } else {
            break;
        }
    }
    let mut cuts = explorer.cuts;
    cuts.extend(&explorer.lexemes.cut_in_tails);
    let is_final = explorer.lexemes.places.iter().map(|place| place.may_end).collect();
    Ok(Variants { all: explorer.variants, nodes: explorer.nodes, starts, is_final, cuts })
}

/// Sites, each with one of its states: the coarsest partition of states and rules in which equal ones have the same productions along
/// the same active terminals, with the same terminals struck at their ends.
fn sites(
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

impl Explorer<'_, '_> {
    fn variant(
        &mut self,
        state: ParserState,
        rule: NonterminalId,
        entry: PlaceId,
    ) -> Result<VariantId, CompileError> {
        let site = self.site_of[&(state, rule)];
        let mut barred: Option<Bits> = None;
        for &production in &self.productions.of[rule] {
            let of = self.barred(site, production, 0)?;
            match &mut barred {
                None => barred = Some((*of).clone()),
                Some(barred) => barred.intersect(&of),
            }
        }
        let entry = match barred {
            Some(barred) => self.lexemes.without(entry, &barred)?,
            None => entry,
        };
        if let Some(&known) = self.variant_of.get(&(site, entry)) {
            return Ok(known);
        }
        self.budget.charge_bytes(PHASE, NODE_BYTES)?;
        let (exits, callers, starts) = (Vec::new(), Vec::new(), Vec::new());
        let id = self.variants.push(Variant { rule, site, exits, callers, starts });
        self.variant_of.insert((site, entry), id);
        for &production in &self.productions.of[rule] {
            let start = self.node(site, production, 0, self.sites[site][0], entry)?;
            self.variants[id].starts.push(start);
            self.leading.push((start, id));
        }
        Ok(id)
    }

    /// The terminals that cannot come next in a production at a site, the end of the text after them.
    fn barred(
        &mut self,
        site: SiteId,
        production: ProductionId,
        read: usize,
    ) -> Result<Rc<Bits>, CompileError> {
        let key = (site, production, read);
        if let Some(known) = self.barred.get(&key) {
            return Ok(Rc::clone(known));
        }
        let mut next = Bits::new(self.productions.terminals.len() + 1);
        let body = &self.productions.all[production].body;
        let mut may_end = true;
        for symbol in &body[read..] {
            self.budget.charge_steps(PHASE, next.words() as u64)?;
            match *symbol {
                Symbol::Terminal(terminal) => {
                    next.insert(terminal.index());
                    may_end = false;
                }
                Symbol::Rule(rule) => {
                    next.unite(&self.tables.first[rule]);
                    may_end = self.tables.nullable[rule];
                }
            }
            if !may_end {
                break;
            }
        }
        if may_end {
            for &state in &self.sites[site] {
                self.budget.charge_steps(PHASE, (body.len() + next.words()) as u64)?;
                let end = body.iter().fold(state, |state, symbol| self.tables.shifts[state][symbol]);
                if let Some(ahead) = self.tables.ahead.get(&(end, production)) {
                    next.unite(ahead);
                }
            }
        }
        self.budget.charge_bytes(PHASE, NODE_BYTES + next.words() as u64 * 8)?;
        let barred = Rc::new(next.complement());
        self.barred.insert(key, Rc::clone(&barred));
        Ok(barred)
    }

    fn node(
        &mut self,
        site: SiteId,
        production: ProductionId,
        read: usize,
        state: ParserState,
        place: PlaceId,
    ) -> Result<NodeId, CompileError> {
        let barred = self.barred(site, production, read)?;
        let place = self.lexemes.without(place, &barred)?;
        let key = (site, production, read, place);
        if let Some(&known) = self.node_of.get(&key) {
            return Ok(known);
        }
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, NODE_BYTES)?;
        self.budget.check_states(PHASE, self.nodes.len())?;
        let (edges, of) = (Vec::new(), Vec::new());
        let id = self.nodes.push(Node { site, production, read, state, place, edges, exit: None, of });
        self.node_of.insert(key, id);
        self.open.push(id);
        Ok(id)
    }

    fn edge(&mut self, from: NodeId, edge: Edge) -> Result<(), CompileError> {
        let of = &self.nodes[from].of;
        self.budget.charge_steps(PHASE, 1 + of.len() as u64)?;
        self.budget.charge_bytes(PHASE, NODE_BYTES / 4)?;
        let (Edge::Letter { to, .. } | Edge::Call { to, .. }) = edge;
        self.leading.extend(of.iter().map(|&variant| (to, variant)));
        self.nodes[from].edges.push(edge);
        Ok(())
    }

    /// Tells a node that a variant leads to it, and with it all that come after.
    fn lead(&mut self, id: NodeId, variant: VariantId) -> Result<(), CompileError> {
        let node = &mut self.nodes[id];
        self.budget.charge_steps(PHASE, 1)?;
        let Err(at) = node.of.binary_search(&variant) else { return Ok(()) };
        self.budget.charge_steps(PHASE, (node.edges.len() + node.of.len() / 8) as u64)?;
        self.budget.charge_bytes(PHASE, 4)?;
        node.of.insert(at, variant);
        for edge in &node.edges {
            let (Edge::Letter { to, .. } | Edge::Call { to, .. }) = *edge;
            self.leading.push((to, variant));
        }
        match node.exit {
            Some(exit) => self.leave(variant, exit),
            None => Ok(()),
        }
    }

    fn expand(&mut self, id: NodeId) -> Result<(), Stuck> {
        let Node { site, production, read, state, place, .. } = self.nodes[id];
        match self.productions.all[production].body.get(read).copied() {
            None => {
                let struck = self.tables.struck.get(&(state, production));
                let place = match struck {
                    Some(struck) => self.lexemes.without(place, struck)?,
                    None => place,
                };
                self.nodes[id].exit = Some(place);
                for variant in self.nodes[id].of.clone() {
                    self.leave(variant, place)?;
                }
            }
            Some(Symbol::Terminal(terminal)) => {
                let of = &self.lexemes.places[place];
                self.cuts.extend(of.cuts.iter().filter(|cut| cut.1 == terminal).map(|cut| cut.0));
                self.budget.charge_steps(PHASE, of.cuts.len() as u64)?;
                let Some(next) = self.tables.shift(state, terminal) else { return Ok(()) };
                for letter in self.lexemes.letters(place, terminal)? {
                    for (tail, place) in self.lexemes.tails(self.active[next], letter.guard)? {
                        let to = self.node(site, production, read + 1, next, place)?;
                        self.edge(id, Edge::Letter { texts: letter.texts, tail, to })?;
                    }
                }
            }
            Some(Symbol::Rule(rule)) => {
                let called = self.variant(state, rule, place)?;
                self.variants[called].callers.push(id);
                for exit in self.variants[called].exits.clone() {
                    self.go_on(id, called, exit)?;
                }
            }
        }
        Ok(())
    }

    /// Goes on in a caller after an exit of what it calls.
    fn go_on(&mut self, caller: NodeId, called: VariantId, exit: PlaceId) -> Result<(), CompileError> {
        let Node { site, production, read, state, .. } = self.nodes[caller];
        let next = self.tables.shifts[state][&Symbol::Rule(self.variants[called].rule)];
        let to = self.node(site, production, read + 1, next, exit)?;
        self.edge(caller, Edge::Call { variant: called, exit, to })
    }

    /// Ends a variant at a place.
    fn leave(&mut self, variant: VariantId, place: PlaceId) -> Result<(), CompileError> {
        let Variant { exits, callers, .. } = &mut self.variants[variant];
        self.budget.charge_steps(PHASE, 1 + exits.len() as u64)?;
        if exits.contains(&place) {
            return Ok(());
        }
        exits.push(place);
        for caller in callers.clone() {
            self.go_on(caller, variant, place)?;
        }
        Ok(())
    }
}
