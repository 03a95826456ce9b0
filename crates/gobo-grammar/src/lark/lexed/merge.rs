//! Variants and exits that nothing tells apart, merged.
//!
//! The coarsest partition of nodes, variants and exits, refined as bisimilarity is (Paige & Tarjan 1987, in rounds, as Moore's): two nodes
//! are equal if they end at equal exits and have equal edges to equal nodes; two variants, if their first nodes are equal; two exits of a
//! site, if each caller of one of its variants goes on from both at equal nodes, or from none. An exit is called by the least place of those
//! that are equal to it, so that exits of different sites can be compared.
//!
//! Invariant: what is equal at the end has the same texts, because each derivation from one is one from the other. Cost: edges, times
//! rounds.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use gobo_types::{Budget, CompileError, DenseId, Table, dense_id};

use super::lexer::{PlaceId, TextsId};
use super::sites::SiteId;
use super::variants::{Edge, NodeId, VariantId, Variants};

const PHASE: &str = "merging rules";

/// Steps of an edge in a round: it is renamed, sorted and hashed.
const STEPS_PER_EDGE: u64 = 8;

dense_id! {
    /// Nodes that are equal.
    pub(super) struct NodeClass;

    /// Variants that are equal.
    pub(super) struct VariantClass;
}

/// An edge up to what is equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ClassEdge {
    Letter { texts: TextsId, tail: TextsId, to: NodeClass },
    Call { variant: VariantClass, exit: PlaceId, to: NodeClass },
}

/// What is equal to what.
pub(super) struct Classes {
    pub(super) of_node: Table<NodeId, NodeClass>,
    pub(super) of_variant: Table<VariantId, VariantClass>,
    /// The least place of the exits of a site that are equal to one.
    of_exit: BTreeMap<(SiteId, PlaceId), PlaceId>,
    pub(super) nodes: usize,
    pub(super) variants: usize,
}

/// # Errors
/// [`CompileError::OverBudget`].
pub(super) fn classes(variants: &Variants, budget: &Budget) -> Result<Classes, CompileError> {
    let all = variants.all.iter().flat_map(|of| of.exits.iter().map(|&exit| (of.site, exit)));
    let all: BTreeSet<(SiteId, PlaceId)> = all.collect();
    let mut least: BTreeMap<SiteId, PlaceId> = BTreeMap::new();
    for &(site, exit) in all.iter().rev() {
        least.insert(site, exit);
    }
    let mut classes = Classes {
        of_node: Table::filled(NodeClass::new(0), variants.nodes.len()),
        of_variant: Table::filled(VariantClass::new(0), variants.all.len()),
        of_exit: all.iter().map(|&of| (of, least[&of.0])).collect(),
        nodes: 1,
        variants: 1,
    };
    let mut exits = 0;
    loop {
        let before = (classes.nodes, classes.variants, exits);
        exits = split_exits(variants, &mut classes, budget)?;
        let mut edges = 0;
        let signatures = variants.nodes.enumerate().map(|(id, _)| {
            let signature = signature(variants, &classes, id);
            edges += 1 + signature.2.len() as u64;
            signature
        });
        let (of_node, nodes) = numbered(signatures);
        budget.charge_steps(PHASE, edges * STEPS_PER_EDGE)?;
        let starts = variants.all.enumerate().map(|(id, variant)| {
            let mut starts: Vec<NodeClass> = variant.starts.iter().map(|&node| of_node[node]).collect();
            starts.sort_unstable();
            starts.dedup();
            (classes.of_variant[id], starts)
        });
        let (of_variant, count) = numbered(starts);
        (classes.of_node, classes.nodes, classes.of_variant, classes.variants) =
            (of_node, nodes, of_variant, count);
        if before == (classes.nodes, classes.variants, exits) {
            return Ok(classes);
        }
    }
}

/// The class, the exit and the edges of a node, as they are known so far.
type Signature = (NodeClass, Option<PlaceId>, BTreeSet<ClassEdge>);

fn signature(variants: &Variants, classes: &Classes, id: NodeId) -> Signature {
    let node = &variants.nodes[id];
    let exit = node.exit.and_then(|exit| classes.exit(node.site, exit));
    let edges = node.edges.iter().map(|edge| classes.edge(variants, edge)).collect();
    (classes.of_node[id], exit, edges)
}

impl Classes {
    /// What an exit of a site is called; `None` if no variant ends there.
    pub(super) fn exit(&self, site: SiteId, exit: PlaceId) -> Option<PlaceId> {
        self.of_exit.get(&(site, exit)).copied()
    }

    /// An edge up to what is equal.
    pub(super) fn edge(&self, variants: &Variants, edge: &Edge) -> ClassEdge {
        match *edge {
            Edge::Letter { texts, tail, to } => ClassEdge::Letter { texts, tail, to: self.of_node[to] },
            Edge::Call { variant, exit, to } => ClassEdge::Call {
                variant: self.of_variant[variant],
                exit: self.of_exit[&(variants.all[variant].site, exit)],
                to: self.of_node[to],
            },
        }
    }
}

/// Splits exits that some caller tells apart; how many there are.
fn split_exits(variants: &Variants, classes: &mut Classes, budget: &Budget) -> Result<usize, CompileError> {
    // For each exit the callers that go on after it, with the classes of the nodes where they do.
    let mut after: BTreeMap<(SiteId, PlaceId), Vec<(NodeId, NodeClass)>> =
        classes.of_exit.keys().map(|&of| (of, Vec::new())).collect();
    for (id, node) in variants.nodes.enumerate() {
        budget.charge_steps(PHASE, 1 + node.edges.len() as u64)?;
        for edge in &node.edges {
            if let Edge::Call { variant, exit, to } = *edge {
                let site = variants.all[variant].site;
                after.entry((site, exit)).or_default().push((id, classes.of_node[to]));
            }
        }
    }
    // The whole text may end at some exits of the start rule.
    let whole: Vec<SiteId> = variants.starts.iter().map(|start| variants.all[start.1].site).collect();
    let mut least: HashMap<_, PlaceId> = HashMap::new();
    let key = |&(site, exit): &(SiteId, PlaceId)| {
        let endings = if whole.contains(&site) { variants.endings(exit) } else { &[] };
        (site, classes.of_exit[&(site, exit)], &after[&(site, exit)], endings)
    };
    for of in after.keys() {
        let least = least.entry(key(of)).or_insert(of.1);
        *least = of.1.min(*least);
    }
    let of_exit = after.keys().map(|of| (*of, least[&key(of)])).collect();
    let count = least.len();
    classes.of_exit = of_exit;
    Ok(count)
}

/// Numbers for keys, equal ones for equal keys, in the order of first sight.
fn numbered<I: DenseId, C: DenseId, K: Hash + Eq>(keys: impl Iterator<Item = K>) -> (Table<I, C>, usize) {
    let mut known: HashMap<K, C> = HashMap::new();
    let mut numbers = Table::new();
    for key in keys {
        let next = C::new(known.len());
        numbers.push(*known.entry(key).or_insert(next));
    }
    (numbers, known.len())
}

impl ClassEdge {
    /// The node that it leads to.
    pub(super) fn to(self) -> NodeClass {
        match self {
            Self::Letter { to, .. } | Self::Call { to, .. } => to,
        }
    }
}
