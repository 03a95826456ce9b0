//! What an index costs to compile, to open and to step, each beside its peers or its floor, over `o200k_base`.
//!
//! `cargo bench --bench masks` in `benches/`; `cargo bench --bench masks -- fill` for one group. The table
//! (`cargo run --release`) is what is recorded: it alternates the contestants, criterion measures one after the other.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use gobo_artifact::{Fill, Index, fill_batch};
use gobo_benches::cases::{self, Case};
use gobo_benches::contestants::{Contestant, Gobo, Llguidance, Outlines};
use gobo_benches::run::Tokens;
use gobo_benches::vocabularies::Source;
use tempfile::TempDir;

/// The constraints of the table that no contestant takes minutes for.
const WORKLOADS: [&str; 7] =
    ["colours", "datetime_ascii", "datetime_unicode", "ipv4_ascii", "ipv4_unicode", "quoted", "json_object"];

fn setup() -> (TempDir, Source, Vec<Case>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = Source::built_in("o200k_base", folder.path()).expect("a built-in vocabulary");
    let cases = cases::all().into_iter().filter(|case| WORKLOADS.contains(&case.name.as_str())).collect();
    (folder, source, cases)
}

fn each(criterion: &mut Criterion, measure: impl Fn(&mut Criterion, &str, &Source, &Case)) {
    let (_folder, source, cases) = setup();
    cases.iter().for_each(|case| measure(criterion, &case.name, &source, case));
}

fn compile(criterion: &mut Criterion) {
    let (_folder, source, cases) = setup();
    let gobo = Gobo::new(&source).expect("a vocabulary");
    let llguidance = Llguidance::new(&source).expect("a vocabulary");
    let outlines = Outlines::new(&source).expect("a vocabulary");
    for case in &cases {
        let mut group = criterion.benchmark_group(format!("compile/{}", case.name));
        group.sample_size(10);
        group.bench_function("gobo", |bencher| bencher.iter(|| gobo.compile(black_box(case))));
        group.bench_function("llguidance", |bencher| bencher.iter(|| llguidance.compile(black_box(case))));
        group.bench_function("outlines-core", |bencher| bencher.iter(|| outlines.compile(black_box(case))));
    }
}

fn open(criterion: &mut Criterion) {
    each(criterion, |criterion, name, source, case| {
        let gobo = Gobo::new(source).expect("a vocabulary");
        let path = source.file.with_file_name(name);
        std::fs::write(&path, gobo.compile(case).expect("an index").bytes()).expect("room for an index");
        let mut mask = vec![0; gobo.mask_words()];
        criterion.bench_function(&format!("open_to_first_mask/{name}"), |bencher| {
            bencher.iter(|| {
                let index = Arc::new(Index::open(&path).expect("an index file"));
                gobo.matcher(index).expect("its vocabulary").fill(&mut mask).expect("a sound index")
            });
        });
    });
}

fn step(criterion: &mut Criterion) {
    each(criterion, |criterion, name, source, case| {
        let gobo = Gobo::new(source).expect("a vocabulary");
        let mut matcher = gobo.matcher_of(case).expect("an index");
        let tokens = Tokens::of(&gobo.vocabulary).greedy(&case.texts[0]);
        let mut mask = vec![0_u32; gobo.mask_words()];
        let row = mask.clone();
        criterion.bench_function(&format!("fill/{name}"), |bencher| {
            bencher.iter(|| matcher.fill(black_box(&mut mask)));
        });
        criterion.bench_function(&format!("fill/{name}/floor_copy_of_a_row"), |bencher| {
            bencher.iter(|| black_box(&mut mask).copy_from_slice(black_box(&row)));
        });
        criterion.bench_function(&format!("advance_text_of_{}_tokens/{name}", tokens.len()), |bencher| {
            bencher.iter(|| {
                matcher.reset();
                tokens.iter().for_each(|&id| matcher.advance(black_box(id)).expect("an accepted text"));
            });
        });
    });
}

/// Rows of a batch: the sequences that one step of a busy engine decodes.
const BATCH: usize = 512;

/// 512 texts of the JSON object, each at another place, filled into one matrix: by one call on one thread and on two, and
/// beside them as many copies of one row.
fn batch(criterion: &mut Criterion) {
    let (_folder, source, cases) = setup();
    let gobo = Gobo::new(&source).expect("a vocabulary");
    let case = cases.iter().find(|case| case.name == "json_object").expect("it is among the workloads");
    let mut matcher = gobo.matcher_of(case).expect("an index");
    let tokens = Tokens::of(&gobo.vocabulary).greedy(&case.texts[0]);
    let mut matchers = Vec::with_capacity(BATCH);
    for &id in tokens.iter().cycle() {
        if matchers.len() == BATCH {
            break;
        }
        matchers.push(matcher.clone());
        if matcher.advance(id).is_err() {
            matcher.reset();
        }
    }
    let words = gobo.mask_words();
    let mut matrix = vec![0; BATCH * words];
    let mut fills = vec![Ok(Fill::Masked); BATCH];
    let row = vec![0_u32; words];
    let mut group = criterion.benchmark_group(format!("fill_batch_of_{BATCH}"));
    for threads in [1, 2] {
        group.bench_function(format!("threads_{threads}"), |bencher| {
            bencher.iter(|| fill_batch(&matchers, black_box(&mut matrix), words, threads, &mut fills));
        });
    }
    group.bench_function("floor_copies_of_a_row", |bencher| {
        bencher.iter(|| {
            black_box(&mut matrix)
                .chunks_exact_mut(words)
                .for_each(|mask| mask.copy_from_slice(black_box(&row)));
        });
    });
    assert!(fills.iter().all(|fill| fill.is_ok()), "every mask is filled");
}

/// A name, a schema of a string, its greatest length, and how a text of it begins; letters go on to the bound.
const BOUNDED: [(&str, &str, usize, &str); 3] = [
    (
        "uri",
        r#"{"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083}"#,
        2083,
        "https://example.com/",
    ),
    (
        "pattern",
        r#"{"type": "string", "pattern": "^[a-z]+( [a-z]+)*$", "maxLength": 5000}"#,
        5000,
        "the quick ",
    ),
    // The part of an address before the `@`.
    ("email", r#"{"type": "string", "format": "email"}"#, 64, ""),
];

/// Masks inside strings whose characters are counted, with so many left before the bound.
fn near_bound(criterion: &mut Criterion) {
    let (_folder, source, _) = setup();
    let gobo = Gobo::new(&source).expect("a vocabulary");
    let mut mask = vec![0_u32; gobo.mask_words()];
    let row = mask.clone();
    let mut group = criterion.benchmark_group("fill_near_bound");
    for (name, schema, bound, text) in BOUNDED {
        let mut matcher = gobo.matcher_of(&Case::schema(name, schema)).expect("an index");
        for left in [0, 1, 2, 4, 8, 16] {
            let letters = "a".repeat(bound - left - text.len());
            matcher.reset();
            matcher.advance_bytes(format!("\"{text}{letters}").as_bytes()).expect("the beginning of a text");
            group.bench_function(format!("{name}/left_{left}"), |bencher| {
                bencher.iter(|| matcher.fill(black_box(&mut mask)));
            });
        }
    }
    group.bench_function("floor_copy_of_a_row", |bencher| {
        bencher.iter(|| black_box(&mut mask).copy_from_slice(black_box(&row)));
    });
}

criterion_group!(benches, compile, open, step, batch, near_bound);
criterion_main!(benches);
