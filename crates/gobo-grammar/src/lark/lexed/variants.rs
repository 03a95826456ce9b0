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
use super::grammar::{NonterminalId, ProductionId, Productions, Symbol, TerminalId};
use super::indentation::Blocks;
use super::lexer::{ActiveId, CutId, GuardId, Lexemes, PlaceId, TextsId};
use super::sites::{SiteId, sites};
use super::tables::{ParserState, START, Tables};
use crate::regex::Stuck;

const PHASE: &str = "reading rules at places";

/// The most exits of variants that become rules, where that is bounded. A rule is written for each of them, and the largest grammars that are
/// served well have a quarter as many (SQL: 129); those that rules do not serve have ten times as many (Lark's own: 4,511).
const MOST_EXITS: usize = 512;

/// Bytes of a node and of an edge.
const NODE_BYTES: u64 = 112;

dense_id! {
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
    pub(super) production: ProductionId,
    pub(super) read: usize,
    pub(super) state: ParserState,
    pub(super) place: PlaceId,
    /// How much of the production its variants read.
    pub(super) end: usize,
    /// Whether its variants begin within brackets.
    pub(super) is_inside: bool,
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
    /// Symbols of the caller's production that it reads, if it is no rule but a part of that production.
    part: Option<usize>,
    /// Whether its caller knows which levels are open.
    is_relative: bool,
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
    /// What is read after exits of the start rule at which the text may end: two texts, the empty ones mostly.
    endings: HashMap<PlaceId, Vec<(TextsId, TextsId)>>,
    /// Guards that are cut.
    pub(super) cuts: BTreeSet<CutId>,
}

impl Variants {
    /// What a whole text ends with after an exit of the start rule: texts in the order in which they are read, each possibly empty.
    pub(super) fn endings(&self, exit: PlaceId) -> &[(TextsId, TextsId)] {
        self.endings.get(&exit).map_or(&[], Vec::as_slice)
    }
}

/// The site of a variant, the beginning of a part of a production that it is, its place, and whether it begins within brackets.
type VariantKey = (SiteId, Option<(ProductionId, usize)>, PlaceId, bool);

/// The site of a node, its production, how much of that was read and will be, its place, and whether it is within brackets.
type NodeKey = (SiteId, ProductionId, (usize, usize), PlaceId, bool);

/// What explores the variants of a grammar.
pub(super) struct Explorer<'a, 'b> {
    productions: &'a Productions,
    pub(super) tables: &'a Tables,
    pub(super) blocks: Option<&'a Blocks>,
    pub(super) lexemes: &'a mut Lexemes<'b>,
    /// The lexers after a terminal that leads to a state: outside of brackets, and within them.
    active: Table<ParserState, [ActiveId; 2]>,
    site_of: HashMap<(ParserState, NonterminalId), SiteId>,
    /// The states of each site.
    sites: Table<SiteId, Vec<ParserState>>,
    /// What cannot come next: see [`Explorer::barred`].
    barred: HashMap<(SiteId, ProductionId, usize), Rc<Bits>>,
    variants: Table<VariantId, Variant>,
    variant_of: HashMap<VariantKey, VariantId>,
    pub(super) nodes: Table<NodeId, Node>,
    node_of: HashMap<NodeKey, NodeId>,
    /// Nodes without edges so far.
    open: Vec<NodeId>,
    /// Variants that lead to a node, which does not know it so far.
    leading: Vec<(NodeId, VariantId)>,
    cuts: BTreeSet<CutId>,
    /// The exits of all variants.
    exits: usize,
    budget: &'a Budget,
}

/// The variants of a grammar. Active are the terminals of an action, unless the lexer is Lark's basic one: then all. `skips` says whether
/// ignored text may stand first. `None` if they are to be bounded and have more than [`MOST_EXITS`].
///
/// # Errors
/// See [`Stuck`].
pub(super) fn variants(
    productions: &Productions,
    (tables, blocks): (&Tables, Option<&Blocks>),
    lexemes: &mut Lexemes<'_>,
    (lexer, skips, is_bounded): (Lexer, bool, bool),
    budget: &Budget,
) -> Result<Option<Variants>, Stuck> {
    let mut all = Bits::new(productions.terminals.len() + 1);
    productions.used.iter().for_each(|terminal| all.insert(terminal.index()));
    let mut active = Table::new();
    for (state, actions) in tables.actions.enumerate() {
        let mut of_state = if matches!(lexer, Lexer::Basic(_)) { all.clone() } else { actions.clone() };
        of_state.remove(productions.terminals.len());
        let newline = blocks.map(|blocks| blocks.prepare(&mut of_state));
        // No shift leads to the first state.
        let skips = skips || state != START;
        active.push([lexemes.active(&of_state, None, skips)?, lexemes.active(&of_state, newline, skips)?]);
    }
    let outside = active.iter().map(|active| active[0]).collect();
    let (site_of, sites) = sites(productions, tables, &outside, budget)?;
    let mut explorer = Explorer {
        productions,
        tables,
        blocks,
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
        exits: 0,
        budget,
    };
    let mut starts = Vec::new();
    let [first, _] = explorer.active[START];
    let open = blocks.map(|_| 0);
    let tails = if skips {
        explorer.lexemes.tails(first, GuardId::PASS)?
    } else {
        vec![(TextsId::EMPTY, explorer.lexemes.place(first, GuardId::PASS)?)]
    };
    for (texts, place) in tails {
        let place = explorer.lexemes.at_level(place, open)?;
        starts.push((texts, explorer.variant(START, productions.start, place, false)?));
    }
    loop {
        if let Some((node, variant)) = explorer.leading.pop() {
            explorer.lead(node, variant)?;
        } else if let Some(node) = explorer.open.pop() {
            explorer.expand(node)?;
        } else {
            break;
        }
        if is_bounded && explorer.exits > MOST_EXITS {
            return Ok(None);
        }
    }
    let mut endings = HashMap::new();
    for &(_, variant) in &starts {
        for exit in explorer.variants[variant].exits.clone() {
            let of = explorer.endings(exit)?;
            endings.insert(exit, of);
        }
    }
    let mut cuts = explorer.cuts;
    cuts.extend(&explorer.lexemes.cut_in_tails);
    Ok(Some(Variants { all: explorer.variants, nodes: explorer.nodes, starts, endings, cuts }))
}

impl Explorer<'_, '_> {
    fn variant(
        &mut self,
        state: ParserState,
        rule: NonterminalId,
        entry: PlaceId,
        is_inside: bool,
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
        let entry = match self.blocks {
            Some(blocks) => self.lexemes.entering(entry, is_inside || !blocks.count_levels[rule])?,
            None => entry,
        };
        let key = (site, None, entry, is_inside);
        if let Some(&known) = self.variant_of.get(&key) {
            return Ok(known);
        }
        self.budget.charge_bytes(PHASE, NODE_BYTES)?;
        let id = self.add(key, rule, None);
        for &production in &self.productions.of[rule] {
            let at = (site, production, 0, self.sites[site][0]);
            let end = self.productions.all[production].body.len();
            let start = self.node(at, end, entry, is_inside)?;
            self.variants[id].starts.push(start);
            self.leading.push((start, id));
        }
        Ok(id)
    }

    fn add(&mut self, key: VariantKey, rule: NonterminalId, part: Option<usize>) -> VariantId {
        let (exits, callers, starts) = (Vec::new(), Vec::new(), Vec::new());
        let is_relative = self.lexemes.places[key.2].levels.open.is_none();
        let id = self.variants.push(Variant { rule, site: key.0, exits, part, is_relative, callers, starts });
        self.variant_of.insert(key, id);
        id
    }

    /// The variant of the part of a production that begins at a node and ends after so many of its symbols, which need not know which
    /// levels are open.
    fn part(&mut self, id: NodeId, end: usize) -> Result<VariantId, CompileError> {
        let Node { site, production, read, state, place, is_inside, .. } = self.nodes[id];
        let entry = self.lexemes.at_level(place, None)?;
        let key = (site, Some((production, read)), entry, is_inside);
        if let Some(&known) = self.variant_of.get(&key) {
            return Ok(known);
        }
        self.budget.charge_bytes(PHASE, NODE_BYTES)?;
        let id = self.add(key, self.productions.all[production].origin, Some(end - read));
        let start = self.node((site, production, read, state), end, entry, is_inside)?;
        self.variants[id].starts.push(start);
        self.leading.push((start, id));
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

    /// The node where so much of a production at a site was read, which led to a state.
    pub(super) fn node(
        &mut self,
        (site, production, read, state): (SiteId, ProductionId, usize, ParserState),
        end: usize,
        place: PlaceId,
        is_inside: bool,
    ) -> Result<NodeId, CompileError> {
        let barred = self.barred(site, production, read)?;
        let place = self.lexemes.without(place, &barred)?;
        let key = (site, production, (read, end), place, is_inside);
        if let Some(&known) = self.node_of.get(&key) {
            return Ok(known);
        }
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, NODE_BYTES)?;
        self.budget.check_states(PHASE, self.nodes.len())?;
        let (edges, of) = (Vec::new(), Vec::new());
        let node = Node { site, production, read, state, place, end, is_inside, edges, exit: None, of };
        let id = self.nodes.push(node);
        self.node_of.insert(key, id);
        self.open.push(id);
        Ok(id)
    }

    pub(super) fn edge(&mut self, from: NodeId, edge: Edge) -> Result<(), CompileError> {
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

    /// The state after the next terminal of a node; `None` where the parser has none.
    pub(super) fn shifted(&self, id: NodeId) -> Option<ParserState> {
        let Node { production, read, state, .. } = self.nodes[id];
        self.tables.shifts[state].get(self.productions.all[production].body.get(read)?).copied()
    }

    /// The lexer after a terminal that leads to a state, outside of brackets.
    pub(super) fn active_after(&self, state: ParserState) -> ActiveId {
        self.active[state][0]
    }

    /// Notes the guards that are cut where a terminal is read.
    pub(super) fn cut(&mut self, place: PlaceId, terminal: TerminalId) -> Result<(), CompileError> {
        let of = &self.lexemes.places[place];
        self.cuts.extend(of.cuts.iter().filter(|cut| cut.1 == terminal).map(|cut| cut.0));
        self.budget.charge_steps(PHASE, of.cuts.len() as u64)
    }

    fn expand(&mut self, id: NodeId) -> Result<(), Stuck> {
        let Node { site, production, read, state, place, end, is_inside, .. } = self.nodes[id];
        let next = self.productions.all[production].body[..end].get(read).copied();
        if let (Some(blocks), Some(next)) = (self.blocks, next) {
            if self.expand_line(id, next, blocks)? {
                return Ok(());
            }
            if let Some(part) = self.relative_part(id, blocks) {
                let called = self.part(id, part)?;
                return Ok(self.call(id, called)?);
            }
        }
        match next {
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
                self.cut(place, terminal)?;
                let Some(next) = self.tables.shift(state, terminal) else { return Ok(()) };
                let open = self.lexemes.places[place].levels.open;
                let is_within = is_inside
                    || self.blocks.is_some_and(|blocks| blocks.is_within_brackets(production, read + 1));
                let active = self.active[next][usize::from(is_within)];
                for letter in self.lexemes.letters(place, terminal)? {
                    for (tail, place) in self.lexemes.tails(active, letter.guard)? {
                        let place = self.lexemes.at_level(place, open)?;
                        let at = (site, production, read + 1, next);
                        let to = self.node(at, end, place, is_inside)?;
                        self.edge(id, Edge::Letter { texts: letter.texts, tail, to })?;
                    }
                }
            }
            Some(Symbol::Rule(rule)) => {
                let is_within = is_inside
                    || self.blocks.is_some_and(|blocks| blocks.is_within_brackets(production, read));
                let called = self.variant(state, rule, place, is_within)?;
                self.call(id, called)?;
            }
        }
        Ok(())
    }

    fn call(&mut self, id: NodeId, called: VariantId) -> Result<(), CompileError> {
        self.variants[called].callers.push(id);
        for exit in self.variants[called].exits.clone() {
            self.go_on(id, called, exit)?;
        }
        Ok(())
    }

    /// Goes on in a caller after an exit of what it calls.
    fn go_on(&mut self, caller: NodeId, called: VariantId, exit: PlaceId) -> Result<(), CompileError> {
        let Node { site, production, read, state, place, end, is_inside, .. } = self.nodes[caller];
        let after = read + self.variants[called].part.unwrap_or(1);
        let body = &self.productions.all[production].body;
        let next = body[read..after].iter().fold(state, |state, symbol| self.tables.shifts[state][symbol]);
        let place = if self.variants[called].is_relative {
            self.lexemes.at_level(exit, self.lexemes.places[place].levels.open)?
        } else {
            exit
        };
        let to = self.node((site, production, after, next), end, place, is_inside)?;
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
        self.exits += 1;
        for caller in callers.clone() {
            self.go_on(caller, variant, place)?;
        }
        Ok(())
    }
}
