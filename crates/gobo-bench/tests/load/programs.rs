//! The programs under test: `gobo-bench`, and beside it the `gobo` whose daemons it measures.
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The program that the laboratory starts. `cargo test --workspace` builds the programs of all crates into one folder; a run of
/// this test alone does not build it.
pub(crate) fn gobo() -> PathBuf {
    let gobo = Path::new(env!("CARGO_BIN_EXE_gobo-bench")).with_file_name("gobo");
    assert!(
        gobo.is_file(),
        "{} is missing: `cargo build -p gobo-cli` builds it, and so does `cargo test --workspace`",
        gobo.display()
    );
    gobo
}

fn with_store(mut command: Command, store: &Path) -> Command {
    command.env("GOBO_STORE", store).env_remove("GOBO_SERVER").env_remove("GOBO_LOG");
    command
}

/// Runs the laboratory beside a user's store, with nothing else of the environment.
pub(crate) fn bench(store: &Path, args: &[&str]) -> Output {
    gobo();
    with_store(Command::new(env!("CARGO_BIN_EXE_gobo-bench")), store).args(args).output().unwrap()
}

/// A daemon that is killed when the test ends.
pub(crate) struct Daemon(Child);

impl Daemon {
    /// Returns when it listens.
    pub(crate) fn start(store: &Path) -> Self {
        let mut command = with_store(Command::new(gobo()), store);
        let mut child = command.arg("serve").stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("listening on unix:")));
        // The pipe is read to its end, so that the daemon never waits for a reader.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self(child)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
