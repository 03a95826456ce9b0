use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, bail};
use gobo_artifact::{ArtifactError, Index};
use gobo_engine::{Audit, WorkerConfig, audit};
use gobo_types::{CompileLimits, SchemaDocument, VocabularyDigest};
use serde_json::{Value, json};

use super::inspect::AnyArtifact;
use crate::args::{Global, VerifyArgs};
use crate::exit;
use crate::inputs::{Loaded, advised, index_file, read_documents};
use crate::interrupt::TempFolder;
use crate::output::{self, Outcome, grouped};

/// The verdict on one file.
enum Verdict {
    /// Sound, and if it was compiled again, the same.
    Ok { digest: String },
    /// Damaged, or another file than a compile gives.
    Fault(anyhow::Error),
    /// Sound, and it cannot be decided whether a compile gives it.
    Undecided { why: String },
}

/// The settings with which files are compiled again.
struct Recompiler<'a> {
    global: &'a Global,
    tokenizer: Option<&'a str>,
    processes: Arc<WorkerConfig>,
    documents: Vec<SchemaDocument>,
    limits: CompileLimits,
    /// For vocabularies that lie in no store.
    scratch: TempFolder,
    /// Verified vocabulary files.
    vocabularies: Mutex<Vec<(VocabularyDigest, PathBuf)>>,
}

pub(crate) fn run(global: &Global, args: &VerifyArgs) -> anyhow::Result<Outcome> {
    let files = files(global, args)?;
    let recompiler = args.recompile.then(|| Recompiler::new(global, args)).transpose()?;
    // In the order of the files, however many threads work.
    let mut counts = [0_u64; 3];
    let is_one = files.len() == 1;
    for chunk in files.chunks(CHUNK) {
        for (file, verdict) in chunk.iter().zip(all(chunk, recompiler.as_ref(), global.threads_or(1))) {
            let verdict = match verdict {
                // A file that is not there is no answer about a file.
                Err(error) if is_one => return Err(error),
                Err(error) => Verdict::Undecided { why: format!("{error:#}") },
                Ok(verdict) => verdict,
            };
            counts[match verdict {
                Verdict::Ok { .. } => 0,
                Verdict::Fault(_) => 1,
                Verdict::Undecided { .. } => 2,
            }] += 1;
            // Of a whole store, those that are as they should be are only counted.
            if !(args.all && matches!(verdict, Verdict::Ok { .. })) {
                print(global, (!is_one).then_some(file), args.recompile, &verdict)?;
            }
        }
    }
    let [ok, faults, undecided] = counts;
    if !is_one {
        if global.json {
            output::line(json!({"summary": {"ok": ok, "faults": faults, "undecided": undecided}}))?;
        } else {
            let [ok, faults, undecided] = counts.map(grouped);
            output::line(format_args!("{ok} ok, {faults} at fault, {undecided} undecided"))?;
        }
    }
    Ok(if faults + undecided == 0 { Outcome::Yes } else { Outcome::No })
}

/// So many files are looked at before their answers are printed.
const CHUNK: usize = 256;

/// The files that are meant.
fn files(global: &Global, args: &VerifyArgs) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for target in &args.targets {
        files.push(index_file(target, global)?);
    }
    if args.all {
        let store = global.existing_store()?.context("there is no store")?;
        for index in store.scan_indices() {
            files.push(index?.path);
        }
        files.sort_unstable();
    }
    if files.is_empty() && !args.all {
        bail!(
            "nothing to verify\nhint: name a file or the key of an index, or give --all for the whole store"
        );
    }
    Ok(files)
}

/// The verdicts on some files, in their order.
fn all(
    files: &[PathBuf],
    recompiler: Option<&Recompiler<'_>>,
    threads: usize,
) -> Vec<anyhow::Result<Verdict>> {
    let next = AtomicUsize::new(0);
    let verdicts: Vec<Mutex<Option<anyhow::Result<Verdict>>>> =
        files.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(at) else { return };
            let verdict = look(file, recompiler);
            *verdicts[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
        }
    };
    thread::scope(|scope| {
        (1..threads.min(files.len())).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    let taken = verdicts.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
    taken.map(|verdict| verdict.unwrap_or_else(|| bail!("it was not looked at"))).collect()
}

fn look(file: &Path, recompiler: Option<&Recompiler<'_>>) -> anyhow::Result<Verdict> {
    let any = match AnyArtifact::open(file) {
        Err(error @ ArtifactError::Io { .. }) => return Err(error.into()),
        Err(error) => return Ok(Verdict::Fault(advised(error))),
        Ok(any) => any,
    };
    if let Err(error) = any.verify() {
        return Ok(Verdict::Fault(error.into()));
    }
    let digest = any.artifact().digest().to_string();
    match (recompiler, &any) {
        (None, _) => Ok(Verdict::Ok { digest }),
        (Some(recompiler), AnyArtifact::Index(index)) => recompiler.audit(index, file, digest),
        (Some(_), AnyArtifact::Vocabulary(_)) => Ok(Verdict::Undecided {
            why: "it is a vocabulary; `gobo tokenizer verify` compares one with its source".into(),
        }),
    }
}

impl<'a> Recompiler<'a> {
    fn new(global: &'a Global, args: &'a VerifyArgs) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program to start it again")?;
        Ok(Self {
            global,
            tokenizer: args.tokenizer.as_deref(),
            processes: Arc::new(WorkerConfig::new(program, ["worker"])),
            documents: args.documents.as_deref().map(read_documents).transpose()?.unwrap_or_default(),
            limits: global.limits(),
            scratch: TempFolder::new()?,
            vocabularies: Mutex::default(),
        })
    }

    fn audit(&self, index: &Index, file: &Path, digest: String) -> anyhow::Result<Verdict> {
        let vocabulary = self.vocabulary(index, file)?;
        Ok(
            match audit(
                Some(&self.processes),
                index,
                &vocabulary,
                &self.documents,
                self.limits,
                &AtomicBool::new(false),
            ) {
                Audit::Same => Verdict::Ok { digest },
                Audit::Differs { found } => Verdict::Fault(anyhow::anyhow!(
                    "{} is sound, and is not what its constraint compiles to: compiled alone that is {found}",
                    file.display()
                )),
                Audit::Undecided { why } => Verdict::Undecided { why },
            },
        )
    }

    /// The verified file of an index's vocabulary.
    fn vocabulary(&self, index: &Index, file: &Path) -> anyhow::Result<PathBuf> {
        let digest = index.vocabulary_digest();
        let mut known = self.vocabularies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, path)) = known.iter().find(|(other, _)| *other == digest) {
            return Ok(path.clone());
        }
        let loaded = match self.tokenizer {
            Some(tokenizer) => Loaded::open(tokenizer, self.global)?,
            None => Loaded::of_index(index, file, self.global)?,
        };
        let path = self.scratch.path().join(format!("{digest}.gobov"));
        std::fs::write(&path, loaded.vocabulary.artifact().bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
        known.push((digest, path.clone()));
        Ok(path)
    }
}

/// One answer; with the file's path where there are several.
fn print(global: &Global, file: Option<&PathBuf>, recompiled: bool, verdict: &Verdict) -> anyhow::Result<()> {
    if global.json {
        let mut object = match verdict {
            Verdict::Ok { digest } => json!({"ok": true, "artifact_digest": digest}),
            Verdict::Fault(fault) => json!({"ok": false, "reason": format!("{fault:#}")}),
            Verdict::Undecided { why } => json!({"ok": null, "reason": why}),
        };
        if recompiled && matches!(verdict, Verdict::Ok { .. }) {
            object["recompiled"] = json!(true);
        }
        if let Some(file) = file {
            object["file"] = Value::from(file.display().to_string());
        }
        return output::line(object);
    }
    let place = file.map(|file| format!("{}: ", file.display())).unwrap_or_default();
    match verdict {
        Verdict::Ok { digest } if recompiled => {
            output::line(format_args!("{place}ok {digest}, compiled again"))
        }
        Verdict::Ok { digest } => output::line(format_args!("{place}ok {digest}")),
        Verdict::Fault(fault) => {
            exit::complain(fault);
            Ok(())
        }
        Verdict::Undecided { why } => {
            output::note(format_args!("{place}cannot tell: {why}"));
            Ok(())
        }
    }
}
