//! Options, units, help, completions and pages.

use std::process::Command;

use crate::gobo::gobo;

fn stderr(args: &[&str], status: i32) -> String {
    let home = tempfile::tempdir().unwrap();
    let output = gobo(home.path(), args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{args:?}: {stderr}");
    stderr
}

#[test]
fn an_option_that_would_be_ignored_is_refused_and_what_the_environment_says_is_not() {
    assert_eq!(
        stderr(&["demo", "--store", "x"], 2),
        "error: `gobo demo` does not use --store: it works on a temporary one\n"
    );
    let said = stderr(&["--max-states", "5", "status"], 2);
    assert_eq!(said, "error: `gobo status` does not use --max-states: it compiles nothing\n");
    // `gobo` sets GOBO_STORE, which `completions` has no use for.
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gobo"));
    command.args(["diff", "regex:a", "regex:a"]).env("GOBO_STORE", home.path());
    command.env("GOBO_SERVER", "unix:/nowhere").env("GOBO_STORE_WRITERS", "group");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn budgets_have_units() {
    let compile = ["compile", "--tokenizer", "r50k_base", "--regex", "a"];
    let with = |args: &[&str], status| stderr(&[&compile[..], args].concat(), status);
    with(&["--max-bytes", "2GiB", "--max-states", "1M", "--max-steps", "2,000,000,000"], 0);
    assert!(with(&["--max-bytes", "2G"], 2).contains("expected a size such as 32GiB"));
    assert!(with(&["--max-steps", "1e9"], 2).contains("expected a number such as 250k, 2G or 2,000,000"));
    assert!(with(&["--max-states", "2GiB"], 2).contains("expected a number"));
    assert!(with(&["--max-states", "1"], 2).contains("needs more than 1 states"));
}

#[test]
fn help_completions_and_pages_come_from_the_same_definitions() {
    let home = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let output = gobo(home.path(), args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&["completions", shell]);
        assert!(script.contains("prewarm") && script.contains("max-quarantine-bytes"), "{shell}");
    }
    // The script is longer than an argument may be.
    let script = home.path().join("completions");
    std::fs::write(&script, run(&["completions", "bash"])).unwrap();
    let syntax = Command::new("bash").arg("-n").arg(&script).status();
    assert!(syntax.unwrap().success());
    let help = run(&["compile", "--help"]);
    assert!(help.contains("Examples:\n  gobo compile --tokenizer o200k_base --regex"), "{help}");
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    assert!(!help.contains('\u{1b}'), "no colours where nobody sees them");
    assert!(run(&["diff", "--help"]).contains("Exit status: 0 equal, 1 different"));
    assert!(run(&["man"]).contains(".TH gobo 1"));
    let pages = home.path().join("pages/man1");
    assert!(run(&["man", pages.to_str().unwrap()]).is_empty());
    let page = |name: &str| std::fs::read_to_string(pages.join(name)).unwrap();
    assert!(page("gobo-compile.1").contains("gobo compile"));
    assert!(
        page("gobo-tokenizer-import.1").contains("EOS") || page("gobo-tokenizer-import.1").contains("eos")
    );
    assert!(!pages.join("gobo-worker.1").exists(), "the command of the daemon alone");
}
