//! The name that was probably meant, for messages about an unknown one.

/// Longest name, in bytes, that is compared: a comparison takes as many steps as the product of the lengths.
const MAX_BYTES: usize = 64;

/// Of the known names, the one that an unknown name was probably meant to be: the same but for case and separators, or else the
/// nearest at a distance of at most two, and less than half of the shorter name; of three characters and fewer, one of the same
/// length: `note` is not meant to be `not`. The distance is Damerau's: characters inserted,
/// removed or replaced, and neighbours swapped (*A technique for computer detection and correction of spelling errors*, 1964).
///
/// O(known names), each at most 64 bytes by 64.
///
/// ```
/// use gobo_grammar::near::near;
///
/// let known = ["minLength", "maxLength", "not"];
/// assert_eq!(near("max_length", known.into_iter()), Some("maxLength"));
/// assert_eq!(near("mniLength", known.into_iter()), Some("minLength"));
/// assert_eq!(near("note", known.into_iter()), None);
/// ```
pub fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(name);
    let mut nearest: Option<(usize, &str)> = None;
    for other in known.filter(|other| name.len().max(other.len()) <= MAX_BYTES) {
        let shorter = name.len().min(other.len());
        let most = 2.min(shorter.saturating_sub(1) / 2);
        let distance = if fold(other) == folded && !folded.is_empty() {
            0
        } else if shorter > 3 || name.len() == other.len() {
            strsim::osa_distance(name, other)
        } else {
            continue;
        };
        if distance <= most && nearest.is_none_or(|(least, _)| distance < least) {
            nearest = Some((distance, other));
        }
    }
    nearest.map(|(_, name)| name)
}

/// The letters and digits of a name, in lower case.
fn fold(name: &str) -> String {
    name.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
