//! The pages of a daemon: what they show, to whom, and what they do with what they should not be sent.

mod browser;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::fleet::free_port;
use crate::gobo::{Daemon, gobo, one};

const TOKENIZER: &str = "r50k_base";

/// Largest answer of a page.
const MAX_PAGE: usize = 200 << 10;

/// A daemon with pages, whose store has the vocabulary.
struct Pages {
    _daemon: Daemon,
    home: tempfile::TempDir,
    address: SocketAddr,
}

/// An answer: its status, its head, its body.
struct Answer {
    status: String,
    head: String,
    body: String,
}

impl Pages {
    fn start(more: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let admin = address.to_string();
        let daemon = Daemon::start(home.path(), &[&["--admin", &admin, "--page"], more].concat());
        let import = gobo(home.path(), &["get", "--tokenizer", TOKENIZER, "--regex", "a"]);
        assert!(import.status.success(), "{}", String::from_utf8_lossy(&import.stderr));
        Self { _daemon: daemon, home, address }
    }

    fn ask(&self, head: &str, body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(format!("{head}\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes()).unwrap();
        // Who is refused may not be listened to any more.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).unwrap_or("none").to_owned();
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path} HTTP/1.0\r\nHost: {}", self.address), b"")
    }

    /// The form with these fields.
    fn post(&self, fields: &[(&str, &str)]) -> Answer {
        let encode = |text: &str| -> String {
            text.bytes()
                .map(|byte| match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
                    other => format!("%{other:02X}"),
                })
                .collect()
        };
        let pairs: Vec<String> =
            fields.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        self.ask(&format!("POST /explain HTTP/1.0\r\nHost: {}", self.address), pairs.join("&").as_bytes())
    }

    fn explain(&self, kind: &str, constraint: &str, text: &str, token: &str) -> Answer {
        let answer = self.post(&[
            ("vocabulary", TOKENIZER),
            ("kind", kind),
            ("constraint", constraint),
            ("text", text),
            ("token", token),
        ]);
        assert_eq!(answer.status, "200", "{}", answer.body);
        answer
    }
}

/// A text as it stands in a page.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn example(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples").join(name)).unwrap()
}

#[test]
fn every_page_is_whole_and_loads_nothing_from_elsewhere() {
    let pages = Pages::start(&[]);
    let grammar = pages.home.path().join("lists.gbnf");
    fs::write(&grammar, example("lists.gbnf")).unwrap();
    let lists =
        one(pages.home.path(), 0, &["get", "--tokenizer", TOKENIZER, "--grammar", grammar.to_str().unwrap()]);
    one(pages.home.path(), 2, &["get", "--tokenizer", TOKENIZER, "--regex", "<b>("]);
    let key = lists["index_key"].as_str().unwrap();
    let index = format!("/index/{key}");
    let explained = format!("/explain?key={key}&text=%5B%5Bx");
    for (path, expected) in [
        ("/", "Answers since the start"),
        ("/indices", &key[..16]),
        ("/verdicts", "unclosed group"),
        (&index, "Lists within lists"),
        ("/explain", "Constraint"),
        (&explained, "The automaton here"),
    ] {
        let Answer { status, head, body } = pages.get(path);
        assert_eq!(status, "200", "{path}: {body}");
        assert!(body.contains(expected), "{path}: {body}");
        assert!(body.len() <= MAX_PAGE && head.contains("default-src 'self'"), "{path}: {head}");
        for header in ["x-content-type-options: nosniff", "cache-control: no-store", "frame-ancestors 'none'"]
        {
            assert!(head.contains(header), "{path}: {head}");
        }
        for elsewhere in ["http://", "https://", "//", "<script", "style=\"", "onload="] {
            let without_links = body.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
            assert!(!without_links.contains(elsewhere), "{path} has {elsewhere}: {body}");
        }
    }
    assert!(pages.get("/style.css").head.contains("content-type: text/css"));
    let dot = pages.get(&format!("{index}.dot"));
    assert!(dot.head.contains("content-disposition: attachment"), "{}", dot.head);
    assert!(dot.body.starts_with("digraph") && dot.body.contains("call root"), "{}", dot.body);
    // What is not there.
    for (path, status) in [
        ("/index/nonsense", "400"),
        (&*format!("/index/{}", "0".repeat(64)), "404"),
        ("/index/..%2f..%2fetc%2fpasswd", "400"),
        ("/index/%00", "400"),
        (&format!("/index/{}", "a".repeat(4096)), "400"),
        ("/indices?after=x", "400"),
        ("/explain?key=x", "200"),
        ("/explain?unknown=1", "400"),
        ("/nothing", "404"),
        ("/metrics", "200"),
    ] {
        assert_eq!(pages.get(path).status, status, "{path}");
    }
}

#[test]
fn an_explanation_is_that_of_the_command() {
    let pages = Pages::start(&[]);
    let file = |name: &str, text: &str| {
        let path = pages.home.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (schema, lists, sums) = (example("order.schema.json"), example("lists.gbnf"), example("sums.gbnf"));
    let of_schema = file("schema.json", &schema);
    let (of_lists, of_sums) = (file("lists.gbnf", &lists), file("sums.gbnf", &sums));
    for (kind, constraint, option, value, text, token) in [
        ("regex", "(ab)+c|x[0-9]{3}", "--regex", "(ab)+c|x[0-9]{3}", "abab", "c"),
        ("regex", "(ab)+c|x[0-9]{3}", "--regex", "(ab)+c|x[0-9]{3}", "ababx", ""),
        ("regex", "[^\"<>]*\u{e9}+", "--regex", "[^\"<>]*\u{e9}+", "a&b", "<"),
        ("schema", &schema, "--schema", &of_schema, "{\"sku\": \"A\", \"q", ""),
        ("gbnf", &lists, "--grammar", &of_lists, "[[x,[", "11907"),
        ("gbnf", &sums, "--grammar", &of_sums, "(1+", ")"),
    ] {
        let page = pages.explain(kind, constraint, text, token).body;
        let mut args = vec!["explain", "--tokenizer", TOKENIZER, option, value, "--text", text];
        if !token.is_empty() {
            args.extend(["--token", token]);
        }
        let said = String::from_utf8(gobo(pages.home.path(), &args).stdout).unwrap();
        // Above the lists of the report, which the page shows in its own way.
        let shown = page.split_once("aria-label=\"Explanation\">").unwrap().1.split_once("</pre>").unwrap().0;
        assert!(!shown.is_empty() && said.starts_with(&unescaped(shown)), "{shown}\nis not of\n{said}");
        // And the number of tokens is that of the mask, unless none may end here.
        let mask = gobo(
            pages.home.path(),
            &["mask", "--tokenizer", TOKENIZER, option, value, "--text", text, "--json"],
        );
        let mask: Value = serde_json::from_slice(&mask.stdout).unwrap();
        if mask["reason"].is_null() {
            let allowed = mask["allowed"].as_u64().unwrap();
            assert!(said.contains(&format!("tokens    {} allowed", gobo_types::grouped(allowed))), "{said}");
        }
    }
}

fn unescaped(text: &str) -> String {
    text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[test]
fn what_is_pasted_is_shown_and_never_run() {
    let pages = Pages::start(&[]);
    let hostile = "</pre></textarea><script>alert(1)</script>\"'><img src=x onerror=y>";
    let field = |name: &'static str, text: &'static str| (name, text);
    let base = [field("vocabulary", TOKENIZER), field("kind", "regex"), field("constraint", "a+")];
    for name in ["vocabulary", "kind", "constraint", "key", "text", "token"] {
        let mut fields = base.to_vec();
        fields.retain(|(of, _)| *of != name);
        fields.push((name, hostile));
        let Answer { status, body, .. } = pages.post(&fields);
        assert_eq!(status, "200", "{name}");
        assert!(!body.contains("<script") && !body.contains("<img"), "{name}: {body}");
        if ["constraint", "text", "token", "key"].contains(&name) {
            assert!(body.contains(&escaped(hostile)), "{name}: {body}");
        }
    }
    // A regular expression of markup alone, whose picture has it as labels.
    let page = pages.explain("regex", "<script>|&amp;|\"x\"", "<scr", "<").body;
    assert!(!page.contains("<script") && page.contains("aria-label=\"The automaton around state"), "{page}");
    assert_eq!(pages.post(&[("other", "1")]).status, "400");
    let long = "x".repeat(40 << 10);
    let Answer { status, body, .. } =
        pages.post(&[("vocabulary", TOKENIZER), ("kind", "regex"), ("constraint", &long)]);
    assert!(status == "400" && body.contains("this page takes 32768"), "{body}");
    // Whatever stands in the answer again is bounded.
    for name in ["key", "text", "token", "vocabulary"] {
        assert_eq!(pages.post(&[(name, &long)]).status, "400", "{name}");
    }
    let head = format!("POST /explain HTTP/1.0\r\nHost: {}", pages.address);
    assert_eq!(pages.ask(&head, &vec![b'a'; 2 << 20]).status, "413");
    let broken = pages.ask(&head, b"constraint=%FF%FE&vocabulary=%00&kind=regex&text=%C3");
    assert_eq!(broken.status, "200", "{}", broken.body);
    for path in ["/indices", "/verdicts", "/"] {
        assert_eq!(pages.get(path).status, "200", "{path}");
    }
}

#[test]
fn verdicts_limits_and_hostile_constraints_have_their_answers() {
    let pages = Pages::start(&["--max-steps", "2000000"]);
    let refused = pages.explain("regex", "a(", "", "").body;
    assert!(refused.contains("No index") && refused.contains("unclosed group"), "{refused}");
    let over = pages.explain("regex", "[ab]*a[ab]{16}", "", "").body;
    assert!(over.contains("over budget"), "{over}");
    // Two at once, each as dear as may be, and a page beside them.
    thread::scope(|scope| {
        for number in 0..2 {
            let pages = &pages;
            scope.spawn(move || {
                let dear = format!("[ab]*a[ab]{{1{number}}}c");
                let text = "ab".repeat(4000);
                assert_eq!(pages.explain("regex", &dear, &text, "").status, "200");
            });
        }
        thread::sleep(Duration::from_millis(20));
        assert_eq!(pages.get("/").status, "200");
    });
    let wanted = "no such vocabulary";
    let unknown = pages.post(&[("vocabulary", wanted), ("kind", "regex"), ("constraint", "a")]);
    assert!(unknown.status == "200" && unknown.body.contains("role=\"alert\""), "{}", unknown.body);
    let no_token = pages.explain("regex", "a+", "", "no such token").body;
    assert!(no_token.contains("no token of the vocabulary is"), "{no_token}");
}

#[test]
fn other_sites_and_other_protocols_have_no_part_in_it() {
    let pages = Pages::start(&["--page-host", "gobo.example"]);
    let with = |head: &str| pages.ask(head, b"").status;
    let own = pages.address;
    for (head, status) in [
        (format!("GET / HTTP/1.1\r\nHost: {own}\r\nConnection: close"), "200"),
        ("GET / HTTP/1.1\r\nHost: gobo.example\r\nConnection: close".to_owned(), "200"),
        ("GET / HTTP/1.1\r\nHost: localhost:1\r\nConnection: close".to_owned(), "200"),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close".to_owned(), "403"),
        ("GET /indices HTTP/1.1\r\nHost: evil.example\r\nConnection: close".to_owned(), "403"),
        ("GET / HTTP/1.0".to_owned(), "403"),
        (
            format!("POST /explain HTTP/1.1\r\nHost: {own}\r\nOrigin: http://{own}\r\nConnection: close"),
            "200",
        ),
        (
            format!(
                "POST /explain HTTP/1.1\r\nHost: {own}\r\nOrigin: http://evil.example\r\nConnection: close"
            ),
            "403",
        ),
        (format!("POST /explain HTTP/1.1\r\nHost: {own}\r\nOrigin: null\r\nConnection: close"), "403"),
        (format!("DELETE /indices HTTP/1.1\r\nHost: {own}\r\nConnection: close"), "405"),
        // The scrape of metrics goes by any name.
        ("GET /metrics HTTP/1.1\r\nHost: prometheus.example\r\nConnection: close".to_owned(), "200"),
    ] {
        assert_eq!(with(&head), status, "{head}");
    }
    // HTTP/2 is not spoken here, and says so by ending.
    let mut stream = TcpStream::connect(own).unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{answer:?}");
    assert_eq!(pages.get("/").status, "200");
}

#[test]
fn pages_are_for_the_role_that_may_read_constraints() {
    let home = tempfile::tempdir().unwrap();
    let tokens: Vec<String> = ["ops", "worker"]
        .iter()
        .zip(["inspect", "read"])
        .map(|(name, role)| {
            let out = home.path().join(format!("{name}.token"));
            let made =
                gobo(home.path(), &["access", "token", name, "--role", role, "--out", out.to_str().unwrap()]);
            let access = home.path().join("access.toml");
            let mut entries = fs::read(&access).unwrap_or_default();
            entries.extend(made.stdout);
            fs::write(access, entries).unwrap();
            fs::read_to_string(out).unwrap().trim().to_owned()
        })
        .collect();
    let access = home.path().join("access.toml");
    let pages = Pages::start(&["--access", access.to_str().unwrap()]);
    let with = |authorization: &str| {
        pages.ask(&format!("GET / HTTP/1.0\r\nHost: {}{authorization}", pages.address), b"")
    };
    let unknown = with("");
    assert_eq!(unknown.status, "401");
    assert!(unknown.head.contains("www-authenticate: basic realm="), "{}", unknown.head);
    let (ops, worker) = (&tokens[0], &tokens[1]);
    assert_eq!(with(&format!("\r\nAuthorization: Bearer {ops}")).status, "200");
    let basic = |token: &str| {
        // As a browser shows what was typed: any name, and the token as the password.
        format!("\r\nAuthorization: Basic {}", STANDARD.encode(format!("me:{token}")))
    };
    assert_eq!(with(&basic(ops)).status, "200");
    assert_eq!(with(&basic(worker)).status, "403");
    assert_eq!(with(&basic("nobody's")).status, "401");

    // Where others reach it, pages need certificates and tokens.
    for more in [&["--admin-open"][..], &[]] {
        let args = [&["serve", "--admin", "0.0.0.0:0", "--page"][..], more].concat();
        let said = gobo(home.path(), &args);
        assert_eq!(said.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&said.stderr).contains("the page shows constraints"));
    }
}
