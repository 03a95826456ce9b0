//! A compile as its caller sees it: limits, the budget that counts against them, verdict, and report.

mod budget;
mod limits;
mod report;
mod verdict;

pub use budget::{Budget, IsOutOfTime};
pub use limits::{CompileLimits, Limit};
pub use report::{Report, ReportEntry};
pub use verdict::{CompileError, OverBudget, Refusal, RefusalKind};
