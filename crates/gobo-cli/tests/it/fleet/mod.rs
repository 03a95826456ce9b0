//! A fleet as `docs/deploy/fleet.md` has it: a library into a bucket by shards, hosts that pull, hosts that look when they are asked.

mod answers;
mod credentials;
mod garage;
mod haproxy;
mod jobs;
mod namespaces;
mod pool;
mod seaweed;
mod server;
mod slurm;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::gobo::{Daemon, one};

pub(crate) use pool::free_port;

const TOKENIZER: &str = "r50k_base";

/// Pairs of keys: the first two of RFC 8032, section 7.1.
const PRIVATE: [&str; 2] = [
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g",
    "MC4CAQAwBQYDK2VwBCIEIEzNCJb/myhGnaZ9UTXNXc2dMEAj4bqSCZp0c3GxB/wF",
];
const PUBLIC: [&str; 2] = [
    "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
    "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=",
];

/// What a server makes of a write that is to replace nothing.
#[derive(Clone, Copy)]
enum Conditions {
    Kept,
    Ignored,
}

/// A bucket, and what a writer and a reader have in their environment.
struct Fleet {
    url: String,
    writer: Vec<(&'static str, String)>,
    reader: Vec<(&'static str, String)>,
}

impl Fleet {
    fn run(&self, environment: &[(&str, String)], store: &Path, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gobo"));
        command.args(args).args(["--remote", &self.url, "--json"]).env("GOBO_STORE", store);
        command.env_remove("GOBO_SERVER").env_remove("GOBO_LOG");
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.output().unwrap()
    }

    /// The lines of a command that must end with `status`.
    fn json(&self, environment: &[(&str, String)], store: &Path, status: i32, args: &[&str]) -> Vec<Value> {
        let output = self.run(environment, store, args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {stderr}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
    }

    /// The summary of a shard.
    fn shard(&self, home: &Path, shard: &str, more: &[&str]) -> Value {
        let library = home.join("library.jsonl.zst");
        let sign = home.join("sign.pem");
        let args = [
            &["prewarm", "--tokenizer", TOKENIZER, "--shard", shard, "--manifest", "everyday"][..],
            &["--sign", sign.to_str().unwrap(), library.to_str().unwrap()],
            more,
        ];
        let mut lines = self.json(&self.writer, &home.join("unused"), 0, &args.concat());
        lines.pop().unwrap()["summary"].take()
    }
}

/// What a shell runs so that a program has an environment.
pub(crate) fn exported(environment: &[(&str, String)]) -> String {
    let exports: Vec<String> =
        environment.iter().map(|(name, value)| format!("export {name}='{value}'; ")).collect();
    exports.concat()
}

fn pem(label: &str, base64: &str) -> String {
    format!("-----BEGIN {label}-----\n{base64}\n-----END {label}-----\n")
}

/// Constraints of some kinds, two of them twice, one that is refused.
fn library(home: &Path) -> usize {
    let mut lines: Vec<String> =
        (0..40).map(|number| format!(r#"{{"id":"r{number}","regex":"a{{{number}}}[b-x]*"}}"#)).collect();
    lines.push(r#"{"id":"schema","schema":{"type":"object","properties":{"a":{"type":"integer"}}}}"#.into());
    lines.push(r#"{"id":"refused","regex":"("}"#.into());
    let distinct = lines.len();
    lines.extend([lines[3].clone(), lines[7].clone()]);
    let compressed = zstd::bulk::compress(lines.join("\n").as_bytes(), 3).unwrap();
    fs::write(home.join("library.jsonl.zst"), compressed).unwrap();
    fs::write(home.join("sign.pem"), pem("PRIVATE KEY", PRIVATE[0])).unwrap();
    fs::write(home.join("trust.pem"), pem("PUBLIC KEY", PUBLIC[0])).unwrap();
    fs::write(home.join("other.pem"), pem("PUBLIC KEY", PUBLIC[1])).unwrap();
    distinct
}

fn sum(shards: &[Value], name: &str) -> u64 {
    shards.iter().map(|shard| shard[name].as_u64().unwrap()).sum()
}

/// What a doctor finds.
fn examine(fleet: &Fleet, conditions: Conditions, home: &Path) {
    let doctor = ["remote", "doctor", "--write"];
    let found = fleet.json(&fleet.writer, home, 0, &doctor).remove(0);
    for what in ["listing", "reading", "writing", "latency", "conditional_writes", "clock", "this_version"] {
        assert_eq!(found[what]["well"], true, "{what}: {found}");
    }
    let conditions = match conditions {
        Conditions::Kept => "kept",
        Conditions::Ignored => "ignored, which costs bandwidth where two hosts write one object",
    };
    assert_eq!(found["conditional_writes"]["found"], conditions);
    assert!(found["listing"]["found"].as_str().unwrap().contains("objects of v0-c"), "{found}");
    if !fleet.reader.is_empty() {
        fleet.json(&fleet.reader, home, 0, &doctor[..2]);
        let found = fleet.json(&fleet.reader, home, 1, &doctor).remove(0);
        assert_eq!(
            (&found["reading"]["well"], &found["writing"]["well"]),
            (&true.into(), &false.into()),
            "{found}"
        );
    }
}

/// From nothing to two warm hosts.
fn from_nothing(fleet: &Fleet, conditions: Conditions, home: &Path) {
    let distinct = library(home) as u64;
    // N shards, and the same again: all that they find is there.
    let run = |more: &[&str]| [0, 1, 2].map(|index| fleet.shard(home, &format!("{index}/3"), more));
    let first = run(&[]);
    assert_eq!(sum(&first, "done"), distinct);
    assert_eq!(
        (sum(&first, "compiled"), sum(&first, "refused"), sum(&first, "repeated")),
        (distinct - 1, 1, 2)
    );
    assert_eq!((sum(&first, "in_bucket"), sum(&first, "unwritten")), (distinct, 0));
    let again = run(&["--verify", "100"]);
    assert_eq!((sum(&again, "hits"), sum(&again, "compiled")), (distinct, 0));
    assert_eq!((sum(&again, "verified"), sum(&again, "differing")), (distinct - 1, 0));
    // Other shards of the same library.
    assert_eq!(fleet.shard(home, "0/1", &[])["hits"], distinct);
    assert!(!home.join("unused").exists(), "a shard has a store of its own");

    examine(fleet, conditions, home);

    // A host that pulls has everything, whatever becomes of the bucket then.
    let trust = home.join("trust.pem");
    let trust = ["--trust", trust.to_str().unwrap()];
    let cold = home.join("cold");
    let pull = |store: &Path, status, trust: &[&str]| {
        fleet.json(&fleet.reader, store, status, &[&["pull", "everyday"][..], trust].concat())
    };
    let pulled = pull(&cold, 0, &trust).remove(0);
    assert_eq!((&pulled["indices"], &pulled["verdicts"]), (&(distinct - 1).into(), &1.into()), "{pulled}");
    assert_eq!((&pulled["vocabularies"], &pulled["names"]), (&1.into(), &1.into()));
    assert_eq!(pull(&cold, 0, &trust).remove(0)["present"], distinct);
    let get =
        |store: &Path, pattern: &str| one(store, 0, &["get", "--tokenizer", TOKENIZER, "--regex", pattern]);
    assert_eq!(get(&cold, "a{5}[b-x]*")["source"], "map");
    // Nothing of it is believed by who trusts another key.
    let other = home.join("other.pem");
    let stranger = home.join("stranger");
    let output =
        fleet.run(&fleet.reader, &stranger, &["pull", "everyday", "--trust", other.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no trusted key has signed it"));

    // A daemon that pulls, and one that looks when it is asked.
    let serve = |store: &Path, more: &[&str]| {
        let args = [&["--remote", &fleet.url, "--lookup", "first"][..], &trust, more].concat();
        Daemon::start_under(&exported(&fleet.reader), store, &args)
    };
    let (warm, asked) = (home.join("warm"), home.join("asked"));
    let pulling = serve(&warm, &["--pull", "everyday"]);
    let begun = Instant::now();
    while one(&warm, 0, &["status"])["indices"] != distinct - 1 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", pulling.said());
        std::thread::sleep(Duration::from_millis(50));
    }
    let looking = serve(&asked, &[]);
    for number in 0..40 {
        let pattern = format!("a{{{number}}}[b-x]*");
        assert_eq!(get(&warm, &pattern)["index_key"], get(&asked, &pattern)["index_key"]);
    }
    let (warm_status, asked_status) = (one(&warm, 0, &["status"]), one(&asked, 0, &["status"]));
    assert_eq!((&warm_status["compiled"], &warm_status["fetched"]), (&0.into(), &0.into()));
    assert_eq!((&asked_status["compiled"], &asked_status["fetched"]), (&0.into(), &40.into()));
    let bytes = |store: &Path| fs::read(get(store, "a{7}[b-x]*")["path"].as_str().unwrap()).unwrap();
    assert!(bytes(&warm) == bytes(&asked));
    pulling.terminate();
    looking.terminate();
}

#[test]
fn from_nothing_to_two_warm_hosts_through_a_folder() {
    let home = tempfile::tempdir().unwrap();
    let url = format!("file://{}/bucket", home.path().display());
    from_nothing(&Fleet { url, writer: vec![], reader: vec![] }, Conditions::Kept, home.path());
}

#[test]
fn a_bucket_that_is_down_is_no_mistake_of_the_command() {
    let home = tempfile::tempdir().unwrap();
    library(home.path());
    let library = home.path().join("library.jsonl.zst");
    let environment: Vec<_> = [
        ("AWS_ENDPOINT", "http://127.0.0.1:1"),
        ("AWS_ACCESS_KEY_ID", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "us-east-1"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .into();
    let fleet = Fleet { url: "s3://artifacts/gobo".into(), writer: vec![], reader: vec![] };
    let prewarm = ["prewarm", "--tokenizer", TOKENIZER, library.to_str().unwrap()];
    let output = fleet.run(&environment, home.path(), &prewarm);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("run the shard again"), "{said}");
}

#[test]
fn a_library_that_is_cut_off_is_read_as_far_as_it_goes() {
    let home = tempfile::tempdir().unwrap();
    library(home.path());
    let path = home.path().join("library.jsonl.zst");
    let whole = fs::read(&path).unwrap();
    // Lines of different lengths, so that they do not come all at once.
    fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    let fleet =
        Fleet { url: format!("file://{}/bucket", home.path().display()), writer: vec![], reader: vec![] };
    let summary = fleet.shard(home.path(), "0/1", &[]);
    assert_eq!(summary["unreadable"], 1, "{summary}");
    fs::write(&path, b"no frame").unwrap();
    assert_eq!(fleet.shard(home.path(), "0/1", &[])["unreadable"], 1);
}

#[test]
fn what_cannot_be_meant_is_said_before_anything_is_done() {
    let home = tempfile::tempdir().unwrap();
    library(home.path());
    let file = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let (library, sign) = (file("library.jsonl.zst"), file("sign.pem"));
    let bucket = format!("file://{}/bucket", home.path().display());
    let prewarm = ["prewarm", "--tokenizer", TOKENIZER, &*library];
    for (args, words) in [
        ([&prewarm[..], &["--shard", "0/2"]].concat(), "--remote"),
        ([&prewarm[..], &["--remote", &bucket, "--shard", "2/2"]].concat(), "0/2 to 1/2"),
        ([&prewarm[..], &["--remote", &bucket, "--pin"]].concat(), "--pin"),
        ([&prewarm[..], &["--remote", &bucket, "--store", &library]].concat(), "temporary one"),
        ([&prewarm[..], &["--remote", "s3://me:secret@bucket/x"]].concat(), "from the environment"),
        ([&prewarm[..], &["--remote", &bucket, "--sign", &library]].concat(), "no private key"),
        ([&prewarm[..], &["--sign", &sign]].concat(), "--remote URL"),
        (vec!["pull", "x"], "--remote URL"),
        (vec!["pull", "x", "--remote", &bucket], "has not a manifest"),
        (vec!["pull", "x", "--remote", &bucket, "--trust", &sign], "no public key"),
        (vec!["serve", "--pull", "x"], "--remote"),
    ] {
        let output = crate::gobo::gobo(home.path(), &args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
        assert!(!said.contains("secret"), "{said}");
    }
}
