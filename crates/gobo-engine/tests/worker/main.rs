//! The worker processes of the engine's tests: `gobo-engine-test-worker ROLE [FILE]`, started by an engine under test.
//!
//! An engine believes no worker, so most roles are of workers that do what none should.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use gobo_types::{Constraint, Digest, VocabularyDigest, index_key};
use gobo_worker::{compile_constraint, run_worker_with};
use serde_json::{Value, json};

#[path = "../it/full_verdicts.rs"]
mod full_verdicts;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        // The second name is of the one whose workers a test kills.
        ["told" | "told_to_be_killed"] => work_as_told(),
        ["doomed", death] => work_doomed(Path::new(death)),
        ["liar"] => work_badly(lie),
        // Answers another job than it was given.
        ["stranger"] => work_badly(|_| made(&json!(Digest([7; 32]).to_string()))),
        // Answers in no language.
        ["babbler"] => work_badly(|_| b"\x09\0\0\0 nonsense".to_vec()),
        // Claims an answer of four gigabytes.
        ["boaster"] => work_badly(|_| vec![0xff; 4]),
        _ => panic!("no role of a worker: {args:?}"),
    }
}

/// Does what the text of the constraint says, and compiles all others.
fn work_as_told() {
    let compile = |vocabulary: &_, constraint: &Constraint, budget: &_| {
        match constraint.text().as_str() {
            "hang" => loop {
                std::thread::sleep(Duration::from_secs(1));
            },
            "spin" => loop {
                std::hint::spin_loop();
            },
            "eat" => {
                let mut eaten = Vec::<Vec<u8>>::new();
                loop {
                    eaten.push(vec![1; 1 << 20]);
                }
            }
            "die" => std::process::abort(),
            "panic" => panic!("broken on purpose"),
            text => {
                if let Some(verdict) = full_verdicts::full_verdict(text) {
                    return Err(verdict);
                }
            }
        }
        compile_constraint(vocabulary, constraint, 1, budget)
    };
    run_worker_with(&compile).unwrap();
}

/// Dies of its first job, unless another one has died before, for which a file stands.
fn work_doomed(death: &Path) {
    if death.exists() {
        work_as_told();
    } else {
        work_badly(|_| {
            fs::write(death, "").unwrap();
            std::process::abort()
        });
    }
}

/// Reads jobs, and answers each with what `answer` makes of it.
fn work_badly(answer: impl Fn(&Value) -> Vec<u8>) {
    let mut socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned().unwrap());
    while let Some(frame) = read_frame(&mut socket) {
        let order: Value = serde_json::from_slice(&frame).unwrap();
        if let Some(job) = order.get("compile") {
            socket.write_all(&answer(job)).unwrap();
        }
    }
}

/// Says that all went well, having written half of what it should.
fn lie(job: &Value) -> Vec<u8> {
    let constraint: Constraint = serde_json::from_value(job["constraint"].clone()).unwrap();
    let vocabulary: VocabularyDigest = serde_json::from_value(job["vocabulary_digest"].clone()).unwrap();
    fs::write(job["file"].as_str().unwrap(), b"GOBO, and no more").unwrap();
    made(&json!(index_key(&vocabulary, &constraint.digest())))
}

/// The answer that an index of some key was made.
fn made(key: &Value) -> Vec<u8> {
    let made = json!({
        "key": key, "digest": Digest([7; 32]).to_string(), "bytes": 17, "states": 1, "rows": 1, "report": null,
    });
    // More phases than there are, none of which fits into any time.
    let phases = vec![json!({"phase": "rows", "after_us": u64::MAX, "took_us": u64::MAX}); 100];
    frame(&json!({"ended": {"Ok": made}, "phases": phases, "retires": false}))
}

fn read_frame(socket: &mut UnixStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    socket.read_exact(&mut length).ok()?;
    let mut frame = vec![0; u32::from_le_bytes(length) as usize];
    socket.read_exact(&mut frame).ok()?;
    Some(frame)
}

fn frame(message: &Value) -> Vec<u8> {
    let text = message.to_string();
    [&u32::try_from(text.len()).unwrap().to_le_bytes()[..], text.as_bytes()].concat()
}
