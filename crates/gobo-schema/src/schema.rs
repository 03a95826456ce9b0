use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{Expr, Grammar, Language, Machine, Rule, RuleId};
use gobo_types::{
    Budget, CompileError, Draft, PropertyOrder, RefusalKind, Report, ReportEntry, SchemaOptions, Whitespace,
};

use crate::any::narrowed;
use crate::evaluate::evaluate;
use crate::expand::{Expansion, Literal, Numbers, Strings, opposite};
use crate::formula::{ALWAYS, Atom, Formula, FormulaId, Formulas, NEVER};
use crate::items::{Arrays, ItemAtom, Next};
use crate::json::Json;
use crate::members::{MemberAtom, Names, Objects, members_of};
use crate::node::{FALSE, NodeId, Nodes, Part, TRUE, TextId, Types};
use crate::place::{Place, PlaceId, Places};
use crate::scalars::{StringKind, numbers, spelled, string_language, strings};
use crate::spelling::{Layout, Values, string};

/// Most names of an object whose members may stand in any order: each doubles its states.
pub(crate) const MAX_UNORDERED: usize = 10;

/// Most values that items may have under `uniqueItems`: each doubles the states.
pub(crate) const MAX_UNIQUE: usize = 12;

const PHASE: &str = "lowering the schema";

/// What it takes to decide an atom of a formula, in steps of other loops.
const STEPS_PER_ATOM: usize = 8;

/// The grammar of the texts that a schema allows, and what it enforces.
///
/// # Errors
/// A refusal whose place is a JSON pointer into the schema; [`CompileError::OverBudget`].
pub fn schema(
    schema: &str,
    options: &SchemaOptions,
    budget: &Budget,
) -> Result<(Grammar, Report), CompileError> {
    let mut nodes = Nodes::read(schema, options, budget)?;
    let root = nodes.root()?;
    let mut lowering = Lowering::new(nodes, options, budget);
    let start = lowering.whole(root)?;
    while let Some(task) = lowering.tasks.pop() {
        let expr = lowering.lower(&task)?;
        lowering.rules[task.rule as usize].expr = expr;
    }
    let mut report = lowering.nodes.take_report();
    lowering.add_policies(&mut report);
    Ok((Grammar { rules: lowering.rules, start }, report))
}

/// A rule that is still to be written.
struct Task {
    rule: RuleId,
    place: PlaceId,
    literals: Vec<Literal>,
    depth: u32,
}

/// From places and what has to hold there to rules of a grammar.
struct Lowering<'a> {
    nodes: Nodes<'a>,
    options: &'a SchemaOptions,
    budget: &'a Budget,
    values: Values,
    places: Places,
    rules: Vec<Rule>,
    tasks: Vec<Task>,
    /// The rule of a place, of what has to hold there, and of the brackets around it.
    known: HashMap<(PlaceId, Vec<Literal>, u32), RuleId>,
    numbers: Expansion<Numbers>,
    strings: Expansion<Strings>,
    objects: Expansion<Objects>,
    arrays: Expansion<Arrays>,
    number_rules: HashMap<FormulaId, RuleId>,
    string_rules: HashMap<FormulaId, RuleId>,
    /// Formulas that were looked at, and whether nothing satisfies them.
    empty_strings: HashMap<FormulaId, bool>,
    empty_numbers: HashMap<FormulaId, bool>,
    /// The few values that a subschema lets through, where they are few.
    finite: HashMap<NodeId, Option<Rc<[Json]>>>,
    types: HashMap<Literal, Types>,
    /// The values of items that have to be unique.
    unique: Vec<Json>,
    widened_unique: bool,
    /// Whether some place is closed, as asked.
    has_closed: bool,
}

impl<'a> Lowering<'a> {
    fn new(nodes: Nodes<'a>, options: &'a SchemaOptions, budget: &'a Budget) -> Self {
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
            numbers: Expansion::new(),
            strings: Expansion::new(),
            objects: Expansion::new(),
            arrays: Expansion::new(),
            number_rules: HashMap::new(),
            string_rules: HashMap::new(),
            empty_strings: HashMap::new(),
            empty_numbers: HashMap::new(),
            finite: HashMap::new(),
            types: HashMap::new(),
            unique: Vec::new(),
            widened_unique: false,
            has_closed: false,
        }
    }

    /// Most brackets around a value, if there is a limit.
    fn max_depth(&self) -> Option<u32> {
        let indented = match self.options.whitespace {
            Whitespace::Indent { .. } => Some(Whitespace::MAX_INDENTED_DEPTH),
            _ => None,
        };
        self.options.max_depth.into_iter().chain(indented).min()
    }

    /// The rule of whole texts.
    fn whole(&mut self, root: NodeId) -> Result<RuleId, CompileError> {
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

    fn add_rule(&mut self, name: String, expr: Expr) -> RuleId {
        self.rules.push(Rule { name, expr });
        u32::try_from(self.rules.len() - 1).expect("the budget keeps rules below 2^32")
    }

    /// The rule of the values at a place that satisfy all of `literals`; `None` if it is seen at once that there are none.
    fn rule(
        &mut self,
        place: PlaceId,
        literals: &[Literal],
        depth: u32,
    ) -> Result<Option<RuleId>, CompileError> {
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
        self.budget.charge_bytes(PHASE, 256 + key.1.len() as u64 * 16)?;
        self.budget.charge_steps(PHASE, 1)?;
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
    fn lower(&mut self, task: &Task) -> Result<Expr, CompileError> {
        let Task { place, ref literals, depth, .. } = *task;
        if let Some(values) = self.few_values(literals)? {
            let values: Vec<Expr> = values.iter().map(|value| self.values.text(value, depth)).collect();
            self.budget.charge_steps(PHASE, values.len() as u64)?;
            return Ok(Expr::Alternate(values));
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

    fn number_rule(&mut self, literals: &[Literal]) -> Result<Option<RuleId>, CompileError> {
        let formula = self.numbers.all(&mut self.nodes, literals)?;
        if formula == NEVER {
            return Ok(None);
        }
        if let Some(&known) = self.number_rules.get(&formula) {
            return Ok(Some(known));
        }
        let expr = numbers(&self.numbers.formulas, formula, self.budget)?;
        let rule = self.add_rule("number".to_owned(), expr);
        self.number_rules.insert(formula, rule);
        Ok(Some(rule))
    }

    fn string_rule(&mut self, literals: &[Literal]) -> Result<Option<RuleId>, CompileError> {
        let formula = self.strings.all(&mut self.nodes, literals)?;
        if formula == NEVER {
            return Ok(None);
        }
        if let Some(&known) = self.string_rules.get(&formula) {
            return Ok(Some(known));
        }
        let nodes = &self.nodes;
        let text = |text: TextId| nodes.text(text).clone();
        let expr = strings(&self.strings.formulas, formula, &text, self.options.spelling, self.budget)?;
        let rule = self.add_rule("string".to_owned(), expr);
        self.string_rules.insert(formula, rule);
        Ok(Some(rule))
    }

    /// The strings that satisfy a subschema.
    fn language(&mut self, node: NodeId) -> Result<Language, CompileError> {
        let formula = self.strings.all(&mut self.nodes, &[(node, true)])?;
        match formula {
            NEVER => Ok(Language::none()),
            ALWAYS => Language::none().complement(self.budget),
            _ => {
                let nodes = &self.nodes;
                let text = |text: TextId| nodes.text(text).clone();
                string_language(&self.strings.formulas, formula, &text, self.budget)
            }
        }
    }

    fn all_hold(&mut self, literals: &[Literal], value: &Json) -> Result<bool, CompileError> {
        for &(node, holds) in literals {
            if evaluate(&mut self.nodes, node, value)? != holds {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The values that satisfy all of `literals`, if one of them lists all that it lets through.
    fn few_values(&mut self, literals: &[Literal]) -> Result<Option<Vec<Json>>, CompileError> {
        for &(node, holds) in literals {
            if !holds {
                continue;
            }
            let Some(values) = self.values_of(node)? else { continue };
            let mut few = Vec::new();
            for value in values.iter() {
                if self.all_hold(literals, value)? {
                    few.push(value.clone());
                }
            }
            return Ok(Some(few));
        }
        Ok(None)
    }

    /// All values that may satisfy a subschema, where they are listed.
    fn values_of(&mut self, node: NodeId) -> Result<Option<Rc<[Json]>>, CompileError> {
        if node == FALSE {
            return Ok(Some(Rc::new([])));
        }
        if let Some(known) = self.finite.get(&node) {
            return Ok(known.clone());
        }
        // What refers to itself lists nothing.
        self.finite.insert(node, None);
        let parts = self.nodes.parts(node)?;
        let mut found: Option<Rc<[Json]>> = None;
        for part in parts.iter() {
            self.budget.charge_steps(PHASE, 1)?;
            let here = match part {
                Part::Values(values) => Some(values.list().into()),
                Part::Types { types, .. } if types.and(Types::NULL.or(Types::BOOL)) == *types => {
                    let all = [Json::Null, Json::Bool(true), Json::Bool(false)];
                    Some(all.into_iter().filter(|value| types.has(Types::of(value))).collect())
                }
                Part::AllOf(of) => {
                    let mut least: Option<Rc<[Json]>> = None;
                    for &node in of.iter() {
                        let values = self.values_of(node)?;
                        least = [least, values].into_iter().flatten().min_by_key(|values| values.len());
                    }
                    least
                }
                Part::AnyOf(of) | Part::OneOf(of) => {
                    let mut all = Some(Vec::new());
                    for &node in of.iter() {
                        match (self.values_of(node)?, &mut all) {
                            (Some(values), Some(all)) => all.extend(values.iter().cloned()),
                            _ => all = None,
                        }
                    }
                    all.map(|mut all: Vec<Json>| {
                        let mut known = foldhash::HashSet::default();
                        all.retain(|value| known.insert(value.clone()));
                        all.into()
                    })
                }
                _ => None,
            };
            found = [found, here].into_iter().flatten().min_by_key(|values| values.len());
        }
        self.finite.insert(node, found.clone());
        Ok(found)
    }

    /// The types that values may have which satisfy all of `literals`; those that they cannot have may be among them.
    fn types_of(&mut self, literals: &[Literal]) -> Result<Types, CompileError> {
        literals.iter().try_fold(Types::ALL, |types, &literal| Ok(types.and(self.types(literal)?)))
    }

    fn types(&mut self, literal: Literal) -> Result<Types, CompileError> {
        let (node, holds) = literal;
        if node == TRUE || node == FALSE {
            return Ok(if (node == TRUE) == holds { Types::ALL } else { Types(0) });
        }
        if let Some(&known) = self.types.get(&literal) {
            return Ok(known);
        }
        self.types.insert(literal, Types::ALL);
        let parts = self.nodes.parts(node)?;
        let mut of_parts = Vec::with_capacity(parts.len());
        for part in parts.iter() {
            of_parts.push(self.types_of_part(part, holds)?);
        }
        let types = Self::connect(&of_parts, holds);
        self.types.insert(literal, types);
        Ok(types)
    }

    fn connect(types: &[Types], is_and: bool) -> Types {
        if is_and {
            types.iter().fold(Types::ALL, |all, types| all.and(*types))
        } else {
            types.iter().fold(Types(0), |all, types| all.or(*types))
        }
    }

    fn types_of_part(&mut self, part: &Part, holds: bool) -> Result<Types, CompileError> {
        Ok(match part {
            Part::Types { types, .. } => {
                let whole = types.and(Types::ALL);
                if holds {
                    if types.has(Types::INTEGER) { whole.or(Types::NUMBER) } else { whole }
                } else {
                    Types(Types::ALL.0 & !whole.0)
                }
            }
            Part::Values(values) if holds => {
                values.list().iter().fold(Types(0), |types, value| types.or(Types::of(value)))
            }
            Part::AllOf(of) | Part::AnyOf(of) => {
                let mut types = Vec::with_capacity(of.len());
                for &node in of.iter() {
                    types.push(self.types((node, holds))?);
                }
                Self::connect(&types, matches!(part, Part::AllOf(_)) == holds)
            }
            Part::OneOf(of) if holds => {
                let mut types = Types(0);
                for &node in of.iter() {
                    types = types.or(self.types((node, true))?);
                }
                types
            }
            Part::Not(of) => self.types((*of, !holds))?,
            _ => Types::ALL,
        })
    }

    /// Whether a value that satisfies all of `asserted` satisfies `literal`, where that is seen at once.
    fn implies(&mut self, asserted: &[Literal], literal: Literal) -> Result<Option<bool>, CompileError> {
        if literal.0 == TRUE || literal.0 == FALSE {
            return Ok(Some((literal.0 == TRUE) == literal.1));
        }
        if asserted.contains(&literal) {
            return Ok(Some(true));
        }
        if asserted.contains(&opposite(literal)) {
            return Ok(Some(false));
        }
        let types = self.types_of(asserted)?;
        if types.and(self.types(literal)?) == Types(0) {
            return Ok(Some(false));
        }
        if types.and(self.types(opposite(literal))?) == Types(0) {
            return Ok(Some(true));
        }
        for (literal, answer) in [(literal, false), (opposite(literal), true)] {
            let mut both = asserted.to_vec();
            both.push(literal);
            if self.is_without_scalars(&both, types)? {
                return Ok(Some(answer));
            }
        }
        if let Some(values) = self.few_values(asserted)? {
            let mut holds = 0;
            for value in &values {
                holds += usize::from(self.all_hold(&[literal], value)?);
            }
            if holds == 0 {
                return Ok(Some(false));
            }
            if holds == values.len() {
                return Ok(Some(true));
            }
        } else if literal.1 && self.values_of(literal.0)?.is_some() {
            let mut both = asserted.to_vec();
            both.push(literal);
            if self.few_values(&both)?.is_some_and(|values| values.is_empty()) {
                return Ok(Some(false));
            }
        }
        Ok(None)
    }

    /// Whether it is seen that no value satisfies all of `literals`, which are those of numbers or strings: `types` are all that
    /// some of them allow. Lengths are not looked at.
    fn is_without_scalars(&mut self, literals: &[Literal], types: Types) -> Result<bool, CompileError> {
        let is_scalar = |allowed: Types| types.and(allowed) == types;
        if is_scalar(Types::STRING) {
            let formula = self.strings.all(&mut self.nodes, literals)?;
            let formula = self.strings.formulas.substitute(formula, &mut |atom| {
                matches!(atom.kind, StringKind::Length { .. }).then_some(true)
            });
            if formula == NEVER || formula == ALWAYS {
                return Ok(formula == NEVER);
            }
            if let Some(&known) = self.empty_strings.get(&formula) {
                return Ok(known);
            }
            let nodes = &self.nodes;
            let text = |text: TextId| nodes.text(text).clone();
            let language = string_language(&self.strings.formulas, formula, &text, self.budget)?;
            self.empty_strings.insert(formula, language.is_empty());
            return Ok(language.is_empty());
        }
        if is_scalar(Types::NUMBER) {
            let formula = self.numbers.all(&mut self.nodes, literals)?;
            if formula == NEVER || formula == ALWAYS {
                return Ok(formula == NEVER);
            }
            if let Some(&known) = self.empty_numbers.get(&formula) {
                return Ok(known);
            }
            let texts = numbers(&self.numbers.formulas, formula, self.budget)?;
            let is_empty = Language::expr(&texts, self.budget)?.is_empty();
            self.empty_numbers.insert(formula, is_empty);
            return Ok(is_empty);
        }
        Ok(false)
    }

    /// The ways in which the next value may come out: what is known to hold of it, and what is left of the formula then.
    /// `asked` is what an atom asks of the value, `after` what becomes of it when that holds, or does not, or was not asked.
    ///
    /// Formulas never cease to hold when more is known to: so a value may come out in several ways, and counts as good if one
    /// of them is.
    fn outcomes<A: Atom>(
        &mut self,
        formulas: &mut Formulas<A>,
        formula: FormulaId,
        asked: &impl Fn(&A) -> Option<Literal>,
        after: &impl Fn(&A, Option<bool>) -> Next<A>,
    ) -> Result<Vec<(Vec<Literal>, FormulaId)>, CompileError> {
        let mut found: Vec<(Vec<Literal>, FormulaId)> = Vec::new();
        let mut open: Vec<(FormulaId, Vec<(Literal, bool)>, Vec<Literal>)> =
            vec![(formula, Vec::new(), Vec::new())];
        while let Some((formula, decided, asserted)) = open.pop() {
            if formula == NEVER {
                continue;
            }
            let atoms = formulas.atoms(formula);
            let steps = STEPS_PER_ATOM * (1 + atoms.len() + decided.len());
            self.budget.charge_steps(PHASE, steps as u64)?;
            let known =
                |literal: Literal| decided.iter().find(|known| known.0 == literal).map(|known| known.1);
            let next =
                formulas.atoms(formula).iter().filter_map(asked).find(|literal| known(*literal).is_none());
            let Some(literal) = next else {
                let rest = formulas.rewrite(formula, &mut |formulas, atom| {
                    Some(match after(atom, asked(atom).and_then(known)) {
                        Next::Never => NEVER,
                        Next::Always => ALWAYS,
                        Next::Atom(atom) => formulas.atom(atom),
                    })
                });
                if rest != NEVER {
                    found.push((asserted, rest));
                }
                continue;
            };
            let implied = self.implies(&asserted, literal)?;
            // What has to hold comes off the stack first.
            for holds in [false, true] {
                if implied == Some(!holds) {
                    continue;
                }
                let mut decided = decided.clone();
                decided.push((literal, holds));
                let mut asserted = asserted.clone();
                if holds && implied.is_none() {
                    asserted.push(literal);
                }
                let rest = formulas.substitute(formula, &mut |atom| {
                    if asked(atom) != Some(literal) {
                        return None;
                    }
                    match after(atom, Some(holds)) {
                        Next::Never => Some(false),
                        Next::Always => Some(true),
                        Next::Atom(_) => None,
                    }
                });
                open.push((rest, decided, asserted));
            }
        }
        // A way that asks for more than others and leads no further than they do together adds nothing.
        let is_within =
            |less: &[Literal], more: &[Literal]| less.iter().all(|literal| more.contains(literal));
        let mut kept: Vec<bool> = vec![true; found.len()];
        for at in 0..found.len() {
            let (asserted, rest) = &found[at];
            let weaker: Vec<FormulaId> = (0..found.len())
                .filter(|&other| other != at && kept[other])
                .filter(|&other| {
                    is_within(&found[other].0, asserted)
                        && (found[other].0.len() < asserted.len() || other < at)
                })
                .map(|other| found[other].1)
                .collect();
            self.budget.charge_steps(PHASE, found.len() as u64)?;
            if !weaker.is_empty() && formulas.or(weaker.iter().copied().chain([*rest])) == formulas.or(weaker)
            {
                kept[at] = false;
            }
        }
        let mut kept = kept.into_iter();
        found.retain(|_| kept.next() == Some(true));
        Ok(found)
    }

    fn array(&mut self, place: &Rc<Place>, formula: FormulaId, depth: u32) -> Result<Expr, CompileError> {
        let mut builder = Builder::new("[", "]", self.values.layout, depth);
        let is_leaf = self.max_depth() == Some(depth);
        let mut formulas = std::mem::replace(&mut self.arrays.formulas, Formulas::new());
        let formula = self.without_unique(&mut formulas, formula);
        let start = builder.state(Stage::Start, 0, formula);
        debug_assert_eq!(start, 0, "texts begin at the first state");
        let mut done = 0;
        let mut result = Ok(());
        while let Some((stage, at, formula)) = builder.open(&mut done) {
            let can_end = stage != Stage::Item && formulas.holds(formula, &ItemAtom::holds_at_end);
            builder.add_ends(stage, at, formula, can_end, !is_leaf);
            if stage == Stage::Item {
                result = self.add_items(&mut builder, &mut formulas, place, (at, formula), depth);
                if result.is_err() {
                    break;
                }
            }
        }
        self.arrays.formulas = formulas;
        result?;
        Ok(builder.finish())
    }

    /// The same formula, for an array that has one item at most.
    fn without_unique(&self, formulas: &mut Formulas<ItemAtom>, formula: FormulaId) -> FormulaId {
        let is_short = |formulas: &Formulas<ItemAtom>, formula: FormulaId| {
            matches!(formulas.get(formula), Formula::Atom(ItemAtom::NoLongerThan(0 | 1)))
        };
        match formulas.get(formula).clone() {
            Formula::And(parts) if parts.iter().any(|&part| is_short(formulas, part)) => {
                formulas.substitute(formula, &mut |atom| matches!(atom, ItemAtom::Unique(_)).then_some(true))
            }
            _ => formula,
        }
    }

    /// The edges that read the item at a position.
    fn add_items(
        &mut self,
        builder: &mut Builder,
        formulas: &mut Formulas<ItemAtom>,
        place: &Rc<Place>,
        (at, formula): (u32, FormulaId),
        depth: u32,
    ) -> Result<(), CompileError> {
        let child = self.places.of(&mut self.nodes, place.of_item(at as usize))?;
        let behind = (at + 1).min(u32::try_from(place.last_item()).unwrap_or(u32::MAX));
        let ways = self.outcomes(formulas, formula, &ItemAtom::asked, &|atom, holds| atom.after(holds))?;
        for (literals, rest) in ways {
            let is_unique = |atom: &ItemAtom| matches!(atom, ItemAtom::Unique(_) | ItemAtom::Repeated(_));
            if formulas.atoms(rest).iter().any(is_unique) {
                self.add_unique_items(
                    builder,
                    formulas,
                    (at, formula, behind),
                    (&literals, rest),
                    place,
                    depth,
                )?;
            } else if let Some(rule) = self.rule(child, &literals, depth + 1)? {
                let from = builder.state(Stage::Item, at, formula);
                let to = builder.state(Stage::After, behind, rest);
                builder.machine.add_edge(from, Expr::Call(rule), to);
            }
            self.budget.check_states(PHASE, builder.machine.len())?;
        }
        Ok(())
    }

    /// An edge for each value that the item may have: which came before decides which may follow.
    fn add_unique_items(
        &mut self,
        builder: &mut Builder,
        formulas: &mut Formulas<ItemAtom>,
        (at, formula, behind): (u32, FormulaId, u32),
        (literals, rest): (&[Literal], FormulaId),
        place: &Rc<Place>,
        depth: u32,
    ) -> Result<(), CompileError> {
        let values = self.few_values(literals)?.filter(|values| values.len() <= MAX_UNIQUE);
        let Some(values) = values else {
            if !self.options.allow_widening {
                let reason = format!("uniqueItems of items with more than {MAX_UNIQUE} values");
                return Err(self.refuse_at(place, RefusalKind::Unsupported, reason));
            }
            self.widened_unique = true;
            let formula_without = formulas.substitute(formula, &mut |atom| {
                matches!(atom, ItemAtom::Unique(_) | ItemAtom::Repeated(_)).then_some(true)
            });
            let from = builder.state(Stage::Item, at, formula);
            let to = builder.state(Stage::Item, at, formula_without);
            builder.machine.add_edge(from, Expr::text(""), to);
            return Ok(());
        };
        for value in values {
            let known = self.unique.iter().position(|known| *known == value);
            let number = known.unwrap_or_else(|| {
                self.unique.push(value.clone());
                self.unique.len() - 1
            });
            let number = u32::try_from(number).expect("the budget keeps values below 2^32");
            let rest = formulas.rewrite(rest, &mut |formulas, atom| match atom {
                ItemAtom::Unique(used) | ItemAtom::Repeated(used) => {
                    let is_unique = matches!(atom, ItemAtom::Unique(_));
                    Some(match used.binary_search(&number) {
                        Ok(_) => {
                            if is_unique {
                                NEVER
                            } else {
                                ALWAYS
                            }
                        }
                        Err(place) => {
                            let mut used = used.to_vec();
                            used.insert(place, number);
                            formulas.atom(if is_unique {
                                ItemAtom::Unique(used.into())
                            } else {
                                ItemAtom::Repeated(used.into())
                            })
                        }
                    })
                }
                _ => None,
            });
            if rest == NEVER {
                continue;
            }
            let from = builder.state(Stage::Item, at, formula);
            let to = builder.state(Stage::After, behind, rest);
            builder.machine.add_edge(from, self.values.text(&value, depth + 1), to);
            self.budget.check_states(PHASE, builder.machine.len())?;
        }
        Ok(())
    }

    fn refuse_at(&self, place: &Place, kind: RefusalKind, reason: impl Into<String>) -> CompileError {
        let pointer = place.nodes.first().map(|&node| self.nodes.location(node).pointer.clone());
        CompileError::refuse(kind, pointer.unwrap_or_default(), reason)
    }

    fn object(&mut self, place: &Rc<Place>, formula: FormulaId, depth: u32) -> Result<Expr, CompileError> {
        let mut formulas = std::mem::replace(&mut self.objects.formulas, Formulas::new());
        let expr = self.object_with(&mut formulas, place, formula, depth);
        self.objects.formulas = formulas;
        expr
    }

    fn object_with(
        &mut self,
        formulas: &mut Formulas<MemberAtom>,
        place: &Rc<Place>,
        formula: FormulaId,
        depth: u32,
    ) -> Result<Expr, CompileError> {
        let is_ordered = self.options.order == PropertyOrder::Declared;
        let names = u32::try_from(place.names.len()).expect("the budget keeps names below 2^32");
        if !is_ordered && place.names.len() > MAX_UNORDERED {
            let reason = format!("any order of {names} names; the limit is {MAX_UNORDERED}");
            return Err(self.refuse_at(place, RefusalKind::Unsupported, reason));
        }
        let scope = self.scope(formulas, place, formula)?;
        let is_leaf = self.max_depth() == Some(depth);
        let mut builder = Builder::new("{", "}", self.values.layout, depth);
        builder.state(Stage::Start, 0, formula);
        let mut done = 0;
        // Which names are behind: up to which one, or a bit for each.
        while let Some((stage, behind, formula)) = builder.open(&mut done) {
            self.budget.charge_steps(PHASE, 1)?;
            self.budget.check_states(PHASE, builder.machine.len())?;
            let can_end = stage != Stage::Item && formulas.holds(formula, &holds_at_end);
            builder.add_ends(stage, behind, formula, can_end, !is_leaf);
            if stage != Stage::Item {
                continue;
            }
            let from = builder.state(stage, behind, formula);
            if !is_ordered {
                for name in (0..names).filter(|name| behind >> name & 1 == 0) {
                    let step = Step { name, is_last: true, behind: behind | 1 << name };
                    self.add_member(&mut builder, formulas, place, &scope, (from, formula), step, depth)?;
                }
                self.add_others(&mut builder, formulas, place, &scope, (from, behind, formula), depth)?;
            } else if behind < names {
                let rest = formulas
                    .substitute(formula, &mut |atom| scope.is_last(atom, behind).then(|| holds_at_end(atom)));
                if rest != NEVER {
                    let to = builder.state(Stage::Item, behind + 1, rest);
                    builder.machine.add_edge(from, Expr::text(""), to);
                }
                let step = Step { name: behind, is_last: false, behind: behind + 1 };
                self.add_member(&mut builder, formulas, place, &scope, (from, formula), step, depth)?;
            } else {
                self.add_others(&mut builder, formulas, place, &scope, (from, behind, formula), depth)?;
            }
        }
        Ok(builder.finish())
    }

    /// The edges that read a member with a name that some subschema names.
    #[expect(clippy::too_many_arguments, reason = "all of it is where a member stands")]
    fn add_member(
        &mut self,
        builder: &mut Builder,
        formulas: &mut Formulas<MemberAtom>,
        place: &Rc<Place>,
        scope: &Scope,
        (from, formula): (u32, FormulaId),
        step: Step,
        depth: u32,
    ) -> Result<(), CompileError> {
        let name = &place.names[step.name as usize];
        let nodes = &self.nodes;
        let child = place.of_member(Some(name), |text| nodes.text(text).accepts(name));
        let child = self.places.of(&mut self.nodes, child)?;
        // In any order, others that an atom speaks of may still come.
        let is_last = |atom: &MemberAtom| {
            if step.is_last { scope.is_only(atom, step.name) } else { scope.is_last(atom, step.name) }
        };
        let asked = |atom: &MemberAtom| value_of(atom).filter(|_| scope.has(atom, step.name));
        let after = |atom: &MemberAtom, holds: Option<bool>| match (atom, holds) {
            (MemberAtom::Every(..), Some(false)) => Next::Never,
            (MemberAtom::Some(..), Some(true)) => Next::Always,
            (MemberAtom::Every(..), Some(true)) if is_last(atom) => Next::Always,
            (MemberAtom::Some(..), Some(false)) if is_last(atom) => Next::Never,
            _ => counted(atom),
        };
        let ways = self.outcomes(formulas, formula, &asked, &after)?;
        for (literals, rest) in ways {
            let Some(rule) = self.rule(child, &literals, depth + 1)? else { continue };
            let to = builder.state(Stage::After, step.behind, rest);
            let key = string(name, self.options.spelling);
            let member = Expr::Concat(vec![key, self.values.layout.colon(), Expr::Call(rule)]);
            builder.machine.add_edge(from, member, to);
        }
        Ok(())
    }

    /// The edges that read a member with a name that no subschema names.
    fn add_others(
        &mut self,
        builder: &mut Builder,
        formulas: &mut Formulas<MemberAtom>,
        place: &Rc<Place>,
        scope: &Scope,
        (from, behind, formula): (u32, u32, FormulaId),
        depth: u32,
    ) -> Result<(), CompileError> {
        for class in &scope.others {
            let asked = |atom: &MemberAtom| value_of(atom).filter(|_| class.has(atom));
            for atom in formulas.atoms(formula) {
                let is_lost = match &atom {
                    // A later member with the same name would take the place of the witness.
                    MemberAtom::Some(_, value) => asked(&atom).is_some() && *value != (TRUE, true),
                    MemberAtom::AtLeast(min) => *min > 1,
                    _ => false,
                };
                if is_lost {
                    let reason =
                        "what holds depends on whether other names are repeated, which no automaton can see";
                    return Err(self.refuse_at(place, RefusalKind::Unsupported, reason));
                }
            }
            let after = |atom: &MemberAtom, holds: Option<bool>| match (atom, holds) {
                (MemberAtom::Every(..), Some(false)) => Next::Never,
                (MemberAtom::Some(..), Some(true)) => Next::Always,
                _ => counted(atom),
            };
            let ways = self.outcomes(formulas, formula, &asked, &after)?;
            let matches = |text: TextId| class.patterns.contains(&text);
            let child = self.places.of(&mut self.nodes, place.of_member(None, matches))?;
            for (literals, rest) in ways {
                let Some(rule) = self.rule(child, &literals, depth + 1)? else { continue };
                let to = builder.state(Stage::After, behind, rest);
                let member =
                    Expr::Concat(vec![class.key.clone(), self.values.layout.colon(), Expr::Call(rule)]);
                builder.machine.add_edge(from, member, to);
            }
        }
        Ok(())
    }

    /// What the atoms of a formula speak of.
    fn scope(
        &mut self,
        formulas: &Formulas<MemberAtom>,
        place: &Rc<Place>,
        formula: FormulaId,
    ) -> Result<Scope, CompileError> {
        let mut scope = Scope { of: HashMap::new(), others: Vec::new() };
        let index: HashMap<&str, u32> =
            (0..).zip(&place.names).map(|(at, name)| (name.as_str(), at)).collect();
        let mut sets: Vec<Names> = Vec::new();
        for atom in formulas.atoms(formula) {
            let Some(names) = names_of(&atom) else { continue };
            if scope.of.contains_key(names) {
                continue;
            }
            let mut of = Vec::new();
            if let Names::One(name) = names {
                of.extend(index.get(&**name));
            } else {
                self.budget.charge_steps(PHASE, place.names.len() as u64)?;
                for (at, name) in (0..).zip(&place.names) {
                    if names.has(&mut self.nodes, name)? {
                        of.push(at);
                    }
                }
                sets.push(names.clone());
            }
            scope.of.insert(names.clone(), of);
        }
        scope.others = self.other_names(place, sets)?;
        Ok(scope)
    }

    /// The names that no subschema names, by which of `sets` they are in and which patterns they have.
    fn other_names(&mut self, place: &Rc<Place>, sets: Vec<Names>) -> Result<Vec<Others>, CompileError> {
        let closed = self.options.closed && place.says_properties && !place.says_additional;
        self.has_closed |= closed;
        let patterns = place.patterns();
        if place.names.is_empty()
            && patterns.is_empty()
            && sets.iter().all(|set| !matches!(set, Names::Against(_)))
        {
            // Every name is one of them.
            let key = self.free_string();
            return Ok(vec![Others { key, sets: sets.into_iter().collect(), patterns: Vec::new() }]);
        }
        let mut known = place.names.clone();
        known.sort_unstable();
        let rest = Language::choice(&known, self.budget)?.complement(self.budget)?;
        let mut classes: Vec<(Language, Vec<TextId>, Vec<NodeId>)> = vec![(rest, Vec::new(), Vec::new())];
        let mut against: Vec<NodeId> = sets
            .iter()
            .filter_map(|set| match set {
                Names::Against(node) => Some(*node),
                _ => None,
            })
            .collect();
        against.sort_unstable();
        against.dedup();
        let mut tests: Vec<(Rc<Language>, Option<TextId>, NodeId)> =
            patterns.iter().map(|&text| (self.nodes.text(text).clone(), Some(text), TRUE)).collect();
        for node in against {
            tests.push((Rc::new(self.language(node)?.complement(self.budget)?), None, node));
        }
        for (language, text, node) in tests {
            let mut split = Vec::with_capacity(classes.len() * 2);
            for (class, patterns, against) in classes {
                let without =
                    Language::combine(&[&class, &language], |is_in| is_in[0] && !is_in[1], self.budget)?;
                let with = class.intersection(&language, self.budget)?;
                let mut with_patterns = patterns.clone();
                let mut with_against = against.clone();
                match text {
                    Some(text) => with_patterns.push(text),
                    None => with_against.push(node),
                }
                split.push((without, patterns, against));
                split.push((with, with_patterns, with_against));
            }
            split.retain(|class| !class.0.is_empty());
            self.budget.charge_steps(PHASE, split.len() as u64)?;
            classes = split;
        }
        let mut others = Vec::with_capacity(classes.len());
        for (language, patterns, against) in classes {
            if closed && patterns.is_empty() {
                continue;
            }
            let mut inside = foldhash::HashSet::default();
            for set in &sets {
                let is_in = match set {
                    Names::One(_) => false,
                    Names::Pattern(text) => patterns.contains(text),
                    Names::Additional(node) => {
                        let members = members_of(&mut self.nodes, *node)?;
                        !members.patterns.iter().any(|pattern| patterns.contains(&pattern.0))
                    }
                    Names::Others { with, without, .. } => {
                        with.iter().all(|text| patterns.contains(text))
                            && !without.iter().any(|text| patterns.contains(text))
                    }
                    Names::Against(node) => against.contains(node),
                };
                if is_in {
                    inside.insert(set.clone());
                }
            }
            others.push(Others { key: spelled(&language, self.options.spelling), sets: inside, patterns });
        }
        Ok(others)
    }

    fn free_string(&mut self) -> Expr {
        let rule = self.string_rule(&[]);
        let rule = rule.ok().flatten().unwrap_or_else(|| unreachable!("all strings are few states"));
        Expr::Call(rule)
    }

    /// What the options shut out or let through.
    fn add_policies(&self, report: &mut Report) {
        report.narrowed.extend(narrowed(self.options.whitespace));
        let mut narrow = |keyword: &str, why: String| report.narrowed.push(ReportEntry::whole(keyword, why));
        if self.options.order == PropertyOrder::Declared {
            narrow(
                "order",
                "members that the schema names in the order in which they first appear, others behind them"
                    .to_owned(),
            );
        }
        if self.options.spelling == gobo_types::Spelling::Canonical {
            narrow(
                "spelling",
                "each character of names and of strings under a constraint in its shortest form".to_owned(),
            );
        }
        narrow("numbers", "numbers under a constraint without exponent, or, under bounds alone, with one digit before the point; the digits of a number under no constraint as JSON has them".to_owned());
        if self.has_closed {
            narrow("closed", "no members but those that the schema names".to_owned());
        }
        if let Some(depth) = self.options.max_depth {
            narrow("max_depth", format!("nothing inside more than {depth} brackets"));
        }
        if self.widened_unique {
            report.widened.push(ReportEntry::whole(
                "uniqueItems",
                format!("items with more than {MAX_UNIQUE} values may be repeated"),
            ));
        }
    }
}

/// The names that an atom speaks of.
fn names_of(atom: &MemberAtom) -> Option<&Names> {
    match atom {
        MemberAtom::Every(names, _) | MemberAtom::Some(names, _) => Some(names),
        MemberAtom::AtLeast(_) | MemberAtom::AtMost(_) => None,
    }
}

fn value_of(atom: &MemberAtom) -> Option<Literal> {
    match atom {
        MemberAtom::Every(_, value) | MemberAtom::Some(_, value) => Some(*value),
        MemberAtom::AtLeast(_) | MemberAtom::AtMost(_) => None,
    }
}

/// What is left of a number of members behind one more.
fn counted(atom: &MemberAtom) -> Next<MemberAtom> {
    match atom {
        MemberAtom::AtLeast(0 | 1) => Next::Always,
        MemberAtom::AtLeast(min) => Next::Atom(MemberAtom::AtLeast(min - 1)),
        MemberAtom::AtMost(0) => Next::Never,
        MemberAtom::AtMost(max) => Next::Atom(MemberAtom::AtMost(max - 1)),
        other => Next::Atom(other.clone()),
    }
}

fn holds_at_end(atom: &MemberAtom) -> bool {
    match atom {
        MemberAtom::Every(..) | MemberAtom::AtMost(_) => true,
        MemberAtom::Some(..) => false,
        MemberAtom::AtLeast(min) => *min == 0,
    }
}

/// Where a member stands.
#[derive(Clone, Copy)]
struct Step {
    name: u32,
    /// Whether names may come in any order.
    is_last: bool,
    behind: u32,
}

/// Which of a place's names the atoms of a formula speak of.
struct Scope {
    /// Numbers of names, ascending.
    of: HashMap<Names, Vec<u32>>,
    others: Vec<Others>,
}

/// Names that no subschema names, alike in what is asked of them.
struct Others {
    key: Expr,
    sets: foldhash::HashSet<Names>,
    patterns: Vec<TextId>,
}

impl Others {
    fn has(&self, atom: &MemberAtom) -> bool {
        names_of(atom).is_some_and(|names| self.sets.contains(names))
    }
}

impl Scope {
    /// Whether an atom speaks of a name.
    fn has(&self, atom: &MemberAtom, name: u32) -> bool {
        names_of(atom).is_some_and(|names| self.of[names].binary_search(&name).is_ok())
    }

    fn has_others(&self, names: &Names) -> bool {
        self.others.iter().any(|others| others.sets.contains(names))
    }

    /// Whether an atom speaks of a name and of none behind it.
    fn is_last(&self, atom: &MemberAtom, name: u32) -> bool {
        names_of(atom).is_some_and(|names| self.of[names].last() == Some(&name) && !self.has_others(names))
    }

    /// Whether an atom speaks of a name and of no other.
    fn is_only(&self, atom: &MemberAtom, name: u32) -> bool {
        names_of(atom).is_some_and(|names| *self.of[names] == [name] && !self.has_others(names))
    }
}

/// Where in the text of an array or an object a state stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Stage {
    /// Behind the bracket.
    Start,
    /// Behind an item.
    After,
    /// Where an item has to follow.
    Item,
}

/// The machine of the texts between two brackets.
struct Builder {
    machine: Machine,
    known: HashMap<(Stage, u32, FormulaId), u32>,
    order: Vec<(Stage, u32, FormulaId)>,
    end: Option<u32>,
    close: &'static str,
    open: &'static str,
    layout: Layout,
    depth: u32,
}

impl Builder {
    fn new(open: &'static str, close: &'static str, layout: Layout, depth: u32) -> Self {
        Self {
            machine: Machine::default(),
            known: HashMap::new(),
            order: Vec::new(),
            end: None,
            open,
            close,
            layout,
            depth,
        }
    }

    /// The state of a stage, a position and what is left to hold.
    fn state(&mut self, stage: Stage, at: u32, formula: FormulaId) -> u32 {
        let Self { machine, known, order, .. } = self;
        *known.entry((stage, at, formula)).or_insert_with(|| {
            let state = machine.add_state(false);
            // The end has a state, but is no stage.
            order.resize(state as usize, (Stage::Start, u32::MAX, NEVER));
            order.push((stage, at, formula));
            state
        })
    }

    /// The next state whose edges are to be added.
    fn open(&mut self, done: &mut usize) -> Option<(Stage, u32, FormulaId)> {
        loop {
            let next = *self.order.get(*done)?;
            *done += 1;
            if next.2 != NEVER {
                return Some(next);
            }
        }
    }

    /// The edges from behind a bracket or an item: to the next item, and to the end.
    fn add_ends(&mut self, stage: Stage, at: u32, formula: FormulaId, can_end: bool, can_go_on: bool) {
        let Self { layout, depth, .. } = *self;
        let from = self.state(stage, at, formula);
        let (between, last) = match stage {
            Stage::Start => (layout.first(depth), layout.empty()),
            Stage::After => (layout.between(depth), layout.last(depth)),
            Stage::Item => return,
        };
        if can_go_on {
            let to = self.state(Stage::Item, at, formula);
            self.machine.add_edge(from, between, to);
        }
        if can_end {
            let end = *self.end.get_or_insert_with(|| self.machine.add_state(true));
            self.machine.add_edge(from, Expr::Concat(vec![last, Expr::text(self.close)]), end);
        }
    }

    fn finish(self) -> Expr {
        Expr::Concat(vec![Expr::text(self.open), Expr::Machine(Box::new(self.machine))])
    }
}
