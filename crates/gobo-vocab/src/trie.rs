use foldhash::HashMap;
use gobo_artifact::layout::TrieNode;
use gobo_types::beside;

use crate::build::{ByteSet, Sorted, count};
use crate::table::VocabError;

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

/// A node on the way to the token at hand.
struct Open {
    /// Its number in preorder.
    number: usize,
    /// Where it lies in the file.
    place: usize,
    /// Where its next child lies.
    next: usize,
    /// How many of its children are still to come.
    left: u16,
    /// The byte on the edge that leads to it.
    byte: u8,
    /// The bytes that were seen below it.
    below: ByteSet,
}

impl Tries {
    /// The trie of all ordinary tokens, and behind it those of the slices, which are of the same tokens. O(bytes).
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

/// Some tries, one behind the other, as they are built.
struct Growing<'n> {
    /// Room for the nodes of all of them.
    nodes: &'n mut [TrieNode],
    /// What number the first node there has.
    base: usize,
    /// What number the next trie begins with.
    end: usize,
    /// Of the trie at hand, in preorder: how many children each node has. Kept for its memory.
    children: Vec<u16>,
    /// The nodes that get a byte set, by their places, ascending.
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
            nodes: vec![Open { number: 0, place: 0, next: root, left, byte: 0, below: ByteSet::default() }],
            large: Vec::new(),
        };
        // The block of a node lies behind those of all nodes before it in preorder, in which sorted tokens come to them.
        let mut end = root + usize::from(left);
        let mut number = 0;
        for ((at, bytes), &shared) in (count(sorted.from)..).zip(sorted.bytes).zip(sorted.shared) {
            let shared = usize::from(shared);
            path.close(shared, number);
            for &byte in &bytes[shared..] {
                number += 1;
                let left = self.children[number];
                let place = path.child();
                self.nodes[place.at - self.base] =
                    TrieNode::new(byte, place.is_last, (left > 0).then_some(end), at);
                path.nodes.push(Open {
                    number,
                    place: place.at,
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
        self.large[before..].sort_unstable_by_key(|(place, _)| *place);
        Added { root, bytes: path.nodes[0].below }
    }

    /// Counts the children of every node of a trie of `length` nodes and a root: only then is known where blocks lie.
    fn count_children(&mut self, sorted: Sorted<'_>, length: usize) {
        // A node that a token adds leads to the next that it adds; the exceptions are put right.
        let children = &mut self.children;
        children.clear();
        children.resize(1 + length, 1);
        children[0] = 0;
        // The numbers of the nodes on the way to the token at hand, each less its depth: those that a token adds are alike.
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
    let all_bytes = [u32::MAX; 8];
    let (mut set_ids, mut sets) = (vec![0; length], vec![all_bytes]);
    let mut known_sets: HashMap<ByteSet, u16> = HashMap::default();
    for (place, set) in large {
        set_ids[place] = match known_sets.get(&set) {
            Some(&id) => id,
            // With no number left a node keeps set 0, which holds all bytes and so never allows a short cut.
            None => u16::try_from(sets.len()).map_or(0, |id| {
                sets.push(set);
                known_sets.insert(set, id);
                id
            }),
        };
    }
    (set_ids, sets)
}

/// The way from the root to the token at hand.
struct Path {
    nodes: Vec<Open>,
    /// The nodes left behind that get a byte set, by their places.
    large: Vec<(usize, ByteSet)>,
}

/// Where a child lies.
struct Place {
    at: usize,
    is_last: bool,
}

impl Path {
    /// The next child of the deepest node.
    fn child(&mut self) -> Place {
        let parent = self.nodes.last_mut().expect("the root is never left");
        let at = parent.next;
        parent.next += 1;
        parent.left -= 1;
        Place { at, is_last: parent.left == 0 }
    }

    /// Leaves what lies deeper than `depth`: nothing more comes below. `last` is the number of the last node so far.
    fn close(&mut self, depth: usize, last: usize) {
        let mut below = ByteSet::default();
        while self.nodes.len() > depth + 1 {
            let Some(node) = self.nodes.pop() else { return };
            unite(&mut below, &node.below);
            // In preorder, all that came behind a node is below it.
            if last - node.number > MIN_EDGES_FOR_SET {
                self.large.push((node.place, below));
            }
            unite(&mut below, &only(node.byte));
        }
        if let Some(node) = self.nodes.last_mut() {
            unite(&mut node.below, &below);
        }
    }
}

fn unite(set: &mut ByteSet, other: &ByteSet) {
    set.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
}

/// The set of one byte: all its words are made at once, as a set that has just been written to is slow to read whole.
fn only(byte: u8) -> ByteSet {
    std::array::from_fn(|word| if word == usize::from(byte >> 5) { 1 << (byte & 31) } else { 0 })
}
