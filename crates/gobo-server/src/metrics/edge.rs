//! The numbers of who was let in: handshakes, certificates, refused calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metrics::{Unit, counter, describe_counter, describe_gauge, gauge};

use crate::access::{Access, DenialCounts, Policy};
use crate::tls::{Certificates, HandshakeCounts};
use crate::traced::{SpanCounts, Tracer};
use crate::watched::{Replacements, Watched};

/// What has these numbers.
#[derive(Clone)]
pub(crate) struct Edge {
    pub(crate) access: Arc<Access>,
    pub(crate) certificates: Option<Arc<Watched<Certificates>>>,
    pub(crate) policy: Option<Arc<Watched<Policy>>>,
    pub(crate) tracer: Option<Arc<dyn Tracer>>,
}

pub(super) fn publish(edge: &Edge, handshakes: &HandshakeCounts) {
    // Taken apart, so that a new number cannot be forgotten here.
    let DenialCounts { unknown, role, tenant } = &edge.access.denials;
    for (reason, count) in [("unknown", unknown), ("role", role), ("tenant", tenant)] {
        counter!("gobo_calls_denied_total", "reason" => reason).absolute(now(count));
    }
    if let Some(tracer) = &edge.tracer {
        let SpanCounts { exported, failed, dropped } = tracer.counts();
        for (outcome, count) in [("exported", exported), ("failed", failed), ("dropped", dropped)] {
            counter!("gobo_trace_spans_total", "outcome" => outcome).absolute(count);
        }
    }
    if let Some(policy) = &edge.policy {
        replaced("access", policy.replacements());
    }
    let Some(certificates) = &edge.certificates else { return };
    replaced("tls", certificates.replacements());
    let HandshakeCounts { done, failed, late, displaced } = handshakes;
    for (outcome, count) in [("done", done), ("failed", failed), ("late", late), ("displaced", displaced)] {
        counter!("gobo_tls_handshakes_total", "outcome" => outcome).absolute(now(count));
    }
    #[expect(clippy::cast_precision_loss, reason = "a gauge is a float, exact for some million years")]
    gauge!("gobo_tls_expiry_timestamp_seconds").set(certificates.get().expires_unix as f64);
}

fn now(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

fn replaced(files: &'static str, count: Replacements) {
    let Replacements { replaced, broken } = count;
    for (outcome, count) in [("replaced", replaced), ("broken", broken)] {
        counter!("gobo_reloads_total", "files" => files, "outcome" => outcome).absolute(count);
    }
}

pub(super) fn describe() {
    describe_counter!(
        "gobo_calls_denied_total",
        "Calls that were refused for who their caller is, by reason."
    );
    describe_counter!(
        "gobo_reloads_total",
        "Files of certificates and of access that had changed, by what came of it."
    );
    describe_counter!("gobo_trace_spans_total", "Spans of traced calls, by what became of them.");
    describe_counter!("gobo_tls_handshakes_total", "TLS handshakes by how they ended.");
    let what = "When the first of the daemon's own certificates expires, in seconds since 1970.";
    describe_gauge!("gobo_tls_expiry_timestamp_seconds", Unit::Seconds, what);
}
