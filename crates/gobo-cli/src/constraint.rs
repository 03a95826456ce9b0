//! From the command line to a constraint.
use std::path::Path;

use anyhow::{Context, bail};
use gobo_types::{Constraint, MatchMode};

use crate::args::ConstraintArgs;

impl ConstraintArgs {
    /// The constraint that was given.
    pub(crate) fn read(&self) -> anyhow::Result<Constraint> {
        let constraint = match (&self.source.regex, &self.source.choice) {
            (Some(pattern), None) => regex(pattern, self.mode.into()),
            (None, Some(file)) => choice_file(file)?,
            _ => bail!("a constraint is missing\nhint: give one of --regex R, --choice FILE"),
        };
        Ok(constraint.starting(self.text_start.into()))
    }
}

/// The constraint of a pattern.
pub(crate) fn regex(pattern: &str, mode: MatchMode) -> Constraint {
    match mode {
        MatchMode::Full => Constraint::regex(pattern),
        MatchMode::Search => Constraint::search(pattern),
    }
}

/// The items of a choice file, one per line. An empty line is refused: it would silently allow the empty text.
pub(crate) fn choice_file(file: &Path) -> anyhow::Result<Constraint> {
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let text = String::from_utf8(text).with_context(|| format!("{} is not UTF-8", file.display()))?;
    let items: Vec<&str> = text.lines().collect();
    if let Some(at) = items.iter().position(|item| item.is_empty()) {
        bail!("{}:{}: an empty line is not an item", file.display(), at + 1);
    }
    if items.is_empty() {
        bail!("{} has no items", file.display());
    }
    Ok(Constraint::choice(items))
}
