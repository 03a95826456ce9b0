//! Words of a text, as substrings are cut at them.

/// What a word is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Letter,
    Other,
}

/// Runs of blanks, of letters, digits and underscores, and of other characters.
pub(crate) fn words(text: &str) -> Vec<String> {
    let kind = |char: char| {
        if char.is_whitespace() {
            Kind::Blank
        } else if char.is_alphanumeric() || char == '_' {
            Kind::Letter
        } else {
            Kind::Other
        }
    };
    let mut words: Vec<String> = Vec::new();
    let mut last = None;
    for char in text.chars() {
        match words.last_mut().filter(|_| last == Some(kind(char))) {
            Some(word) => word.push(char),
            None => words.push(char.to_string()),
        }
        last = Some(kind(char));
    }
    words
}
