//! From characters to the bytes of UTF-8: each state over characters becomes a block of states, and the states inside wide characters
//! are the minimal acyclic automaton of their bytes (Daciuk et al. 2000), shared by all blocks that divide characters alike.

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _, NO_STEP, Table, checked_u32, dense_id};
use regex_syntax::utf8::Utf8Sequences;

use super::char_states::{Block, CharStates, TemplateId};
use super::dfa::{Dfa, RowTable};
use crate::chars::Language;
use crate::chars::dfa::CharDfa;
use crate::ids::{CharState, StateId, Symbol};
use crate::letters::letter_bytes;

const PHASE: &str = "writing characters as UTF-8";

/// The first code that takes more than one byte.
const WIDE: u32 = 0x80;

dense_id! {
    /// A node of a template.
    struct NodeId;

    /// An exit of a state: one of those that follow its wide characters.
    struct ExitId;
}

/// Where a range of bytes leads inside a character of two or more bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Target {
    /// To a node of the template.
    Node(NodeId),
    /// Out of the character.
    Exit(ExitId),
}

type Edge = (u8, u8, Target);

/// How characters of two and more bytes are read by a state: the minimal acyclic automaton over their bytes. States that
/// divide these characters the same way share one.
#[derive(Debug, Default)]
struct Template {
    /// The edges on first bytes.
    root: Vec<Edge>,
    nodes: Vec<Vec<Edge>>,
}

/// A template whose last sequence is still open.
#[derive(Default)]
struct TemplateBuilder {
    nodes: Vec<Vec<Edge>>,
    register: HashMap<Vec<Edge>, NodeId>,
    /// The edges of the root and of each open node below it.
    levels: Vec<Vec<Edge>>,
    /// The bytes that lead from each level to the next.
    open: Vec<(u8, u8)>,
}

impl TemplateBuilder {
    /// Closes the open nodes deeper than `depth`, merging each with an equal one.
    fn close(&mut self, depth: usize) {
        while self.open.len() > depth {
            let (Some(edges), Some((first, last))) = (self.levels.pop(), self.open.pop()) else { return };
            let node = *self.register.entry(edges).or_insert_with_key(|edges| {
                self.nodes.push(edges.clone());
                NodeId::new(self.nodes.len() - 1)
            });
            self.push((first, last, Target::Node(node)));
        }
    }

    /// Adds a sequence of ranges of bytes. Two sequences begin with the same range or with disjoint ones.
    fn add(&mut self, sequence: &[(u8, u8)], exit: ExitId) {
        let Some((end, inner)) = sequence.split_last() else { return };
        let shared = inner.iter().zip(&self.open).take_while(|(range, open)| range == open).count();
        self.close(shared);
        for &range in &inner[shared..] {
            self.open.push(range);
            self.levels.push(Vec::new());
        }
        self.push((end.0, end.1, Target::Exit(exit)));
    }

    fn push(&mut self, edge: Edge) {
        let Some(level) = self.levels.last_mut() else { return };
        match level.last_mut() {
            Some(before) if before.2 == edge.2 && before.1 + 1 == edge.0 => before.1 = edge.1,
            _ => level.push(edge),
        }
    }
}

impl Template {
    /// `ranges`: `(first, last, exit)`, ascending. The incremental construction of Daciuk et al. 2000, over sequences of
    /// byte ranges in place of texts: two sequences begin with the same range or with disjoint ones.
    fn of(ranges: &[(u32, u32, ExitId)], budget: &Budget) -> Result<Self, CompileError> {
        let mut builder = TemplateBuilder { levels: vec![Vec::new()], ..TemplateBuilder::default() };
        let as_char = |code: u32| char::from_u32(code).expect("classes hold no surrogates");
        for &(first, last, exit) in ranges {
            if letter_bytes(first).is_some() {
                for letter in (first..=last).filter_map(letter_bytes) {
                    let letter: Vec<(u8, u8)> = letter.into_iter().map(|byte| (byte, byte)).collect();
                    builder.add(&letter, exit);
                    budget.charge_steps(PHASE, 4)?;
                }
                continue;
            }
            for sequence in Utf8Sequences::new(as_char(first), as_char(last)) {
                let mut bytes = [(0, 0); 4];
                let len = sequence.len();
                bytes
                    .iter_mut()
                    .zip(sequence.as_slice())
                    .for_each(|(of, range)| *of = (range.start, range.end));
                builder.add(&bytes[..len], exit);
                budget.charge_steps(PHASE, 4)?;
            }
        }
        builder.close(0);
        budget.charge_bytes(PHASE, builder.nodes.len() as u64 * 64)?;
        Ok(Self { root: builder.levels.swap_remove(0), nodes: builder.nodes })
    }
}

/// The characters of each class, split where they begin to take two bytes.
struct Classes {
    /// `[128]`: the class of each ASCII character.
    ascii: [Option<Symbol>; WIDE as usize],
    /// `[classes]`.
    wide: Vec<Vec<(u32, u32)>>,
}

impl Classes {
    fn of(chars: &CharDfa) -> Self {
        let mut classes = Self { ascii: [None; WIDE as usize], wide: vec![Vec::new(); chars.classes] };
        for &(first, last, class) in &chars.ranges {
            if first < WIDE {
                classes.ascii[first as usize..=last.min(WIDE - 1) as usize].fill(Some(class));
            }
            if last >= WIDE {
                classes.wide[class.index()].push((first.max(WIDE), last));
            }
        }
        classes
    }
}

/// The automaton over the UTF-8 bytes of the texts of a canonical automaton over characters.
///
/// A state between two characters is followed by the states inside the characters that it reads, unless an earlier state
/// reads them alike: then it shares those. States are numbered breadth first over characters. So the copies of a counted
/// repetition follow one another at equal distances, and nearly all of them share their rows of relative transitions.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn expand(chars: CharDfa, budget: &Budget) -> Result<Dfa, CompileError> {
    let classes = Classes::of(&chars);
    let (states, templates, len) = lay_out(chars, &classes, budget)?;
    emit(states, &classes, &templates, len, budget)
}

/// Refuses an automaton over characters that [`expand`] refuses for its states. One of the same texts with the characters
/// below U+0080 written in any other way has no fewer: states that it lets share what lies inside characters lead to the
/// same places by the same wide characters, and so do those here.
///
/// # Errors
/// [`CompileError::OverBudget`].
fn check_states(chars: CharDfa, budget: &Budget) -> Result<(), CompileError> {
    let classes = Classes::of(&chars);
    lay_out(chars, &classes, budget).map(drop)
}

/// The blocks of an automaton over characters, the templates that they use, and how many states they have together.
fn lay_out(
    chars: CharDfa,
    classes: &Classes,
    budget: &Budget,
) -> Result<(CharStates, Vec<Template>, usize), CompileError> {
    let mut templates: Vec<Template> = Vec::new();
    let mut known_templates: HashMap<Vec<(Symbol, ExitId)>, TemplateId> = HashMap::new();
    let mut known_forests: HashMap<(TemplateId, Vec<CharState>), StateId> = HashMap::new();
    let dead = Block {
        root: StateId::DEAD,
        inner: StateId::DEAD,
        inner_states: 0,
        template: TemplateId::new(0),
        exits: (0, 0),
    };
    let mut states = CharStates { blocks: vec![dead], exits: Vec::new(), dfa: chars };
    let mut len: usize = 1;
    // The classes of wide characters, and the exit of each: what chooses the template.
    let mut pattern: Vec<(Symbol, ExitId)> = Vec::new();
    // `[character states]`: the last state that had it as an exit, and as which. A list of words may have an exit for each
    // character there is, so they are not searched.
    let mut exit_of: Vec<(CharState, ExitId)> = vec![(CharState::DEAD, ExitId::new(0)); states.dfa.len()];
    budget.charge_bytes(PHASE, exit_of.len() as u64 * 8)?;
    for state in CharState::range(1..states.dfa.len()) {
        let exits_from = states.exits.len();
        pattern.clear();
        for &(class, next) in states.dfa.row(state) {
            if classes.wide[class.index()].is_empty() {
                continue;
            }
            let known = &mut exit_of[next.index()];
            if known.0 != state {
                *known = (state, ExitId::new(states.exits.len() - exits_from));
                states.exits.push(next);
            }
            pattern.push((class, known.1));
        }
        budget.charge_steps(PHASE, 1 + pattern.len() as u64)?;
        let template = match known_templates.get(&pattern) {
            Some(&template) => template,
            None => {
                let mut ranges: Vec<(u32, u32, ExitId)> = Vec::new();
                for &(class, exit) in &pattern {
                    let of_class = &classes.wide[class.index()];
                    ranges.extend(of_class.iter().map(|&(first, last)| (first, last, exit)));
                }
                ranges.sort_unstable();
                budget.charge_bytes(PHASE, pattern.len() as u64 * 8)?;
                templates.push(Template::of(&ranges, budget)?);
                let fresh = TemplateId::new(templates.len() - 1);
                known_templates.insert(pattern.clone(), fresh);
                fresh
            }
        };
        let root = StateId::new(len);
        len += 1;
        let inner_states = templates[template.index()].nodes.len();
        let exits = (checked_u32(exits_from), checked_u32(states.exits.len()));
        let (inner, inner_count) = (StateId::new(len), checked_u32(inner_states));
        let mut block = Block { root, inner, inner_states: inner_count, template, exits };
        if inner_states > 0 {
            let key = (template, states.exits[exits_from..].to_vec());
            match known_forests.get(&key) {
                Some(&inner) => block.inner = inner,
                None => {
                    known_forests.insert(key, block.inner);
                    len += inner_states;
                }
            }
        }
        budget.check_states(PHASE, len)?;
        states.blocks.push(block);
    }
    Ok((states, templates, len))
}

/// Writes the rows of all states.
fn emit(
    states: CharStates,
    classes: &Classes,
    templates: &[Template],
    len: usize,
    budget: &Budget,
) -> Result<Dfa, CompileError> {
    let bytes = ByteClasses::of(classes, templates, budget)?;
    let mut table = RowTable::new(bytes.count);
    let mut row_of: Vec<u32> = vec![0; 1];
    let mut accepting = Table::filled(false, len);
    // States inside characters whose rows are written: by template and the distances to the exits.
    let mut known_rows: HashMap<(TemplateId, Vec<i32>), u32> = HashMap::new();
    let mut row = vec![NO_STEP; bytes.count];
    for (state, block) in CharState::enumerate(&states.blocks).skip(1) {
        let template = &templates[block.template.index()];
        row.fill(NO_STEP);
        for &(class, next) in states.dfa.row(state) {
            if let Some(byte_class) = bytes.of_ascii[class.index()] {
                row[byte_class] = block.root.distance(states.blocks[next.index()].root);
            }
        }
        let fill = |row: &mut [i32], from: StateId, edges: &[Edge]| {
            for &(first, last, target) in edges {
                let delta = match target {
                    Target::Node(node) => from.distance(block.inner_state(node.index())),
                    Target::Exit(exit) => {
                        let next = states.exits[block.exits.0 as usize + exit.index()];
                        from.distance(states.blocks[next.index()].root)
                    }
                };
                bytes.of_byte[usize::from(first)..=usize::from(last)]
                    .iter()
                    .for_each(|&class| row[usize::from(class)] = delta);
            }
        };
        fill(&mut row, block.root, &template.root);
        budget.charge_steps(PHASE, bytes.count as u64)?;
        row_of.push(table.intern(&row));
        accepting[block.root] = states.dfa.is_accepting(state);
        if !block.has_own_inner_states() {
            continue;
        }
        let exits = &states.exits[block.exits.0 as usize..block.exits.1 as usize];
        let distances =
            exits.iter().map(|&next| block.inner.distance(states.blocks[next.index()].root)).collect();
        let fresh = checked_u32(table.rows());
        let first = *known_rows.entry((block.template, distances)).or_insert(fresh);
        if first == fresh {
            budget.charge_steps(PHASE, (template.nodes.len() * bytes.count) as u64)?;
            budget.charge_bytes(PHASE, (template.nodes.len() * bytes.count * 4) as u64)?;
            for (node, edges) in template.nodes.iter().enumerate() {
                row.fill(NO_STEP);
                fill(&mut row, block.inner_state(node), edges);
                table.push(&row);
            }
        }
        row_of.extend(first..first + block.inner_states);
    }
    budget.charge_bytes(PHASE, (len * 5 + table.rows() * bytes.count * 4) as u64)?;
    Ok(Dfa {
        classes: Box::new(bytes.of_byte),
        stride: bytes.count,
        row_of,
        deltas: table.into_deltas(),
        accepting,
        start: states.blocks[states.dfa.start().index()].root,
        chars: Some(states),
        calls: None,
    })
}

/// Which bytes lead the same way everywhere.
struct ByteClasses {
    of_byte: [u8; 256],
    count: usize,
    /// `[classes of characters]`: the class of the bytes that are characters of it, if there are any.
    of_ascii: Vec<Option<usize>>,
}

impl ByteClasses {
    fn of(classes: &Classes, templates: &[Template], budget: &Budget) -> Result<Self, CompileError> {
        let wide = wide_byte_classes(templates, budget)?;
        // Classes are numbered by their first byte. 0xFF is in no character: bytes of its class lead nowhere, and so do
        // ASCII characters without a class.
        let mut out = Self { of_byte: [0; 256], count: 0, of_ascii: vec![None; classes.wide.len()] };
        let (mut dead, mut of_wide) = (None, [None; 128]);
        for byte in 0..256_usize {
            let known = match classes.ascii.get(byte) {
                Some(Some(class)) => &mut out.of_ascii[class.index()],
                Some(None) => &mut dead,
                None if wide[byte - 128] == wide[127] => &mut dead,
                None => &mut of_wide[usize::from(wide[byte - 128])],
            };
            let class = *known.get_or_insert_with(|| {
                out.count += 1;
                out.count - 1
            });
            out.of_byte[byte] = u8::try_from(class).expect("256 bytes make at most 256 classes");
        }
        Ok(out)
    }
}

/// `[128]`: the class of each byte from 0x80 on, refined row by row.
fn wide_byte_classes(templates: &[Template], budget: &Budget) -> Result<[u8; 128], CompileError> {
    let mut class_of = [0_u8; 128];
    let mut count: u8 = 1;
    let mut line = [None; 128];
    for template in templates {
        budget.charge_steps(PHASE, 128 * (1 + template.nodes.len() as u64))?;
        for edges in std::iter::once(&template.root).chain(&template.nodes) {
            line.fill(None);
            for &(first, last, target) in edges {
                line[usize::from(first) - 128..=usize::from(last) - 128].fill(Some(target));
            }
            // The bytes of a class that lead where its first byte leads stay; each other target makes a new class.
            let mut first_target = [None; 128];
            let mut split: Vec<(u8, Option<Target>, u8)> = Vec::new();
            for (byte, &target) in line.iter().enumerate() {
                let class = class_of[byte];
                if *first_target[usize::from(class)].get_or_insert(target) == target {
                    continue;
                }
                let known = split.iter().find(|known| (known.0, known.1) == (class, target));
                class_of[byte] = known.map_or(count, |known| known.2);
                if class_of[byte] == count {
                    split.push((class, target, count));
                    count += 1;
                }
            }
        }
    }
    Ok(class_of)
}

/// Typical number of states over bytes for a state over characters that distinguishes a few kinds of characters.
const STATES_OF_CHARACTER: u64 = 16;

impl Language {
    /// Refuses a language of so many texts that no automaton over their bytes has room in the budget of states, however
    /// the characters below U+0080 are written, before any time goes into writing it. O(edges) where that is possible at all.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn check_states(&self, budget: &Budget) -> Result<(), CompileError> {
        if (self.len() as u64) < budget.limits().max_states / STATES_OF_CHARACTER {
            return Ok(());
        }
        budget.holding(|| check_states(self.dfa.clone(), budget), |()| 0)
    }
}
