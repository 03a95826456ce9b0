//! Servers of objects that are not ours, and hosts that use them.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use super::TOKENIZER;
use crate::gobo::one;

/// A process that is killed when the test ends: asked politely some take a quarter of a minute.
pub(super) struct Process(Child);

impl Process {
    pub(super) fn of(child: Child) -> Self {
        Self(child)
    }

    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until something holds.
pub(super) fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

pub(super) fn answers(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// What whoever has this key has in the environment.
pub(super) fn environment(port: u16, key: &str, secret: &str) -> Vec<(&'static str, String)> {
    vec![
        ("AWS_ACCESS_KEY_ID", key.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", secret.to_owned()),
        ("AWS_ENDPOINT", format!("http://127.0.0.1:{port}")),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
    ]
}

/// Where an index came from, which took nobody long.
pub(super) fn get(store: &Path, pattern: &str) -> String {
    let begun = Instant::now();
    let got = one(store, 0, &["get", "--tokenizer", TOKENIZER, "--regex", pattern]);
    assert!(begun.elapsed() < Duration::from_secs(10), "{pattern}");
    got["source"].as_str().unwrap().to_owned()
}
