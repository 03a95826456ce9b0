use std::path::Path;

use gobo_artifact::ArtifactError;
use serde_json::json;

use super::inspect::AnyArtifact;
use crate::args::Global;
use crate::output::{self, Outcome};

pub(crate) fn run(global: &Global, file: &Path) -> anyhow::Result<Outcome> {
    let fault = match AnyArtifact::open(file) {
        // A file that is not there is no answer about a file.
        Err(error @ ArtifactError::Io { .. }) => return Err(error.into()),
        Err(error) => error,
        Ok(any) => match any.verify() {
            Err(error) => error,
            Ok(()) => {
                let digest = any.artifact().digest();
                if global.json {
                    output::line(json!({"ok": true, "artifact_digest": digest.to_string()}))?;
                } else {
                    output::line(format_args!("ok {digest}"))?;
                }
                return Ok(Outcome::Yes);
            }
        },
    };
    let fault = anyhow::Error::from(fault);
    if global.json {
        output::line(json!({"ok": false, "reason": format!("{fault:#}")}))?;
    } else {
        output::complain(&fault);
    }
    Ok(Outcome::No)
}
