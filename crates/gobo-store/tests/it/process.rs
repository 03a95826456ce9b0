//! Starts the program of `tests/process`, which does in another process what a test cannot do in its own.

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// Runs a role of the program over a store. `shell` is put before it, to set limits that this process cannot set for
/// itself.
pub(crate) fn run(shell: &str, role: &str, store: &Path, more: &[&str]) -> ExitStatus {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{shell} exec \"$0\" \"$@\"")]);
    command.args([env!("CARGO_BIN_EXE_gobo-store-test-process"), role]).arg(store).args(more);
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap()
}

/// What to put before a role so that its process is nobody in particular, whom the modes of files bind: root is bound by
/// none.
pub(crate) fn as_nobody() -> &'static str {
    if !rustix::process::geteuid().is_root() {
        return "";
    }
    let can_become =
        Command::new("setpriv").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(
        can_become,
        "root is bound by no mode, and setpriv (of util-linux), which would end that, is missing"
    );
    "exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$0\" \"$@\";"
}
