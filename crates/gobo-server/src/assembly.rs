//! Long requests, kept until they are whole.
//!
//! The decoder of the transport sets aside the announced length of a message as soon as it has read its head, and gives the memory
//! back in pieces of that size, of which an allocator may keep many. So a long message reaches it only when it is whole:
//! what is begun and never ended costs what has been sent of it. The bytes are copied into blocks, because the pieces that
//! come are parts of the buffers of a connection, and a piece of one byte would keep one alive.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Bytes of a block. Messages up to this length are not kept.
pub(crate) const BLOCK_BYTES: usize = 64 << 10;

/// The bytes of one message so far, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    blocks: VecDeque<BytesMut>,
}

impl Assembly {
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
            let mut assembly = Assembly::default();
            assert!(assembly.is_empty());
            all.chunks(size).for_each(|piece| assembly.push(piece));
            let blocks: Vec<Bytes> = std::iter::from_fn(|| assembly.pop()).collect();
            assert_eq!(blocks.len(), 4);
            assert!(blocks.concat() == all && assembly.is_empty());
        }
    }
}
