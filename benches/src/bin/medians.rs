//! The medians of criterion's last runs as a record: `medians BENCH --machine NAME` writes record/NAME/<date>-BENCH.csv.
//!
//! Reads `criterion/GROUP/FUNCTION/new/estimates.json` in the target folder, which criterion writes. One run must have made all that is
//! there: an older run's folders would be recorded with this commit.

use std::path::Path;

use anyhow::{Context, bail};
use gobo_benches::record::origin_of;
use gobo_measure::Csv;
use gobo_measure::csv::number;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [bench, flag, machine] = &words[..] else { bail!("usage: medians BENCH --machine NAME") };
    anyhow::ensure!(flag == "--machine", "usage: medians BENCH --machine NAME");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let origin = origin_of(format!("cargo bench --bench {bench}"), Some(machine));
    let mut medians = Vec::new();
    for group in folders(&target.join("criterion"))? {
        for function in folders(&group)? {
            let file = function.join("new/estimates.json");
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            let estimates: serde_json::Value = serde_json::from_str(&text)?;
            let median = estimates["median"]["point_estimate"].as_f64();
            let median = median.with_context(|| format!("no median in {}", file.display()))?;
            let name = function.strip_prefix(target.join("criterion"))?.display().to_string();
            medians.push((name, median));
        }
    }
    anyhow::ensure!(!medians.is_empty(), "criterion has left no medians in {}", target.display());
    medians.sort_by(|a, b| a.0.cmp(&b.0));
    let mut csv = Csv::new(&origin.to_string(), &["benchmark", "median_ns"]);
    medians.iter().for_each(|(name, median)| csv.row([name, &number(Some(*median), 1)]));
    let folder = root.join("record").join(machine);
    std::fs::create_dir_all(&folder)?;
    Ok(std::fs::write(folder.join(format!("{}-{bench}.csv", origin.date)), csv.finish())?)
}

fn folders(of: &Path) -> anyhow::Result<Vec<std::path::PathBuf>> {
    let entries = std::fs::read_dir(of).with_context(|| format!("cannot read {}", of.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.is_dir()).collect())
}
