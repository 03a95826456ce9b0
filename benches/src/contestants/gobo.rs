//! gobo: complete indices, opened from the bytes of their files.

mod fill;
mod open;
mod order;
mod stacks;
mod threads;

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context;
use gobo_artifact::{Index, Matcher, Vocabulary};
use gobo_compiler::{CompileOptions, Compiled};
use gobo_types::{Binding, Budget, CompileLimits};
use gobo_worker::compile_constraint;

use super::{Contestant, Decoding};
use crate::ask::{Answer, Ask};
use crate::cases::Case;
use crate::clock::Clock;
use crate::vocabularies::Source;

/// The tables of a grammar as large as Python's are beyond the default limit; of what is measured, none depends on it.
const MAX_BYTES: u64 = 1 << 30;

/// gobo over one mapped vocabulary.
pub struct Gobo {
    pub vocabulary: Arc<Vocabulary>,
    pub binding: Binding,
}

impl Gobo {
    pub fn new(source: &Source) -> anyhow::Result<Self> {
        Ok(Self { vocabulary: Arc::new(source.open()?), binding: source.binding.clone() })
    }

    /// A matcher at the beginning of a text.
    pub fn matcher(&self, index: Arc<Index>) -> anyhow::Result<Matcher> {
        Ok(Matcher::new(index, self.vocabulary.clone(), &self.binding)?)
    }

    /// An index in memory and a matcher on it.
    pub fn matcher_of(&self, case: &Case) -> anyhow::Result<Matcher> {
        self.matcher(Arc::new(Index::from_bytes(self.compile(case)?.bytes())?))
    }
}

impl Contestant for Gobo {
    type Ready = Compiled;

    fn compile(&self, case: &Case) -> anyhow::Result<Self::Ready> {
        // Without the rows of other compiles, and of the same one before.
        let limits = CompileLimits { max_bytes: MAX_BYTES, ..CompileLimits::default() };
        let (budget, constraint) = (Budget::new(limits), case.constraint());
        let lowered = gobo_worker::lower(&constraint, &budget)?;
        let options = CompileOptions::default();
        Ok(gobo_compiler::compile(&self.vocabulary, &constraint, &lowered, &options, &budget)?)
    }

    fn facts(&self, ready: &Self::Ready) -> Vec<(&'static str, f64)> {
        vec![
            ("file_bytes", ready.bytes().len() as f64),
            ("charged_bytes", ready.stats.bytes as f64),
            ("states", f64::from(ready.stats.states)),
            ("row_computations", f64::from(ready.stats.rows)),
            ("distinct_rows", f64::from(ready.stats.distinct_rows)),
        ]
    }

    fn decoding(&self, ready: &Self::Ready) -> anyhow::Result<Box<dyn Decoding>> {
        let index = Index::from_bytes(ready.bytes()).context("its own bytes")?;
        Ok(Box::new(self.matcher(Arc::new(index))?))
    }

    fn mask_words(&self) -> usize {
        self.binding.mask_words()
    }

    fn own(&self, ask: &Ask) -> anyhow::Result<Answer> {
        match ask {
            Ask::FillBesideCopy { sequences, rounds } => fill::beside_copy(self, sequences, *rounds),
            Ask::Stacks { sequence } => stacks::along(self, sequence),
            Ask::HotCopy { samples } => Ok(fill::hot_copy(*samples)),
            Ask::InOrder { case, texts } => order::of_schema(case, texts),
            Ask::AfterOthers { case } => {
                let (budget, constraint) = (Budget::new(CompileLimits::default()), case.constraint());
                let compile = || compile_constraint(&self.vocabulary, &constraint, 1, &budget);
                let (compiled, ns) = Clock::calibrated().time(compile);
                compiled?;
                let samples = BTreeMap::from([("after_others_ns".to_owned(), vec![ns])]);
                Ok(Answer { samples, ..Answer::default() })
            }
            Ask::Open { case, samples } => open::beside_copy(self, case, *samples),
            Ask::Threads { cases, rounds } => threads::one_and_two(self, cases, *rounds),
            _ => anyhow::bail!("every contestant answers this: {ask:?}"),
        }
    }
}

impl Decoding for Matcher {
    fn fill(&mut self, mask: &mut [u32]) -> anyhow::Result<()> {
        Matcher::fill(self, mask)?;
        Ok(())
    }

    fn advance(&mut self, id: u32) -> anyhow::Result<()> {
        Ok(Matcher::advance(self, id)?)
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        self.reset();
        Ok(())
    }
}
