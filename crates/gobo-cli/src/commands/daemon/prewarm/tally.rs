//! What became of the constraints of a library.

use gobo_types::CompileError;
use serde_json::json;

use crate::args::Global;
use crate::backend::Warmed;
use crate::diagnostics::verdict_json;
use crate::output;

/// Counts of constraints by their outcome.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    pub(super) done: u64,
    pub(super) hits: u64,
    pub(super) compiled: u64,
    pub(super) refused: u64,
    pub(super) over_budget: u64,
    pub(super) unavailable: u64,
    pub(super) failed: u64,
}

impl Tally {
    pub(super) fn count(&mut self, warmed: &Warmed) {
        self.done += 1;
        *match warmed {
            Ok(warm) if warm.is_hit => &mut self.hits,
            Ok(_) => &mut self.compiled,
            Err(CompileError::Refused(_)) => &mut self.refused,
            Err(CompileError::OverBudget(_)) => &mut self.over_budget,
            Err(CompileError::Unavailable { .. }) => &mut self.unavailable,
            Err(_) => &mut self.failed,
        } += 1;
    }

    pub(super) fn all(&self) -> [(&'static str, u64); 7] {
        [
            ("done", self.done),
            ("hits", self.hits),
            ("compiled", self.compiled),
            ("refused", self.refused),
            ("over_budget", self.over_budget),
            ("unavailable", self.unavailable),
            ("failed", self.failed),
        ]
    }
}

/// The outcome of each constraint for a script; for a person those without an index.
pub(super) fn print(global: &Global, tokenizer: &str, id: &str, warmed: &Warmed) -> anyhow::Result<()> {
    if !global.json {
        if let Err(verdict) = warmed {
            output::note(format_args!("{tokenizer}: {id}: {verdict}"));
        }
        return Ok(());
    }
    let mut line = match warmed {
        Ok(warm) => json!({
            "verdict": "index", "source": if warm.is_hit { "map" } else { "compile" },
            "index_key": warm.key.to_string(),
        }),
        Err(verdict) => verdict_json(verdict, None),
    };
    line["id"] = id.into();
    line["tokenizer"] = tokenizer.into();
    output::line(line)
}
