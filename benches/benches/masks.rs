//! What a mask costs: compile, open, fill and advance over `o200k_base`, beside a copy of one row as the floor.
//!
//! `cargo bench` in `benches/`; `cargo bench -- fill` for one group.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use gobo_artifact::{Index, Matcher, Vocabulary};
use gobo_engine::compile_constraint;
use gobo_types::{Binding, Budget, CompileLimits, Constraint};

/// Workloads, named by what is hard about them, with a text that they accept.
const WORKLOADS: [(&str, &str, &str); 5] = [
    ("choice", "Red|Orange|Yellow|Green|Blue|Indigo|Violet", "Indigo"),
    (
        "ascii_datetime",
        "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]([+-][0-2][0-9]:[0-5][0-9]|Z)",
        "2026-11-20T23:12:59+01:00",
    ),
    (
        "unicode_datetime",
        r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d([+-][0-2]\d:[0-5]\d|Z)",
        "2026-11-20T23:12:59+01:00",
    ),
    (
        "ipv4",
        r"((25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\.){3}(25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)",
        "192.168.101.27",
    ),
    (
        "dense_quoted",
        r#"" *(?:[^\s"\\]|\\["n\\])(?: |[^\s"\\]|\\["n\\])*""#,
        "\"The quick brown fox jumps over the lazy dog.\"",
    ),
];

struct Setup {
    vocabulary: Arc<Vocabulary>,
    binding: Binding,
}

impl Setup {
    fn new() -> Self {
        let imported = gobo_tokenizer::builtin("o200k_base").expect("a built-in name");
        let file = imported.table.build().expect("a built-in vocabulary");
        Self {
            vocabulary: Arc::new(Vocabulary::from_bytes(&file).expect("a built vocabulary")),
            binding: Binding::new(imported.eos, imported.logits_width),
        }
    }

    fn compile(&self, pattern: &str) -> Vec<u8> {
        let budget = Budget::new(CompileLimits::default());
        let compiled = compile_constraint(&self.vocabulary, &Constraint::regex(pattern), 1, &budget);
        compiled.expect("the workloads compile").bytes().to_vec()
    }

    fn matcher(&self, index: Arc<Index>) -> Matcher {
        Matcher::new(index, self.vocabulary.clone(), &self.binding).expect("its own vocabulary")
    }
}

/// Tokens that write `text`: at each step the longest allowed one.
fn tokens(matcher: &mut Matcher, text: &str) -> Vec<u32> {
    let mut rest = text.as_bytes();
    let mut tokens = Vec::new();
    while !rest.is_empty() {
        let vocabulary = matcher.vocabulary().clone();
        let fits = |id: &u32| !vocabulary.bytes(*id).is_empty() && rest.starts_with(vocabulary.bytes(*id));
        let longest = (0..vocabulary.len()).filter(fits).filter(|&id| matcher.allows(id));
        let id = longest.max_by_key(|&id| vocabulary.bytes(id).len()).expect("the text is accepted");
        matcher.advance(id).expect("an allowed token");
        rest = &rest[vocabulary.bytes(id).len()..];
        tokens.push(id);
    }
    matcher.reset();
    tokens
}

fn compile(criterion: &mut Criterion) {
    let setup = Setup::new();
    let mut group = criterion.benchmark_group("compile");
    for (name, pattern, _) in WORKLOADS {
        group.bench_function(name, |bencher| bencher.iter(|| setup.compile(black_box(pattern))));
    }
}

fn open(criterion: &mut Criterion) {
    let setup = Setup::new();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut group = criterion.benchmark_group("open_to_first_mask");
    for (name, pattern, _) in WORKLOADS {
        let path = folder.path().join(name);
        std::fs::write(&path, setup.compile(pattern)).expect("room for an index");
        let mut mask = vec![0; setup.binding.mask_words()];
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let index = Arc::new(Index::open(&path).expect("an index file"));
                setup.matcher(index).fill(&mut mask).expect("a sound index")
            });
        });
    }
}

fn step(criterion: &mut Criterion) {
    let setup = Setup::new();
    let words = setup.binding.mask_words();
    for (name, pattern, text) in WORKLOADS {
        let index = Arc::new(Index::from_bytes(&setup.compile(pattern)).expect("a compiled index"));
        let mut matcher = setup.matcher(index);
        let tokens = tokens(&mut matcher, text);
        let mut mask = vec![0_u32; words];
        let source = vec![1_u32; words];
        criterion.bench_function(&format!("fill/{name}"), |bencher| {
            bencher.iter(|| matcher.fill(black_box(&mut mask)));
        });
        criterion.bench_function(&format!("fill/{name}/floor_copy_of_a_row"), |bencher| {
            bencher.iter(|| black_box(&mut mask).copy_from_slice(black_box(&source)));
        });
        criterion.bench_function(&format!("advance_text_of_{}_tokens/{name}", tokens.len()), |bencher| {
            bencher.iter(|| {
                matcher.reset();
                tokens.iter().for_each(|&id| matcher.advance(black_box(id)).expect("an accepted text"));
            });
        });
    }
}

criterion_group!(benches, compile, open, step);
criterion_main!(benches);
