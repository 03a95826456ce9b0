//! The working session of README.md is run, line by line, on a store of its own.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::root;

/// Lines that say *no*, which is exit status 1: two constraints that differ.
const SAY_NO: [&str; 1] = ["gobo diff "];

/// The folder of the program `gobo`, where `cargo test --workspace` builds it.
fn programs() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let folder = own.parent().and_then(Path::parent).unwrap().to_owned();
    assert!(
        folder.join("gobo").is_file(),
        "{} has no gobo: `cargo build -p gobo-cli` builds it, and so does `cargo test --workspace`",
        folder.display()
    );
    folder
}

/// The commands of the first code block below a heading, without their comments.
fn commands(heading: &str) -> Vec<String> {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let (_, below) = readme.split_once(heading).expect("the heading");
    let block =
        below.split_once("```sh\n").and_then(|(_, block)| block.split_once("```")).expect("a block").0;
    block.lines().map(|line| line.split("  #").next().unwrap_or(line).trim_end().to_owned()).collect()
}

/// A folder and a daemon, which go when the test ends.
struct Session {
    folder: PathBuf,
    daemons: Vec<Child>,
}

impl Drop for Session {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn every_line_of_the_working_session_works() {
    let folder = std::env::temp_dir().join(format!("gobo-session-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut session = Session { folder: folder.clone(), daemons: Vec::new() };
    for name in ["docs", "crates"] {
        symlink(root().join(name), folder.join(name)).unwrap();
    }
    let path = format!("{}:{}", programs().display(), std::env::var("PATH").unwrap());
    let command = |line: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec {line}")]).current_dir(&folder).env("PATH", &path);
        shell.env("GOBO_STORE", folder.join("store")).env_remove("GOBO_SERVER").env_remove("GOBO_LOG");
        shell
    };
    let commands = commands("## A working session");
    assert!(commands.len() >= 10, "{commands:?}");
    for line in commands {
        assert!(line.starts_with("gobo "), "only gobo is run here: {line}");
        if let Some(daemon) = line.strip_suffix(" &") {
            let mut process = command(daemon).stderr(Stdio::piped()).spawn().unwrap();
            let mut said = BufReader::new(process.stderr.take().unwrap()).lines();
            session.daemons.push(process);
            assert!(said.any(|line| line.unwrap().contains("listening on unix:")), "{line}");
            // Read to its end, so that the daemon never waits for a reader.
            std::thread::spawn(move || said.map_while(Result::ok).for_each(drop));
            continue;
        }
        let output = command(&line).output().unwrap();
        let expected = i32::from(SAY_NO.iter().any(|no| line.starts_with(no)));
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(expected), "{line}\n{stdout}{stderr}");
        assert!(!stdout.trim().is_empty() || !stderr.trim().is_empty(), "{line} says nothing");
    }
    assert_eq!(session.daemons.len(), 1, "the session starts a daemon");
}
