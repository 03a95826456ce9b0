//! The worked example of `docs/recursion.md`, computed again by a reader that knows an index with calls from `docs/FORMAT.md`
//! only, and compared with what the page prints; and the same reader beside the matcher, token by token.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use gobo_artifact::layout::section;
use gobo_artifact::{Index, IndexClass, Matcher, Vocabulary};
use gobo_types::{Binding, Constraint, Dialect, Lexer, LookAhead};

use crate::example;

const LISTS: &str = include_str!("../../../../docs/examples/lists.gbnf");
const PALINDROMES: &str = include_str!("../../../../docs/examples/palindromes.gbnf");
const EXITS: &str = include_str!("../../../../docs/examples/exits.lark");
/// Their tokens, and beginnings of texts.
const EXIT_TOKENS: &[&str] = &["(", ")", "a", "b", ",", " ", "ab", "b)", ",)", " b"];
const EXIT_TEXTS: &[&str] = &["(a", "(a ", "((a,)"];
const TOKENS: &[&str] = &["[", "]", ",", "x", "[[", "]]", "],", "]],", "x]", ",[", "[]", "]],["];
/// A complete list, cut after each of its tokens, and the same end at less and less depth.
const TEXTS: &[&str] = &["", "[[[", "[[[x", "[[x", "[x", "[[[x]],", "[[[x]],x]"];

/// The sections of an index with calls.
struct Reader {
    index: Arc<Index>,
    vocabulary: Arc<Vocabulary>,
    start: u32,
    /// `[states]`, the row of each and whether its rule may end there.
    states: Vec<(u32, bool)>,
    byte_classes: Vec<u8>,
    classes: usize,
    transitions: Vec<u16>,
    push_transition_starts: Vec<u32>,
    push_transitions: Vec<u32>,
    pushed: Vec<u32>,
    /// `[returns]`: state and class.
    returns: Vec<(u32, u32)>,
    suffix_sets: Vec<u32>,
    pair_starts: Vec<u32>,
    pairs: Vec<u32>,
    /// `[states]`; none where each rule has one exit.
    exits: Vec<u32>,
    /// `[returns]`: the state after each exit, 0 for none.
    return_rows: Vec<Vec<u32>>,
}

/// A state, and the numbers of the return states on its stack, outermost first.
type Configuration = (u32, Vec<u32>);

const END: u32 = u32::MAX;

impl Reader {
    fn new(index: Arc<Index>, vocabulary: Arc<Vocabulary>) -> Self {
        let bytes_of = |kind: u32| {
            let section = index.artifact().sections().iter().find(|section| section.kind == kind).unwrap();
            let from = usize::try_from(section.offset).unwrap();
            &index.file_bytes()[from..][..usize::try_from(section.length).unwrap()]
        };
        let numbers = |kind: u32| {
            let words = bytes_of(kind).chunks_exact(4);
            words.map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect::<Vec<_>>()
        };
        let transitions = bytes_of(section::TRANSITIONS).chunks_exact(2);
        let returns: Vec<(u32, u32)> =
            numbers(section::RETURNS).chunks_exact(2).map(|of| (of[0], of[1])).collect();
        let has_exits = index.artifact().sections().iter().any(|section| section.kind == section::EXITS);
        let mut exits = Vec::new();
        let mut return_rows: Vec<Vec<u32>> = returns.iter().map(|of| vec![of.0]).collect();
        if has_exits {
            exits = numbers(section::EXITS);
            let rows = numbers(section::RETURN_ROWS);
            let starts = numbers(section::RETURN_ROW_STARTS);
            return_rows =
                starts.windows(2).map(|row| rows[row[0] as usize..row[1] as usize].to_vec()).collect();
        }
        Self {
            exits,
            return_rows,
            start: index.start(),
            states: numbers(section::STATES).iter().map(|word| (word >> 1, word & 1 == 1)).collect(),
            byte_classes: bytes_of(section::BYTE_CLASSES).to_vec(),
            classes: index.root().classes as usize,
            transitions: transitions.map(|next| u16::from_le_bytes(next.try_into().unwrap())).collect(),
            push_transition_starts: numbers(section::PUSH_TRANSITION_STARTS),
            push_transitions: numbers(section::PUSH_TRANSITIONS),
            pushed: numbers(section::PUSHED),
            returns,
            suffix_sets: numbers(section::SUFFIX_SETS),
            pair_starts: numbers(section::PAIR_STARTS),
            pairs: numbers(section::PAIRS),
            index,
            vocabulary,
        }
    }

    fn accepts(&self, state: u32) -> bool {
        self.states[state as usize].1
    }

    fn transition(&self, state: u32, byte: u8) -> Option<u32> {
        let class = usize::from(self.byte_classes[usize::from(byte)]);
        let next = self.transitions[state as usize * self.classes + class];
        (next != 0).then_some(u32::from(next))
    }

    /// The push transitions of a state: the entry, and the pushed return states.
    fn push_transitions(&self, state: u32) -> Vec<(u32, &[u32])> {
        let of = |at: usize| self.push_transition_starts[state as usize + at] as usize;
        let push = |three: &[u32]| (three[0], three[1] as usize..three[2] as usize);
        let all = self.push_transitions[3 * of(0)..3 * of(1)].chunks_exact(3).map(push);
        all.map(|(entry, pushed)| (entry, &self.pushed[pushed])).collect()
    }

    /// The pairs of a suffix set: return class, row, suffix set that is left.
    fn pairs(&self, suffix_set: u32) -> Vec<&[u32]> {
        let of = |at: usize| self.pair_starts[suffix_set as usize + at] as usize;
        self.pairs[3 * of(0)..3 * of(1)].chunks_exact(3).collect()
    }

    fn exit(&self, state: u32) -> usize {
        self.exits.get(state as usize).map_or(0, |&exit| exit as usize)
    }

    /// Where the rule of a state goes on that ends there.
    fn popped(&self, state: u32, stack: &[u32]) -> Option<Configuration> {
        let (&top, below) = stack.split_last()?;
        let back = self.return_rows[top as usize].get(self.exit(state)).filter(|back| **back != 0)?;
        Some((*back, below.to_vec()))
    }

    fn step(&self, from: &BTreeSet<Configuration>, byte: u8) -> BTreeSet<Configuration> {
        let mut next = BTreeSet::new();
        let mut open: Vec<Configuration> = from.iter().cloned().collect();
        while let Some((state, stack)) = open.pop() {
            next.extend(self.transition(state, byte).map(|to| self.arrived(to, stack.clone())));
            for (entry, pushed) in self.push_transitions(state) {
                let more = [&stack, pushed].concat();
                next.extend(self.transition(entry, byte).map(|to| self.arrived(to, more)));
            }
            if self.accepts(state) {
                open.extend(self.popped(state, &stack));
            }
        }
        next
    }

    /// A rule that has to end has ended.
    fn arrived(&self, state: u32, stack: Vec<u32>) -> Configuration {
        match self.popped(state, &stack) {
            Some((to, below)) if self.suffix_sets[state as usize] == END => self.arrived(to, below),
            _ => (state, stack),
        }
    }

    fn after(&self, text: &str) -> BTreeSet<Configuration> {
        let start = BTreeSet::from([(self.start, Vec::new())]);
        text.bytes().fold(start, |at, byte| self.step(&at, byte))
    }

    /// The rows of a configuration: suffix set and return class for those after its own.
    fn rows(&self, (state, stack): &Configuration) -> Vec<(Option<(u32, u32)>, u32)> {
        let mut rows = vec![(None, self.states[*state as usize].0)];
        let mut suffix_set = self.suffix_sets[*state as usize];
        for &top in stack.iter().rev() {
            let pairs = if suffix_set == END { Vec::new() } else { self.pairs(suffix_set) };
            let class = self.returns[top as usize].1;
            let Some(pair) = pairs.into_iter().find(|pair| pair[0] == class) else { break };
            rows.push((Some((suffix_set, class)), pair[1]));
            suffix_set = pair[2];
        }
        rows
    }

    fn ids(&self, row: u32) -> Vec<u32> {
        self.index.row(&self.vocabulary, row).unwrap().ids(self.index.row_words())
    }

    fn mask(&self, at: &BTreeSet<Configuration>) -> BTreeSet<u32> {
        at.iter().flat_map(|at| self.rows(at)).flat_map(|(_, row)| self.ids(row)).collect()
    }

    fn completes(&self, at: &BTreeSet<Configuration>) -> bool {
        at.iter().any(|(state, stack)| self.ends(*state, stack))
    }

    /// Whether all rules may end, one after the other.
    fn ends(&self, state: u32, stack: &[u32]) -> bool {
        let below = || self.popped(state, stack).is_some_and(|(state, stack)| self.ends(state, &stack));
        self.accepts(state) && (stack.is_empty() || below())
    }

    /// Where a token that began in `state` may end the state's rule with bytes left: what was read, and what may be left.
    fn rests(&self, state: u32, tokens: &[&str]) -> Vec<(String, Vec<String>)> {
        let mut rests: Vec<(String, Vec<String>)> = Vec::new();
        for token in tokens {
            for read in 0..token.len() {
                let (prefix, rest) = token.split_at(read);
                let start = BTreeSet::from([(state, Vec::new())]);
                let at = prefix.bytes().fold(start, |at, byte| self.step(&at, byte));
                let ends = at.iter().any(|(end, stack)| stack.is_empty() && self.accepts(*end));
                let first = rest.as_bytes()[0];
                let is_read =
                    |&(to, _): &(u32, u32)| !self.step(&BTreeSet::from([(to, Vec::new())]), first).is_empty();
                if !(ends && self.returns.iter().any(is_read)) {
                    continue;
                }
                match rests.iter_mut().find(|(known, _)| known == prefix) {
                    Some((_, known)) => known.push(rest.to_owned()),
                    None => rests.push((prefix.to_owned(), vec![rest.to_owned()])),
                }
            }
        }
        rests
    }
}

fn words<T: AsRef<str>>(all: impl IntoIterator<Item = T>) -> String {
    let all: Vec<String> = all.into_iter().map(|one| format!("`{}`", one.as_ref())).collect();
    if all.is_empty() { "nothing".into() } else { all.join(" ") }
}

fn tokens_of(ids: impl IntoIterator<Item = u32>) -> String {
    words(ids.into_iter().map(|id| TOKENS[id as usize]))
}

fn suffix_set_name(number: u32) -> String {
    if number == END { "ends".into() } else { format!("N{number}") }
}

/// A table with columns as wide as they have to be.
fn table(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap();
    let mut out = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .enumerate()
            .map(|(column, cell)| format!("{cell:<width$}", width = width(column)))
            .collect();
        writeln!(out, "{}", cells.join("   ").trim_end()).unwrap();
    }
    out
}

fn row_of<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn states_block(reader: &Reader) -> String {
    let mut rows = vec![row_of(["state", "may end", "transitions", "push transitions", "row(q)", "N(q)"])];
    for state in 1..reader.index.states() {
        let step = |&byte: &u8| {
            reader
                .transition(state, byte)
                .map(|to| format!("{} to {to}", words([char::from(byte).to_string()])))
        };
        let push_transitions = reader.push_transitions(state).into_iter().map(|(entry, pushed)| {
            let pushed: Vec<String> = pushed.iter().map(|top| format!(", push r{top}")).collect();
            format!("{entry}{}", pushed.concat())
        });
        let (row, ends) = reader.states[state as usize];
        rows.push(vec![
            state.to_string(),
            if ends { "yes" } else { "no" }.into(),
            b"[],x".iter().filter_map(step).collect::<Vec<_>>().join(", "),
            push_transitions.collect::<Vec<_>>().join("; "),
            tokens_of(reader.ids(row)),
            suffix_set_name(reader.suffix_sets[state as usize]),
        ]);
    }
    table(&rows)
}

fn returns_block(reader: &Reader) -> String {
    let names = reader.index.call_root().unwrap().unwrap().returns;
    let mut out = String::new();
    for ((number, (state, class)), name) in reader.returns.iter().enumerate().zip(&names) {
        writeln!(out, "r{number}: state {state}, in {}, after {}; class c{class}", name.caller, name.callee)
            .unwrap();
    }
    out
}

fn suffix_sets_block(reader: &Reader) -> String {
    let mut out = String::new();
    let sets: BTreeSet<u32> =
        reader.suffix_sets.iter().copied().filter(|&set| set != 0 && set != END).collect();
    for set in sets {
        let states = (1..reader.index.states()).filter(|&state| reader.suffix_sets[state as usize] == set);
        let states: Vec<u32> = states.collect();
        let rests = reader.rests(states[0], TOKENS);
        assert!(states.iter().all(|&state| reader.rests(state, TOKENS) == rests), "one set, one meaning");
        for (read, left) in rests {
            writeln!(out, "{}: after {}, {}", suffix_set_name(set), words([read]), words(left)).unwrap();
        }
    }
    out
}

fn pairs_block(reader: &Reader) -> String {
    let mut rows = vec![row_of(["N, c", "row(N, c)", "left"])];
    for set in 0..u32::try_from(reader.pair_starts.len()).unwrap() - 1 {
        for pair in reader.pairs(set) {
            rows.push(vec![
                format!("{}, c{}", suffix_set_name(set), pair[0]),
                tokens_of(reader.ids(pair[1])),
                suffix_set_name(pair[2]),
            ]);
        }
    }
    table(&rows)
}

fn masks_block(reader: &Reader) -> String {
    let mut out = String::new();
    for text in TEXTS {
        let at = reader.after(text);
        assert_eq!(at.len(), 1, "the example is deterministic");
        let configuration = at.first().unwrap();
        let stack: Vec<String> = configuration.1.iter().rev().map(|top| format!("r{top}")).collect();
        let stack = if stack.is_empty() { "nothing".into() } else { stack.join(" ") };
        let text = if text.is_empty() { "no text".into() } else { words([text]) };
        writeln!(out, "after {text}: state {}, on the stack {stack}", configuration.0).unwrap();
        for (key, row) in reader.rows(configuration) {
            let name = match key {
                None => format!("row({})", configuration.0),
                Some((set, class)) => format!("row({}, c{class})", suffix_set_name(set)),
            };
            writeln!(out, "    {name:<12} {}", tokens_of(reader.ids(row))).unwrap();
        }
        let eos = if reader.completes(&at) { "; complete" } else { "" };
        writeln!(out, "    {:<12} {} tokens{eos}", "mask", reader.mask(&at).len()).unwrap();
    }
    out
}

fn advance_block(reader: &Reader, text: &str, token: &str) -> String {
    let mut at = reader.after(text);
    let mut out = String::new();
    for byte in token.bytes() {
        let from = at.first().unwrap().clone();
        at = reader.step(&at, byte);
        let own = reader
            .transition(from.0, byte)
            .map_or_else(|| "a push transition".into(), |to| format!("state {to}"));
        let (state, stack) = at.first().unwrap();
        let popped = (from.1.len()).saturating_sub(stack.len());
        let ends =
            if popped > 0 { format!(", where the rule ends: {popped} frame popped") } else { String::new() };
        writeln!(
            out,
            "{}: from state {} to {own}{ends}; now state {state}, {} on the stack",
            words([char::from(byte).to_string()]),
            from.0,
            stack.len()
        )
        .unwrap();
    }
    out
}

/// What return states with exits lead to, and where some texts stand.
fn exits_block(reader: &Reader) -> String {
    let names = reader.index.call_root().unwrap().unwrap().returns;
    let mut out = String::new();
    for ((number, row), name) in (0..).zip(&reader.return_rows).zip(&names) {
        let after = |(exit, state): (usize, &u32)| format!("state {state} after exit {exit}");
        let ways: Vec<String> = row.iter().enumerate().filter(|way| *way.1 != 0).map(after).collect();
        writeln!(out, "r{number}: {}; in {}, after {}", ways.join(", "), name.caller, name.callee).unwrap();
    }
    out
}

fn exit_texts_block(reader: &Reader) -> String {
    let mut out = String::new();
    for text in EXIT_TEXTS {
        let at = reader.after(text);
        assert_eq!(at.len(), 1, "the example is deterministic");
        let (state, stack) = at.first().unwrap();
        let on_stack: Vec<String> = stack.iter().rev().map(|top| format!("r{top}")).collect();
        let back = match reader.popped(*state, stack) {
            Some((back, _)) if reader.accepts(*state) => {
                format!(", where it ends at exit {}, in state {back}", reader.exit(*state))
            }
            _ => String::new(),
        };
        let allowed = words(reader.mask(&at).into_iter().map(|id| EXIT_TOKENS[id as usize]));
        writeln!(
            out,
            "after {}: state {state}, on the stack {}{back}; allowed: {allowed}",
            words([text]),
            on_stack.join(" ")
        )
        .unwrap();
    }
    out
}

fn open(tokens: &[&str], grammar: &str) -> (Reader, Matcher) {
    open_constraint(tokens, &Constraint::gbnf(grammar, "root"))
}

/// Under Lark's lexer.
fn open_lexed(tokens: &[&str], grammar: &str) -> (Reader, Matcher) {
    let lexer = Some(Lexer::Contextual(LookAhead::default()));
    open_constraint(tokens, &Constraint::grammar(Dialect::Lark, grammar, "start", lexer, Vec::new()))
}

fn open_constraint(tokens: &[&str], constraint: &Constraint) -> (Reader, Matcher) {
    let tokens: Vec<(&[u8], bool)> =
        tokens.iter().map(|token| (token.as_bytes(), false)).chain([(&b"<eos>"[..], true)]).collect();
    let (vocabulary, index) = example::build(&tokens, constraint);
    let vocabulary = Arc::new(Vocabulary::from_bytes(&vocabulary).unwrap());
    let index = Arc::new(Index::from_bytes(&index).unwrap());
    index.verify().unwrap();
    let eos = vocabulary.len() - 1;
    let binding = Binding::new(vec![eos], vocabulary.len());
    (Reader::new(index.clone(), vocabulary.clone()), Matcher::new(index, vocabulary, &binding).unwrap())
}

#[test]
fn the_worked_example_in_the_documentation_is_what_is_computed() {
    let (reader, _) = open(TOKENS, LISTS);
    assert_eq!(reader.index.class(), IndexClass::Deterministic);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recursion.md");
    let page = std::fs::read_to_string(path).unwrap();
    let vocabulary: Vec<String> =
        (0..).zip(TOKENS).map(|(id, token): (u32, _)| format!("{id} `{token}`")).collect();
    let blocks = [
        LISTS.split_once('\n').unwrap().1.to_owned(),
        format!("{}\n", vocabulary.join("  ")),
        states_block(&reader),
        returns_block(&reader),
        suffix_sets_block(&reader),
        pairs_block(&reader),
        masks_block(&reader),
        advance_block(&reader, "[[[x", "]],"),
    ];
    let blocks = blocks.map(|block| format!("```text\n{block}```\n"));
    let missing: Vec<String> = blocks.into_iter().filter(|block| !page.contains(block)).collect();
    assert!(missing.is_empty(), "docs/recursion.md should have\n\n{}", missing.join("\n"));
}

#[test]
fn the_example_of_exits_in_the_documentation_is_what_is_computed() {
    let (reader, _) = open_lexed(EXIT_TOKENS, EXITS);
    assert_eq!(reader.index.class(), IndexClass::Deterministic);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recursion.md");
    let page = std::fs::read_to_string(path).unwrap();
    let grammar = EXITS.split_once('\n').unwrap().1.to_owned();
    let blocks = [grammar, exits_block(&reader), exit_texts_block(&reader)];
    let blocks = blocks.map(|block| format!("```text\n{block}```\n"));
    let missing: Vec<String> = blocks.into_iter().filter(|block| !page.contains(block)).collect();
    assert!(missing.is_empty(), "docs/recursion.md should have\n\n{}", missing.join("\n"));
}

/// Every text of up to `depth` tokens: the reader and the matcher say the same of it.
fn compare(reader: &Reader, matcher: &mut Matcher, at: &BTreeSet<Configuration>, depth: u32, seen: &mut u32) {
    let mut mask = vec![0; matcher.mask_words()];
    matcher.fill(&mut mask).unwrap();
    let mut expected = reader.mask(at);
    let eos = matcher.vocabulary().len() - 1;
    if reader.completes(at) {
        expected.insert(eos);
    }
    let found: BTreeSet<u32> = (0..=eos).filter(|id| mask[*id as usize / 32] >> (id % 32) & 1 == 1).collect();
    assert_eq!(found, expected, "{at:?}");
    *seen += 1;
    if depth == 0 {
        return;
    }
    for id in expected.into_iter().filter(|&id| id != eos) {
        let bytes = matcher.vocabulary().bytes(id).to_vec();
        let next = bytes.iter().fold(at.clone(), |at, &byte| reader.step(&at, byte));
        matcher.advance(id).unwrap();
        compare(reader, matcher, &next, depth - 1, seen);
        matcher.rollback(1).unwrap();
    }
}

#[test]
fn a_reader_made_from_the_documentation_agrees_with_the_matcher() {
    for (tokens, grammar, class) in [
        (TOKENS, LISTS, IndexClass::Deterministic),
        (&["a", "b", "aa", "ab", "bb", "aba", "abba"][..], PALINDROMES, IndexClass::Ambiguous),
    ] {
        let (reader, mut matcher) = open(tokens, grammar);
        assert_eq!(reader.index.class(), class);
        let mut seen = 0;
        compare(&reader, &mut matcher, &reader.after(""), 5, &mut seen);
        assert!(seen > 1_000, "{seen}");
    }
    let (reader, mut matcher) = open_lexed(EXIT_TOKENS, EXITS);
    let mut seen = 0;
    compare(&reader, &mut matcher, &reader.after(""), 5, &mut seen);
    assert!(seen > 1_000 && !reader.exits.is_empty(), "{seen}");
}
