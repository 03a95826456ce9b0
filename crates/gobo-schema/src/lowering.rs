use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{Expr, Language, Machine, Rule, RuleId};
use gobo_types::{Budget, CompileError, Draft, PropertyOrder, RefusalKind, SchemaOptions, Whitespace};

use crate::expand::{Expansion, Literal, Numbers, Strings, opposite};
use crate::formula::{ALWAYS, FormulaId, NEVER};
use crate::items::Arrays;
use crate::json::{Json, Object};
use crate::members::{MemberAtom, Objects};
use crate::node::{FALSE, NodeId, Nodes, TRUE, TextId, Types};
use crate::object::{NameClass, NameClassKey};
use crate::place::{Place, PlaceId, Places};
use crate::scalars::{lengths, numbers, string_language, strings};
use crate::spelling::{Layout, Values, any_char, number_steps, string_steps};

/// Longest string whose characters have states of their own; of longer ones they are counted in blocks.
const LONG: u64 = 2048;

/// Characters of a block.
const BLOCK: u64 = 256;

/// Longest string that is counted: there is a state for each block.
const LONGEST: u64 = 1 << 22;

pub(crate) const PHASE: &str = "lowering the schema";

/// Steps of a rule that is looked up, or added.
const STEPS_PER_RULE: u64 = 8;
/// Steps of a value that is written as an expression, its characters apart.
const STEPS_PER_VALUE: u64 = 16;

/// A rule that is still to be written.
pub(crate) struct Task {
    pub(crate) rule: RuleId,
    place: PlaceId,
    literals: Vec<Literal>,
    depth: u32,
}

/// A part of a long string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum StringPart {
    /// A whole block.
    Block,
    /// So many characters, and the quote behind them.
    End { least: u64, most: Option<u64> },
}

/// From places and what has to hold there to rules of a grammar.
pub(crate) struct Lowering<'a> {
    pub(crate) nodes: Nodes<'a>,
    pub(crate) options: &'a SchemaOptions,
    pub(crate) budget: &'a Budget,
    pub(crate) values: Values,
    pub(crate) places: Places,
    pub(crate) rules: Vec<Rule>,
    pub(crate) tasks: Vec<Task>,
    /// The rule of a place, of what has to hold there, and of the brackets around it.
    pub(crate) known: HashMap<(PlaceId, Vec<Literal>, u32), RuleId>,
    pub(crate) numbers: Expansion<'a, Numbers>,
    pub(crate) strings: Expansion<'a, Strings>,
    pub(crate) objects: Expansion<'a, Objects>,
    pub(crate) arrays: Expansion<'a, Arrays>,
    pub(crate) number_rules: HashMap<FormulaId, RuleId>,
    pub(crate) string_rules: HashMap<FormulaId, RuleId>,
    pub(crate) name_classes: HashMap<NameClassKey, Rc<[NameClass]>>,
    /// The rules of parts of long strings.
    string_parts: HashMap<StringPart, RuleId>,
    /// Formulas that were looked at, and whether nothing satisfies them.
    pub(crate) empty_strings: HashMap<FormulaId, bool>,
    pub(crate) empty_numbers: HashMap<FormulaId, bool>,
    /// The few values that a subschema lets through, where they are few.
    pub(crate) finite: HashMap<NodeId, Option<Rc<[Json]>>>,
    pub(crate) types: HashMap<Literal, Types>,
    /// By the subschemas of a place: which member, of those that no subschema names, has to be the last one.
    pub(crate) late: HashMap<Vec<NodeId>, MemberAtom>,
    /// The values of items that have to be unique.
    pub(crate) unique: HashMap<Json, usize>,
    pub(crate) widened_unique: bool,
    /// Whether some place is closed, as asked.
    pub(crate) has_closed: bool,
}

impl<'a> Lowering<'a> {
    pub(crate) fn new(nodes: Nodes<'a>, options: &'a SchemaOptions, budget: &'a Budget) -> Self {
        let plain_integers = nodes.draft() == Draft::Draft4;
        let layout = Layout { whitespace: options.whitespace };
        Self {
            nodes,
            options,
            budget,
            values: Values { layout, spelling: options.spelling, plain_integers },
            places: Places::default(),
            rules: Vec::new(),
            tasks: Vec::new(),
            known: HashMap::new(),
            numbers: Expansion::new(budget),
            strings: Expansion::new(budget),
            objects: Expansion::new(budget),
            arrays: Expansion::new(budget),
            number_rules: HashMap::new(),
            string_rules: HashMap::new(),
            name_classes: HashMap::new(),
            string_parts: HashMap::new(),
            empty_strings: HashMap::new(),
            empty_numbers: HashMap::new(),
            finite: HashMap::new(),
            types: HashMap::new(),
            late: HashMap::new(),
            unique: HashMap::new(),
            widened_unique: false,
            has_closed: false,
        }
    }

    /// Most brackets around a value, if there is a limit.
    pub(crate) fn max_depth(&self) -> Option<u32> {
        let indented = match self.options.whitespace {
            Whitespace::Indent { .. } => Some(Whitespace::MAX_INDENTED_DEPTH),
            _ => None,
        };
        self.options.max_depth.into_iter().chain(indented).min()
    }

    /// The rule of whole texts.
    pub(crate) fn whole(&mut self, root: NodeId) -> Result<RuleId, CompileError> {
        let start = self.add_rule("text".to_owned(), Expr::Alternate(Vec::new()));
        let place = if root == TRUE || root == FALSE { Vec::new() } else { vec![root] };
        let place = self.places.of(&mut self.nodes, place)?;
        if let Some(value) = self.rule(place, &[(root, true)], 0)? {
            let layout = self.values.layout;
            self.rules[start as usize].expr =
                Expr::Concat(vec![layout.around(), Expr::Call(value), layout.around()]);
        }
        Ok(start)
    }

    pub(crate) fn add_rule(&mut self, name: String, expr: Expr) -> RuleId {
        self.rules.push(Rule { name, expr });
        u32::try_from(self.rules.len() - 1).expect("the budget keeps rules below 2^32")
    }

    /// The rule of the values at a place that satisfy all of `literals`; `None` if it is seen at once that there are none.
    pub(crate) fn rule(
        &mut self,
        place: PlaceId,
        literals: &[Literal],
        depth: u32,
    ) -> Result<Option<RuleId>, CompileError> {
        self.budget.charge_steps(PHASE, STEPS_PER_RULE + 4 * literals.len() as u64)?;
        let mut literals = literals.to_vec();
        literals.retain(|literal| *literal != (TRUE, true) && *literal != (FALSE, false));
        literals.sort_unstable();
        literals.dedup();
        let is_impossible = |literal: &Literal| {
            matches!(literal.0, TRUE | FALSE) || literals.binary_search(&opposite(*literal)).is_ok()
        };
        if literals.iter().any(is_impossible) || self.types_of(&literals)? == Types(0) {
            return Ok(None);
        }
        // Where anything goes, the place does not matter.
        let place = if literals.is_empty() { self.places.of(&mut self.nodes, Vec::new())? } else { place };
        let depth = if self.max_depth().is_some() { depth } else { 0 };
        let key = (place, literals, depth);
        if let Some(&known) = self.known.get(&key) {
            return Ok(Some(known));
        }
        let pointer = key.1.first().map_or("", |&(node, _)| &self.nodes.location(node).pointer);
        self.budget.charge_bytes(PHASE, 256 + key.1.len() as u64 * 16 + pointer.len() as u64)?;
        self.budget.charge_steps(PHASE, STEPS_PER_RULE + pointer.len() as u64 / 4)?;
        let name = match key.1.first() {
            Some(&(node, _)) => format!("#{}", self.nodes.location(node).pointer),
            None => "any value".to_owned(),
        };
        let rule = self.add_rule(name, Expr::Alternate(Vec::new()));
        self.tasks.push(Task { rule, place, literals: key.1.clone(), depth });
        self.known.insert(key, rule);
        Ok(Some(rule))
    }

    /// The texts of a rule.
    pub(crate) fn lower(&mut self, task: &Task) -> Result<Expr, CompileError> {
        let Task { place, ref literals, depth, .. } = *task;
        if let Some(values) = self.few_values(literals)? {
            // In any order, objects need the states of objects.
            let is_scalar = |value: &Json| !matches!(value, Json::Array(_) | Json::Object(_));
            if self.options.order == PropertyOrder::Declared || values.iter().all(is_scalar) {
                let mut texts = Vec::with_capacity(values.len());
                for value in &values {
                    texts.push(self.text_of(place, value, depth)?);
                }
                return Ok(Expr::Alternate(texts));
            }
        }
        let types = self.types_of(literals)?;
        let mut parts = Vec::new();
        for value in [Json::Null, Json::Bool(true), Json::Bool(false)] {
            if types.has(Types::of(&value)) && self.all_hold(literals, &value)? {
                parts.push(self.values.text(&value, depth));
            }
        }
        if types.has(Types::NUMBER) {
            parts.extend(self.number_rule(literals)?.map(Expr::Call));
        }
        if types.has(Types::STRING) {
            parts.extend(self.string_rule(literals)?.map(Expr::Call));
        }
        let place = self.places.get(place);
        if types.has(Types::ARRAY) {
            let formula = self.arrays.all(&mut self.nodes, literals)?;
            if formula != NEVER {
                parts.push(self.array(&place, formula, depth)?);
            }
        }
        if types.has(Types::OBJECT) {
            let formula = self.objects.all(&mut self.nodes, literals)?;
            if formula != NEVER {
                parts.push(self.object(&place, formula, depth)?);
            }
        }
        Ok(Expr::Alternate(parts))
    }

    /// The texts of a value at a place, its members in the order of the policy.
    pub(crate) fn text_of(&mut self, place: PlaceId, value: &Json, depth: u32) -> Result<Expr, CompileError> {
        let ordered = self.ordered(place, value)?;
        self.charge_text(&ordered)?;
        Ok(self.values.text(&ordered, depth))
    }

    /// Charges what it takes to write a value.
    fn charge_text(&self, value: &Json) -> Result<(), CompileError> {
        self.budget.charge_steps(PHASE, STEPS_PER_VALUE)?;
        match value {
            Json::Null | Json::Bool(_) => Ok(()),
            Json::Number(number) => self.budget.charge_steps(PHASE, number_steps(number)),
            Json::String(text) => self.budget.charge_steps(PHASE, string_steps(text, self.options.spelling)),
            Json::Array(items) => items.iter().try_for_each(|item| self.charge_text(item)),
            Json::Object(members) => members.iter().try_for_each(|(name, value)| {
                self.budget.charge_steps(PHASE, string_steps(name, self.options.spelling))?;
                self.charge_text(value)
            }),
        }
    }

    fn ordered(&mut self, place: PlaceId, value: &Json) -> Result<Json, CompileError> {
        let here = self.places.get(place);
        Ok(match value {
            Json::Array(items) => {
                let mut out = Vec::with_capacity(items.len());
                for (at, item) in items.iter().enumerate() {
                    let child = self.places.of(&mut self.nodes, here.of_item(at))?;
                    out.push(self.ordered(child, item)?);
                }
                Json::Array(out.into())
            }
            Json::Object(members) => {
                let mut out = Vec::with_capacity(members.len());
                for (name, value) in members.iter() {
                    let nodes = &self.nodes;
                    let matches = |text| nodes.text(text).accepts(name);
                    let child = here.of_member(Some(name), matches, self.budget)?;
                    let child = self.places.of(&mut self.nodes, child)?;
                    out.push((name.clone(), self.ordered(child, value)?));
                }
                // Every name of a listed object is one that the schema names.
                out.sort_by_cached_key(|member| here.numbers.get(&member.0));
                let object =
                    Object::new(out).unwrap_or_else(|_| unreachable!("its names are those of an object"));
                Json::Object(Rc::new(object))
            }
            scalar => scalar.clone(),
        })
    }

    pub(crate) fn number_rule(&mut self, literals: &[Literal]) -> Result<Option<RuleId>, CompileError> {
        let formula = self.numbers.all(&mut self.nodes, literals)?;
        if formula == NEVER {
            return Ok(None);
        }
        if let Some(&known) = self.number_rules.get(&formula) {
            return Ok(Some(known));
        }
        let expr = numbers(&mut self.numbers.formulas, formula, self.budget)?;
        let rule = self.add_rule("number".to_owned(), expr);
        self.number_rules.insert(formula, rule);
        Ok(Some(rule))
    }

    pub(crate) fn string_rule(&mut self, literals: &[Literal]) -> Result<Option<RuleId>, CompileError> {
        let formula = self.strings.all(&mut self.nodes, literals)?;
        if formula == NEVER {
            return Ok(None);
        }
        if let Some(&known) = self.string_rules.get(&formula) {
            return Ok(Some(known));
        }
        let nodes = &self.nodes;
        let text = |text: TextId| nodes.text(text).clone();
        let long = lengths(&self.strings.formulas, formula)?
            .filter(|(min, max)| (LONG + 1..=LONGEST).contains(&max.unwrap_or(*min)));
        if let Some((min, max)) = long {
            self.budget.charge_steps(PHASE, max.unwrap_or(min) / BLOCK * STEPS_PER_VALUE)?;
            let expr = self.long_string(min, max);
            let rule = self.add_rule("string".to_owned(), expr);
            self.string_rules.insert(formula, rule);
            return Ok(Some(rule));
        }
        let expr = strings(&mut self.strings.formulas, formula, &text, self.options.spelling, self.budget)?;
        let rule = self.add_rule("string".to_owned(), expr);
        self.string_rules.insert(formula, rule);
        Ok(Some(rule))
    }

    /// Strings of so many characters, counted in blocks: a rule for the characters of a block, and one for those of a part of
    /// it with the quote behind them. Both are open until one of them ends, and no more states are needed than blocks and
    /// characters of a block.
    fn long_string(&mut self, min: u64, max: Option<u64>) -> Expr {
        let char = any_char(self.options.spelling);
        let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let mut machine = Machine::default();
        let blocks = max.unwrap_or(min) / BLOCK;
        for at in 0..=blocks {
            let state = machine.add_state(false);
            // What may still come in this block, and what has to.
            let most = if at < blocks { Some(BLOCK - 1) } else { max.map(|max| max % BLOCK) };
            let least = min.saturating_sub(at * BLOCK);
            if most.is_none_or(|most| least <= most) {
                let rest = self.part_of_string(StringPart::End { least, most }, || {
                    let chars = char.clone().repeat(count(least), most.map(count));
                    Expr::Concat(vec![chars, Expr::text("\"")])
                });
                machine.add_edge(state, Expr::Call(rest), count(blocks) + 1);
            }
            if at < blocks {
                let block = self.part_of_string(StringPart::Block, || {
                    char.clone().repeat(count(BLOCK), Some(count(BLOCK)))
                });
                machine.add_edge(state, Expr::Call(block), state + 1);
            }
        }
        machine.add_state(true);
        Expr::Concat(vec![Expr::text("\""), Expr::Machine(Box::new(machine))])
    }

    /// The rule of a part of a long string.
    fn part_of_string(&mut self, part: StringPart, expr: impl FnOnce() -> Expr) -> RuleId {
        if let Some(&known) = self.string_parts.get(&part) {
            return known;
        }
        let rule = self.add_rule("characters".to_owned(), expr());
        self.string_parts.insert(part, rule);
        rule
    }

    /// The strings that satisfy a subschema.
    pub(crate) fn language(&mut self, node: NodeId) -> Result<Language, CompileError> {
        let formula = self.strings.all(&mut self.nodes, &[(node, true)])?;
        match formula {
            NEVER => Ok(Language::none()),
            ALWAYS => Language::none().complement(self.budget),
            _ => {
                let nodes = &self.nodes;
                let text = |text: TextId| nodes.text(text).clone();
                string_language(&mut self.strings.formulas, formula, &text, self.budget)
            }
        }
    }
    pub(crate) fn refuse_at(
        &self,
        place: &Place,
        kind: RefusalKind,
        reason: impl Into<String>,
    ) -> CompileError {
        let pointer = place.nodes.first().map(|&node| self.nodes.location(node).pointer.clone());
        CompileError::refuse(kind, pointer.unwrap_or_default(), reason)
    }

    pub(crate) fn free_string(&mut self) -> Expr {
        let rule = self.string_rule(&[]);
        let rule = rule.ok().flatten().unwrap_or_else(|| unreachable!("all strings are few states"));
        Expr::Call(rule)
    }
}
