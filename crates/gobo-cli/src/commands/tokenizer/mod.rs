//! Tokenizers: import, list, show, and verify against their sources.

mod import;
mod list;
mod remove;
mod show;
mod verify;

use gobo_engine::Existing;
use gobo_tokenizer::{ImportOptions, TokenChoice};

use crate::args::{Global, TokenizerCommand};
use crate::output::Outcome;

pub(crate) fn run(global: &Global, command: TokenizerCommand) -> anyhow::Result<Outcome> {
    match command {
        TokenizerCommand::Import { path, name, logits_width, special, eos, bos, pad, replace } => {
            let choice =
                |token: String| token.parse().map_or_else(|_| TokenChoice::Text(token), TokenChoice::Id);
            let eos = eos.into_iter().map(choice).collect();
            let (bos, pad) = (bos.map(choice), pad.map(choice));
            let existing = if replace { Existing::Replace } else { Existing::Keep };
            let options = ImportOptions { eos, bos, pad, logits_width, special };
            match &global.server {
                Some(address) => import::remote(global, address, &path, name, &options, existing),
                None => import::local(global, &path, name, &options, existing),
            }
        }
        TokenizerCommand::Verify { tokenizer, source } => verify::run(global, &tokenizer, source.as_deref()),
        TokenizerCommand::List => match &global.server {
            Some(address) => list::remote(global, address),
            None => list::local(global),
        },
        TokenizerCommand::Rm { name, force } => remove::run(global, &name, force),
        // A path is a file of this host, whatever GOBO_SERVER says.
        TokenizerCommand::Show { tokenizer } => match &global.server {
            Some(address) if !tokenizer.contains('/') => show::remote(global, address, &tokenizer),
            _ => show::local(global, &tokenizer),
        },
    }
}
