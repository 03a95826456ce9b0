//! Texts by the states of the parser: a push-down automaton whose frames are what the LALR(1) parser keeps on its stack.
//!
//! Between two lexemes a text stands in a state that a terminal has led to, at a place that says what may be read next. What the parser does then is
//! settled by the next terminal: it reduces, which pops a state for each symbol of a production and puts one above what is left, and in
//! the end it shifts. A production of `n` symbols pops the state at hand and `n - 1` frames, so it is an *end*: its rule, the frames that are
//! still to be popped, and the place, of which only the terminals before which it is reduced are left. A production of one symbol pops no
//! frame at all, and one without symbols pushes. States that are not popped are so known while the parser goes on, as a *virtual* stack,
//! and are pushed when a lexeme begins.
//!
//! A state without ways for rules is never what a rule is put above. It is no frame, unless another state that may stand in its place is one.
//!
//! The terminal is not known before the lexeme has been read, but its letters are: they are grouped by what the parser does before
//! them. Groups that begin with the same character leave configurations beside each other until the lexemes differ.
//!
//! Where texts have blocks of indented lines, the stack says how many are open and whether brackets are (`entries`), and newlines lead to
//! places where lines begin (`lines`).
//!
//! Invariant: the texts are those that the lexer splits into lexemes which the parser reads. Nodes are made for the frames that may lie
//! below them, one frame deep. Cost: nodes, times the terminals and the frames below.

mod actions;
mod entries;
mod lines;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gobo_automata::{EndId, Frame, FrameId, Node, NodeId, PushDown, ReadId};
use gobo_types::{Budget, CompileError, DenseId as _, Lexer, Table};

use super::bits::Bits;
use super::grammar::{NonterminalId, Productions, Symbol, TerminalId};
use super::indentation::Blocks;
use super::lexer::{ActiveId, CutId, GuardId, Letter, Lexemes, PlaceId, RestId, TextsId};
use super::tables::{ParserState, Tables};
use crate::regex::Stuck;

use self::actions::{Action, NODE_BYTES, Parser, Stack};
use self::entries::{Entry, PHASE, Placed};

pub(super) use self::entries::Entries;

/// A lexeme as it is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Begun {
    texts: TextsId,
    /// What the texts leave.
    guard: GuardId,
    /// The state after its terminal.
    to: Placed,
    /// The blanks with which it may go on, if a line begins after it.
    rest: Option<RestId>,
}

/// How frames are popped.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum End {
    /// As a rule ends: so many frames are still to be popped, and then the rule goes above the next one, at the place.
    Rule(NonterminalId, usize, PlaceId),
    /// Until there is a level; this is above what is popped then, at the place.
    Seek(Stack, PlaceId),
}

/// Ways from a place, by what the parser does: lexemes by the frames below them, and terminals by how frames are popped.
#[derive(Default)]
struct Ways {
    shifts: BTreeMap<Stack, Vec<Begun>>,
    pops: BTreeMap<(NonterminalId, usize), Bits>,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// Where texts begin.
    Start,
    /// Between lexemes, with this above the frames.
    Between(Stack, PlaceId),
    /// Frames are to be popped.
    Ending(EndId),
    /// A lexeme begins, when these frames have been pushed.
    Above(Stack, Vec<Begun>),
    /// The blanks of a line are read at a place, with the second on top, when the first has been pushed.
    AboveLine(Stack, Stack, PlaceId),
    /// A lexeme has ended.
    After(Placed, GuardId),
    /// A newline has ended, but for blanks.
    Line(Placed, GuardId, RestId),
    /// The blanks of a line have been read, and this ignored text comes next.
    Indented(TextsId, Stack, PlaceId),
}

/// The texts, and the guards that are cut in them.
pub(super) struct Frames {
    pub(super) push_down: PushDown,
    pub(super) cuts: BTreeSet<CutId>,
}

struct Explorer<'a, 'b> {
    productions: &'a Productions,
    tables: &'a Tables,
    parser: Parser<'a>,
    lexemes: &'a mut Lexemes<'b>,
    entries: &'a Entries,
    blocks: Option<&'a Blocks>,
    /// The lexers after a terminal that leads to a state: outside of brackets, and within them.
    active: Table<ParserState, [ActiveId; 2]>,
    texts: HashMap<TextsId, usize>,
    read_of: HashMap<(usize, NodeId), ReadId>,
    end_of: HashMap<End, EndId>,
    ends: Table<EndId, End>,
    node_of: HashMap<Key, NodeId>,
    keys: Table<NodeId, Key>,
    /// `[nodes]`: the frames that may lie directly below.
    below: Table<NodeId, Bits>,
    /// `[frames]`: the same.
    below_frames: Table<FrameId, Bits>,
    /// `[frames]`.
    entry_of: Table<FrameId, Entry>,
    /// Nodes that others do not know of so far, or not what lies below them.
    open: Vec<NodeId>,
    is_open: Table<NodeId, bool>,
    made: PushDown,
    cuts: BTreeSet<CutId>,
    budget: &'a Budget,
}

/// The texts of a grammar by the states of its parser, with these entries of the stack. Active are the terminals of an action, unless the lexer is
/// the basic one: then all.
///
/// # Errors
/// See [`Stuck`].
pub(super) fn frames(
    productions: &Productions,
    (tables, entries, blocks): (&Tables, &Entries, Option<&Blocks>),
    lexemes: &mut Lexemes<'_>,
    lexer: Lexer,
    budget: &Budget,
) -> Result<Frames, Stuck> {
    let mut all = Bits::new(productions.terminals.len() + 1);
    productions.used.iter().for_each(|terminal| all.insert(terminal.index()));
    let mut active = Table::new();
    for actions in &tables.actions {
        let mut of_state = if matches!(lexer, Lexer::Basic(_)) { all.clone() } else { actions.clone() };
        of_state.remove(productions.terminals.len());
        let newline = blocks.map(|blocks| blocks.prepare(&mut of_state));
        active.push([lexemes.active(&of_state, None, true)?, lexemes.active(&of_state, newline, true)?]);
    }
    let count = entries.count();
    budget.charge_bytes(PHASE, (count * (Bits::new(count).words() * 8 + 64)) as u64)?;
    let entry_of: Table<FrameId, Entry> = entries.all().collect();
    let mut explorer = Explorer {
        productions,
        tables,
        parser: Parser::new(productions, tables, entries, budget)?,
        lexemes,
        entries,
        blocks,
        active,
        texts: HashMap::new(),
        read_of: HashMap::new(),
        end_of: HashMap::new(),
        ends: vec![End::Rule(productions.start, 0, PlaceId::new(0))].into(),
        node_of: HashMap::new(),
        keys: Table::new(),
        below: Table::new(),
        below_frames: Table::filled(Bits::new(count), count),
        open: Vec::new(),
        is_open: Table::new(),
        made: PushDown {
            texts: Vec::new(),
            reads: Table::new(),
            nodes: Table::new(),
            frames: named(productions, tables, &entry_of),
            start: NodeId::new(0),
            name: productions.names[productions.start].clone(),
        },
        entry_of,
        cuts: BTreeSet::new(),
        budget,
    };
    explorer.made.start = explorer.node(Key::Start)?;
    while let Some(node) = explorer.open.pop() {
        explorer.is_open[node] = false;
        explorer.spread(node)?;
    }
    let Explorer { made, mut cuts, lexemes, .. } = explorer;
    cuts.extend(&lexemes.cut_in_tails);
    Ok(Frames { push_down: made, cuts })
}

/// Frames without returns, named for the symbols that lead to their states.
fn named(
    productions: &Productions,
    tables: &Tables,
    entries: &Table<FrameId, Entry>,
) -> Table<FrameId, Frame> {
    let start = &productions.names[productions.start];
    let mut names: Table<ParserState, &String> = Table::filled(start, tables.shifts.len());
    for shifts in &tables.shifts {
        for (&symbol, &to) in shifts {
            names[to] = match symbol {
                Symbol::Terminal(terminal) => &productions.terminals[terminal].name,
                Symbol::Rule(rule) => &productions.names[rule],
            };
        }
    }
    let name = |of: &Entry| match of {
        Entry::State(of) => names[of.state].clone(),
        Entry::Level(level) => format!("level {level}"),
    };
    entries.iter().map(|of| Frame { name: name(of), returns: BTreeMap::new() }).collect()
}

impl Explorer<'_, '_> {
    /// The node of a key, with its ways.
    fn node(&mut self, key: Key) -> Result<NodeId, Stuck> {
        let mut first = None;
        let mut open = vec![key];
        while let Some(key) = open.pop() {
            let id = self.known(key)?;
            first.get_or_insert(id);
            while self.made.nodes.len() < self.keys.len() {
                let id = NodeId::new(self.made.nodes.len());
                let node = self.expand(id)?;
                self.made.nodes.push(node);
            }
        }
        Ok(first.unwrap_or(NodeId::new(0)))
    }

    /// The number of a key, whose ways may not be known.
    fn known(&mut self, key: Key) -> Result<NodeId, CompileError> {
        if let Some(&known) = self.node_of.get(&key) {
            return Ok(known);
        }
        let below = Bits::new(self.entries.count());
        let held = match &key {
            Key::Between(stack, _) | Key::Indented(_, stack, _) => size_of_val(&stack[..]),
            Key::AboveLine(stack, top, _) => size_of_val(&stack[..]) + size_of_val(&top[..]),
            Key::Above(stack, begun) => size_of_val(&stack[..]) + size_of_val(&begun[..]),
            Key::Start | Key::Ending(_) | Key::After(..) | Key::Line(..) => 0,
        };
        self.budget.charge_steps(PHASE, 1 + held as u64 / 16)?;
        self.budget.charge_bytes(PHASE, NODE_BYTES + (below.words() * 8 + held * 2) as u64)?;
        self.budget.check_states(PHASE, self.keys.len())?;
        let id = self.keys.push(key.clone());
        self.node_of.insert(key, id);
        self.below.push(below);
        self.is_open.push(true);
        self.open.push(id);
        Ok(id)
    }

    /// The node between lexemes; `None` if nothing may come next.
    fn between(&mut self, stack: Stack, place: PlaceId) -> Result<Option<NodeId>, CompileError> {
        self.at(stack, place)?.map(|key| self.known(key)).transpose()
    }

    /// What a node between lexemes is; `None` if nothing may come next.
    fn at(&mut self, stack: Stack, place: PlaceId) -> Result<Option<Key>, CompileError> {
        let Some(place) = self.next(&stack, place)? else { return Ok(None) };
        let mut stack = stack;
        if self.lexemes.places[place].begins.is_some() {
            self.parser.reduce(&mut stack, &self.lexemes.next(place))?;
        }
        Ok(Some(Key::Between(stack, place)))
    }

    /// What may come next at a place with this above the frames, but for terminals before which the parser does nothing; `None` if
    /// nothing may. Notes the guards that are cut there: of those that are read when frames have been popped no frame may want any.
    fn next(&mut self, stack: &Stack, place: PlaceId) -> Result<Option<PlaceId>, CompileError> {
        let actions = self.parser.actions(stack)?;
        let place = self.lexemes.without(place, &actions.barred)?;
        self.cuts.extend(self.lexemes.places[place].cuts.iter().map(|cut| cut.0));
        let place = self.lexemes.at_level(place, self.level(stack, place))?;
        Ok((!self.lexemes.next(place).is_empty()).then_some(place))
    }

    fn expand(&mut self, id: NodeId) -> Result<Node, Stuck> {
        let mut node = Node::default();
        match self.keys[id].clone() {
            Key::Between(stack, place) => self.expand_between(&stack, place, &mut node)?,
            Key::Ending(end) => node.ends.push(end),
            Key::Above(stack, begun) => self.begin(&stack, begun, &mut node)?,
            Key::Start => self.expand_after(&self.entries.start(), GuardId::PASS, &mut node)?,
            Key::After(to, guard) => self.expand_after(&vec![Entry::State(to)], guard, &mut node)?,
            Key::Line(to, guard, rest) => self.expand_newline(to, (guard, rest), &mut node)?,
            Key::AboveLine(stack, top, place) => self.begin_line(&stack, (&top, place), &mut node)?,
            Key::Indented(tail, top, place) => {
                if let Some(to) = self.between(top, place)? {
                    node.reads.push(self.read(tail, to)?);
                }
            }
        }
        Ok(node)
    }

    /// A lexeme has ended, and ignored text may follow.
    fn expand_after(&mut self, stack: &Stack, guard: GuardId, node: &mut Node) -> Result<(), Stuck> {
        let Some(top) = stack.last().and_then(|top| top.state()) else { return Ok(()) };
        let active = self.active[top.state][usize::from(self.entries.is_inside(top))];
        for (tail, place) in self.lexemes.tails(active, guard)? {
            if let Some(to) = self.between(stack.clone(), place)? {
                node.reads.push(self.read(tail, to)?);
            }
        }
        Ok(())
    }

    /// Begins lexemes, when frames have been pushed.
    fn begin(&mut self, stack: &[Entry], begun: Vec<Begun>, node: &mut Node) -> Result<(), CompileError> {
        let Some((&first, rest)) = stack.split_first() else {
            for Begun { texts, guard, to, rest } in begun {
                let to = self.known(match rest {
                    None => Key::After(to, guard),
                    Some(rest) => Key::Line(to, guard, rest),
                })?;
                node.reads.push(self.read(texts, to)?);
            }
            return Ok(());
        };
        let above = self.known(Key::Above(rest.to_vec(), begun))?;
        node.pushes.push((self.frame(first), above));
        Ok(())
    }

    fn frame(&self, of: Entry) -> FrameId {
        FrameId::new(self.entries.number(of))
    }

    fn expand_between(&mut self, stack: &Stack, place: PlaceId, node: &mut Node) -> Result<(), Stuck> {
        let of = &self.lexemes.places[place];
        if of.begins.is_some() {
            return self.expand_line(stack, place, node);
        }
        let (letters, may_end, levels) = (of.letters.clone(), of.may_end, of.levels);
        let actions = self.parser.actions(stack)?;
        let end = self.productions.terminals.len();
        let mut ways = Ways::default();
        for letter in letters {
            let terminal = letter.terminal.index();
            self.budget.charge_steps(PHASE, 1 + actions.of[terminal].len() as u64)?;
            for action in &actions.of[terminal] {
                match action {
                    Action::Shift(below) => self.shift(below, letter, &mut ways)?,
                    Action::Pop(rule, frames) => self.pop((*rule, *frames), terminal, &mut ways),
                    Action::Accept => {}
                }
            }
        }
        for action in actions.of[end].iter().filter(|_| may_end) {
            match action {
                Action::Accept => node.ends.push(self.accept(stack, place)?),
                Action::Pop(rule, frames) => self.pop((*rule, *frames), end, &mut ways),
                Action::Shift(..) => {}
            }
        }
        if levels.may_dedent {
            self.end_blocks(stack, place, &mut ways, node)?;
        }
        Ok(self.go_ways(place, ways, node)?)
    }

    /// A way that begins a lexeme above some states.
    fn shift(&mut self, below: &Stack, letter: Letter, ways: &mut Ways) -> Result<(), Stuck> {
        let Letter { terminal, texts, guard } = letter;
        let Some(to) = self.shifted(below, terminal) else { return Ok(()) };
        let begun = match self.blocks {
            Some(blocks) if blocks.newline == terminal => {
                let divided = self.lexemes.divided(texts)?.into_iter();
                divided.map(|(texts, rest)| Begun { texts, guard, to, rest: Some(rest) }).collect()
            }
            _ => vec![Begun { texts, guard, to, rest: None }],
        };
        ways.shifts.entry(self.parser.frames(below)).or_default().extend(begun);
        Ok(())
    }

    /// The state to which a terminal leads above a stack.
    fn shifted(&self, below: &Stack, terminal: TerminalId) -> Option<Placed> {
        let top = below.last()?.state()?;
        let to = self.tables.shift(top.state, terminal)?;
        Some(self.entries.after(top, Symbol::Terminal(terminal), to))
    }

    /// A way that pops frames before a terminal.
    fn pop(&self, pop: (NonterminalId, usize), before: usize, ways: &mut Ways) {
        let none = || Bits::new(self.productions.terminals.len() + 1);
        ways.pops.entry(pop).or_insert_with(none).insert(before);
    }

    fn go_ways(&mut self, place: PlaceId, ways: Ways, node: &mut Node) -> Result<(), CompileError> {
        for (stack, mut begun) in ways.shifts {
            begun.sort_unstable();
            begun.dedup();
            self.budget.charge_bytes(PHASE, size_of_val(&begun[..]) as u64)?;
            self.begin(&stack, begun, node)?;
        }
        for ((rule, frames), before) in ways.pops {
            let place = self.lexemes.without(place, &before.complement())?;
            // What is popped is popped alike at each level, and the level is found below it.
            let place = self.lexemes.at_level(place, None)?;
            node.ends.push(self.end(End::Rule(rule, frames, place))?);
        }
        Ok(())
    }

    fn end(&mut self, end: End) -> Result<EndId, CompileError> {
        if let Some(&known) = self.end_of.get(&end) {
            return Ok(known);
        }
        let states = if let End::Seek(stack, _) = &end { size_of_val(&stack[..]) } else { 0 };
        self.budget.charge_bytes(PHASE, 2 * states as u64)?;
        let id = self.ends.push(end.clone());
        self.end_of.insert(end, id);
        Ok(id)
    }

    fn read(&mut self, texts: TextsId, to: NodeId) -> Result<ReadId, CompileError> {
        let all = &mut self.made.texts;
        let lexemes = &*self.lexemes;
        let texts = *self.texts.entry(texts).or_insert_with(|| {
            all.push(lexemes.language(texts).expect("Lark's terminals are languages").clone());
            all.len() - 1
        });
        self.budget.charge_bytes(PHASE, 16)?;
        let reads = &mut self.made.reads;
        Ok(*self.read_of.entry((texts, to)).or_insert_with(|| reads.push((texts, to))))
    }

    /// Tells what lies below a node to those that come after it.
    fn spread(&mut self, id: NodeId) -> Result<(), Stuck> {
        let Node { reads, pushes, ends } = self.made.nodes[id].clone();
        let below = self.below[id].clone();
        for read in reads {
            let to = self.made.reads[read].1;
            self.add_below(to, &below)?;
        }
        for (frame, above) in pushes {
            let mut only = Bits::new(self.entries.count());
            only.insert(frame.index());
            self.add_below(above, &only)?;
            if self.below_frames[frame].unite(&below) {
                let below = self.below_frames[frame].clone();
                let returns: Vec<NodeId> = self.made.frames[frame].returns.values().copied().collect();
                for to in returns {
                    self.add_below(to, &below)?;
                }
            }
        }
        for end in ends.into_iter().filter(|end| *end != EndId::WHOLE) {
            for frame in below.iter().map(FrameId::new) {
                if self.made.frames[frame].returns.contains_key(&end) {
                    continue;
                }
                self.budget.charge_steps(PHASE, 1)?;
                let Some(to) = self.after(frame, end)? else { continue };
                self.budget.charge_bytes(PHASE, 48)?;
                self.made.frames[frame].returns.insert(end, to);
                let below = self.below_frames[frame].clone();
                self.add_below(to, &below)?;
            }
        }
        Ok(())
    }

    /// Where a text goes on when a frame is popped at an end.
    fn after(&mut self, frame: FrameId, end: EndId) -> Result<Option<NodeId>, Stuck> {
        let entry = self.entry_of[frame];
        let key = match (self.ends[end].clone(), entry) {
            (End::Seek(above, place), _) => self.sought(entry, above, place)?,
            (End::Rule(..), Entry::Level(_)) => Some(Key::Ending(end)),
            (End::Rule(rule, frames, place), Entry::State(below)) => match frames.checked_sub(1) {
                Some(frames) => Some(Key::Ending(self.end(End::Rule(rule, frames, place))?)),
                None => {
                    let rule = Symbol::Rule(rule);
                    let Some(&to) = self.tables.shifts[below.state].get(&rule) else { return Ok(None) };
                    let to = Entry::State(self.entries.after(below, rule, to));
                    self.at(vec![entry, to], place)?
                }
            },
        };
        let Some(key) = key else { return Ok(None) };
        self.node(key).map(Some)
    }

    fn add_below(&mut self, node: NodeId, below: &Bits) -> Result<(), CompileError> {
        self.budget.charge_steps(PHASE, below.words() as u64)?;
        if self.below[node].unite(below) && !std::mem::replace(&mut self.is_open[node], true) {
            self.open.push(node);
        }
        Ok(())
    }
}
