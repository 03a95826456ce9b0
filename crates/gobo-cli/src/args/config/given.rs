//! A file beside a command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Command;
use clap::parser::ValueSource;

use super::file::{ConfigError, Setting, read};
use super::options::of_files;

/// What a file adds to a command line.
#[derive(Debug, Default)]
pub(in crate::args) struct Given {
    /// The file, if there is one.
    pub(super) path: Option<PathBuf>,
    /// What it says of options that are given nowhere else.
    pub(super) settings: Vec<Setting>,
}

/// The command line of a daemon with what its file adds.
///
/// # Errors
/// If the file cannot be read, or a setting is none.
pub(in crate::args) fn complete(
    command: &Command,
    args: Vec<OsString>,
) -> Result<(Vec<OsString>, Given), ConfigError> {
    // What is wrong with it is told of when all is there.
    let first = command.clone().ignore_errors(true).try_get_matches_from(&args);
    let Ok(first) = first else { return Ok((args, Given::default())) };
    let Some(serve) = first.subcommand_matches("serve") else { return Ok((args, Given::default())) };
    let Some(path) = serve.get_one::<PathBuf>("config") else { return Ok((args, Given::default())) };
    let is_given = |setting: &Setting| {
        let source = serve.value_source(&setting.id);
        matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
    };
    let mut settings = settings(command, path)?;
    settings.retain(|setting| !is_given(setting));
    let added = settings.iter().flat_map(Setting::args).map(OsString::from);
    let args = args.into_iter().chain(added).collect();
    Ok((args, Given { path: Some(path.clone()), settings }))
}

/// The settings of a file, each of which the daemon takes by itself.
fn settings(command: &Command, path: &Path) -> Result<Vec<Setting>, ConfigError> {
    let settings = read(path, &of_files(command))?;
    for setting in &settings {
        setting.check(command, path)?;
    }
    Ok(settings)
}

/// The settings of a file, as a command line of `gobo serve`.
///
/// # Errors
/// If the file cannot be read, or a setting is none.
pub(crate) fn settings_as_args(command: &Command, path: &Path) -> Result<Vec<String>, ConfigError> {
    Ok(settings(command, path)?.iter().flat_map(Setting::args).collect())
}
