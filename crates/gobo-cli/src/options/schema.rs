use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use gobo_types::{
    AnyDialect, DateTimes, Draft, FormatMode, Lexer, Notation, NumberForm, PropertyOrder, SchemaOptions,
    Spelling, Whitespace,
};

/// A parser for the words of an option.
pub(super) fn words<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names.iter().copied()).try_map(|word| word.parse())
}

/// A parser for the words of `--dialect`, of grammars and of schemas.
pub(super) fn dialects() -> impl TypedValueParser<Value = AnyDialect> {
    PossibleValuesParser::new(AnyDialect::all().map(AnyDialect::name)).try_map(|word| word.parse())
}

/// How a schema is read, and which texts of a valid value are allowed.
#[derive(Debug, Clone, Args)]
pub struct SchemaArgs {
    /// The draft of schemas that do not name theirs in $schema [default: draft2020-12]
    #[arg(long, value_name = "DRAFT", value_parser = words::<Draft>(Draft::NAMES), help_heading = "JSON Schema")]
    pub draft: Option<Draft>,
    /// The order of the declared properties of an object: as the schema first names them, or any, which is refused for
    /// objects with many names [default: declared]
    #[arg(long, value_name = "ORDER", value_parser = words::<PropertyOrder>(PropertyOrder::NAMES), help_heading = "JSON Schema")]
    pub order: Option<PropertyOrder>,
    /// The notation of values: JSON, or YAML in block style, one text for each value [default: json]
    #[arg(long = "as", value_name = "NOTATION", value_parser = words::<Notation>(Notation::NAMES), help_heading = "JSON Schema")]
    pub notation: Option<Notation>,
    /// How characters are written: each in its shortest form, or with any escape that JSON has [default: canonical]
    #[arg(long, value_name = "SPELLING", value_parser = words::<Spelling>(Spelling::NAMES), help_heading = "JSON Schema")]
    pub spelling: Option<Spelling>,
    /// What format means: a constraint, for every format that the standard names, or a remark [default: assert]
    #[arg(long, value_name = "MODE", value_parser = words::<FormatMode>(FormatMode::NAMES), help_heading = "JSON Schema")]
    pub format: Option<FormatMode>,
    /// What the formats date-time and time take: texts of RFC 3339, which have an offset, or naive ones too, which have none
    /// [default: rfc3339]
    #[arg(long, value_name = "DATE_TIMES", value_parser = words::<DateTimes>(DateTimes::NAMES), help_heading = "JSON Schema")]
    pub date_times: Option<DateTimes>,
    /// Take objects without additionalProperties to have the declared properties alone; the standard says otherwise
    #[arg(long, help_heading = "JSON Schema")]
    pub closed: bool,
    /// Greatest nesting depth of a value; each level has states of its own [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=i64::from(SchemaOptions::MAX_DEPTH)), help_heading = "JSON Schema")]
    pub max_depth: Option<u32>,
    /// Documents that references may lead to: lines {"uri": …, "document": …}. Nothing is fetched
    #[arg(long, value_name = "FILE", help_heading = "JSON Schema")]
    pub documents: Option<PathBuf>,
    /// Ignore keywords that cannot be enforced, and report them, where the schema would be refused otherwise
    #[arg(long, help_heading = "JSON Schema")]
    pub allow_widening: bool,
}

/// The options of constraints that say nothing else themselves, in files that hold constraints of several kinds.
#[derive(Debug, Clone, Args)]
pub struct Defaults {
    /// How constraints are written that do not say it: grammars (gbnf, ebnf, lark), or schemas (json-schema, openapi-3.0), as
    /// --dialect of gobo compile [default: gbnf, json-schema]
    #[arg(long, value_name = "DIALECT", value_parser = dialects(), help_heading = "Constraint")]
    pub dialect: Option<AnyDialect>,
    /// How texts of grammars in Lark that do not say it are split into lexemes: contextual, basic, longest or none, as --lexer of gobo
    /// compile [default: contextual, and longest for grammars with what only llguidance has]
    #[arg(long, value_name = "L", help_heading = "Constraint")]
    pub lexer: Option<Lexer>,
    /// Options of schemas.
    #[command(flatten)]
    pub schema: SchemaArgs,
    /// Whitespace in the texts of schemas: compact, single, lines, flexible:N or indent:N, as --whitespace of gobo compile [default:
    /// single]
    #[arg(long, value_name = "POLICY", help_heading = "JSON Schema")]
    pub whitespace: Option<Whitespace>,
    /// How numbers are written in the texts of schemas, and in any JSON: as --numbers of gobo compile [default: plain]
    #[arg(long, value_name = "FORM", value_parser = words::<NumberForm>(NumberForm::NAMES), help_heading = "JSON Schema")]
    pub numbers: Option<NumberForm>,
}
