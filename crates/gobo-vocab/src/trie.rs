use foldhash::HashMap;
use gobo_artifact::TrieNode;

use crate::build::{ByteSet, Sorted, count, insert};
use crate::table::VocabError;

/// Subtrees with fewer edges are walked faster than their byte set is compared.
const MIN_EDGES_FOR_SET: u32 = 8;

/// The tables of all tries of a vocabulary.
pub(crate) struct Tries {
    pub(crate) nodes: Vec<TrieNode>,
    pub(crate) set_ids: Vec<u16>,
    pub(crate) sets: Vec<ByteSet>,
    known_sets: HashMap<ByteSet, u16>,
}

/// A trie that was added.
pub(crate) struct Added {
    /// The number of its first node.
    pub(crate) root: usize,
    /// The bytes on its edges.
    pub(crate) bytes: ByteSet,
}

/// A node in the order in which sorted tokens come to it: preorder. Its place in the file is not known yet.
struct Draft {
    /// Number of the parent, in preorder.
    parent: u32,
    /// Position in the trie order of the first id at or below it.
    first: u32,
    byte: u8,
    /// How many children it has.
    children: u32,
    /// Where its next child lies in the file.
    next: u32,
    /// Where it lies itself.
    place: u32,
}

/// A node on the way to the token at hand, and the bytes that were seen below it.
struct Open {
    number: u32,
    below: ByteSet,
}

impl Tries {
    pub(crate) fn new() -> Self {
        let all_bytes = [u32::MAX; 8];
        Self { nodes: Vec::new(), set_ids: Vec::new(), sets: vec![all_bytes], known_sets: HashMap::default() }
    }

    /// Adds the trie of some tokens, whose ids lie from position `from` on in the trie order: the root block, then for
    /// each node with children, in preorder, the block of these. O(bytes).
    pub(crate) fn add(&mut self, sorted: &Sorted<'_>, from: usize) -> Result<Added, VocabError> {
        let root = self.nodes.len();
        let limit = TrieNode::MAX_NODES;
        // Each token adds a node for each byte that it does not share with the one before; and there is the root, which
        // is not stored.
        let new = |(bytes, shared): (&&[u8], &u16)| bytes.len() - usize::from(*shared);
        let length = sorted.bytes.iter().zip(&sorted.shared).map(new).sum::<usize>();
        if root + length > limit {
            return Err(VocabError::TrieTooLarge { limit });
        }
        let mut drafts = Vec::with_capacity(1 + length);
        drafts.push(Draft { parent: 0, first: 0, byte: 0, children: 0, next: 0, place: 0 });
        let mut open = Path { nodes: vec![Open { number: 0, below: ByteSet::default() }], large: Vec::new() };
        for ((at, bytes), &shared) in (count(from)..).zip(&sorted.bytes).zip(&sorted.shared) {
            let shared = usize::from(shared);
            open.close(shared, &drafts);
            let mut parent = open.nodes[shared].number;
            for &byte in &bytes[shared..] {
                drafts[parent as usize].children += 1;
                let number = count(drafts.len());
                drafts.push(Draft { parent, first: at, byte, children: 0, next: 0, place: 0 });
                open.nodes.push(Open { number, below: ByteSet::default() });
                parent = number;
            }
        }
        open.close(0, &drafts);
        self.lay_out(&mut drafts);
        self.add_sets(&open.large, &drafts);
        Ok(Added { root, bytes: open.nodes[0].below })
    }

    /// Puts every node where it belongs: the block of a node lies behind those of all nodes before it in preorder.
    fn lay_out(&mut self, drafts: &mut [Draft]) {
        let mut end = self.nodes.len();
        self.nodes.resize(end + drafts.len() - 1, TrieNode::new(0, false, None, 0));
        for number in 0..drafts.len() {
            let Draft { parent, first, byte, children, .. } = drafts[number];
            drafts[number].next = count(end);
            if number > 0 {
                let parent = &mut drafts[parent as usize];
                let place = parent.next;
                parent.next += 1;
                parent.children -= 1;
                let block = (children > 0).then_some(end);
                self.nodes[place as usize] = TrieNode::new(byte, parent.children == 0, block, first);
                drafts[number].place = place;
            }
            end += children as usize;
        }
    }

    /// Numbers the byte sets of the nodes that have one, in the order of the nodes.
    fn add_sets(&mut self, large: &[Open], drafts: &[Draft]) {
        self.set_ids.resize(self.nodes.len(), 0);
        let place = |node: &Open| drafts[node.number as usize].place as usize;
        let mut placed: Vec<(usize, ByteSet)> = large.iter().map(|node| (place(node), node.below)).collect();
        placed.sort_unstable_by_key(|(place, _)| *place);
        for (place, set) in placed {
            self.set_ids[place] = match self.known_sets.get(&set) {
                Some(&id) => id,
                // With no number left a node keeps set 0, which holds all bytes and so never allows a short cut.
                None => u16::try_from(self.sets.len()).map_or(0, |id| {
                    self.sets.push(set);
                    self.known_sets.insert(set, id);
                    id
                }),
            };
        }
    }
}

/// The way from the root to the token at hand.
struct Path {
    nodes: Vec<Open>,
    /// The nodes left behind that get a byte set.
    large: Vec<Open>,
}

impl Path {
    /// Leaves what lies deeper than `depth`: nothing more comes below.
    fn close(&mut self, depth: usize, drafts: &[Draft]) {
        while self.nodes.len() > depth + 1 {
            let Some(node) = self.nodes.pop() else { return };
            // In preorder, all that came behind a node is below it.
            let edges = count(drafts.len()) - node.number - 1;
            if let Some(parent) = self.nodes.last_mut() {
                parent.below.iter_mut().zip(node.below).for_each(|(mine, theirs)| *mine |= theirs);
                insert(&mut parent.below, drafts[node.number as usize].byte);
            }
            if edges > MIN_EDGES_FOR_SET {
                self.large.push(node);
            }
        }
    }
}
