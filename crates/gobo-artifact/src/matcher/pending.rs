//! The pairs that pending suffixes meet down a stack.
//!
//! A suffix set may go on as several sets below a return state (`docs/recursion.md`). So the sets that are pending for a frame are a list,
//! and the mask takes the rows of all of them. Where the list is the same below a run of equal frames as above it, one look at the run
//! is enough.

use crate::layout::index::calls::{CallTables, NO_SUFFIXES, PairEntry};
use crate::matcher::stack::{BOTTOM, Frames};

/// Calls `found` with each pair that the suffixes of a set meet from a frame downwards, until it says no or fails; whether it never
/// said no. O(sets that are pending × frames without runs).
pub(super) fn for_each_pair<'a, E>(
    calls: &CallTables<'a>,
    frames: &Frames,
    suffix_set: u32,
    frame: u32,
    mut found: impl FnMut(&'a PairEntry) -> Result<bool, E>,
) -> Result<bool, E> {
    let (mut sets, mut below) = (vec![suffix_set], Vec::new());
    let mut frame = frame;
    while frame != BOTTOM {
        sets.retain(|&set| set != NO_SUFFIXES);
        if sets.is_empty() {
            break;
        }
        let top = frames.top(frame);
        for &set in &sets {
            for pair in calls.pairs(set, top) {
                if !found(pair)? {
                    return Ok(false);
                }
                below.push(pair.suffix_set);
            }
        }
        below.sort_unstable();
        below.dedup();
        frame = if below == sets { frames.below_run(frame) } else { frames.below(frame) };
        std::mem::swap(&mut sets, &mut below);
        below.clear();
    }
    Ok(true)
}
