//! The longest match, as llguidance's documentation has it: at each place the terminals that the parser can use are read beside each other,
//! a lexeme ends where none of them goes on, all that match there are it, and a lazy one ends them all with its first match.
//!
//! Readings are followed one by one, with the parser's stack of each: every shift and every reduction that the LALR(1) states have before
//! a terminal. Patterns are read by what is left of them.

use std::collections::BTreeSet;

use super::parser::{Automaton, END, START};
use super::{Lexed, Pattern, Terminal};

/// A grammar that is read with the longest lexemes.
#[derive(Debug)]
pub struct LongestReader {
    terminals: Vec<Terminal>,
    states: Automaton,
    /// Whether ignored text may stand first.
    skips_first: bool,
}

/// Most readings, and most stacks before one terminal, that are followed.
const MOST: usize = 60;

/// What is left of a pattern: parts one after the other.
type Rest = Vec<Pattern>;

impl Lexed {
    /// The reader of the grammar. A terminal that has the empty text is a rule that may be empty.
    pub fn longest(&self, skips_first: bool) -> LongestReader {
        let is_optional = |name: &str| {
            self.terminals.iter().any(|of| of.name == name && is_empty(std::slice::from_ref(&of.pattern)))
        };
        let optional = |name: &str| format!("{name}?");
        let mut productions: Vec<(String, Vec<String>)> = Vec::new();
        for (name, body) in self.called() {
            let symbol =
                |symbol: &String| if is_optional(symbol) { optional(symbol) } else { symbol.clone() };
            productions.push((name.clone(), body.iter().map(symbol).collect()));
        }
        for terminal in self.terminals.iter().filter(|terminal| is_optional(&terminal.name)) {
            productions.push((optional(&terminal.name), vec![terminal.name.clone()]));
            productions.push((optional(&terminal.name), Vec::new()));
        }
        let is_terminal = |name: &str| self.terminals.iter().any(|terminal| terminal.name == name);
        let states = Automaton::of(&productions, &is_terminal);
        LongestReader { terminals: self.terminals.clone(), states, skips_first }
    }
}

impl LongestReader {
    /// Whether the grammar has a text; `None` if there are more readings than are followed.
    pub fn reads(&self, text: &str) -> Option<bool> {
        let text: Vec<char> = text.chars().collect();
        let mut open = vec![(0, vec![START], self.skips_first)];
        let mut seen: BTreeSet<(usize, Vec<usize>, bool)> = open.iter().cloned().collect();
        while let Some((at, stack, skips)) = open.pop() {
            if at == text.len() && self.ends(&stack, text.len())? {
                return Some(true);
            }
            let state = *stack.last().expect("the first state stays");
            for (end, terminal) in self.lexemes(&text, at, state, skips) {
                // A terminal that is ignored may stand in rules as well.
                let mut after = Vec::new();
                if self.acts(state, &terminal.name) {
                    after = self.shifted(&stack, &terminal.name, text.len())?;
                }
                after.extend((terminal.is_ignored && skips).then(|| stack.clone()));
                for stack in after {
                    let next = (end, stack, true);
                    if seen.insert(next.clone()) {
                        open.push(next);
                    }
                }
            }
            if seen.len() > MOST {
                return None;
            }
        }
        Some(false)
    }

    /// Whether a state has an action before a terminal.
    fn acts(&self, state: usize, terminal: &str) -> bool {
        self.states.shifts[state].contains_key(terminal) || self.states.ends[state].contains_key(terminal)
    }

    /// The lexemes that begin at a place: their ends and terminals.
    fn lexemes(&self, text: &[char], at: usize, state: usize, skips: bool) -> Vec<(usize, &Terminal)> {
        let mut alive: Vec<(&Terminal, BTreeSet<Rest>)> = (self.terminals.iter())
            .filter(|terminal| terminal.is_ignored && skips || self.acts(state, &terminal.name))
            // The first text of a lazy one is the empty one, if it has that.
            .filter(|terminal| !(terminal.is_lazy && is_empty(std::slice::from_ref(&terminal.pattern))))
            .map(|terminal| (terminal, BTreeSet::from([vec![terminal.pattern.clone()]])))
            .collect();
        let mut found = Vec::new();
        for end in at + 1..=text.len() {
            alive = after(&alive, text[end - 1]);
            let matched: Vec<&Terminal> =
                (alive.iter()).filter(|of| of.1.iter().any(|rest| is_empty(rest))).map(|of| of.0).collect();
            let lazy: Vec<&Terminal> = matched.iter().copied().filter(|terminal| terminal.is_lazy).collect();
            if !lazy.is_empty() {
                found.extend(lazy.into_iter().map(|terminal| (end, terminal)));
                break;
            }
            let goes_on = text.get(end).is_some_and(|&char| !after(&alive, char).is_empty());
            if !goes_on {
                found.extend(matched.into_iter().map(|terminal| (end, terminal)));
            }
            if alive.is_empty() {
                break;
            }
        }
        found
    }

    /// The stacks after all reductions that may stand before a terminal, those without any among them. Stacks are as high as a text of
    /// that length can ask for; `None` if there are too many.
    fn reduced(&self, stack: &[usize], ahead: &str, length: usize) -> Option<BTreeSet<Vec<usize>>> {
        let highest = 3 * length + 12;
        let mut all = BTreeSet::from([stack.to_vec()]);
        let mut open = vec![stack.to_vec()];
        while let Some(stack) = open.pop() {
            let state = *stack.last().expect("the first state stays");
            for &production in self.states.ends[state].get(ahead).into_iter().flatten() {
                let (name, body) = &self.states.productions[production];
                let mut next = stack[..stack.len() - body.len()].to_vec();
                let below = *next.last().expect("the first state stays");
                let Some(&to) = self.states.gotos[below].get(name) else { continue };
                next.push(to);
                if next.len() <= highest && all.insert(next.clone()) {
                    open.push(next);
                }
            }
            if all.len() > MOST {
                return None;
            }
        }
        Some(all)
    }

    fn shifted(&self, stack: &[usize], terminal: &str, length: usize) -> Option<Vec<Vec<usize>>> {
        let mut after = Vec::new();
        for mut stack in self.reduced(stack, terminal, length)? {
            let state = *stack.last().expect("the first state stays");
            if let Some(&to) = self.states.shifts[state].get(terminal) {
                stack.push(to);
                after.push(stack);
            }
        }
        Some(after)
    }

    /// Whether the text may end: the production of the whole text does.
    fn ends(&self, stack: &[usize], length: usize) -> Option<bool> {
        let whole = |stack: &Vec<usize>| {
            let state = stack.last().expect("the first state stays");
            self.states.ends[*state].get(END).is_some_and(|productions| productions.contains(&0))
        };
        Some(self.reduced(stack, END, length)?.iter().any(whole))
    }
}

/// What is left after a character.
fn after<'a>(alive: &[(&'a Terminal, BTreeSet<Rest>)], char: char) -> Vec<(&'a Terminal, BTreeSet<Rest>)> {
    let step = |rests: &BTreeSet<Rest>| rests.iter().flat_map(|rest| left(rest, char)).collect();
    let stepped = alive.iter().map(|(terminal, rests)| (*terminal, step(rests)));
    stepped.filter(|of: &(&Terminal, BTreeSet<Rest>)| !of.1.is_empty()).collect()
}

/// Whether the empty text is one of the texts.
fn is_empty(rest: &[Pattern]) -> bool {
    rest.iter().all(|pattern| match pattern {
        Pattern::Text(text) => text.is_empty(),
        Pattern::Chars(..) => false,
        Pattern::Concat(parts) => is_empty(parts),
        Pattern::Alternate(parts) => parts.iter().any(|part| is_empty(std::slice::from_ref(part))),
        Pattern::Repeat { pattern, min, .. } => *min == 0 || is_empty(std::slice::from_ref(pattern)),
        Pattern::Ahead { .. } | Pattern::Behind { .. } => panic!("llguidance has no look-around"),
    })
}

/// What is left of parts after a character, by each way through them.
fn left(rest: &[Pattern], char: char) -> Vec<Rest> {
    let Some((first, after)) = rest.split_first() else { return Vec::new() };
    let then = |mut ways: Vec<Rest>| {
        ways.iter_mut().for_each(|way| way.extend_from_slice(after));
        ways
    };
    let mut ways = match first {
        Pattern::Text(text) => match text.strip_prefix(char) {
            Some(more) => then(vec![vec![Pattern::Text(more.to_owned())]]),
            None => Vec::new(),
        },
        Pattern::Chars(chars, negated) => {
            let is_in = if *negated { char != '\n' && !chars.contains(&char) } else { chars.contains(&char) };
            if is_in { vec![after.to_vec()] } else { Vec::new() }
        }
        Pattern::Concat(parts) => then(left(parts, char)),
        Pattern::Alternate(parts) => {
            then(parts.iter().flat_map(|part| left(std::slice::from_ref(part), char)).collect())
        }
        Pattern::Repeat { max: Some(0), .. } => Vec::new(),
        Pattern::Repeat { pattern, min, max, lazy } => {
            let again = Pattern::Repeat {
                pattern: pattern.clone(),
                min: min.saturating_sub(1),
                max: max.map(|max| max - 1),
                lazy: *lazy,
            };
            let mut turns = left(std::slice::from_ref(pattern), char);
            turns.iter_mut().for_each(|way| way.push(again.clone()));
            then(turns)
        }
        Pattern::Ahead { .. } | Pattern::Behind { .. } => panic!("llguidance has no look-around"),
    };
    if is_empty(std::slice::from_ref(first)) {
        ways.extend(left(after, char));
    }
    ways
}
