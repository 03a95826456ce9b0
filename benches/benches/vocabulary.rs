//! What a tokenizer costs: importing its file and building the vocabulary file, together and apart, beside parsing the
//! same file as JSON; opening the vocabulary file, and having it ready to compile with in a process that starts on a host
//! where it was verified before.
//!
//! `cargo bench --bench vocabulary` in `benches/`. Tokenizer files are looked for in `GOBO_DATA`, then in `shared/data`
//! beside the repository; without them nothing is measured.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use gobo_artifact::Vocabulary;
use gobo_store::Store;
use gobo_tokenizer::{ImportOptions, import};

fn files() -> Vec<(String, PathBuf)> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let folder = std::env::var_os("GOBO_DATA").map_or_else(beside, PathBuf::from).join("tokenizers");
    let Ok(listing) = std::fs::read_dir(&folder) else {
        eprintln!("SKIPPED: {} is not there; set GOBO_DATA", folder.display());
        return Vec::new();
    };
    let mut files: Vec<(String, PathBuf)> = listing
        .filter_map(|entry| Some(entry.ok()?.path().join("tokenizer.json")))
        .filter(|path| path.is_file())
        .filter_map(|path| Some((path.parent()?.file_name()?.to_str()?.to_owned(), path)))
        .collect();
    files.sort();
    files
}

fn vocabulary(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().join("store");
    for (name, path) in files() {
        let mut group = criterion.benchmark_group(&name);
        group.sample_size(10);
        group.bench_function("import", |bencher| {
            bencher.iter(|| import(black_box(&path), &ImportOptions::default()).expect("a known tokenizer"));
        });
        // What a user waits for: at most twice the time of the parse that comes next.
        group.bench_function("import_and_build", |bencher| {
            bencher.iter(|| {
                let imported =
                    import(black_box(&path), &ImportOptions::default()).expect("a known tokenizer");
                imported.table.build().expect("a vocabulary")
            });
        });
        group.bench_function("parse_as_json_value", |bencher| {
            bencher.iter(|| {
                let text = std::fs::read(black_box(&path)).expect("a readable file");
                serde_json::from_slice::<serde_json::Value>(&text).expect("JSON")
            });
        });
        let table = import(&path, &ImportOptions::default()).expect("a known tokenizer").table;
        let file = folder.path().join(&name);
        group.bench_function("build", |bencher| {
            bencher.iter(|| black_box(&table).build().expect("a vocabulary"))
        });
        std::fs::write(&file, table.build().expect("a vocabulary")).expect("room for a vocabulary");
        group.bench_function("open", |bencher| {
            bencher.iter(|| Vocabulary::open(black_box(&file)).expect("a vocabulary file"));
        });
        let open = || Store::open(black_box(&root)).expect("a store");
        let digest = table.digest();
        open()
            .publish_vocabulary(&digest, &table.build().expect("a vocabulary"))
            .expect("room for a vocabulary");
        // A file is stamped once it has been left alone for a moment.
        std::thread::sleep(Duration::from_millis(200));
        open().open_verified_vocabulary(&digest).expect("a vocabulary file");
        group.bench_function("ready_to_compile", |bencher| {
            bencher.iter(|| {
                let store = open();
                let vocabulary = store.open_verified_vocabulary(&digest).expect("a vocabulary file");
                assert!(vocabulary.is_some() && store.verifications() == 0);
                vocabulary
            });
        });
    }
}

criterion_group!(benches, vocabulary);
criterion_main!(benches);
