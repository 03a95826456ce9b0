//! The transition table of an index, in one of three storages.
//!
//! `U16` and `U32` are dense tables, `[states, byte classes]`: one load for each byte of a text. `Shared` stores how far the next
//! state is from the present one, so that states with the same distances share a row of the table, and it costs two loads for each byte. Other tables whose
//! entries states share: Aho, Lam, Sethi & Ullman, *Compilers*, 2nd edition, section 3.9.8. A walk never leaves the tables, whatever a file says: where a number leads out of them, it ends in the dead state.

use crate::layout::artifact::{Artifact, Span};
use crate::layout::error::ArtifactError;
use crate::layout::index::states::DEAD;
use crate::layout::section as kinds;

pub use gobo_types::NO_STEP;

/// Where the transitions of an index lie.
#[derive(Debug, Clone)]
pub(crate) enum Transitions {
    /// `[states, classes]`.
    U16(Span),
    /// `[states, classes]`.
    U32(Span),
    /// States that go on alike, each from its own number, share a row: counted repetition is many states and few rows.
    Shared {
        /// `[states]`.
        row_of: Span,
        /// `[rows, classes]`: the next state less the present one, or [`NO_STEP`].
        deltas: Span,
    },
}

impl Transitions {
    pub(crate) fn open(artifact: &Artifact, states: u32, classes: u32) -> Result<Self, ArtifactError> {
        let (states, classes) = (u64::from(states), u64::from(classes));
        let section = artifact.section(kinds::TRANSITIONS);
        let has_rows = section.storage == kinds::SHARED;
        let row_of = artifact.span::<u32>(kinds::TRANSITION_ROWS, if has_rows { states } else { 0 })?;
        Ok(match section.storage {
            kinds::DENSE_U16 => Self::U16(artifact.span::<u16>(kinds::TRANSITIONS, states * classes)?),
            kinds::DENSE_U32 => Self::U32(artifact.span::<u32>(kinds::TRANSITIONS, states * classes)?),
            _ => {
                let rows = section.length / (4 * classes);
                Self::Shared { row_of, deltas: artifact.span::<i32>(kinds::TRANSITIONS, rows * classes)? }
            }
        })
    }

    /// The state after `classes`, the classes of some bytes; [`DEAD`] where they lead nowhere or out of the tables.
    #[inline]
    pub(crate) fn walk(
        &self,
        artifact: &Artifact,
        (states, stride): (u32, u32),
        mut state: u32,
        classes: impl Iterator<Item = u8>,
    ) -> u32 {
        let cell =
            |row: u32, class: u8| (row as usize).checked_mul(stride as usize)?.checked_add(class.into());
        let in_range = |state: u32| if state < states { state } else { DEAD };
        match self {
            Self::U16(span) => {
                let table: &[u16] = artifact.get(span);
                for class in classes {
                    let next = cell(state, class).and_then(|cell| table.get(cell));
                    state = next.map_or(DEAD, |&next| u32::from(next));
                }
            }
            Self::U32(span) => {
                let table: &[u32] = artifact.get(span);
                for class in classes {
                    state = cell(state, class).and_then(|cell| table.get(cell)).copied().unwrap_or(DEAD);
                }
            }
            Self::Shared { row_of, deltas } => {
                let (row_of, deltas): (&[u32], &[i32]) = (artifact.get(row_of), artifact.get(deltas));
                for class in classes {
                    let row = row_of.get(state as usize);
                    let delta = row.and_then(|&row| deltas.get(cell(row, class)?));
                    let step = delta.copied().filter(|&delta| delta != NO_STEP);
                    state = step.and_then(|delta| state.checked_add_signed(delta)).unwrap_or(DEAD);
                }
            }
        }
        in_range(state)
    }

    /// Checks that the dead state is dead and every other leads to states only. O(tables).
    pub(crate) fn verify(&self, artifact: &Artifact, states: u32, classes: u32) -> Result<(), String> {
        let stride = classes as usize;
        let dense = |table: &mut dyn Iterator<Item = u32>| {
            for (cell, next) in table.enumerate() {
                if cell < stride && next != DEAD {
                    return Err("the dead state is not dead".into());
                }
                if next >= states {
                    return Err(format!("state {} leads to no state", cell / stride));
                }
            }
            Ok(())
        };
        match self {
            Self::U16(span) => dense(&mut artifact.get::<u16>(span).iter().map(|&next| u32::from(next))),
            Self::U32(span) => dense(&mut artifact.get::<u32>(span).iter().copied()),
            Self::Shared { row_of, deltas } => {
                let (row_of, deltas): (&[u32], &[i32]) = (artifact.get(row_of), artifact.get(deltas));
                // `[rows]`: the least and the greatest delta of the transitions that lead on.
                let bounds: Vec<Option<(i32, i32)>> = deltas
                    .chunks_exact(stride)
                    .map(|row| {
                        let steps = || row.iter().copied().filter(|&delta| delta != NO_STEP);
                        steps().min().zip(steps().max())
                    })
                    .collect();
                let mut used = vec![false; bounds.len()];
                for (state, &row) in (0_u32..).zip(row_of) {
                    let Some(&bounds) = bounds.get(row as usize) else {
                        return Err(format!("state {state} has no transitions"));
                    };
                    used[row as usize] = true;
                    let Some((least, greatest)) = bounds else { continue };
                    if state == DEAD {
                        return Err("the dead state is not dead".into());
                    }
                    // A way to the dead state is none.
                    let is_state = |delta: i32| {
                        state.checked_add_signed(delta).is_some_and(|next| next != DEAD && next < states)
                    };
                    if !is_state(least) || !is_state(greatest) {
                        return Err(format!("state {state} leads to no state"));
                    }
                }
                match used.iter().position(|used| !used) {
                    Some(row) => Err(format!("no state has row {row} of the transitions")),
                    None => Ok(()),
                }
            }
        }
    }
}
