use std::path::Path;

use gobo_artifact::Index;
use serde_json::json;

use crate::args::{Global, PairArgs};
use crate::backend::Backend;
use crate::commands::report::note_misspelt;
use crate::output::{self, Outcome, human_us};

pub(crate) fn run(global: &Global, args: &PairArgs) -> anyhow::Result<Outcome> {
    let given = args.constraint.read()?;
    let backend = Backend::open(global)?;
    let name = backend.name_of(&args.tokenizer.tokenizer)?;
    let found = match backend.resolve(&name, &given.constraint)? {
        Ok(found) => found,
        Err(verdict) => return given.verdict(&verdict, global.json),
    };
    // The file is on this host, whoever made it.
    let report = Index::open(Path::new(&found.path))?.report()?;
    if global.json {
        output::line(json!({
            "verdict": "index", "source": found.source, "index_key": found.key, "path": found.path,
            "resolve_us": found.resolve_us, "notes": report.notes,
        }))?;
    } else {
        note_misspelt(&report);
        output::line(&found.path)?;
        output::note(format_args!("{} in {}", found.source, human_us(found.resolve_us)));
    }
    Ok(Outcome::Yes)
}
