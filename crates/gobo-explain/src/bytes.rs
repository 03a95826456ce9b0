//! Bytes and sets of ids, for people.

/// Bytes, ascending, as a person reads them: characters where they are ASCII, numbers otherwise, runs as ranges. O(bytes).
///
/// ```
/// assert_eq!(gobo_explain::byte_ranges(b" abcx0\x80"), "space a–c x 0 0x80");
/// ```
pub fn byte_ranges(bytes: &[u8]) -> String {
    let name = |byte: u8| match char::from(byte) {
        shown if shown.is_ascii_graphic() => shown.to_string(),
        ' ' => "space".into(),
        _ => format!("0x{byte:02x}"),
    };
    let runs: Vec<String> = bytes
        .chunk_by(|a, b| a + 1 == *b && (a.is_ascii_alphanumeric() == b.is_ascii_alphanumeric()))
        .map(|run| match run {
            [one] => name(*one),
            [first, second] => format!("{} {}", name(*first), name(*second)),
            [first, .., last] => format!("{}–{}", name(*first), name(*last)),
            [] => String::new(),
        })
        .collect();
    runs.join(" ")
}

/// The ids whose bits are set in a mask: bit `id & 31` of word `id >> 5`. O(words + ids).
///
/// ```
/// assert_eq!(gobo_explain::ids_of(&[0b101, 1 << 31]), [0, 2, 63]);
/// ```
pub fn ids_of(mask: &[u32]) -> Vec<u32> {
    let mut ids = Vec::new();
    for (at, &word) in (0_u32..).zip(mask) {
        let mut word = word;
        while word != 0 {
            ids.push(at * 32 + word.trailing_zeros());
            word &= word - 1;
        }
    }
    ids
}
