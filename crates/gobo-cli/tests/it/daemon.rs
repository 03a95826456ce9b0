//! A daemon with worker processes, and what callers may send to it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::gobo::{Daemon, gobo, json, one};

const TOKENIZER: &str = "r50k_base";

fn until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Process ids of the children of a process.
fn children(of: u32) -> Vec<u32> {
    let mut children = Vec::new();
    for task in fs::read_dir(format!("/proc/{of}/task")).unwrap() {
        let text = fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default();
        children.extend(text.split_whitespace().map(|id| id.parse::<u32>().unwrap()));
    }
    children
}

/// Kills processes; one of them may have ended by itself meanwhile.
fn kill(processes: &[u32]) {
    let kill =
        |process: &u32| Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success();
    assert!(processes.iter().filter(|process| kill(process)).count() > 0);
}

fn status(store: &Path) -> Value {
    one(store, 0, &["status"])
}

fn get(regex: &str) -> [&str; 5] {
    ["get", "--tokenizer", TOKENIZER, "--regex", regex]
}

/// Constraints that have brought engines down, each with the verdicts that are right for it.
fn killers() -> Vec<(Value, &'static [&'static str])> {
    let parentheses = format!("{}a{}", "(".repeat(60_000), ")".repeat(60_000));
    let one_of = (0..10).fold(json!({"type": "string"}), |inner, depth| {
        json!({"oneOf": [inner, {"type": "object", "properties": {format!("p{depth}"): inner}}]})
    });
    let deep = "[".repeat(100_000);
    vec![
        (json!({"regex": "[ab]*a[ab]{13}"}), &["index"]),
        (json!({"regex": "[ab]*a[ab]{40}"}), &["over_budget"]),
        (json!({"regex": parentheses}), &["refused"]),
        (json!({"regex": "((a{1,100}){1,100}){1,100}"}), &["index", "over_budget", "refused"]),
        (json!({"regex": "(x+x+)+y"}), &["index"]),
        (json!({"schema": one_of}), &["index", "refused", "over_budget"]),
        (
            json!({"schema": {"type": "string", "maxLength": 1_000_000_000}}),
            &["index", "refused", "over_budget"],
        ),
        (json!({"schema": {"$ref": "#"}}), &["refused"]),
        (json!({"schema": {"multipleOf": 0}}), &["refused"]),
        (json!({"grammar": format!("root ::= {deep}")}), &["refused"]),
        (json!({"choice": (0..20_000).map(|n| format!("item {n}")).collect::<Vec<_>>()}), &["index"]),
    ]
}

#[test]
fn what_has_killed_others_gets_a_verdict_and_the_daemon_lives() {
    let home = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(home.path(), &["--max-steps", "200000000"]);
    let cases = home.path().join("killers.jsonl");
    let killers = killers();
    let lines: Vec<String> = killers.iter().map(|(case, _)| case.to_string()).collect();
    fs::write(&cases, lines.join("\n")).unwrap();
    let server = format!("unix:{}", home.path().join("daemon.sock").display());
    let steps = ["--max-steps", "200000000"];
    let check = ["check", "--server", &server, "--tokenizer", TOKENIZER, cases.to_str().unwrap()];
    let answers = json(home.path(), 0, &[&check[..], &steps[..]].concat());
    for (answer, (_, right)) in answers.iter().zip(&killers) {
        let verdict = answer["verdict"].as_str().unwrap();
        assert!(right.contains(&verdict), "{answer}");
        if verdict == "index" {
            assert!(answer["bytes"].as_u64().unwrap() > 0 && answer["report"].is_object(), "{answer}");
        }
    }
    let summary = &answers.last().unwrap()["summary"];
    assert_eq!((&summary["cases"], &summary["failed"]), (&killers.len().into(), &0.into()));
    let now = status(home.path());
    assert_eq!((&now["indices"], &now["failed"], &now["killed"]), (&0.into(), &0.into(), &0.into()), "{now}");
    assert_eq!(one(home.path(), 0, &get("still here"))["source"], "compile");
    drop(daemon);
}

#[test]
fn workers_are_killed_and_nobody_is_the_worse_for_it() {
    let home = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(home.path(), &["--threads", "1"]);
    assert_eq!(one(home.path(), 0, &get("a"))["source"], "compile");
    until("all workers are started ahead", || children(daemon.id()).len() == 3);
    kill(&children(daemon.id()));
    assert_eq!(one(home.path(), 0, &get("b"))["source"], "compile");
    assert_eq!(status(home.path())["failed"], 0);

    // In the middle of a compile: it is tried once more.
    let store = home.path().to_owned();
    let dear = std::thread::spawn(move || gobo(&store, &get("(.{0,20}foo){0,16}")));
    until("it runs", || status(home.path())["in_flight"] == 1);
    kill(&children(daemon.id()));
    let output = dear.join().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    drop(daemon);
}

#[test]
fn workers_end_with_their_daemon() {
    let home = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(home.path(), &[]);
    assert_eq!(one(home.path(), 0, &get("a"))["source"], "compile");
    let workers = children(daemon.id());
    assert!(!workers.is_empty());
    // Killed: it cannot tell them.
    drop(daemon);
    until("they end by themselves", || {
        workers.iter().all(|worker| {
            let line = fs::read(format!("/proc/{worker}/cmdline")).unwrap_or_default();
            !line.windows(6).any(|window| window == b"worker")
        })
    });
    let standing = gobo(home.path(), &["worker"]);
    assert_eq!(standing.status.code(), Some(2), "nobody's worker");
}

#[test]
fn inline_compiles_in_the_daemon_itself() {
    let home = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(home.path(), &["--inline"]);
    assert_eq!(one(home.path(), 0, &get("a"))["source"], "compile");
    assert!(children(daemon.id()).is_empty());
}

#[test]
fn metrics_and_logs_tell_numbers_and_digests_and_no_constraint() {
    use std::io::{Read as _, Write as _};

    let home = tempfile::tempdir().unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let daemon = Daemon::start(home.path(), &["--admin", &free.to_string()]);
    assert_eq!(one(home.path(), 0, &get("confidential"))["source"], "compile");
    assert_eq!(one(home.path(), 2, &get("(confidential"))["verdict"], "refused");
    let page = || {
        let mut connection = std::net::TcpStream::connect(free).unwrap();
        connection.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut page = String::new();
        connection.read_to_string(&mut page).unwrap();
        page
    };
    until("the counters are brought up to date", || {
        page().contains("gobo_compiles_total{verdict=\"refused\"} 1")
    });
    let page = page();
    for number in [
        "gobo_resolves_total{source=\"compile\"} 2",
        "gobo_compiles_total{verdict=\"index\"} 1",
        "gobo_workers_ended_total{reason=\"died\"} 0",
        "gobo_shed_total{reason=\"deadline\"} 0",
        "gobo_compile_seconds_count 2",
        "gobo_resolve_seconds_bucket",
        "gobo_queue_seconds_sum",
        "# HELP gobo_queued",
    ] {
        assert!(page.contains(number), "{number} is missing in {page}");
    }
    assert!(!page.contains("confidential"));
    assert!(!daemon.said().contains("confidential"), "{}", daemon.said());
}

#[test]
fn a_client_that_asks_for_too_much_is_told_when_to_come_back() {
    let home = tempfile::tempdir().unwrap();
    let _daemon = Daemon::start(home.path(), &["--tenant-rate", "1"]);
    let mut seen = Vec::new();
    for number in 0..3 {
        let output = gobo(home.path(), &get(&format!("x{{{number}}}y")));
        seen.push(String::from_utf8(output.stderr).unwrap());
    }
    assert!(seen.iter().any(|text| text.contains("more than 1 compiles a second")), "{seen:?}");
    assert!(status(home.path())["shed"].as_u64().unwrap() >= 1);
    assert_eq!(one(home.path(), 0, &get("x{0}y"))["source"], "map", "hits cost nothing of it");
}

#[test]
fn a_daemon_has_as_many_descriptors_as_the_system_lets_it_have() {
    let home = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_with(home.path(), "-Sn 100", &[]);
    let limits = fs::read_to_string(format!("/proc/{}/limits", daemon.id())).unwrap();
    let open_files: Vec<_> =
        limits.lines().find(|line| line.starts_with("Max open files")).unwrap().split_whitespace().collect();
    assert_eq!(open_files[3], open_files[4], "{limits}");
}

/// Connections that say nothing fill neither the socket nor the table of descriptors: whoever comes is answered.
#[test]
fn silent_connections_are_in_nobodys_way() {
    let home = tempfile::tempdir().unwrap();
    let _daemon = Daemon::start_with(home.path(), "-n 80", &[]);
    assert_eq!(one(home.path(), 0, &get("ab?"))["source"], "compile");
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(std::os::unix::net::UnixStream::connect(home.path().join("daemon.sock")).unwrap());
        if silent.len() % 25 == 0 {
            assert_eq!(one(home.path(), 0, &get(&format!("ab{{{}}}", silent.len())))["source"], "compile");
        }
    }
    let status = status(home.path());
    assert!(status["connections"].as_u64().unwrap() <= 8, "{status}");
    assert!(status["connections_closed"].as_u64().unwrap() >= 90, "{status}");
}
