//! Masks of counted rules against all texts: small languages of strings with bounds of their lengths are written out, and a token is
//! allowed exactly where some text begins with the text so far and the token.

use std::collections::HashSet;
use std::sync::Arc;

use gobo_artifact::{Fill, Index, Matcher, Vocabulary};
use gobo_automata::{Dfa, Expr, Grammar, Language, Lowered, Rule, RuleId};
use gobo_compiler::{CompileOptions, compile};
use gobo_grammar::json::strings::char_in;
use gobo_types::{
    Binding, Budget, CompileLimits, Constraint, LengthRange, MatchMode, Report, Spelling, TextStart,
};
use gobo_vocab::TokenTable;

/// The characters of values.
const CHARS: &[char] = &['a', 'b', 'é', '\n', '"', '😀'];

/// The characters of values with heads.
const CHARS_WITH_HEADS: &[char] = &['a', 'é', '"', '@'];

/// A language of values: the pattern that is compiled, and what it means.
struct Values {
    chars: &'static [char],
    pattern: &'static str,
    has: fn(&[char]) -> bool,
    /// Whether texts of each length from the least one on follow everywhere.
    has_all_lengths: bool,
}

const VALUES: [Values; 8] = [
    Values { chars: CHARS, pattern: "(?s).*", has: |_| true, has_all_lengths: true },
    Values {
        chars: CHARS,
        pattern: "[ab]*",
        has: |value| value.iter().all(|char| "ab".contains(*char)),
        has_all_lengths: true,
    },
    Values {
        chars: CHARS,
        pattern: "(ab)*",
        has: |value| value.len() % 2 == 0 && value.chunks(2).all(|two| two == ['a', 'b']),
        has_all_lengths: false,
    },
    Values {
        chars: CHARS,
        pattern: "(?s)a.*",
        has: |value| value.first() == Some(&'a'),
        has_all_lengths: true,
    },
    Values {
        chars: CHARS,
        pattern: "(?s).*é\n",
        has: |value| value.ends_with(&['é', '\n']),
        has_all_lengths: true,
    },
    Values {
        chars: CHARS,
        pattern: "a|bé\n\"[ab]?|😀{2,4}",
        has: |value| {
            let text: String = value.iter().collect();
            let tail = text.strip_prefix("bé\n\"").is_some_and(|tail| matches!(tail, "" | "a" | "b"));
            text == "a" || tail || (2..5).contains(&value.len()) && value.iter().all(|char| *char == '😀')
        },
        has_all_lengths: false,
    },
    Values {
        chars: CHARS,
        pattern: "(?s)(a.|b[^b]*\"|\n{3}.*)?",
        has: |value| match value {
            [] | ['a', _] | ['\n', '\n', '\n', ..] => true,
            ['b', middle @ .., '"'] => !middle.contains(&'b'),
            _ => false,
        },
        has_all_lengths: false,
    },
    Values {
        chars: CHARS,
        pattern: "(nn|\n)?[ab]*",
        has: |value| {
            let rest = value.strip_prefix(&['\n']).unwrap_or(value);
            rest.iter().all(|char| "ab".contains(*char))
        },
        has_all_lengths: true,
    },
];

/// Values whose heads have a bound: before an `@`, after which there is none, others may stand between quotes.
const WITH_HEADS: [Values; 3] = [
    Values {
        chars: CHARS_WITH_HEADS,
        pattern: "[aé]*@[aé]*",
        has: |value| value.iter().filter(|char| **char == '@').count() == 1 && !value.contains(&'"'),
        has_all_lengths: true,
    },
    Values {
        chars: CHARS_WITH_HEADS,
        pattern: "(a|\"[a@]*\")*@(a|aé)*",
        has: |value| {
            let Some(at) = value.iter().rposition(|char| *char == '@') else { return false };
            let mut is_quoted = false;
            let is_head = value[..at].iter().all(|char| {
                is_quoted ^= *char == '"';
                *char == 'a' || *char == '"' || *char == '@' && is_quoted
            });
            let rest = &value[at + 1..];
            let is_rest = rest.iter().all(|char| *char == 'a' || *char == 'é')
                && rest.first() != Some(&'é')
                && !rest.windows(2).any(|two| two == ['é', 'é']);
            is_head && !is_quoted && is_rest
        },
        has_all_lengths: true,
    },
    Values {
        chars: CHARS_WITH_HEADS,
        pattern: "(é|a@)*@a?",
        has: |value| {
            let value = value.strip_suffix(&['a']).unwrap_or(value);
            let Some((&'@', mut head)) = value.split_last() else { return false };
            while let [rest @ .., 'é'] | [rest @ .., 'a', '@'] = head {
                head = rest;
            }
            head.is_empty()
        },
        has_all_lengths: false,
    },
];

/// All values of up to a number of characters.
fn values(values: &Values, lengths: LengthRange, most: u32) -> Vec<String> {
    let mut all: Vec<Vec<char>> = vec![Vec::new()];
    let mut round = all.clone();
    for _ in 0..lengths.max.unwrap_or(most) {
        let longer = |value: &Vec<char>| -> Vec<Vec<char>> {
            values.chars.iter().map(|char| [value.as_slice(), &[*char]].concat()).collect()
        };
        round = round.iter().flat_map(longer).collect();
        all.extend(round.iter().cloned());
    }
    let fits_head = |value: &[char]| {
        let head = value.iter().rposition(|char| *char == '@').unwrap_or(0);
        lengths.allows_head_up_to(u32::try_from(head).unwrap())
    };
    all.retain(|value| (values.has)(value) && lengths.min as usize <= value.len() && fits_head(value));
    all.into_iter().map(|value| value.into_iter().collect()).collect()
}

/// The ways to write a value in a text: some of many, where any may be used.
fn spellings(value: &str, spelling: Spelling) -> Vec<String> {
    let mut texts = vec![String::new()];
    for char in value.chars() {
        let plain = match char {
            '\n' => "\\n".to_owned(),
            '"' => "\\\"".to_owned(),
            other => other.to_string(),
        };
        let mut ways = vec![plain];
        if spelling == Spelling::Any {
            let mut units = [0; 2];
            let units = char.encode_utf16(&mut units);
            let escaped = units.iter().fold(String::new(), |text, unit| text + &format!("\\u{unit:04x}"));
            let mut cases = vec![String::new()];
            for letter in escaped.chars() {
                let both = [letter, if letter == 'u' { 'u' } else { letter.to_ascii_uppercase() }];
                let both = if both[0] == both[1] { &both[..1] } else { &both[..] };
                cases = cases
                    .iter()
                    .flat_map(|text| both.iter().map(move |letter| format!("{text}{letter}")))
                    .collect();
            }
            ways.extend(cases);
        }
        texts = texts.iter().flat_map(|text| ways.iter().map(move |way| format!("{text}{way}"))).collect();
    }
    texts
}

/// Where the strings stand.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// The whole text is one string.
    Alone,
    /// An array of a string, and of one with other bounds.
    Two,
    /// A string, or brackets around the same.
    Nested,
}

fn rule(name: &str, expr: Expr) -> Rule {
    Rule { name: name.to_owned(), expr, lengths: None }
}

fn grammar(
    values: &Values,
    bounds: [LengthRange; 2],
    place: Place,
    spelling: Spelling,
    budget: &Budget,
) -> Grammar {
    let language = Language::regex(values.pattern, MatchMode::Full, budget).unwrap();
    let only: Vec<(char, char)> = values.chars.iter().map(|char| (*char, *char)).collect();
    let alphabet = Language::expr(&Expr::chars(only).repeat(0, None), budget).unwrap();
    let language = language.intersection(&alphabet, budget).unwrap();
    let body = language.to_expr(|chars| char_in(chars, spelling), budget).unwrap();
    let call = |rule: usize| Expr::Call(RuleId::of(u32::try_from(rule).unwrap()));
    let quoted = |rule: usize| Expr::Concat(vec![Expr::text("\""), call(rule), Expr::text("\"")]);
    let root = match place {
        Place::Alone => quoted(1),
        Place::Two => {
            Expr::Concat(vec![Expr::text("["), quoted(1), Expr::text(","), quoted(2), Expr::text("]")])
        }
        Place::Nested => {
            Expr::Alternate(vec![quoted(1), Expr::Concat(vec![Expr::text("["), call(0), Expr::text("]")])])
        }
    };
    let counted = |lengths| Rule { name: "chars".to_owned(), expr: body.clone(), lengths: Some(lengths) };
    Grammar {
        rules: vec![rule("root", root), counted(bounds[0]), counted(bounds[1])],
        start: RuleId::of(0),
        called: Vec::new(),
        families: Vec::new(),
        tokens: Vec::new(),
    }
}

/// All texts, of brackets up to a depth.
fn texts(
    values_of: &Values,
    bounds: [LengthRange; 2],
    place: Place,
    spelling: Spelling,
    most: u32,
) -> HashSet<String> {
    let strings = |lengths: LengthRange| -> Vec<String> {
        let values = values(values_of, lengths, most);
        values.iter().flat_map(|value| spellings(value, spelling)).map(|text| format!("\"{text}\"")).collect()
    };
    let one = strings(bounds[0]);
    match place {
        Place::Alone => one.into_iter().collect(),
        Place::Two => {
            let two = strings(bounds[1]);
            one.iter().flat_map(|one| two.iter().map(move |two| format!("[{one},{two}]"))).collect()
        }
        Place::Nested => (0..8)
            .flat_map(|depth| {
                one.iter().map(move |one| format!("{}{one}{}", "[".repeat(depth), "]".repeat(depth)))
            })
            .collect(),
    }
}

/// The bytes of all tokens: each byte, and pieces one after the other.
fn tokens(random: &mut impl FnMut(usize) -> usize) -> Vec<Vec<u8>> {
    const PIECES: [&[u8]; 24] = [
        b"a",
        b"b",
        "é".as_bytes(),
        b"\\n",
        b"\\\"",
        "😀".as_bytes(),
        b"\"",
        b"\"",
        b",",
        b"[",
        b"]",
        b"\xc3",
        b"\xa9",
        b"\\",
        b"\\u00e9",
        b"\\ud83d",
        b"\\ude00",
        b"n",
        b"\\u",
        b"00",
        b"\xf0\x9f",
        b"\x98\x80",
        b"@",
        b"a@",
    ];
    let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    for _ in 0..300 {
        let token = (0..2 + random(5)).flat_map(|_| PIECES[random(PIECES.len())].to_vec()).collect();
        tokens.push(token);
    }
    tokens.extend([
        b"aaaaaaaaaaaa".to_vec(),
        b"abababab".to_vec(),
        b"\"\"".to_vec(),
        b"\",\"".to_vec(),
        b"\"]".to_vec(),
    ]);
    tokens
}

struct Case {
    matcher: Matcher,
    tokens: Vec<Vec<u8>>,
    eos: u32,
    texts: HashSet<Vec<u8>>,
    prefixes: HashSet<Vec<u8>>,
}

fn case(
    values: &Values,
    bounds: [LengthRange; 2],
    place: Place,
    spelling: Spelling,
    most: u32,
    random: &mut impl FnMut(usize) -> usize,
) -> Option<Case> {
    let budget = Budget::new(CompileLimits::default());
    let texts: HashSet<Vec<u8>> =
        texts(values, bounds, place, spelling, most).into_iter().map(String::into_bytes).collect();
    if texts.is_empty() {
        return None;
    }
    let mut prefixes = HashSet::new();
    for text in &texts {
        prefixes.extend((0..=text.len()).map(|end| text[..end].to_vec()));
    }
    let grammar = grammar(values, bounds, place, spelling, &budget);
    let dfa = Dfa::grammar(&grammar, TextStart::Exact, &budget).unwrap();
    let tokens = tokens(random);
    let mut table = TokenTable::new();
    let eos = u32::try_from(tokens.len()).unwrap();
    for (id, token) in (0..).zip(&tokens) {
        table.insert(id, token.clone(), false).unwrap();
    }
    table.insert(eos, b"<eos>".to_vec(), true).unwrap();
    let vocabulary = Arc::new(Vocabulary::from_bytes(&table.build().unwrap()).unwrap());
    // The constraint is a name alone: what is compiled is the automaton.
    let lowered = Lowered { dfa, report: Report::default(), tokens: None };
    let constraint = Constraint::gbnf("root ::= \"a\"", "root");
    let compiled = compile(&vocabulary, &constraint, &lowered, &CompileOptions::default(), &budget).unwrap();
    let index = Arc::new(Index::from_bytes(compiled.bytes()).unwrap());
    index.verify().unwrap();
    let matcher = Matcher::new(index, vocabulary, &Binding::new(vec![eos], eos + 1)).unwrap();
    Some(Case { matcher, tokens, eos, texts, prefixes })
}

impl Case {
    /// The mask after a text, by the list of all texts.
    fn expected(&self, text: &[u8]) -> Vec<u32> {
        let mut mask = vec![0; self.matcher.mask_words()];
        let mut set = |id: u32| mask[(id >> 5) as usize] |= 1 << (id & 31);
        for (id, token) in (0..).zip(&self.tokens) {
            if self.prefixes.contains(&[text, token].concat()) {
                set(id);
            }
        }
        if self.texts.contains(text) {
            set(self.eos);
        }
        mask
    }

    fn check(&self, matcher: &Matcher, text: &[u8], what: &str) -> Vec<u32> {
        let mut mask = vec![0; matcher.mask_words()];
        let fill = matcher.fill(&mut mask);
        let expected = self.expected(text);
        let ids = |mask: &[u32]| -> Vec<u32> {
            (0..=self.eos).filter(|id| mask[(id >> 5) as usize] >> (id & 31) & 1 == 1).collect()
        };
        let (found, wanted) = (ids(&mask), ids(&expected));
        if found != wanted {
            let shown = |ids: Vec<u32>| -> Vec<String> {
                let bytes = |id: u32| self.tokens.get(id as usize).cloned().unwrap_or_default();
                ids.into_iter().map(|id| String::from_utf8_lossy(&bytes(id)).into_owned()).collect()
            };
            let more = found.iter().filter(|id| !wanted.contains(id)).copied().collect();
            let less = wanted.iter().filter(|id| !found.contains(id)).copied().collect();
            panic!(
                "{what}: after {:?} too many {:?}, too few {:?}, {fill:?}",
                String::from_utf8_lossy(text),
                shown(more),
                shown(less)
            );
        }
        assert_eq!(fill, Ok(Fill::Masked), "{what}");
        for id in 0..=self.eos {
            assert_eq!(matcher.allows(id), wanted.contains(&id), "{what}: {id}");
        }
        wanted
    }

    /// Walks to the end of a text, looking at every mask.
    fn walk(&self, what: &str, most_depth: usize, random: &mut impl FnMut(usize) -> usize) {
        let mut matcher = self.matcher.clone();
        let mut text: Vec<u8> = Vec::new();
        let mut taken: Vec<u32> = Vec::new();
        loop {
            let mut allowed = self.check(&matcher, &text, what);
            let depth = |token: &[u8]| token.split(|byte| *byte == b'[').count() - 1;
            let is_shallow = |id: &u32| {
                self.tokens.get(*id as usize).is_none_or(|token| depth(&text) + depth(token) <= most_depth)
            };
            allowed.retain(is_shallow);
            // A chain of drafts has the masks that steps have.
            let Some(&id) = allowed.get(random(allowed.len().max(1))) else { break };
            if let Some(last) = taken.last() {
                matcher.rollback(1).unwrap();
                assert_eq!(matcher.validate(&[*last, id]), 2, "{what}");
                let mut matrix = vec![0; 2 * matcher.mask_words()];
                matcher.fill_chain(&[*last], &mut matrix, matcher.mask_words()).unwrap();
                matcher.advance(*last).unwrap();
                let mut mask = vec![0; matcher.mask_words()];
                matcher.fill(&mut mask).unwrap();
                assert_eq!(&matrix[matcher.mask_words()..], mask, "{what}");
            }
            for (other, token) in (0..).zip(&self.tokens) {
                if random(16) == 0 && !allowed.contains(&other) && is_shallow(&other) {
                    assert!(matcher.clone().advance(other).is_err(), "{what}: {token:?}");
                }
            }
            let mut forced = Vec::new();
            matcher.forced(&mut forced);
            if !forced.is_empty() {
                let goes_on = |byte: u8| self.prefixes.contains(&[&text[..], &[byte]].concat());
                assert_eq!((0..=u8::MAX).filter(|byte| goes_on(*byte)).count(), 1, "{what}");
            }
            matcher.advance(id).unwrap();
            if id == self.eos {
                break;
            }
            taken.push(id);
            text.extend(&self.tokens[id as usize]);
        }
    }
}

/// A generator of numbers below a bound, the same in every run.
pub(crate) fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % below
    }
}

fn all_cases(place: Place, spelling: Spelling, bounds: &[(u32, Option<u32>)], most: u32) -> usize {
    let mut cases = 0;
    for (number, of) in VALUES.iter().enumerate() {
        for (at, &(min, max)) in bounds.iter().enumerate() {
            if min > 0 && !of.has_all_lengths {
                continue;
            }
            let mut random = random((number * 100 + at) as u64 + 1);
            let lengths = [LengthRange { min, max, head: None, tokens: None }, LengthRange::up_to(2)];
            let Some(case) = case(of, lengths, place, spelling, most, &mut random) else { continue };
            let what = format!("{} {lengths:?} {place:?} {spelling:?}", of.pattern);
            (0..6).for_each(|_| case.walk(&what, 3, &mut random));
            cases += 1;
        }
    }
    cases
}

const BOUNDS: [(u32, Option<u32>); 8] = [
    (0, Some(1)),
    (0, Some(2)),
    (0, Some(3)),
    (0, Some(5)),
    (1, Some(1)),
    (1, Some(4)),
    (2, Some(3)),
    (3, Some(5)),
];

/// Bounds of heads beside those of whole texts.
const HEADS: [(u32, Option<u32>, u32); 8] = [
    (0, Some(1), 0),
    (0, Some(4), 0),
    (0, Some(3), 1),
    (0, Some(5), 1),
    (0, Some(5), 2),
    (0, Some(5), 3),
    (2, Some(5), 2),
    (3, Some(4), 3),
];

#[test]
fn heads_have_a_bound_of_their_own() {
    let mut cases = 0;
    for (number, of) in WITH_HEADS.iter().enumerate() {
        // The texts of the last one are no longer than a head and two characters.
        let endless = (!of.has_all_lengths).then_some((0, None, 2));
        for (at, (min, max, head)) in HEADS.into_iter().chain(endless).enumerate() {
            if min > 0 && !of.has_all_lengths {
                continue;
            }
            for place in [Place::Alone, Place::Two, Place::Nested] {
                let mut random = random((number * 100 + at) as u64 + 1);
                let head = Some(head);
                let lengths = [
                    LengthRange { min, max, head, tokens: None },
                    LengthRange { head: Some(1), ..LengthRange::up_to(3) },
                ];
                let Some(case) = case(of, lengths, place, Spelling::Canonical, 5, &mut random) else {
                    continue;
                };
                let what = format!("{} {lengths:?} {place:?}", of.pattern);
                (0..6).for_each(|_| case.walk(&what, 3, &mut random));
                cases += 1;
            }
        }
    }
    assert!(cases > 55, "{cases}");
}

/// Where calls are expanded, counts are states.
#[test]
fn bounds_are_kept_where_calls_are_expanded() {
    for of in &WITH_HEADS {
        for (min, max, head) in HEADS.into_iter().filter(|bounds| bounds.0 == 0) {
            let budget = Budget::new(CompileLimits::default());
            let lengths = LengthRange { min, max, head: Some(head), tokens: None };
            let grammar = grammar(of, [lengths; 2], Place::Alone, Spelling::Canonical, &budget);
            let dfa = Dfa::grammar(&grammar, TextStart::Exact, &budget).unwrap();
            let expanded = dfa.expand_calls(&budget).unwrap().expect("nothing recurs");
            let texts = texts(of, [lengths; 2], Place::Alone, Spelling::Canonical, 5);
            let all = Values { has: |_| true, ..*of };
            for value in values(&all, LengthRange::up_to(5), 5) {
                for text in spellings(&value, Spelling::Canonical) {
                    let text = format!("\"{text}\"");
                    assert_eq!(
                        expanded.accepts(text.as_bytes()),
                        texts.contains(&text),
                        "{lengths:?} {text}"
                    );
                }
            }
        }
    }
}

#[test]
fn masks_of_a_string_are_those_of_all_its_texts() {
    assert!(all_cases(Place::Alone, Spelling::Canonical, &BOUNDS, 5) > 40);
}

#[test]
fn characters_are_counted_whatever_they_are_written_as() {
    assert!(all_cases(Place::Alone, Spelling::Any, &[(0, Some(2)), (1, Some(3)), (2, Some(2))], 3) > 12);
}

#[test]
fn strings_of_two_bounds_share_their_states() {
    assert!(all_cases(Place::Two, Spelling::Canonical, &[(0, Some(1)), (0, Some(3)), (2, Some(3))], 3) > 15);
}

#[test]
fn strings_are_counted_at_any_depth() {
    assert!(
        all_cases(Place::Nested, Spelling::Canonical, &[(0, Some(1)), (0, Some(3)), (1, Some(3))], 3) > 15
    );
}
