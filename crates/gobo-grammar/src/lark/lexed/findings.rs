//! What a lexer does that the author of a grammar may not mean: terminals that it never finds, keywords that run into what follows, and
//! conflicts.
//!
//! A terminal is *hidden* if none of its texts is read as it, whatever terminals are active beside it: another one takes each of them,
//! or something that it begins with, first. A keyword is *glued* to what follows if a word that goes on after it would be a longer match of
//! a name, were the name active there: the contextual lexer reads `package` and `u` in `packageu`, the basic one a name.
//!
//! Cost: places, each built once for its active terminals, and for each keyword and place the letters that may follow.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use gobo_types::{Budget, DenseId as _, Lexer, Table};

use super::super::modules::{DefinitionId, MAIN, Modules};
use super::bits::Bits;
use super::grammar::{Productions, Symbol, TerminalId, productions};
use super::lexer::{GuardId, Lexemes, TextsId};
use super::lower::{preference, settle};
use super::tables::{ParserState, Tables, tables};
use crate::regex::{Place, Scanner, Stuck, alone};

const PHASE: &str = "looking at lexemes";

/// A terminal of which no text is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden {
    /// Its name.
    pub name: String,
    /// Where it was first seen, in bytes; `None` if that is in another grammar.
    pub at: Option<usize>,
    /// A shortest of its texts, and the terminal that is found in its place.
    pub by: Option<(String, String)>,
}

/// A keyword that runs into what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glued {
    /// The keyword's text.
    pub keyword: String,
    /// The terminals whose texts may follow with nothing between, ascending.
    pub followers: Vec<String>,
    /// A terminal that would match more.
    pub name: String,
    /// The keyword and a text of a follower.
    pub example: String,
}

/// What was found of a lexer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LexerFindings {
    /// Terminals that are never found, in the order of the text.
    pub hidden: Vec<Hidden>,
    /// Keywords that run into what follows, ascending.
    pub glued: Vec<Glued>,
    /// Places where the parser could shift and end a rule, and shifts.
    pub shifted: usize,
    /// Rules that end at one place, and nothing decides between them, ascending.
    pub undecided: Vec<(String, String)>,
}

/// What is to be said of the lexer of a grammar that begins with the rule `start`; /// under a lexer that finds lexemes.
///
/// # Errors
/// See [`Stuck`]; a refusal, as lowering it.
pub(crate) fn findings(
    modules: &Modules<'_>,
    start: DefinitionId,
    lexer: Lexer,
    budget: &Budget,
) -> Result<LexerFindings, Stuck> {
    let productions = productions(modules, start, budget)?;
    let mut tables = tables(&productions, budget)?;
    settle(modules, &productions, &mut tables, lexer)?;
    let nodes: Vec<_> = productions.terminals.iter().map(|terminal| terminal.text.node.clone()).collect();
    let scanner = Scanner::of(&nodes, preference(&productions, lexer), budget)?;
    let (terminals, ignored) = (&productions.terminals, &productions.ignored);
    let look_ahead = lexer.look_ahead().unwrap_or_default().characters();
    let lexemes = Lexemes::new(terminals, ignored, &scanner, look_ahead, budget)?;
    let mut looker =
        Looker { productions: &productions, tables: &tables, scanner: &scanner, lexemes, budget };
    looker.look(!matches!(lexer, Lexer::Basic(_)))
}

struct Looker<'a, 'b> {
    productions: &'a Productions,
    tables: &'a Tables,
    scanner: &'a Scanner<'b>,
    lexemes: Lexemes<'b>,
    budget: &'a Budget,
}

impl Looker<'_, '_> {
    fn look(&mut self, contextual: bool) -> Result<LexerFindings, Stuck> {
        let end = self.productions.terminals.len();
        let mut all = Bits::new(end + 1);
        // The beginnings and ends of blocks have no text, and no lexer finds them.
        let of_blocks: Vec<TerminalId> =
            self.productions.blocks.iter().flat_map(|&(begin, end)| [begin, end]).collect();
        self.productions.used.iter().for_each(|terminal| all.insert(terminal.index()));
        let mut active: Table<ParserState, Bits> = Table::new();
        for actions in &self.tables.actions {
            let mut of_state = if contextual { actions.clone() } else { all.clone() };
            of_state.remove(end);
            of_blocks.iter().for_each(|terminal| of_state.remove(terminal.index()));
            active.push(of_state);
        }
        let hidden = self.hidden(&active)?;
        of_blocks.iter().for_each(|terminal| all.remove(terminal.index()));
        let glued = self.glued(&active, &all)?;
        let undecided: BTreeSet<(String, String)> = (self.tables.undecided.iter())
            .map(|&(one, other, _)| {
                let name =
                    |production| self.productions.names[self.productions.all[production].origin].clone();
                (name(one), name(other))
            })
            .collect();
        let undecided = undecided.into_iter().collect();
        Ok(LexerFindings { hidden, glued, shifted: self.tables.shifted, undecided })
    }

    /// Terminals that no set of active ones finds in which they are.
    fn hidden(&mut self, active: &Table<ParserState, Bits>) -> Result<Vec<Hidden>, Stuck> {
        let ignored: BTreeSet<TerminalId> = self.productions.ignored.iter().copied().collect();
        // The first state in which a terminal is active without being found; those that are found somewhere are not among them.
        let mut unseen: BTreeMap<TerminalId, ParserState> = BTreeMap::new();
        let mut found: BTreeSet<TerminalId> = ignored.clone();
        for (state, bits) in active.enumerate() {
            let set = self.lexemes.active(bits, None, true)?;
            let place = self.lexemes.place(set, GuardId::PASS)?;
            found.extend(self.lexemes.places[place].letters.iter().map(|letter| letter.terminal));
            for &terminal in &self.productions.used {
                if bits.contains(terminal.index()) {
                    unseen.entry(terminal).or_insert(state);
                }
            }
        }
        unseen.retain(|terminal, _| !found.contains(terminal));
        let mut hidden = Vec::new();
        for (terminal, state) in unseen {
            let of = &self.productions.terminals[terminal];
            let at = (of.at.0 == MAIN).then_some(of.at.1);
            let by = match alone(&of.text.node, self.budget)?.shortest(None, self.budget)? {
                Some(text) => self.taker(&active[state], &text)?.map(|taker| (text, taker)),
                None => None,
            };
            hidden.push(Hidden { name: of.name.clone(), at, by });
        }
        hidden.sort_by(|one, other| (one.at, &one.name).cmp(&(other.at, &other.name)));
        Ok(hidden)
    }

    /// The terminal that is found first where a text stands.
    fn taker(&mut self, active: &Bits, text: &str) -> Result<Option<String>, Stuck> {
        let set = self.lexemes.active(active, None, true)?;
        let taker = self.lexemes.found(set, text)?;
        Ok(taker.map(|terminal| self.productions.terminals[terminal].name.clone()))
    }

    /// Keywords of names behind which a word may go on.
    fn glued(&mut self, active: &Table<ParserState, Bits>, all: &Bits) -> Result<Vec<Glued>, Stuck> {
        let set = self.lexemes.active(all, None, true)?;
        let keywords = self.lexemes.keywords(set)?;
        let mut glued: BTreeMap<TerminalId, Glued> = BTreeMap::new();
        // The first texts of a language that go on with a name behind a keyword.
        let mut begun: HashMap<(TerminalId, TerminalId, TextsId), Option<String>> = HashMap::new();
        for (state, shifts) in self.tables.shifts.enumerate() {
            let here = self.lexemes.active(&active[state], None, true)?;
            let here = self.lexemes.place(here, GuardId::PASS)?;
            for &(name, keyword) in &keywords {
                let Some(&after) = shifts.get(&Symbol::Terminal(keyword)) else { continue };
                for letter in self.lexemes.letters(here, keyword)? {
                    let next = self.lexemes.active(&active[after], None, true)?;
                    let next = self.lexemes.place(next, letter.guard)?;
                    for follower in self.lexemes.places[next].letters.clone() {
                        self.budget.charge_steps(PHASE, 1)?;
                        let key = (name, keyword, follower.texts);
                        let text = match begun.entry(key) {
                            Entry::Occupied(known) => known.into_mut(),
                            Entry::Vacant(new) => new.insert(self.going_on(name, keyword, follower.texts)?),
                        };
                        let Some(text) = text.as_deref() else { continue };
                        let of = |terminal: TerminalId| &self.productions.terminals[terminal];
                        let spelt = of(keyword).text.literal.clone().unwrap_or_default();
                        let example = spelt.clone() + text;
                        let found = glued.entry(keyword).or_insert_with(|| Glued {
                            keyword: spelt,
                            followers: Vec::new(),
                            name: of(name).name.clone(),
                            example: example.clone(),
                        });
                        let shown = of(follower.terminal).name.clone();
                        if let Err(at) = found.followers.binary_search(&shown) {
                            found.followers.insert(at, shown);
                        }
                        if rank(&example) < rank(&found.example) {
                            found.example = example;
                        }
                    }
                }
            }
        }
        let mut glued: Vec<Glued> = glued.into_values().collect();
        glued.sort_by(|one, other| one.keyword.cmp(&other.keyword));
        Ok(glued)
    }

    /// A shortest of some texts with whose first character a match of the name goes on behind the keyword.
    fn going_on(
        &self,
        name: TerminalId,
        keyword: TerminalId,
        texts: TextsId,
    ) -> Result<Option<String>, Stuck> {
        let Some(literal) = &self.productions.terminals[keyword].text.literal else { return Ok(None) };
        let minterms = self.scanner.minterms();
        let mut threads = self.scanner.begin(&[name.index()])?;
        for char in literal.chars() {
            threads = self.scanner.step(&threads, minterms.of_char(char))?;
        }
        let Some(language) = self.lexemes.language(texts) else { return Ok(None) };
        let mut least: Option<String> = None;
        for minterm in minterms.all() {
            self.budget.charge_steps(PHASE, 1)?;
            let after = self.scanner.step(&threads, minterm)?;
            if after.entries.iter().all(|entry| matches!(entry.place, Place::Past)) {
                continue;
            }
            let first = minterms.sample(minterm);
            let text = language.shortest(Some(first), self.budget)?;
            let is_better = |text: &String| least.as_ref().is_none_or(|least| rank(text) < rank(least));
            if text.as_ref().is_some_and(is_better) {
                least = text;
            }
        }
        Ok(least)
    }
}

/// The order of examples: short ones first, then those that end in a lower-case letter.
fn rank(text: &str) -> (usize, bool, &str) {
    (text.chars().count(), !text.ends_with(|char: char| char.is_ascii_lowercase()), text)
}
