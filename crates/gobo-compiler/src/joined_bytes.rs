//! The first bytes of the tokens that a token joins: with which bytes a text may not go on behind it in its chunk, whatever the constraint.
//!
//! All tokens of a cut begin alike, so a byte is kept for each cut, and of parts with many cuts the set of those so far at each [`STEP`]th. A token joins the first cuts of each
//! part on its spine.

use foldhash::HashMap;
use gobo_artifact::layout::{Cut, Merges};
use gobo_types::{ByteSet, TokenId, checked_u32};

/// The first bytes of the tokens that each token joins, of one vocabulary.
#[derive(Debug)]
pub(crate) struct JoinedBytes {
    /// `[cuts]`: the byte, or [`NO_BYTE`], or [`ANY_BYTE`].
    of: Vec<u16>,
    /// `[cuts / STEP + 1]`: the bytes of the cuts of the same part before each `STEP`th cut.
    before: Vec<ByteSet>,
    /// `[ids]`: the number of the set of those that were asked for, and one more.
    numbers: Vec<u32>,
    sets: Vec<ByteSet>,
    known: HashMap<ByteSet, u32>,
}

const ANY_BYTE: u16 = 256;
const NO_BYTE: u16 = 257;

/// Most cuts that are looked at one by one. Nearly all parts have fewer, and some a hundred thousand.
const STEP: usize = 64;

impl JoinedBytes {
    /// Of so many ids, which begin with these bytes. O(cuts + ids).
    pub(crate) fn new(merges: Merges<'_>, ids: u32, first_byte: impl Fn(TokenId) -> Option<u8>) -> Self {
        let cuts = merges.cuts();
        // `[proper tokens]`, in the order of cuts.
        let first: Vec<u16> =
            merges.proper().iter().map(|&id| first_byte(id).map_or(NO_BYTE, u16::from)).collect();
        let of_cut = |cut: &Cut| match first.get(cut.from as usize..cut.to as usize).unwrap_or_default() {
            [] => NO_BYTE,
            [byte] => *byte,
            [one, .., last] if one == last => *one,
            _ => ANY_BYTE,
        };
        let of: Vec<u16> = cuts.iter().map(of_cut).collect();
        let mut before = vec![ByteSet::default(); cuts.len() / STEP + 1];
        for part in merges.cuts_by_part().filter(|part| part.len() >= STEP) {
            let mut set = ByteSet::default();
            for at in part {
                if at.is_multiple_of(STEP) {
                    before[at / STEP] = set;
                }
                insert(&mut set, of[at]);
            }
        }
        Self { of, before, numbers: vec![0; ids as usize], sets: Vec::new(), known: HashMap::default() }
    }

    /// Bytes of its tables, once each id was asked for and has a set of its own.
    pub(crate) fn bytes(&self) -> u64 {
        let of_ids = self.numbers.len() * (4 + size_of::<ByteSet>());
        (self.of.len() * 2 + size_of_val(self.before.as_slice()) + of_ids) as u64
    }

    /// The first bytes of the tokens that `id` joins; `merges` are those of before. O(parts × [`STEP`]) at first, O(1) then.
    pub(crate) fn by(&mut self, merges: Merges<'_>, id: TokenId) -> ByteSet {
        if let Some(number) = self.numbers[id as usize].checked_sub(1) {
            return self.sets[number as usize];
        }
        let set = self.find(merges, id);
        let number = *self.known.entry(set).or_insert_with(|| {
            self.sets.push(set);
            checked_u32(self.sets.len() - 1)
        });
        self.numbers[id as usize] = number + 1;
        set
    }

    fn find(&self, merges: Merges<'_>, id: TokenId) -> ByteSet {
        if merges.is_whole(id) {
            return all_bytes();
        }
        let mut all = ByteSet::default();
        for mut range in merges.cut_ranges_after(id) {
            if range.len() >= STEP {
                let step = (range.end - 1) / STEP;
                range.start = step * STEP;
                all.insert_all(&self.before[step]);
            }
            range.for_each(|at| insert(&mut all, self.of[at]));
        }
        all
    }
}

fn insert(set: &mut ByteSet, byte: u16) {
    match u8::try_from(byte) {
        Ok(byte) => set.insert(byte),
        Err(_) if byte == ANY_BYTE => *set = all_bytes(),
        Err(_) => {}
    }
}

fn all_bytes() -> ByteSet {
    (0..=u8::MAX).collect()
}

#[cfg(test)]
mod tests {
    use gobo_artifact::layout::{NO_TOKEN, SpineToken};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Parts with few cuts and with many, wherever these begin, and a token of two parts of which the second is consumed early.
        #[test]
        fn first_bytes_are_those_of_the_tokens_in_all_cuts(
            numbers in prop::collection::vec(0_u32..200, 3),
            places in prop::collection::vec(0_u32..256, 600),
            consumed in 0_u32..250,
        ) {
            // The ids from 3 on begin with all bytes, twice; two of one byte stand side by side.
            let order: Vec<TokenId> = (3..259).flat_map(|id| [id, id + 256]).collect();
            let mut cuts = Vec::new();
            let mut tokens = vec![SpineToken { right: NO_TOKEN, time: 0, position: 0, cuts: 0 }; 516];
            for (id, &number) in numbers.iter().enumerate() {
                tokens[id].cuts = u32::try_from(cuts.len()).unwrap();
                for time in 0..number {
                    let from = places[cuts.len()] * 2;
                    cuts.push(Cut { time, from, to: from + time % 3 });
                }
            }
            tokens[0] = SpineToken { right: 2, time: consumed, ..tokens[0] };
            let end = u32::try_from(cuts.len()).unwrap();
            tokens[3..].iter_mut().for_each(|token| token.cuts = end);
            let merges = Merges::new(&tokens, &order, &cuts);
            let first_byte = |id: TokenId| u8::try_from((id - 3) % 256).ok();
            let mut found = JoinedBytes::new(merges, 515, first_byte);
            for id in 0..4 {
                let expected: ByteSet =
                    merges.cuts_after(id).flat_map(|cut| merges.ids(cut)).filter_map(|&id| first_byte(id)).collect();
                prop_assert_eq!(found.by(merges, id), expected);
                prop_assert_eq!(found.by(merges, id), expected);
            }
        }
    }
}
