//! URIs, IRIs and URI templates: RFC 3986, RFC 3987, RFC 6570.

use gobo_automata::Language;
use gobo_types::{Budget, CompileError};

use super::hosts::{OCTET, ipv6_pattern};
use super::pattern::regex;

/// `pct-encoded` of RFC 3986, section 2.1.
const ENCODED: &str = "%[0-9A-Fa-f]{2}";

/// `ucschar` of RFC 3987, section 2.2, as ranges of a class, without the bidirectional formatting characters, which
/// section 4.1 forbids in an IRI.
const UCSCHAR: &str = concat!(
    r"\u{A0}-\u{200D}\u{2010}-\u{2029}\u{202F}-\u{D7FF}\u{F900}-\u{FDCF}\u{FDF0}-\u{FFEF}",
    r"\u{10000}-\u{1FFFD}\u{20000}-\u{2FFFD}\u{30000}-\u{3FFFD}\u{40000}-\u{4FFFD}\u{50000}-\u{5FFFD}",
    r"\u{60000}-\u{6FFFD}\u{70000}-\u{7FFFD}\u{80000}-\u{8FFFD}\u{90000}-\u{9FFFD}\u{A0000}-\u{AFFFD}",
    r"\u{B0000}-\u{BFFFD}\u{C0000}-\u{CFFFD}\u{D0000}-\u{DFFFD}\u{E1000}-\u{EFFFD}",
);

/// `iprivate` of RFC 3987, section 2.2, as ranges of a class.
const IPRIVATE: &str = r"\u{E000}-\u{F8FF}\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}";

/// The patterns of a reference and what it is made of. They are the same for URIs and IRIs but for two sets of
/// characters, which are empty for URIs: `unreserved` gains `ucschar`, and `query` gains `iprivate`.
struct Reference {
    scheme: &'static str,
    /// `"//" authority path-abempty`, `path-absolute`: what may begin any reference.
    rooted: String,
    /// `path-rootless`.
    rootless: String,
    /// `path-noscheme`.
    no_scheme: String,
    /// `[ "?" query ] [ "#" fragment ]`.
    tail: String,
}

impl Reference {
    fn new(ucschar: &str, iprivate: &str) -> Self {
        let plain = format!(r"A-Za-z0-9._~!$&'()*+,;=\-{ucschar}");
        let char = |more: &str| format!("(?:[{more}{plain}]|{ENCODED})");
        let (pchar, without_colon) = (char(":@"), char("@"));
        let future = r"[Vv][0-9A-Fa-f]+\.[:A-Za-z0-9._~!$&'()*+,;=\-]+";
        let host = format!(r"(?:\[(?:{}|{future})\]|{}*)", ipv6_pattern(7, OCTET), char(""));
        let authority = format!("(?:{}*@)?{host}(?::[0-9]*)?", char(":"));
        let rest = format!("(?:/{pchar}*)*");
        Self {
            scheme: "[A-Za-z][A-Za-z0-9+.-]*",
            rooted: format!("(?://{authority}{rest}|/(?:{pchar}+{rest})?)"),
            rootless: format!("{pchar}+{rest}"),
            no_scheme: format!("{without_colon}+{rest}"),
            tail: format!(r"(?:\?{}*)?(?:#{}*)?", char(&format!("/?:@{iprivate}")), char("/?:@")),
        }
    }

    /// `URI` of RFC 3986, section 3: a scheme is required, a fragment allowed.
    fn absolute(&self) -> String {
        format!("{}:(?:{}|{})?{}", self.scheme, self.rooted, self.rootless, self.tail)
    }

    /// `relative-ref` of RFC 3986, section 4.2.
    fn relative(&self) -> String {
        format!("(?:{}|{})?{}", self.rooted, self.no_scheme, self.tail)
    }

    /// `URI-reference` of RFC 3986, section 4.1.
    fn any(&self) -> String {
        format!("(?:{}|{})", self.absolute(), self.relative())
    }
}

/// RFC 3986, section 3.
pub(super) fn uri(budget: &Budget) -> Result<Language, CompileError> {
    regex(&Reference::new("", "").absolute(), budget)
}

/// RFC 3986, section 4.1.
pub(super) fn uri_reference(budget: &Budget) -> Result<Language, CompileError> {
    regex(&Reference::new("", "").any(), budget)
}

/// RFC 3987, section 2.2.
pub(super) fn iri(budget: &Budget) -> Result<Language, CompileError> {
    regex(&Reference::new(UCSCHAR, IPRIVATE).absolute(), budget)
}

/// RFC 3987, section 2.2.
pub(super) fn iri_reference(budget: &Budget) -> Result<Language, CompileError> {
    regex(&Reference::new(UCSCHAR, IPRIVATE).any(), budget)
}

/// `URI-Template` of RFC 6570, section 2, with erratum 6937: `'` is a literal too.
pub(super) fn uri_template(budget: &Budget) -> Result<Language, CompileError> {
    let ascii = r"!\x23\x24&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~";
    let formatting = r"\u{200E}\u{200F}\u{202A}-\u{202E}";
    let literal = format!("(?:[{ascii}{UCSCHAR}{formatting}{IPRIVATE}]|{ENCODED})");
    let var_char = format!("(?:[A-Za-z0-9_]|{ENCODED})");
    let name = format!(r"{var_char}(?:\.?{var_char})*");
    let variable = format!(r"{name}(?::[1-9][0-9]{{0,3}}|\*)?");
    // The reserved operators are part of the syntax, though no expansion is defined for them.
    let expression = format!(r"\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*\}}");
    regex(&format!("(?:{literal}|{expression})*"), budget)
}
