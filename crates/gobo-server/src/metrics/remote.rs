//! The numbers of the bucket that a daemon shares with other hosts.

use gobo_engine::RemoteStats;
use gobo_remote::object::Rejected;
use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram};

use super::gauge::set;

pub(super) fn publish(stats: &RemoteStats) {
    // Taken apart, so that a new number cannot be forgotten here.
    let RemoteStats {
        indices,
        verdicts,
        absent,
        remembered_absent,
        rejected,
        failed,
        timeouts,
        denied,
        skipped,
        given_up,
        read_bytes,
        written,
        written_bytes,
        present,
        write_failures,
        dropped,
        queued,
        is_reading_paused,
        is_writing_paused,
    } = *stats;
    for (outcome, count) in [
        ("index", indices),
        ("verdict", verdicts),
        ("absent", absent),
        ("remembered_absent", remembered_absent),
        ("failed", failed),
        ("timeout", timeouts),
        ("skipped", skipped),
        ("given_up", given_up),
    ] {
        counter!("gobo_remote_lookups_total", "outcome" => outcome).absolute(count);
    }
    for (why, count) in Rejected::ALL.into_iter().zip(rejected) {
        counter!("gobo_remote_rejected_total", "reason" => why.name()).absolute(count);
    }
    for (outcome, count) in
        [("written", written), ("present", present), ("failed", write_failures), ("dropped", dropped)]
    {
        counter!("gobo_remote_writes_total", "outcome" => outcome).absolute(count);
    }
    counter!("gobo_remote_denied_total").absolute(denied);
    counter!("gobo_remote_read_bytes_total").absolute(read_bytes);
    counter!("gobo_remote_written_bytes_total").absolute(written_bytes);
    set("gobo_remote_queued", queued);
    set("gobo_remote_reading_paused", u64::from(is_reading_paused));
    set("gobo_remote_writing_paused", u64::from(is_writing_paused));
}

pub(super) fn describe() {
    for (name, what) in [
        ("gobo_remote_lookups_total", "Lookups in the bucket by how they ended."),
        ("gobo_remote_rejected_total", "Objects of the bucket that were not used, by reason."),
        ("gobo_remote_writes_total", "Objects for the bucket by what became of them."),
        ("gobo_remote_denied_total", "Calls whose credentials the bucket refused."),
        ("gobo_remote_read_bytes_total", "Bytes of objects that were read."),
        ("gobo_remote_written_bytes_total", "Bytes of objects that were written."),
    ] {
        describe_counter!(name, what);
    }
    for (name, what) in [
        ("gobo_remote_queued", "Objects that wait to be written to the bucket now."),
        ("gobo_remote_reading_paused", "1 while lookups are not made, after failures."),
        ("gobo_remote_writing_paused", "1 while nothing is written, after failures."),
    ] {
        describe_gauge!(name, what);
    }
    for (name, what) in [
        ("gobo_remote_lookup_seconds", "From the beginning of a lookup to its answer."),
        ("gobo_remote_upload_seconds", "From the beginning of a write to its end."),
    ] {
        describe_histogram!(name, Unit::Seconds, what);
    }
}
