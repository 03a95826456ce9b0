//! Names and addresses of hosts: RFC 1123, RFC 5890 to 5892, RFC 2673, RFC 4291.

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{CharSet, Expr, Language, Machine};
use gobo_types::{Budget, CompileError};

use super::regex;

pub(super) const NARROWED: &str = "\
    a host name has at most 63 characters behind its first dot";

/// RFC 5890, section 2.3.2.1.
pub(super) const UNDECIDED: &str = "whether what follows xn-- in a label is valid Punycode is not regular";

pub(super) const IDN_NARROWED: &str = "\
    a host name has at most 63 characters behind its first dot; one outside ASCII has at most 58 before and 58 behind the first dot, of which each outside ASCII \
    counts six, no capitals, and outside ASCII only common Latin, Greek, Cyrillic, Japanese, Chinese and \
    Korean letters";

/// `dec-octet` of RFC 3986, section 3.2.2.
pub(super) const OCTET: &str = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";

/// Most characters of a label: RFC 1035, section 2.3.4.
const LABEL: u32 = 63;

/// Most characters of the first label, and most behind its dot. RFC 1123, section 2.1, demands that software handle
/// names of 63 characters and allows 253; but whoever counts both those of a name and those of its labels needs states
/// for each pair of counts.
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

/// Most characters of a name that is written without its last dot: RFC 1034, section 3.1, allows 255 octets with the length
/// of each label, that of the root among them.
const NAME: u32 = 253;

/// RFC 1034, section 3.1, in letters of RFC 1123, section 2.1: what drafts before 7 ask for, which know no `xn--`. A label
/// may have digits alone, the last one too. Both a name's characters and those of its labels are counted.
pub(super) fn plain_hostname(budget: &Budget) -> Result<Language, CompileError> {
    // Characters of the name and of the label, and whether a hyphen was last.
    let start = (0_u32, 0_u32, false);
    let letters = ascii();
    let sets: Vec<CharSet> = letters.iter().map(|letter| letter.2.clone()).collect();
    let next = |&(chars, of_label, hyphen): &(u32, u32, bool), letter: usize| {
        let kind = letters[letter].0;
        let may_read = match kind {
            Kind::Hyphen => of_label > 0 && of_label < LABEL,
            Kind::Dot => of_label > 0 && !hyphen,
            _ => of_label < LABEL,
        };
        let of_label = if kind == Kind::Dot { 0 } else { of_label + 1 };
        (may_read && chars < NAME).then_some((chars + 1, of_label, kind == Kind::Hyphen))
    };
    let names = explored(&sets, start, next, |&(_, of_label, hyphen)| of_label > 0 && !hyphen);
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

/// What a character is to a host name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Digit,
    Letter,
    /// Begins no label.
    Mark,
    Hyphen,
    Dot,
}

/// Kinds of characters, each with what one of them counts.
pub(super) type Letters = Vec<(Kind, u32, CharSet)>;

/// The characters of names in ASCII.
pub(super) fn ascii() -> Letters {
    vec![
        (Kind::Letter, 1, CharSet::new([('A', 'Z'), ('a', 'z')])),
        (Kind::Digit, 1, CharSet::new([('0', '9')])),
        (Kind::Hyphen, 1, CharSet::new([('-', '-')])),
        (Kind::Dot, 1, CharSet::new([('.', '.')])),
    ]
}

/// What the characters of each part of an internationalized name may count. With `xn--` and a hyphen before the encoded
/// characters, five more, no label's ASCII form is longer than [`LABEL`], and no name's is longer than 253.
pub(super) const IDN_PART: u32 = LABEL - 5;

/// What a character outside ASCII counts: in labels this short, Punycode (RFC 3492, section 6.3) writes no more
/// characters than six for each of these.
pub(super) const ENCODED: u32 = 6;

/// The characters of internationalized names: letters that RFC 5892 allows anywhere in a label, from scripts written
/// from left to right, that no normalization changes or joins. Capitals are not among them.
pub(super) fn international() -> Letters {
    let mut letters = ascii();
    letters[0].2 = CharSet::new([('a', 'z')]);
    let ranges = [
        ('ß', 'ö'),
        ('ø', 'ÿ'),
        ('ά', 'ώ'),
        ('а', 'џ'),
        ('ぁ', 'ゖ'),
        ('ァ', 'ヺ'),
        ('ー', 'ヾ'),
        ('\u{3400}', '\u{4DBF}'),
        ('\u{4E00}', '\u{9FFC}'),
        ('가', '힣'),
    ];
    letters.push((Kind::Letter, ENCODED, CharSet::new(ranges)));
    letters
}

/// Names: labels between dots.
pub(super) struct Names {
    /// What the characters of the first label may count, and what those behind its dot may.
    pub(super) most: u32,
    /// Whether a label may have hyphens in third and fourth place.
    pub(super) reserved: bool,
    /// Whether the last label may be digits alone. RFC 1123, section 2.1: no host name looks like an IPv4 address,
    /// since its last label is alphabetic.
    pub(super) numeric: bool,
    pub(super) letters: Letters,
}

/// What is known of a name that was read up to here.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Read {
    /// Whether a dot was read.
    behind_dot: bool,
    /// What the characters of this part count.
    count: u32,
    /// Characters of the label, four for more.
    chars: u32,
    /// Whether the label has only digits so far.
    numeric: bool,
    /// Whether a hyphen was last.
    hyphen: bool,
}

impl Names {
    pub(super) fn expr(&self) -> Expr {
        let sets: Vec<CharSet> = self.letters.iter().map(|letter| letter.2.clone()).collect();
        let start = Read { behind_dot: false, count: 0, chars: 0, numeric: true, hyphen: false };
        let ends = |read: &Read| read.chars > 0 && !read.hyphen && (self.numeric || !read.numeric);
        explored(
            &sets,
            start,
            |read, letter| self.next(*read, self.letters[letter].0, self.letters[letter].1),
            ends,
        )
    }

    fn next(&self, read: Read, kind: Kind, counts: u32) -> Option<Read> {
        let may_read = match kind {
            Kind::Digit | Kind::Letter => true,
            Kind::Mark => read.chars > 0,
            Kind::Dot => read.chars > 0 && !read.hyphen,
            Kind::Hyphen => read.chars > 0 && (self.reserved || read.chars != 3 || !read.hyphen),
        };
        let after = if kind == Kind::Dot {
            let count = if read.behind_dot { read.count + counts } else { 0 };
            Read { behind_dot: true, count, chars: 0, numeric: true, hyphen: false }
        } else {
            Read {
                behind_dot: read.behind_dot,
                count: read.count + counts,
                chars: (read.chars + 1).min(4),
                numeric: read.numeric && kind == Kind::Digit,
                hyphen: kind == Kind::Hyphen,
            }
        };
        (may_read && after.count <= self.most).then_some(after)
    }
}

/// The texts that a deterministic procedure accepts, which reads characters of `letters`: disjoint sets, told by their
/// place.
pub(super) fn explored<S: std::hash::Hash + Eq + Clone>(
    letters: &[CharSet],
    start: S,
    next: impl Fn(&S, usize) -> Option<S>,
    accepts: impl Fn(&S) -> bool,
) -> Expr {
    let mut machine = Machine::default();
    let mut known: HashMap<S, u32> = HashMap::new();
    machine.start = machine.add_state(accepts(&start));
    known.insert(start.clone(), machine.start);
    let mut open = vec![start];
    while let Some(state) = open.pop() {
        let from = known[&state];
        for (letter, set) in letters.iter().enumerate() {
            let Some(after) = next(&state, letter) else { continue };
            let to = *known.entry(after).or_insert_with_key(|after| {
                open.push(after.clone());
                machine.add_state(accepts(after))
            });
            machine.add_edge(from, Expr::Chars(set.clone()), to);
        }
    }
    Expr::Machine(Box::new(machine))
}
