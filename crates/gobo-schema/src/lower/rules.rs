//! The rule table with its worklist.

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{CalledRule, Expr, Grammar, Rule, RuleId};
use gobo_types::{DenseId as _, LengthRange};

use crate::formula::expansion::Literal;
use crate::lower::schema_set::SchemaSetId;
use crate::read::node::Types;
use crate::text::yaml::Part;

/// How the values of a rule are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// As JSON.
    Json,
    /// Values of these types alone, strings as their characters, all others as JSON.
    Bare(Types),
    /// Objects alone, their members as parameters.
    Members,
    /// Arrays alone, their items as parameters without names.
    Items,
    /// As YAML.
    Yaml(Part),
}

impl Form {
    /// The types of the values that are written so.
    pub(crate) fn types(self) -> Types {
        match self {
            Self::Json | Self::Yaml(Part::Line) => Types::ALL,
            Self::Bare(types) => types,
            Self::Members => Types::OBJECT,
            Self::Items => Types::ARRAY,
            Self::Yaml(Part::Block) => Types::OBJECT.or(Types::ARRAY),
        }
    }
}

/// Identifies a rule by its meaning: the values that satisfy all of the literals, in one form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RuleKey {
    pub(crate) set: SchemaSetId,
    /// Ascending and distinct.
    pub(crate) literals: Vec<Literal>,
    /// Nesting depth of the value; 0 if depth is unlimited.
    pub(crate) depth: u32,
    pub(crate) form: Form,
}

/// A rule that is still to be written.
pub(crate) struct Task {
    pub(crate) rule: RuleId,
    pub(crate) key: RuleKey,
}

/// The rules of the grammar, numbered as they are first called.
pub(crate) struct Rules {
    table: Vec<Rule>,
    known: HashMap<RuleKey, RuleId>,
    worklist: Vec<Task>,
    /// Rules that are not inlined.
    called: Vec<CalledRule>,
}

impl Rules {
    pub(crate) fn new() -> Self {
        Self { table: Vec::new(), known: HashMap::new(), worklist: Vec::new(), called: Vec::new() }
    }

    /// Adds a rule.
    pub(crate) fn add(&mut self, name: String, expr: Expr) -> RuleId {
        self.table.push(Rule { name, expr, lengths: None });
        RuleId::new(self.table.len() - 1)
    }

    /// Adds a rule whose characters are counted.
    pub(crate) fn add_counted(&mut self, name: String, expr: Expr, lengths: LengthRange) -> RuleId {
        self.table.push(Rule { name, expr, lengths: Some(lengths) });
        RuleId::new(self.table.len() - 1)
    }

    /// Adds a rule that is not inlined.
    pub(crate) fn add_called(&mut self, name: &str, expr: Expr) -> RuleId {
        let rule = self.add(name.to_owned(), expr);
        self.called.push(CalledRule { rule, is_always: false });
        rule
    }

    /// Writes a rule that was added.
    pub(crate) fn define(&mut self, rule: RuleId, expr: Expr) {
        self.table[rule.index()].expr = expr;
    }

    /// The rule of a key, if there is one.
    pub(crate) fn get(&self, key: &RuleKey) -> Option<RuleId> {
        self.known.get(key).copied()
    }

    /// Adds the rule of a new key, still to be written.
    pub(crate) fn schedule(&mut self, key: RuleKey, name: String) -> RuleId {
        let rule = self.add(name, nothing());
        // Each level has such a rule, and each place that takes any value calls it.
        if matches!(key.form, Form::Yaml(_)) && key.literals.is_empty() {
            self.called.push(CalledRule { rule, is_always: true });
        }
        self.worklist.push(Task { rule, key: key.clone() });
        self.known.insert(key, rule);
        rule
    }

    /// The rule to be written next: the last one scheduled.
    pub(crate) fn next_task(&mut self) -> Option<Task> {
        self.worklist.pop()
    }

    pub(crate) fn into_grammar(self, start: RuleId) -> Grammar {
        Grammar { rules: self.table, start, called: self.called, families: Vec::new(), tokens: Vec::new() }
    }
}

/// The expression without texts.
pub(crate) fn nothing() -> Expr {
    Expr::Alternate(Vec::new())
}
