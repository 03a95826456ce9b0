//! A compile as its caller sees it: limits, the budget that counts against them, verdict with its place, and report.

mod budget;
mod limits;
mod phase;
mod report;
mod span;
mod verdict;

pub use budget::{Budget, IsOutOfTime};
pub use limits::{CompileLimits, Limit};
pub use phase::{Phase, PhaseTime};
pub use report::{Report, ReportEntry};
pub use span::Span;
pub use verdict::{CompileError, OverBudget, Refusal, RefusalKind};
