//! Opening an index file up to its first mask, beside mapping the same file and copying as much as a row of it.

use std::fs::File;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use gobo_artifact::Index;

use super::Gobo;
use crate::ask::Answer;
use crate::cases::Case;
use crate::clock::Clock;
use crate::contestants::Contestant;

/// Alternates the two, sample by sample; both include giving the map back.
pub fn beside_copy(gobo: &Gobo, case: &Case, samples: usize) -> anyhow::Result<Answer> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("index");
    std::fs::write(&path, gobo.compile(case)?.bytes())?;
    let mut mask = vec![0_u32; gobo.binding.mask_words()];
    let mut row = vec![0_u8; mask.len() * 4];
    let clock = Clock::calibrated();
    let (mut opens, mut copies) = (Vec::new(), Vec::new());
    for _ in 0..samples {
        let (opened, ns) = clock.time(|| first_mask(gobo, &path, &mut mask));
        opened?;
        opens.push(ns);
        let (copied, ns) = clock.time(|| copy_of_a_row(&path, &mut row));
        copied?;
        copies.push(ns);
    }
    let mut answer = Answer::default();
    answer.samples.insert("open_ns".into(), opens);
    answer.samples.insert("map_and_copy_ns".into(), copies);
    Ok(answer)
}

fn first_mask(gobo: &Gobo, path: &Path, mask: &mut [u32]) -> anyhow::Result<()> {
    let index = Arc::new(Index::open(black_box(path))?);
    gobo.matcher(index)?.fill(mask)?;
    black_box(mask);
    Ok(())
}

/// The last bytes of the file, as many as a row has: whole pages that nothing else touched.
fn copy_of_a_row(path: &Path, row: &mut [u8]) -> std::io::Result<()> {
    let file = File::open(black_box(path))?;
    // SAFETY: nobody else knows the file, and it is not written to while it is mapped.
    let map = unsafe { memmap2::Mmap::map(&file)? };
    let len = row.len().min(map.len());
    row[..len].copy_from_slice(&map[map.len() - len..]);
    black_box(row);
    Ok(())
}
