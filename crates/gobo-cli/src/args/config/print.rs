//! Writes what a daemon would run with, as a file that it reads.

use std::fmt::Write as _;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::given::Given;
use super::options::{of_files, variable};

/// Each option that has a value, with its origin; defaults as comments. No option of a daemon is a secret: they name the files that hold some.
pub(in crate::args) fn print(command: &Command, serve: &ArgMatches, given: &Given) -> String {
    let mut text = String::new();
    for arg in of_files(command) {
        let (Some(long), Some(value)) = (arg.get_long(), value(&arg, serve)) else { continue };
        // Writing to a string does not fail. A default that is written down would be none any more.
        let _ = match origin(&arg, long, serve, given) {
            Some(origin) => writeln!(text, "{long} = {value}  # {origin}"),
            None => writeln!(text, "# {long} = {value}"),
        };
    }
    text
}

/// The value of an option as TOML.
fn value(arg: &Arg, serve: &ArgMatches) -> Option<String> {
    let id = arg.get_id().as_str();
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return Some(serve.get_flag(id).to_string());
    }
    let values: Vec<String> = serve.get_raw(id)?.map(|raw| quoted(&raw.to_string_lossy())).collect();
    match (arg.get_action(), values.as_slice()) {
        (ArgAction::Append, values) => Some(format!("[{}]", values.join(", "))),
        (_, values) => values.last().cloned(),
    }
}

/// A number as it is, a text in quotes.
fn quoted(value: &str) -> String {
    let is_number = !value.is_empty()
        && value.bytes().all(|byte| byte.is_ascii_digit())
        && (value == "0" || !value.starts_with('0'))
        && value.parse::<i64>().is_ok();
    if is_number { value.to_owned() } else { toml::Value::String(value.to_owned()).to_string() }
}

/// Where a value comes from; `None`: it is the default.
fn origin(arg: &Arg, long: &str, serve: &ArgMatches, given: &Given) -> Option<String> {
    let id = arg.get_id().as_str();
    if let (Some(path), Some(setting)) = (&given.path, given.settings.iter().find(|setting| setting.id == id))
    {
        return Some(format!("{}, line {}", path.display(), setting.line));
    }
    match serve.value_source(id) {
        Some(ValueSource::CommandLine) => Some("command line".to_owned()),
        Some(ValueSource::EnvVariable) => {
            Some(arg.get_env().map_or_else(|| variable(long), |name| name.to_string_lossy().into_owned()))
        }
        _ => None,
    }
}
