use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gobo_types::{MatchMode, NumberForm, TextStart, Whitespace};

use super::SchemaArgs;
use super::schema::words;

/// Where a regular expression has to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Match {
    /// The whole text matches
    Full,
    /// A match anywhere suffices
    Search,
}

impl From<Match> for MatchMode {
    fn from(mode: Match) -> Self {
        match mode {
            Match::Full => Self::Full,
            Match::Search => Self::Search,
        }
    }
}

/// How a text begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Start {
    /// The token bytes exactly: text after a prompt
    Exact,
    /// The token bytes without one leading space, for decoders that drop it
    StripOneSpace,
}

impl From<Start> for TextStart {
    fn from(start: Start) -> Self {
        match start {
            Start::Exact => Self::Exact,
            Start::StripOneSpace => Self::StripOneSpace,
        }
    }
}

/// The rule: one of these.
#[derive(Debug, Clone, Args)]
#[group(id = "constraint", multiple = false)]
pub struct SourceArgs {
    /// A regular expression that the whole text must match
    #[arg(long, value_name = "R", allow_hyphen_values = true, help_heading = "Constraint")]
    pub regex: Option<String>,
    /// A file of texts, one per line, of which exactly one is written
    #[arg(long, value_name = "FILE", help_heading = "Constraint")]
    pub choice: Option<PathBuf>,
    /// A grammar in llama.cpp's GBNF (.gbnf): the texts of its start rule
    #[arg(long, value_name = "FILE", help_heading = "Constraint")]
    pub grammar: Option<PathBuf>,
    /// A JSON Schema: the JSON texts of its valid values
    #[arg(long, value_name = "FILE", group = "json_text", help_heading = "Constraint")]
    pub schema: Option<PathBuf>,
    /// A language that gobo knows by name
    #[arg(long, value_enum, value_name = "NAME", group = "json_text", help_heading = "Constraint")]
    pub builtin: Option<Builtin>,
}

/// A constraint that `--builtin` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Builtin {
    /// Any JSON value, nested as deep as one likes
    Json,
}

/// A rule, and the options that change its language.
#[derive(Debug, Clone, Args)]
pub struct ConstraintArgs {
    /// The rule.
    #[command(flatten)]
    pub source: SourceArgs,
    /// Where the regular expression has to match
    #[arg(long = "match", value_enum, default_value = "full", help_heading = "Constraint")]
    pub mode: Match,
    /// The rule of the grammar that whole texts match [default: root]
    #[arg(long, value_name = "RULE", requires = "grammar", conflicts_with_all = ["regex", "choice", "schema", "builtin"], help_heading = "Constraint")]
    pub start: Option<String>,
    /// Whitespace in JSON: compact (none), single (at most one space after each comma and colon), lines (in each place one space
    /// at most, or a line end and an indentation), flexible:N (up to N characters wherever JSON allows whitespace; without :N, 8)
    /// or indent:N (a line for each item, N spaces a level) [default: single]
    #[arg(long, value_name = "POLICY", requires = "json_text", conflicts_with_all = ["regex", "choice", "grammar"], help_heading = "Constraint")]
    pub whitespace: Option<Whitespace>,
    /// How numbers are written in JSON: as programs write and read them (integers as digits, no negative zero, fractions of at most 22
    /// digits, exponents of at most three), or with all that JSON has [default: plain]
    #[arg(long, value_name = "FORM", value_parser = words::<NumberForm>(NumberForm::NAMES), requires = "json_text", conflicts_with_all = ["regex", "choice", "grammar"], help_heading = "Constraint")]
    pub numbers: Option<NumberForm>,
    /// How the text begins
    #[arg(long, value_enum, default_value = "exact", help_heading = "Constraint")]
    pub text_start: Start,
    /// Options of schemas.
    #[command(flatten)]
    pub schema: SchemaArgs,
}
