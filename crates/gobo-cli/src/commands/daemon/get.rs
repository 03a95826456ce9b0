use std::path::Path;

use gobo_artifact::Index;
use serde_json::json;

use crate::args::{GetArgs, Global};
use crate::backend::Backend;
use crate::commands::report::note_misspelt;
use crate::output::{self, Outcome, human_us};

pub(crate) fn run(global: &Global, args: &GetArgs) -> anyhow::Result<Outcome> {
    let given = args.pair.constraint.read()?;
    let backend = Backend::open(global)?;
    let name = backend.name_of(&args.pair.tokenizer.tokenizer)?;
    let found = match backend.resolve(&name, &given.constraint)? {
        Ok(found) => found,
        Err(verdict) => return given.verdict(&verdict, global.json),
    };
    if args.pin {
        backend.pin(&[found.key])?;
    }
    // The file is on this host, whoever made it.
    let report = Index::open(Path::new(&found.path))?.report()?;
    if global.json {
        output::line(json!({
            "verdict": "index", "source": found.source, "index_key": found.key.to_string(), "path": found.path,
            "resolve_us": found.resolve_us, "pinned": args.pin.then_some(true),
            "notes": report.notes,
        }))?;
    } else {
        note_misspelt(&report);
        output::line(&found.path)?;
        let pinned = if args.pin { ", pinned" } else { "" };
        output::note(format_args!("{} in {}{pinned}", found.source, human_us(found.resolve_us)));
    }
    Ok(Outcome::Yes)
}
