//! Witnesses: properties whose value makes a `Some` atom hold, and the repetition of their names.
//!
//! If a name occurs twice in a text, readers take the last value (RFC 8259, section 4). Names that the schema names occur
//! once, because they are counted; the automaton cannot remember other names. So a witness with another name may lose its
//! value to a later property of the same name. That does no harm if every later property has to be a witness too. Otherwise
//! the witness has to be the last property, which an order policy may demand of one atom for each schema set.

use foldhash::{HashMap, HashMapExt, HashSet};
use gobo_types::CompileError;

use crate::formula::expansion::Literal;
use crate::formula::formulas::{FormulaId, Formulas};
use crate::formula::properties::PropertyAtom;
use crate::lower::context::Context;
use crate::lower::facts::Facts;
use crate::lower::object::scope::Others;
use crate::lower::schema_set::SchemaSet;
use crate::phase::LOWERING;
use crate::read::keywords::keywords_of;
use crate::read::node::{FALSE, Keyword, NodeId, TRUE, Types};
use crate::read::nodes::Nodes;

/// The atoms whose witness has to be the last property.
pub(crate) struct Witnesses {
    /// By the subschemas of the schema set of the object.
    pub(crate) last: HashMap<Vec<NodeId>, PropertyAtom>,
    /// The first subschema of each such object.
    pub(crate) objects: Vec<NodeId>,
}

impl Witnesses {
    pub(super) fn new() -> Self {
        Self { last: HashMap::new(), objects: Vec::new() }
    }

    /// Whether the witness of an atom may be put last: under the declared order, for the only such atom of the schema set,
    /// if the evaluator can tell which properties are witnesses.
    ///
    /// # Errors
    /// A refusal that names a keyword; [`CompileError::OverBudget`].
    pub(super) fn may_be_last(
        &mut self,
        context: &mut Context<'_>,
        set: &SchemaSet,
        atom: &PropertyAtom,
    ) -> Result<bool, CompileError> {
        let PropertyAtom::Some(_, (node, _)) = atom else { return Ok(false) };
        if !context.policy.is_ordered() || !can_evaluate(&mut context.facts.nodes, *node)? {
            return Ok(false);
        }
        let objects = &mut self.objects;
        let last = self.last.entry(set.nodes.clone()).or_insert_with(|| {
            objects.extend(set.nodes.first());
            atom.clone()
        });
        Ok(last == atom)
    }
}

/// Whether the evaluator decides a subschema as its texts do: it does not see what other keywords evaluated, nor how a number
/// is written.
fn can_evaluate(nodes: &mut Nodes<'_>, node: NodeId) -> Result<bool, CompileError> {
    let mut open = vec![node];
    let mut seen: HashSet<NodeId> = [TRUE, FALSE].into_iter().collect();
    while let Some(node) = open.pop() {
        if !seen.insert(node) {
            continue;
        }
        let keywords = keywords_of(nodes, node)?;
        nodes.budget().charge_steps(LOWERING, 1 + keywords.len() as u64)?;
        for keyword in keywords.iter() {
            match keyword {
                Keyword::UnevaluatedProperties(_) | Keyword::UnevaluatedItems(_) => return Ok(false),
                Keyword::Types { types, plain_integers: true } if types.has(Types::INTEGER) => {
                    return Ok(false);
                }
                Keyword::AllOf(of) | Keyword::AnyOf(of) | Keyword::OneOf(of) => open.extend(of.iter()),
                Keyword::Not(of) | Keyword::PropertyNames(of) => open.push(*of),
                Keyword::If { condition, then, otherwise } => open.extend([condition, then, otherwise]),
                Keyword::Properties(of) => {
                    open.extend(of.named.iter().map(|property| property.1));
                    open.extend(of.patterns.iter().map(|pattern| pattern.1));
                    open.push(of.additional);
                }
                Keyword::Dependent { schema, .. } => open.push(*schema),
                Keyword::Items { prefix, rest, .. } => open.extend(prefix.iter().chain([rest])),
                Keyword::Contains { item, .. } => open.push(*item),
                _ => {}
            }
        }
    }
    Ok(true)
}

/// The atoms of `formula` that an outcome of a property of a class decides, and that need not hold any more if a later
/// property has the same name.
///
/// # Errors
/// A refusal that names a keyword; [`CompileError::OverBudget`].
pub(super) fn revocable(
    facts: &mut Facts<'_>,
    formulas: &Formulas<'_, PropertyAtom>,
    class: &Others,
    formula: FormulaId,
    (literals, rest): (&[Literal], FormulaId),
) -> Result<Vec<PropertyAtom>, CompileError> {
    let conjuncts = formulas.conjuncts(rest)?;
    if conjuncts.contains(&&PropertyAtom::AtMost(0)) {
        return Ok(Vec::new());
    }
    let is_count = |atom: &PropertyAtom| matches!(atom, PropertyAtom::AtLeast(_));
    if let Some(count) = formulas.atoms(rest)?.into_iter().find(is_count) {
        return Ok(vec![count]);
    }
    // The literals that the values of all later properties of the class satisfy.
    let later = conjuncts.iter().filter(|atom| class.has(atom)).filter_map(|atom| match atom {
        PropertyAtom::Every(_, value) => Some(*value),
        _ => None,
    });
    let later: Vec<Literal> = later.collect();
    let mut revocable = Vec::new();
    for atom in formulas.atoms(formula)? {
        let PropertyAtom::Some(_, value) = atom else { continue };
        let is_witness = class.has(&atom) && facts.implies(literals, value)? == Some(true);
        if is_witness && facts.implies(&later, value)? != Some(true) {
            revocable.push(atom);
        }
    }
    Ok(revocable)
}
