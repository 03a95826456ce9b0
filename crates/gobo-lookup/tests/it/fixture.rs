//! Lookups whose local worker is the program of `tests/worker`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gobo_artifact::Vocabulary;
use gobo_lookup::{Bound, Found, LocalConfig, Lookup, LookupConfig, LookupError, Request};
use gobo_types::Constraint;
use gobo_worker::compile_constraint;
use tempfile::TempDir;

use crate::tiny::tiny;

/// No test waits for as long.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A store, and a folder in which workers leave their ids.
pub(crate) struct Place {
    pub(crate) store: PathBuf,
    pub(crate) workers: PathBuf,
    _folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (store, workers) = (folder.path().join("store"), folder.path().join("workers"));
        fs::create_dir(&workers).unwrap();
        Self { store, workers, _folder: folder }
    }

    /// With a local worker of this role.
    pub(crate) fn config(&self, role: &str) -> LookupConfig {
        let program = env!("CARGO_BIN_EXE_gobo-lookup-test-worker");
        let args = [role.as_ref(), self.workers.as_os_str()];
        let local = Some(LocalConfig::new(program, args));
        LookupConfig { local, timeout: Some(LONG), ..LookupConfig::new(&self.store) }
    }

    pub(crate) fn lookup(&self) -> Arc<Lookup> {
        open(self.config("told"))
    }

    /// Process ids of all workers there were.
    pub(crate) fn workers(&self) -> Vec<String> {
        let names = fs::read_dir(&self.workers).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }
}

pub(crate) fn open(config: LookupConfig) -> Arc<Lookup> {
    Arc::new(Lookup::open(config).unwrap())
}

/// The vocabulary of all tests, published by this lookup.
pub(crate) fn bound(lookup: &Lookup) -> Bound {
    lookup.publish_vocabulary(Some("tiny"), &tiny()).unwrap()
}

pub(crate) fn ask(lookup: &Arc<Lookup>, pattern: &str) -> Request {
    lookup.request(&bound(lookup), Constraint::regex(pattern))
}

/// The end of a request, which nobody cuts short.
pub(crate) fn end(request: &Request) -> Result<Found, Arc<LookupError>> {
    request.wait(LONG).expect("every request ends")
}

pub(crate) fn get(lookup: &Arc<Lookup>, pattern: &str) -> Result<Found, Arc<LookupError>> {
    end(&ask(lookup, pattern))
}

/// The bytes of the index of a pattern, compiled on this thread.
pub(crate) fn expected(pattern: &str) -> Vec<u8> {
    let bytes = tiny().table.build().unwrap();
    let vocabulary = Vocabulary::from_bytes(&bytes).unwrap();
    let compiled =
        compile_constraint(&vocabulary, &Constraint::regex(pattern), 1, &gobo_types::Budget::default());
    compiled.unwrap().bytes().to_vec()
}

/// Whether a process is gone, or only waits for its parent to ask how it ended.
pub(crate) fn is_over(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with(['Z', 'X']))
}

pub(crate) fn until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn no_temporary_file(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        assert!(!path.file_name().unwrap().to_str().unwrap().starts_with(".tmp-"), "{}", path.display());
        if path.is_dir() {
            no_temporary_file(&path);
        }
    }
}
