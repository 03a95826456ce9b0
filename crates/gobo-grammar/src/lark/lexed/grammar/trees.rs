//! Rules as trees, and the productions that they become.
//!
//! Repetitions become rules of their own, and alternatives are multiplied out: `x+` is `p: x | p x`, and one `p` serves all repetitions of
//! an equal part, `x*` among them. Many repetitions are rules for factors, so that the productions stay few. Which productions there are
//! decides which states the parser has, and with it which terminals are active where. Cost: the productions, which are exponential in
//! the alternatives of a sequence.

use std::collections::{HashMap, HashSet};

use gobo_types::{Budget, CompileError, Table};

use super::pattern::Said;
use super::symbols::{NonterminalId, Production, ProductionId, Productions, Symbol, Terminal, TerminalId};

const PHASE: &str = "writing out rules";

/// Bytes that a rule or a part of one is charged.
const RULE_BYTES: u64 = 128;

/// From so many repetitions on they are written with rules for their factors.
const FEW_REPETITIONS: u32 = 50;

/// The largest factor.
const MAX_FACTOR: u32 = 5;

/// A part of a rule, its symbols resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Tree {
    Symbol(Symbol),
    /// One after the other.
    Sequence(Vec<Tree>),
    /// Any one of these.
    Any(Vec<Tree>),
}

/// What a repetition becomes a rule for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Part {
    /// The part once or more.
    Repeated(Tree),
    /// The first one so many times, then the second so many times.
    Times(u32, u32, Tree, Tree),
    /// See [`Trees::up_to_rule`].
    UpTo(u32, u32, Tree, Tree),
}

/// The rules of a grammar, as they are written.
pub(super) struct Trees<'a> {
    names: Table<NonterminalId, String>,
    priorities: Table<NonterminalId, i64>,
    parts: HashMap<Part, NonterminalId>,
    all: Vec<(NonterminalId, Tree)>,
    /// The rule that is being written.
    pub(super) current: String,
    budget: &'a Budget,
}

impl<'a> Trees<'a> {
    pub(super) fn new(budget: &'a Budget) -> Self {
        let (names, priorities, parts) = (Table::new(), Table::new(), HashMap::new());
        Self { names, priorities, parts, all: Vec::new(), current: String::new(), budget }
    }

    /// Adds a rule that is to be written.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn nonterminal(&mut self, name: String, priority: i64) -> Result<NonterminalId, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.budget.charge_bytes(PHASE, RULE_BYTES + name.len() as u64)?;
        self.priorities.push(priority);
        Ok(self.names.push(name))
    }

    /// Writes a rule.
    pub(super) fn write(&mut self, rule: NonterminalId, tree: Tree) {
        self.all.push((rule, tree));
    }

    /// A part `min` to `max` times.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn repeat(&mut self, tree: Tree, min: u32, max: Option<u32>) -> Result<Tree, CompileError> {
        let nothing = || Tree::Sequence(Vec::new());
        Ok(match (min, max) {
            (0, Some(1)) => Tree::Any(vec![tree, nothing()]),
            (1, None) => self.repeated(tree)?,
            (0, None) => Tree::Any(vec![self.repeated(tree)?, nothing()]),
            (min, None) => {
                let first = self.times(&tree, min, min)?;
                Tree::Sequence(vec![first, self.repeat(tree, 0, None)?])
            }
            (min, Some(max)) => self.times(&tree, min, max)?,
        })
    }

    /// The rule of a part once or more.
    fn repeated(&mut self, tree: Tree) -> Result<Tree, CompileError> {
        self.part(Part::Repeated(tree), |part, id| {
            let Part::Repeated(tree) = part else { unreachable!("it was made above") };
            Tree::Any(vec![tree.clone(), Tree::Sequence(vec![Tree::Symbol(Symbol::Rule(id)), tree.clone()])])
        })
    }

    fn part(
        &mut self,
        part: Part,
        tree: impl FnOnce(&Part, NonterminalId) -> Tree,
    ) -> Result<Tree, CompileError> {
        if let Some(&known) = self.parts.get(&part) {
            return Ok(Tree::Symbol(Symbol::Rule(known)));
        }
        let id = self.nonterminal(self.current.clone(), 0)?;
        let tree = tree(&part, id);
        self.budget.charge_steps(PHASE, tree.size())?;
        self.budget.charge_bytes(PHASE, tree.size() * RULE_BYTES)?;
        self.all.push((id, tree));
        self.parts.insert(part, id);
        Ok(Tree::Symbol(Symbol::Rule(id)))
    }

    fn times_rule(&mut self, a: u32, b: u32, target: &Tree, atom: &Tree) -> Result<Tree, CompileError> {
        self.part(Part::Times(a, b, target.clone(), atom.clone()), |_, _| {
            Tree::Sequence([copies(target, a), copies(atom, b)].concat())
        })
    }

    /// The rule of `0` to `a * n + b - 1` times the atom, where the target is `n` times and the option `0` to `n - 1` times.
    fn up_to_rule(
        &mut self,
        (a, b): (u32, u32),
        target: &Tree,
        option: &Tree,
        atom: &Tree,
    ) -> Result<Tree, CompileError> {
        self.part(Part::UpTo(a, b, target.clone(), atom.clone()), |_, _| {
            let some =
                (0..a).map(|times| Tree::Sequence([copies(target, times), vec![option.clone()]].concat()));
            let rest = (0..b).map(|times| Tree::Sequence([copies(target, a), copies(atom, times)].concat()));
            Tree::Any(some.chain(rest).collect())
        })
    }

    /// `min` to `max` times a part.
    fn times(&mut self, tree: &Tree, min: u32, max: u32) -> Result<Tree, CompileError> {
        if max < FEW_REPETITIONS {
            let of = |times: u32| Tree::Sequence(copies(tree, times));
            self.budget.charge_bytes(PHASE, u64::from(max - min + 1) * u64::from(max) * RULE_BYTES)?;
            return Ok(Tree::Any((min..=max).map(of).collect()));
        }
        let mut least = tree.clone();
        for (a, b) in factors(min) {
            least = self.times_rule(a, b, &least, tree)?;
        }
        if min == max {
            return Ok(least);
        }
        let (mut target, mut option) = (tree.clone(), Tree::Sequence(Vec::new()));
        let steps = factors(max - min + 1);
        let last = steps.len() - 1;
        for (at, &(a, b)) in steps.iter().enumerate() {
            option = self.up_to_rule((a, b), &target, &option, tree)?;
            if at < last {
                target = self.times_rule(a, b, &target, tree)?;
            }
        }
        Ok(Tree::Sequence(vec![least, option]))
    }

    /// The productions of all rules that are called.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn finish(
        self,
        start: NonterminalId,
        ignored: Vec<TerminalId>,
        terminals: Table<TerminalId, Terminal>,
        blocks: Option<(TerminalId, TerminalId)>,
        said: Said,
    ) -> Result<Productions, CompileError> {
        let mut all: Table<ProductionId, Production> = Table::new();
        let mut seen = HashSet::new();
        for (origin, tree) in &self.all {
            for body in self.bodies(tree)? {
                let production = Production { origin: *origin, body };
                if seen.insert(production.clone()) {
                    all.push(production);
                }
            }
        }
        // Rules that nobody else calls are dropped, until there are none. Those that call each other stay.
        let mut is_kept = Table::filled(true, self.names.len());
        loop {
            self.budget.charge_steps(PHASE, all.len() as u64)?;
            let mut is_called = Table::filled(false, self.names.len());
            is_called[start] = true;
            for production in all.iter().filter(|production| is_kept[production.origin]) {
                for symbol in &production.body {
                    if let Symbol::Rule(rule) = *symbol
                        && rule != production.origin
                    {
                        is_called[rule] = true;
                    }
                }
            }
            let before = is_kept.iter().filter(|kept| **kept).count();
            is_kept.ids().for_each(|rule| is_kept[rule] &= is_called[rule]);
            if is_kept.iter().filter(|kept| **kept).count() == before {
                break;
            }
        }
        let kept: Vec<Production> =
            all.iter().filter(|production| is_kept[production.origin]).cloned().collect();
        let all = Table::from(kept);
        let mut of: Table<NonterminalId, Vec<ProductionId>> = Table::filled(Vec::new(), self.names.len());
        let mut used: Vec<TerminalId> = ignored.clone();
        for (id, production) in all.enumerate() {
            of[production.origin].push(id);
            used.extend(production.body.iter().filter_map(|symbol| match symbol {
                Symbol::Terminal(terminal) => Some(*terminal),
                Symbol::Rule(_) => None,
            }));
        }
        used.sort_unstable();
        used.dedup();
        let Self { names, priorities, .. } = self;
        Ok(Productions { terminals, names, priorities, all, of, start, ignored, used, blocks, said })
    }

    /// The sequences of symbols of a part, each once.
    fn bodies(&self, tree: &Tree) -> Result<Vec<Vec<Symbol>>, CompileError> {
        let mut bodies: Vec<Vec<Symbol>> = match tree {
            Tree::Symbol(symbol) => vec![vec![*symbol]],
            Tree::Any(parts) => {
                let mut bodies = Vec::new();
                for part in parts {
                    bodies.extend(self.bodies(part)?);
                }
                bodies
            }
            Tree::Sequence(parts) => {
                let mut bodies = vec![Vec::new()];
                for part in parts {
                    let next = self.bodies(part)?;
                    let size = bodies.iter().chain(&next).map(|body| body.len() as u64 + 4).sum::<u64>();
                    let most = bodies.len().max(next.len()) as u64;
                    self.budget.charge_steps(PHASE, size * most)?;
                    self.budget.charge_bytes(PHASE, size * most)?;
                    let of = |body: &Vec<Symbol>| {
                        next.iter()
                            .map(|more| [body.as_slice(), more.as_slice()].concat())
                            .collect::<Vec<_>>()
                    };
                    bodies = bodies.iter().flat_map(of).collect();
                }
                bodies
            }
        };
        let mut seen = HashSet::new();
        bodies.retain(|body| seen.insert(body.clone()));
        self.budget.charge_steps(PHASE, 1 + bodies.len() as u64)?;
        Ok(bodies)
    }
}

impl Tree {
    fn size(&self) -> u64 {
        match self {
            Self::Symbol(_) => 1,
            Self::Sequence(parts) | Self::Any(parts) => 1 + parts.iter().map(Self::size).sum::<u64>(),
        }
    }
}

fn copies(tree: &Tree, times: u32) -> Vec<Tree> {
    vec![tree.clone(); times as usize]
}

/// Factors `a` and rests `b` by which `n` is reached from 1: each step makes `a * x + b` of `x`.
fn factors(n: u32) -> Vec<(u32, u32)> {
    if n <= MAX_FACTOR {
        return vec![(n, 0)];
    }
    for a in (2..=MAX_FACTOR).rev() {
        let (whole, rest) = (n / a, n % a);
        if a + rest <= MAX_FACTOR {
            let mut steps = factors(whole);
            steps.push((a, rest));
            return steps;
        }
    }
    unreachable!("2 divides with a rest of at most 1")
}
