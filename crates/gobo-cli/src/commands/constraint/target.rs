//! The target of `mask`, `explain` and `sample`: an index and its vocabulary, compiled now or read from a file.
use std::sync::Arc;

use anyhow::{Context, bail};
use gobo_artifact::{Index, Matcher};
use gobo_types::Budget;
use gobo_worker::compile_constraint;

use crate::args::{Global, TargetArgs};
use crate::commands::report::note_misspelt;
use crate::inputs::{Loaded, index_file, open_index};
use crate::output::Outcome;

pub(crate) struct Target {
    pub(crate) loaded: Loaded,
    pub(crate) index: Arc<Index>,
    prompt: Vec<u32>,
}

impl Target {
    /// Opens or compiles it. The inner error is the outcome of the command where there is no index, which has been said.
    pub(crate) fn open(args: &TargetArgs, global: &Global) -> anyhow::Result<Result<Self, Outcome>> {
        if let Some(file) = &args.index {
            args.constraint.check_options()?;
            let file = index_file(file, global)?;
            let index = open_index(&file)?;
            let loaded = match &args.tokenizer {
                Some(tokenizer) => Loaded::open(tokenizer, global)?,
                None => Loaded::of_index(&index, &file, global)?,
            };
            loaded.note_first_use();
            return Ok(Ok(Self { loaded, index: Arc::new(index), prompt: args.prompt.clone() }));
        }
        let given = args.constraint.read()?;
        let tokenizer = args.tokenizer.as_deref().context("--tokenizer is missing")?;
        let loaded = Loaded::open(tokenizer, global)?;
        loaded.note_first_use();
        let budget = Budget::new(global.limits());
        match compile_constraint(&loaded.vocabulary, &given.constraint, global.threads_or(1), &budget) {
            Ok(compiled) => {
                let index = Arc::new(Index::from_bytes(compiled.bytes())?);
                if !global.json {
                    note_misspelt(&index.report()?);
                }
                Ok(Ok(Self { loaded, index, prompt: args.prompt.clone() }))
            }
            Err(error) => Ok(Err(given.verdict(&error, global.json)?)),
        }
    }

    /// A matcher at the empty text behind the prompt.
    pub(crate) fn matcher(&self) -> anyhow::Result<Matcher> {
        if !self.prompt.is_empty() && self.index.prompt_end().is_none() {
            bail!(
                "--prompt needs --tokenization canonical-strict or canonical-heal: under others a prompt excludes nothing"
            );
        }
        let matcher = Matcher::new(self.index.clone(), self.loaded.vocabulary.clone(), &self.loaded.binding)?;
        Ok(matcher.after_prompt(&self.prompt)?)
    }
}
