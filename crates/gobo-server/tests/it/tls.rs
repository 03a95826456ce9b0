//! Who can connect over TLS, as whom, and for how long.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gobo_client::{Client, ClientError, Constraint, Credentials, ErrorKind, Source};
use gobo_engine::UpkeepConfig;
use gobo_server::{
    AccessEntry, AccessFile, Role, ServeConfig, ServeError, ServeLimits, Server, TlsFiles, access_entry,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::authority::{Authority, Pair};
use crate::daemon::Daemon;

/// Folders of a test, and an authority.
struct Place {
    folder: tempfile::TempDir,
    store: tempfile::TempDir,
    authority: Authority,
}

fn place() -> Place {
    let (folder, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let authority = Authority::new(folder.path(), "authority");
    Place { folder, store, authority }
}

fn files(pair: &Pair) -> TlsFiles {
    TlsFiles { certificate: pair.certificate.clone(), key: pair.key.clone(), client_ca: None, revoked: None }
}

impl Place {
    async fn start(&self, edit: impl FnOnce(&mut ServeConfig)) -> Daemon {
        Daemon::start_at(self.store.path(), UpkeepConfig::default(), edit).await
    }

    fn trusting(&self) -> Credentials {
        Credentials { ca: Some(self.authority.certificate.clone()), ..Credentials::default() }
    }

    fn showing(&self, pair: &Pair) -> Credentials {
        let (certificate, key) = (Some(pair.certificate.clone()), Some(pair.key.clone()));
        Credentials { certificate, key, ..self.trusting() }
    }

    fn token(&self, name: &str, roles: &[Role], tenant: Option<&str>) -> (String, Credentials) {
        let path = self.folder.path().join(format!("{name}.token"));
        let token = format!("secret-of-{name}");
        std::fs::write(&path, &token).unwrap();
        let entry = access_entry(&AccessEntry { token: &token, name, roles, tenant });
        (entry, Credentials { token_file: Some(path), ..self.trusting() })
    }

    fn access(&self, text: &str) -> PathBuf {
        let path = self.folder.path().join("access.toml");
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// A client as on another host, with a store of its own.
fn client(daemon: &Daemon, credentials: Credentials) -> (Client, tempfile::TempDir) {
    let store = tempfile::tempdir().unwrap();
    let builder = Client::builder().store(store.path()).server(&daemon.tcp).credentials(credentials);
    (builder.timeout(Duration::from_secs(30)).connect().unwrap(), store)
}

async fn resolves(daemon: &Daemon, credentials: Credentials) -> Result<(), ClientError> {
    let (client, _store) = client(daemon, credentials);
    client.resolve("tiny", &Constraint::regex("a+b")).await.map(drop)
}

/// What the system of either side says of a connection that does not come about.
fn why(answer: Result<(), ClientError>) -> String {
    match answer {
        Err(ClientError::Unreachable { source, .. }) => source.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls_the_answer_is_that_of_the_socket() {
    let place = place();
    let pair = place.authority.issue("server", &["127.0.0.1", "gobo.example"], true);
    let daemon = place.start(|config| config.tls = Some(files(&pair))).await;
    let constraint = Constraint::regex("(yes|no)+");
    let near = Client::builder().store(place.store.path()).connect().unwrap();
    let compiled = near.resolve("tiny", &constraint).await.unwrap();
    assert_eq!(compiled.source, Source::Compile);
    let (far, _store) = client(&daemon, place.trusting());
    let streamed = far.resolve("tiny", &constraint).await.unwrap();
    assert_eq!((streamed.source, streamed.key), (Source::Stream, compiled.key));
    assert_eq!(std::fs::read(&streamed.path).unwrap(), std::fs::read(&compiled.path).unwrap());
    let refused = |client: Client| async move {
        let error = client.resolve("tiny", &Constraint::regex(r"(a)\1")).await.unwrap_err();
        error.to_string()
    };
    assert_eq!(refused(near).await, refused(far).await);
    let named = Credentials { server_name: Some("gobo.example".into()), ..place.trusting() };
    resolves(&daemon, named).await.unwrap();
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_is_not_who_it_should_be_is_not_spoken_to() {
    let place = place();
    let stranger = Authority::new(place.folder.path(), "stranger");
    let server = place.authority.issue("server", &["127.0.0.1"], true);
    let daemon = place.start(|config| config.tls = Some(files(&server))).await;
    let of_stranger = Credentials { ca: Some(stranger.certificate.clone()), ..Credentials::default() };
    let named = Credentials { server_name: Some("gobo.example".into()), ..place.trusting() };
    let with_both = |pair: &Pair| {
        std::fs::copy(&pair.certificate, &server.certificate).unwrap();
        std::fs::copy(&pair.key, &server.key).unwrap();
        assert!(daemon.reload().is_empty());
    };
    let said = why(resolves(&daemon, of_stranger).await);
    assert!(said.contains("UnknownIssuer"), "{said}");
    let said = why(resolves(&daemon, named).await);
    assert!(said.contains("not valid for name"), "{said}");
    // Those of the system do not know this authority.
    let said = why(resolves(&daemon, Credentials::default()).await);
    assert!(said.contains("UnknownIssuer"), "{said}");
    with_both(&place.authority.issue("expired", &["127.0.0.1"], false));
    let said = why(resolves(&daemon, place.trusting()).await);
    assert!(said.contains("expired"), "{said}");
    with_both(&stranger.issue("other", &["127.0.0.1"], true));
    let said = why(resolves(&daemon, place.trusting()).await);
    assert!(said.contains("UnknownIssuer"), "{said}");
    with_both(&place.authority.issue("again", &["127.0.0.1"], true));
    resolves(&daemon, place.trusting()).await.unwrap();
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_needs_a_certificate_that_is_not_revoked() {
    let place = place();
    let stranger = Authority::new(place.folder.path(), "stranger");
    let server = place.authority.issue("server", &["127.0.0.1"], true);
    let [good, bad] =
        ["good", "bad"].map(|name| place.authority.issue(name, &["spiffe://fleet/worker"], true));
    let old = place.authority.issue("old", &["spiffe://fleet/worker"], false);
    let other = stranger.issue("other", &["spiffe://fleet/worker"], true);
    let revoked = place.authority.revoke("revoked.pem", &[]);
    let tls = TlsFiles {
        client_ca: Some(place.authority.certificate.clone()),
        revoked: Some(revoked),
        ..files(&server)
    };
    let daemon = place.start(|config| config.tls = Some(tls)).await;
    for pair in [&good, &bad] {
        resolves(&daemon, place.showing(pair)).await.unwrap();
    }
    for credentials in [place.trusting(), place.showing(&old), place.showing(&other)] {
        let error = resolves(&daemon, credentials).await.unwrap_err();
        assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
    }
    place.authority.revoke("revoked.pem", &[&bad]);
    assert!(daemon.reload().is_empty());
    resolves(&daemon, place.showing(&good)).await.unwrap();
    let error = resolves(&daemon, place.showing(&bad)).await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_client_goes_when_its_connection_is_old() {
    let place = place();
    let server = place.authority.issue("server", &["127.0.0.1"], true);
    let worker = place.authority.issue("worker", &["worker.example"], true);
    let revoked = Some(place.authority.revoke("revoked.pem", &[]));
    let tls = TlsFiles { client_ca: Some(place.authority.certificate.clone()), revoked, ..files(&server) };
    let (age, age_grace) = (Duration::from_millis(400), Duration::from_secs(5));
    let limits = ServeLimits { age, age_grace, ..ServeLimits::default() };
    let daemon = place.start(|config| (config.tls, config.limits) = (Some(tls), limits)).await;
    let (client, _store) = client(&daemon, place.showing(&worker));
    // Old connections are replaced without a failure.
    let begun = Instant::now();
    while begun.elapsed() < 4 * age {
        client.locate("tiny", &Constraint::regex("a+b")).await.unwrap();
    }
    place.authority.revoke("revoked.pem", &[&worker]);
    assert!(daemon.reload().is_empty());
    let begun = Instant::now();
    while client.status().await.is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    daemon.stop().await;
}

/// Certificates are replaced a hundred times, now and then by halves, while clients come and stay.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_are_replaced_under_load_and_no_call_fails() {
    let place = place();
    let server = place.authority.issue("server", &["127.0.0.1"], true);
    let tls = files(&server);
    let limits = ServeLimits { age: Duration::from_millis(300), ..ServeLimits::default() };
    let daemon = place.start(|config| (config.tls, config.limits) = (Some(tls), limits)).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let mut load = Vec::new();
    for nth in 0..4 {
        let (address, credentials, is_over) = (daemon.tcp.clone(), place.trusting(), Arc::clone(&is_over));
        load.push(tokio::spawn(async move {
            let store = tempfile::tempdir().unwrap();
            let fresh = || {
                let builder = Client::builder().store(store.path()).server(&address);
                builder.credentials(credentials.clone()).connect().unwrap()
            };
            let (mut client, mut calls) = (fresh(), 0);
            while !is_over.load(Ordering::Relaxed) {
                client.locate("tiny", &Constraint::regex("a+b")).await.unwrap();
                calls += 1;
                if nth % 2 == 0 {
                    client = fresh();
                }
            }
            calls
        }));
    }
    for round in 0..100 {
        let new = place.authority.issue("new", &["127.0.0.1"], true);
        let (certificate, key) = (std::fs::read(&new.certificate).unwrap(), std::fs::read(&new.key).unwrap());
        std::fs::write(&server.certificate, &certificate).unwrap();
        if round % 10 == 0 {
            // The key is not there yet, and then its half.
            assert_eq!(daemon.reload().len(), 1);
            std::fs::write(&server.key, &key[..key.len() / 2]).unwrap();
            assert_eq!(daemon.reload().len(), 1);
        }
        std::fs::write(&server.key, &key).unwrap();
        assert!(daemon.reload().is_empty());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    is_over.store(true, Ordering::Relaxed);
    for calls in load {
        assert!(calls.await.unwrap() > 20);
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_gives_its_roles_and_its_tenant() {
    let place = place();
    let server = place.authority.issue("server", &["127.0.0.1"], true);
    let (worker_entry, worker) = place.token("worker", &[Role::Resolve, Role::Read], Some("team-a"));
    let (gate_entry, gateway) = place.token("gate", &[Role::Resolve, Role::Read, Role::Forward], None);
    let (admin_entry, admin) = place.token("ops", &[Role::Admin, Role::Inspect, Role::Read], None);
    let (_, unknown) = place.token("unknown", &[], None);
    let access = place.access(&format!("{worker_entry}{gate_entry}{admin_entry}"));
    let daemon = place
        .start(|config| {
            (config.tls, config.access) = (Some(files(&server)), Some(AccessFile(access.clone())));
        })
        .await;
    let constraint = Constraint::regex("a+b");
    let (by_worker, _a) = client(&daemon, worker.clone());
    let key = by_worker.resolve("tiny", &constraint).await.unwrap().key;
    let denied = |error: ClientError, words: &str| {
        assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
    };
    denied(by_worker.pin(&[key]).await.unwrap_err(), "worker does not have the role admin");
    denied(by_worker.indices().await.unwrap_err(), "worker does not have the role inspect");
    by_worker.status().await.unwrap();
    let (by_admin, _b) = client(&daemon, admin);
    assert_eq!(by_admin.pin(&[key]).await.unwrap(), 1);
    assert_eq!(by_admin.indices().await.unwrap().len(), 1);
    denied(by_admin.locate("tiny", &constraint).await.unwrap_err(), "ops does not have the role resolve");
    for credentials in [unknown, place.trusting()] {
        let (nobody, _store) = client(&daemon, credentials);
        denied(nobody.status().await.unwrap_err(), "token");
    }
    let named = |credentials: &Credentials, tenant: &str| {
        let builder = Client::builder().store(place.folder.path().join("named")).server(&daemon.tcp);
        builder.credentials(credentials.clone()).tenant(tenant).connect().unwrap()
    };
    named(&worker, "team-a").locate("tiny", &constraint).await.unwrap();
    let error = named(&worker, "team-b").locate("tiny", &constraint).await.unwrap_err();
    denied(error, "may not name this tenant");
    named(&gateway, "team-b").locate("tiny", &constraint).await.unwrap();

    // Over the socket the user of the daemon needs none.
    let near = Client::builder().store(place.store.path()).connect().unwrap();
    assert_eq!(near.unpin(&[key]).await.unwrap(), 1);

    // The daemon notices by itself that a token is gone; a broken file changes nothing.
    std::fs::write(&access, format!("{gate_entry}{admin_entry}[[token")).unwrap();
    assert_eq!(daemon.reload().len(), 1);
    by_worker.status().await.unwrap();
    std::fs::remove_file(&access).unwrap();
    assert_eq!(daemon.reload().len(), 1);
    by_worker.status().await.unwrap();
    std::fs::write(&access, format!("{gate_entry}{admin_entry}")).unwrap();
    let begun = Instant::now();
    while by_worker.status().await.is_ok() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "a removed token is refused within 10 s, on a quiet machine"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // A new token in its file is taken up as well.
    let token_file = worker.token_file.unwrap();
    std::fs::write(token_file, "secret-of-gate").unwrap();
    let begun = Instant::now();
    while by_worker.status().await.is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_is_given_another_meaning_by_an_admin_alone() {
    use gobo_proto::v1;

    let place = place();
    let (entry, credentials) = place.token("worker", &[Role::Resolve], None);
    let (admin_entry, admin) = place.token("ops", &[Role::Resolve, Role::Admin], None);
    let access = place.access(&format!("{entry}{admin_entry}"));
    let daemon = place.start(|config| config.access = Some(AccessFile(access))).await;
    let call = |credentials: &Credentials, replace| {
        let token = std::fs::read_to_string(credentials.token_file.as_ref().unwrap()).unwrap();
        let address = daemon.tcp.clone();
        async move {
            let channel = tonic::transport::Endpoint::from_shared(address).unwrap().connect_lazy();
            let mut stub = v1::gobo_client::GoboClient::new(channel);
            let head = v1::ImportHead { name: "tiny".into(), replace, ..v1::ImportHead::default() };
            let part = Some(v1::import_vocabulary_request::Part::Head(head));
            let mut request = tonic::Request::new(tokio_stream::iter([v1::ImportVocabularyRequest { part }]));
            request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
            stub.import_vocabulary(request).await.unwrap_err().code()
        }
    };
    // What is wrong with the head besides is told of to those who may.
    assert_eq!(call(&credentials, false).await, tonic::Code::InvalidArgument);
    assert_eq!(call(&credentials, true).await, tonic::Code::PermissionDenied);
    assert_eq!(call(&admin, true).await, tonic::Code::InvalidArgument);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_is_known_by_its_names() {
    let place = place();
    let server = place.authority.issue("server", &["127.0.0.1"], true);
    let worker = place.authority.issue("worker", &["spiffe://fleet/worker", "w.example"], true);
    let other = place.authority.issue("other", &["spiffe://fleet/other"], true);
    let access = place.access(
        "[[certificate]]\nname = \"spiffe://fleet/worker\"\nroles = [\"resolve\", \"read\"]\ntenant = \"w\"\n",
    );
    let tls = TlsFiles { client_ca: Some(place.authority.certificate.clone()), ..files(&server) };
    let daemon =
        place.start(|config| (config.tls, config.access) = (Some(tls), Some(AccessFile(access)))).await;
    resolves(&daemon, place.showing(&worker)).await.unwrap();
    let error = resolves(&daemon, place.showing(&other)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
    assert!(error.to_string().contains("no name of the client certificate"), "{error}");
    daemon.stop().await;
}

fn host(daemon: &Daemon) -> String {
    daemon.tcp.rsplit('/').next().unwrap().to_owned()
}

/// Reads to the end of the connection.
async fn is_closed(mut stream: TcpStream) -> bool {
    let mut rest = Vec::new();
    tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await.is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_come_through_the_handshake_is_not_waited_for() {
    let place = place();
    let server = place.authority.issue("server", &["127.0.0.1"], true);
    let limits = ServeLimits {
        handshakes: 8,
        handshake: Duration::from_secs(2),
        first_call: Duration::from_secs(2),
        ..ServeLimits::default()
    };
    let daemon = place.start(|config| (config.tls, config.limits) = (Some(files(&server)), limits)).await;
    // Many who say nothing, and one who does.
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(host(&daemon)).await.unwrap());
    }
    resolves(&daemon, place.trusting()).await.unwrap();
    for stream in silent {
        assert!(is_closed(stream).await);
    }
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        // A record of a handshake that is announced and does not come.
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        &[0; 4096],
        &[0xff; 4096],
    ] {
        let mut stream = TcpStream::connect(host(&daemon)).await.unwrap();
        // It may be closed while this is sent.
        let _ = stream.write_all(garbage).await;
        assert!(is_closed(stream).await, "{garbage:?}");
    }
    resolves(&daemon, place.trusting()).await.unwrap();
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_through_and_calls_nothing_is_not_waited_for() {
    let place = place();
    let server = place.authority.issue("server", &["127.0.0.1"], true);
    let limits = ServeLimits { first_call: Duration::from_secs(2), ..ServeLimits::default() };
    let daemon = place.start(|config| (config.tls, config.limits) = (Some(files(&server)), limits)).await;
    let Ok(mut openssl) = std::process::Command::new("openssl")
        .args(["s_client", "-connect", &host(&daemon), "-alpn", "h2", "-verify_return_error", "-CAfile"])
        .arg(&place.authority.certificate)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
    else {
        eprintln!("not run: there is no openssl");
        return;
    };
    // Its input stays open: the daemon is who ends it.
    let input = openssl.stdin.take();
    let reading = tokio::runtime::Handle::current().spawn_blocking(move || {
        let output = openssl.wait_with_output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    let said = tokio::time::timeout(Duration::from_secs(20), reading).await.unwrap().unwrap();
    drop(input);
    assert!(said.contains("ALPN protocol: h2") && said.contains("Verify return code: 0 (ok)"), "{said}");
    assert!(said.contains("TLSv1.3"), "{said}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_does_not_start_half_secured() {
    let place = place();
    let pair = place.authority.issue("server", &["127.0.0.1"], true);
    let other = place.authority.issue("other", &["127.0.0.1"], true);
    let write = |name: &str, text: &[u8]| {
        let path = place.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let empty = write("empty", b"");
    let half = write("half", &std::fs::read(&pair.certificate).unwrap()[..300]);
    let no_list = Some(place.authority.certificate.clone());
    let engine = gobo_engine::Engine::open(gobo_engine::EngineConfig::new(place.store.path())).unwrap();
    let engine = Arc::new(engine);
    let start = async |edit: &dyn Fn(&mut ServeConfig)| {
        let mut config = ServeConfig::of(&engine);
        (config.unix, config.tcp) = (None, vec![([127, 0, 0, 1], 0).into()]);
        edit(&mut config);
        Server::bind(Arc::clone(&engine), &config).await.map(drop)
    };
    let with = |edit: &dyn Fn(&mut TlsFiles)| {
        let mut tls = files(&pair);
        edit(&mut tls);
        Some(tls)
    };
    let cases = [
        with(&|tls| tls.certificate.clone_from(&empty)),
        with(&|tls| tls.certificate.clone_from(&half)),
        with(&|tls| tls.certificate = place.folder.path().to_owned()),
        with(&|tls| tls.key = "/nowhere/key".into()),
        with(&|tls| tls.key.clone_from(&other.key)),
        with(&|tls| tls.key.clone_from(&pair.certificate)),
        with(&|tls| tls.client_ca = Some(empty.clone())),
        with(&|tls| (tls.client_ca, tls.revoked) = (no_list.clone(), no_list.clone())),
    ];
    for tls in cases {
        let error = start(&|config| config.tls.clone_from(&tls)).await.unwrap_err();
        assert!(matches!(error, ServeError::Tls(_)), "{error:?}");
    }
    let error = start(&|config| config.access = Some(AccessFile(half.clone()))).await.unwrap_err();
    assert!(matches!(error, ServeError::Access(_)), "{error:?}");
    let everywhere: std::net::SocketAddr = ([0, 0, 0, 0], 0).into();
    let error = start(&|config| config.tcp = vec![everywhere]).await.unwrap_err();
    assert!(matches!(error, ServeError::Insecure { .. }), "{error:?}");
    start(&|config| (config.tcp, config.insecure) = (vec![everywhere], true)).await.unwrap();
    start(&|config| (config.tcp, config.tls) = (vec![everywhere], Some(files(&pair)))).await.unwrap();
    let error = start(&|config| config.admin = vec![everywhere]).await.unwrap_err();
    assert!(matches!(error, ServeError::AdminInsecure { .. }), "{error:?}");
}

/// What a client may do to HTTP/2 once it is through the handshake: begin streams without end, and reset them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_without_end_and_rapid_resets_harm_nobody_else() {
    let place = place();
    let server = place.authority.issue("server", &["127.0.0.1"], true);
    let daemon = place.start(|config| config.tls = Some(files(&server))).await;
    let (good, _store) = client(&daemon, place.trusting());
    good.resolve("tiny", &Constraint::regex("a+b")).await.unwrap();
    let attack = |resets: bool| {
        let (host, ca) = (host(&daemon), place.authority.certificate.clone());
        async move {
            let mut roots = rustls::RootCertStore::empty();
            let pem = std::fs::read(ca).unwrap();
            roots.add(rustls::pki_types::pem::PemObject::from_pem_slice(&pem).unwrap()).unwrap();
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = rustls::ClientConfig::builder_with_provider(provider);
            let config = config.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
            let mut config = config.with_no_client_auth();
            config.alpn_protocols = vec![b"h2".to_vec()];
            let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
            let stream = TcpStream::connect(&host).await.unwrap();
            let name = rustls::pki_types::ServerName::try_from("127.0.0.1").unwrap();
            let stream = connector.connect(name, stream).await.unwrap();
            let (mut requests, connection) = h2::client::handshake(stream).await.unwrap();
            tokio::spawn(connection);
            let mut held = Vec::new();
            for _ in 0..10_000 {
                // It was closed for that.
                let Ok(ready) = requests.clone().ready().await else { return };
                requests = ready;
                let request = http::Request::post(format!("https://{host}/gobo.v1.Gobo/Resolve"))
                    .header("content-type", "application/grpc")
                    .body(())
                    .unwrap();
                let Ok((answer, mut body)) = requests.send_request(request, false) else { return };
                if resets {
                    body.send_reset(h2::Reason::CANCEL);
                } else {
                    held.push((answer, body));
                    if held.len() >= 256 {
                        held.clear();
                    }
                }
            }
        }
    };
    for resets in [false, true] {
        let attackers: Vec<_> = (0..4).map(|_| tokio::spawn(attack(resets))).collect();
        for number in 0..20 {
            good.locate("tiny", &Constraint::regex(format!("a{{{number}}}b"))).await.unwrap();
        }
        for attacker in attackers {
            let _ = tokio::time::timeout(Duration::from_secs(60), attacker).await.unwrap();
        }
    }
    let status = Client::builder().store(place.store.path()).connect().unwrap().status().await.unwrap();
    assert!(status.calls <= 2, "{status:?}");
    daemon.stop().await;
}
