//! Which program `gobo` is measured: the one that is named, else the one beside this program, where one build puts both.
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// The program's file name.
const NAME: &str = "gobo";

/// The program at `named`, or beside this one; as an absolute path without links.
///
/// # Errors
/// If there is no such file.
pub(crate) fn find(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let program = match named {
        Some(path) => path.to_owned(),
        None => beside(&own()?),
    };
    if !program.is_file() {
        bail!(
            "there is no program {}, whose daemons are measured\n\
             hint: `cargo build --release -p gobo-cli -p gobo-bench` builds both; `--gobo PATH` names another",
            program.display()
        );
    }
    program.canonicalize().with_context(|| format!("cannot find {}", program.display()))
}

/// This program.
pub(crate) fn own() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("this program cannot find its own file")
}

fn beside(own: &Path) -> PathBuf {
    own.with_file_name(format!("{NAME}{}", std::env::consts::EXE_SUFFIX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_the_one_beside_or_the_one_that_is_named() {
        assert_eq!(beside(Path::new("/opt/bin/gobo-bench")), Path::new("/opt/bin/gobo"));
        let home = tempfile::tempdir().unwrap();
        let named = home.path().join("other");
        let error = find(Some(&named)).unwrap_err().to_string();
        assert!(error.contains("there is no program") && error.contains("cargo build"), "{error}");
        std::fs::write(&named, "").unwrap();
        assert_eq!(find(Some(&named)).unwrap(), named.canonicalize().unwrap());
        assert!(find(Some(home.path())).is_err(), "a folder is no program");
    }
}
