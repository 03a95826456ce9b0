//! Minimal sets by a deletion filter that leaves out halves before it leaves out single elements.

/// Of `items` those that have to be kept for `holds` to be true of the kept ones, `holds` of all taken as given: from the result no
/// item can be left out, as far as `holds` says. Calls it O(k log n) times for `k` of `n` items.
pub(super) fn minimal<T: Clone, E>(
    items: &[T],
    mut holds: impl FnMut(&[T]) -> Result<bool, E>,
) -> Result<Vec<T>, E> {
    let mut kept = items.to_vec();
    // From the end, so that places before it keep their numbers.
    let mut open = Vec::from([(0, items.len())]);
    while let Some((start, end)) = open.pop() {
        if start == end {
            continue;
        }
        let mut rest = kept.clone();
        rest.drain(start..end);
        if holds(&rest)? {
            kept = rest;
        } else if end - start > 1 {
            let middle = usize::midpoint(start, end);
            open.extend([(start, middle), (middle, end)]);
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_needed_is_kept_and_nothing_else(len in 0_usize..60, needed in prop::collection::btree_set(0_usize..60, 0..4)) {
            let items: Vec<usize> = (0..len).collect();
            let needed: Vec<usize> = needed.into_iter().filter(|item| *item < len).collect();
            let mut calls = 0;
            let kept = minimal(&items, |rest| {
                calls += 1;
                Ok::<bool, Infallible>(needed.iter().all(|item| rest.contains(item)))
            });
            prop_assert_eq!(kept.unwrap(), needed.clone());
            prop_assert!(calls <= 1 + needed.len() * 14);
        }
    }
}
