//! Texts of bounded length.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

/// A text for a person that may quote what a caller sent, of at most [`Clipped::MAX_BYTES`] bytes.
///
/// Whatever is longer is cut in its middle as it becomes one, because places tell most at their end and reasons at both: `…`, the
/// length that it had, `…`. There is no other way to make one, and reading one back cuts too, so nothing that keeps or sends a
/// verdict keeps or sends a large one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Clipped(String);

impl Clipped {
    /// Most bytes of a text, what stands for the part that was cut out included: 1 KiB.
    pub const MAX_BYTES: usize = 1 << 10;

    /// Room for what stands for the part that was cut out: two `…`, the word, a number of up to 20 digits, and the rest of a
    /// character that the end of the text begins with.
    const MARK_BYTES: usize = 48;

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Clipped {
    fn from(text: &str) -> Self {
        if text.len() <= Self::MAX_BYTES {
            return Self(text.to_owned());
        }
        let kept = Self::MAX_BYTES - Self::MARK_BYTES;
        // Two thirds from the begin.
        let (head, tail) = (before(text, kept * 2 / 3), before(text, text.len() - kept / 3));
        Self(format!("{}… ({} bytes) …{}", &text[..head], text.len(), &text[tail..]))
    }
}

/// The last end of a character at or before `at`.
fn before(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

impl From<String> for Clipped {
    fn from(text: String) -> Self {
        if text.len() <= Self::MAX_BYTES { Self(text) } else { Self::from(text.as_str()) }
    }
}

impl From<Clipped> for String {
    fn from(text: Clipped) -> Self {
        text.0
    }
}

impl Deref for Clipped {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Clipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<str> for Clipped {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Clipped {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_stays_as_it_is() {
        for text in ["", "offset 3", &"x".repeat(Clipped::MAX_BYTES)] {
            assert_eq!(Clipped::from(text), text);
            assert_eq!(Clipped::from(text.to_owned()), text);
        }
    }

    #[test]
    fn a_long_text_keeps_both_ends_and_says_how_long_it_was() {
        for length in [Clipped::MAX_BYTES + 1, 5_000, 7 << 20] {
            // Characters of one to four bytes, at every offset to where it is cut.
            for (char, lead) in
                ["x", "é", "…", "\u{1f600}"].into_iter().flat_map(|c| (0..4).map(move |l| (c, l)))
            {
                let filler = char.repeat((length - lead).div_ceil(char.len()));
                let text = format!("{}{filler} is no place", "b".repeat(lead));
                let clipped = Clipped::from(text.clone());
                assert!(clipped.len() <= Clipped::MAX_BYTES && clipped.len() > Clipped::MAX_BYTES - 64);
                assert!(clipped.starts_with(&text[..lead]) && clipped.ends_with(" is no place"));
                assert!(clipped.contains(&format!("… ({} bytes) …", text.len())), "{clipped}");
                assert_eq!(Clipped::from(clipped.as_str()), clipped, "and is cut once");
            }
        }
    }

    #[test]
    fn what_is_read_back_is_cut_too() {
        let text = "x".repeat(1 << 20);
        let read: Clipped = serde_json::from_str(&serde_json::to_string(&text).unwrap()).unwrap();
        assert_eq!(read, Clipped::from(text));
        assert_eq!(serde_json::to_string(&Clipped::from("a")).unwrap(), "\"a\"");
    }
}
