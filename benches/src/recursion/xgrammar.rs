//! XGrammar, through its Python package: there is no crate of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use gobo_artifact::Vocabulary;
use serde::{Deserialize, Serialize};

use super::RecursiveCase;
use crate::ask::Sequence;
use crate::vocabularies::Source;

/// Names a Python that can import `xgrammar`.
pub const PYTHON: &str = "GOBO_XGRAMMAR_PYTHON";

#[derive(Serialize)]
struct Input<'a> {
    /// The bytes of each token behind their number, 4 bytes; none for special tokens.
    tokens: &'a Path,
    logits_width: u32,
    eos: &'a [u32],
    rounds: usize,
    cases: Vec<InputCase<'a>>,
}

#[derive(Serialize)]
struct InputCase<'a> {
    name: &'a str,
    grammar: &'a str,
    texts: &'a [Vec<u32>],
    masks: PathBuf,
}

/// What the script measured of one constraint.
#[derive(Debug, Deserialize)]
pub struct Output {
    pub name: String,
    #[serde(default)]
    pub samples: BTreeMap<String, Vec<f64>>,
    pub refused: Option<String>,
}

/// The file of masks of one constraint.
pub fn masks(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("xgrammar-{name}"))
}

/// Runs the script over all constraints; leaves the masks in `folder`. `None`, and said, without a Python.
pub fn run(
    source: &Source,
    vocabulary: &Vocabulary,
    cases: &[(RecursiveCase, Sequence)],
    rounds: usize,
    folder: &Path,
) -> anyhow::Result<Option<Vec<Output>>> {
    let Some(python) = std::env::var_os(PYTHON) else {
        eprintln!("!!! XGRAMMAR IS NOT MEASURED: {PYTHON} names no Python");
        return Ok(None);
    };
    let tokens = folder.join("tokens");
    let mut file = BufWriter::new(File::create(&tokens)?);
    for id in 0..source.binding.logits_width {
        let bytes = if vocabulary.is_special(id) { &[] } else { vocabulary.bytes(id) };
        file.write_all(&u32::try_from(bytes.len())?.to_le_bytes())?;
        file.write_all(bytes)?;
    }
    file.flush()?;
    let inputs = cases.iter().filter_map(|(case, sequence)| {
        let grammar = case.case.recursive.as_ref()?.xgrammar.as_ref()?;
        let name = &case.case.name;
        Some(InputCase { name, grammar, texts: &sequence.texts, masks: masks(folder, name) })
    });
    let input = Input {
        tokens: &tokens,
        logits_width: source.binding.logits_width,
        eos: &source.binding.eos,
        rounds,
        cases: inputs.collect(),
    };
    let path = folder.join("input.json");
    serde_json::to_writer(File::create(&path)?, &input)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/xgrammar_recursion.py");
    let output = Command::new(python).arg(script).arg(path).stderr(Stdio::inherit()).output()?;
    let lines = String::from_utf8(output.stdout)?;
    let outputs: Vec<Output> =
        lines.lines().map(serde_json::from_str).collect::<Result<_, _>>().context("a line of the script")?;
    if !output.status.success() {
        eprintln!("!!! XGRAMMAR ended itself after {} constraints: {}", outputs.len(), output.status);
    }
    Ok(Some(outputs))
}
