//! Oracles: slow judges of what gobo computes. They share no code with what they judge; of gobo's crates they see
//! `gobo-types` alone, for the words in which a constraint is said.
//!
//! | judge | algorithm |
//! |---|---|
//! | [`Language`]: the texts of a regular constraint | partial derivatives (Antimirov 1996) over sets of code points |
//! | [`NaiveIndex`]: the masks of a regular constraint | every token at every state (Willard & Louf 2023, algorithms 3 and 4) |
//! | [`Earley`]: the texts of a grammar, or of JSON | Earley's recogniser (Earley 1970; Aycock & Horspool 2002) |
//! | [`SortedTokens`]: the masks of a grammar | every token at every Earley set, common prefixes once |
//! | [`spellable`]: the texts that tokens can write | reachability over the offsets of the text |
//! | [`NumberTexts`]: the texts of a number under a JSON Schema | exact decimals by school arithmetic |
//! | [`blanks_belong`]: the whitespace of a text under a policy | one look at each gap between tokens |
//! | [`LexedReader`]: the texts of a grammar with a lexer | backtracking, one lexeme after the other, and canonical LR(1) states |
//! | [`SchemaPolicy`]: the texts of a value under a JSON Schema | one survey of the schema for each place of the value |
//!
//! All are slow on purpose: each line should be seen to be right by reading it. The crate is a dev-dependency of tests and
//! nothing else.
#![forbid(unsafe_code)]

mod context_free;
mod interner;
mod json_schema;
mod lexed;
mod regular;
mod tokens;

pub use context_free::earley::{Earley, SetId};
pub use context_free::gbnf::{GbnfError, read_gbnf};
pub use context_free::grammar::{Grammar, RuleId, Symbol};
pub use context_free::json::json_grammar;
pub use context_free::sorted_tokens::SortedTokens;
pub use json_schema::blanks::blanks_belong;
pub use json_schema::error::PolicyError;
pub use json_schema::numbers::NumberTexts;
pub use json_schema::policy::SchemaPolicy;
pub use json_schema::spell::spelled;
pub use lexed::{
    Blocks as LexedBlocks, Lexed, LongestReader, Pattern as LexedPattern, Reader as LexedReader,
    Terminal as LexedTerminal,
};
pub use regular::characters::Characters;
pub use regular::error::LanguageError;
pub use regular::language::{Language, StateId};
pub use regular::naive_index::{NaiveIndex, Row, allowed_where_every_byte_is_a_token};
pub use tokens::spelling::spellable;
pub use tokens::vocabulary::{Segmenter, Tokens};
