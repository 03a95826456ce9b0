//! A tree of draft tokens as two arrays of links, and its nodes in the order of a walk.
//!
//! First child and next sibling make a binary tree of any tree (Knuth, *The Art of Computer Programming*, volume 1, section 2.3.2);
//! its preorder, in which each node comes before all that lies below it, is found with a list of waiting nodes and not by
//! recursion. A node is put on the list at most once, so that the walk ends for any arrays, cycles included: O(nodes) time and
//! memory.

use gobo_types::TokenId;

use crate::matcher::error::DraftError;

/// In the place of a link: there is none.
const NONE: i64 = -1;

/// A tree of draft tokens, as speculative decoders lay it out: nodes are numbered, and each links to its first child and to its next
/// sibling, -1 for none. Node 0 is the root: its token is the last one that was taken, and is not looked at.
///
/// ```
/// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
/// use gobo_artifact::{DraftError, DraftTree, Fill};
///
/// # let matcher = small::matcher();
/// // Ids 0 `a`, 1 `b`, 2 `ab`; texts of (ab)*. Below the root: `a` with `b` below it, and beside it `ab`.
/// let tree = DraftTree { tokens: &[-1, 0, 1, 2], first_child: &[1, 2, -1, -1], next_sibling: &[-1, 3, -1, -1] };
/// let mut matrix = [0; 4];
/// assert_eq!(matcher.fill_tree(tree, &mut matrix, 1, |_, _| ())?, 4);
/// assert_eq!(matrix, [0b1101, 0b0010, 0b1101, 0b1101]);
/// let cycle = DraftTree { tokens: &[-1, 0], first_child: &[1, 0], next_sibling: &[-1, -1] };
/// assert_eq!(matcher.fill_tree(cycle, &mut matrix, 1, |_, _| ()), Err(DraftError::Twice { node: 0 }));
/// # Ok::<(), DraftError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DraftTree<'a> {
    /// The token of each node: `[nodes]`.
    pub tokens: &'a [i64],
    /// The first child of each node: `[nodes]`.
    pub first_child: &'a [i64],
    /// The next sibling of each node: `[nodes]`.
    pub next_sibling: &'a [i64],
}

/// A node as the walk comes to it.
pub(super) struct Visit {
    /// Its number.
    pub(super) node: usize,
    /// Tokens on the path to it, its own included: 0 for the root.
    pub(super) depth: usize,
    /// Its token; 0 for the root.
    pub(super) token: TokenId,
}

impl DraftTree<'_> {
    /// The nodes that the root leads to, each before those below it, and siblings in their order.
    ///
    /// # Errors
    /// The variants of [`DraftError`] that concern the arrays. Nodes to which no link leads are not looked at.
    pub(super) fn preorder(&self) -> Result<Vec<Visit>, DraftError> {
        let &DraftTree { tokens, first_child, next_sibling } = self;
        let nodes = tokens.len();
        if nodes == 0 || first_child.len() != nodes || next_sibling.len() != nodes {
            let (first_children, next_siblings) = (first_child.len(), next_sibling.len());
            return Err(DraftError::Lengths { tokens: nodes, first_children, next_siblings });
        }
        if next_sibling[0] != NONE {
            return Err(DraftError::RootSibling { sibling: next_sibling[0] });
        }
        let mut order = Vec::with_capacity(nodes);
        let mut is_reached = vec![false; nodes];
        let mut waiting = vec![(0, 0)];
        is_reached[0] = true;
        while let Some((node, depth)) = waiting.pop() {
            let token = match (node, tokens[node]) {
                (0, _) => 0,
                (_, token) => TokenId::try_from(token).map_err(|_| DraftError::Token { node, token })?,
            };
            order.push(Visit { node, depth, token });
            // The sibling waits below the child, and so until all below this node have come.
            for (link, depth) in [(next_sibling[node], depth), (first_child[node], depth + 1)] {
                if link == NONE {
                    continue;
                }
                let to = usize::try_from(link).ok().filter(|to| *to < nodes);
                let to = to.ok_or(DraftError::Link { node, link, nodes })?;
                if std::mem::replace(&mut is_reached[to], true) {
                    return Err(DraftError::Twice { node: to });
                }
                waiting.push((to, depth));
            }
        }
        Ok(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preorder(first_child: &[i64], next_sibling: &[i64]) -> Result<Vec<(usize, usize)>, DraftError> {
        let tokens = vec![7; first_child.len()];
        let order = DraftTree { tokens: &tokens, first_child, next_sibling }.preorder()?;
        Ok(order.into_iter().map(|visit| (visit.node, visit.depth)).collect())
    }

    #[test]
    fn nodes_come_before_those_below_them() {
        assert_eq!(preorder(&[-1], &[-1]).unwrap(), [(0, 0)]);
        // 0 above 3, 1 and 4; 3 above 2; 4 above 5.
        let found = preorder(&[3, -1, -1, 2, 5, -1], &[-1, 4, -1, 1, -1, -1]).unwrap();
        assert_eq!(found, [(0, 0), (3, 1), (2, 2), (1, 1), (4, 1), (5, 2)]);
        // No link leads to node 1, whatever it links to.
        assert_eq!(preorder(&[2, 99, -1], &[-1, 0, -1]).unwrap(), [(0, 0), (2, 1)]);
    }

    #[test]
    fn arrays_that_are_no_tree_are_refused() {
        let lengths = |tokens, first_children, next_siblings| {
            Err(DraftError::Lengths { tokens, first_children, next_siblings })
        };
        assert_eq!(preorder(&[], &[]), lengths(0, 0, 0));
        assert_eq!(preorder(&[1, -1], &[-1]), lengths(2, 2, 1));
        for link in [2, -2, i64::MAX, i64::MIN] {
            assert_eq!(preorder(&[1, link], &[-1, -1]), Err(DraftError::Link { node: 1, link, nodes: 2 }));
            assert_eq!(preorder(&[1, -1], &[-1, link]), Err(DraftError::Link { node: 1, link, nodes: 2 }));
        }
        assert_eq!(preorder(&[-1, -1], &[1, -1]), Err(DraftError::RootSibling { sibling: 1 }));
        // A child of two parents, a child that is its own sibling, and two ways back.
        assert_eq!(preorder(&[1, 3, 3, -1], &[-1, 2, -1, -1]), Err(DraftError::Twice { node: 3 }));
        assert_eq!(preorder(&[1, -1], &[-1, 1]), Err(DraftError::Twice { node: 1 }));
        assert_eq!(preorder(&[1, 0], &[-1, -1]), Err(DraftError::Twice { node: 0 }));
        assert_eq!(preorder(&[1, 2, 1], &[-1, -1, -1]), Err(DraftError::Twice { node: 1 }));
    }

    #[test]
    fn tokens_are_ids_except_that_of_the_root() {
        let tree = |tokens: &[i64]| {
            let tree = DraftTree { tokens, first_child: &[1, -1], next_sibling: &[-1, -1] };
            tree.preorder().map(|order| order[1].token)
        };
        assert_eq!(tree(&[-1, 5]), Ok(5));
        assert_eq!(tree(&[-1, i64::from(u32::MAX)]), Ok(u32::MAX));
        for token in [-1, i64::MIN, 1 << 32] {
            assert_eq!(tree(&[5, token]), Err(DraftError::Token { node: 1, token }));
        }
    }

    #[test]
    fn a_path_of_a_million_nodes_needs_no_recursion() {
        let nodes = 1_000_000;
        let links: Vec<i64> = (1..nodes).chain([-1]).collect();
        let none = vec![-1; links.len()];
        assert_eq!(preorder(&links, &none).unwrap().last(), Some(&(999_999, 999_999)));
        let found = preorder(&[&[1], &none[1..]].concat(), &[&[-1], &links[1..]].concat()).unwrap();
        assert_eq!(found.last(), Some(&(999_999, 1)));
    }
}
