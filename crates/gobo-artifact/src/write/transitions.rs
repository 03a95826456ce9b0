//! Chooses the storage of the transitions, and writes them.

use zerocopy::IntoBytes;

use crate::layout::index::states::DEAD;
use crate::layout::index::transitions::NO_STEP;
use crate::layout::section as kinds;

/// Up to this size dense transitions of 16 bits are kept, even if rows that states share are fewer bytes: they fit into a
/// core's cache, and are one load fewer for each byte of text.
const SMALL_TABLE_BYTES: usize = 1 << 16;

/// The storage of the transitions of an automaton, and the bytes of the sections [`kinds::TRANSITIONS`] and
/// [`kinds::TRANSITION_ROWS`].
pub(crate) fn encode(row_of: &[u32], deltas: &[i32], classes: usize) -> (u32, Vec<u8>, Vec<u8>) {
    let cells = row_of.len() * classes;
    let shared_bytes = 4 * (row_of.len() + deltas.len());
    let is_narrow = row_of.len() <= 1 << 16;
    if is_narrow && 2 * cells <= SMALL_TABLE_BYTES.max(shared_bytes) {
        let narrow = |state: u32| u16::try_from(state).expect("there are at most 2^16 states");
        let table: Vec<u16> = targets(row_of, deltas, classes).map(narrow).collect();
        return (kinds::DENSE_U16, table.as_bytes().to_vec(), Vec::new());
    }
    if shared_bytes < 4 * cells {
        return (kinds::SHARED, deltas.as_bytes().to_vec(), row_of.as_bytes().to_vec());
    }
    let table: Vec<u32> = targets(row_of, deltas, classes).collect();
    (kinds::DENSE_U32, table.as_bytes().to_vec(), Vec::new())
}

/// The next state for each state and class.
fn targets(row_of: &[u32], deltas: &[i32], classes: usize) -> impl Iterator<Item = u32> {
    (0_u32..).zip(row_of).flat_map(move |(state, &row)| {
        let row = &deltas[row as usize * classes..][..classes];
        row.iter().map(move |&delta| match delta {
            NO_STEP => DEAD,
            delta => state.checked_add_signed(delta).expect("transitions lead to states"),
        })
    })
}
