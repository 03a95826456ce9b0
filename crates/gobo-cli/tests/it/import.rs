//! Imports of tokenizers: into the store at hand, and into that of a daemon.

use std::fs;
use std::path::{Path, PathBuf};

use crate::gobo::{Daemon, gobo, json, one};

/// A rank file of all bytes and of one longer token, with its special tokens beside it.
fn tokenizer(folder: &Path, name: &str, longer: &str) -> [PathBuf; 2] {
    // Base64 of one byte, and of a text of three.
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: usize| char::from(DIGITS[bits]);
    let rank = |byte: usize| format!("{}{}== {byte}\n", digit(byte >> 2), digit((byte & 3) << 4));
    let bytes: String = (0..=255).map(rank).collect();
    let [one, two, three] = longer.as_bytes() else { panic!("three bytes") };
    let bits = usize::from(*one) << 16 | usize::from(*two) << 8 | usize::from(*three);
    let text: String = [18, 12, 6, 0].map(|shift| digit(bits >> shift & 63)).iter().collect();
    let (file, special) = (folder.join(format!("{name}.tiktoken")), folder.join("special.json"));
    fs::write(&file, format!("{bytes}{text} 256\n")).unwrap();
    fs::write(&special, r#"{"<end>": 257}"#).unwrap();
    [file, special]
}

fn import<'a>([file, special]: &'a [PathBuf; 2], more: &[&'a str]) -> Vec<&'a str> {
    let (file, special) = (file.to_str().unwrap(), special.to_str().unwrap());
    [&["tokenizer", "import", file, "--special", special, "--eos", "<end>", "--name", "mine"][..], more]
        .concat()
}

fn said(output: &std::process::Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_name_is_replaced_only_on_purpose() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path().join("store");
    let [first, second] = ["abc", "xyz"].map(|longer| tokenizer(home.path(), longer, longer));
    let made = one(&store, 0, &import(&first, &[]));
    // Again: nothing is in the way.
    assert_eq!(one(&store, 0, &import(&first, &[])), made);
    let refused = gobo(&store, &import(&second, &[]));
    let text = said(&refused);
    assert_eq!(refused.status.code(), Some(2), "{text}");
    let other = one(&home.path().join("other"), 0, &import(&second, &[]))["digest"].clone();
    for part in [made["digest"].as_str().unwrap(), other.as_str().unwrap(), "--replace", "--name N"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(one(&store, 0, &["tokenizer", "show", "mine"])["digest"], made["digest"]);
    // Other ends of text are another meaning too.
    let bound = gobo(&store, &import(&first, &["--logits-width", "512"]));
    assert!(bound.status.code() == Some(2) && said(&bound).contains("another binding"), "{}", said(&bound));
    assert_eq!(one(&store, 0, &import(&second, &["--replace"]))["digest"], other);
    assert_eq!(one(&store, 0, &["tokenizer", "show", "mine"])["digest"], other);
}

#[test]
fn with_a_server_the_vocabulary_goes_there_and_nothing_stays_here() {
    let home = tempfile::tempdir().unwrap();
    let (theirs, ours) = (home.path().join("theirs"), home.path().join("ours"));
    let [first, second] = ["abc", "xyz"].map(|longer| tokenizer(home.path(), longer, longer));
    let daemon = Daemon::start(&theirs, &["--listen", "localhost:0"]);
    let server = format!("unix:{}", theirs.join("daemon.sock").display());
    let sent = one(&ours, 0, &import(&first, &["--server", &server]));
    assert_eq!(sent, one(&home.path().join("alone"), 0, &import(&first, &[])), "as without a daemon");
    assert!(fs::read_dir(ours.join("v0/names")).unwrap().next().is_none(), "nothing is here");
    let shown = one(&theirs, 0, &["tokenizer", "show", "mine"]);
    assert_eq!(shown["digest"], sent["digest"]);
    // The daemon says of it what a command beside its store says.
    assert_eq!(one(&ours, 0, &["tokenizer", "show", "mine", "--server", &server]), shown);
    assert_eq!(json(&ours, 0, &["tokenizer", "list", "--server", &server]), [shown]);
    let unknown = gobo(&ours, &["tokenizer", "show", "yours", "--server", &server]);
    assert!(unknown.status.code() == Some(2) && said(&unknown).contains("yours"), "{}", said(&unknown));
    let get = ["get", "--server", &server, "--tokenizer", "mine", "--regex", "abc+"];
    assert_eq!(one(&ours, 0, &get)["source"], "stream");

    let refused = gobo(&ours, &import(&second, &["--server", &server]));
    let text = said(&refused);
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(text.contains(sent["digest"].as_str().unwrap()) && text.contains("hint: "), "{text}");
    let replaced = one(&ours, 0, &import(&second, &["--server", &server, "--replace"]));
    assert_ne!(replaced["digest"], sent["digest"]);
    drop(daemon);
    // No daemon: nothing is written instead.
    let alone = gobo(&ours, &import(&first, &["--server", &server, "--replace"]));
    assert_eq!(alone.status.code(), Some(2));
    assert!(said(&alone).contains("no daemon answers"), "{}", said(&alone));
    assert_eq!(said(&alone).matches("caused by").count(), 1, "what the system says, once: {}", said(&alone));
}

#[test]
fn a_tokenizer_that_is_given_by_its_path_is_sent_to_the_daemon_that_was_named() {
    let home = tempfile::tempdir().unwrap();
    let (theirs, ours) = (home.path().join("theirs"), home.path().join("ours"));
    // Rank files say nothing of their special tokens: none is needed here.
    let [file, _] = tokenizer(home.path(), "path", "abc");
    let _daemon = Daemon::start(&theirs, &[]);
    let server = format!("unix:{}", theirs.join("daemon.sock").display());
    let get = ["get", "--server", &server, "--tokenizer", file.to_str().unwrap(), "--regex", "abc+"];
    assert_eq!(one(&ours, 0, &get)["source"], "stream");
    assert_eq!(json(&theirs, 0, &["tokenizer", "list", "--server", &server])[0]["name"], "path");
    // The same file again stands for the same.
    assert_eq!(one(&ours, 0, &get)["source"], "map");
}

#[test]
fn a_daemon_whose_disk_is_full_says_so_and_keeps_nothing() {
    let home = tempfile::tempdir().unwrap();
    let (theirs, ours) = (home.path().join("theirs"), home.path().join("ours"));
    let mine = tokenizer(home.path(), "abc", "abc");
    // The limit raises SIGXFSZ unless it is ignored; then writing fails as it does on a full disk.
    let daemon = Daemon::start_under("trap '' XFSZ; ulimit -f 8;", &theirs, &["--inline"]);
    let server = format!("unix:{}", theirs.join("daemon.sock").display());
    let full = gobo(&ours, &import(&mine, &["--server", &server]));
    assert_eq!(full.status.code(), Some(2));
    assert!(said(&full).contains("no room to write"), "{}", said(&full));
    assert!(fs::read_dir(theirs.join("v0/names")).unwrap().next().is_none());
    for folder in fs::read_dir(theirs.join("v0/vocab")).unwrap() {
        assert!(
            fs::read_dir(folder.unwrap().path()).unwrap().next().is_none(),
            "no file, and no temporary one"
        );
    }
    assert!(json(&ours, 0, &["status", "--server", &server])[0]["failed"] == 0, "it lives");
    drop(daemon);
}

#[test]
fn a_second_owner_is_told_who_is_the_first() {
    let home = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(home.path(), &[]);
    let second = gobo(home.path(), &["serve"]);
    let text = said(&second);
    assert_eq!(second.status.code(), Some(2), "{text}");
    assert!(text.contains(&format!("another daemon (process {}) owns the catalog", daemon.id())), "{text}");
    assert!(text.contains("hint: talk to it through unix:"), "{text}");
    for bad in [&["serve", "--listen", "7450"][..], &["serve", "--admin", "localhost"]] {
        let output = gobo(home.path(), bad);
        assert!(said(&output).contains("such as localhost:50051"), "{}", said(&output));
    }
}
