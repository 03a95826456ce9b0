use std::path::PathBuf;

use clap::Args;
use gobo_cli::inputs::Pieces;
use gobo_cli::options::{ConstraintArgs, Defaults, Start};

use super::operand::Operand;

#[derive(Debug, Clone, Args)]
pub(crate) struct TokenizerArg {
    /// A built-in name (o200k_base, cl100k_base, r50k_base), an imported name, or a path
    #[arg(long, value_name = "T")]
    pub(crate) tokenizer: String,
}

/// A vocabulary and a constraint, or an index file that stands for both.
#[derive(Debug, Clone, Args)]
pub(crate) struct TargetArgs {
    /// A built-in name (o200k_base, cl100k_base, r50k_base), an imported name, or a path
    #[arg(long, value_name = "T", required_unless_present = "index")]
    pub(crate) tokenizer: Option<String>,
    #[command(flatten)]
    pub(crate) constraint: ConstraintArgs,
    /// A compiled index, instead of a tokenizer and a constraint: its file, or the beginning of its key in the store
    #[arg(long, value_name = "FILE|KEY", conflicts_with = "constraint")]
    pub(crate) index: Option<PathBuf>,
    /// The tokens of the prompt, those since the last special one at least: ids with commas between, for --tokenization canonical-strict and
    /// canonical-heal. What canonical-heal takes back is written anew before the text
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) prompt: Vec<u32>,
}

/// A vocabulary and a constraint.
#[derive(Debug, Args)]
pub(crate) struct PairArgs {
    #[command(flatten)]
    pub(crate) tokenizer: TokenizerArg,
    #[command(flatten)]
    pub(crate) constraint: ConstraintArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CompileArgs {
    #[command(flatten)]
    pub(crate) pair: PairArgs,
    /// Write the index here, in one step: processes that have mapped an older file keep it; - for stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Compile N times and show the spread: cold, from the constraint's text and nothing kept, and warm, with the rows that
    /// earlier compiles of the process have kept
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
}

#[derive(Debug, Args)]
pub(crate) struct MaskArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The text so far
    #[arg(long, value_name = "PREFIX", default_value = "", allow_hyphen_values = true)]
    pub(crate) text: String,
    /// The text so far with tokens in it, for token edges: a list of texts and tokens, by id or by text, as in
    /// '[{"token": 7}, "text"]'. --text comes after it
    #[arg(long, value_name = "LIST")]
    pub(crate) tokens: Option<Pieces>,
    /// Print all ids, not only the first 100
    #[arg(long)]
    pub(crate) ids: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The text so far
    #[arg(long, value_name = "PREFIX", default_value = "", allow_hyphen_values = true)]
    pub(crate) text: String,
    /// The text so far with tokens in it, for token edges: a list of texts and tokens, by id or by text, as in
    /// '[{"token": 7}, "text"]'. --text comes after it
    #[arg(long, value_name = "LIST")]
    pub(crate) tokens: Option<Pieces>,
    /// Explain this token: its id, or its text where that is no number; of tokens with the same bytes the first
    #[arg(long, value_name = "ID|TEXT", allow_hyphen_values = true)]
    pub(crate) token: Option<String>,
    /// The same by its text alone, which may be a number
    #[arg(long, value_name = "TEXT", conflicts_with = "token", allow_hyphen_values = true)]
    pub(crate) token_text: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) tokenizer: TokenizerArg,
    /// Lines {"id", "regex"|"choice"|"grammar"|"json"|"schema"|"structural_tag", "accept": […], "reject": […]}; "json" names the
    /// whitespace, as --whitespace does, "start" the rule of a grammar, and "stop": […] phrases, as --stop does. Beside a schema stand "tests": [{"data", "valid"}], and
    /// "dialect", "draft", "format" and "options", and beside a grammar "dialect", "lexer" and "documents": [{"name", "text"}], which
    /// win over those given here
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) defaults: Defaults,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Of an index its own automaton is compared: that of its constraint without what its vocabulary cannot write.\n\
    What nests without end (JSON, and grammars and schemas with a rule that calls itself) cannot be compared: no procedure decides it for all of them.\n\
    Exit status: 0 equal, 1 different, 2 trouble."
)]
pub(crate) struct DiffArgs {
    /// One side: regex:PATTERN, search:PATTERN (a match anywhere), choice:FILE, grammar:FILE, schema:FILE, an index file, or
    /// the beginning of an index's key in the store
    #[arg(value_name = "A")]
    pub(crate) a: Operand,
    /// The other side, in any of these forms
    #[arg(value_name = "B")]
    pub(crate) b: Operand,
    /// How texts begin, for the sides that are constraints
    #[arg(long, value_enum, default_value = "exact")]
    pub(crate) text_start: Start,
    /// Most pairs of states to visit, some 40 bytes each
    #[arg(long, value_name = "N", default_value_t = gobo_automata::MAX_PAIRS, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_pairs: u32,
    #[command(flatten)]
    pub(crate) defaults: Defaults,
}

#[derive(Debug, Args)]
pub(crate) struct SampleArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// How many texts
    #[arg(short, value_name = "N", default_value_t = 1)]
    pub(crate) n: u32,
    /// Seed of the random walk: the same seed writes the same texts
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Most tokens of a text
    #[arg(long, value_name = "M", default_value_t = 64)]
    pub(crate) max_tokens: u32,
    /// Print texts with the special tokens in them, as mask, explain and case files take them
    #[arg(long)]
    pub(crate) tokens: bool,
}
