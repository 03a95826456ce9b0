//! Spans of a daemon's calls, as a collector receives them that is made of the protocol's own definitions.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gobo_proto::v1;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};

use crate::fleet::{exported, free_port};
use crate::gobo::{Daemon, gobo};

const TOKENIZER: &str = "r50k_base";

/// A trace and a span of a caller: the example of W3C Trace Context, section 3.2.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// What a collector has received: spans, and the names of the services that sent them.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<(String, Span)>>>);

#[tonic::async_trait]
impl TraceService for Received {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        for of_resource in request.into_inner().resource_spans {
            let attributes = of_resource.resource.unwrap_or_default().attributes;
            let service = attributes.into_iter().find(|attribute| attribute.key == "service.name");
            let Some(Value::StringValue(service)) = service.and_then(|service| service.value?.value) else {
                return Err(Status::invalid_argument("a resource without a name"));
            };
            let spans = of_resource.scope_spans.into_iter().flat_map(|of_scope| of_scope.spans);
            self.0.lock().unwrap().extend(spans.map(|span| (service.clone(), span)));
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Received {
    /// Waits until `is_whole` of what has come.
    async fn once(&self, is_whole: impl Fn(&[(String, Span)]) -> bool) -> Vec<(String, Span)> {
        let begun = Instant::now();
        loop {
            let spans = self.0.lock().unwrap().clone();
            if is_whole(&spans) {
                return spans;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "{spans:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// A collector: what it receives, its address, and what ends it.
async fn collector() -> (Received, SocketAddr, oneshot::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (received, (end, ended)) = (Received::default(), oneshot::channel::<()>());
    let service = TraceServiceServer::new(received.clone());
    let serving = Server::builder().add_service(service);
    tokio::spawn(serving.serve_with_incoming_shutdown(TcpListenerStream::new(listener), async {
        // Its sender is kept or dropped.
        let _ = ended.await;
    }));
    (received, address, end)
}

/// The environment of a daemon that sends spans.
fn environment(collector: SocketAddr, service: &str) -> Vec<(&'static str, String)> {
    vec![
        ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{collector}")),
        ("OTEL_SERVICE_NAME", service.to_owned()),
        ("OTEL_BSP_SCHEDULE_DELAY", "100".to_owned()),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "1000".to_owned()),
    ]
}

async fn channel(address: &str) -> Channel {
    Endpoint::from_shared(address.to_owned()).unwrap().connect().await.unwrap()
}

/// A resolve as a program in any language makes it.
async fn resolve(channel: &Channel, pattern: &str, parent: Option<&str>) -> Result<v1::ResolveReply, Status> {
    let mut request = Request::new(v1::ResolveRequest {
        vocabulary: Some(v1::VocabularyRef { by: Some(v1::vocabulary_ref::By::Name(TOKENIZER.into())) }),
        constraint: Some((&gobo_types::Constraint::regex(pattern)).into()),
        limits: None,
    });
    if let Some(parent) = parent {
        request.metadata_mut().insert("traceparent", parent.parse().unwrap());
    }
    let mut client = tonic::client::Grpc::new(channel.clone());
    client.ready().await.unwrap();
    let codec = tonic_prost::ProstCodec::default();
    let path = "/gobo.v1.Gobo/Resolve".parse().unwrap();
    client.unary(request, path, codec).await.map(Response::into_inner)
}

fn parent(trace: &str, flags: &str) -> String {
    format!("00-{trace}-{CALLER}-{flags}")
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|half| char::from_digit(half.into(), 16).unwrap())
        .collect()
}

fn attribute(span: &Span, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.clone()?.value? {
        Value::StringValue(text) => Some(text),
        Value::IntValue(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The spans of this name below another.
fn below<'a>(spans: &'a [(String, Span)], above: &Span, name: &str) -> Vec<&'a Span> {
    let spans = spans.iter().map(|(_, span)| span);
    spans.filter(|span| span.parent_span_id == above.span_id && span.name == name).collect()
}

/// A number of the operators' page.
async fn number(admin: SocketAddr, line: &str) -> u64 {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let mut connection = tokio::net::TcpStream::connect(admin).await.unwrap();
    connection.write_all(b"GET /metrics HTTP/1.0\r\nHost: x\r\n\r\n").await.unwrap();
    let mut page = String::new();
    connection.read_to_string(&mut page).await.unwrap();
    let found = page.lines().find_map(|found| found.strip_prefix(line)?.trim().parse().ok());
    found.unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_spans_the_caller_a_host_its_pool_and_the_worker() {
    let home = tempfile::tempdir().unwrap();
    let (received, collector, _end) = collector().await;
    let admin = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let (pool, pool_address) =
        called_with(&exported(&environment(collector, "pool")), &home.path().join("pool"), &[]);
    let upstream = ["--upstream", &pool_address, "--admin", &admin.to_string(), "--log-format", "json"];
    let (host, address) =
        called_with(&exported(&environment(collector, "host")), &home.path().join("host"), &upstream);
    let channel = channel(&address).await;
    let secret = "sesame[0-9]{3}";
    resolve(&channel, secret, Some(&parent(TRACE, "01"))).await.unwrap();
    resolve(&channel, secret, Some(&parent(TRACE, "01"))).await.unwrap();

    let is_of = |service: &str, name: &str| {
        let (service, name) = (service.to_owned(), name.to_owned());
        move |(sent, span): &&(String, Span)| *sent == service && span.name == name
    };
    let spans = received
        .once(|spans| {
            spans.iter().filter(is_of("host", "gobo.v1.Gobo/Resolve")).count() == 2
                && spans.iter().any(|span| is_of("pool", "gobo.v1.Gobo/FetchIndex")(&span))
        })
        .await;
    // One trace from the caller on, and every parent is a span of it.
    let ids: HashSet<&[u8]> = spans.iter().map(|(_, span)| &*span.span_id).collect();
    assert_eq!(ids.len(), spans.len());
    for (_, span) in &spans {
        assert_eq!(hex(&span.trace_id), TRACE, "{span:?}");
        assert!(ids.contains(&*span.parent_span_id) || hex(&span.parent_span_id) == CALLER, "{span:?}");
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "{span:?}");
        // Digests and words, no text.
        assert!(!format!("{span:?}").contains("sesame"), "{span:?}");
    }
    let of_host: Vec<&Span> =
        spans.iter().filter(is_of("host", "gobo.v1.Gobo/Resolve")).map(|(_, span)| span).collect();
    let miss = *of_host.iter().find(|span| attribute(span, "gobo.source").unwrap() == "upstream").unwrap();
    let hit = *of_host.iter().find(|span| attribute(span, "gobo.source").unwrap() == "host").unwrap();
    assert_eq!((hex(&miss.parent_span_id), hex(&hit.parent_span_id)), (CALLER.into(), CALLER.into()));
    assert_eq!(attribute(miss, "gobo.key"), attribute(hit, "gobo.key"));
    assert_eq!(attribute(miss, "rpc.grpc.status_code").unwrap(), "0");
    assert!(!spans.iter().any(|(_, span)| span.parent_span_id == hit.span_id), "a hit has no steps");
    let [forward] = below(&spans, miss, "forward")[..] else { panic!("{spans:#?}") };
    assert_eq!(attribute(forward, "gobo.ended").unwrap(), "index");
    assert_eq!(below(&spans, miss, "publish").len(), 1);

    // The pool's part, down to the phases of a worker process.
    // It is asked once more after it was sent the vocabulary.
    let asked = below(&spans, miss, "gobo.v1.Gobo/Resolve");
    let is_compiled =
        |span: &&&Span| attribute(span, "gobo.source").is_some_and(|source| source == "compile");
    let compiled = *asked.iter().find(is_compiled).unwrap_or_else(|| panic!("{spans:#?}"));
    let [pass] = below(&spans, compiled, "pass")[..] else { panic!("{spans:#?}") };
    assert_eq!((below(&spans, compiled, "queue").len(), below(&spans, compiled, "publish").len()), (1, 1));
    assert_eq!(
        (attribute(pass, "gobo.ended").unwrap(), attribute(pass, "gobo.number").unwrap()),
        ("made".into(), "1".into())
    );
    let mut before = pass.start_time_unix_nano;
    for phase in ["open", "lower", "spell", "rows", "lay_out", "write"] {
        let [span] = below(&spans, pass, phase)[..] else { panic!("{phase}: {spans:#?}") };
        assert!(before <= span.start_time_unix_nano && span.end_time_unix_nano <= pass.end_time_unix_nano);
        before = span.start_time_unix_nano;
    }

    // What the caller has decided not to sample is not; who says nothing of it is sampled.
    received.0.lock().unwrap().clear();
    resolve(&channel, "b+", Some(&parent(TRACE, "00"))).await.unwrap();
    resolve(&channel, "c+", Some("no parent")).await.unwrap();
    let spans =
        received.once(|spans| spans.iter().any(|span| is_of("host", "gobo.v1.Gobo/Resolve")(&span))).await;
    assert!(spans.iter().all(|(_, span)| hex(&span.trace_id) != TRACE));

    // Lines of the log name their trace.
    pool.terminate();
    resolve(&channel, "d+", Some(&parent(TRACE, "01"))).await.unwrap();
    let begun = Instant::now();
    let line = loop {
        let said = host.said();
        if let Some(line) = said.lines().find(|line| line.contains("the pool does not answer")) {
            break serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{said}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(line["span"]["trace_id"], TRACE, "{line}");
    // Numbers are brought up to date once a second.
    while number(admin, "gobo_trace_spans_total{outcome=\"exported\"}").await == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(number(admin, "gobo_trace_spans_total{outcome=\"failed\"}").await, 0);
    host.terminate();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_gone_costs_spans_alone() {
    let home = tempfile::tempdir().unwrap();
    let (received, collector, end) = collector().await;
    let admin = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let mut environment = environment(collector, "host");
    environment.push(("OTEL_BSP_MAX_QUEUE_SIZE", "8".to_owned()));
    let (daemon, address) =
        called_with(&exported(&environment), home.path(), &["--admin", &admin.to_string()]);
    let channel = channel(&address).await;
    resolve(&channel, "a+", None).await.unwrap();
    // Of so short a queue the call itself may be what is let go.
    received.once(|spans| !spans.is_empty()).await;
    drop(end);
    let begun = Instant::now();
    let (mut failed, mut dropped) = (0, 0);
    while failed == 0 || dropped == 0 {
        assert!(begun.elapsed() < Duration::from_secs(120), "{failed} failed, {dropped} dropped");
        for _ in 0..50 {
            resolve(&channel, "a+", None).await.unwrap();
        }
        failed = number(admin, "gobo_trace_spans_total{outcome=\"failed\"}").await;
        dropped = number(admin, "gobo_trace_spans_total{outcome=\"dropped\"}").await;
    }
    let begun = Instant::now();
    daemon.terminate();
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[test]
fn variables_that_cannot_be_obeyed_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let said = |variables: &[(&str, &str)]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gobo"));
        command.args(["serve", "--store"]).arg(home.path().join("store"));
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1").envs(variables.iter().copied());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{variables:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for (variables, expected) in [
        (&[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://far:4317")][..], "without TLS"),
        (&[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")], "over gRPC alone"),
        (&[("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")], "are not compressed"),
        (&[("OTEL_TRACES_EXPORTER", "zipkin")], "the only exporter here is otlp"),
        (&[("OTEL_BSP_MAX_QUEUE_SIZE", "many")], "no number above 0"),
        (&[("OTEL_EXPORTER_OTLP_TIMEOUT", "0")], "no number above 0"),
        (&[("OTEL_TRACES_SAMPLER", "sometimes")], "none of always_on"),
        (&[("OTEL_TRACES_SAMPLER", "traceidratio")], "needs a share from 0 to 1"),
        (&[("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "2")], "from 0 to 1"),
    ] {
        let said = said(variables);
        assert!(said.contains(expected), "{variables:?}: {said}");
    }
}

#[test]
fn a_daemon_without_a_collector_sends_nothing() {
    for variables in [
        vec![],
        vec![
            ("OTEL_SDK_DISABLED", "true".to_owned()),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "nonsense".to_owned()),
        ],
        vec![
            ("OTEL_TRACES_EXPORTER", "none".to_owned()),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "nonsense".to_owned()),
        ],
    ] {
        let home = tempfile::tempdir().unwrap();
        let daemon = Daemon::start_under(&exported(&variables), home.path(), &[]);
        let status = gobo(home.path(), &["status"]);
        assert!(status.status.success());
        daemon.terminate();
    }
}

/// A daemon with this environment that others may call, and its address.
fn called_with(shell: &str, store: &Path, more: &[&str]) -> (Daemon, String) {
    let listen = format!("127.0.0.1:{}", free_port());
    let args = [&["--listen", &listen, "--drain-pause", "0s"], more].concat();
    (Daemon::start_under(shell, store, &args), format!("http://{listen}"))
}
