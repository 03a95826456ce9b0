use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use gobo_engine::{Engine, EngineConfig};
use tower::ServiceExt as _;

use super::*;
use crate::access::Access;

#[path = "../../../../tests/it/fuzz/fuzzer.rs"]
mod fuzzer;
#[path = "../../../gobo-engine/tests/it/tiny.rs"]
mod tiny;

use fuzzer::fuzz;
use tiny::tiny;

/// Whatever a form or a path has in it, the answer is a page that runs none of it, and no fault of the daemon.
#[test]
fn no_request_breaks_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let engine =
        Arc::new(Engine::open(EngineConfig { workers: 2, ..EngineConfig::new(folder.path()) }).unwrap());
    engine.import("tiny", &tiny(), None).unwrap();
    let page = Page {
        engine: Arc::downgrade(&engine),
        numbers: Arc::new(String::new),
        hosts: Vec::new(),
        access: Access::new(None),
    };
    let routes = page.routes();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let seeds = [
        "P/explain?vocabulary=tiny&kind=regex&constraint=%28ab%29%2Bc&text=abab&token=c",
        "P/explain?vocabulary=tiny&kind=gbnf&constraint=root+%3A%3A%3D+%22a%22+root+%22b%22+%7C+%22c%22&text=aac&token=",
        "P/explain?vocabulary=tiny&kind=choice&constraint=a%0Ab%3Cb%3E&text=b&token=0",
        "P/explain?vocabulary=tiny&kind=json&text=%7B%22a%22%3A",
        "P/explain?vocabulary=tiny&kind=schema&constraint=%7B%22type%22%3A%22integer%22%7D&text=1",
        "G/explain?key=0000000000000000000000000000000000000000000000000000000000000000",
        "G/indices?after=0000000000000000000000000000000000000000000000000000000000000000",
        "G/index/0000000000000000000000000000000000000000000000000000000000000000.dot",
        "G/verdicts?",
        "G/?",
    ];
    let words = [
        "%3Cscript%3E",
        "<script>",
        "&constraint=",
        "&kind=lark",
        "&kind=structural_tag",
        "%00",
        "%FF",
        "../",
        "a{1,99}",
        "%5B",
        "%22",
        "kind=ebnf",
        ".dot",
    ];
    let seeds = seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect();
    fuzz("requests of pages", seeds, &words, |bytes| {
        let (method, rest) = match bytes.split_first() {
            Some((b'P', rest)) => ("POST", rest),
            Some((_, rest)) => ("GET", rest),
            None => return false,
        };
        let rest = String::from_utf8_lossy(rest).into_owned();
        let (uri, body) = match rest.split_once('?') {
            Some((path, form)) if method == "POST" => (path, form),
            _ => (&*rest, ""),
        };
        let request = Request::builder().method(method).uri(uri).header("host", "127.0.0.1");
        let Ok(request) = request.body(Body::from(body.to_owned())) else { return false };
        runtime.block_on(async {
            let response = routes.clone().oneshot(request).await.unwrap();
            let status = response.status();
            assert!(!status.is_server_error() || status == StatusCode::SERVICE_UNAVAILABLE, "{status}");
            let page = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            let page = String::from_utf8(page.to_vec()).unwrap();
            assert!(!page.contains("<script"), "{page}");
            status.is_success()
        })
    });
    engine.close();
}
