//! Hosts with networks of their own: a pool on one, a daemon on the other, and a link between them that is cut. Packets are lost then and
//! nobody is told, as where a switch fails. Needs root and iproute2.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::TOKENIZER;
use super::pool::number;
use crate::gobo::{Daemon, one};

const HOST: &str = "10.77.0.1";
const POOL: &str = "10.77.0.2";

/// Two network namespaces with a link between them.
struct Network {
    host: String,
    pool: String,
}

impl Network {
    fn new() -> Self {
        let name = |of: &str| format!("gobo-{}-{of}", std::process::id());
        let network = Self { host: name("host"), pool: name("pool") };
        for name in [&network.host, &network.pool] {
            ip(&["netns", "add", name]);
            ip(&["-n", name, "link", "set", "lo", "up"]);
        }
        ip(&[
            "-n",
            &network.host,
            "link",
            "add",
            "link0",
            "type",
            "veth",
            "peer",
            "name",
            "link0",
            "netns",
            &network.pool,
        ]);
        for (name, address) in [(&network.host, HOST), (&network.pool, POOL)] {
            ip(&["-n", name, "addr", "add", &format!("{address}/30"), "dev", "link0"]);
            ip(&["-n", name, "link", "set", "link0", "up"]);
        }
        network
    }

    /// What a shell runs so that a program has this network.
    fn on(name: &str) -> String {
        format!("PATH=\"$PATH:/usr/sbin:/sbin\" exec ip netns exec {name} \"$0\" \"$@\"; ")
    }

    /// Has all packets of the pool's end lost, or none.
    fn lose(&self, are_lost: bool) {
        let route = format!("{HOST}/32");
        ip(&["-n", &self.pool, "route", if are_lost { "add" } else { "del" }, "blackhole", &route]);
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in [&self.host, &self.pool] {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

fn ip(args: &[&str]) {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let output = Command::new("ip").args(args).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "ip {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn get(store: &Path, pattern: &str) -> Value {
    one(store, 0, &["get", "--tokenizer", TOKENIZER, "--regex", pattern])
}

#[test]
#[ignore = "needs root and iproute2, for network namespaces"]
fn a_link_that_loses_packets_costs_a_host_its_budget_and_no_answer() {
    let home = tempfile::tempdir().unwrap();
    let (at_pool, at_host) = (home.path().join("pool"), home.path().join("host"));
    let network = Network::new();
    let listen = format!("{POOL}:7450");
    let args = ["--listen", &listen, "--insecure", "--drain-pause", "0s"];
    let pool = Daemon::start_under(&Network::on(&network.pool), &at_pool, &args);
    let address = format!("http://{listen}");
    let args = ["--upstream", &address, "--upstream-budget-ms", "2000"];
    let host = Daemon::start_under(&Network::on(&network.host), &at_host, &args);
    assert_eq!(get(&at_host, "a+")["source"], "upstream");

    network.lose(true);
    let begun = Instant::now();
    for number in 1..=6 {
        assert_eq!(get(&at_host, &format!("b{{{number}}}"))["source"], "compile");
    }
    // Five calls wait for their budget; then nobody waits.
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let (down, skipped) = (number(&at_host, "upstream_down"), number(&at_host, "upstream_skipped"));
    assert!(down >= 5 && down + skipped == 6, "{down} and {skipped}");
    assert_eq!(get(&at_host, "a+")["source"], "map");

    network.lose(false);
    let begun = Instant::now();
    for number in 1.. {
        assert!(begun.elapsed() < Duration::from_secs(120));
        if get(&at_host, &format!("c{{{number}}}"))["source"] == "upstream" {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    host.terminate();
    pool.terminate();
}
