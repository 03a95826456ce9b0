//! The bytes that must come next.

use crate::layout::DEAD;
use crate::matcher::{ENDED, Matcher};

impl Matcher {
    /// Appends to `out` the bytes that must come next: as long as the text is not complete and only one byte can
    /// follow. Which tokens spell them is the caller's choice. At most one byte for each state of the index;
    /// O(256) steps for each.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let mut matcher = small::matcher();
    /// // Texts of (ab)*: only a `b` comes after an `a`.
    /// matcher.advance(0)?;
    /// let mut bytes = Vec::new();
    /// matcher.forced(&mut bytes);
    /// assert_eq!(bytes, b"b");
    /// # Ok::<(), gobo_artifact::MatcherError>(())
    /// ```
    pub fn forced(&self, out: &mut Vec<u8>) {
        if let Some(all) = self.configurations.as_ref().filter(|_| self.state != ENDED) {
            let mut all = all.probe(0);
            for _ in 0..self.index.states() {
                if all.is_complete(&self.index) {
                    return;
                }
                let mut live = (0..=u8::MAX).filter(|&byte| all.would_take(&self.index, &[byte]));
                let (Some(byte), None) = (live.next(), live.next()) else { return };
                if all.advance(&self.index, &[byte]).is_err() {
                    return;
                }
                out.push(byte);
            }
            return;
        }
        let mut state = self.state;
        for _ in 0..self.index.states() {
            if state == ENDED || self.index.is_complete(state) {
                return;
            }
            let mut live = (0..=u8::MAX).filter(|&byte| self.index.next_state(state, byte) != DEAD);
            let (Some(byte), None) = (live.next(), live.next()) else { return };
            out.push(byte);
            state = self.index.next_state(state, byte);
        }
    }
}
