//! The configuration of a daemon: what its options are where the command line is silent.
//!
//! Defaults < file < environment < command line, from the one definition that clap has. Of an option that neither the command line nor the
//! environment gives, the value of the file is put on the command line: types, ranges, conflicts and errors are those of the options. `options` says
//! which options take part, `file` reads a file, `given` puts both together, and `print` writes the whole back with the origin of each value.

mod file;
mod given;
mod options;
mod print;

pub(crate) use self::given::settings_as_args;
pub(super) use self::given::{Given, complete};
pub(super) use self::options::with_variables;
pub(super) use self::print::print;

#[cfg(test)]
mod tests;
