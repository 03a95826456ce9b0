//! Places inside a character of UTF-8.

/// A place in a text of UTF-8: between two characters, or inside one, told by the bytes that may follow (The Unicode Standard, Table 3-7).
///
/// ```
/// use gobo_types::Utf8Place;
///
/// let inside = Utf8Place::BETWEEN.after(b"a\xc3").unwrap();
/// assert_ne!(inside, Utf8Place::BETWEEN);
/// assert_eq!(inside.after(b"\xa9b"), Some(Utf8Place::BETWEEN));
/// assert_eq!(inside.after(b"b"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Utf8Place(u8);

impl Utf8Place {
    /// Between two characters, or at the beginning or end of a text.
    pub const BETWEEN: Self = Self(0);
    const ONE: Self = Self(1);
    const TWO: Self = Self(2);
    const THREE: Self = Self(3);
    const AFTER_E0: Self = Self(4);
    const AFTER_ED: Self = Self(5);
    const AFTER_F0: Self = Self(6);
    const AFTER_F4: Self = Self(7);

    /// All places.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..8).map(Self)
    }

    /// A number below 8, of each place another one.
    pub fn number(self) -> usize {
        usize::from(self.0)
    }

    /// The place after some bytes; `None` if these stand in no text there.
    pub fn after(self, bytes: &[u8]) -> Option<Self> {
        bytes.iter().try_fold(self, |place, &byte| place.after_byte(byte))
    }

    fn after_byte(self, byte: u8) -> Option<Self> {
        let is_within = |range: std::ops::RangeInclusive<u8>, next| range.contains(&byte).then_some(next);
        match self {
            Self::ONE => is_within(0x80..=0xBF, Self::BETWEEN),
            Self::TWO => is_within(0x80..=0xBF, Self::ONE),
            Self::THREE => is_within(0x80..=0xBF, Self::TWO),
            Self::AFTER_E0 => is_within(0xA0..=0xBF, Self::ONE),
            Self::AFTER_ED => is_within(0x80..=0x9F, Self::ONE),
            Self::AFTER_F0 => is_within(0x90..=0xBF, Self::TWO),
            Self::AFTER_F4 => is_within(0x80..=0x8F, Self::TWO),
            _ => match byte {
                0x00..=0x7F => Some(Self::BETWEEN),
                0xC2..=0xDF => Some(Self::ONE),
                0xE0 => Some(Self::AFTER_E0),
                0xED => Some(Self::AFTER_ED),
                0xE1..=0xEF => Some(Self::TWO),
                0xF0 => Some(Self::AFTER_F0),
                0xF1..=0xF3 => Some(Self::THREE),
                0xF4 => Some(Self::AFTER_F4),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every sequence of up to three bytes, and of four with some beginnings, as the standard library reads it.
    #[test]
    fn places_are_those_of_utf8() {
        let mut open = vec![Vec::new()];
        while let Some(bytes) = open.pop() {
            let place = Utf8Place::BETWEEN.after(&bytes);
            match std::str::from_utf8(&bytes) {
                Ok(_) => assert_eq!(place, Some(Utf8Place::BETWEEN), "{bytes:x?}"),
                // Nothing is wrong but the end.
                Err(error) if error.error_len().is_none() => {
                    assert!(place.is_some_and(|place| place != Utf8Place::BETWEEN), "{bytes:x?}");
                }
                Err(_) => assert_eq!(place, None, "{bytes:x?}"),
            }
            let goes_on =
                bytes.len() < 2 || bytes.len() < 4 && place.is_some_and(|place| place != Utf8Place::BETWEEN);
            if goes_on {
                for byte in (0..=u8::MAX).filter(|byte| bytes.len() < 2 || byte % 16 == 0 || byte % 16 == 15)
                {
                    open.push([bytes.as_slice(), &[byte]].concat());
                }
            }
        }
    }
}
