//! Which share of the schemas has an index: by file of the corpus, and by keyword.

use gobo_measure::Origin;
use gobo_measure::csv::{Csv, number};

use super::corpus::KEYWORDS;
use super::outcome::{Outcome, Run, Verdict};

/// Some schemas, and how many of them each contestant compiles.
#[derive(Debug, Clone)]
pub struct Share {
    pub name: String,
    pub schemas: usize,
    pub gobo: usize,
    pub llguidance: usize,
}

impl Share {
    fn of<'a>(name: &str, outcomes: impl Iterator<Item = &'a Outcome>) -> Self {
        let mut share = Self { name: name.into(), schemas: 0, gobo: 0, llguidance: 0 };
        for outcome in outcomes {
            share.schemas += 1;
            share.gobo += usize::from(outcome.gobo.verdict() == Verdict::Compiled);
            share.llguidance += usize::from(outcome.llguidance.verdict() == Verdict::Compiled);
        }
        share
    }
}

/// The files of the corpus, in order.
pub fn subsets(run: &Run) -> Vec<Share> {
    let mut names: Vec<&str> = run.outcomes.iter().map(|outcome| &*outcome.subset).collect();
    names.dedup();
    let of = |name: &str| Share::of(name, run.outcomes.iter().filter(|outcome| outcome.subset == name));
    names.into_iter().map(of).collect()
}

/// The keywords that some schema has, in order.
pub fn keywords(run: &Run) -> Vec<Share> {
    let of =
        |name: &&str| Share::of(name, run.outcomes.iter().filter(|outcome| outcome.keywords.contains(name)));
    KEYWORDS.iter().map(of).filter(|share| share.schemas > 0).collect()
}

/// As a file, below a line on where it comes from.
pub fn csv(run: &Run, origin: &Origin) -> String {
    let columns = ["by", "name", "schemas", "gobo", "llguidance", "gobo_share", "llguidance_share"];
    let mut csv = Csv::new(&origin.to_string(), &columns);
    let all = Share::of("all", run.outcomes.iter());
    for (by, shares) in [("all", vec![all]), ("subset", subsets(run)), ("keyword", keywords(run))] {
        for Share { name, schemas, gobo, llguidance } in shares {
            let part = |count: usize| count as f64 / schemas as f64;
            let counts = [schemas, gobo, llguidance].map(|count| count.to_string());
            let shares = [gobo, llguidance].map(|count| number(Some(part(count)), 4));
            csv.row([by.to_owned(), name].into_iter().chain(counts).chain(shares));
        }
    }
    csv.finish()
}
