//! Does again in Rust what a caller of gobo in another language has done with a matcher, and compares all that it was answered, each mask
//! to its last bit.
//!
//! ```sh
//! replay INDEX VOCABULARY EOS WIDTH MAX_ROLLBACK <transcript
//! ```
//!
//! INDEX and VOCABULARY are files, and EOS the ids that end a text, with commas between them. A transcript is a list of records: a
//! letter for what was done, then numbers, all of 32 bits and little-endian. A mask is `ceil(WIDTH / 32)` numbers, and a truth is 0 or 1.
//!
//! | letter | what was done | numbers |
//! |---|---|---|
//! | `F` | a mask was filled | whether it is one, the mask |
//! | `A` | a token was offered | its id, whether it was taken |
//! | `R` | tokens were taken back | how many, whether they could be |
//! | `Z` | the text begins again | |
//! | `K` | a fork goes on in the place of the matcher | |
//! | `S` | the state was asked for | whether it is complete, whether it has ended, how many bytes are forced, each of them |
//! | `V` | tokens were tried | how many, their ids, how many could be taken |
//! | `C` | the masks along a chain | drafts, their ids, how many could be taken, drafts + 1 masks |
//! | `T` | the masks over a tree | nodes, first children, next siblings, tokens, a mask of each |
//!
//! Rows that a chain or a tree leaves alone have every bit set. What is expected there is found by filling and advancing copies, and by no
//! function for drafts. The exit status is 0 if everything agrees, and the number of masks is printed; else the first difference is.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example says what it finds")]

use std::error::Error;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use gobo_artifact::{Fill, Index, Matcher, Vocabulary};
use gobo_types::{Binding, TokenId};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [index, vocabulary, eos, width, max_rollback] = arguments.as_slice() else {
        return Err("usage: replay INDEX VOCABULARY EOS WIDTH MAX_ROLLBACK".into());
    };
    let eos =
        eos.split(',').filter(|id| !id.is_empty()).map(str::parse).collect::<Result<Vec<TokenId>, _>>()?;
    let matcher = Matcher::with_rollback(
        Arc::new(Index::open(Path::new(index))?),
        Arc::new(Vocabulary::open(Path::new(vocabulary))?),
        &Binding::new(eos, width.parse()?),
        max_rollback.parse()?,
    )?;
    let mut replay = Replay { matcher, transcript: io::stdin().lock(), masks: 0 };
    let mut records = 0_u64;
    while let Some(letter) = replay.letter()? {
        records += 1;
        let again = replay.record(letter);
        again.map_err(|error| format!("record {records}, {}: {error}", char::from(letter)))?;
    }
    println!("{} masks in {records} records", replay.masks);
    Ok(())
}

struct Replay<R> {
    matcher: Matcher,
    transcript: R,
    masks: u64,
}

impl<R: Read> Replay<R> {
    fn letter(&mut self) -> io::Result<Option<u8>> {
        let mut letter = [0];
        Ok((self.transcript.read(&mut letter)? == 1).then_some(letter[0]))
    }

    fn number(&mut self) -> io::Result<u32> {
        Ok(self.numbers(1)?[0])
    }

    fn numbers(&mut self, count: usize) -> io::Result<Vec<u32>> {
        let mut bytes = vec![0; 4 * count];
        self.transcript.read_exact(&mut bytes)?;
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
        Ok(bytes.chunks_exact(4).map(number).collect())
    }

    /// A list after its length.
    fn list(&mut self) -> io::Result<Vec<u32>> {
        let length = self.number()? as usize;
        self.numbers(length)
    }

    fn record(&mut self, letter: u8) -> Result<(), Box<dyn Error>> {
        match letter {
            b'F' => {
                let told = (self.number()?, self.numbers(self.matcher.mask_words())?);
                let mut mask = vec![u32::MAX; self.matcher.mask_words()];
                let filled = self.matcher.fill(&mut mask)?;
                self.masks += 1;
                same("the mask", &told, &(u32::from(filled == Fill::Masked), mask))
            }
            b'A' => {
                let (id, told) = (self.number()?, self.number()?);
                same("whether it is taken", &told, &u32::from(self.matcher.advance(id).is_ok()))
            }
            b'R' => {
                let (count, told) = (self.number()?, self.number()?);
                same("whether they can be", &told, &u32::from(self.matcher.rollback(count as usize).is_ok()))
            }
            b'Z' => {
                self.matcher.reset();
                Ok(())
            }
            b'K' => {
                self.matcher = self.matcher.clone();
                Ok(())
            }
            b'S' => {
                let (told, told_bytes) = ((self.number()?, self.number()?), self.list()?);
                let mut forced = Vec::new();
                self.matcher.forced(&mut forced);
                let found = (u32::from(self.matcher.is_complete()), u32::from(has_ended(&self.matcher)?));
                same("complete, ended", &told, &found)?;
                let forced: Vec<u32> = forced.into_iter().map(u32::from).collect();
                same("the forced bytes", &told_bytes, &forced)
            }
            b'V' => {
                let (ids, told) = (self.list()?, self.number()?);
                let mut ahead = self.matcher.clone();
                let taken = ids.iter().take_while(|id| ahead.advance(**id).is_ok()).count();
                same("how many can be taken", &(told as usize), &taken)
            }
            b'C' => self.chain(),
            b'T' => self.tree(),
            other => Err(format!("no record begins with byte {other}").into()),
        }
    }

    fn chain(&mut self) -> Result<(), Box<dyn Error>> {
        let (drafts, told) = (self.list()?, self.number()?);
        let mut ahead = self.matcher.clone();
        let mut taken = 0;
        for row in 0..=drafts.len() {
            let is_reached = row == taken;
            let mask = if is_reached { mask_of(&ahead)? } else { None };
            self.row(row, mask.as_deref())?;
            if mask.is_some() && drafts.get(row).is_some_and(|id| ahead.advance(*id).is_ok()) {
                taken += 1;
            }
        }
        same("how many can be taken", &(told as usize), &taken)
    }

    fn tree(&mut self) -> Result<(), Box<dyn Error>> {
        let first_child = self.list()?;
        let nodes = first_child.len();
        let (next_sibling, tokens) = (self.numbers(nodes)?, self.numbers(nodes)?);
        let link = |link: u32| (link != u32::MAX).then_some(link as usize);
        // The text at each node; none where it cannot be reached, or has ended above.
        let mut texts: Vec<Option<Matcher>> = vec![None; nodes];
        let mut waiting = vec![(0, Some(self.matcher.clone()))];
        while let Some((node, text)) = waiting.pop() {
            let mut child = link(first_child[node]);
            while let Some(below) = child {
                let text = text.as_ref().filter(|text| matches!(mask_of(text), Ok(Some(_))));
                let text =
                    text.cloned().and_then(|mut text| text.advance(tokens[below]).is_ok().then_some(text));
                waiting.push((below, text));
                child = link(next_sibling[below]);
            }
            texts[node] = text;
        }
        for (node, text) in texts.iter().enumerate() {
            let mask = text.as_ref().map_or(Ok(None), mask_of)?;
            self.row(node, mask.as_deref())?;
        }
        Ok(())
    }

    /// Compares the next row of a matrix; without a mask it was left alone.
    fn row(&mut self, row: usize, mask: Option<&[u32]>) -> Result<(), Box<dyn Error>> {
        let told = self.numbers(self.matcher.mask_words())?;
        self.masks += u64::from(mask.is_some());
        match mask {
            Some(mask) => same(&format!("row {row}"), &*told, mask),
            None => same(&format!("row {row}, left alone"), &told, &vec![u32::MAX; told.len()]),
        }
    }
}

/// The mask of a text that has not ended.
fn mask_of(matcher: &Matcher) -> Result<Option<Vec<u32>>, Box<dyn Error>> {
    let mut mask = vec![0; matcher.mask_words()];
    Ok((matcher.fill(&mut mask)? == Fill::Masked).then_some(mask))
}

/// Whether an EOS was taken, or the binding has none and nothing can follow.
fn has_ended(matcher: &Matcher) -> Result<bool, Box<dyn Error>> {
    Ok(matcher.is_ended() || (matcher.binding().eos.is_empty() && mask_of(matcher)?.is_none()))
}

fn same<T: PartialEq + std::fmt::Debug + ?Sized>(
    what: &str,
    told: &T,
    found: &T,
) -> Result<(), Box<dyn Error>> {
    if told == found {
        return Ok(());
    }
    Err(format!("{what}: the transcript has {told:x?}, and Rust {found:x?}").into())
}
