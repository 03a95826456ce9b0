//! The store, with and without a daemon.

use super::{TOKENIZER, has, tiny_tokenizer};
use crate::gobo::{Daemon, gobo, json, one};

#[test]
fn get_prewarm_status_and_rebuild_work_with_and_without_a_daemon() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let library = store.join("library");
    std::fs::create_dir(&library).unwrap();
    std::fs::write(library.join("digits.regex"), "[0-9]{1,3}\n").unwrap();
    std::fs::write(library.join("words.choice"), "yes\nno\n").unwrap();
    std::fs::write(library.join("more.jsonl"), "{\"id\":\"bad\",\"regex\":\"(\"}\n").unwrap();
    let prewarm = ["prewarm", "--tokenizer", TOKENIZER, library.to_str().unwrap()];
    let get = ["get", "--tokenizer", TOKENIZER, "--regex", "[0-9]{1,3}"];

    let prewarmed = || json(store, 0, &prewarm).pop().unwrap()["summary"].clone();
    let first = prewarmed();
    has(&first, &["done", "hits", "compiled", "refused", "over_budget", "failed", "seconds"]);
    assert_eq!((&first["done"], &first["compiled"], &first["refused"]), (&3.into(), &2.into(), &1.into()));
    let again = prewarmed();
    assert_eq!((&again["hits"], &again["compiled"]), (&2.into(), &0.into()));
    let got = one(store, 0, &get);
    has(&got, &["verdict", "source", "index_key", "path", "resolve_us"]);
    assert_eq!(got["source"], "map");

    let daemon = Daemon::start(store, &[]);
    assert_eq!(one(store, 0, &get)["path"], got["path"]);
    assert_eq!(one(store, 0, &["get", "--tokenizer", TOKENIZER, "--regex", "x+"])["source"], "compile");
    assert_eq!(prewarmed()["hits"], 2);
    let status = one(store, 0, &["status"]);
    has(&status, &["store", "vocabularies", "indices", "bytes", "hits", "misses", "in_flight", "queued"]);
    assert_eq!(status["indices"], 3);
    let second = gobo(store, &["serve"]);
    assert_eq!(second.status.code(), Some(2), "two daemons on one store");
    drop(daemon);

    // The daemon was killed: its socket is dead, its files are not.
    assert_eq!(one(store, 0, &get)["source"], "map");
    std::fs::remove_dir_all(store.join("catalog")).unwrap();
    assert_eq!(one(store, 0, &["catalog", "rebuild"])["indices"], 3);
    assert_eq!(one(store, 0, &["status"])["indices"], 3);
    assert_eq!(one(store, 2, &["get", "--tokenizer", TOKENIZER, "--regex", "("])["verdict"], "refused");
}

#[test]
fn gc_pin_and_unpin_work_with_and_without_a_daemon() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path();
    let letters = store.join("letters");
    std::fs::create_dir(&letters).unwrap();
    let tokenizer = tiny_tokenizer(&letters);
    let get = |regex: &str| {
        let got = one(store, 0, &["get", "--tokenizer", &tokenizer, "--regex", regex]);
        (got["index_key"].as_str().unwrap().to_owned(), got["path"].as_str().unwrap().to_owned())
    };
    let ((kept, _), (gone, path)) = (get("a+"), get("b+"));
    // As if nobody had used them for a year, and nothing remembered.
    std::fs::remove_dir_all(store.join("catalog")).unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(365 * 24 * 3600);
    let times = std::fs::FileTimes::new().set_accessed(long_ago).set_modified(long_ago);
    std::fs::File::open(&path).unwrap().set_times(times).unwrap();

    assert_eq!(one(store, 0, &["pin", &kept])["pinned"], 1);
    assert_eq!(one(store, 0, &["pin", &kept])["unchanged"], 1);
    assert_eq!(one(store, 0, &["pin", "--list"])["index_key"], kept.as_str());
    assert_eq!(gobo(store, &["pin"]).status.code(), Some(2));
    assert_eq!(gobo(store, &["pin", "nonsense"]).status.code(), Some(2));
    assert_eq!(gobo(store, &["pin", &"00".repeat(32)]).status.code(), Some(2), "not in the store");
    let sum = one(store, 0, &["gc"]);
    assert_eq!((&sum["indices"], &sum["removed"]), (&2.into(), &0.into()), "it is below its bound");
    for args in [&["gc", "--max-store-bytes", "0", "--dry-run"][..], &["gc", "--max-store-bytes", "0B"]] {
        assert!(std::path::Path::new(&path).exists());
        let lines = json(store, 0, args);
        let of = |what: &str| lines.iter().find(|line| line["what"] == what).unwrap();
        has(of("removed"), &["index_key", "bytes", "last_used_unix_ms"]);
        assert_eq!(
            (&of("removed")["index_key"], &of("pinned")["index_key"]),
            (&gone.clone().into(), &kept.clone().into())
        );
        has(of("sum"), &["dry_run", "bytes", "removed_bytes", "in_grace", "quarantine_removed"]);
        assert_eq!((&of("sum")["removed"], &of("sum")["pinned"]), (&1.into(), &1.into()));
    }
    assert!(!std::path::Path::new(&path).exists());

    let daemon = Daemon::start(store, &[]);
    assert_eq!(one(store, 0, &["unpin", &kept, &gone])["unpinned"], 1);
    assert!(json(store, 0, &["pin", "--list"]).is_empty());
    assert_eq!(get("b+").0, gone);
    let text = gobo(store, &["gc", "--max-store-bytes", "0"]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains(&format!("spared, in grace {}", &gone[..16])), "{text}");
    assert!(text.contains("0 of 2 indices removed") || text.contains("1 of 2 indices removed"), "{text}");
    drop(daemon);
    for bad in [
        &["gc", "--max-store-bytes", "much"][..],
        &["serve", "--grace", "10"],
        &["serve", "--scrub-rate", "fast"],
    ] {
        assert_eq!(gobo(store, bad).status.code(), Some(2), "{bad:?}");
    }
}
