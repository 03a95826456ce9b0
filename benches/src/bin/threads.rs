//! From how many rows on a second thread is worth its start: `cargo run --release --bin threads`, half a minute.
//!
//! Batches of the JSON object's masks over `o200k_base`, each text at another place, are filled on one thread and on two, in
//! turns. The module of Python starts another thread for each `ROWS_PER_THREAD` rows (`crates/gobo-python/src/mask/batch.rs`).

use anyhow::Context as _;
use gobo_artifact::{Fill, Matcher, fill_batch};
use gobo_benches::cases;
use gobo_benches::clock::Clock;
use gobo_benches::contestants::{Contestant as _, Gobo};
use gobo_benches::run::Tokens;
use gobo_benches::spread::Spread;
use gobo_benches::vocabularies::Source;

const ROWS: [usize; 10] = [16, 32, 64, 96, 128, 192, 256, 384, 512, 1024];
const TURNS: usize = 1000;
const WARM_UP: usize = 50;

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let gobo = Gobo::new(&Source::built_in("o200k_base", folder.path())?)?;
    let matchers = texts(&gobo, ROWS[ROWS.len() - 1])?;
    let (words, clock) = (gobo.mask_words(), Clock::calibrated());
    println!(
        "| rows | one thread, p50 | p99 | two threads, p50 | p99 | p50 ratio |\n|---|---:|---:|---:|---:|---:|"
    );
    let mut slower = 0;
    for rows in ROWS {
        let mut matrix = vec![0; rows * words];
        let mut fills = vec![Ok(Fill::Masked); rows];
        let mut times = [Vec::new(), Vec::new()];
        for turn in 0..TURNS + WARM_UP {
            // Who goes first changes with each turn.
            for threads in if turn % 2 == 0 { [1, 2] } else { [2, 1] } {
                let fill = || fill_batch(&matchers[..rows], &mut matrix, words, threads, &mut fills);
                let (filled, ns) = clock.time(fill);
                filled?;
                if turn >= WARM_UP {
                    times[threads - 1].push(ns / 1e3);
                }
            }
        }
        anyhow::ensure!(fills.iter().all(Result::is_ok), "a mask failed");
        let [one, two] = times.map(|samples| Spread::of(&samples));
        let (one, two) = one.zip(two).context("samples")?;
        let ratio = two.p50 / one.p50;
        if ratio >= 1.0 {
            slower = rows;
        }
        println!(
            "| {rows} | {:.1} µs | {:.1} µs | {:.1} µs | {:.1} µs | {ratio:.2} |",
            one.p50, one.p99, two.p50, two.p99
        );
    }
    println!("\nUp to {slower} rows, one thread is as fast.");
    Ok(())
}

/// So many texts of the JSON object, each one token further than the one before.
fn texts(gobo: &Gobo, count: usize) -> anyhow::Result<Vec<Matcher>> {
    let case = cases::all().into_iter().find(|case| case.name == "json_object").context("the case")?;
    let mut matcher = gobo.matcher_of(&case)?;
    let tokens = Tokens::of(&gobo.vocabulary).greedy(&case.texts[0]);
    let mut matchers = Vec::with_capacity(count);
    for &id in tokens.iter().cycle().take(count) {
        matchers.push(matcher.clone());
        if matcher.advance(id).is_err() {
            matcher.reset();
        }
    }
    Ok(matchers)
}
