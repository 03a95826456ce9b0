//! The numbers of the pool that compiles for a daemon.

use gobo_engine::UpstreamStats;
use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram};

use super::gauge::set;

pub(super) fn publish(stats: &UpstreamStats) {
    // Taken apart, so that a new number cannot be forgotten here.
    let UpstreamStats {
        indices,
        reports,
        verdicts,
        busy,
        late,
        down,
        failed,
        other_version,
        skipped,
        given_up,
        under_way,
        is_paused,
    } = *stats;
    for (outcome, count) in [
        ("index", indices),
        ("report", reports),
        ("verdict", verdicts),
        ("busy", busy),
        ("late", late),
        ("down", down),
        ("failed", failed),
        ("other_version", other_version),
        ("skipped", skipped),
        ("given_up", given_up),
    ] {
        counter!("gobo_upstream_calls_total", "outcome" => outcome).absolute(count);
    }
    set("gobo_upstream_under_way", under_way);
    set("gobo_upstream_paused", u64::from(is_paused));
}

pub(super) fn describe() {
    describe_counter!("gobo_upstream_calls_total", "Calls to the pool by how they ended.");
    describe_gauge!("gobo_upstream_under_way", "Calls to the pool that are under way now.");
    describe_gauge!("gobo_upstream_paused", "1 while the pool is not called, after failures.");
    let what = "From the beginning of a call to the pool to its end.";
    describe_histogram!("gobo_upstream_seconds", Unit::Seconds, what);
}
