//! Commands about one constraint or index, in this process: compile, mask, explain, sample, diff, lint; and check, which replays many.

pub(crate) mod check;
pub(crate) mod check_remote;
pub(crate) mod compile;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod lint;
pub(crate) mod mask;
mod operand;
pub(crate) mod sample;
mod target;
