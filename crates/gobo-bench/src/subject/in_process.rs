//! An engine in this process over a temporary store with one index, and the ways to that index that need no daemon.
use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, ensure};
use gobo_artifact::{Fill, Matcher};
use gobo_cli::inputs::Loaded;
use gobo_cli::options::Global;
use gobo_engine::{Engine, EngineConfig, OpenVocabulary, Request, Source, VocabularyRef};
use gobo_store::{NamedVocabulary, Store};
use gobo_types::{CompileError, Constraint};
use tempfile::TempDir;

use crate::generator::Bounds;
use crate::generator::paired::measure;
use crate::report::Row;

/// The name of the vocabulary in a temporary store.
pub(crate) const NAME: &str = "bench";

/// A temporary store with one index, and an engine of this process over it.
pub(crate) struct LocalIndex {
    pub(crate) engine: Arc<Engine>,
    pub(crate) vocabulary: Arc<OpenVocabulary>,
    pub(crate) constraint: Constraint,
    path: PathBuf,
    /// Removed on drop, after the other fields.
    pub(crate) home: TempDir,
}

impl LocalIndex {
    pub(crate) fn prepare(
        home: TempDir,
        loaded: &Loaded,
        constraint: &Constraint,
        global: &Global,
    ) -> anyhow::Result<Result<Self, CompileError>> {
        let mut config = EngineConfig::new(home.path().join("daemon"));
        config.workers = global.threads_or(config.workers);
        config.limits = global.limits();
        let engine = Engine::open(config)?;
        publish(engine.store(), loaded)?;
        let vocabulary = engine.open_vocabulary(&VocabularyRef::Name(NAME.into()))?;
        let vocabulary = vocabulary.context("the vocabulary was published just now")?;
        let request = request(&vocabulary, constraint);
        let path = match engine.resolve(request) {
            Ok(resolved) => resolved.path,
            Err(verdict) => return Ok(Err(verdict)),
        };
        let engine = Arc::new(engine);
        Ok(Ok(Self { engine, vocabulary, constraint: constraint.clone(), path, home }))
    }

    /// `in_process`: from a constraint to the path of its index, by the engine. Floor: a copy of one mask row.
    pub(crate) fn in_process(&self, bounds: Bounds) -> anyhow::Result<Row> {
        let row = vec![1_u32; self.vocabulary.vocabulary.row_words()];
        let mut copy = row.clone();
        let floor = || {
            copy.copy_from_slice(black_box(&row));
            black_box(&mut copy);
            Ok(())
        };
        measure("in_process", bounds, floor, || {
            let resolved = self.engine.resolve(request(&self.vocabulary, &self.constraint))?;
            ensure!(resolved.source == Source::Host, "it was compiled again");
            Ok(())
        })
    }

    /// `host_open`: from a constraint to its first mask without a daemon, over a mapped vocabulary: key, file, map, matcher,
    /// fill. Floor: the same file is opened, and one row's length of it is read.
    pub(crate) fn host_open(&self, bounds: Bounds) -> anyhow::Result<Row> {
        let vocabulary = &self.vocabulary.vocabulary;
        let binding = self.vocabulary.binding().context("a name has a binding")?;
        let row_bytes = vocabulary.row_words() * 4;
        let in_file = usize::try_from(std::fs::metadata(&self.path)?.len())?;
        let mut row = vec![0; row_bytes.min(in_file)];
        let mut mask = vec![0; binding.mask_words()];
        let floor = || {
            File::open(&self.path)?.read_exact(&mut row)?;
            black_box(&mut row);
            Ok(())
        };
        measure("host_open", bounds, floor, || {
            let key = vocabulary.index_key(&self.constraint);
            let index = self.engine.store().open_index(&key)?.context("the file is gone")?;
            let matcher = Matcher::new(Arc::new(index), Arc::clone(vocabulary), binding)?;
            ensure!(matcher.fill(&mut mask)? == Fill::Masked, "the first mask is empty");
            black_box(&mut mask);
            Ok(())
        })
    }
}

/// Puts a vocabulary into a store as [`NAME`].
pub(crate) fn publish(store: &Store, loaded: &Loaded) -> anyhow::Result<()> {
    let digest = loaded.vocabulary.digest();
    store.publish_vocabulary(&digest, loaded.vocabulary.file_bytes())?;
    let named = NamedVocabulary {
        vocabulary: digest,
        binding: loaded.binding.clone(),
        kind: loaded.kind.clone(),
        tokens: loaded.vocabulary.root().tokens,
        special: loaded.vocabulary.root().special,
        source: None,
        source_digest: None,
    };
    Ok(store.put_name(NAME, &named)?)
}

fn request(vocabulary: &Arc<OpenVocabulary>, constraint: &Constraint) -> Request {
    Request::new(Arc::clone(vocabulary), constraint.clone())
}
