//! Parse trees from choices, for a person.
//!
//! The derivation is walked once more from the left, taking the choices in their order, and becomes a list of what opens and closes:
//! nothing here calls itself, however deep rules nest. A tree is shown by its rules and the text in them: `list("a" list("b"))`. Two
//! derivations may differ in what is no rule; then alternatives are numbered, and the copies of a repetition stand in braces. A tree is
//! cut after [`SHOWN_EVENTS`] parts. O(parts shown).

use gobo_automata::RuleId;
use gobo_types::DenseId as _;

use super::search::Found;
use super::symbols::{Form, SymbolId, Symbols};

/// Parts of a tree that are shown.
const SHOWN_EVENTS: usize = 4096;

/// A text, and two of its trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TwoTrees {
    /// The text.
    pub text: String,
    /// The trees, each on one line.
    pub trees: [String; 2],
}

/// What a walk meets.
enum Event {
    Text(String),
    Rule(RuleId),
    /// Which alternative, counted from 1.
    Alternative(usize),
    Copies,
    Copy,
    /// The end of one of those before.
    End,
}

/// What is still to be walked.
enum Task {
    Symbol(SymbolId),
    Copies(SymbolId, u32),
    End,
}

/// The text and the trees of what a search has found.
pub(super) fn trees(symbols: &Symbols, start: SymbolId, found: &Found) -> TwoTrees {
    let text: String = found.text.iter().map(|&minterm| symbols.minterms.sample(minterm)).collect();
    let walks = found.choices.each_ref().map(|choices| events(symbols, start, &text, choices));
    let brief = walks.each_ref().map(|events| shown(symbols, events, false));
    let trees = if brief[0] == brief[1] {
        walks.each_ref().map(|events| shown(symbols, events, true))
    } else {
        brief
    };
    TwoTrees { text, trees }
}

/// A walk along the choices of one derivation.
fn events(symbols: &Symbols, start: SymbolId, text: &str, choices: &[usize]) -> Vec<Event> {
    let (mut text, mut choices) = (text.chars(), choices.iter().copied());
    let mut events = Vec::new();
    let mut tasks = vec![Task::Symbol(start)];
    while let Some(task) = tasks.pop() {
        if events.len() >= SHOWN_EVENTS {
            break;
        }
        let symbol = match task {
            Task::Symbol(symbol) => symbol,
            Task::End => {
                events.push(Event::End);
                continue;
            }
            Task::Copies(of, most) => {
                if most > 0 && choices.next() == Some(1) {
                    events.push(Event::Copy);
                    tasks.extend([Task::Copies(of, most - 1), Task::End, Task::Symbol(of)]);
                } else {
                    events.push(Event::End);
                }
                continue;
            }
        };
        match &symbols.forms[symbol] {
            Form::Char(_) => events.push(Event::Text(text.next().into_iter().collect())),
            Form::Leaf(_) => {
                let mut of_leaf = String::new();
                while choices.next() == Some(1) {
                    of_leaf.extend(text.next());
                }
                events.push(Event::Text(of_leaf));
            }
            Form::Sequence(parts) => tasks.extend(parts.iter().rev().map(|part| Task::Symbol(*part))),
            Form::Rule(rule) => {
                events.push(Event::Rule(*rule));
                tasks.extend([Task::End, Task::Symbol(symbols.body(*rule))]);
            }
            Form::Choice(parts) => {
                let choice = choices.next().unwrap_or_default();
                events.push(Event::Alternative(choice + 1));
                tasks.extend([Task::End, Task::Symbol(parts[choice])]);
            }
            Form::Repeat(of) => {
                events.push(Event::Copies);
                tasks.push(Task::Copies(*of, u32::MAX));
            }
            Form::UpTo(of, most) => {
                events.push(Event::Copies);
                tasks.push(Task::Copies(*of, *most));
            }
        }
    }
    events
}

/// Words with spaces between them, and none inside of parentheses.
#[derive(Default)]
struct Line {
    words: String,
    /// Characters that stand side by side.
    text: Option<String>,
    is_after_word: bool,
}

impl Line {
    fn flush(&mut self) {
        if let Some(text) = self.text.take() {
            self.word(&format!("{text:?}"), true);
        }
    }

    fn word(&mut self, word: &str, is_whole: bool) {
        if self.is_after_word {
            self.words.push(' ');
        }
        self.words.push_str(word);
        self.is_after_word = is_whole;
    }

    fn open(&mut self, word: &str) {
        self.flush();
        self.word(word, false);
    }

    fn close(&mut self, sign: char) {
        self.flush();
        self.words.push(sign);
        self.is_after_word = true;
    }
}

fn shown(symbols: &Symbols, events: &[Event], is_detailed: bool) -> String {
    let mut line = Line::default();
    // What closes each that is open, if it is shown.
    let mut open: Vec<Option<char>> = Vec::new();
    for event in events {
        match event {
            Event::Text(text) => {
                if is_detailed {
                    line.flush();
                }
                line.text.get_or_insert_default().push_str(text);
            }
            Event::Rule(rule) => {
                line.open(&format!("{}(", symbols.names[rule.index()]));
                open.push(Some(')'));
            }
            Event::Alternative(number) if is_detailed => {
                line.open(&format!("{number}:("));
                open.push(Some(')'));
            }
            Event::Copies if is_detailed => {
                line.open("{");
                open.push(Some('}'));
            }
            Event::Copy if is_detailed => {
                line.open("(");
                open.push(Some(')'));
            }
            Event::Alternative(_) | Event::Copies | Event::Copy => open.push(None),
            Event::End => {
                if let Some(sign) = open.pop().flatten() {
                    line.close(sign);
                }
            }
        }
    }
    line.flush();
    if !open.is_empty() {
        line.word("…", true);
    }
    line.words
}
