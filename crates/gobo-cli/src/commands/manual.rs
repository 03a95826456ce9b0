//! What a shell and a reader of manual pages are told of the command line, from the definitions that it is read by.
use std::fs;
use std::io::{self, Write as _};

use anyhow::Context as _;
use clap_mangen::Man;

use crate::args::{self, CompletionsArgs, ManArgs};
use crate::output::Outcome;

pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<Outcome> {
    // In memory first: a reader that closes the pipe early is no error.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::command(), "gobo", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(Outcome::Yes)
}

pub(crate) fn man(args: &ManArgs) -> anyhow::Result<Outcome> {
    let Some(folder) = &args.folder else {
        let mut page = Vec::new();
        Man::new(args::command()).render(&mut page)?;
        io::stdout().lock().write_all(&page)?;
        return Ok(Outcome::Yes);
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    clap_mangen::generate_to(args::command(), folder)
        .with_context(|| format!("cannot write into {}", folder.display()))?;
    Ok(Outcome::Yes)
}
