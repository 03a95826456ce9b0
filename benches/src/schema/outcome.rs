//! What was measured of each schema.

use std::collections::{BTreeMap, BTreeSet};

use gobo_measure::Origin;
use gobo_measure::csv::{Csv, number, quoted};

use crate::spread::{Sorted, Spread};

/// Columns of the file.
const COLUMNS: [&str; 30] = [
    "subset",
    "schema",
    "schema_bytes",
    "gobo",
    "gobo_p50_ns",
    "gobo_min_ns",
    "llguidance",
    "llguidance_p50_ns",
    "llguidance_min_ns",
    "ratio",
    "gobo_after_others_ns",
    "file_bytes",
    "states",
    "rows_computed",
    "rows_stored",
    "valid",
    "invalid",
    "gobo_valid_refused",
    "gobo_only_in_order",
    "gobo_invalid_accepted",
    "llguidance_valid_refused",
    "llguidance_only_in_order",
    "llguidance_invalid_accepted",
    "fills",
    "fill_p50_ns",
    "fill_p99_ns",
    "copy_p50_ns",
    "copy_p99_ns",
    "llguidance_mask_p50_ns",
    "llguidance_mask_p99_ns",
];

/// How a compile ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Compiled,
    Refused,
    OverBudget,
    TimedOut,
    /// A bug that was caught, a crash, or too much memory.
    Failed,
}

impl Verdict {
    pub const ALL: [Self; 5] =
        [Self::Compiled, Self::Refused, Self::OverBudget, Self::TimedOut, Self::Failed];

    pub fn name(self) -> &'static str {
        match self {
            Self::Compiled => "compiled",
            Self::Refused => "refused",
            Self::OverBudget => "over budget",
            Self::TimedOut => "timed out",
            Self::Failed => "failed",
        }
    }
}

/// What became of the instances under one contestant.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answers {
    pub valid: usize,
    pub invalid: usize,
    /// Valid ones refused as they are given and in the order of the schema.
    pub valid_refused: usize,
    /// Valid ones accepted only in the order of the schema.
    pub only_in_order: usize,
    /// Invalid ones accepted as they are given or in the order of the schema.
    pub invalid_accepted: usize,
}

/// One contestant at one schema.
#[derive(Debug, Clone)]
pub struct Side {
    /// Nanoseconds, or why there are none.
    pub compile: Result<Spread, String>,
    /// What the first answer without a compile took.
    pub refusal_ns: Option<f64>,
    /// `None` if nothing was compiled, or the walk itself failed.
    pub answers: Option<Answers>,
}

impl Side {
    pub fn verdict(&self) -> Verdict {
        match &self.compile {
            Ok(_) => Verdict::Compiled,
            Err(reason) if reason.starts_with("over budget") => Verdict::OverBudget,
            Err(reason) if reason.starts_with("over ") => Verdict::TimedOut,
            Err(reason) if reason.starts_with("refused: failed") => Verdict::Failed,
            Err(reason) if reason.starts_with("refused") => Verdict::Refused,
            Err(_) => Verdict::Failed,
        }
    }

    /// Median nanoseconds of the compile.
    pub fn ns(&self) -> Option<f64> {
        self.compile.as_ref().ok().map(|spread| spread.p50)
    }
}

/// Times of masks, in nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct Masks {
    /// gobo's, and copies of the same dense rows.
    pub fill: Vec<f64>,
    pub copy: Vec<f64>,
    /// llguidance's, over an automaton that only had its first mask yet, and once more.
    pub peer_cold: Vec<f64>,
    pub peer_warm: Vec<f64>,
}

impl Masks {
    pub fn append(&mut self, other: &mut Self) {
        self.fill.append(&mut other.fill);
        self.copy.append(&mut other.copy);
        self.peer_cold.append(&mut other.peer_cold);
        self.peer_warm.append(&mut other.peer_warm);
    }
}

/// Everything about one schema.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub subset: String,
    pub id: String,
    pub schema_bytes: usize,
    pub keywords: BTreeSet<&'static str>,
    pub gobo: Side,
    pub llguidance: Side,
    /// What gobo counts about its compile.
    pub facts: BTreeMap<String, f64>,
    pub fill: Option<Spread>,
    pub copy: Option<Spread>,
    pub peer_mask: Option<Spread>,
}

impl Outcome {
    /// gobo's time by llguidance's, if both compile.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.gobo.ns()? / self.llguidance.ns()?)
    }

    /// Nanoseconds of gobo's first compile of the schema, behind those of others in the same process.
    pub fn after_others_ns(&self) -> Option<f64> {
        self.facts.get("after_others_ns").copied()
    }

    /// That by llguidance's time, if both compile.
    pub fn ratio_after_others(&self) -> Option<f64> {
        Some(self.after_others_ns()? / self.llguidance.ns()?)
    }

    pub fn side(&self, who: &str) -> &Side {
        if who == "gobo" { &self.gobo } else { &self.llguidance }
    }
}

/// A whole run.
#[derive(Debug, Default)]
pub struct Run {
    pub outcomes: Vec<Outcome>,
    /// Along the texts that both accept.
    pub shared: Masks,
    /// Along those that only gobo accepts.
    pub own: Masks,
    /// What went wrong behind a compile: schema and reason.
    pub failures: Vec<(String, String)>,
}

impl Run {
    /// The compile times of a contestant, over those outcomes that `which` picks.
    pub fn times(&self, who: &str, which: impl Fn(&Outcome) -> bool) -> Sorted {
        let picked = self.outcomes.iter().filter(|outcome| which(outcome));
        Sorted::of(picked.filter_map(|outcome| outcome.side(who).ns()).collect())
    }

    /// The same ratios, over those outcomes that `which` picks.
    pub fn ratios(&self, which: impl Fn(&Outcome) -> bool) -> Sorted {
        let picked = self.outcomes.iter().filter(|outcome| which(outcome));
        Sorted::of(picked.filter_map(Outcome::ratio).collect())
    }

    /// gobo's times by llguidance's, each behind the other schemas in the same process.
    pub fn ratios_after_others(&self) -> Sorted {
        Sorted::of(self.outcomes.iter().filter_map(Outcome::ratio_after_others).collect())
    }

    /// A line for each schema, below one on where it comes from.
    pub fn csv(&self, origin: &Origin) -> String {
        let mut csv = Csv::new(&origin.to_string(), &COLUMNS);
        for outcome in &self.outcomes {
            let Outcome { gobo, llguidance, .. } = outcome;
            let mut cells =
                vec![quoted(&outcome.subset), quoted(&outcome.id), outcome.schema_bytes.to_string()];
            for side in [gobo, llguidance] {
                cells.push(side.verdict().name().into());
                let spread = side.compile.as_ref().ok();
                cells.push(number(spread.map(|spread| spread.p50), 0));
                cells.push(number(spread.map(|spread| spread.min), 0));
            }
            cells.push(number(outcome.ratio(), 4));
            cells.push(number(outcome.after_others_ns(), 0));
            let facts = ["file_bytes", "states", "row_computations", "distinct_rows"];
            cells.extend(facts.map(|fact| number(outcome.facts.get(fact).copied(), 0)));
            let count = |answers: Option<Answers>, of: fn(Answers) -> usize| {
                answers.map_or_else(String::new, |answers| of(answers).to_string())
            };
            let either = gobo.answers.or(llguidance.answers);
            cells.extend([count(either, |a| a.valid), count(either, |a| a.invalid)]);
            for side in [gobo, llguidance] {
                cells.push(count(side.answers, |answers| answers.valid_refused));
                cells.push(count(side.answers, |answers| answers.only_in_order));
                cells.push(count(side.answers, |answers| answers.invalid_accepted));
            }
            cells.push(outcome.fill.map_or_else(String::new, |fill| fill.n.to_string()));
            for spread in [outcome.fill, outcome.copy, outcome.peer_mask] {
                cells.push(number(spread.map(|spread| spread.p50), 0));
                cells.push(number(spread.map(|spread| spread.p99), 0));
            }
            csv.row(cells);
        }
        csv.finish()
    }
}
