//! Reassembly of long requests.
//!
//! The decoder of the transport allocates the announced length of a message as soon as it has read its head, and frees the memory
//! in pieces of that size, of which an allocator may keep many. So a long message reaches the decoder only when it is whole: a
//! message that is begun and never ended costs the bytes that were sent. The bytes are copied into blocks, because the pieces that
//! arrive are parts of the buffers of a connection, and a piece of one byte would keep a buffer alive.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Bytes of a block. Messages of at most this length are passed on as they arrive.
pub(crate) const BLOCK_BYTES: usize = 64 << 10;

/// The bytes of one message that have arrived, in order.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    blocks: VecDeque<BytesMut>,
}

impl Reassembly {
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Adds bytes. O(bytes).
    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = self.blocks.back().map_or(0, |block| BLOCK_BYTES - block.len());
            if room == 0 {
                self.blocks.push_back(BytesMut::new());
                continue;
            }
            let (now, rest) = bytes.split_at(room.min(bytes.len()));
            if let Some(block) = self.blocks.back_mut() {
                block.extend_from_slice(now);
            }
            bytes = rest;
        }
    }

    /// Takes the first block off.
    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        self.blocks.pop_front().map(BytesMut::freeze)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_pushed_is_popped() {
        let all: Vec<u8> = (0..=250).cycle().take(3 * BLOCK_BYTES + 17).collect();
        for size in [1, 1000, BLOCK_BYTES, all.len()] {
            let mut reassembly = Reassembly::default();
            assert!(reassembly.is_empty());
            all.chunks(size).for_each(|piece| reassembly.push(piece));
            let blocks: Vec<Bytes> = std::iter::from_fn(|| reassembly.pop()).collect();
            assert_eq!(blocks.len(), 4);
            assert!(blocks.concat() == all && reassembly.is_empty());
        }
    }
}
