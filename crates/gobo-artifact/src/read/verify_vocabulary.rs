//! Checks a vocabulary file as a whole: digests, and that counts, offsets, flags, tries and slices all follow from the table of
//! tokens.

use gobo_types::{ByteSet, TokenId};

use crate::layout::error::ArtifactError;
use crate::layout::section as kinds;
use crate::layout::vocabulary::root::VocabularyRoot;
use crate::layout::vocabulary::slice_tables::SliceTables;
use crate::layout::vocabulary::token_bytes::{begins_inside, count_chars, vocabulary_digest};
use crate::read::vocabulary::Vocabulary;

impl Vocabulary {
    /// Reads everything: digests of all sections, that the key is the digest of the table, and that counts, offsets,
    /// flags, tries and slices say the same. O(file), whatever its bytes.
    ///
    /// # Errors
    /// [`ArtifactError::Format`] naming the first fault.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let (_, vocabulary, _) = small::pattern();
    /// assert!(vocabulary.verify().is_ok());
    /// ```
    pub fn verify(&self) -> Result<(), ArtifactError> {
        self.artifact.verify_digests()?;
        let fault = |what: &str| Err(self.artifact.meaning(what));
        let offsets: &[u32] = self.artifact.get(&self.offsets);
        let byte_count = self.artifact.get::<u8>(&self.bytes).len();
        if offsets[0] != 0 || offsets.windows(2).any(|pair| pair[0] > pair[1]) {
            return fault("token offsets are not ascending from zero");
        }
        if offsets.last().map(|&end| end as usize) != Some(byte_count) {
            return fault("the last token offset is not the number of token bytes");
        }
        let ids = || (0..self.len()).map(|id| (self.bytes(id), self.is_special(id)));
        // The digest cannot see a flag without an id, and it is the name under which the file is handed out.
        let flags: &[u32] = self.artifact.get(&self.special);
        let flagged: u32 = flags.iter().map(|word| word.count_ones()).sum();
        if flagged as usize != ids().filter(|(_, special)| *special).count() {
            return fault("an id beyond the vocabulary is special");
        }
        if vocabulary_digest(ids()) != self.digest() {
            return fault("the key is not the digest of the table");
        }
        if self.counted() != self.root {
            return fault("the root's counts are not those of the table");
        }
        let nodes_end = self.verify_trie()?;
        self.verify_slices(nodes_end)?;
        self.verify_shared_rows()?;
        self.verify_encoder()
    }

    /// A row of an index is never empty for lack of words, and holds ordinary tokens only.
    fn verify_shared_rows(&self) -> Result<(), ArtifactError> {
        let mut ordinary = vec![0_u32; self.row_words()];
        self.trie().order.iter().for_each(|&id| ordinary[(id >> 5) as usize] |= 1 << (id & 31));
        for (number, row) in self.artifact.get::<u32>(&self.shared_rows).chunks(self.row_words()).enumerate()
        {
            let fault = |what: &str| Err(self.artifact.meaning(format!("shared row {number} {what}")));
            if row.iter().all(|&word| word == 0) {
                return fault("is empty");
            }
            if row.iter().zip(&ordinary).any(|(row, ordinary)| row & !ordinary != 0) {
                return fault("has an id that is no ordinary token");
            }
        }
        Ok(())
    }

    /// The root as the table says it. O(file).
    fn counted(&self) -> VocabularyRoot {
        let mut root = VocabularyRoot {
            len: self.root.len,
            tokens: 0,
            ordinary: 0,
            special: 0,
            longest_token_bytes: 0,
            longest_token_chars: 0,
            longest_inner_chars: 0,
            trie_nodes: self.root.trie_nodes,
            spellable: [0; 8],
            single: [0; 8],
        };
        let (mut spellable, mut single) = (ByteSet::default(), ByteSet::default());
        for id in 0..self.len() {
            let bytes = self.bytes(id);
            root.tokens += u32::from(!bytes.is_empty());
            if self.is_special(id) {
                root.special += 1;
                continue;
            }
            root.ordinary += u32::from(!bytes.is_empty());
            let length = u32::try_from(bytes.len()).expect("offsets are u32");
            root.longest_token_bytes = root.longest_token_bytes.max(length);
            root.longest_token_chars = root.longest_token_chars.max(count_chars(bytes));
            if begins_inside(bytes) {
                root.longest_inner_chars = root.longest_inner_chars.max(count_chars(bytes));
            }
            bytes.iter().for_each(|&byte| spellable.insert(byte));
            if let [byte] = bytes {
                single.insert(*byte);
            }
        }
        (root.spellable, root.single) = (spellable.words(), single.words());
        root
    }

    /// Checks the trie of all ordinary tokens. Returns the number of the node after its last one.
    fn verify_trie(&self) -> Result<usize, ArtifactError> {
        let trie = self.trie();
        let fault = |what: &str| Err(self.artifact.meaning(what));
        let order = &trie.order[..trie.to as usize];
        if order.is_empty() {
            return fault("there is no ordinary token");
        }
        let is_ordinary = |id: TokenId| id < self.len() && !self.is_special(id) && !self.bytes(id).is_empty();
        // The slices are tokens of the same kind, so all of the table is looked at here.
        if trie.order.iter().any(|&id| !is_ordinary(id)) {
            return fault("the trie order is not the ordinary tokens");
        }
        if !self.is_sorted(order) {
            return fault("the trie order is not sorted by bytes");
        }
        if trie.sets.first() != Some(&[u32::MAX; 8]) {
            return fault("byte set 0 does not hold all bytes");
        }
        trie.verify(|id| self.bytes(id)).map_err(|what| self.artifact.meaning(what))
    }

    /// By bytes, then by id; no id twice.
    fn is_sorted(&self, ids: &[TokenId]) -> bool {
        ids.windows(2).all(|pair| (self.bytes(pair[0]), pair[0]) < (self.bytes(pair[1]), pair[1]))
    }

    /// Checks that the slices are disjoint and complete, that their tables lie one after the other, and that they say what
    /// follows from their tokens.
    fn verify_slices(&self, nodes_end: usize) -> Result<(), ArtifactError> {
        // Where the next slice begins: nodes, ids, ranges of characters, words of bitmaps, long tokens.
        let mut next = [nodes_end, self.root.ordinary as usize, 0, 0, 0];
        let mut seen = vec![0_u32; self.row_words()];
        for (number, (entry, slice)) in self.slice_entries().iter().zip(self.slices()).enumerate() {
            let fault = |what: &str| Err(self.artifact.meaning(format!("slice {number}: {what}")));
            let begins =
                [entry.root, entry.order[0], entry.chars[0], entry.rows, entry.long[0]].map(|at| at as usize);
            if [begins[0], begins[1], begins[2], begins[3].saturating_mul(self.row_words()), begins[4]]
                != next
            {
                return fault("it does not begin where the one before ends");
            }
            let trie = slice.trie;
            let Some(ids) =
                trie.order.get(trie.from as usize..trie.to as usize).filter(|ids| !ids.is_empty())
            else {
                return fault("it has no ids");
            };
            if !self.is_sorted(ids) {
                return fault("its ids are not sorted by bytes");
            }
            let needs = ByteSet::from_words(*slice.needs);
            for &id in ids {
                let (word, bit) = (&mut seen[(id >> 5) as usize], 1 << (id & 31));
                if *word & bit != 0 {
                    return fault(&format!("token {id} is in another slice too"));
                }
                *word |= bit;
                if !self.bytes(id).iter().any(|&byte| needs.contains(byte)) {
                    return fault(&format!("token {id} has none of the bytes that it needs"));
                }
            }
            next[0] = trie.verify(|id| self.bytes(id)).or_else(|what| fault(&what).map(|()| 0))?;
            let is_text = slice.max_chars > 0;
            let tokens = ids.iter().map(|&id| (id, self.bytes(id)));
            match SliceTables::new(tokens, is_text, slice.lead, self.row_words()) {
                Err(what) => return fault(&what),
                Ok(tables) if slice.holds(&tables) => {
                    next[1] = trie.to as usize;
                    next[2] += tables.chars.len();
                    next[3] += tables.rows.len();
                    next[4] += tables.long.len();
                }
                Ok(_) => return fault("its lengths or characters are not those of its tokens"),
            }
        }
        let trie = self.trie();
        let ends = [
            (kinds::TRIE, trie.nodes.len()),
            (kinds::TRIE_ORDER, trie.order.len()),
            (kinds::SLICE_CHARS, self.artifact.get::<[u32; 2]>(&self.slice_chars).len()),
            (kinds::SLICE_ROWS, self.artifact.get::<u32>(&self.slice_rows).len()),
            (kinds::SLICE_LONG, self.artifact.get::<[u32; 2]>(&self.slice_long).len()),
        ];
        // The order holds ordinary tokens twice as many as there are, and no slice any twice: with its end, all are there.
        match ends.iter().zip(next).find(|((_, end), next)| end != next) {
            Some(((kind, _), _)) => {
                let name = self.artifact.section(*kind).name();
                Err(self.artifact.meaning(format!("no slice holds the end of section {name}")))
            }
            None => Ok(()),
        }
    }
}
