//! The outcome of an attack: rows, figures with their targets, and a line of the summary.
//!
//! A call of the good tenant without an answer counts as one that took until its deadline: a daemon that refuses calls must
//! not look fast.
use std::collections::BTreeMap;
use std::time::Duration;

use gobo_cli::output;
use gobo_measure::Target;

use super::good_tenant::Phase;
use super::watch::Lap;
use crate::generator::open_loop::Lane;
use crate::report::histogram::micros;
use crate::report::{Report, Row};

/// Target of the 99th percentile of the good tenant's misses, as a multiple of that without the attack.
const MISS_RATIO: f64 = 2.0;

/// The same of its hits.
const HIT_RATIO: f64 = 2.0;

/// Target of the daemon's memory above its idle value.
const DAEMON_BYTES: u64 = 256 << 20;

/// Most bytes of indices that the daemon keeps: some thousand of the good tenant's.
pub(super) const STORE_BYTES: u64 = 256 << 20;

/// Target of the bytes that cached verdicts, and a catalog that is not compacted yet, take beside the indices.
const CATALOG_BYTES: u64 = 64 << 20;

/// Columns of the summary: milliseconds with the attack (without), MiB, cores, seconds.
const SUMMARY: [&str; 12] = [
    "attack",
    "miss p50 ms",
    "miss p99 ms",
    "hit p50 ms",
    "hit p99 ms",
    "errors",
    "daemon MiB",
    "workers MiB",
    "disk MiB",
    "cores d, w",
    "back s",
    "serves",
];

/// One attack.
pub(super) struct AttackOutcome {
    pub(super) name: String,
    pub(super) quiet: Phase,
    pub(super) beside: Phase,
    /// Before the attack, beside the good tenant's calls.
    pub(super) idle: Lap,
    pub(super) held: Lap,
    /// Resident bytes of the daemon when it was left alone afterwards.
    pub(super) after: u64,
    /// Until its memory was near what it had been; `None` if it did not come near.
    pub(super) back: Option<Duration>,
    /// Whether it lived, and answered a miss and a hit, after the attack.
    pub(super) is_serving: bool,
    /// The bound that ended the attack early.
    pub(super) cut_short: Option<&'static str>,
    /// Of a call of the good tenant.
    pub(super) deadline: Duration,
    /// Answers to the attackers.
    pub(super) answers: BTreeMap<String, u64>,
}

impl AttackOutcome {
    /// Adds rows, figures and a line of the summary.
    pub(super) fn report(self, report: &mut Report) {
        let Self { name, quiet, beside, idle, held, .. } = self;
        let figure = |what: &str| format!("{name}_{what}");
        report.panel(&name);
        let row = |what: &str, lane: Lane, quiet: Lane| {
            let mut row = lane.into_row(&figure(what));
            row.floor = Some(quiet.into_times());
            row
        };
        let misses = Compared::of(report.row(row("miss", beside.misses, quiet.misses)), self.deadline);
        let hits = Compared::of(report.row(row("hit", beside.hits, quiet.hits)), self.deadline);
        let mut connects = row("connect", beside.connects, quiet.connects);
        // If attackers hold all connections, no new one can be made.
        connects.may_fail = true;
        report.row(connects);

        let before = quiet.errors.values().sum::<u64>();
        report.target(figure("idle_errors"), number(before), "calls", Target::Exactly(0.0));
        let errors = beside.errors.values().sum::<u64>();
        report.target(
            figure("miss_p99_ratio"),
            misses.ratio(),
            "times that without",
            Target::AtMost(MISS_RATIO),
        );
        report.target(figure("hit_p99_ratio"), hits.ratio(), "times that without", Target::AtMost(HIT_RATIO));
        report.target(figure("errors"), number(errors), "calls", Target::Exactly(0.0));
        for (answer, count) in &beside.errors {
            report.figure(figure(&format!("error_{answer}")), number(*count), "calls");
        }
        let daemon = held.peaks.daemon.saturating_sub(idle.peaks.daemon);
        report.target(figure("daemon_above_idle"), mib(daemon), "MiB", Target::AtMost(mib(DAEMON_BYTES)));
        let disk = held.peaks.disk.saturating_sub(idle.peaks.disk);
        let bound = Target::AtMost(mib(STORE_BYTES + CATALOG_BYTES));
        report.target(figure("disk_above_idle"), mib(disk), "MiB", bound);
        report.target(figure("serves_after"), f64::from(u8::from(self.is_serving)), "", Target::Exactly(1.0));
        for (when, lap) in [("idle", &idle), ("attacked", &held)] {
            let peaks = lap.peaks;
            report.figure(figure(&format!("{when}_daemon")), mib(peaks.daemon), "MiB");
            report.figure(figure(&format!("{when}_daemon_pss")), mib(peaks.daemon_proportional), "MiB");
            report.figure(figure(&format!("{when}_workers")), mib(peaks.workers), "MiB");
            report.figure(figure(&format!("{when}_workers_pss")), mib(peaks.workers_proportional), "MiB");
            report.figure(figure(&format!("{when}_disk")), mib(peaks.disk), "MiB");
            report.figure(figure(&format!("{when}_daemon_cpu")), lap.daemon_cores, "cores");
            report.figure(figure(&format!("{when}_workers_cpu")), lap.workers_cores, "cores");
        }
        report.figure(figure("daemon_after"), mib(self.after.saturating_sub(idle.peaks.daemon)), "MiB");
        if let Some(back) = self.back {
            report.figure(figure("memory_back"), back.as_secs_f64(), "s");
        }
        for (answer, count) in &self.answers {
            report.figure(figure(&format!("attack_{answer}")), number(*count), "answers");
        }
        if let Some(what) = self.cut_short {
            report.figure(figure(&format!("ended_for_{what}")), 1.0, "");
        }
        let [misses, hits] = [misses.cells(), hits.cells()];
        // A run takes minutes: this shows its progress.
        output::note(format_args!(
            "  ms at the 99th percentile (without the attack): misses {}, hits {}; {errors} errors, daemon {:+.0} MiB",
            misses[1],
            hits[1],
            mib(daemon)
        ));
        let summary = [
            vec![name],
            misses.to_vec(),
            hits.to_vec(),
            vec![
                errors.to_string(),
                format!("{:+.0}", mib(daemon)),
                format!("{:.0}", mib(held.peaks.workers)),
                format!("{:+.0}", mib(disk)),
                format!("{:.2} {:.2}", held.daemon_cores, held.workers_cores),
                self.back.map_or("no".to_owned(), |back| format!("{:.1}", back.as_secs_f64())),
                if self.is_serving { "yes" } else { "no" }.to_owned(),
            ],
        ];
        report.summary(&SUMMARY, summary.concat());
    }
}

/// Times of calls beside an attack and without it, in milliseconds, at the 50th and the 99th percentile.
struct Compared {
    beside: [f64; 2],
    quiet: [f64; 2],
}

impl Compared {
    /// From a row; calls without an answer count as calls that took until the deadline.
    fn of(row: &Row, deadline: Duration) -> Self {
        let all = row.n + row.skipped;
        let answered = row.times.len();
        let unanswered = deadline.as_secs_f64() * 1000.0;
        let at = |quantile: f64| {
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            let rank = quantile * all as f64;
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            let share = rank / answered as f64;
            if answered == 0 || share > 1.0 { unanswered } else { row.us(share) / 1000.0 }
        };
        let floor = |quantile: f64| {
            row.floor.as_ref().map_or(0.0, |floor| micros(floor.value_at_quantile(quantile)) / 1000.0)
        };
        Self { beside: QUANTILES.map(at), quiet: QUANTILES.map(floor) }
    }

    /// Of the 99th percentiles.
    fn ratio(&self) -> f64 {
        self.beside[1] / self.quiet[1].max(1e-6)
    }

    /// `with (without)` for each percentile.
    fn cells(&self) -> [String; 2] {
        [0, 1].map(|at| format!("{:.1} ({:.1})", self.beside[at], self.quiet[at]))
    }
}

const QUANTILES: [f64; 2] = [0.5, 0.99];

fn mib(bytes: u64) -> f64 {
    number(bytes) / f64::from(1 << 20)
}

fn number(count: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few digits are shown")]
    let count = count as f64;
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::histogram::histogram;

    #[test]
    fn calls_without_an_answer_are_slow_ones() {
        let times = |calls: u64| {
            let mut times = histogram().unwrap();
            (0..calls).for_each(|_| times.record(2_000_000).unwrap());
            times
        };
        let compared = |n, failed, skipped| {
            let mut row = Row::new("some", n, failed, times(n - failed));
            row.skipped = skipped;
            row.floor = Some(times(100));
            Compared::of(&row, Duration::from_secs(30))
        };
        let near = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 0.01;
        assert!(near(compared(1000, 0, 0).ratio(), 1.0));
        assert!(near(compared(1000, 9, 0).ratio(), 1.0), "fewer than one in a hundred");
        assert!(near(compared(1000, 20, 0).ratio(), 15_000.0));
        assert!(near(compared(980, 0, 20).ratio(), 15_000.0), "those that could not leave too");
        let [p50, p99] = compared(1000, 20, 0).beside;
        assert!(near(p50, 2.0) && near(p99, 30_000.0));
        assert!(near(compared(10, 10, 0).beside[0], 30_000.0));
    }
}
