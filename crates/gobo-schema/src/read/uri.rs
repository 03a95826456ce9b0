//! Resolution of URI references (RFC 3986, section 5.2) and decoding of fragments.

/// Resolves a reference against the URI of the document that contains it (RFC 3986, section 5.2.2).
pub(crate) fn resolve(base: &str, reference: &str) -> String {
    let reference = Parts::of(reference);
    if reference.scheme.is_some() {
        return reference.with_path(remove_dots(reference.path)).to_text();
    }
    let base = Parts::of(base);
    if reference.authority.is_some() {
        return Parts { scheme: base.scheme, ..reference.clone() }
            .with_path(remove_dots(reference.path))
            .to_text();
    }
    let (path, query) = if reference.path.is_empty() {
        (base.path.to_owned(), reference.query.or(base.query))
    } else if reference.path.starts_with('/') {
        (remove_dots(reference.path), reference.query)
    } else {
        let folder = match base.path.rfind('/') {
            Some(at) => &base.path[..=at],
            None if base.authority.is_some() => "/",
            None => "",
        };
        (remove_dots(&format!("{folder}{}", reference.path)), reference.query)
    };
    Parts { scheme: base.scheme, authority: base.authority, path: "", query }.with_path(path).to_text()
}

/// A URI without its fragment, and the fragment.
pub(crate) fn split_fragment(uri: &str) -> (&str, &str) {
    uri.split_once('#').unwrap_or((uri, ""))
}

/// A text with `%xx` decoded; a text whose decoding is no UTF-8 is returned unchanged.
pub(crate) fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| bytes[at] == b'%') {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// The components of a URI (RFC 3986, section 3), the fragment apart.
#[derive(Debug, Clone)]
struct Parts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
}

/// The components with another path.
struct WithPath<'a> {
    parts: Parts<'a>,
    path: String,
}

impl<'a> Parts<'a> {
    fn of(uri: &'a str) -> Self {
        let rest = split_fragment(uri).0;
        let is_scheme = |text: &str| {
            text.starts_with(|char: char| char.is_ascii_alphabetic())
                && text.chars().all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char))
        };
        let (scheme, rest) = match rest.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
            _ => (None, rest),
        };
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => {
                let end = rest.find('/').unwrap_or(rest.len());
                (Some(&rest[..end]), &rest[end..])
            }
            None => (None, rest),
        };
        Self { scheme, authority, path, query }
    }

    fn with_path(&self, path: String) -> WithPath<'a> {
        WithPath { parts: self.clone(), path }
    }
}

impl WithPath<'_> {
    fn to_text(&self) -> String {
        let Parts { scheme, authority, query, .. } = &self.parts;
        let scheme = scheme.map_or(String::new(), |scheme| format!("{scheme}:"));
        let authority = authority.map_or(String::new(), |authority| format!("//{authority}"));
        let query = query.map_or(String::new(), |query| format!("?{query}"));
        format!("{scheme}{authority}{}{query}", self.path)
    }
}

/// Removes dot segments (RFC 3986, section 5.2.4).
fn remove_dots(path: &str) -> String {
    if !path.contains('.') {
        return path.to_owned();
    }
    let mut out: Vec<&str> = Vec::new();
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        match part {
            "." | ".." => {
                if part == ".." && out.len() > usize::from(path.starts_with('/')) {
                    out.pop();
                }
                if is_last {
                    out.push("");
                }
            }
            _ => out.push(part),
        }
    }
    out.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3986, section 5.4.
    #[test]
    fn references_resolve_as_the_standard_shows() {
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("g;x=1/../y", "http://a/b/c/y"),
        ] {
            assert_eq!(resolve("http://a/b/c/d;p?q", reference), expected, "{reference}");
        }
        assert_eq!(resolve("", "a.json"), "a.json");
        assert_eq!(resolve("urn:uuid:1", ""), "urn:uuid:1");
        assert_eq!(resolve("http://a", "b"), "http://a/b");
    }

    #[test]
    fn escapes_are_decoded() {
        assert_eq!(percent_decode("a%25b%C3%A9%2"), "a%bé%2");
        assert_eq!(percent_decode("%ff"), "%ff");
    }
}
