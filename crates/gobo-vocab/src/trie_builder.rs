//! Builds the tries of a vocabulary: one of all ordinary tokens, then one for each slice.
//!
//! The tokens of a trie come sorted, with their common prefixes, so the nodes come in preorder: each token keeps the path that
//! it shares with the one before, and adds a node for each further byte. A first pass counts the children of each node; then
//! the block of a node's children follows those of all nodes before it in preorder, and the second pass writes each node to
//! its final position. Invariant: the children of a node are one block, ascending by byte, and the last one is marked. Nodes
//! with many edges below them get the set of the bytes on these edges.
//!
//! Cost: O(bytes). Source: Fredkin, *Trie Memory*, 1960; the flat layout by blocks follows `docs/FORMAT.md`.

use foldhash::HashMap;
use gobo_artifact::layout::TrieNode;
use gobo_types::{ByteSet, beside};

use crate::table::VocabError;
use crate::trie_order::{Sorted, count};

/// Subtrees with fewer edges are walked faster than their byte set is compared.
const MIN_EDGES_FOR_SET: usize = 8;

/// The tables of all tries of a vocabulary.
pub(crate) struct Tries {
    pub(crate) nodes: Vec<TrieNode>,
    pub(crate) set_ids: Vec<u16>,
    pub(crate) sets: Vec<ByteSet>,
    /// The trie of all ordinary tokens.
    pub(crate) all: Added,
    /// Those of the slices.
    pub(crate) slices: Vec<Added>,
}

/// A trie that was added.
pub(crate) struct Added {
    /// The number of its first node.
    pub(crate) root: usize,
    /// The bytes on its edges.
    pub(crate) bytes: ByteSet,
}

/// A node on the path to the current token.
struct OpenNode {
    /// Its number in preorder.
    number: usize,
    /// Its position in the file.
    position: usize,
    /// The position of its next child.
    next: usize,
    /// Number of children still to come.
    left: u16,
    /// The byte on the edge to it.
    byte: u8,
    /// The bytes on the edges below it so far.
    below: ByteSet,
}

impl Tries {
    /// The trie of all ordinary tokens, and after it those of the slices, which have the same tokens. O(bytes).
    ///
    /// # Errors
    /// [`VocabError::TrieTooLarge`] if they have too many nodes together.
    pub(crate) fn new(all: Sorted<'_>, slices: &[Sorted<'_>]) -> Result<Self, VocabError> {
        let limit = TrieNode::MAX_NODES;
        let of_all = all.count_nodes();
        let length = of_all + slices.iter().map(Sorted::count_nodes).sum::<usize>();
        if length > limit {
            return Err(VocabError::TrieTooLarge { limit });
        }
        let mut nodes = vec![TrieNode::new(0, false, None, 0); length];
        let (first, second) = nodes.split_at_mut(of_all);
        let (mut first, mut second) = (Growing::new(first, 0), Growing::new(second, of_all));
        // Each token is in both, so they are about as much work.
        let tokens = all.bytes.len();
        let add_slices = || slices.iter().map(|slice| second.add(*slice)).collect();
        let (all, slices) = beside(tokens, || first.add(all), add_slices);
        let (set_ids, sets) = number_sets(length, first.large.into_iter().chain(second.large));
        Ok(Self { nodes, set_ids, sets, all, slices })
    }
}

/// Consecutive tries under construction.
struct Growing<'n> {
    /// Room for the nodes of all of them.
    nodes: &'n mut [TrieNode],
    /// The number of the first of these nodes.
    base: usize,
    /// The number of the next trie's first node.
    end: usize,
    /// For each node of the current trie, in preorder, the number of its children. Kept for its allocation.
    children: Vec<u16>,
    /// The nodes that get a byte set, ascending by position.
    large: Vec<(usize, ByteSet)>,
}

impl<'n> Growing<'n> {
    fn new(nodes: &'n mut [TrieNode], base: usize) -> Self {
        Self { nodes, base, end: base, children: Vec::new(), large: Vec::new() }
    }

    /// Adds the trie of some tokens: the root block, then for each node with children, in preorder, the block of these.
    /// O(bytes).
    fn add(&mut self, sorted: Sorted<'_>) -> Added {
        let root = self.end;
        self.end += sorted.count_nodes();
        let length = self.end - root;
        self.count_children(sorted, length);
        let left = self.children[0];
        let mut path = Path {
            nodes: vec![OpenNode {
                number: 0,
                position: 0,
                next: root,
                left,
                byte: 0,
                below: ByteSet::default(),
            }],
            large: Vec::new(),
        };
        // The block of a node follows those of all nodes before it in preorder, the order in which sorted tokens reach them.
        let mut end = root + usize::from(left);
        let mut number = 0;
        for ((at, bytes), &shared) in (count(sorted.from)..).zip(sorted.bytes).zip(sorted.shared) {
            let shared = usize::from(shared);
            path.close(shared, number);
            for &byte in &bytes[shared..] {
                number += 1;
                let left = self.children[number];
                let child = path.next_child();
                self.nodes[child.position - self.base] =
                    TrieNode::new(byte, child.is_last, (left > 0).then_some(end), at);
                path.nodes.push(OpenNode {
                    number,
                    position: child.position,
                    next: end,
                    left,
                    byte,
                    below: ByteSet::default(),
                });
                end += usize::from(left);
            }
        }
        path.close(0, number);
        let before = self.large.len();
        self.large.append(&mut path.large);
        self.large[before..].sort_unstable_by_key(|(position, _)| *position);
        Added { root, bytes: path.nodes[0].below }
    }

    /// Counts the children of every node of a trie of `length` nodes and a root: the positions of blocks depend on them.
    fn count_children(&mut self, sorted: Sorted<'_>, length: usize) {
        // A node that a token adds leads to the next one that it adds; the exceptions are corrected.
        let children = &mut self.children;
        children.clear();
        children.resize(1 + length, 1);
        children[0] = 0;
        // The numbers of the nodes on the path to the current token, each less its depth: equal for the nodes of one token.
        let mut path = vec![0];
        let mut last = 0;
        for (bytes, &shared) in sorted.bytes.iter().zip(sorted.shared) {
            let shared = usize::from(shared);
            let added = bytes.len() - shared;
            if added > 0 {
                children[path[shared] + shared] += 1;
                path.truncate(1 + shared);
                path.resize(1 + bytes.len(), last - shared);
                last += added;
                children[last] = 0;
            }
        }
    }
}

/// Numbers the byte sets of the nodes that have one, in the order of the nodes: the number of each of `length` nodes, and
/// the sets.
fn number_sets(length: usize, large: impl Iterator<Item = (usize, ByteSet)>) -> (Vec<u16>, Vec<ByteSet>) {
    let all_bytes = ByteSet::from_words([u32::MAX; 8]);
    let (mut set_ids, mut sets) = (vec![0; length], vec![all_bytes]);
    let mut known_sets: HashMap<ByteSet, u16> = HashMap::default();
    for (position, set) in large {
        set_ids[position] = match known_sets.get(&set) {
            Some(&id) => id,
            // With no number left a node keeps set 0, which holds all bytes and so never allows a shortcut.
            None => u16::try_from(sets.len()).map_or(0, |id| {
                sets.push(set);
                known_sets.insert(set, id);
                id
            }),
        };
    }
    (set_ids, sets)
}

/// The path from the root to the current token.
struct Path {
    nodes: Vec<OpenNode>,
    /// The closed nodes that get a byte set, with their positions.
    large: Vec<(usize, ByteSet)>,
}

/// The position of a child, and whether it is the last of its block.
struct Child {
    position: usize,
    is_last: bool,
}

impl Path {
    /// The next child of the deepest node.
    fn next_child(&mut self) -> Child {
        let parent = self.nodes.last_mut().expect("the root is never left");
        let position = parent.next;
        parent.next += 1;
        parent.left -= 1;
        Child { position, is_last: parent.left == 0 }
    }

    /// Closes all nodes deeper than `depth`: no token below them follows. `last` is the number of the last node so far.
    fn close(&mut self, depth: usize, last: usize) {
        let mut below = ByteSet::default();
        while self.nodes.len() > depth + 1 {
            let Some(node) = self.nodes.pop() else { return };
            below.insert_all(&node.below);
            // In preorder, all nodes since this one are below it.
            if last - node.number > MIN_EDGES_FOR_SET {
                self.large.push((node.position, below));
            }
            below.insert_all(&ByteSet::single(node.byte));
        }
        if let Some(node) = self.nodes.last_mut() {
            node.below.insert_all(&below);
        }
    }
}
