//! Every accessor of the reader, called on whatever opened: none may panic, whatever the bytes. The fuzz target of
//! `gobo-artifact` walks the same way.

use std::sync::Arc;

use gobo_artifact::{Fill, Index, Matcher, MatcherError, Vocabulary};
use gobo_types::{Binding, TokenId};

/// What a hostile root claims is not bound by the length of the file; what is done for each is bound here.
const MOST: u32 = 48;

/// The first numbers below `count`, and those around its end and beyond.
fn numbers(count: u32) -> impl Iterator<Item = u32> {
    (0..count.min(MOST)).chain([count.wrapping_sub(1), count, count.wrapping_add(1), u32::MAX >> 1, u32::MAX])
}

pub(crate) fn index(index: &Index, vocabulary: &Vocabulary) {
    for state in numbers(index.states()) {
        for byte in 0..=u8::MAX {
            index.next_state(state, byte);
        }
        index.is_complete(state);
        index.row_number(state);
    }
    let row_words = index.row_words().min(1 << 10);
    let mut words = vec![0; row_words + 1];
    for number in numbers(index.rows()) {
        let Some(row) = index.row(vocabulary, number) else { continue };
        row.is_empty();
        for length in [0, 1.min(row_words), row_words, row_words + 1] {
            row.write(&mut words[..length]);
            row.unite(&mut words[..length]);
        }
        numbers(index.root().vocabulary_len).for_each(|id| {
            row.contains(id);
        });
        row.ids(row_words);
    }
    let _ = index.report();
    let texts = index.constraint_text().len() + index.constraint_kind().len();
    assert!(texts <= index.file_bytes().len());
    assert_eq!(index.states(), index.root().states);
    assert!(index.start() < index.states());
    index.key();
    index.constraint_digest();
    index.class();
    let _ = index.call_root();
    index.artifact().digest();
}

pub(crate) fn vocabulary(vocabulary: &Vocabulary) {
    for id in numbers(vocabulary.len()) {
        assert!(vocabulary.bytes(id).len() <= vocabulary.file_bytes().len());
        vocabulary.is_special(id);
    }
    let trie = vocabulary.trie();
    assert_eq!(trie.nodes.len(), trie.set_ids.len());
    for node in trie.nodes {
        node.byte();
        node.is_last();
        node.children();
    }
    assert!(trie.sets.len() * 32 + trie.order.len() * 4 <= vocabulary.file_bytes().len());
    for slice in vocabulary.slices() {
        for chars in numbers(slice.max_chars) {
            let (row, long) = slice.at_most(chars);
            assert!(row.is_empty() || row.len() == vocabulary.row_words());
            assert!(long.len() * 8 <= vocabulary.file_bytes().len());
        }
        assert!(slice.all().is_empty() || slice.all().len() == vocabulary.row_words());
        assert!(slice.chars.len() * 8 <= vocabulary.file_bytes().len());
    }
    assert!(vocabulary.slice(usize::MAX).is_none());
    for number in numbers(64) {
        assert!(vocabulary.shared_row(number).is_none_or(|row| row.len() == vocabulary.row_words()));
    }
    assert!(vocabulary.shared_rows().len() <= 64);
    vocabulary.digest();
    vocabulary.artifact().digest();
}

/// Decodes for a while under the masks. `sound` says that both files verified; then the masks must be masks.
pub(crate) fn matcher(index: &Arc<Index>, vocabulary: &Arc<Vocabulary>, sound: bool) {
    let len = vocabulary.len();
    for binding in [Binding::new(vec![], len), Binding::new(vec![3, len, len + 33], len + 40)] {
        let Ok(mut matcher) = Matcher::with_rollback(Arc::clone(index), Arc::clone(vocabulary), &binding, 5)
        else {
            let other = index.vocabulary_digest() != vocabulary.digest()
                || index.root().vocabulary_len != len
                || index.root().shared_rows_digest != vocabulary.shared_rows_digest().0;
            assert!(!sound || other);
            return;
        };
        let mut mask = vec![0; matcher.mask_words()];
        for step in 0..12 {
            let filled = matcher.fill(&mut mask);
            let allowed: Vec<TokenId> = (0..binding.logits_width)
                .filter(|id| mask[(id >> 5) as usize] >> (id & 31) & 1 == 1)
                .collect();
            if sound {
                match filled {
                    Ok(Fill::Masked) => assert!(!allowed.is_empty(), "a mask of nothing"),
                    Ok(Fill::Ended) | Err(MatcherError::OnlyEos) => assert!(allowed.is_empty()),
                    // An index cannot be checked against its vocabulary without compiling it again, so a sound one
                    // may still lead astray; it says so and serves nothing.
                    Err(MatcherError::Corrupt { .. }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
            for id in numbers(binding.logits_width) {
                assert!(!sound || filled.is_err() || !matcher.allows(id) || allowed.contains(&id), "id {id}");
                matcher.allows(id);
            }
            let ahead: Vec<TokenId> = allowed.iter().copied().take(4).collect();
            assert!(matcher.validate(&ahead) <= ahead.len());
            let mut forced = Vec::new();
            matcher.forced(&mut forced);
            assert!(forced.len() <= index.states() as usize);
            let _ = matcher.clone().advance_bytes(&forced);
            let _ = matcher.clone().advance_bytes(b"ab\xff");
            matcher.mask();
            matcher.state();
            matcher.configurations(16);
            matcher.stack_depth();
            matcher.kept_nodes();
            if let Some(&id) = allowed.get(step % allowed.len().max(1)) {
                let _ = matcher.advance(id);
            }
            let _ = matcher.advance(u32::MAX);
            let _ = matcher.rollback(step % 3);
        }
        matcher.reset();
        assert_eq!(matcher.state(), Some(index.start()));
    }
}
