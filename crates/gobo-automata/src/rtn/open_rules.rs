//! The rules that a text stands in: those that have begun in it and not ended.
//!
//! The text is read by the rules as they are written, before anything is inlined or removed, with the chart of Earley 1970 (*An efficient
//! context-free parsing algorithm*): at each place of the text the states that some rule is in, each with the place where the rule began.
//! A rule is a deterministic automaton, so that an item is a rule, a state and a place. Where a rule ends, the items at the place of its
//! beginning that call it go on (`Chart::end`); a rule that has the empty text is passed over as it is called (Aycock & Horspool 2002,
//! *Practical Earley parsing*). Places are bytes. A token edge goes over a whole token, and the characters of a token of text one by one:
//! both ways stay alive. O(bytes² × states of the rules) at worst.
//!
//! A *way* goes from an item at the end up: its rule, a rule that called it where it began, and so on to the start rule.

use std::collections::{HashMap, HashSet};

use gobo_types::{Budget, CharCount, CompileError, LengthRange, Table, TextStart, TokenId};

use super::grammar::Grammar;
use super::rules::Rules;
use crate::ids::{CharState, RuleId, Symbol};
use crate::letters::{TokenClasses, letter_code};

const PHASE: &str = "reading a text by its rules";

/// Bytes that an item is charged.
const ITEM_BYTES: u64 = 64;

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Bytes that are read one by one, and no token.
    Text(&'a [u8]),
    /// A token.
    Token {
        /// Its id.
        id: TokenId,
        /// Its bytes.
        bytes: &'a [u8],
        /// Whether its bytes are no text, so that a token edge alone reads it.
        is_special: bool,
    },
}

/// A rule that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpenRule {
    /// Its name.
    pub name: String,
    /// The byte at which it begins.
    pub from: usize,
}

/// The rules that a text stands in, by the ways in which it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRules {
    /// Different ways, none the beginning of another; of each its rules, outermost first. None for a text that begins no text of the
    /// grammar.
    pub ways: Vec<Vec<OpenRule>>,
    /// Whether there may be others.
    pub has_more: bool,
}

impl Grammar {
    /// The rules that a text stands in, by `most` ways at most. `classes`: those of the letters that were put in the place of its token
    /// sets. An incomplete character at the end counts as not there, unless a token has it.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`], of rules or of the text.
    ///
    /// ```
    /// use gobo_automata::{Expr, Grammar, OpenRule, Piece, Rule, RuleId, TokenClasses};
    /// use gobo_types::{Budget, CompileLimits, DenseId as _, TextStart};
    ///
    /// // list ::= "[" (list | word) "]"; word ::= "x"*
    /// let (list, word) = (Expr::Call(RuleId::new(0)), Expr::Call(RuleId::new(1)));
    /// let body = Expr::Alternate(vec![list, word]);
    /// let list = Expr::Concat(vec![Expr::text("["), body, Expr::text("]")]);
    /// let rule = |name: &str, expr| Rule { name: name.to_owned(), expr, lengths: None };
    /// let rules = vec![rule("list", list), rule("word", Expr::text("x").repeat(0, None))];
    /// let (start, called, families) = (RuleId::new(0), Vec::new(), Vec::new());
    /// let grammar = Grammar { rules, start, called, families, tokens: Vec::new() };
    /// let budget = Budget::new(CompileLimits::default());
    /// let open = grammar.open_rules(&[Piece::Text(b"[[x")], TextStart::Exact, &TokenClasses::default(), 8, &budget)?;
    /// let names = |(name, from): (&str, usize)| OpenRule { name: name.to_owned(), from };
    /// assert_eq!(open.ways, [[("list", 0), ("list", 1), ("word", 2)].map(names)]);
    /// # Ok::<(), gobo_types::CompileError>(())
    /// ```
    pub fn open_rules(
        &self,
        pieces: &[Piece<'_>],
        text_start: TextStart,
        classes: &TokenClasses,
        most: usize,
        budget: &Budget,
    ) -> Result<OpenRules, CompileError> {
        let mut rules = Rules::of(self, &[], TextStart::Exact, budget)?;
        rules.drop_unproductive(budget)?;
        let text = Text::of(pieces, classes);
        let mut chart = Chart::new(&rules, &text, classes, budget)?;
        // A space that is dropped is before the text.
        let is_dropped = text_start == TextStart::StripOneSpace && text.begins_with(' ');
        let whole = (self.start, usize::from(is_dropped));
        let end = chart.read(whole)?;
        chart.ways(end, whole, most)
    }
}

/// A text as edges between its places.
struct Text {
    bytes: Vec<u8>,
    /// `[bytes]`: what may be read from each place: a code, and the place after it.
    edges: Vec<Vec<(u32, usize)>>,
    /// Where tokens begin, ascending.
    tokens: Vec<usize>,
}

impl Text {
    fn of(pieces: &[Piece<'_>], classes: &TokenClasses) -> Self {
        let (mut bytes, mut tokens, mut letters) = (Vec::new(), Vec::new(), Vec::new());
        // Runs of text, whose characters may lie in several pieces.
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for piece in pieces {
            let from = bytes.len();
            let is_text = match *piece {
                Piece::Text(text) => {
                    bytes.extend_from_slice(text);
                    true
                }
                Piece::Token { id, bytes: of_token, is_special } => {
                    // A token without bytes has a place all the same.
                    bytes.extend_from_slice(if of_token.is_empty() { b"\0" } else { of_token });
                    tokens.push(from);
                    let class = classes.0.iter().position(|class| class.has(id));
                    letters
                        .extend(class.map(|class| (from, letter_code(class, classes.0.len()), bytes.len())));
                    !is_special && !of_token.is_empty()
                }
            };
            match runs.last_mut().filter(|run| run.1 == from) {
                Some(run) if is_text => run.1 = bytes.len(),
                _ if is_text => runs.push((from, bytes.len())),
                _ => {}
            }
        }
        let mut edges = vec![Vec::new(); bytes.len()];
        for (from, to) in runs {
            let run = &bytes[from..to];
            let whole =
                std::str::from_utf8(run).or_else(|error| std::str::from_utf8(&run[..error.valid_up_to()]));
            for (at, char) in whole.unwrap_or_default().char_indices() {
                edges[from + at].push((u32::from(char), from + at + char.len_utf8()));
            }
        }
        letters.into_iter().for_each(|(from, code, to)| edges[from].push((code, to)));
        Self { bytes, edges, tokens }
    }

    /// Whether its first character may be read, and is this one.
    fn begins_with(&self, char: char) -> bool {
        self.edges.first().is_some_and(|edges| edges.iter().any(|edge| edge.0 == u32::from(char)))
    }

    /// How many tokens begin from one place to before another.
    fn tokens_between(&self, from: usize, to: usize) -> usize {
        let before = |place| self.tokens.partition_point(|&token| token < place);
        before(to) - before(from)
    }
}

/// A rule in a state, and the place where it began.
type Item = (RuleId, CharState, usize);

/// The items at one place.
#[derive(Default)]
struct Column {
    items: Vec<Item>,
    /// Each item, and whether it has read something or is that of the whole text: others have only been called.
    known: HashMap<Item, bool>,
    /// By the rule that is called: the callers, behind the call.
    callers: HashMap<RuleId, Vec<Item>>,
}

struct Chart<'a> {
    rules: &'a Rules,
    text: &'a Text,
    nullable: Table<RuleId, bool>,
    /// What is read, by no token, where a budget of tokens is spent.
    spent: Option<Symbol>,
    columns: Vec<Column>,
    /// By the place where a counted string begins: the characters up to the last place that asked.
    counts: HashMap<usize, (usize, CharCount)>,
    budget: &'a Budget,
}

impl<'a> Chart<'a> {
    fn new(
        rules: &'a Rules,
        text: &'a Text,
        classes: &TokenClasses,
        budget: &'a Budget,
    ) -> Result<Self, CompileError> {
        let spent = classes.0.iter().position(|class| class.is_spent);
        let spent = spent.and_then(|class| symbol(rules, letter_code(class, classes.0.len())));
        let nullable = rules.nullable(budget)?;
        budget.charge_bytes(PHASE, (text.bytes.len() as u64 + 1) * ITEM_BYTES)?;
        let columns = (0..=text.bytes.len()).map(|_| Column::default()).collect();
        Ok(Self { rules, text, nullable, spent, columns, counts: HashMap::new(), budget })
    }

    /// Reads the text; the last place that has items.
    fn read(&mut self, (start, from): (RuleId, usize)) -> Result<usize, CompileError> {
        self.add(from, (start, self.rules.dfas[start].start, from), true)?;
        let mut end = from;
        for place in 0..self.columns.len() {
            let mut at = 0;
            while let Some(&item) = self.columns[place].items.get(at) {
                at += 1;
                self.go_on(place, item)?;
            }
            if at > 0 {
                end = place;
            }
        }
        Ok(end)
    }

    fn add(&mut self, place: usize, item: Item, is_read: bool) -> Result<(), CompileError> {
        if item.1 == CharState::DEAD {
            return Ok(());
        }
        self.budget.charge_steps(PHASE, 1)?;
        let column = &mut self.columns[place];
        match column.known.get_mut(&item) {
            Some(known) if *known || !is_read => {}
            // What follows from it has been read as well.
            Some(known) => {
                *known = true;
                column.items.push(item);
            }
            None => {
                self.budget.charge_bytes(PHASE, ITEM_BYTES)?;
                column.known.insert(item, is_read);
                column.items.push(item);
            }
        }
        Ok(())
    }

    /// All that follows from an item at a place.
    fn go_on(&mut self, place: usize, item: Item) -> Result<(), CompileError> {
        let (rule, state, from) = item;
        let rules = self.rules;
        let row = rules.dfas[rule].row(state);
        self.budget.charge_steps(PHASE, row.len() as u64)?;
        let is_read = self.columns[place].known[&item];
        let begun = self.text.tokens_between(from, place);
        let counted = rules.lengths[rule].and_then(|lengths| lengths.tokens).map(|most| most as usize);
        for &(symbol, to) in row {
            if let Some(callee) = rules.callee(symbol) {
                self.budget.charge_bytes(PHASE, ITEM_BYTES)?;
                self.columns[place].callers.entry(callee).or_default().push((rule, to, from));
                self.add(place, (callee, rules.dfas[callee].start, place), false)?;
                if self.nullable[callee] {
                    self.add(place, (rule, to, from), is_read)?;
                }
            } else if Some(symbol) == self.spent && counted == Some(begun) {
                self.add(place, (rule, to, from), is_read)?;
            }
        }
        // A state from which nothing says that the budget is spent ends without it.
        let is_counting = counted.is_some() && row.iter().any(|edge| Some(edge.0) == self.spent);
        let begins = self.text.tokens.binary_search(&place).is_ok();
        let is_left = counted.is_none_or(|most| begun + usize::from(begins) <= most) || !is_counting;
        for &(code, to_place) in self.text.edges.get(place).map_or(&[][..], Vec::as_slice) {
            let edge =
                symbol(rules, code).and_then(|symbol| row.binary_search_by_key(&symbol, |edge| edge.0).ok());
            if let Some(edge) = edge.filter(|_| is_left) {
                self.add(to_place, (rule, row[edge].1, from), true)?;
            }
        }
        if rules.dfas[rule].accepting[state] && from < place && self.has_length(rule, from, place) {
            self.end(place, rule, from)?;
        }
        Ok(())
    }

    /// A rule ends: those that called it where it began go on.
    fn end(&mut self, place: usize, rule: RuleId, from: usize) -> Result<(), CompileError> {
        let callers = self.columns[from].callers.get(&rule).cloned().unwrap_or_default();
        self.budget.charge_steps(PHASE, callers.len() as u64)?;
        callers.into_iter().try_for_each(|caller| self.add(place, caller, true))
    }

    /// The bounds and the number of characters that a rule which counts them has read. Places are asked for in their order.
    fn count(&mut self, rule: RuleId, from: usize, to: usize) -> Option<(LengthRange, u32)> {
        let lengths = self.rules.lengths[rule].filter(|lengths| lengths.tokens.is_none())?;
        let (at, count) = self.counts.entry(from).or_insert_with(|| (from, CharCount::default()));
        *count = self.text.bytes[*at..to].iter().fold(*count, |count, &byte| count.after(byte));
        *at = to;
        Some((lengths, count.chars()))
    }

    /// Whether a rule may end, if its characters are counted.
    fn has_length(&mut self, rule: RuleId, from: usize, to: usize) -> bool {
        self.count(rule, from, to).is_none_or(|(lengths, chars)| lengths.has(chars))
    }

    /// The ways from the items at the end up to the start rule.
    fn ways(&mut self, end: usize, whole: (RuleId, usize), most: usize) -> Result<OpenRules, CompileError> {
        let read = self.columns[end].known.iter().filter(|(_, is_read)| **is_read);
        let goes_on = |&&(rule, state, from): &&Item| {
            let dfa = &self.rules.dfas[rule];
            !dfa.row(state).is_empty() || (rule, from) == whole && dfa.accepting[state]
        };
        let mut innermost: Vec<(RuleId, usize)> =
            read.map(|(item, _)| item).filter(goes_on).map(|&(rule, _, from)| (rule, from)).collect();
        innermost.retain(|&(rule, from)| {
            self.count(rule, from, end).is_none_or(|(lengths, chars)| lengths.allows_up_to(chars))
        });
        // The innermost rules first: what ends in a rule of another is a beginning of that.
        innermost.sort_unstable_by_key(|&(rule, from)| (std::cmp::Reverse(from), rule));
        innermost.dedup();
        let mut found =
            Found { chart: self, whole, most, ways: Vec::new(), known: HashSet::new(), has_more: false };
        for rule in innermost {
            found.up(rule)?;
        }
        Ok(OpenRules { ways: found.ways, has_more: found.has_more })
    }

    /// The rules that called another one where it began, each with the place where it began itself.
    fn callers(&self, (rule, from): (RuleId, usize)) -> Vec<(RuleId, usize)> {
        let callers = self.columns[from].callers.get(&rule).map_or(&[][..], Vec::as_slice);
        let mut callers: Vec<(RuleId, usize)> = callers.iter().map(|caller| (caller.0, caller.2)).collect();
        callers.sort_unstable_by_key(|&(rule, from)| (std::cmp::Reverse(from), rule));
        callers.dedup();
        callers
    }
}

/// The ways that were found.
struct Found<'a> {
    chart: &'a Chart<'a>,
    whole: (RuleId, usize),
    most: usize,
    ways: Vec<Vec<OpenRule>>,
    known: HashSet<Vec<OpenRule>>,
    has_more: bool,
}

impl Found<'_> {
    /// Adds the ways up from a rule. Of a rule that calls itself where it begins one turn says enough.
    fn up(&mut self, innermost: (RuleId, usize)) -> Result<(), CompileError> {
        // The callers that are still to be followed of each rule on the way.
        let (mut way, mut is_on_way) = (vec![innermost], HashSet::from([innermost]));
        let mut open = vec![self.chart.callers(innermost)];
        if innermost == self.whole {
            self.add(&way);
        }
        while let Some(callers) = open.last_mut() {
            self.chart.budget.charge_steps(PHASE, 1)?;
            let Some(caller) = callers.pop() else {
                open.pop();
                if let Some(rule) = way.pop() {
                    is_on_way.remove(&rule);
                }
                continue;
            };
            if self.ways.len() > self.most {
                break;
            }
            if is_on_way.insert(caller) {
                way.push(caller);
                open.push(self.chart.callers(caller));
                if caller == self.whole {
                    self.add(&way);
                }
            }
        }
        if self.ways.len() > self.most {
            self.ways.truncate(self.most);
            self.has_more = true;
        }
        Ok(())
    }

    /// Adds a way, innermost rule first, unless it is one or the beginning of one.
    fn add(&mut self, way: &[(RuleId, usize)]) {
        let names = &self.chart.rules.names;
        let way: Vec<OpenRule> =
            way.iter().rev().map(|&(rule, from)| OpenRule { name: names[rule].clone(), from }).collect();
        if !self.ways.iter().any(|known| known.starts_with(&way)) && self.known.insert(way.clone()) {
            self.ways.push(way);
        }
    }
}

fn symbol(rules: &Rules, code: u32) -> Option<Symbol> {
    let ranges = &rules.alphabet.ranges;
    let at = ranges.partition_point(|range| range.1 < code);
    ranges.get(at).filter(|range| range.0 <= code).map(|range| range.2)
}
