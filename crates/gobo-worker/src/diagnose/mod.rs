//! Says which part of a constraint has no text, or needs more than a limit, and what to do next.
//!
//! A verdict comes from an automaton, in which the parts of a constraint cannot be told apart any more. So the diagnosis asks again:
//! it changes the constraint, compiles it ([`trials`]), and reads from the verdict whether the change matters. Front ends know
//! nothing of it.
//!
//! - *No text.* A part is named if the rest without it has texts. Of several parts a minimal set is kept from which none can be left
//!   out: the deletion filter of Chinneck & Dravnieks (*Locating Minimal Infeasible Constraint Sets in Linear Programs*, ORSA Journal
//!   on Computing 3, 1991), by halves where there are many, and level by level of the tree as in hierarchical delta debugging
//!   (Misherghi & Su, ICSE 2006). Grammars need no trial: which rules have no text is a least fixpoint.
//! - *Over budget.* A part is named if the constraint compiles within the limits without it, or with a smaller number in its place.
//!   Its states at small numbers say how they grow ([`growth`]): by a factor with each repetition, which no limit holds, or as a
//!   polynomial, whose value at the number that was written is what the limit would have to be.
//!
//! Only what trials have shown is said, and where they run out less is said. The verdict itself never changes.
//!
//! Bounds: [`MAX_TRIALS`](trials::MAX_TRIALS) trials and, in all, a quarter of the steps of the failed compile, but [`MIN_STEPS`](trials::MIN_STEPS) at least and
//! [`MAX_STEPS`](trials::MAX_STEPS) at most; each trial within the job's own limits of states and bytes. All of that is counted, so a diagnosis is the
//! same on every host. A verdict that is not the last, over the steps of a pass, is not diagnosed.
//!
//! Above the trials, each kind of constraint is a floor of its own: [`schema`], [`pattern`], [`grammar`]. The latter two find
//! repetitions and parts in a text, which [`repetitions`] judges.

mod finding;
mod grammar;
mod growth;
mod minimal;
mod pattern;
mod repetitions;
mod schema;
mod trials;

#[cfg(test)]
mod tests;

use gobo_artifact::Vocabulary;
use gobo_grammar::Written;
use gobo_types::{
    Budget, Clipped, CompileError, Constraint, Limit, OverBudget, Refusal, RefusalKind, RegexDialect, Source,
};

use self::finding::Finding;
use self::growth::Need;
use self::trials::{Stage, Stop, Trials};

/// The verdict, with the place, the reason and the advice that can be found within the bounds of a diagnosis.
///
/// `vocabulary` is that of the compile, if it was to have one; `lowering` are the steps of its lowering, if that did not fail. Of a
/// verdict of [`lower`](crate::lower) both are `None`.
///
/// ```
/// use gobo_types::{Budget, CompileError, CompileLimits, Constraint};
/// use gobo_worker::{diagnose, lower};
///
/// let (constraint, budget) = (Constraint::regex("ab^c"), Budget::new(CompileLimits::default()));
/// let error = lower(&constraint, &budget).unwrap_err();
/// let CompileError::Refused(refusal) = diagnose(&constraint, None, None, &budget, error) else { panic!() };
/// assert_eq!(refusal.place.as_str(), "offset 2");
/// ```
pub fn diagnose(
    constraint: &Constraint,
    vocabulary: Option<&Vocabulary>,
    lowering: Option<u64>,
    budget: &Budget,
    error: CompileError,
) -> CompileError {
    let (failed, used) = match lowering {
        None => (Stage::Lowering, budget.steps()),
        Some(steps) => (Stage::Index, steps),
    };
    match error {
        CompileError::Refused(refusal)
            if refusal.kind == RefusalKind::Unsatisfiable && failed == Stage::Lowering =>
        {
            let mut trials = Trials::new(constraint, vocabulary, (failed, used), budget);
            without_text(constraint, &mut trials, *refusal)
        }
        CompileError::OverBudget(verdict) if verdict.limit != Limit::MaxSteps || budget.is_last_pass() => {
            let used = if verdict.limit == Limit::MaxSteps { verdict.given } else { used };
            let mut trials = Trials::new(constraint, vocabulary, (failed, used), budget);
            over_budget(constraint, &mut trials, *verdict)
        }
        error => error,
    }
}

fn without_text(constraint: &Constraint, trials: &mut Trials<'_>, refusal: Refusal) -> CompileError {
    let mut found = None;
    let ended = match &constraint.source {
        Source::Regex { pattern, mode, dialect: RegexDialect::Rust, and, not }
            if and.is_empty() && not.is_empty() =>
        {
            pattern::without_text(pattern, *mode, trials, &mut found)
        }
        Source::Grammar { .. } => {
            let written = Written::of(constraint).expect("it is a grammar");
            found = grammar::without_text(&written, &trials.account());
            Ok(())
        }
        Source::Schema { schema, .. } => schema::without_text(schema, trials, &mut found),
        Source::Regex { .. } | Source::Choice { .. } | Source::Json { .. } | Source::Tag { .. } => Ok(()),
    };
    if let Err(Stop::Ended(error)) = ended {
        return error;
    }
    let Some(Finding { place, span, reason, help, .. }) = found else { return refusal.into() };
    Refusal { place: place.into(), span, reason: reason.into(), help: help.into(), ..refusal }.into()
}

fn over_budget(constraint: &Constraint, trials: &mut Trials<'_>, verdict: OverBudget) -> CompileError {
    let mut found = Finding::default();
    let need = Need { limit: verdict.limit };
    let ended = match &constraint.source {
        Source::Regex { pattern, mode, dialect: RegexDialect::Rust, and, not }
            if and.is_empty() && not.is_empty() =>
        {
            pattern::over_budget(pattern, *mode, need, trials, &mut found)
        }
        Source::Grammar { .. } => {
            let written = Written::of(constraint).expect("it is a grammar");
            grammar::over_budget(&written, need, trials, &mut found)
        }
        Source::Schema { schema, .. } => schema::over_budget(schema, need, trials, &mut found),
        Source::Regex { .. } | Source::Choice { .. } | Source::Json { .. } | Source::Tag { .. } => Ok(()),
    };
    if let Err(Stop::Ended(error)) = ended {
        return error;
    }
    let Finding { place, span, reason, help, needed } = found;
    let help = if help.is_empty() && needed.is_none() {
        "Make the constraint smaller; whether a higher limit would do is not known.".to_owned()
    } else {
        help
    };
    let (place, reason, help): (Clipped, Clipped, Clipped) = (place.into(), reason.into(), help.into());
    OverBudget { place, span, reason, needed, help, ..verdict }.into()
}
