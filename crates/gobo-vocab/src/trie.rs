use std::ops::Range;

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

/// A node whose children are still to be laid out.
struct Parent {
    /// `None` for the root, which is not stored.
    number: Option<usize>,
    /// Positions in the sorted tokens of those that go on behind the node.
    below: Range<usize>,
    depth: usize,
}

impl Tries {
    pub(crate) fn new() -> Self {
        let all_bytes = [u32::MAX; 8];
        Self { nodes: Vec::new(), set_ids: Vec::new(), sets: vec![all_bytes], known_sets: HashMap::default() }
    }

    /// Adds the trie of some tokens, whose ids lie from position `from` on in the trie order: the root block, then for
    /// each node with children, in preorder, the block of these. Returns the number of its first node. O(bytes).
    pub(crate) fn add(&mut self, sorted: &Sorted<'_>, from: usize) -> Result<usize, VocabError> {
        let Sorted { bytes, shared, .. } = sorted;
        let root = self.nodes.len();
        // `[nodes of this trie]`: number of the parent.
        let mut parents: Vec<Option<u32>> = Vec::new();
        let mut pending = vec![Parent { number: None, below: 0..bytes.len(), depth: 0 }];
        while let Some(Parent { number: parent, below, depth }) = pending.pop() {
            if let Some(parent) = parent {
                let block = Some(self.nodes.len());
                let node = &mut self.nodes[parent];
                *node = TrieNode::new(node.byte(), node.is_last(), block, node.first);
            }
            let begun = pending.len();
            let mut at = below.start;
            while at < below.end {
                if self.nodes.len() == TrieNode::MAX_NODES {
                    return Err(VocabError::TrieTooLarge { limit: TrieNode::MAX_NODES });
                }
                let byte = bytes[at][depth];
                // Those that go on with this byte share it with the one before.
                let behind = &shared[at + 1..below.end];
                let end = at + 1 + behind.iter().take_while(|&&shared| usize::from(shared) > depth).count();
                // Tokens that end here sort before those that go on.
                let own = bytes[at..end].iter().take_while(|token| token.len() == depth + 1);
                let own_end = at + own.count();
                let number = self.nodes.len();
                if own_end < end {
                    pending.push(Parent { number: Some(number), below: own_end..end, depth: depth + 1 });
                }
                self.nodes.push(TrieNode::new(byte, end == below.end, None, count(from + at)));
                parents.push(parent.map(count));
                at = end;
            }
            // The first child's block comes next.
            pending[begun..].reverse();
        }
        self.add_sets(root, &parents);
        Ok(root)
    }

    /// Numbers the byte sets below the nodes of the trie that begins at `root`. Children come behind their parents, so
    /// one pass from the end has gathered what is below a node when it gets there.
    fn add_sets(&mut self, root: usize, parents: &[Option<u32>]) {
        let mut below = vec![(ByteSet::default(), 0_u32); parents.len()];
        for (at, parent) in parents.iter().enumerate().rev() {
            let Some(parent) = *parent else { continue };
            let (set, edges) = below[at];
            let (parent_set, parent_edges) = &mut below[parent as usize - root];
            parent_set.iter_mut().zip(set).for_each(|(mine, theirs)| *mine |= theirs);
            insert(parent_set, self.nodes[root + at].byte());
            *parent_edges += edges + 1;
        }
        for (set, edges) in below {
            let id = match self.known_sets.get(&set) {
                _ if edges <= MIN_EDGES_FOR_SET => 0,
                Some(&id) => id,
                // With no number left a node keeps set 0, which holds all bytes and so never allows a short cut.
                None => u16::try_from(self.sets.len()).map_or(0, |id| {
                    self.sets.push(set);
                    self.known_sets.insert(set, id);
                    id
                }),
            };
            self.set_ids.push(id);
        }
    }
}
