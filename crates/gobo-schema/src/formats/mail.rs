//! Addresses of mail: RFC 5321, RFC 6531.

use gobo_automata::{CharSet, Expr, Language};
use gobo_types::{Budget, CompileError};

use super::hosts::{PART, ipv4_pattern, ipv6_pattern};
use super::labels::{ENCODED, IDN_PART, Kind, Names, ascii, explored, international};
use super::parts::{Capped, Part, Parts};
use super::pattern::regex;

pub(super) const NARROWED: &str = "\
    the domain of an e-mail address has at most 63 characters after its first dot";

pub(super) const IDN_NARROWED: &str = "\
    the domain of an e-mail address has at most 63 characters after its first dot; one outside ASCII has at \
    most 58 before and 58 after it, of which each outside ASCII counts six, no capitals, no label with \
    hyphens in third and fourth place, and outside ASCII only common Latin, Greek, Cyrillic, Japanese, \
    Chinese and Korean letters";

/// Maximum number of octets of a local part: RFC 5321, section 4.5.3.1.1.
const LOCAL_PART: u32 = 64;

/// `Snum` of RFC 5321, section 4.1.3, which may have leading zeros.
const SNUM: &str = "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]{1,2})";

/// `Mailbox` of RFC 5321, section 4.1.2.
pub(super) fn email(budget: &Budget) -> Result<Language, CompileError> {
    mailbox(local_part(&[], Some(LOCAL_PART)), vec![domain()], budget)
}

/// [`email`] in parts: the local part, the first label of the domain and the others are counted, or the domain is an address. A text of up to
/// 65 characters has no part that is too long. Of one with more the local part is the head, and the labels are counted by states.
pub(super) fn email_parts(budget: &Budget) -> Result<Parts, CompileError> {
    const NAME: &str = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
    let names = format!(r"{NAME}(?:\.{NAME})*");
    let local = Part::UpTo(LOCAL_PART, Language::expr(&local_part(&[], None), budget)?);
    let first = Part::UpTo(PART, regex(NAME, budget)?);
    let others = Part::UpTo(PART, regex(&names, budget)?);
    let (at, dot) = (Part::Of(regex("@", budget)?), Part::Of(regex(r"\.", budget)?));
    let literal = Part::Of(regex(&literal(), budget)?);
    let longest = u64::from(LOCAL_PART + 1 + PART + 1 + PART);
    let plain = regex(&names, budget)?.to_expr(|chars| Expr::Chars(chars.clone()), budget)?;
    let whole = |domain: Expr| mailbox(local_part(&[], None), vec![domain], budget);
    let capped = vec![
        Capped { most: u64::from(PART + 2), language: whole(plain)?, head: None },
        Capped { most: longest, language: whole(domain())?, head: Some(LOCAL_PART) },
    ];
    Ok(Parts {
        ways: vec![
            vec![local.clone(), at.clone(), first.clone()],
            vec![local.clone(), at.clone(), first, dot, others],
            vec![local, at, literal],
        ],
        longest,
        capped,
    })
}

/// `Mailbox` with the extensions of RFC 6531, section 3.3.
pub(super) fn idn_email(budget: &Budget) -> Result<Language, CompileError> {
    let wide = [
        (CharSet::new([('\u{80}', '\u{7FF}')]), 2),
        (CharSet::new([('\u{800}', '\u{FFFF}')]), 3),
        (CharSet::new([('\u{10000}', char::MAX)]), 4),
    ];
    let mut letters = international();
    // Nothing in the grammar asks for normalized text.
    letters.push((Kind::Mark, ENCODED, CharSet::new([('\u{300}', '\u{33F}')])));
    let international = Names { most: IDN_PART, reserved: false, numeric: true, letters };
    mailbox(local_part(&wide, Some(LOCAL_PART)), vec![domain(), international.expr()], budget)
}

/// `Domain`, section 4.1.2, whose labels are as long as those of host names.
fn domain() -> Expr {
    Names { most: PART, reserved: true, numeric: true, letters: ascii() }.expr()
}

/// Local parts at domains, or at addresses.
fn mailbox(local: Expr, mut domains: Vec<Expr>, budget: &Budget) -> Result<Language, CompileError> {
    let literal = regex(&literal(), budget)?.to_expr(|chars| Expr::Chars(chars.clone()), budget)?;
    domains.push(literal);
    Language::expr(&Expr::Concat(vec![local, Expr::text("@"), Expr::Alternate(domains)]), budget)
}

/// `address-literal`, section 4.1.3. A general literal has a registered tag, and there is none but IPv6, which
/// stands for two groups or more with `::`.
fn literal() -> String {
    format!(r"\[(?:{}|(?i:IPv6):{})\]", ipv4_pattern(SNUM), ipv6_pattern(6, SNUM))
}

/// The part of the grammar of local parts that the text has reached.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    Start,
    Atom,
    /// After a dot.
    Dot,
    Quoted,
    /// After a backslash.
    Escaped,
    End,
}

/// `Local-part`, section 4.1.2: `Dot-string` or `Quoted-string`, of so many octets if they are counted. `wide`: characters outside ASCII that
/// it may have, with the octets of each.
fn local_part(wide: &[(CharSet, u32)], most: Option<u32>) -> Expr {
    const ATOM: usize = 0;
    const DOT: usize = 1;
    const QUOTE: usize = 2;
    const BACKSLASH: usize = 3;
    const OTHER: usize = 4;
    let one = |char| (char, char);
    // `atext` of RFC 5322, section 3.2.3: all that is printed but `specials`.
    let atom = CharSet::new(
        [('A', 'Z'), ('a', 'z'), ('0', '9')].into_iter().chain("!#$%&'*+-/=?^_`{|}~".chars().map(one)),
    );
    let other = CharSet::new(" (),:;<>@[]".chars().map(one));
    let mut sets =
        vec![atom, CharSet::new([one('.')]), CharSet::new([one('"')]), CharSet::new([one('\\')]), other];
    sets.extend(wide.iter().map(|(set, _)| set.clone()));
    let next = |&(phase, octets): &(Phase, u32), letter: usize| {
        let is_wide = letter > OTHER;
        let octets = octets + if is_wide { wide[letter - OTHER - 1].1 } else { 1 };
        let phase = match phase {
            Phase::Start if letter == QUOTE => Phase::Quoted,
            Phase::Start | Phase::Atom | Phase::Dot if letter == ATOM || is_wide => Phase::Atom,
            Phase::Atom if letter == DOT => Phase::Dot,
            Phase::Quoted if letter == QUOTE => Phase::End,
            Phase::Quoted if letter == BACKSLASH => Phase::Escaped,
            Phase::Quoted => Phase::Quoted,
            Phase::Escaped if !is_wide => Phase::Quoted,
            _ => return None,
        };
        match most {
            None => Some((phase, 0)),
            Some(most) => (octets <= most).then_some((phase, octets)),
        }
    };
    let accepts = |&(phase, _): &(Phase, u32)| matches!(phase, Phase::Atom | Phase::End);
    explored(&sets, (Phase::Start, 0), next, accepts)
}
