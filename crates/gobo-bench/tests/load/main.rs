//! The experiments at a tiny size: what a report holds and what it promises. No times: those belong to a machine.
#![expect(clippy::unwrap_used, reason = "test code")]

mod hit;
mod programs;

use std::path::Path;

use gobo_measure::Origin;
use serde_json::Value;

use crate::programs::bench;

const TOKENIZER: &str = "r50k_base";

/// The lines of a report.
struct Report(Vec<Value>);

impl Report {
    /// Of a run that no call failed in and no promise was broken in.
    fn of(args: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let output = bench(home.path(), &[args, &["--tokenizer", TOKENIZER, "--json"]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {stdout}{stderr}");
        assert!(!home.path().join("v0").exists(), "the user's store is left alone");
        let lines =
            stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")));
        let report = Self(lines.collect());
        for row in report.0.iter().filter(|line| line.get("name").is_some()) {
            let us = |key: &str| row[key].as_f64().unwrap();
            let ascending = ["p50_us", "p99_us", "p999_us", "max_us"].map(us);
            assert!(ascending.is_sorted(), "{row}");
            for key in ["floor_p50_us", "floor_p99_us", "skipped", "per_s", "floor_per_s"] {
                assert!(row.get(key).is_some(), "{key} is missing in {row}");
            }
        }
        report
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().filter_map(|line| line.get("name")?.as_str()).collect()
    }

    fn row(&self, name: &str) -> &Value {
        self.0.iter().find(|line| line["name"] == name).unwrap_or_else(|| panic!("no row {name}"))
    }

    fn figure(&self, name: &str) -> &Value {
        self.0.iter().find(|line| line["figure"] == name).unwrap_or_else(|| panic!("no figure {name}"))
    }

    fn value(&self, name: &str) -> f64 {
        self.figure(name)["value"].as_f64().unwrap()
    }
}

#[test]
fn hits_stand_beside_the_empty_call() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let (csv, svg) = (path("load.csv"), path("load.svg"));
    let args = ["load", "--scenario", "hit", "--count", "40", "--connections", "2", "--in-flight", "2"];
    let report = Report::of(
        &[&args[..], &["--csv", &csv, "--svg", &svg], &["--commit", "1234567", "--machine", "here"]].concat(),
    );
    let names = [
        "in_process",
        "host_open",
        "host_mapped",
        "text_to_key_first",
        "text_to_key_again",
        "unix_socket",
        "unix_rate",
        "unix_throughput",
        "tcp_loopback",
        "tcp_rate",
        "tcp_throughput",
    ];
    assert_eq!(report.names(), names);
    for name in names {
        let row = report.row(name);
        assert_eq!(row["failed"], 0, "{row}");
        assert!(row["floor_p50_us"].is_number(), "{row}");
        assert!(row["seconds"].as_f64() > Some(0.0), "{row}");
    }
    for way in ["unix", "tcp"] {
        let rate = report.row(&format!("{way}_rate"));
        assert!(
            rate["n"].as_u64().unwrap() + rate["skipped"].as_u64().unwrap() == 20,
            "every second one: {rate}"
        );
        let throughput = report.row(&format!("{way}_throughput"));
        assert!(throughput["per_s"].as_f64() > Some(0.0) && throughput["floor_per_s"].as_f64() > Some(0.0));
        assert_eq!(report.figure(&format!("{way}_throughput_share"))["goal"], "at_least");
    }
    for (name, target) in [
        ("host_open_p99", 50.0),
        ("host_mapped_p50", 300.0),
        ("text_to_key_first_p50", 20.0),
        ("unix_socket_p50_ratio", 1.3),
        ("tcp_loopback_p99_ratio", 2.0),
    ] {
        let figure = report.figure(name);
        assert_eq!((&figure["goal"], &figure["target"]), (&"at_most".into(), &target.into()), "{figure}");
        assert!(figure["met"].is_boolean(), "{figure}");
    }
    let table = std::fs::read_to_string(csv).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    let heading = "name,n,failed,p50_us,p99_us,p999_us,max_us,floor_p50_us,floor_p99_us,skipped,per_s,floor_per_s,seconds";
    let origin = Origin::parse(lines[0]).unwrap_or_else(|| panic!("{table}"));
    assert_eq!((&*origin.commit, &*origin.machine), ("1234567", "here"));
    let command = "gobo-bench load --scenario hit --count 40 --connections 2 --in-flight 2";
    assert!(origin.command.starts_with(command) && !origin.command.contains("--csv"), "{origin}");
    assert_eq!(lines[1], heading);
    let rows = &lines[2..names.len() + 2];
    assert!(rows.iter().zip(names).all(|(line, name)| line.starts_with(&format!("{name},"))));
    assert!(rows.iter().all(|line| line.matches(',').count() == 12), "{table}");
    assert!(lines[names.len() + 2..].iter().all(|line| line.starts_with("# ")), "{table}");
    let picture = std::fs::read_to_string(svg).unwrap();
    assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"));
    assert!(picture.contains("percentile of calls") && picture.contains("unix_socket: p50 "));
}

#[test]
fn a_rotation_asks_for_every_index_after_a_restart_and_then_for_as_long_as_it_was_told() {
    let args = ["load", "--scenario", "rotation", "--keys", "30", "--seconds", "2"];
    let report = Report::of(&args);
    let names = ["unix_rotation_first", "unix_rotation", "tcp_rotation_first", "tcp_rotation"];
    assert_eq!(report.names(), names);
    for name in names {
        let row = report.row(name);
        assert_eq!(row["failed"], 0, "{row}");
        assert!(row["floor_p50_us"].is_number(), "{row}");
        if name.ends_with("first") {
            assert_eq!(row["n"], 30, "each index once: {row}");
        } else {
            // The bound is looked at after each pair, so it is passed by one pair at most.
            assert!(row["seconds"].as_f64() >= Some(2.0) && row["n"].as_u64() > Some(0), "{row}");
            let figure = report.figure(&format!("{name}_p50_ratio"));
            assert_eq!((&figure["goal"], &figure["target"]), (&"at_most".into(), &1.3.into()), "{figure}");
        }
    }
}

#[test]
fn a_burst_of_one_constraint_is_one_compile() {
    let report = Report::of(&["load", "--scenario", "burst", "--count", "200"]);
    assert_eq!(report.names(), ["burst"]);
    let row = report.row("burst");
    assert_eq!((&row["n"], &row["failed"]), (&200.into(), &0.into()));
    let compiles = report.figure("burst_compiles");
    assert_eq!((&compiles["value"], &compiles["goal"]), (&1.0.into(), &"exactly".into()));
}

#[test]
fn distinct_schemas_are_as_many_misses_where_time_suffices() {
    let bounds = ["--count", "20", "--seconds", "60", "--connections", "2", "--in-flight", "2"];
    let report = Report::of(&[&["load", "--scenario", "distinct"][..], &bounds].concat());
    assert_eq!(report.names(), ["distinct"]);
    let row = report.row("distinct");
    assert_eq!((&row["n"], &row["failed"]), (&20.into(), &0.into()));
}

#[test]
fn good_and_hostile_requests_are_all_accounted_for() {
    let scenarios = ["--scenario", "hostile", "flood", "eviction"];
    let bounds =
        ["--count", "20", "--seconds", "3", "--connections", "2", "--in-flight", "2", "--rate", "20"];
    // Hostile constraints end early here: what is tested is the accounting, not the patience.
    let limits = ["--max-steps", "20000000", "--max-states", "20000"];
    let report = Report::of(&[&["load"][..], &scenarios, &bounds, &limits].concat());
    let names = ["hostile_without", "hostile_with", "hostile_attack", "flood_without", "flood_with"];
    let found = report.names();
    assert_eq!(found[..names.len()], names);
    let all = |name: &str| {
        let row = report.row(name);
        row["n"].as_u64().unwrap() + row["skipped"].as_u64().unwrap()
    };
    assert!((1..=20).contains(&all("hostile_without")));
    assert!((1..=20).contains(&(all("hostile_with") + all("hostile_attack"))));
    assert!((1..=20).contains(&all("flood_with")));
    assert_eq!(report.figure("hostile_daemon_alive")["value"], 1.0);
    assert!(report.value("hostile_rss_before") > 0.0 && report.value("hostile_rss_after") > 0.0);
    assert!(report.value("hostile_p99_ratio") > 0.0 && report.value("flood_p99_ratio") > 0.0);
    // A daemon that evicts nothing says so instead of a row.
    let left_out = report.0.iter().any(|line| line["left_out"] == "eviction" && line["why"].is_string());
    assert!(left_out != found.contains(&"eviction"));
}

#[test]
fn every_attack_has_its_figures_and_the_good_tenant_no_failed_call() {
    let listed = bench(Path::new("."), &["hostile", "--list", "--json"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    let attacks: Vec<String> = listed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["attack"].as_str().unwrap().to_owned())
        .collect();
    assert!(attacks.len() >= 16 && attacks.contains(&"full_queue".into()), "{attacks:?}");
    // So small that they harm nobody: what is tested is the accounting, not the defence.
    let args = ["hostile", "--seconds", "1", "--rate", "5", "--scale", "0.002", "--deadline", "120"];
    let report = Report::of(&args);
    let rows = ["miss", "hit", "connect"];
    let names: Vec<String> =
        attacks.iter().flat_map(|attack| rows.map(|row| format!("{attack}_{row}"))).collect();
    assert_eq!(report.names(), names);
    for attack in &attacks {
        let name = |what: &str| format!("{attack}_{what}");
        let calls = |row: &Value| row["n"].as_u64().unwrap() + row["skipped"].as_u64().unwrap();
        let (misses, hits) = (report.row(&name("miss")), report.row(&name("hit")));
        assert!(calls(misses) > 0 && calls(hits) > calls(misses), "{misses} {hits}");
        assert!(misses["floor_p99_us"].is_number() && hits["floor_p99_us"].is_number(), "{misses} {hits}");
        for (what, target) in [
            ("miss_p99_ratio", 2.0),
            ("hit_p99_ratio", 2.0),
            ("daemon_above_idle", 256.0),
            ("disk_above_idle", 320.0),
        ] {
            let figure = report.figure(&name(what));
            assert_eq!((&figure["goal"], &figure["target"]), (&"at_most".into(), &target.into()), "{figure}");
            assert!(figure["met"].is_boolean() && figure["value"].is_number(), "{figure}");
        }
        for (what, promised) in [("idle_errors", 0.0), ("errors", 0.0), ("serves_after", 1.0)] {
            let figure = report.figure(&name(what));
            assert_eq!(
                (&figure["goal"], &figure["value"]),
                (&"exactly".into(), &promised.into()),
                "{figure}"
            );
        }
        for what in ["daemon", "daemon_pss", "workers", "workers_pss", "disk"] {
            let (idle, attacked) = (name(&format!("idle_{what}")), name(&format!("attacked_{what}")));
            assert!(report.value(&idle) > 0.0 && report.value(&attacked) > 0.0, "{idle} {attacked}");
        }
        for what in ["idle_daemon_cpu", "attacked_workers_cpu", "daemon_after"] {
            assert!(report.value(&name(what)) >= 0.0, "{attack} {what}");
        }
    }
}

#[test]
fn what_an_attack_is_answered_is_counted() {
    let args = ["hostile", "--seconds", "2", "--rate", "5", "--deadline", "120"];
    let more = ["--scale", "0.01", "--only", "one_of,long_refusals,empty_constraints,header_streams"];
    let report = Report::of(&[&args[..], &more].concat());
    // Two objects of which one holds are an index, or refused; one reference that leads nowhere is refused.
    let answers = |attack: &str| {
        let prefix = format!("{attack}_attack_");
        let figures = report
            .0
            .iter()
            .filter(|line| line["figure"].as_str().is_some_and(|figure| figure.starts_with(&prefix)));
        figures.map(|figure| figure["value"].as_f64().unwrap()).sum::<f64>()
    };
    assert!(answers("one_of") >= 1.0 && answers("empty_constraints") >= 1.0);
    assert!(report.value("long_refusals_attack_no") >= 1.0);
    assert!(report.value("header_streams_attack_sent") >= 1.0);
    for wrong in [&["--only", "other"][..], &["--scale", "2"], &["--scale", "none"], &["--seconds", "0"]] {
        let output = bench(Path::new("."), &[&["hostile"][..], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn hosts_have_everything_from_their_bucket() {
    let report = Report::of(&["fleet", "--keys", "12"]);
    assert_eq!(report.names(), ["fleet_known", "fleet_hit", "fleet_unseen", "fleet_unseen_hung"]);
    for name in report.names() {
        assert!(report.row(name)["floor_p50_us"].is_number(), "{name}");
    }
    assert!(report.value("fleet_known_from_bucket") > 0.0);
    for figure in ["fleet_hung_longest_wait", "fleet_pull_ratio", "fleet_known_p99_ratio"] {
        assert!(report.figure(figure)["target"].is_number(), "{figure}");
    }
    let report = Report::of(&["storm", "--hosts", "1", "--processes", "2", "--keys", "12"]);
    assert_eq!(report.names(), ["storm_hosts_warm", "storm_hosts_pulled", "storm_hosts_unseen"]);
    assert_eq!(report.row("storm_hosts_unseen")["n"], 2 * 12);
    assert!(report.figure("storm_hosts_unseen_p99_beyond_warm")["target"].is_number());
}

#[test]
fn a_storm_maps_every_index_in_every_process() {
    let report = Report::of(&["storm", "--processes", "2", "--keys", "10"]);
    assert_eq!(report.names(), ["storm_ready", "storm_open"]);
    assert_eq!((&report.row("storm_ready")["n"], &report.row("storm_open")["n"]), (&2.into(), &20.into()));
    assert!(report.row("storm_open")["floor_p50_us"].is_number());
    assert!(report.value("storm_all_ready") > 0.0);
    assert!(report.figure("storm_private_per_100_indices")["target"].is_number());
}

#[test]
fn what_was_acknowledged_survives_every_kill() {
    let report = Report::of(&["soak", "--seconds", "6", "--connections", "2", "--max-steps", "20000000"]);
    assert_eq!(report.names(), ["soak", "soak_restart"]);
    for promise in ["soak_lost", "soak_wrong_bytes", "soak_orphans"] {
        let figure = report.figure(promise);
        assert_eq!((&figure["value"], &figure["goal"]), (&0.0.into(), &"exactly".into()), "{figure}");
    }
    assert!(report.value("soak_acknowledged") > 0.0);
    let kills = report.value("soak_daemon_kills");
    assert!(kills >= 1.0, "the last one at least");
    assert_eq!(report.row("soak_restart")["n"].as_f64(), Some(kills));
}

#[test]
fn a_load_is_for_this_host_unless_one_insists() {
    let home = tempfile::tempdir().unwrap();
    let load = |server: &str, more: &[&str]| {
        let args =
            ["load", "--scenario", "hit", "--count", "5", "--tokenizer", TOKENIZER, "--server", server];
        let output = bench(home.path(), &[&args[..], more].concat());
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    // An address for documentation.
    let (status, stderr) = load("http://192.0.2.1:7450", &[]);
    assert_eq!(status, Some(2), "{stderr}");
    assert!(stderr.contains("is not on this host") && stderr.contains("--allow-remote"), "{stderr}");
    let (status, stderr) = load("nowhere", &["--allow-remote"]);
    assert_eq!(status, Some(2), "{stderr}");
    for wrong in [&["--rate", "0"][..], &["--rate", "many"], &["--scenario", "other"], &["--count", "0"]] {
        let output = bench(home.path(), &[&["load"][..], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
    let nowhere = home.path().join("missing/load.csv");
    let output = bench(home.path(), &["storm", "--csv", nowhere.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "before the measuring, not after it");
}

#[test]
fn the_program_that_is_measured_is_looked_for_first() {
    let home = tempfile::tempdir().unwrap();
    let missing = home.path().join("gobo");
    for experiment in ["load", "soak", "hostile"] {
        let output = bench(home.path(), &[experiment, "--gobo", missing.to_str().unwrap()]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{experiment}: {stderr}");
        assert!(stderr.contains("there is no program") && stderr.contains("hint: `cargo build"), "{stderr}");
    }
}
