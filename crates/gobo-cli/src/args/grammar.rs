use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand};
use gobo_grammar::lint::MAX_LENGTH;
use gobo_types::{Dialect, Lexer};

#[derive(Debug, Subcommand)]
pub(crate) enum GrammarCommand {
    /// What is suspicious about a grammar: names that nobody needs, rules without texts, recursion, two parse trees of one text;
    /// and its class and cost
    Lint(LintArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "A grammar may be ambiguous although no text of at most --length characters has two parse trees: no procedure decides it.\n\
    Exit status: 0 nothing suspicious, 1 names that nobody needs or rules without texts, 2 trouble, or no index."
)]
pub(crate) struct LintArgs {
    /// A grammar (.gbnf, .ebnf, .lark, or see --dialect)
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The rule of whole texts [default: root, and in Lark start]
    #[arg(long, value_name = "RULE")]
    pub(crate) start: Option<String>,
    /// How the grammar is written, as --dialect of gobo compile [default: the ending of the file's name]
    #[arg(long, value_name = "DIALECT", value_parser = PossibleValuesParser::new(Dialect::ALL.map(Dialect::name)).try_map(|word| word.parse::<Dialect>()))]
    pub(crate) dialect: Option<Dialect>,
    /// How texts of a grammar in Lark are split into lexemes, as --lexer of gobo compile
    #[arg(long, value_name = "L")]
    pub(crate) lexer: Option<Lexer>,
    /// Where grammars lie that a grammar in Lark imports
    #[arg(long, value_name = "DIR")]
    pub(crate) import_dir: Option<PathBuf>,
    /// Compile it for this tokenizer, too: a built-in name, an imported name, or a path
    #[arg(long, value_name = "T")]
    pub(crate) tokenizer: Option<String>,
    /// Most characters of the texts that are looked at for two parse trees
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_LENGTH)))]
    pub(crate) length: u32,
}
