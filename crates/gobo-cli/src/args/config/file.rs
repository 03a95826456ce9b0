//! Reads a file of settings.

use std::io;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command};
use gobo_cli::inputs::like;
use toml::de::{DeTable, DeValue};

/// Most bytes of a file.
const MAX_BYTES: u64 = 1 << 20;

/// What is wrong with a file of settings.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is longer than {MAX_BYTES} bytes", path.display())]
    TooLong { path: PathBuf },
    #[error("{} is no TOML: {why}", path.display())]
    Syntax { path: PathBuf, why: String },
    #[error("{}, line {line}: {why}", path.display())]
    Setting { path: PathBuf, line: usize, why: String },
}

/// One line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The option as clap knows it.
    pub(super) id: String,
    long: String,
    /// A switch has none.
    values: Vec<String>,
    pub(super) line: usize,
}

impl Setting {
    /// The same on a command line.
    pub(super) fn args(&self) -> Vec<String> {
        if self.values.is_empty() {
            return vec![format!("--{}", self.long)];
        }
        self.values.iter().map(|value| format!("--{}={value}", self.long)).collect()
    }

    /// Whether the daemon takes it, whatever it needs besides.
    pub(super) fn check(&self, command: &Command, path: &Path) -> Result<(), ConfigError> {
        let args = ["gobo".to_owned(), "serve".to_owned()].into_iter().chain(self.args());
        match command.clone().try_get_matches_from(args) {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::ArgumentConflict
                ) =>
            {
                let said = error.to_string();
                let why = said.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
                Err(ConfigError::Setting { path: path.to_owned(), line: self.line, why })
            }
            // What it needs may stand beside it.
            _ => Ok(()),
        }
    }
}

/// Reads a file of settings of these options: `name = value`, the names those of the options. Switches that are false are left out.
///
/// # Errors
/// If the file cannot be read, has a name that no option has, or a value that is none.
pub(super) fn read(path: &Path, known: &[Arg]) -> Result<Vec<Setting>, ConfigError> {
    use io::Read as _;

    let failed = |source| ConfigError::Read { path: path.to_owned(), source };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(ConfigError::TooLong { path: path.to_owned() });
    }
    let table = DeTable::parse(&text)
        .map_err(|error| ConfigError::Syntax { path: path.to_owned(), why: error.to_string() })?;
    let mut settings = Vec::new();
    for (key, value) in table.get_ref() {
        let line = text[..key.span().start].lines().count().max(1)
            + usize::from(text[..key.span().start].ends_with('\n'));
        let wrong = |why: String| ConfigError::Setting { path: path.to_owned(), line, why };
        let key = key.get_ref().as_ref();
        let Some(arg) = known.iter().find(|arg| arg.get_long() == Some(key)) else {
            let names = known.iter().filter_map(|arg| arg.get_long()).map(str::to_owned);
            let meant = like(key, names);
            let meant = meant.first().map(|name| format!("\nhint: did you mean {name}?")).unwrap_or_default();
            return Err(wrong(format!("{key:?} is no option of `gobo serve`{meant}")));
        };
        let values = match (arg.get_action(), value.get_ref()) {
            (ArgAction::SetTrue, DeValue::Boolean(true)) => Vec::new(),
            (ArgAction::SetTrue, DeValue::Boolean(false)) => continue,
            (ArgAction::SetTrue, _) => return Err(wrong(format!("{key} is true or false"))),
            (ArgAction::Append, DeValue::Array(items)) => {
                let items: Option<Vec<_>> = items.iter().map(|item| scalar(item.get_ref())).collect();
                items.ok_or_else(|| wrong(format!("{key} is a list of texts")))?
            }
            (_, value) => {
                vec![scalar(value).ok_or_else(|| wrong(format!("{key} is a text or a number")))?]
            }
        };
        if values.is_empty() && !matches!(arg.get_action(), ArgAction::SetTrue) {
            continue;
        }
        let (id, long) = (arg.get_id().to_string(), key.to_owned());
        settings.push(Setting { id, long, values, line });
    }
    Ok(settings)
}

/// A text, or a number as it is written.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}
