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
//! Invariant: the texts are those that the lexer splits into lexemes which the parser reads. Nodes are made for the frames that may lie
//! below them, one frame deep. Cost: nodes, times the terminals and the frames below.

mod actions;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gobo_automata::{EndId, Frame, FrameId, Node, NodeId, PushDown, ReadId};
use gobo_types::{Budget, CompileError, DenseId as _, Lexer, Table};

use super::bits::Bits;
use super::grammar::{NonterminalId, Productions, Symbol};
use super::lexer::{ActiveId, CutId, GuardId, Lexemes, PlaceId, TextsId};
use super::tables::{ParserState, START, Tables};
use crate::regex::Stuck;

use self::actions::{Action, NODE_BYTES, PHASE, Parser, Stack};

/// A lexeme as it is begun: its texts, the guard that they leave, and the state after its terminal.
type Begun = (TextsId, GuardId, ParserState);

/// An end: the rule, the frames still to be popped, and the place.
type End = (NonterminalId, usize, PlaceId);

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// Between lexemes, with states above the frames, the last one on top.
    Between(Stack, PlaceId),
    /// Frames are to be popped.
    Ending(EndId),
    /// A lexeme begins, when these frames have been pushed.
    Above(Stack, Vec<Begun>),
    /// A lexeme has ended.
    After(ParserState, GuardId),
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
    /// The lexer after a terminal that leads to a state.
    active: Table<ParserState, ActiveId>,
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
    /// Nodes that others do not know of so far, or not what lies below them.
    open: Vec<NodeId>,
    is_open: Table<NodeId, bool>,
    made: PushDown,
    cuts: BTreeSet<CutId>,
    budget: &'a Budget,
}

/// The texts of a grammar by the states of its parser. Active are the terminals of an action, unless the lexer is the basic one: then all.
///
/// # Errors
/// See [`Stuck`].
pub(super) fn frames(
    productions: &Productions,
    tables: &Tables,
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
        active.push(lexemes.active(&of_state, None, true)?);
    }
    let states = tables.shifts.len();
    budget.charge_bytes(PHASE, (states * (Bits::new(states).words() * 8 + 64)) as u64)?;
    let mut names: Table<FrameId, String> =
        Table::filled(productions.names[productions.start].clone(), states);
    for shifts in &tables.shifts {
        for (&symbol, &to) in shifts {
            names[FrameId::new(to.index())] = match symbol {
                Symbol::Terminal(terminal) => productions.terminals[terminal].name.clone(),
                Symbol::Rule(rule) => productions.names[rule].clone(),
            };
        }
    }
    let frames =
        names.into_iter().map(|name| Frame { name: name.clone(), returns: BTreeMap::new() }).collect();
    let mut explorer = Explorer {
        productions,
        tables,
        parser: Parser::new(productions, tables, budget)?,
        lexemes,
        active,
        texts: HashMap::new(),
        read_of: HashMap::new(),
        end_of: HashMap::new(),
        ends: vec![(productions.start, 0, PlaceId::new(0))].into(),
        node_of: HashMap::new(),
        keys: Table::new(),
        below: Table::new(),
        below_frames: Table::filled(Bits::new(states), states),
        open: Vec::new(),
        is_open: Table::new(),
        made: PushDown {
            texts: Vec::new(),
            reads: Table::new(),
            nodes: Table::new(),
            frames,
            start: NodeId::new(0),
            name: productions.names[productions.start].clone(),
        },
        cuts: BTreeSet::new(),
        budget,
    };
    explorer.made.start = explorer.node(Key::After(START, GuardId::PASS))?;
    while let Some(node) = explorer.open.pop() {
        explorer.is_open[node] = false;
        explorer.spread(node)?;
    }
    let Explorer { made, mut cuts, lexemes, .. } = explorer;
    cuts.extend(&lexemes.cut_in_tails);
    Ok(Frames { push_down: made, cuts })
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
        let below = Bits::new(self.tables.shifts.len());
        let held = match &key {
            Key::Between(stack, _) => stack.len() * 4,
            Key::Above(stack, begun) => stack.len() * 4 + begun.len() * size_of::<Begun>(),
            Key::Ending(_) | Key::After(..) => 0,
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
        let actions = self.parser.actions(&stack)?;
        let Some(place) = self.next(place, &actions.barred)? else { return Ok(None) };
        self.known(Key::Between(stack, place)).map(Some)
    }

    /// What may come next at a place, but for terminals before which the parser does nothing; `None` if nothing may. Notes the guards that are
    /// cut there: of those that are read when frames have been popped no frame may want any.
    fn next(&mut self, place: PlaceId, barred: &Bits) -> Result<Option<PlaceId>, CompileError> {
        let place = self.lexemes.without(place, barred)?;
        self.cuts.extend(self.lexemes.places[place].cuts.iter().map(|cut| cut.0));
        let of = &self.lexemes.places[place];
        Ok((of.may_end || !of.letters.is_empty()).then_some(place))
    }

    fn expand(&mut self, id: NodeId) -> Result<Node, Stuck> {
        let mut node = Node::default();
        match self.keys[id].clone() {
            Key::Between(stack, place) => self.expand_between(&stack, place, &mut node)?,
            Key::Ending(end) => node.ends.push(end),
            Key::Above(stack, begun) => self.begin(&stack, begun, &mut node)?,
            Key::After(state, guard) => {
                for (tail, place) in self.lexemes.tails(self.active[state], guard)? {
                    if let Some(to) = self.between(vec![state], place)? {
                        node.reads.push(self.read(tail, to)?);
                    }
                }
            }
        }
        Ok(node)
    }

    /// Begins lexemes, when frames have been pushed.
    fn begin(
        &mut self,
        stack: &[ParserState],
        begun: Vec<Begun>,
        node: &mut Node,
    ) -> Result<(), CompileError> {
        let Some((&first, rest)) = stack.split_first() else {
            for (texts, guard, to) in begun {
                let to = self.known(Key::After(to, guard))?;
                node.reads.push(self.read(texts, to)?);
            }
            return Ok(());
        };
        let above = self.known(Key::Above(rest.to_vec(), begun))?;
        node.pushes.push((FrameId::new(first.index()), above));
        Ok(())
    }

    fn expand_between(&mut self, stack: &Stack, place: PlaceId, node: &mut Node) -> Result<(), CompileError> {
        let actions = self.parser.actions(stack)?;
        let end = self.productions.terminals.len();
        let of = &self.lexemes.places[place];
        let (letters, may_end) = (of.letters.clone(), of.may_end);
        let mut shifts: BTreeMap<&Stack, Vec<Begun>> = BTreeMap::new();
        let mut pops: BTreeMap<(NonterminalId, usize), Bits> = BTreeMap::new();
        let mut pop = |rule: NonterminalId, frames: usize, terminal: usize| {
            pops.entry((rule, frames)).or_insert_with(|| Bits::new(end + 1)).insert(terminal);
        };
        for letter in &letters {
            let actions = &actions.of[letter.terminal.index()];
            self.budget.charge_steps(PHASE, 1 + actions.len() as u64)?;
            for action in actions {
                match action {
                    Action::Shift(stack, to) => {
                        shifts.entry(stack).or_default().push((letter.texts, letter.guard, *to));
                    }
                    Action::Pop(rule, frames) => pop(*rule, *frames, letter.terminal.index()),
                    Action::Accept => {}
                }
            }
        }
        for action in actions.of[end].iter().filter(|_| may_end) {
            match action {
                Action::Accept => node.ends.push(EndId::WHOLE),
                Action::Pop(rule, frames) => pop(*rule, *frames, end),
                Action::Shift(..) => {}
            }
        }
        for (stack, mut begun) in shifts {
            begun.sort_unstable();
            begun.dedup();
            self.budget.charge_bytes(PHASE, begun.len() as u64 * 16)?;
            self.begin(stack, begun, node)?;
        }
        for ((rule, frames), before) in pops {
            let place = self.lexemes.without(place, &before.complement())?;
            node.ends.push(self.end((rule, frames, place)));
        }
        Ok(())
    }

    fn end(&mut self, end: End) -> EndId {
        let ends = &mut self.ends;
        *self.end_of.entry(end).or_insert_with(|| ends.push(end))
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
            let mut only = Bits::new(self.tables.shifts.len());
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
        let (rule, frames, place) = self.ends[end];
        let key = match frames.checked_sub(1) {
            Some(frames) => Key::Ending(self.end((rule, frames, place))),
            None => {
                let state = ParserState::new(frame.index());
                let Some(&to) = self.tables.shifts[state].get(&Symbol::Rule(rule)) else { return Ok(None) };
                let stack = vec![state, to];
                let actions = self.parser.actions(&stack)?;
                let Some(place) = self.next(place, &actions.barred)? else { return Ok(None) };
                Key::Between(stack, place)
            }
        };
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
