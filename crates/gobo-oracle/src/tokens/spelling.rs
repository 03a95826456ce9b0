//! Which texts tokens can write: reachability over the offsets of the text (dynamic programming, as for the word break
//! problem). O(length × bytes of the vocabulary).

use crate::Tokens;

/// Whether some sequence of ordinary tokens writes exactly `text`. The empty text is written by no tokens at all.
pub fn spellable(text: &[u8], tokens: &Tokens) -> bool {
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for at in 0..text.len() {
        if reached[at] {
            for (_, bytes) in tokens.ordinary() {
                if text[at..].starts_with(bytes) {
                    reached[at + bytes.len()] = true;
                }
            }
        }
    }
    reached[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_the_right_cut() {
        let tokens = Tokens::of(&[b"ab", b"aba", b"ba"]);
        assert!(spellable(b"abba", &tokens));
        assert!(spellable(b"abaab", &tokens));
        assert!(!spellable(b"abb", &tokens));
        assert!(spellable(b"", &tokens));
    }
}
