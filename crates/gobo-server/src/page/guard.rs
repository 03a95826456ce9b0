//! Who may see the pages, and from where.

use axum::extract::Request;
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN,
    REFERRER_POLICY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::net::IpAddr;
use tonic::Code;

use super::frame::trouble;
use super::shared::Page;
use crate::access::Role;
use crate::transport::Shown;

/// The paths of the operators' address that are no pages.
const OTHERS: [&str; 3] = ["/metrics", "/healthz", "/readyz"];

/// What a browser is told of every page: nothing is loaded from elsewhere, no script runs, no other page shows it in a frame.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; script-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Whether a path is that of a page, if there are pages.
pub(crate) fn is_page(path: &str) -> bool {
    !OTHERS.contains(&path)
}

/// Lets a request through that comes from this address's own pages, or from whoever typed the address, and that may see them.
pub(super) async fn guard(page: Page, mut request: Request, next: Next) -> Response {
    if let Err(why) = is_own(&page.hosts, request.method(), request.headers()) {
        return (StatusCode::FORBIDDEN, trouble(why)).into_response();
    }
    with_basic(request.headers_mut());
    if page.access.has_policy()
        && let Err(refused) = page.access.require(Role::Inspect, &Shown::Nothing, request.headers())
    {
        return refusal(&refused);
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // With a stricter one browsers do not say where a form comes from.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The answer to whoever may not see a page: a browser asks for a token then, whatever the name beside it.
fn refusal(refused: &tonic::Status) -> Response {
    let text = trouble(refused.message());
    if refused.code() == Code::Unauthenticated {
        let how = [(WWW_AUTHENTICATE, "Basic realm=\"gobo: a token as the password\", charset=\"UTF-8\"")];
        return (StatusCode::UNAUTHORIZED, how, text).into_response();
    }
    (StatusCode::FORBIDDEN, text).into_response()
}

/// Reads a token that a browser shows as a password (RFC 7617) as if it were shown as a token.
fn with_basic(headers: &mut HeaderMap) {
    let Some(value) = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()) else { return };
    let Some(("Basic" | "basic", encoded)) = value.split_once(' ') else { return };
    let decoded = STANDARD.decode(encoded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let bearer =
        decoded.as_deref().and_then(|pair| pair.split_once(':')).map(|(_, token)| format!("Bearer {token}"));
    match bearer.and_then(|bearer| HeaderValue::try_from(bearer).ok()) {
        Some(bearer) => headers.insert(AUTHORIZATION, bearer),
        None => headers.remove(AUTHORIZATION),
    };
}

/// Whether a request names this host as it may be named, and a form comes from a page of the same name.
fn is_own(hosts: &[String], method: &Method, headers: &HeaderMap) -> Result<(), &'static str> {
    let text = |name: HeaderName| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let mut named = headers.get_all(HOST).iter();
    let host = text(HOST).filter(|_| named.next().is_some() && named.next().is_none());
    let host = host.ok_or("the request does not say which host it is for")?;
    let name = host_name(host);
    let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let is_known = is_address
        || name.eq_ignore_ascii_case("localhost")
        || hosts.iter().any(|known| known.eq_ignore_ascii_case(name));
    if !is_known {
        return Err("this daemon does not know that it is called so; hint: --page-host names it");
    }
    if method == Method::GET || method == Method::HEAD {
        return Ok(());
    }
    let is_same = match text(ORIGIN) {
        Some(origin) => origin.split_once("://").is_some_and(|(_, of)| of.eq_ignore_ascii_case(host)),
        // Not every program that sends forms is a browser; a browser always says where a form comes from.
        None => text(HeaderName::from_static("sec-fetch-site")).is_none_or(|site| site == "same-origin"),
    };
    if is_same { Ok(()) } else { Err("the form comes from another site") }
}

/// A host without its port.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_host_is_called_by_an_address_or_a_name_that_it_knows() {
        let known = ["gobo.example".to_owned()];
        for (host, is_fine) in [
            ("127.0.0.1:9000", true),
            ("10.1.2.3", true),
            ("[::1]:9000", true),
            ("[::1]", true),
            ("localhost:1", true),
            ("Gobo.Example", true),
            ("evil.example", false),
            ("evil.example:9000", false),
            ("127.0.0.1.evil.example", false),
            ("", false),
        ] {
            let found = is_own(&known, &Method::GET, &headers(&[("host", host)]));
            assert_eq!(found.is_ok(), is_fine, "{host}");
        }
        assert!(is_own(&known, &Method::GET, &headers(&[])).is_err());
        let two = headers(&[("host", "127.0.0.1"), ("host", "evil.example")]);
        assert!(is_own(&known, &Method::GET, &two).is_err());
    }

    #[test]
    fn a_form_comes_from_a_page_of_the_same_name() {
        for (more, is_fine) in [
            (&[][..], true),
            (&[("origin", "http://127.0.0.1:9000")], true),
            (&[("origin", "https://127.0.0.1:9000")], true),
            (&[("origin", "http://127.0.0.1:9001")], false),
            (&[("origin", "http://evil.example")], false),
            (&[("origin", "null")], false),
            (&[("sec-fetch-site", "same-origin")], true),
            (&[("sec-fetch-site", "cross-site")], false),
        ] {
            let headers = headers(&[&[("host", "127.0.0.1:9000")], more].concat());
            assert_eq!(is_own(&[], &Method::POST, &headers).is_ok(), is_fine, "{more:?}");
        }
    }

    #[test]
    fn a_password_is_a_token() {
        for (given, expected) in [
            ("Basic b3BzOnNlY3JldA==", Some("Bearer secret")),
            ("basic OnNlY3JldA==", Some("Bearer secret")),
            ("Basic !!!", None),
            ("Basic c2VjcmV0", None),
            ("Bearer other", Some("Bearer other")),
        ] {
            let mut headers = headers(&[("authorization", given)]);
            with_basic(&mut headers);
            assert_eq!(headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap()), expected, "{given}");
        }
    }
}
