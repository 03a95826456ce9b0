//! The borders of a canonical index.

use gobo_types::{Digest, checked_u32};

use crate::layout::NO_CHUNK;
use crate::layout::error::ArtifactError;
use crate::layout::index::borders::NO_BORDER;
use crate::read::index::Index;

/// What becomes of the last token of a prompt behind which a text begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptEnd {
    /// It stays as it is.
    Kept,
    /// It is taken back, and its bytes are written anew.
    TakenBack,
}

impl Index {
    /// The encoder as whose tokens texts are cut; `None` if they may be cut in any way. O(1).
    pub fn encoder_digest(&self) -> Option<Digest> {
        self.borders.as_ref().map(|borders| borders.encoder)
    }

    /// What becomes of the last token of a prompt, where texts go on with its last chunk; `None` where they begin a chunk of their own. O(1).
    pub fn prompt_end(&self) -> Option<PromptEnd> {
        let heals = self.borders.as_ref()?.heals?;
        Some(if heals { PromptEnd::TakenBack } else { PromptEnd::Kept })
    }

    /// Number of classes of states by their borders, and of borders; 0 for an index that is not canonical. O(1).
    pub fn border_counts(&self) -> (usize, usize) {
        self.borders.as_ref().map_or((0, 0), |of| {
            let classes = self.artifact.get::<u32>(&of.starts).len().saturating_sub(1);
            (classes, self.artifact.get::<[u32; 2]>(&of.all).len())
        })
    }

    /// The border of a state where the chunks stand at `chunk`; [`NO_BORDER`] where no token begins. O(log borders of the state).
    #[inline]
    pub(crate) fn border(&self, state: u32, chunk: u16) -> u32 {
        let Some((starts, all, class)) = self.borders.as_ref().and_then(|of| {
            let class = self.artifact.get::<u32>(&of.classes).get(state as usize)?;
            Some((self.artifact.get::<u32>(&of.starts), self.artifact.get::<[u32; 2]>(&of.all), *class))
        }) else {
            return NO_BORDER;
        };
        let bounds = starts.get(class as usize).zip(starts.get(class as usize + 1));
        let Some((&from, &to)) = bounds else { return NO_BORDER };
        let of_class = all.get(from as usize..to as usize).unwrap_or_default();
        let chunk = u32::from(chunk);
        let Some(past) = of_class.first().and_then(|first| chunk.checked_sub(first[0])) else {
            return NO_BORDER;
        };
        // States of chunks ascend, so that a border stands no further behind the first one than its state; mostly it stands there.
        let most = of_class.len().min(past as usize + 1);
        let at = if of_class[most - 1][0] == chunk {
            most - 1
        } else {
            of_class[..most].partition_point(|border| border[0] < chunk)
        };
        match of_class.get(at) {
            Some(border) if border[0] == chunk => from + checked_u32(at),
            _ => NO_BORDER,
        }
    }

    /// The number of the row of a border; `None` of none. O(1).
    #[inline]
    pub(crate) fn border_row(&self, border: u32) -> Option<u32> {
        let of = self.borders.as_ref().filter(|_| border != NO_BORDER)?;
        self.artifact.get::<[u32; 2]>(&of.all).get(border as usize).map(|border| border[1])
    }

    /// The tokens behind which a chunk may have to end that spells a word, if they are read behind a border, at a node of words: the border, the node, and the
    /// token. O(log tokens).
    #[inline]
    pub(crate) fn spelled(&self, border: u32, node: u32) -> &[[u32; 3]] {
        let Some(spelled) = self.borders.as_ref().and_then(|borders| borders.spelled.as_ref()) else {
            return &[];
        };
        let all = self.artifact.get::<[u32; 3]>(spelled);
        let from = all.partition_point(|of| (of[0], of[1]) < (border, node));
        let to = all.partition_point(|of| (of[0], of[1]) <= (border, node));
        all.get(from..to).unwrap_or_default()
    }

    /// Checks that spelled words stand in order, behind borders. O(tokens).
    pub(super) fn verify_spelled(&self) -> Result<(), ArtifactError> {
        let Some(spelled) = self.borders.as_ref().and_then(|borders| borders.spelled.as_ref()) else {
            return Ok(());
        };
        let all = self.artifact.get::<[u32; 3]>(spelled);
        let borders = checked_u32(self.border_counts().1);
        let is_wrong =
            |of: &[u32; 3]| of[0] == NO_BORDER || of[0] >= borders || of[2] >= self.root.vocabulary_len;
        if all.is_empty() || !all.is_sorted_by(|one, other| one < other) || all.iter().any(is_wrong) {
            return Err(self.artifact.meaning("the spelled words are no tokens behind borders, ascending"));
        }
        Ok(())
    }

    /// Checks that classes and borders lie one after the other, and have rows. O(states + borders).
    pub(super) fn verify_borders(&self) -> Result<(), ArtifactError> {
        let Some(of) = &self.borders else { return Ok(()) };
        let fault = |what: &str| Err(self.artifact.meaning(what));
        let (classes, starts) = (self.artifact.get::<u32>(&of.classes), self.artifact.get::<u32>(&of.starts));
        let all = self.artifact.get::<[u32; 2]>(&of.all);
        let count = starts.len().saturating_sub(1);
        if !matches!(starts, [1, 1, ..])
            || !starts.is_sorted()
            || starts.last().is_none_or(|&end| end as usize != all.len())
        {
            return fault("the borders of classes do not lie one after the other");
        }
        if all.first() != Some(&[0, 0]) {
            return fault("border 0 is one");
        }
        if classes.first() != Some(&0) || classes.iter().any(|&class| class as usize >= count) {
            return fault("a state has borders that are not there");
        }
        if classes.get(self.start() as usize) == Some(&0) && !self.is_complete(self.start()) {
            return fault("no token begins at the start");
        }
        for class in starts.windows(2) {
            let borders = &all[class[0] as usize..class[1] as usize];
            if !borders.is_sorted_by(|one, other| one[0] < other[0])
                || borders.iter().any(|&[chunk, row]| {
                    chunk == u32::from(NO_CHUNK) || chunk > u32::from(u16::MAX) || row >= self.rows()
                })
            {
                return fault("a border is out of order, or has no row");
            }
            // What is left to the stack may go on where the row is empty.
            if self.calls.is_none() && borders.iter().any(|border| self.is_empty_row(border[1])) {
                return fault("no token begins at a border");
            }
        }
        Ok(())
    }
}
