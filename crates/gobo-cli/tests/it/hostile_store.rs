//! A daemon, and commands without one, over a store that is full, strange, or open to others.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::Value;

use crate::gobo::{Daemon, gobo, json, one, under};

const TOKENIZER: &str = "r50k_base";

/// Nothing that this process writes to a file has room; pipes have. The limit can be taken away again.
const FULL: &str = "trap '' XFSZ; ulimit -S -f 0;";

fn get(regex: &str) -> [&str; 5] {
    ["get", "--tokenizer", TOKENIZER, "--regex", regex]
}

/// Runs a command for which every file is full.
fn full(store: &Path, args: &[&str]) -> Output {
    under(FULL).args(args).env("GOBO_STORE", store).output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
}

/// The files below a folder whose names end so.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_str().unwrap().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn on_a_full_disk_commands_without_a_daemon_serve_and_collect() {
    let home = tempfile::tempdir().unwrap();
    let first = one(home.path(), 0, &get("a"));
    let found = lines(&full(home.path(), &[&get("a")[..], &["--json"]].concat()));
    assert_eq!((&found[0]["index_key"], &found[0]["source"]), (&first["index_key"], &"map".into()));
    assert!(lines(&full(home.path(), &["status", "--json"]))[0]["store"].is_string());
    // The grace of a command is ten minutes; older than that is only what says so.
    for file in files(home.path(), ".gobo") {
        let old = std::time::SystemTime::now() - Duration::from_secs(7200);
        let times = fs::FileTimes::new().set_accessed(old).set_modified(old);
        fs::File::open(file).unwrap().set_times(times).unwrap();
    }
    let collected = lines(&full(home.path(), &["gc", "--max-store-bytes", "0", "--json"]));
    assert_eq!(collected.last().unwrap()["removed"], 1, "{collected:?}");
    assert!(files(home.path(), ".gobo").is_empty());
    // Nothing was taken for damaged, and all is in order once there is room.
    assert!(files(&home.path().join("quarantine"), "").is_empty());
    let status = one(home.path(), 0, &["status"]);
    assert_eq!(status["indices"], 0, "{status}");
    assert_eq!(one(home.path(), 0, &get("a"))["source"], "compile");
}

#[test]
fn a_daemon_starts_on_a_full_disk_serves_collects_and_comes_back() {
    let home = tempfile::tempdir().unwrap();
    let first = one(home.path(), 0, &get("a"));
    one(home.path(), 0, &get("b"));
    let daemon = Daemon::start_under(FULL, home.path(), &["--grace", "0s", "--threads", "1"]);
    // Without the daemon's help, and with it.
    let found = one(home.path(), 0, &get("a"));
    assert_eq!((&found["index_key"], &found["source"]), (&first["index_key"], &"map".into()));
    let elsewhere = tempfile::tempdir().unwrap();
    let server = format!("unix:{}", home.path().join("daemon.sock").display());
    let streamed = one(elsewhere.path(), 0, &[&get("a")[..], &["--server", &server]].concat());
    assert_eq!(streamed["source"], "stream");
    let refused = gobo(home.path(), &get("c"));
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("cannot write") && stderr.contains("File too large"), "{stderr}");
    let collected = json(home.path(), 0, &["gc", "--max-store-bytes", "0"]);
    assert_eq!(collected.last().unwrap()["removed"], 2, "{collected:?}");
    assert!(!daemon.said().contains("on the disk again"));

    // There is room.
    let pid = Pid::from_raw(i32::try_from(daemon.id()).unwrap());
    prlimit(pid, Resource::Fsize, Rlimit { current: None, maximum: None }).unwrap();
    json(home.path(), 0, &["gc"]);
    until("the catalog is back", || daemon.said().contains("on the disk again"));
    assert_eq!(one(home.path(), 0, &["status"])["indices"], 0);
    daemon.terminate();
    assert!(files(&home.path().join("quarantine"), "").is_empty());
    assert_eq!(one(home.path(), 0, &get("c"))["source"], "compile");
}

#[test]
fn a_pipe_among_the_names_holds_up_nobody() {
    let home = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(home.path(), &["--threads", "1"]);
    one(home.path(), 0, &get("a"));
    for name in ["mine", "other"] {
        pipe(&home.path().join("v0/names").join(name));
    }
    let name = home.path().join("v0/names").join(TOKENIZER);
    fs::remove_file(&name).unwrap();
    pipe(&name);
    assert_eq!(one(home.path(), 0, &["status"])["vocabularies"], 0);
    // By way of the daemon's own look at the name; the built-in vocabulary gives itself its name again.
    assert!(["map", "host"].contains(&one(home.path(), 0, &get("a"))["source"].as_str().unwrap()));
    let unknown = gobo(home.path(), &["get", "--tokenizer", "mine", "--regex", "a"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(!json(home.path(), 0, &["tokenizer", "list"]).is_empty());
    daemon.terminate();
}

#[test]
fn a_pipe_in_an_indexs_place_is_compiled_over() {
    let home = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(home.path(), &["--threads", "1"]);
    let path = PathBuf::from(one(home.path(), 0, &get("a"))["path"].as_str().unwrap());
    fs::remove_file(&path).unwrap();
    pipe(&path);
    assert_eq!(one(home.path(), 0, &get("a"))["source"], "compile");
    assert!(fs::symlink_metadata(&path).unwrap().is_file());
    daemon.terminate();
}

#[test]
fn a_built_in_vocabulary_that_was_removed_comes_back_while_the_daemon_runs() {
    let home = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(home.path(), &["--threads", "1"]);
    one(home.path(), 0, &get("a"));
    for regex in ["b", "c"] {
        for file in files(&home.path().join("v0/vocab"), "") {
            fs::remove_file(file).unwrap();
        }
        assert_eq!(one(home.path(), 0, &get(regex))["source"], "compile");
        assert_eq!(files(&home.path().join("v0/vocab"), ".gobov").len(), 1);
    }
    // Also where nothing has to be compiled, and where there is no daemon.
    for file in files(&home.path().join("v0/vocab"), "") {
        fs::remove_file(file).unwrap();
    }
    assert_eq!(one(home.path(), 0, &get("a"))["index_key"].as_str().unwrap().len(), 64);
    daemon.terminate();
    for file in files(&home.path().join("v0/vocab"), "") {
        fs::remove_file(file).unwrap();
    }
    assert_eq!(one(home.path(), 0, &get("d"))["source"], "compile");
    for file in files(&home.path().join("v0/vocab"), "") {
        fs::remove_file(file).unwrap();
    }
    one(home.path(), 0, &["compile", "--tokenizer", TOKENIZER, "--regex", "e"]);
}

#[test]
fn a_store_that_others_may_write_to_is_refused_with_what_mends_it() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path().join("store");
    let made = under("umask 000;").args(get("a")).env("GOBO_STORE", &store).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert_eq!(fs::metadata(store.join("v0/index")).unwrap().mode() & 0o7777, 0o755);

    fs::set_permissions(store.join("v0/index"), Permissions::from_mode(0o777)).unwrap();
    for args in [&["serve"][..], &get("a"), &["gc"], &["status"]] {
        let refused = gobo(&store, args);
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains("chmod -R go-w") && stderr.contains("--store-writers"), "{stderr}");
    }
    one(&store, 0, &[&get("a")[..], &["--store-writers", "anyone"]].concat());
    fs::set_permissions(store.join("v0/index"), Permissions::from_mode(0o2775)).unwrap();
    assert_eq!(gobo(&store, &get("a")).status.code(), Some(2));
    one(&store, 0, &[&get("a")[..], &["--store-writers", "group"]].concat());
}
