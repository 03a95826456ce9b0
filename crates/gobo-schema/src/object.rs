use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{Expr, Language};
use gobo_types::{CompileError, PropertyOrder, RefusalKind};

use crate::brackets::{Builder, STEPS_PER_STATE, Stage};
use crate::expand::Literal;
use crate::formula::{FormulaId, Formulas, NEVER};
use crate::lowering::{Lowering, PHASE};
use crate::members::{MemberAtom, Names, members_of};
use crate::node::{FALSE, NodeId, Part, TRUE, TextId, Types};
use crate::outcomes::{Next, Way};
use crate::place::Place;
use crate::scalars::spelled;
use crate::spelling::{string, string_steps};

/// Most names of an object whose members may stand in any order: each doubles its states.
pub(crate) const MAX_UNORDERED: usize = 10;
impl Lowering<'_> {
    pub(crate) fn object(
        &mut self,
        place: &Rc<Place>,
        formula: FormulaId,
        depth: u32,
    ) -> Result<Expr, CompileError> {
        let mut formulas = std::mem::replace(&mut self.objects.formulas, Formulas::new(self.budget));
        let expr = self.object_with(&mut formulas, place, formula, depth);
        self.objects.formulas = formulas;
        expr
    }

    fn object_with(
        &mut self,
        formulas: &mut Formulas<'_, MemberAtom>,
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
            self.budget.charge_steps(PHASE, STEPS_PER_STATE)?;
            self.budget.check_states(PHASE, builder.machine.len())?;
            let can_end = stage != Stage::Item && formulas.holds(formula, &holds_at_end)?;
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
                let rest = formulas.substitute(formula, &mut |atom| {
                    scope.is_last(atom, behind).then(|| holds_at_end(atom))
                })?;
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
        formulas: &mut Formulas<'_, MemberAtom>,
        place: &Rc<Place>,
        scope: &Scope,
        (from, formula): (u32, FormulaId),
        step: Step,
        depth: u32,
    ) -> Result<(), CompileError> {
        let name = &place.names[step.name as usize];
        let nodes = &self.nodes;
        let child = place.of_member(Some(name), |text| nodes.text(text).accepts(name), self.budget)?;
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
            self.budget.charge_steps(PHASE, STEPS_PER_STATE + string_steps(name, self.options.spelling))?;
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
        formulas: &mut Formulas<'_, MemberAtom>,
        place: &Rc<Place>,
        scope: &Scope,
        (from, behind, formula): (u32, u32, FormulaId),
        depth: u32,
    ) -> Result<(), CompileError> {
        for class in &scope.others {
            let matches = |text: TextId| class.patterns.contains(&text);
            let child = place.of_member(None, matches, self.budget)?;
            let child = self.places.of(&mut self.nodes, child)?;
            let mut ways = Vec::new();
            let mut last = Vec::new();
            let mut late: Option<MemberAtom> = None;
            for (literals, rest) in self.ways_of_other(formulas, formula, class, None)? {
                if self.rule(child, &literals, depth + 1)?.is_none() {
                    continue;
                }
                match self.taken_away(formulas, class, formula, (&literals, rest))?.as_slice() {
                    [] => ways.push((literals, rest)),
                    [atom] if self.may_be_late(place, atom)? => {
                        late = Some(atom.clone());
                        last.push((literals, rest));
                    }
                    _ => return Err(self.refuse_repetition(place)),
                }
            }
            if late.is_some() {
                // Every other member goes by as if it were no witness.
                for (literals, rest) in self.ways_of_other(formulas, formula, class, late.as_ref())? {
                    let taken = self.taken_away(formulas, class, formula, (&literals, rest))?;
                    if taken.iter().any(|atom| Some(atom) != late.as_ref()) {
                        return Err(self.refuse_repetition(place));
                    }
                    if !ways.contains(&(literals.clone(), rest)) {
                        ways.push((literals, rest));
                    }
                }
            }
            let none_behind = formulas.atom(MemberAtom::AtMost(0))?;
            for (literals, rest) in last {
                if formulas.holds(rest, &holds_at_end)? {
                    ways.push((literals, none_behind));
                }
            }
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

    /// The ways in which a member of a class comes out, where it is no witness of `late`.
    fn ways_of_other(
        &mut self,
        formulas: &mut Formulas<'_, MemberAtom>,
        formula: FormulaId,
        class: &Others,
        late: Option<&MemberAtom>,
    ) -> Result<Vec<Way>, CompileError> {
        let asked = |atom: &MemberAtom| value_of(atom).filter(|_| class.has(atom) && late != Some(atom));
        let after = |atom: &MemberAtom, holds: Option<bool>| match (atom, holds) {
            (MemberAtom::Every(..), Some(false)) => Next::Never,
            (MemberAtom::Some(..), Some(true)) => Next::Always,
            _ => counted(atom),
        };
        self.outcomes(formulas, formula, &asked, &after)
    }

    /// Whether the member that bears an atom out may have to be the last one: in the order of the policy it is put there, if
    /// it is the only such atom of the place, and if it can be told of a value whether it is a witness.
    fn may_be_late(&mut self, place: &Place, atom: &MemberAtom) -> Result<bool, CompileError> {
        let MemberAtom::Some(_, (node, _)) = atom else { return Ok(false) };
        Ok(self.options.order == PropertyOrder::Declared
            && self.can_evaluate(*node)?
            && *self.late.entry(place.nodes.clone()).or_insert_with(|| atom.clone()) == *atom)
    }

    /// Whether the evaluator decides a subschema as its texts do: it knows nothing of what was evaluated, nor how a number is
    /// written.
    fn can_evaluate(&mut self, node: NodeId) -> Result<bool, CompileError> {
        let mut open = vec![node];
        let mut seen: foldhash::HashSet<NodeId> = [TRUE, FALSE].into_iter().collect();
        while let Some(node) = open.pop() {
            if !seen.insert(node) {
                continue;
            }
            let parts = self.nodes.parts(node)?;
            self.budget.charge_steps(PHASE, 1 + parts.len() as u64)?;
            for part in parts.iter() {
                match part {
                    Part::UnevaluatedMembers(_) | Part::UnevaluatedItems(_) => return Ok(false),
                    Part::Types { types, plain_integers: true } if types.has(Types::INTEGER) => {
                        return Ok(false);
                    }
                    Part::AllOf(of) | Part::AnyOf(of) | Part::OneOf(of) => open.extend(of.iter()),
                    Part::Not(of) | Part::Names(of) => open.push(*of),
                    Part::If { condition, then, otherwise } => open.extend([condition, then, otherwise]),
                    Part::Members(of) => {
                        open.extend(of.properties.iter().map(|property| property.1));
                        open.extend(of.patterns.iter().map(|pattern| pattern.1));
                        open.push(of.additional);
                    }
                    Part::Dependent { schema, .. } => open.push(*schema),
                    Part::Items { prefix, rest, .. } => open.extend(prefix.iter().chain([rest])),
                    Part::Contains { item, .. } => open.push(*item),
                    _ => {}
                }
            }
        }
        Ok(true)
    }

    fn refuse_repetition(&self, place: &Place) -> CompileError {
        let reason = "what holds depends on whether other names are repeated, which no automaton can see";
        self.refuse_at(place, RefusalKind::Unsupported, reason)
    }

    /// The atoms that a way in which a member of a class comes out decides, and that no longer hold when a later member has the
    /// same name and takes its place.
    fn taken_away(
        &mut self,
        formulas: &Formulas<'_, MemberAtom>,
        class: &Others,
        formula: FormulaId,
        (literals, rest): (&[Literal], FormulaId),
    ) -> Result<Vec<MemberAtom>, CompileError> {
        // What all later members have to be.
        let conjuncts = formulas.conjuncts(rest)?;
        if conjuncts.contains(&&MemberAtom::AtMost(0)) {
            return Ok(Vec::new());
        }
        if let Some(count) =
            formulas.atoms(rest)?.into_iter().find(|atom| matches!(atom, MemberAtom::AtLeast(_)))
        {
            return Ok(vec![count]);
        }
        let later = conjuncts.iter().filter(|atom| class.has(atom)).filter_map(|atom| match atom {
            MemberAtom::Every(_, value) => Some(*value),
            _ => None,
        });
        let later: Vec<Literal> = later.collect();
        let mut taken = Vec::new();
        for atom in formulas.atoms(formula)? {
            let MemberAtom::Some(_, value) = atom else { continue };
            let is_witness = class.has(&atom) && self.implies(literals, value)? == Some(true);
            if is_witness && self.implies(&later, value)? != Some(true) {
                taken.push(atom);
            }
        }
        Ok(taken)
    }

    /// What the atoms of a formula speak of.
    fn scope(
        &mut self,
        formulas: &Formulas<'_, MemberAtom>,
        place: &Rc<Place>,
        formula: FormulaId,
    ) -> Result<Scope, CompileError> {
        let mut scope = Scope { of: HashMap::new(), others: Vec::new() };
        let mut sets: Vec<Names> = Vec::new();
        for atom in formulas.atoms(formula)? {
            let Some(names) = names_of(&atom) else { continue };
            if scope.of.contains_key(names) {
                continue;
            }
            let mut of = Vec::new();
            if let Names::One(name) = names {
                let number = place.numbers.get(&**name).map(|&number| u32::try_from(number));
                of.extend(number.and_then(Result::ok));
            } else {
                for (at, name) in (0..).zip(&place.names) {
                    if names.has(&mut self.nodes, name)? {
                        of.push(at);
                    }
                }
                sets.push(names.clone());
            }
            scope.of.insert(names.clone(), of);
        }
        if !self.has_no_others(formulas, formula)? {
            scope.others = self.other_names(place, sets)?;
        }
        Ok(scope)
    }

    /// Whether it is seen at once that a name which no subschema names is never allowed.
    fn has_no_others(
        &mut self,
        formulas: &Formulas<'_, MemberAtom>,
        formula: FormulaId,
    ) -> Result<bool, CompileError> {
        for atom in formulas.conjuncts(formula)? {
            let MemberAtom::Every(names, (FALSE, true)) = atom else { continue };
            let is_all = match names {
                Names::Additional(node) => members_of(&mut self.nodes, *node)?.patterns.is_empty(),
                Names::Others { with, without, .. } => with.is_empty() && without.is_empty(),
                _ => false,
            };
            if is_all {
                return Ok(true);
            }
        }
        Ok(false)
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
        let mut against: Vec<NodeId> = sets
            .iter()
            .filter_map(|set| match set {
                Names::Against(node) => Some(*node),
                _ => None,
            })
            .collect();
        against.sort_unstable();
        against.dedup();
        self.budget.charge_steps(PHASE, place.names.iter().map(|name| 4 + name.len() as u64 / 4).sum())?;
        let mut names = place.names.clone();
        names.sort_unstable();
        let classes = self.classes_of_names(names, patterns, against)?;
        let mut others = Vec::with_capacity(classes.len());
        for NameClass { key, patterns, against } in classes.iter() {
            if closed && patterns.is_empty() {
                continue;
            }
            let mut inside = foldhash::HashSet::default();
            for set in &sets {
                self.budget.charge_steps(PHASE, 4 + (patterns.len() + against.len()) as u64)?;
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
            others.push(Others { key: key.clone(), sets: inside, patterns: patterns.clone() });
        }
        Ok(others)
    }

    /// All names but those of a list, by the patterns that they have and the subschemas that they do not satisfy.
    fn classes_of_names(
        &mut self,
        names: Vec<String>,
        patterns: Vec<TextId>,
        against: Vec<NodeId>,
    ) -> Result<Rc<[NameClass]>, CompileError> {
        let key = (names, patterns, against);
        if let Some(known) = self.name_classes.get(&key) {
            return Ok(known.clone());
        }
        let (names, patterns, against) = &key;
        let rest = Language::choice(names, self.budget)?.complement(self.budget)?;
        let mut classes: Vec<(Language, Vec<TextId>, Vec<NodeId>)> = vec![(rest, Vec::new(), Vec::new())];
        let mut tests: Vec<(Rc<Language>, Option<TextId>, NodeId)> =
            patterns.iter().map(|&text| (self.nodes.text(text).clone(), Some(text), TRUE)).collect();
        for &node in against {
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
        let spelling = self.options.spelling;
        let classes: Rc<[NameClass]> = classes
            .into_iter()
            .map(|(language, patterns, against)| {
                let key = spelled(&language, spelling, self.budget)?.shared();
                Ok(NameClass { key, patterns, against })
            })
            .collect::<Result<_, CompileError>>()?;
        self.name_classes.insert(key, classes.clone());
        Ok(classes)
    }
}

/// Names of members, alike in the patterns that they have and the subschemas that they do not satisfy.
pub(crate) struct NameClass {
    key: Expr,
    patterns: Vec<TextId>,
    against: Vec<NodeId>,
}

/// What classes of names are told by: the names that are in none of them, patterns, and subschemas.
pub(crate) type NameClassKey = (Vec<String>, Vec<TextId>, Vec<NodeId>);

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
