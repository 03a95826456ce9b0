//! Spans of the daemon's calls, for a collector that speaks OTLP over gRPC: on where the standard variables of OpenTelemetry name one.
//!
//! Nothing waits for the collector. Spans that have ended wait in a queue of the SDK, from which one thread sends them; beyond its length
//! they are let go and counted. Each batch has the time of an export, and is lost and counted if the collector has not taken it by then.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use gobo_engine::{Step, Trace};
use gobo_server::{SpanCounts, TracedCall, Tracer};
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{
    Span as _, SpanContext, SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::SpanExporter as Otlp;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{
    BatchSpanProcessor, SdkTracer, SdkTracerProvider, Span, SpanData, SpanExporter, SpanProcessor,
};
use tokio::runtime::Handle;

use crate::output;

/// How long a stop waits for the last spans to be taken.
pub(super) const LAST_SPANS: Duration = Duration::from_secs(2);

/// Most spans that wait, if `OTEL_BSP_MAX_QUEUE_SIZE` says nothing: as in the SDK.
const QUEUE: u64 = 2_048;

/// The collector of this daemon's spans.
pub(super) struct Collector {
    endpoint: String,
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    counts: Arc<Counts>,
}

/// The numbers of [`SpanCounts`].
#[derive(Debug, Default)]
struct Counts {
    waiting: AtomicU64,
    exported: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
    /// The last batch was not taken.
    is_failing: AtomicBool,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// A variable of the environment, if it says something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// Refuses what the SDK would pass over in silence.
fn check_variables() -> anyhow::Result<()> {
    for name in ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"] {
        if let Some(protocol) = variable(name) {
            ensure!(
                protocol == "grpc",
                "{name} is {protocol}: spans are sent over gRPC alone\nhint: set it to grpc"
            );
        }
    }
    for name in ["OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION"] {
        if let Some(compression) = variable(name) {
            ensure!(
                compression == "none",
                "{name} is {compression}: spans are not compressed\nhint: unset it"
            );
        }
    }
    for name in [
        "OTEL_BSP_MAX_QUEUE_SIZE",
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
        "OTEL_BSP_SCHEDULE_DELAY",
        "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
        "OTEL_EXPORTER_OTLP_TIMEOUT",
    ] {
        if let Some(number) = variable(name) {
            ensure!(
                number.parse().is_ok_and(|number: u64| number > 0),
                "{name} is '{number}', which is no number above 0"
            );
        }
    }
    if let Some(sampler) = variable("OTEL_TRACES_SAMPLER") {
        const KNOWN: [&str; 6] = [
            "always_on",
            "always_off",
            "traceidratio",
            "parentbased_always_on",
            "parentbased_always_off",
            "parentbased_traceidratio",
        ];
        ensure!(
            KNOWN.contains(&sampler.as_str()),
            "OTEL_TRACES_SAMPLER is {sampler}, which is none of {}",
            KNOWN.join(", ")
        );
        if sampler.ends_with("traceidratio") {
            let share = variable("OTEL_TRACES_SAMPLER_ARG").unwrap_or_default();
            let is_share = share.parse().is_ok_and(|share: f64| (0.0..=1.0).contains(&share));
            ensure!(
                is_share,
                "OTEL_TRACES_SAMPLER_ARG is '{share}': {sampler} needs a share from 0 to 1, such as 0.01"
            );
        }
    }
    Ok(())
}

/// The address that the variables name; `None`: no spans are wanted.
fn endpoint() -> anyhow::Result<Option<String>> {
    if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    match variable("OTEL_TRACES_EXPORTER").as_deref() {
        Some("none") => return Ok(None),
        Some("otlp") | None => {}
        Some(other) => {
            bail!("OTEL_TRACES_EXPORTER is {other}: the only exporter here is otlp\nhint: otlp or none")
        }
    }
    let endpoint = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    let Some(endpoint) = endpoint.or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT")) else {
        return Ok(None);
    };
    ensure!(
        endpoint.starts_with("http://"),
        "the collector of OTEL_EXPORTER_OTLP_ENDPOINT is {endpoint}, which is not http://HOST:PORT\n\
         hint: spans leave this host without TLS; let an agent on this host take them, and send them on"
    );
    check_variables()?;
    Ok(Some(endpoint))
}

impl Collector {
    /// The collector that the environment names, if it names one. Nothing is connected yet. To be called within a tokio runtime.
    ///
    /// # Errors
    /// For what the variables say and cannot be done.
    pub(super) fn from_environment() -> anyhow::Result<Option<Arc<Self>>> {
        let Some(endpoint) = endpoint()? else { return Ok(None) };
        let counts = Arc::<Counts>::default();
        let exporter = Otlp::builder().with_tonic().build();
        let exporter = exporter.with_context(|| format!("cannot send spans to {endpoint}"))?;
        let exporter =
            Counting { inner: Arc::new(exporter), runtime: Handle::current(), counts: Arc::clone(&counts) };
        let queue = variable("OTEL_BSP_MAX_QUEUE_SIZE").and_then(|size| size.parse().ok()).unwrap_or(QUEUE);
        let batches = BatchSpanProcessor::builder(exporter).build();
        let processor = Bounded { next: batches, queue, counts: Arc::clone(&counts) };
        let mut resource =
            Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        if variable("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("gobo");
        }
        let provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .with_resource(resource.build())
            .build();
        let tracer = provider.tracer("gobo");
        output::note(format_args!("sending spans to {endpoint}"));
        Ok(Some(Arc::new(Self { endpoint, provider, tracer, counts })))
    }

    /// Sends what waits, for at most [`LAST_SPANS`]. Blocks.
    pub(super) fn close(&self) {
        // What went wrong was counted.
        let _ = self.provider.shutdown_with_timeout(LAST_SPANS);
    }
}

impl Tracer for Collector {
    fn begin(&self, method: &str, parent: Option<&str>) -> Option<Arc<dyn TracedCall>> {
        let parent = parent.map_or_else(Context::new, |parent| {
            let headers = HashMap::from([("traceparent".to_owned(), parent.to_owned())]);
            TraceContextPropagator::new().extract_with_context(&Context::new(), &headers)
        });
        let builder = self.tracer.span_builder(method.to_owned()).with_kind(SpanKind::Server);
        let mut span = builder.start_with_context(&self.tracer, &parent);
        let context = span.span_context().clone();
        if !context.is_sampled() {
            return None;
        }
        let (service, name) = method.rsplit_once('/').unwrap_or(("", method));
        span.set_attributes([
            KeyValue::new("rpc.system", "grpc"),
            KeyValue::new("rpc.service", service.to_owned()),
            KeyValue::new("rpc.method", name.to_owned()),
        ]);
        Some(Arc::new(Call {
            id: context.trace_id().to_string(),
            below: Context::new().with_remote_span_context(context.clone()),
            context,
            tracer: self.tracer.clone(),
            span: Mutex::new(Some(span)),
        }))
    }

    fn counts(&self) -> SpanCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counts { exported, failed, dropped, .. } = &*self.counts;
        SpanCounts { exported: read(exported), failed: read(failed), dropped: read(dropped) }
    }
}

/// A call and the spans below it.
struct Call {
    id: String,
    context: SpanContext,
    /// Where its steps belong.
    below: Context,
    tracer: SdkTracer,
    /// `None` once the call has ended.
    span: Mutex<Option<Span>>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Trace for Call {
    fn id(&self) -> &str {
        &self.id
    }

    fn parent(&self) -> String {
        format!("00-{}-{}-{:02x}", self.id, self.context.span_id(), self.context.trace_flags().to_u8())
    }

    fn step(&self, step: Step) {
        let Step { name, key, begun, took, ended, numbers, phases } = step;
        let mut attributes =
            vec![KeyValue::new("gobo.key", key.to_string()), KeyValue::new("gobo.ended", ended)];
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        attributes.extend(
            numbers.into_iter().map(|(name, value)| KeyValue::new(format!("gobo.{name}"), number(value))),
        );
        let builder = self.tracer.span_builder(name).with_start_time(begun).with_attributes(attributes);
        let mut span = builder.start_with_context(&self.tracer, &self.below);
        let below = Context::new().with_remote_span_context(span.span_context().clone());
        // What a worker says of itself may be nonsense.
        let at = |after: Duration| begun.checked_add(after.min(took)).unwrap_or(begun);
        for phase in phases {
            let start = at(phase.after());
            let builder = self.tracer.span_builder(phase.phase.name()).with_start_time(start);
            let end = at(phase.after().saturating_add(phase.took()));
            builder.start_with_context(&self.tracer, &below).end_with_timestamp(end);
        }
        span.end_with_timestamp(at(took));
    }

    fn note(&self, name: &'static str, value: Cow<'static, str>) {
        if let Some(span) = &mut *self.span.lock().unwrap_or_else(PoisonError::into_inner) {
            span.set_attribute(KeyValue::new(name, value));
        }
    }
}

impl TracedCall for Call {
    fn end(&self, code: Option<i32>) {
        let Some(mut span) = self.span.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        // A caller that has gone away ended the call as one that cancels it does.
        let code = code.unwrap_or(tonic_code::CANCELLED);
        span.set_attribute(KeyValue::new("rpc.grpc.status_code", i64::from(code)));
        // Of a server's span the codes that are its own fault alone are errors: semantic conventions for gRPC, "gRPC status".
        if tonic_code::OF_SERVER.contains(&code) {
            span.set_status(Status::error(""));
        }
        span.end();
    }
}

/// Status codes of gRPC.
mod tonic_code {
    pub(super) const CANCELLED: i32 = 1;
    /// UNKNOWN, `DEADLINE_EXCEEDED`, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, `DATA_LOSS`.
    pub(super) const OF_SERVER: [i32; 6] = [2, 4, 12, 13, 14, 15];
}

/// Lets go, and counts, what is beyond the length of the queue.
#[derive(Debug)]
struct Bounded<P> {
    next: P,
    queue: u64,
    counts: Arc<Counts>,
}

impl<P: SpanProcessor> SpanProcessor for Bounded<P> {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.next.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if self.counts.waiting.fetch_add(1, Ordering::Relaxed) >= self.queue {
            self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.next.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.next.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.next.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.next.set_resource(resource);
    }
}

/// Counts what becomes of batches, which tasks of the runtime send.
#[derive(Debug)]
struct Counting<E> {
    inner: Arc<E>,
    runtime: Handle,
    counts: Arc<Counts>,
}

impl<E: SpanExporter + 'static> SpanExporter for Counting<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len() as u64;
        let inner = Arc::clone(&self.inner);
        // The transport needs a runtime for its clock, and the thread that sends has none.
        let sent = self.runtime.spawn(async move { inner.export(batch).await }).await;
        let sent = sent.unwrap_or_else(|error| Err(OTelSdkError::InternalFailure(error.to_string())));
        let counts = &self.counts;
        counts.waiting.fetch_sub(spans, Ordering::Relaxed);
        let counter = if sent.is_ok() { &counts.exported } else { &counts.failed };
        counter.fetch_add(spans, Ordering::Relaxed);
        let was_failing = counts.is_failing.swap(sent.is_err(), Ordering::Relaxed);
        match &sent {
            Err(error) if !was_failing => {
                tracing::warn!(%error, "the collector does not take spans: they are let go and counted");
            }
            Ok(()) if was_failing => tracing::info!("the collector takes spans again"),
            _ => {}
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.set_resource(resource);
        }
    }
}
