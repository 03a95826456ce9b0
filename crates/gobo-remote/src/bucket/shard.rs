use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use gobo_types::IndexKey;

/// Which keys of a library one of several processes owns: those whose first 16 bits, times the number of shards, over 65,536, give its
/// index. What stands twice in a library has one key, and so one owner; and the keys of a shard lie side by side in the bucket.
///
/// ```
/// use gobo_remote::Shard;
/// use gobo_types::IndexKey;
///
/// let shards = [0, 1, 2].map(|index| Shard::new(index, 3).unwrap());
/// let key = IndexKey::from([0x80; 32]);
/// assert_eq!(shards.map(|shard| shard.has(&key)), [false, true, false]);
/// assert_eq!("1/3".parse(), Ok(shards[1]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    of: u32,
}

impl Shard {
    /// Most shards.
    pub const MOST: u32 = 1 << 12;
    /// All keys.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// Shard `index` of `of`, counted from 0. `None`: there is no such shard.
    pub fn new(index: u32, of: u32) -> Option<Self> {
        (index < of && of <= Self::MOST).then_some(Self { index, of })
    }

    /// Its index.
    pub fn index(self) -> u32 {
        self.index
    }

    /// The number of shards.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Whether it owns a key.
    pub fn has(self, key: &IndexKey) -> bool {
        let [first, second, ..] = *key.as_bytes();
        (u32::from(u16::from_be_bytes([first, second])) * self.of) >> 16 == self.index
    }

    /// The first bytes that its keys may have.
    pub fn folders(self) -> RangeInclusive<u8> {
        let first = (self.index << 16).div_ceil(self.of) >> 8;
        let last = (((self.index + 1) << 16).div_ceil(self.of) - 1) >> 8;
        // Both are below 2^16 before they are shifted.
        u8::try_from(first).unwrap_or(u8::MAX)..=u8::try_from(last).unwrap_or(u8::MAX)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        let (index, of) = numbers.ok_or("a shard is I/N, as 0/8")?;
        Self::new(index, of).ok_or_else(|| {
            format!(
                "there are shards 0/{of} to {}/{of}, and at most {} of them",
                i64::from(of) - 1,
                Self::MOST
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_one_owner_and_lies_in_a_folder_of_its_shard() {
        for of in [1, 2, 3, 7, 8, 100, 255, 256, 257, 1000, Shard::MOST] {
            for prefix in (0..=u16::MAX).step_by(7).chain([u16::MAX]) {
                let mut bytes = [0; 32];
                bytes[..2].copy_from_slice(&prefix.to_be_bytes());
                let key = IndexKey::from(bytes);
                let index = (u32::from(prefix) * of) >> 16;
                let owner = Shard::new(index, of).unwrap();
                assert!(owner.has(&key) && owner.folders().contains(&bytes[0]), "{prefix} {of}");
                assert!(index == 0 || !Shard::new(index - 1, of).unwrap().has(&key));
            }
        }
        assert_eq!(Shard::WHOLE.folders(), 0..=255);
        assert_eq!(Shard::new(3, 8).unwrap().folders(), 96..=127);
    }

    #[test]
    fn what_is_no_shard_is_refused() {
        for text in ["", "1", "8/8", "1/0", "0/4097", "a/b", "-1/2", "1/2/3"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
