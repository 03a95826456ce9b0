//! Masks of two contestants along the same texts, compared bit by bit.

use std::path::Path;

use gobo_artifact::Vocabulary;

/// How two files of masks differ.
#[derive(Debug, Clone, Default)]
pub struct Difference {
    pub masks: usize,
    pub different_masks: usize,
    /// Token bits, over all masks.
    pub only_gobo: usize,
    pub only_peer: usize,
    /// The first different bit, for a person.
    pub example: Option<String>,
}

/// Compares the masks along `texts`, one before each token and one at the end of each text; but for the bits of
/// `ignored`.
pub fn masks(
    gobo: &Path,
    peer: &Path,
    vocabulary: &Vocabulary,
    texts: &[Vec<u32>],
    ignored: &[u32],
) -> anyhow::Result<Difference> {
    let (gobo, mut peer) = (std::fs::read(gobo)?, std::fs::read(peer)?);
    anyhow::ensure!(gobo.len() == peer.len(), "one wrote {} bytes, the other {}", gobo.len(), peer.len());
    let places: Vec<&[u32]> =
        texts.iter().flat_map(|tokens| (0..=tokens.len()).map(|at| &tokens[..at])).collect();
    let mut difference = Difference::default();
    let row_bytes = gobo.len() / places.len().max(1);
    for ((gobo, peer), taken) in
        gobo.chunks_exact(row_bytes).zip(peer.chunks_exact_mut(row_bytes)).zip(places)
    {
        for &id in ignored {
            let (at, bit) = ((id / 8) as usize, 1 << (id % 8));
            peer[at] = peer[at] & !bit | gobo[at] & bit;
        }
        difference.masks += 1;
        difference.different_masks += usize::from(gobo != peer);
        for (at, (&gobo, &peer)) in
            gobo.iter().zip(&*peer).enumerate().filter(|(_, (gobo, peer))| gobo != peer)
        {
            difference.only_gobo += (gobo & !peer).count_ones() as usize;
            difference.only_peer += (peer & !gobo).count_ones() as usize;
            difference.example.get_or_insert_with(|| {
                let bit = (gobo ^ peer).trailing_zeros();
                let id = (at * 8) as u32 + bit;
                let who = if gobo >> bit & 1 == 1 { "only gobo" } else { "only the peer" };
                format!("after “{}” {who} allows {id} “{}”", text(vocabulary, taken), text(vocabulary, &[id]))
            });
        }
    }
    Ok(difference)
}

/// The text of tokens for a person: its end, escaped.
fn text(vocabulary: &Vocabulary, tokens: &[u32]) -> String {
    let bytes: Vec<u8> = tokens.iter().flat_map(|&id| vocabulary.bytes(id)).copied().collect();
    let escaped = String::from_utf8_lossy(&bytes).escape_debug().to_string();
    let long = escaped.chars().count().saturating_sub(40);
    let end: String = escaped.chars().skip(long).collect();
    if long > 0 { format!("…{end}") } else { end }
}
