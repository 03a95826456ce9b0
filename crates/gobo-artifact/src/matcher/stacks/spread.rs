//! Walks over the graph: the stacks one by one, how many there are, and the nodes of some.

use std::collections::HashMap;

use super::{BOTTOM, Stacks};

impl Stacks {
    /// The distinct stacks of a node, at most `most`: the numbers of their return states, innermost first. Of stacks that begin alike
    /// the one that ends first comes first. Sets of nodes under the same beginning are followed as one, as in the subset
    /// construction, so that a stack that is there in several ways comes once. O(`most` × frames at most in one stack × nodes).
    pub(crate) fn list(&self, node: u32, most: usize) -> Vec<Vec<u32>> {
        let (mut found, mut stack) = (Vec::new(), Vec::new());
        let mut met = Met { last: vec![0; self.places()], round: 0 };
        // Nodes below the same return states, and how many these are, the last one given.
        let mut ahead = vec![(vec![node], 0, None)];
        while let Some((nodes, above, top)) = ahead.pop() {
            stack.truncate(above);
            stack.extend(top);
            let (ends, groups) = self.by_top(nodes, &mut met);
            if ends {
                if found.len() == most {
                    break;
                }
                found.push(stack.clone());
            }
            let below = groups.into_iter().rev().map(|(top, nodes)| (nodes, stack.len(), Some(top)));
            ahead.extend(below);
        }
        found
    }

    /// The frames of some nodes by their return states: whether the bottom is among them, and the nodes below.
    fn by_top(&self, mut ahead: Vec<u32>, met: &mut Met) -> (bool, Vec<(u32, Vec<u32>)>) {
        let mut ends = false;
        let mut groups: Vec<(u32, Vec<u32>)> = Vec::new();
        met.round += 1;
        ahead.reverse();
        while let Some(node) = ahead.pop() {
            if node == BOTTOM {
                ends = true;
                continue;
            }
            if std::mem::replace(&mut met.last[node as usize], met.round) == met.round {
                continue;
            }
            if let Some((first, others)) = self.parts(node) {
                ahead.extend([others, first]);
            } else {
                let (top, below) = (self.top(node), self.below(node));
                match groups.iter_mut().find(|group| group.0 == top) {
                    Some((_, nodes)) => nodes.push(below),
                    None => groups.push((top, vec![below])),
                }
            }
        }
        (ends, groups)
    }

    /// Number of stacks of a node, each once for every way through the graph that leads along it, at most `u64::MAX`. O(nodes).
    pub(crate) fn count(&self, node: u32) -> u64 {
        let mut counts: HashMap<u32, u64> = HashMap::from([(BOTTOM, 1)]);
        let mut ahead = vec![node];
        while let Some(&at) = ahead.last() {
            let (first, others) = self.parts(at).unwrap_or((self.below(at), NONE_MORE));
            let of = |part: u32| if part == NONE_MORE { Some(0) } else { counts.get(&part).copied() };
            match (of(first), of(others)) {
                (Some(one), Some(more)) => {
                    counts.entry(at).or_insert_with(|| one.saturating_add(more));
                    ahead.pop();
                }
                (None, _) => ahead.push(first),
                (_, None) => ahead.push(others),
            }
        }
        counts.get(&node).copied().unwrap_or(0)
    }

    /// Number of frames and of links of these stacks. O(nodes kept).
    pub(crate) fn nodes_of(&self, roots: impl Iterator<Item = u32>) -> (usize, usize) {
        let mut is_met = vec![false; self.places()];
        let mut ahead: Vec<u32> = roots.collect();
        let (mut frames, mut links) = (0, 0);
        while let Some(node) = ahead.pop() {
            if node == BOTTOM || std::mem::replace(&mut is_met[node as usize], true) {
                continue;
            }
            if let Some((first, others)) = self.parts(node) {
                links += 1;
                ahead.extend([others, first]);
            } else {
                frames += 1;
                ahead.push(self.below(node));
            }
        }
        (frames, links)
    }
}

/// Which nodes were met in a walk: one of many walks, for each of which to clear a set would take longer than the walk.
struct Met {
    /// `[places]`: the last walk that met the node, from 1.
    last: Vec<u32>,
    round: u32,
}

/// In the place of the other members of a set of one.
const NONE_MORE: u32 = u32::MAX;
