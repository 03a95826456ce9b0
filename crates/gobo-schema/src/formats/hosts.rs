//! Names and addresses of hosts: RFC 1123, RFC 5890 to 5892, RFC 2673, RFC 4291.

use gobo_automata::{CharSet, Language};
use gobo_types::{Budget, CompileError};

use super::labels::{IDN_PART, Kind, LABEL, Names, ascii, explored, international};
use super::pattern::regex;

pub(super) const NARROWED: &str = "\
    a host name has at most 63 characters after its first dot";

/// RFC 5890, section 2.3.2.1.
pub(super) const UNDECIDED: &str = "whether what follows xn-- in a label is valid Punycode is not regular";

pub(super) const IDN_NARROWED: &str = "\
    a host name has at most 63 characters after its first dot; one outside ASCII has at most 58 before and 58 after the first dot, of which each outside ASCII \
    counts six, no capitals, and outside ASCII only common Latin, Greek, Cyrillic, Japanese, Chinese and \
    Korean letters";

/// `dec-octet` of RFC 3986, section 3.2.2.
pub(super) const OCTET: &str = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";

/// Maximum number of characters of the first label, and of the labels after its dot. RFC 1123, section 2.1, demands that
/// software handle names of 63 characters and allows 253; but to count the characters of a name and of its labels takes a
/// state for each pair of counts.
pub(super) const PART: u32 = LABEL;

/// RFC 2673, section 3.2, as RFC 3986 writes it: no leading zeros.
pub(super) fn ipv4(budget: &Budget) -> Result<Language, CompileError> {
    regex(&ipv4_pattern(OCTET), budget)
}

pub(super) fn ipv4_pattern(octet: &str) -> String {
    format!(r"{octet}(?:\.{octet}){{3}}")
}

/// RFC 4291, section 2.2, where `::` stands for one group or more.
pub(super) fn ipv6(budget: &Budget) -> Result<Language, CompileError> {
    regex(&ipv6_pattern(7, OCTET), budget)
}

/// An IPv6 address with at most `beside_gap` groups beside a `::`. An IPv4 address at the end is two groups.
pub(super) fn ipv6_pattern(beside_gap: u32, octet: &str) -> String {
    let group = "[0-9A-Fa-f]{1,4}";
    let ipv4 = ipv4_pattern(octet);
    let with_gap = |before: u32| {
        let head = match before {
            0 => String::new(),
            _ => format!("(?:{group}:){{{}}}{group}", before - 1),
        };
        let tail = match beside_gap - before {
            0 => String::new(),
            1 => format!("(?:{group})?"),
            after => format!(
                "(?:(?:{group}:){{0,{}}}(?:{group}|{ipv4})|(?:{group}:){{{}}}{group})?",
                after - 2,
                after - 1
            ),
        };
        format!("|{head}::{tail}")
    };
    let with_gap: String = (0..=beside_gap).map(with_gap).collect();
    format!("(?:(?:{group}:){{6}}(?:{group}:{group}|{ipv4}){with_gap})")
}

/// Maximum number of characters of a name that is written without its last dot: RFC 1034, section 3.1, allows 255 octets with the length
/// of each label, that of the root among them.
pub(super) const NAME: u32 = 253;

/// RFC 1034, section 3.1, in letters of RFC 1123, section 2.1: what drafts before 7 ask for, which know no `xn--`. A label
/// may have digits alone, the last one too. The characters of labels are counted here, and those of the name apart from them: [`NAME`].
pub(super) fn plain_hostname(budget: &Budget) -> Result<Language, CompileError> {
    // The number of characters of the label, and whether the last one is a hyphen.
    let letters = ascii();
    let sets: Vec<CharSet> = letters.iter().map(|letter| letter.2.clone()).collect();
    let next = |&(of_label, hyphen): &(u32, bool), letter: usize| {
        let kind = letters[letter].0;
        let may_read = match kind {
            Kind::Hyphen => of_label > 0 && of_label < LABEL,
            Kind::Dot => of_label > 0 && !hyphen,
            _ => of_label < LABEL,
        };
        let of_label = if kind == Kind::Dot { 0 } else { of_label + 1 };
        may_read.then_some((of_label, kind == Kind::Hyphen))
    };
    let names = explored(&sets, (0_u32, false), next, |&(of_label, hyphen)| of_label > 0 && !hyphen);
    Language::expr(&names, budget)
}

/// RFC 1123, section 2.1. The labels of RFC 5891 (`xn--`), whose validity no automaton decides, are among them; all others
/// with hyphens in third and fourth place, which RFC 5890, section 2.3.1, reserves, are not.
pub(super) fn hostname(budget: &Budget) -> Result<Language, CompileError> {
    let names = Names { most: PART, reserved: true, numeric: false, letters: ascii() };
    let reserved = regex(r"(?:.*\.)?(?:[^xX.][^.]|[xX][^nN.])--.*", budget)?;
    let parts = [&Language::expr(&names.expr(), budget)?, &reserved];
    Language::combine(&parts, |is_in| is_in[0] && !is_in[1], budget)
}

/// A part of RFC 5890, section 2.3.2.3, of which every text without `xn--` is certainly valid.
pub(super) fn idn_hostname(budget: &Budget) -> Result<Language, CompileError> {
    let mut letters = international();
    // The full stops of RFC 3490, section 3.1.
    letters.push((Kind::Dot, 1, CharSet::new(['\u{3002}', '\u{FF0E}', '\u{FF61}'].map(|dot| (dot, dot)))));
    let international = Names { most: IDN_PART, reserved: false, numeric: false, letters };
    hostname(budget)?.union(&Language::expr(&international.expr(), budget)?, budget)
}
