//! Texts of bounded length.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

/// A text for a person that may quote a request, of at most [`Clipped::MAX_BYTES`] bytes.
///
/// A longer text is cut in its middle when it becomes one, because the end of a location is most telling, and both ends of a
/// reason: `…`, the original length, `…`. There is no other constructor, and deserialising cuts too, so verdicts that are
/// kept or sent are never large.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Clipped(String);

impl Clipped {
    /// Most bytes of a text, the mark of the cut included: 1 KiB.
    pub const MAX_BYTES: usize = 1 << 10;

    /// Room for the mark of the cut: two `…`, the word, a number of up to 20 digits, and the rest of a character at which the end
    /// of the text would begin.
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
        // Two thirds from the beginning.
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
