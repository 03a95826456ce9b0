//! Grammars as symbols: each part of an expression is numbered, and a derivation is a list of choices.
//!
//! What an expression says in several ways is one form here. A symbol either has its parts one after the other, or it is read, or it
//! leaves a choice; so a parse tree of a text is the text and what was chosen at each choice, from the left. A bounded repetition has
//! as many copies as a text of the greatest length in question can need, and no more: `x{2,9}` is `x x` and then up to seven `x`, of
//! which each is chosen or not.
//!
//! Terminals, and the machines of macros, are leaves: sets of texts. How a text of a leaf is read is no part of a tree.
//!
//! Each symbol knows the length of its shortest text: the least solution of the equations of the forms, by a work list (Knuth, *A
//! Generalization of Dijkstra's Algorithm*, 1977, has the equations). A symbol is measured again for each shorter length of a part,
//! which is seldom more than a few times.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use gobo_automata::{CharSet, Expr, Grammar, Language, Minterms, RuleId};
use gobo_types::{Budget, CompileError, DenseId as _, Table, dense_id};

use super::leaf::{Leaf, NO_TEXT, plus};

const PHASE: &str = "looking at the rules";

/// Bytes that a symbol is charged.
const SYMBOL_BYTES: u64 = 64;

dense_id! {
    /// A part of a grammar.
    pub(super) struct SymbolId;

    /// A set of texts that are read as one.
    pub(super) struct LeafId;
}

/// What a symbol stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// One character of a set, by its number among those of the minterms.
    Char(usize),
    /// A text of a leaf.
    Leaf(LeafId),
    /// These, one after the other.
    Sequence(Vec<SymbolId>),
    /// One of these.
    Choice(Vec<SymbolId>),
    /// Any number of times.
    Repeat(SymbolId),
    /// So many times at most.
    UpTo(SymbolId, u32),
    /// What the rule stands for.
    Rule(RuleId),
}

/// A grammar in symbols.
pub(super) struct Symbols {
    pub(super) forms: Table<SymbolId, Form>,
    /// The start rule.
    pub(super) root: SymbolId,
    /// `[rules]`: what each stands for.
    pub(super) bodies: Vec<SymbolId>,
    /// `[rules]`
    pub(super) names: Vec<String>,
    pub(super) leaves: Table<LeafId, Leaf>,
    pub(super) minterms: Minterms,
    /// Sets of characters among those of the minterms.
    pub(super) sets: usize,
    /// `[symbols]`: the length of the shortest text; [`NO_TEXT`] where there is none.
    pub(super) least: Table<SymbolId, u32>,
    /// `[symbols]`: whether there is a text that is not empty.
    pub(super) reads: Table<SymbolId, bool>,
}

impl Symbols {
    /// The symbols of a grammar for texts of at most `length` characters; `is_leaf` tells the rules that are leaves.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn of(
        grammar: &Grammar,
        is_leaf: impl Fn(RuleId) -> bool,
        length: u32,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let mut builder = Builder {
            grammar,
            length,
            budget,
            forms: Table::new(),
            sets: Vec::new(),
            set_numbers: HashMap::new(),
            languages: Vec::new(),
            shared: HashMap::new(),
        };
        let mut bodies = Vec::with_capacity(grammar.rules.len());
        for (id, rule) in RuleId::enumerate(&grammar.rules) {
            bodies.push(if is_leaf(id) {
                let texts = builder.without_calls(&rule.expr)?;
                builder.leaf(&texts)?
            } else {
                builder.symbol(&rule.expr)?
            });
        }
        let root = builder.add(Form::Rule(grammar.start))?;
        let Builder { forms, sets, languages, .. } = builder;
        let minterms = Minterms::of(&sets, &languages, budget)?;
        let mut leaves = Table::new();
        for (at, language) in languages.iter().enumerate() {
            leaves.push(Leaf::of(language, at, &minterms, budget)?);
        }
        let names = grammar.rules.iter().map(|rule| rule.name.clone()).collect();
        let (least, reads) = (Table::filled(NO_TEXT, forms.len()), Table::filled(false, forms.len()));
        let sets = sets.len();
        let mut symbols = Self { forms, root, bodies, names, leaves, minterms, sets, least, reads };
        symbols.measure(budget)?;
        Ok(symbols)
    }

    /// What a rule stands for.
    pub(super) fn body(&self, rule: RuleId) -> SymbolId {
        self.bodies[rule.index()]
    }

    /// The lengths of shortest texts, and what has a text that is not empty: a symbol is measured again when a part of it has changed.
    fn measure(&mut self, budget: &Budget) -> Result<(), CompileError> {
        let mut users: Table<SymbolId, Vec<SymbolId>> = Table::filled(Vec::new(), self.forms.len());
        for (id, form) in self.forms.enumerate() {
            match form {
                Form::Char(_) | Form::Leaf(_) => {}
                Form::Rule(rule) => users[self.body(*rule)].push(id),
                Form::Repeat(part) | Form::UpTo(part, _) => users[*part].push(id),
                Form::Sequence(parts) | Form::Choice(parts) => {
                    budget.charge_steps(PHASE, parts.len() as u64)?;
                    budget.charge_bytes(PHASE, parts.len() as u64 * 4)?;
                    parts.iter().for_each(|part| users[*part].push(id));
                }
            }
        }
        let mut pending: VecDeque<SymbolId> = self.forms.ids().collect();
        let mut is_pending = Table::filled(true, self.forms.len());
        while let Some(id) = pending.pop_front() {
            is_pending[id] = false;
            let measured = self.measured(id);
            let width = match &self.forms[id] {
                Form::Sequence(parts) | Form::Choice(parts) => parts.len(),
                _ => 1,
            };
            budget.charge_steps(PHASE, 1 + width as u64)?;
            if measured != (self.least[id], self.reads[id]) {
                (self.least[id], self.reads[id]) = measured;
                for &user in &users[id] {
                    if !std::mem::replace(&mut is_pending[user], true) {
                        pending.push_back(user);
                    }
                }
            }
        }
        Ok(())
    }

    fn measured(&self, id: SymbolId) -> (u32, bool) {
        let of = |part: &SymbolId| (self.least[*part], self.reads[*part]);
        match &self.forms[id] {
            Form::Char(_) => (1, true),
            Form::Leaf(leaf) => (self.leaves[*leaf].least(), self.leaves[*leaf].reads()),
            Form::Rule(rule) => of(&self.body(*rule)),
            Form::Repeat(part) | Form::UpTo(part, _) => (0, self.reads[*part]),
            Form::Sequence(parts) => {
                let least = parts.iter().fold(0, |sum: u32, part| plus(sum, self.least[*part]));
                (least, least != NO_TEXT && parts.iter().any(|part| self.reads[*part]))
            }
            Form::Choice(parts) => parts
                .iter()
                .map(of)
                .fold((NO_TEXT, false), |(least, reads), part| (least.min(part.0), reads || part.1)),
        }
    }
}

struct Builder<'a> {
    grammar: &'a Grammar,
    length: u32,
    budget: &'a Budget,
    forms: Table<SymbolId, Form>,
    sets: Vec<CharSet>,
    set_numbers: HashMap<CharSet, usize>,
    languages: Vec<Language>,
    /// By the place of what is shared.
    shared: HashMap<*const Expr, SymbolId>,
}

impl Builder<'_> {
    fn add(&mut self, form: Form) -> Result<SymbolId, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, SYMBOL_BYTES)?;
        Ok(self.forms.push(form))
    }

    fn char(&mut self, set: &CharSet) -> Result<SymbolId, CompileError> {
        let next = self.sets.len();
        let number = *self.set_numbers.entry(set.clone()).or_insert(next);
        if number == next {
            self.sets.push(set.clone());
        }
        self.add(Form::Char(number))
    }

    /// The leaf of an expression without calls.
    fn leaf(&mut self, expr: &Expr) -> Result<SymbolId, CompileError> {
        self.languages.push(Language::expr(expr, self.budget)?);
        let leaf = LeafId::new(self.languages.len() - 1);
        self.add(Form::Leaf(leaf))
    }

    /// The expression of a leaf, with what it calls in the place of calls: leaves call no rules but those of ignored text, which
    /// calls none.
    fn without_calls(&mut self, expr: &Expr) -> Result<Expr, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        let mut all =
            |parts: &[Expr]| parts.iter().map(|part| self.without_calls(part)).collect::<Result<Vec<_>, _>>();
        Ok(match expr {
            Expr::Call(rule) => self.grammar.rules[rule.index()].expr.clone(),
            Expr::Concat(parts) => Expr::Concat(all(parts)?),
            Expr::Alternate(parts) => Expr::Alternate(all(parts)?),
            Expr::Repeat { expr, min, max } => self.without_calls(expr)?.repeat(*min, *max),
            Expr::Text(_) | Expr::Chars(_) | Expr::Machine(_) | Expr::Shared(_) => expr.clone(),
        })
    }

    fn symbol(&mut self, expr: &Expr) -> Result<SymbolId, CompileError> {
        match expr {
            Expr::Text(text) => {
                let mut parts = Vec::new();
                for char in text.chars() {
                    parts.push(self.char(&CharSet::new([(char, char)]))?);
                }
                self.sequence(parts)
            }
            Expr::Chars(set) => self.char(set),
            Expr::Concat(parts) => {
                let parts = self.all(parts)?;
                self.sequence(parts)
            }
            Expr::Alternate(parts) if parts.len() == 1 => self.symbol(&parts[0]),
            Expr::Alternate(parts) => {
                let parts = self.all(parts)?;
                self.add(Form::Choice(parts))
            }
            Expr::Repeat { expr, min, max } => self.repeat(expr, *min, *max),
            Expr::Call(rule) => self.add(Form::Rule(*rule)),
            Expr::Machine(_) => self.leaf(expr),
            Expr::Shared(shared) => {
                let place = Arc::as_ptr(shared);
                if let Some(&known) = self.shared.get(&place) {
                    return Ok(known);
                }
                let symbol = self.symbol(shared)?;
                self.shared.insert(place, symbol);
                Ok(symbol)
            }
        }
    }

    fn all(&mut self, parts: &[Expr]) -> Result<Vec<SymbolId>, CompileError> {
        parts.iter().map(|part| self.symbol(part)).collect()
    }

    fn sequence(&mut self, mut parts: Vec<SymbolId>) -> Result<SymbolId, CompileError> {
        match parts.pop() {
            Some(only) if parts.is_empty() => Ok(only),
            last => {
                parts.extend(last);
                self.add(Form::Sequence(parts))
            }
        }
    }

    fn repeat(&mut self, expr: &Expr, min: u32, max: Option<u32>) -> Result<SymbolId, CompileError> {
        if max.is_some_and(|max| max < min) {
            return self.add(Form::Choice(Vec::new()));
        }
        let part = self.symbol(expr)?;
        // Each copy that is not empty reads a character. One more than there are characters leaves no text of that length, and of
        // empty copies two are as good as many.
        let copies = min.min(self.length.max(1) + 1);
        let mut parts = vec![part; copies as usize];
        self.budget.charge_steps(PHASE, copies.into())?;
        match max {
            None => parts.push(self.add(Form::Repeat(part))?),
            Some(max) if max > min => {
                let more = (max - min).min(self.length.max(2));
                parts.push(self.add(Form::UpTo(part, more))?);
            }
            Some(_) => {}
        }
        self.sequence(parts)
    }
}
