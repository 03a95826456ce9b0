use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gobo_types::{
    AnyDialect, Indentation, JsonNesting, Lexer, LookAhead, MatchMode, NumberForm, RegexDialect, SpecialText,
    TextStart, Tokenization, Whitespace,
};

use super::SchemaArgs;
use super::schema::{dialects, words};

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
    /// A grammar (.gbnf, .ebnf, .lark, or see --dialect): the texts of its start rule
    #[arg(long, value_name = "FILE", help_heading = "Constraint")]
    pub grammar: Option<PathBuf>,
    /// A structural tag: text, tokens, and formats in between, as engines send them for calls of tools
    #[arg(long, value_name = "FILE", group = "json_text", help_heading = "Constraint")]
    pub structural_tag: Option<PathBuf>,
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

/// How a regular expression is read, and others beside it.
#[derive(Debug, Clone, Default, Args)]
pub struct RegexArgs {
    /// Whose syntax and meaning the regular expression has, and those of --and and --not: rust (the crate regex, with look-around and named
    /// extensions), ecma (JavaScript) or python (module re) [default: rust]
    #[arg(long, value_name = "DIALECT", value_parser = words::<RegexDialect>(&["rust", "ecma", "python"]), requires = "regex", conflicts_with_all = ["choice", "grammar", "schema", "builtin", "structural_tag"], help_heading = "Constraint")]
    pub regex_dialect: Option<RegexDialect>,
    /// A regular expression that must match as well; may be given several times
    #[arg(long, value_name = "R", allow_hyphen_values = true, requires = "regex", conflicts_with_all = ["choice", "grammar", "schema", "builtin", "structural_tag"], help_heading = "Constraint")]
    pub and: Vec<String>,
    /// A regular expression that must not match; may be given several times
    #[arg(long, value_name = "R", allow_hyphen_values = true, requires = "regex", conflicts_with_all = ["choice", "grammar", "schema", "builtin", "structural_tag"], help_heading = "Constraint")]
    pub not: Vec<String>,
}

/// How a grammar is read.
#[derive(Debug, Clone, Default, Args)]
pub struct GrammarArgs {
    /// How texts of a grammar in Lark are split into lexemes: contextual or basic, as Lark's lexers of these names do, longest, as
    /// llguidance does, or none (a terminal stands for each of its texts, and ignored text may stand between terminals) [default:
    /// contextual, and longest for grammars with what only llguidance has]
    #[arg(long, value_name = "L", requires = "grammar", conflicts_with_all = ["regex", "choice", "schema", "builtin", "structural_tag"], help_heading = "Constraint")]
    pub lexer: Option<Lexer>,
    /// How many characters after a lexeme may decide where it ends, 1 to 16; texts that need more are left out [default: 8]
    #[arg(long, value_name = "N", requires = "grammar", conflicts_with_all = ["regex", "choice", "schema", "builtin", "structural_tag"], help_heading = "Constraint")]
    pub lexer_look_ahead: Option<LookAhead>,
    /// By how many blanks lines are indented for each level, 1 to 16, in grammars in Lark that declare _INDENT and _DEDENT; texts with
    /// other lines are left out [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=i64::from(Indentation::MAX_BY)), requires = "grammar", conflicts_with_all = ["regex", "choice", "schema", "builtin", "structural_tag"], help_heading = "Constraint")]
    pub indent_by: Option<u8>,
    /// How many levels deep lines may be indented there, 1 to 32 [default: 16]
    #[arg(long, value_name = "D", value_parser = clap::value_parser!(u8).range(1..=i64::from(Indentation::MAX_DEPTH)), requires = "grammar", conflicts_with_all = ["regex", "choice", "schema", "builtin", "structural_tag"], help_heading = "Constraint")]
    pub indent_depth: Option<u8>,
    /// Where grammars lie that a grammar in Lark imports: lib/words.lark for %import lib.words.NAME
    #[arg(long, value_name = "DIR", requires = "grammar", conflicts_with_all = ["regex", "choice", "schema", "builtin", "structural_tag"], help_heading = "Constraint")]
    pub import_dir: Option<PathBuf>,
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
    /// Options of regular expressions.
    #[command(flatten)]
    pub regex: RegexArgs,
    /// The rule of the grammar that whole texts match [default: root, and in Lark start]
    #[arg(long, value_name = "RULE", requires = "grammar", conflicts_with_all = ["regex", "choice", "schema", "builtin", "structural_tag"], help_heading = "Constraint")]
    pub start: Option<String>,
    /// How the grammar is written: gbnf (llama.cpp), ebnf (XGrammar, transformers-CFG) or lark (Lark, llguidance) [default: the
    /// ending of the file's name]; or which keywords of the schema count beyond those of json-schema, the default: nullable of
    /// openapi-3.0, where schemas without $schema are read as draft 4 unless --draft says otherwise
    #[arg(long, value_name = "DIALECT", value_parser = dialects(), conflicts_with_all = ["regex", "choice", "builtin", "structural_tag"], help_heading = "Constraint")]
    pub dialect: Option<AnyDialect>,
    /// Options of grammars.
    #[command(flatten)]
    pub grammar: GrammarArgs,
    /// Whitespace in JSON: compact (none), single (at most one space after each comma and colon), lines (in each place one space
    /// at most, or a line end and an indentation), flexible:N (up to N characters wherever JSON allows whitespace; without :N, 8)
    /// or indent:N (a line for each item, N spaces a level) [default: single]
    #[arg(long, value_name = "POLICY", requires = "json_text", conflicts_with_all = ["regex", "choice", "grammar"], help_heading = "Constraint")]
    pub whitespace: Option<Whitespace>,
    /// How numbers are written in JSON: as programs write and read them (integers as digits, no negative zero, fractions of at most 22
    /// digits, exponents of at most three), or with all that JSON has [default: plain]
    #[arg(long, value_name = "FORM", value_parser = words::<NumberForm>(NumberForm::NAMES), requires = "json_text", conflicts_with_all = ["regex", "choice", "grammar"], help_heading = "Constraint")]
    pub numbers: Option<NumberForm>,
    /// Most objects around a value of --builtin json; with --max-arrays, which it needs, a regular index without a stack
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=i64::from(JsonNesting::MAX)), requires_all = ["builtin", "max_arrays"], help_heading = "Constraint")]
    pub max_objects: Option<u8>,
    /// Most arrays around a value of --builtin json
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=i64::from(JsonNesting::MAX)), requires_all = ["builtin", "max_objects"], help_heading = "Constraint")]
    pub max_arrays: Option<u8>,
    /// How strings of the structural tag are written that are texts of special tokens: by the token, spelled by others, or both
    /// [default: both]
    #[arg(long, value_name = "HOW", value_parser = words::<SpecialText>(SpecialText::NAMES), requires = "structural_tag", help_heading = "Constraint")]
    pub special_text: Option<SpecialText>,
    /// Objects in the structural tag without additionalProperties may have other properties than those declared, as the standard says
    #[arg(long, requires = "structural_tag", conflicts_with = "closed", help_heading = "Constraint")]
    pub open: bool,
    /// How the text begins
    #[arg(long, value_enum, default_value = "exact", help_heading = "Constraint")]
    pub text_start: Start,
    /// How texts may be cut into tokens: any way, or canonical, as the tokenizer itself cuts them; strictly behind the tokens of a prompt, or
    /// with its last token taken back
    #[arg(long, value_name = "HOW", value_parser = words::<Tokenization>(Tokenization::NAMES), default_value = "any", help_heading = "Constraint")]
    pub tokenization: Tokenization,
    /// A phrase behind the first occurrence of which the text ends; several, each with --stop
    #[arg(long, value_name = "PHRASE", allow_hyphen_values = true, help_heading = "Constraint")]
    pub stop: Vec<String>,
    /// A file that names classes of tokens: a JSON object with the ids that begin, fill and end each, which regular expressions and
    /// grammars may name then, as docs/semantics.md says
    #[arg(long, value_name = "FILE", help_heading = "Constraint")]
    pub token_class: Option<PathBuf>,
    /// Options of schemas.
    #[command(flatten)]
    pub schema: SchemaArgs,
}
