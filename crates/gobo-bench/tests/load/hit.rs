//! `gobo-bench hit`: what its report holds, and whom it measures.
use std::process::Command;

use serde_json::Value;

use crate::TOKENIZER;
use crate::programs::{Daemon, bench, gobo};

#[test]
fn hit_reports_every_scenario_beside_its_floor() {
    let home = tempfile::tempdir().unwrap();
    let csv = home.path().join("hit.csv");
    let args = ["hit", "--json", "--tokenizer", TOKENIZER, "--count", "40", "--csv", csv.to_str().unwrap()];
    let output = bench(home.path(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let stdout = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["in_process", "host_open", "unix_socket", "tcp_loopback", "token_loopback", "tls_loopback"]
    );
    for row in &rows {
        assert_eq!((&row["n"], &row["failed"]), (&40.into(), &0.into()), "{row}");
        let us = |key: &str| row[key].as_f64().unwrap();
        assert!(0.0 < us("floor_p50_us") && us("floor_p50_us") <= us("floor_p99_us"), "{row}");
        let ascending = ["p50_us", "p99_us", "p999_us", "max_us"].map(us);
        assert!(0.0 < ascending[0] && ascending.is_sorted(), "{row}");
    }
    let table = std::fs::read_to_string(csv).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("# commit unknown; date 20"), "{table}");
    assert_eq!(lines[1], "name,n,failed,p50_us,p99_us,p999_us,max_us,floor_p50_us,floor_p99_us");
    assert_eq!(lines.len(), 8);
    assert!(lines[2..].iter().zip(names).all(|(line, name)| line.starts_with(&format!("{name},40,0,"))));
    assert!(!home.path().join("v0").exists(), "the user's store is left alone");
}

#[test]
fn hit_measures_a_daemon_of_this_host_and_no_other() {
    let home = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(home.path());
    let socket = format!("unix:{}", home.path().join("daemon.sock").display());
    let hit = |server: &str, more: &[&str]| {
        let args = ["hit", "--json", "--tokenizer", TOKENIZER, "--count", "10", "--server", server];
        bench(home.path(), &[&args[..], more].concat())
    };
    let output = hit(&socket, &["--regex", "[ab]{2}"]);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(stdout.lines().count(), 3);
    assert!(
        stdout.lines().last().unwrap().starts_with(r#"{"name":"unix_socket","n":10,"failed":0"#),
        "{stdout}"
    );
    let status =
        Command::new(gobo()).args(["status", "--json", "--store"]).arg(home.path()).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["indices"], 1, "it was that daemon");
    drop(daemon);
    // A dead daemon, another host (of the addresses for documentation), no address, a refused constraint.
    for (server, more) in [
        (socket.as_str(), &[][..]),
        ("http://192.0.2.1:7450", &[]),
        ("nowhere", &[]),
        (socket.as_str(), &["--regex", "("]),
    ] {
        let output = hit(server, more);
        assert_eq!(output.status.code(), Some(2), "{server}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("p50_us"), "{server}");
    }
}

#[test]
fn hit_takes_a_constraint_as_gobo_does() {
    let home = tempfile::tempdir().unwrap();
    let stderr = String::from_utf8(bench(home.path(), &["hit", "--closed"]).stderr).unwrap();
    assert!(stderr.contains("--closed is an option of schemas"), "{stderr}");
}
