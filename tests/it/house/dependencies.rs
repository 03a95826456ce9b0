//! What enters the tree of dependencies: one TLS stack, one transport, nothing newer than the oldest supported Rust.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The platform that this compiler builds for.
fn host() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

fn packages() -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--locked", "--offline", "--format-version", "1"])
        // Those that are built here: others need not have been fetched.
        .args(["--filter-platform", &host()])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn there_is_one_tls_stack_and_one_transport() {
    let mut versions = BTreeMap::<String, Vec<String>>::new();
    for package in packages() {
        let text = |field: &str| package[field].as_str().unwrap().to_owned();
        versions.entry(text("name")).or_default().push(text("version"));
    }
    for name in [
        "rustls",
        "rustls-webpki",
        "tokio-rustls",
        "ring",
        "tonic",
        "prost",
        "hyper",
        "h2",
        "http",
        "axum",
        "object_store",
    ] {
        assert_eq!(versions.get(name).map_or(0, Vec::len), 1, "{name}: {:?}", versions.get(name));
    }
    for name in ["aws-lc-rs", "aws-lc-sys", "openssl", "openssl-sys", "native-tls", "boring", "schannel"] {
        assert!(!versions.contains_key(name), "{name} has entered the tree");
    }
}

#[test]
fn no_dependency_needs_a_newer_rust() {
    let number = |text: &str| {
        let mut parts = text.split('.').map(|part| part.parse::<u32>().unwrap());
        (parts.next().unwrap(), parts.next().unwrap_or(0), parts.next().unwrap_or(0))
    };
    let oldest = number(env!("CARGO_PKG_RUST_VERSION"));
    for package in packages() {
        if let Some(needs) = package["rust_version"].as_str() {
            assert!(number(needs) <= oldest, "{} needs Rust {needs}", package["id"]);
        }
    }
}
