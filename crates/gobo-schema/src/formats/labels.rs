//! Labels of host names: an automaton that counts characters and looks at hyphens and digits.
//!
//! The state is the weight of the part that is read and a summary of its current label, so there are as many states as the
//! maximum weight, times a constant.

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{CharSet, Expr, Machine, MachineState};

/// Maximum number of characters of a label: RFC 1035, section 2.3.4.
pub(super) const LABEL: u32 = 63;

/// The role of a character in a host name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Digit,
    Letter,
    /// A character that begins no label.
    Mark,
    Hyphen,
    Dot,
}

/// Sets of characters, each with its kind and the weight of one character.
pub(super) type CharKinds = Vec<(Kind, u32, CharSet)>;

/// The characters of names in ASCII.
pub(super) fn ascii() -> CharKinds {
    vec![
        (Kind::Letter, 1, CharSet::new([('A', 'Z'), ('a', 'z')])),
        (Kind::Digit, 1, CharSet::new([('0', '9')])),
        (Kind::Hyphen, 1, CharSet::new([('-', '-')])),
        (Kind::Dot, 1, CharSet::new([('.', '.')])),
    ]
}

/// Maximum weight of each part of an internationalized name. With `xn--` and a hyphen before the encoded
/// characters, five more, no label's ASCII form is longer than [`LABEL`], and no name's is longer than 253.
pub(super) const IDN_PART: u32 = LABEL - 5;

/// The weight of a character outside ASCII: in labels this short, Punycode (RFC 3492, section 6.3) writes no more
/// characters than six for each of these.
pub(super) const ENCODED: u32 = 6;

/// The characters of internationalized names: letters that RFC 5892 allows anywhere in a label, from scripts written
/// from left to right, that no normalization changes or joins. Capitals are not among them.
pub(super) fn international() -> CharKinds {
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
    /// Maximum weight of the first label, and of the labels after its dot.
    pub(super) most: u32,
    /// Whether a label may have hyphens in third and fourth position.
    pub(super) reserved: bool,
    /// Whether the last label may be digits alone. RFC 1123, section 2.1: no host name looks like an IPv4 address,
    /// since its last label is alphabetic.
    pub(super) numeric: bool,
    pub(super) letters: CharKinds,
}

/// The state: what is known of a name that was read up to here.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Read {
    /// Whether a dot was read.
    after_dot: bool,
    /// The weight of this part.
    count: u32,
    /// Number of characters of the label, up to four.
    chars: u32,
    /// Whether the label has only digits so far.
    numeric: bool,
    /// Whether a hyphen was last.
    hyphen: bool,
}

impl Names {
    pub(super) fn expr(&self) -> Expr {
        let sets: Vec<CharSet> = self.letters.iter().map(|letter| letter.2.clone()).collect();
        let start = Read { after_dot: false, count: 0, chars: 0, numeric: true, hyphen: false };
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
            let count = if read.after_dot { read.count + counts } else { 0 };
            Read { after_dot: true, count, chars: 0, numeric: true, hyphen: false }
        } else {
            Read {
                after_dot: read.after_dot,
                count: read.count + counts,
                chars: (read.chars + 1).min(4),
                numeric: read.numeric && kind == Kind::Digit,
                hyphen: kind == Kind::Hyphen,
            }
        };
        (may_read && after.count <= self.most).then_some(after)
    }
}

/// The texts that a deterministic automaton accepts. `letters` are disjoint sets of characters; `next` takes the index of
/// one.
pub(super) fn explored<S: std::hash::Hash + Eq + Clone>(
    letters: &[CharSet],
    start: S,
    next: impl Fn(&S, usize) -> Option<S>,
    accepts: impl Fn(&S) -> bool,
) -> Expr {
    let mut machine = Machine::default();
    let mut known: HashMap<S, MachineState> = HashMap::new();
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
