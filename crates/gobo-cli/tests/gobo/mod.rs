//! The program under test, as a command and as a daemon. Not every test binary uses all of it.
#![allow(dead_code, reason = "each test binary uses its share")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// Runs a command over a store, with nothing of the environment.
pub(crate) fn gobo(store: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gobo"));
    command.args(args).env("GOBO_STORE", store).env_remove("GOBO_SERVER").env_remove("GOBO_LOG");
    command.output().unwrap()
}

/// The JSON lines of a command that must end with `status`.
pub(crate) fn json(store: &Path, status: i32, args: &[&str]) -> Vec<Value> {
    let output = gobo(store, &[args, &["--json"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {stderr}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

pub(crate) fn one(store: &Path, status: i32, args: &[&str]) -> Value {
    let mut lines = json(store, status, args);
    assert_eq!(lines.len(), 1, "{args:?}");
    lines.remove(0)
}

/// The program under limits that `shell` sets.
pub(crate) fn under(shell: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{shell} exec \"$0\" \"$@\"")]).arg(env!("CARGO_BIN_EXE_gobo"));
    command.env_remove("GOBO_SERVER").env_remove("OTEL_EXPORTER_OTLP_ENDPOINT");
    command
}

/// A daemon that is killed when the test ends.
pub(crate) struct Daemon {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Daemon {
    /// With more arguments for `gobo serve`. Returns when it listens.
    pub(crate) fn start(store: &Path, args: &[&str]) -> Self {
        Self::start_under("", store, args)
    }

    /// The same, of which the system lets `descriptors` files be open: an argument of `ulimit`.
    pub(crate) fn start_with(store: &Path, descriptors: &str, args: &[&str]) -> Self {
        Self::start_under(&format!("ulimit {descriptors} &&"), store, args)
    }

    /// As [`Daemon::start`], with `shell` before it, to set what a process has from its parent.
    pub(crate) fn start_under(shell: &str, store: &Path, args: &[&str]) -> Self {
        let mut command = under(shell);
        command
            .arg("serve")
            .args(args)
            .env("GOBO_STORE", store)
            .env_remove("GOBO_LOG")
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("listening on unix:")));
        // The pipe is read to its end, so that the daemon never waits for a reader.
        let said = Arc::<Mutex<String>>::default();
        let hears = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                hears.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        Self { child, said }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn terminate(mut self) {
        let stopped = Command::new("kill").args(["-TERM", &self.id().to_string()]).status().unwrap();
        assert!(stopped.success());
        assert!(self.child.wait().unwrap().success());
    }

    /// What it has written to stderr since it listens.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
