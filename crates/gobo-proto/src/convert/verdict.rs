//! Refusals and exceeded budgets, and their messages.

use gobo_types::{Limit, OverBudget, Refusal, RefusalKind, Span};

use super::error::ConvertError;
use crate::v1;

impl From<Span> for v1::Span {
    fn from(Span { start, end }: Span) -> Self {
        Self { start, end }
    }
}

impl From<v1::Span> for Span {
    fn from(v1::Span { start, end }: v1::Span) -> Self {
        Self { start, end }
    }
}

impl From<Refusal> for v1::Refusal {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal.kind {
            RefusalKind::Malformed => v1::refusal::Kind::Malformed,
            RefusalKind::Unsupported => v1::refusal::Kind::Unsupported,
            RefusalKind::Unsatisfiable => v1::refusal::Kind::Unsatisfiable,
            RefusalKind::Unspellable => v1::refusal::Kind::Unspellable,
        };
        Self {
            kind: kind.into(),
            r#where: refusal.place.into(),
            reason: refusal.reason.into(),
            span: refusal.span.map(Into::into),
            help: refusal.help.into(),
        }
    }
}

impl TryFrom<v1::Refusal> for Refusal {
    type Error = ConvertError;

    fn try_from(refusal: v1::Refusal) -> Result<Self, ConvertError> {
        let kind = match refusal.kind() {
            v1::refusal::Kind::Malformed => RefusalKind::Malformed,
            v1::refusal::Kind::Unsupported => RefusalKind::Unsupported,
            v1::refusal::Kind::Unsatisfiable => RefusalKind::Unsatisfiable,
            v1::refusal::Kind::Unspellable => RefusalKind::Unspellable,
            v1::refusal::Kind::Unspecified => {
                return Err(ConvertError::Unknown { field: "refused.kind", found: refusal.kind });
            }
        };
        Ok(Self {
            kind,
            place: refusal.r#where.into(),
            span: refusal.span.map(Into::into),
            reason: refusal.reason.into(),
            help: refusal.help.into(),
        })
    }
}

impl From<OverBudget> for v1::OverBudget {
    fn from(over: OverBudget) -> Self {
        let limit = match over.limit {
            Limit::MaxStates => v1::over_budget::Limit::MaxStates,
            Limit::MaxSteps => v1::over_budget::Limit::MaxSteps,
            Limit::MaxBytes => v1::over_budget::Limit::MaxBytes,
        };
        Self {
            limit: limit.into(),
            given: over.given,
            phase: over.phase.into(),
            r#where: over.place.into(),
            span: over.span.map(Into::into),
            reason: over.reason.into(),
            needed: over.needed,
            help: over.help.into(),
        }
    }
}

impl TryFrom<v1::OverBudget> for OverBudget {
    type Error = ConvertError;

    fn try_from(over: v1::OverBudget) -> Result<Self, ConvertError> {
        let limit = match over.limit() {
            v1::over_budget::Limit::MaxStates => Limit::MaxStates,
            v1::over_budget::Limit::MaxSteps => Limit::MaxSteps,
            v1::over_budget::Limit::MaxBytes => Limit::MaxBytes,
            v1::over_budget::Limit::Unspecified => {
                return Err(ConvertError::Unknown { field: "over_budget.limit", found: over.limit });
            }
        };
        Ok(Self {
            limit,
            given: over.given,
            phase: over.phase.into(),
            place: over.r#where.into(),
            span: over.span.map(Into::into),
            reason: over.reason.into(),
            needed: over.needed,
            help: over.help.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_read_as_it_was_sent() {
        for kind in [
            RefusalKind::Malformed,
            RefusalKind::Unsupported,
            RefusalKind::Unsatisfiable,
            RefusalKind::Unspellable,
        ] {
            let refusal = Refusal {
                kind,
                place: "offset 3".into(),
                span: Some((3..5).into()),
                reason: "no".into(),
                help: "Ask for something else.".into(),
            };
            assert_eq!(Refusal::try_from(v1::Refusal::from(refusal.clone())), Ok(refusal));
        }
        for limit in [Limit::MaxStates, Limit::MaxSteps, Limit::MaxBytes] {
            let over = OverBudget {
                place: "/maxLength".into(),
                span: Some((1..1).into()),
                reason: "it counts".into(),
                needed: Some(9),
                help: "Raise it.".into(),
                ..OverBudget::at(limit, 7, "rows")
            };
            assert_eq!(OverBudget::try_from(v1::OverBudget::from(over.clone())), Ok(over));
        }
    }

    #[test]
    fn nothing_is_guessed() {
        assert!(Refusal::try_from(v1::Refusal::default()).is_err());
        assert!(OverBudget::try_from(v1::OverBudget::default()).is_err());
    }
}
