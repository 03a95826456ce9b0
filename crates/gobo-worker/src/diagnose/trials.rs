//! Trials: compiles of a changed constraint, on an account that bounds all of them together.

use gobo_artifact::Vocabulary;
use gobo_automata::Dfa;
use gobo_compiler::CompileOptions;
use gobo_types::{
    Budget, CompileError, CompileLimits, Constraint, Limit, RefusalKind, SchemaOptions, Source,
};

use crate::lettered::compile_lowered;
use crate::lower::{lower, lower_over};

/// Least steps of a diagnosis: some 10 to 20 ms.
pub(super) const MIN_STEPS: u64 = 2_000_000;

/// Most steps of a diagnosis: about a third of a second.
pub(super) const MAX_STEPS: u64 = 64_000_000;

/// Most compiles of one diagnosis.
pub(super) const MAX_TRIALS: u32 = 256;

/// How far a trial goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// To the automaton.
    Lowering,
    /// To the index, where there is a vocabulary.
    Index,
}

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// It has texts, and went as far as the compile that failed: with what it took.
    Texts(Cost),
    /// It has no text.
    NoText,
    /// Over a limit, or refused for another reason.
    Unclear,
}

/// What a trial took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    states: u64,
    steps: u64,
    bytes: u64,
    automaton: u64,
}

impl Cost {
    #[cfg(test)]
    pub(super) fn new(states: u64, steps: u64, bytes: u64) -> Self {
        Self { states, steps, bytes, automaton: states }
    }

    #[cfg(test)]
    pub(super) fn of_automaton(self, automaton: u64) -> Self {
        Self { automaton, ..self }
    }

    /// The states of the automaton that came out: fewer than were needed on the way, where that had another part's.
    pub(super) fn automaton(self) -> u64 {
        self.automaton
    }

    /// The amount that a limit counts.
    pub(super) fn of(self, limit: Limit) -> u64 {
        match limit {
            Limit::MaxStates => self.states,
            Limit::MaxSteps => self.steps,
            Limit::MaxBytes => self.bytes,
        }
    }
}

/// Why a diagnosis ends before it is complete.
#[derive(Debug)]
pub(super) enum Stop {
    /// Its bounds are reached: what was found stands.
    Spent,
    /// The compile itself is cancelled or out of time.
    Ended(CompileError),
}

/// The trials of one diagnosis.
pub(super) struct Trials<'a> {
    constraint: &'a Constraint,
    vocabulary: Option<&'a Vocabulary>,
    failed: Stage,
    budget: &'a Budget,
    limits: CompileLimits,
    steps_left: u64,
    left: u32,
}

impl<'a> Trials<'a> {
    /// Trials on the constraint of a compile that failed at a stage after so many steps.
    pub(super) fn new(
        constraint: &'a Constraint,
        vocabulary: Option<&'a Vocabulary>,
        (failed, used): (Stage, u64),
        budget: &'a Budget,
    ) -> Self {
        let steps_left = (used / 4).clamp(MIN_STEPS, MAX_STEPS);
        Self {
            constraint,
            vocabulary,
            failed,
            budget,
            limits: budget.last_limits(),
            steps_left,
            left: MAX_TRIALS,
        }
    }

    /// The limits of the constraint.
    pub(super) fn limits(&self) -> CompileLimits {
        self.limits
    }

    /// Steps that are left for all further trials.
    pub(super) fn steps_left(&self) -> u64 {
        self.steps_left
    }

    /// An account of the steps that are left, within the limits of the constraint.
    pub(super) fn account(&self) -> Budget {
        self.budget.beside(CompileLimits { max_steps: self.steps_left, ..self.limits })
    }

    /// The options of a schema.
    pub(super) fn schema_options(&self) -> Option<Box<SchemaOptions>> {
        match &self.constraint.source {
            Source::Schema { options, .. } => Some(options.clone()),
            _ => None,
        }
    }

    /// The stage at which the compile failed.
    pub(super) fn failed(&self) -> Stage {
        self.failed
    }

    /// Compiles another source in the place of the constraint's own as far as a stage, with at most so many steps.
    pub(super) fn compile(&mut self, source: Source, to: Stage, most_steps: u64) -> Result<Ended, Stop> {
        let changed = Constraint { source, ..self.constraint.clone() };
        let vocabulary = self.vocabulary.filter(|_| to == Stage::Index);
        self.attempt(most_steps, |budget| {
            let Some(vocabulary) = vocabulary else { return Ok(Some(lower(&changed, budget)?.dfa.len())) };
            let lowered = lower_over(vocabulary, &changed, budget)?;
            compile_lowered(vocabulary, &changed, &lowered, &CompileOptions::default(), budget)?;
            Ok(Some(lowered.dfa.len()))
        })
    }

    /// Lowers the subschema at a pointer of a document, with the options of the constraint.
    pub(super) fn subschema(&mut self, document: &str, pointer: &str) -> Result<Ended, Stop> {
        let Source::Schema { options, .. } = &self.constraint.source else { return Ok(Ended::Unclear) };
        let text_start = self.constraint.text_start;
        self.attempt(self.steps_left, |budget| {
            let grammar = gobo_schema::subschema(document, pointer, options, budget)?;
            let dfa = Dfa::grammar(&grammar, text_start, budget)?;
            Ok((!dfa.is_empty()).then(|| dfa.len()))
        })
    }

    /// `work` gives the states of the automaton, if there are texts.
    fn attempt(
        &mut self,
        most_steps: u64,
        work: impl FnOnce(&Budget) -> Result<Option<usize>, CompileError>,
    ) -> Result<Ended, Stop> {
        if self.left == 0 || self.steps_left == 0 {
            return Err(Stop::Spent);
        }
        self.left -= 1;
        let max_steps = self.limits.max_steps.min(most_steps).min(self.steps_left);
        let budget = self.budget.beside(CompileLimits { max_steps, ..self.limits });
        let ended = work(&budget);
        self.steps_left = self.steps_left.saturating_sub(budget.steps());
        match ended {
            Ok(Some(automaton)) => Ok(Ended::Texts(Cost {
                states: budget.peak_states(),
                steps: budget.steps(),
                bytes: budget.peak_bytes(),
                automaton: automaton as u64,
            })),
            Ok(None) => Ok(Ended::NoText),
            Err(CompileError::Refused(refusal)) if refusal.kind == RefusalKind::Unsatisfiable => {
                Ok(Ended::NoText)
            }
            Err(CompileError::Refused(_) | CompileError::OverBudget(_)) => Ok(Ended::Unclear),
            Err(error) => Err(Stop::Ended(error)),
        }
    }
}
