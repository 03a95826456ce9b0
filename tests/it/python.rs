//! A script of Python that reads lines and writes lines. It needs an interpreter: `GOBO_PYTHON`, or that of `target/python`, which `.ci/run`
//! makes with the packages that the tests need.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// What the script writes, each line a JSON text, for these lines.
pub(crate) fn lines(script: &str, lines: Vec<String>) -> Vec<Value> {
    let program = std::env::var_os("GOBO_PYTHON").map(PathBuf::from);
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/python/bin/python");
    let mut child = Command::new(program.unwrap_or(python))
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || lines.iter().try_for_each(|line| writeln!(stdin, "{line}")));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
