//! What is asked of a lexer about a text, or about keywords.

use gobo_types::{CompileError, DenseId as _};

use super::super::grammar::TerminalId;
use super::guards::GuardId;
use super::lexemes::Lexemes;
use super::places::ActiveId;
use crate::regex::Stuck;

impl Lexemes<'_> {
    /// The terminal that is found first where a text stands alone, if one is. Linear in the text.
    ///
    /// # Errors
    /// See [`Stuck`].
    pub(in super::super) fn found(
        &mut self,
        active: ActiveId,
        text: &str,
    ) -> Result<Option<TerminalId>, Stuck> {
        let mut scan = Some(self.starts[active]);
        // Matches, each with what may not follow it; of two the later one is tried first.
        let mut matches: Vec<(TerminalId, GuardId)> = Vec::new();
        for char in text.chars() {
            let minterm = self.scanner.minterms().of_char(char);
            for of in &mut matches {
                of.1 = self.guards.step(of.1, minterm);
            }
            if let Some(before) = scan {
                scan = self.step(before, minterm)?;
            }
            if let Some(scan) = scan {
                for (pattern, guard) in self.ends(scan)?.into_iter().rev() {
                    // A match of an ignored expression stays one, whatever keyword it is.
                    let terminal = if self.ignored.contains(pattern) {
                        TerminalId::new(pattern)
                    } else {
                        self.terminal(active, scan, pattern)
                    };
                    matches.push((terminal, guard));
                }
            }
        }
        Ok(matches.into_iter().rfind(|of| self.guards.may_end(of.1)).map(|of| of.0))
    }

    /// The text terminals whose texts a regular expression matches wholly, each behind the terminal of the expression.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(in super::super) fn keywords(
        &self,
        active: ActiveId,
    ) -> Result<Vec<(TerminalId, TerminalId)>, CompileError> {
        let keywords = &self.lexers[active].keywords;
        let all = keywords
            .iter()
            .flat_map(|(expression, texts)| texts.iter().map(|&text| (TerminalId::new(*expression), text)));
        let all: Vec<_> = all.collect();
        self.budget.charge_steps("scanning lexemes", all.len() as u64)?;
        Ok(all)
    }
}
