//! The steps around the model of a `tokenizer.json`: normalizer, pre-tokenizer, decoder.

use serde::Deserialize;

/// A normalizer, pre-tokenizer or decoder of a `tokenizer.json`: only the fields that decide how token texts become bytes.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Component {
    #[serde(rename = "type")]
    kind: Option<String>,
    /// Of `Metaspace`: the mark for the space.
    replacement: Option<char>,
    /// Of `Replace` and `Split`.
    pattern: Option<Pattern>,
    /// Of `Replace`; others mean other things by it.
    content: Option<String>,
    /// Of `WordPiece`.
    prefix: Option<String>,
    /// Of `WordPiece`.
    cleanup: Option<bool>,
    normalizers: Vec<Component>,
    pretokenizers: Vec<Component>,
    decoders: Vec<Component>,
    /// Of `Split`.
    behavior: Option<String>,
    invert: Option<bool>,
    /// Of `ByteLevel`: whether texts are split as for GPT-2; they are unless this says no.
    use_regex: Option<bool>,
    /// Of `Metaspace`: whether a space begins a chunk; it does unless this says no.
    split: Option<bool>,
}

/// The pattern of `ByteLevel`, as the `tokenizers` library has it.
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// A step whose effect on the borders of tokens is not known, for a person.
pub(crate) type UnknownStep = String;

#[derive(Debug, Deserialize)]
enum Pattern {
    String(String),
    Regex(String),
}

impl Component {
    /// Whether it, or a part of it, is a `ByteLevel`.
    pub(crate) fn is_byte_level(&self) -> bool {
        self.is("ByteLevel")
    }

    /// Whether it, or a part of it, is a `ByteFallback`.
    pub(crate) fn is_byte_fallback(&self) -> bool {
        self.is("ByteFallback")
    }

    /// The prefix of pieces inside a word and whether to clean up, if this is a `WordPiece` decoder. One inside a
    /// sequence does not count: its neighbours could change what it put together.
    pub(crate) fn word_pieces(&self) -> Option<(&str, bool)> {
        let word_pieces = self.kind.as_deref() == Some("WordPiece");
        word_pieces.then(|| (self.prefix.as_deref().unwrap_or("##"), self.cleanup.unwrap_or(true)))
    }

    fn is(&self, kind: &str) -> bool {
        self.kind.as_deref() == Some(kind) || self.parts().any(|part| part.is(kind))
    }

    /// The character that this normalizer or pre-tokenizer puts in the place of a space, by `Metaspace` or `Replace`.
    pub(crate) fn mark_put_for_space(&self) -> Option<char> {
        self.space_mark(&|pattern, content| (pattern == " ").then(|| only_char(content)).flatten())
    }

    /// The character that this decoder turns into a space, by `Metaspace` or `Replace`.
    pub(crate) fn mark_read_as_space(&self) -> Option<char> {
        self.space_mark(&|pattern, content| (content == " ").then(|| only_char(pattern)).flatten())
    }

    fn space_mark(&self, of_replace: &dyn Fn(&str, &str) -> Option<char>) -> Option<char> {
        let own = match (self.kind.as_deref(), &self.pattern, &self.content) {
            (Some("Metaspace"), _, _) => Some(self.replacement.unwrap_or('\u{2581}')),
            (Some("Replace"), Some(Pattern::String(pattern)), Some(content)) => of_replace(pattern, content),
            _ => None,
        };
        own.or_else(|| self.parts().find_map(|part| part.space_mark(of_replace)))
    }

    /// The patterns by which this pre-tokenizer cuts a text into chunks, the first one first. What it puts before a text does not matter
    /// here.
    pub(crate) fn chunk_patterns(&self, into: &mut Vec<String>) -> Result<(), UnknownStep> {
        match (self.kind.as_deref().unwrap_or_default(), &self.pattern) {
            ("ByteLevel", _) => into.extend((self.use_regex != Some(false)).then(|| GPT2.to_owned())),
            ("Split", Some(Pattern::Regex(pattern))) if self.is_isolating() && !pattern.contains('$') => {
                into.push(pattern.clone());
            }
            ("Metaspace", _) if self.split == Some(false) => {}
            ("Sequence", _) => {
                return self.pretokenizers.iter().try_for_each(|part| part.chunk_patterns(into));
            }
            (kind, _) => {
                return Err(format!("a pre-tokenizer {kind:?} of which it is not known where it cuts"));
            }
        }
        Ok(())
    }

    fn is_isolating(&self) -> bool {
        self.behavior.as_deref() == Some("Isolated") && self.invert != Some(true)
    }

    /// Whether this normalizer turns texts into NFC; it does nothing else but put a mark before texts or in the place of spaces.
    pub(crate) fn composes(&self) -> Result<bool, UnknownStep> {
        match (self.kind.as_deref().unwrap_or_default(), &self.pattern) {
            ("NFC", _) => Ok(true),
            ("Prepend", _) => Ok(false),
            ("Replace", Some(Pattern::String(from))) if from == " " => Ok(false),
            ("Sequence", _) => {
                self.normalizers.iter().try_fold(false, |all, part| Ok(all | part.composes()?))
            }
            (kind, _) => Err(format!("a normalizer {kind:?}, which may change texts")),
        }
    }

    fn parts(&self) -> impl Iterator<Item = &Self> {
        self.normalizers.iter().chain(&self.pretokenizers).chain(&self.decoders)
    }
}

fn only_char(text: &str) -> Option<char> {
    let mut characters = text.chars();
    characters.next().filter(|_| characters.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(json: &str) -> Component {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn byte_level_is_found_inside_sequences() {
        assert!(component(r#"{"type": "ByteLevel", "add_prefix_space": false}"#).is_byte_level());
        let nested = r#"{"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": "a+"}, "behavior": "Isolated", "invert": false},
            {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}]}]}"#;
        assert!(component(nested).is_byte_level());
        assert!(!component(r#"{"type": "Whitespace"}"#).is_byte_level());
    }

    #[test]
    fn word_piece_decoders_say_their_prefix() {
        assert_eq!(component(r#"{"type": "WordPiece"}"#).word_pieces(), Some(("##", true)));
        let own = component(r#"{"type": "WordPiece", "prefix": "@", "cleanup": false}"#);
        assert_eq!(own.word_pieces(), Some(("@", false)));
        assert_eq!(component(r#"{"type": "Fuse"}"#).word_pieces(), None);
    }

    #[test]
    fn space_marks_of_all_three_layouts() {
        let nested = r#"{"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "Fuse"}]}"#;
        for (json, put, read) in [
            (r#"{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}"#, Some('▁'), Some('▁')),
            (r#"{"type": "Metaspace", "replacement": "_"}"#, Some('_'), Some('_')),
            (r#"{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}"#, Some('▁'), None),
            (nested, None, Some('▁')),
            (r#"{"type": "Replace", "pattern": {"Regex": " +"}, "content": " "}"#, None, None),
            (r#"{"type": "Replace", "pattern": {"String": "``"}, "content": "\""}"#, None, None),
            (r#"{"type": "Strip", "content": " ", "start": 1, "stop": 0}"#, None, None),
        ] {
            let component = component(json);
            assert_eq!(
                (component.mark_put_for_space(), component.mark_read_as_space()),
                (put, read),
                "{json}"
            );
        }
    }
}
