//! A real Prometheus scrapes a daemon that has work, and every query of the dashboard and the rules has an answer: `GOBO_PROMETHEUS` names
//! its program.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fleet::free_port;
use crate::gobo::{Daemon, gobo, one};

const TOKENIZER: &str = "r50k_base";

struct Prometheus {
    process: Child,
    port: u16,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Prometheus {
    fn start(home: &Path, target: &str) -> Self {
        let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploy/alerts.yaml");
        let config = format!(
            "global: {{scrape_interval: 500ms, scrape_timeout: 400ms, evaluation_interval: 1s}}\n\
             rule_files: [\"{}\"]\n\
             scrape_configs: [{{job_name: gobo, static_configs: [{{targets: [{target:?}]}}]}}]\n",
            rules.canonicalize().unwrap().display(),
        );
        let (path, port) = (home.join("prometheus.yml"), free_port());
        fs::write(&path, config).unwrap();
        let log = fs::File::create(home.join("prometheus.log")).unwrap();
        let process = Command::new(std::env::var_os("GOBO_PROMETHEUS").expect("GOBO_PROMETHEUS is set"))
            .arg(format!("--config.file={}", path.display()))
            .arg(format!("--storage.tsdb.path={}", home.join("prometheus").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Self { process, port }
    }

    /// The answer of its API; `None` while it does not answer.
    fn get(&self, path: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let head = format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
        stream.write_all(head.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }

    /// How many series a query yields.
    fn query(&self, query: &str) -> usize {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat();
        let answer = self.get(&format!("/api/v1/query?query={encoded}")).unwrap();
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        answer["data"]["result"].as_array().unwrap().len()
    }
}

/// The queries of the dashboard's panels, of each daemon over half a minute.
fn panels() -> Vec<(String, String)> {
    let dashboard: Value =
        serde_json::from_str(include_str!("../../../../docs/deploy/dashboard.json")).unwrap();
    let queries = |panel: &Value| {
        let title = panel["title"].as_str().unwrap().to_owned();
        let targets = panel["targets"].as_array().unwrap().clone();
        targets.into_iter().map(move |target| (title.clone(), target["expr"].as_str().unwrap().to_owned()))
    };
    let of_panels = dashboard["panels"].as_array().unwrap().iter().flat_map(queries);
    of_panels
        .map(|(title, query)| (title, query.replace("$__rate_interval", "30s").replace("$instance", ".*")))
        .collect()
}

#[test]
#[ignore = "needs GOBO_PROMETHEUS, the program of Prometheus"]
fn every_query_of_the_dashboard_is_answered() {
    let home = tempfile::tempdir().unwrap();
    let admin = format!("127.0.0.1:{}", free_port());
    let bucket = format!("file://{}", home.path().join("bucket").display());
    let daemon = Daemon::start(
        &home.path().join("store"),
        &["--admin", &admin, "--remote", &bucket, "--remote-mode", "write", "--upstream", "unix:/nowhere"],
    );
    let prometheus = Prometheus::start(home.path(), &admin);
    let store = home.path().join("store");
    let begun = Instant::now();
    // Work, until there is a rate of it.
    let mut number = 0;
    loop {
        let pattern = format!("a{{{}}}", number % 7);
        let _ = one(&store, 0, &["get", "--tokenizer", TOKENIZER, "--regex", &pattern]);
        let refused = gobo(&store, &["get", "--tokenizer", TOKENIZER, "--regex", "(a)\\1"]);
        assert_eq!(refused.status.code(), Some(2));
        number += 1;
        let up = prometheus.get("/api/v1/query?query=count_over_time(gobo_connections[1m])");
        let samples = up.and_then(|up| up["data"]["result"][0]["value"][1].as_str()?.parse::<u32>().ok());
        if samples.is_some_and(|samples| samples > 6) {
            break;
        }
        let log = || fs::read_to_string(home.path().join("prometheus.log")).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", log());
        std::thread::sleep(Duration::from_millis(200));
    }
    // What this daemon has not got to tell: it has no certificate and turned nobody away for one.
    let silent = ["Days until a certificate expires"];
    let mut without = Vec::new();
    for (title, query) in panels() {
        if prometheus.query(&query) == 0 && !silent.contains(&&*title) {
            without.push((title, query));
        }
    }
    without.retain(|(_, query)| !query.contains("gobo_tls_handshakes_total"));
    assert!(without.is_empty(), "{without:#?}");
    let rules = prometheus.get("/api/v1/rules").unwrap();
    let rules = rules["data"]["groups"][0]["rules"].as_array().unwrap().clone();
    assert!(rules.len() >= 10);
    for rule in rules {
        assert_eq!(rule["health"], "ok", "{rule}");
        let fires = rule["state"] == "firing";
        assert!(!fires, "nothing is wrong with this daemon for so long: {rule}");
    }
    daemon.terminate();
}
