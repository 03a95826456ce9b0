//! The masks along a chain and over a tree of draft tokens, for the verification of drafts in one pass of a model (Leviathan et
//! al., *Fast Inference from Transformers via Speculative Decoding*, 2023; for trees, Miao et al., *`SpecInfer`*, 2024).
//!
//! One probe goes along the chain, or through the tree in preorder, and back up by its own memory: each draft is taken once. The
//! matcher stays as it is, what it can take back included. Most of the cost is that of writing the rows.

mod tree;

use gobo_types::TokenId;

pub use self::tree::DraftTree;
use crate::matcher::error::{DraftError, MatcherError};
use crate::matcher::matrix::{row_of, write_row};
use crate::matcher::{Fill, Matcher};

/// How far a chain of drafts goes: what [`Matcher::fill_chain`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// How many of the drafts can be taken one after the other.
    pub taken: usize,
    /// How many rows hold a mask, from the first on: one more than drafts were taken, unless the text has ended after them, or
    /// the last mask failed.
    pub rows: usize,
    /// Whether the text has ended after the drafts that were taken: an EOS was among them, or the binding has none and nothing can
    /// follow. No mask is written for such a text.
    pub ended: bool,
    /// Why the next draft cannot be taken, or why the mask after the drafts that were taken failed. `None` after the last draft, and
    /// where the text has ended.
    pub stopped: Option<MatcherError>,
}

impl Matcher {
    /// Writes the masks along a chain of drafts: row 0 is the mask here, row `i` the mask after the first `i` drafts, in a matrix
    /// whose rows begin every `row_stride_words` words. Words of a row after its mask are zero. It stops before a draft
    /// that cannot be taken, after an EOS, and at a mask that fails, whose row is zero; the rows after that are left as they were. The
    /// matcher does not move, and can take back as many tokens as before.
    ///
    /// The cost is that of as many steps and masks; with calls also of a copy of the frames.
    ///
    /// # Errors
    /// [`DraftError::Row`] and [`DraftError::Matrix`] for a matrix without room for a mask more than there are drafts: nothing is
    /// written then.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::{Chain, MatcherError};
    ///
    /// # let matcher = small::matcher();
    /// // Ids 0 `a`, 1 `b`, 2 `ab`, 3 the EOS; texts of (ab)*.
    /// let mut matrix = [7; 4];
    /// let refused = Some(MatcherError::Refused { id: 2 });
    /// let chain = Chain { taken: 1, rows: 2, ended: false, stopped: refused };
    /// assert_eq!(matcher.fill_chain(&[0, 2, 1], &mut matrix, 1)?, chain);
    /// assert_eq!(matrix, [0b1101, 0b0010, 7, 7]);
    /// assert!(matcher.fill_chain(&[2, 3], &mut matrix, 1)?.ended);
    /// # Ok::<(), gobo_artifact::DraftError>(())
    /// ```
    pub fn fill_chain(
        &self,
        drafts: &[TokenId],
        matrix: &mut [u32],
        row_stride_words: usize,
    ) -> Result<Chain, DraftError> {
        self.check_matrix(drafts.len() + 1, matrix, row_stride_words)?;
        let mut probe = self.probe(false);
        let mut chain = Chain { taken: 0, rows: 0, ended: false, stopped: None };
        for next in drafts.iter().map(Some).chain([None]) {
            chain.ended = probe.has_ended();
            if chain.ended {
                break;
            }
            let row = row_of(matrix, row_stride_words, chain.taken);
            let filled = write_row(row, self.mask_words(), |mask| probe.fill(mask));
            chain.rows += usize::from(filled.is_ok());
            let taken = filled.and_then(|_| next.map_or(Ok(()), |&id| probe.advance(id)));
            chain.taken += usize::from(next.is_some() && taken.is_ok());
            if let Err(error) = taken {
                chain.stopped = Some(error);
                break;
            }
        }
        Ok(chain)
    }

    /// Writes the masks over a tree of drafts: row `i` is the mask after the tokens on the path from the root to node `i`, the root's
    /// own left out, since it has been taken; in a matrix whose rows begin every `row_stride_words` words. Returns how many
    /// rows hold a mask. The matcher does not move, and can take back as many tokens as before.
    ///
    /// `visited` is told of the root and of each node below a node that has a mask, parents first and siblings in their order:
    /// [`Fill::Masked`] if its row is the mask; [`Fill::Ended`] if the text has ended there, after an EOS for instance; an error if
    /// its token cannot be taken. The row is left as it was in these two cases. It is zero if the mask failed, with an error that
    /// only masks have ([`MatcherError::OnlyEos`], [`MatcherError::StackDepth`], [`MatcherError::StackNodes`],
    /// [`MatcherError::Corrupt`]). Rows of all other nodes are left as they were.
    ///
    /// The cost is O(nodes), and that of a step and a mask for each node that is visited; with calls also of one copy of the frames.
    ///
    /// # Errors
    /// [`DraftError`], each variant of which says when: nothing is written then.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::{DraftTree, Fill};
    ///
    /// # let matcher = small::matcher();
    /// // Ids 0 `a`, 1 `b`, 2 `ab`; texts of (ab)*. Below the root: `b` with `a` below it, and beside it `ab`.
    /// let tree = DraftTree { tokens: &[-1, 1, 0, 2], first_child: &[1, 2, -1, -1], next_sibling: &[-1, 3, -1, -1] };
    /// let mut matrix = [7; 4];
    /// let mut visits = Vec::new();
    /// let rows = matcher.fill_tree(tree, &mut matrix, 1, |node, fill| visits.push((node, fill.ok())))?;
    /// assert_eq!((rows, matrix), (2, [0b1101, 7, 7, 0b1101]));
    /// assert_eq!(visits, [(0, Some(Fill::Masked)), (1, None), (3, Some(Fill::Masked))]);
    /// # Ok::<(), gobo_artifact::DraftError>(())
    /// ```
    pub fn fill_tree(
        &self,
        tree: DraftTree<'_>,
        matrix: &mut [u32],
        row_stride_words: usize,
        mut visited: impl FnMut(usize, Result<Fill, MatcherError>),
    ) -> Result<usize, DraftError> {
        let order = tree.preorder()?;
        self.check_matrix(tree.tokens.len(), matrix, row_stride_words)?;
        let mut probe = self.probe(true);
        // The depth of the nodes that are visited next: below a node that has a mask, or beside one on the path.
        let (mut open, mut rows) = (0, 0);
        for visit in order {
            if visit.depth > open {
                continue;
            }
            open = visit.depth;
            if let Some(above) = visit.depth.checked_sub(1) {
                probe.back_to(above);
                if let Err(error) = probe.advance(visit.token) {
                    visited(visit.node, Err(error));
                    continue;
                }
            }
            let fill = if probe.has_ended() {
                Ok(Fill::Ended)
            } else {
                let row = row_of(matrix, row_stride_words, visit.node);
                write_row(row, self.mask_words(), |mask| probe.fill(mask))
            };
            if fill == Ok(Fill::Masked) {
                rows += 1;
                open += 1;
            }
            visited(visit.node, fill);
        }
        Ok(rows)
    }

    /// Whether a matrix has so many rows, each with room for a mask. The last row may be shorter than a stride.
    fn check_matrix(&self, rows: usize, matrix: &[u32], row_stride_words: usize) -> Result<(), DraftError> {
        let (given, expected) = (row_stride_words, self.mask_words());
        if given < expected {
            return Err(DraftError::Row { given, expected });
        }
        let needed = (rows - 1).checked_mul(row_stride_words).and_then(|words| words.checked_add(expected));
        if needed.is_none_or(|needed| matrix.len() < needed) {
            return Err(DraftError::Matrix { given: matrix.len(), rows, row_stride_words });
        }
        Ok(())
    }
}
