//! Refusals and exceeded budgets, and their messages.

use gobo_types::{Limit, OverBudget, Refusal, RefusalKind};

use super::error::ConvertError;
use crate::v1;

impl From<Refusal> for v1::Refusal {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal.kind {
            RefusalKind::Malformed => v1::refusal::Kind::Malformed,
            RefusalKind::Unsupported => v1::refusal::Kind::Unsupported,
            RefusalKind::Unsatisfiable => v1::refusal::Kind::Unsatisfiable,
            RefusalKind::Unspellable => v1::refusal::Kind::Unspellable,
        };
        Self { kind: kind.into(), r#where: refusal.place.into(), reason: refusal.reason.into() }
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
        Ok(Self { kind, place: refusal.r#where.into(), reason: refusal.reason.into() })
    }
}

impl From<OverBudget> for v1::OverBudget {
    fn from(over: OverBudget) -> Self {
        let limit = match over.limit {
            Limit::MaxStates => v1::over_budget::Limit::MaxStates,
            Limit::MaxSteps => v1::over_budget::Limit::MaxSteps,
            Limit::MaxBytes => v1::over_budget::Limit::MaxBytes,
        };
        Self { limit: limit.into(), given: over.given, r#where: over.phase.into() }
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
        Ok(Self { limit, given: over.given, phase: over.r#where.into() })
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
            let refusal = Refusal { kind, place: "offset 3".into(), reason: "no".into() };
            assert_eq!(Refusal::try_from(v1::Refusal::from(refusal.clone())), Ok(refusal));
        }
        for limit in [Limit::MaxStates, Limit::MaxSteps, Limit::MaxBytes] {
            let over = OverBudget { limit, given: 7, phase: "rows".into() };
            assert_eq!(OverBudget::try_from(v1::OverBudget::from(over.clone())), Ok(over));
        }
    }

    #[test]
    fn nothing_is_guessed() {
        assert!(Refusal::try_from(v1::Refusal::default()).is_err());
        assert!(OverBudget::try_from(v1::OverBudget::default()).is_err());
    }
}
