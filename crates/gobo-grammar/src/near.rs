//! Names that are nearly another.

/// Longest names that are compared, in bytes.
const MAX_BYTES: usize = 64;

/// The name that was probably meant: one that differs by at most two edits, and by less than half.
pub(crate) fn near<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let is_short = |name: &str| name.len() <= MAX_BYTES;
    let most = 2.min(name.len().saturating_sub(1) / 2);
    names
        .filter(|other| is_short(name) && is_short(other) && name.len().abs_diff(other.len()) <= most)
        .map(|other| (edits(name.as_bytes(), other.as_bytes()), other))
        .filter(|(edits, _)| *edits <= most)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, other)| other)
}

/// Levenshtein's distance: characters to insert, remove or replace.
fn edits(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
