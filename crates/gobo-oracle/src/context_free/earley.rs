//! Earley's recogniser, byte by byte, with sets that are shared between texts.
//!
//! Earley 1970, *An efficient context-free parsing algorithm*, and the treatment of nullable rules by Aycock & Horspool
//! 2002, *Practical Earley parsing*. Invariant: some text leads from each set that is not empty to acceptance, because
//! unproductive alternatives are removed first. A step takes O(items of the set), at most O(n²) after n bytes, the first
//! time, and O(1) from then on.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use gobo_types::{Constraint, Dialect, Source};
use regex_syntax::utf8::Utf8Sequences;

use crate::context_free::grammar::{Grammar, RuleId, Symbol};
use crate::interner::Interner;
use crate::{GbnfError, json_grammar, read_gbnf};

/// A set of byte strings of the same shape as a UTF-8 sequence: one range of bytes after the other.
type ByteRanges = Vec<(u8, u8)>;

/// What a text may go on as: a set of an [`Earley`] recogniser. Equal sets, equal futures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetId(u32);

/// A [`Symbol`] over bytes.
#[derive(Debug, Clone)]
enum Part {
    Rule(usize),
    /// One of these sequences.
    Letters(Vec<ByteRanges>),
}

#[derive(Debug, Clone)]
struct Production {
    rule: usize,
    parts: Vec<Part>,
}

/// A production of which the parts before `dot` have been written since the set `origin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Item {
    production: usize,
    dot: usize,
    /// Inside a character: which sequence of the letters after the dot, and how many of its bytes are written.
    within: Option<(usize, usize)>,
    origin: SetId,
}

impl Item {
    fn advanced(self) -> Self {
        Self { dot: self.dot + 1, within: None, ..self }
    }
}

/// A set with all that follows from it.
#[derive(Debug, Default)]
struct Closed {
    /// Items that a byte may move.
    letters: Vec<Item>,
    /// Items before a rule, by that rule.
    before: HashMap<usize, Vec<Item>>,
    accepts: bool,
}

/// A recogniser of the texts of a grammar, byte by byte.
///
/// A rule that may be empty is predicted and advanced over in one step (Aycock & Horspool), so nothing ever has to be
/// completed in the set in which it began.
///
/// An item names the *set* it began in where Earley writes the set's place in the text. What follows from the items that
/// a byte has just moved depends on nothing else, so sets that begin with the same items are one set, with one number,
/// and each step is taken only once.
///
/// Unproductive alternatives are removed first: the rest of every item can be written, and a set that is not empty is
/// alive.
#[derive(Debug)]
pub struct Earley {
    productions: Vec<Production>,
    /// For each rule the productions it has left.
    of_rule: Vec<Vec<usize>>,
    may_be_empty: Vec<bool>,
    sets: Interner<BTreeSet<Item>>,
    closed: Vec<Rc<Closed>>,
    next: HashMap<(SetId, u8), Option<SetId>>,
    /// Is false where no text at all is left.
    has_text: bool,
}

/// The set of the empty text.
const START: SetId = SetId(0);

/// The production of whole texts: the start rule.
const WHOLE: usize = 0;

impl Earley {
    /// A recogniser of the texts of `start`.
    pub fn new(grammar: &Grammar, RuleId(start): RuleId) -> Self {
        let whole = grammar.rules.len();
        let mut productions = vec![Production { rule: whole, parts: vec![Part::Rule(start)] }];
        for (rule, alternatives) in grammar.rules.iter().enumerate() {
            for alternative in alternatives {
                productions.push(Production { rule, parts: alternative.iter().map(part_of).collect() });
            }
        }
        let with_text = least_rules(whole + 1, &productions, |part, with_text| match part {
            Part::Rule(rule) => with_text[*rule],
            Part::Letters(letters) => !letters.is_empty(),
        });
        let may_be_empty = least_rules(whole + 1, &productions, |part, may_be_empty| match part {
            Part::Rule(rule) => may_be_empty[*rule],
            Part::Letters(_) => false,
        });
        let mut of_rule = vec![vec![]; whole + 1];
        for (number, production) in productions.iter().enumerate() {
            let has_text = production.parts.iter().all(|part| match part {
                Part::Rule(rule) => with_text[*rule],
                Part::Letters(letters) => !letters.is_empty(),
            });
            if has_text {
                of_rule[production.rule].push(number);
            }
        }
        let mut earley = Self {
            has_text: with_text[start],
            productions,
            of_rule,
            may_be_empty,
            sets: Interner::default(),
            closed: Vec::new(),
            next: HashMap::new(),
        };
        let first = Item { production: WHOLE, dot: 0, within: None, origin: START };
        assert_eq!(earley.set(BTreeSet::from([first])), START);
        earley
    }

    /// A recogniser of the texts of a grammar or JSON constraint, read without the product.
    ///
    /// # Errors
    /// [`GbnfError`] if the grammar is malformed.
    ///
    /// # Panics
    /// If the constraint is of another kind: those are judged by [`Language`](crate::Language).
    pub fn of(constraint: &Constraint) -> Result<Self, GbnfError> {
        let (grammar, start) = match &constraint.source {
            Source::Grammar { dialect: Dialect::Gbnf, grammar, start, .. } => read_gbnf(grammar, start)?,
            Source::Json { whitespace, numbers, nesting: None } => json_grammar(*whitespace, *numbers),
            other => panic!("not of this oracle: {other:?}"),
        };
        Ok(Self::new(&grammar, start))
    }

    /// Where the empty text stands.
    pub fn start(&self) -> SetId {
        START
    }

    /// Where the text stands after one more byte; nothing if no text of the grammar begins so.
    pub fn step(&mut self, set: SetId, byte: u8) -> Option<SetId> {
        if let Some(&known) = self.next.get(&(set, byte)) {
            return known;
        }
        let next = self.scan(set, byte);
        self.next.insert((set, byte), next);
        next
    }

    /// [`step`](Self::step) for each of `bytes`.
    pub fn walk(&mut self, set: SetId, bytes: &[u8]) -> Option<SetId> {
        bytes.iter().try_fold(set, |set, &byte| self.step(set, byte))
    }

    /// Whether the text may end here.
    pub fn accepts(&self, SetId(set): SetId) -> bool {
        self.closed[set as usize].accepts
    }

    /// Whether there is any text. Where a set was stepped to, there always is.
    pub fn is_satisfiable(&self) -> bool {
        self.has_text
    }

    /// Whether `text` is a text of the grammar.
    pub fn contains(&mut self, text: &[u8]) -> bool {
        self.walk(START, text).is_some_and(|set| self.accepts(set))
    }

    /// The bytes of which some text has at least one.
    pub fn live_bytes(&self) -> BTreeSet<u8> {
        let mut bytes = BTreeSet::new();
        let (mut waiting, mut seen) = (vec![self.productions[WHOLE].rule], HashSet::new());
        while let Some(rule) = waiting.pop() {
            if !seen.insert(rule) {
                continue;
            }
            for part in self.of_rule[rule].iter().flat_map(|&number| &self.productions[number].parts) {
                match part {
                    Part::Rule(rule) => waiting.push(*rule),
                    Part::Letters(letters) => {
                        bytes.extend(letters.iter().flatten().flat_map(|&(first, last)| first..=last));
                    }
                }
            }
        }
        bytes
    }

    /// The part after the dot.
    fn next_part(&self, item: Item) -> Option<&Part> {
        self.productions[item.production].parts.get(item.dot)
    }

    /// The set that begins with `items`.
    fn set(&mut self, items: BTreeSet<Item>) -> SetId {
        let (id, is_new) = self.sets.intern(items);
        let id = SetId(id);
        if is_new {
            let closed = self.close(id);
            self.closed.push(Rc::new(closed));
        }
        id
    }

    /// Adds what follows without a byte being written: rules that may begin here, rules that end here.
    fn close(&self, id: SetId) -> Closed {
        let mut closed = Closed::default();
        let mut waiting: Vec<Item> = self.sets.get(id.0).iter().copied().collect();
        let mut seen: HashSet<Item> = waiting.iter().copied().collect();
        while let Some(item) = waiting.pop() {
            let mut more = Vec::new();
            match self.next_part(item) {
                Some(Part::Letters(_)) => closed.letters.push(item),
                Some(&Part::Rule(rule)) => {
                    closed.before.entry(rule).or_default().push(item);
                    more.extend(self.of_rule[rule].iter().map(|&production| Item {
                        production,
                        dot: 0,
                        within: None,
                        origin: id,
                    }));
                    if self.may_be_empty[rule] {
                        more.push(item.advanced());
                    }
                }
                None if item.production == WHOLE => closed.accepts = true,
                // What began here wrote nothing, and was stepped over when it was predicted.
                None if item.origin == id => {}
                None => {
                    let rule = self.productions[item.production].rule;
                    let origin = &self.closed[item.origin.0 as usize];
                    more.extend(origin.before.get(&rule).into_iter().flatten().map(|item| item.advanced()));
                }
            }
            waiting.extend(more.into_iter().filter(|item| seen.insert(*item)));
        }
        closed
    }

    fn scan(&mut self, set: SetId, byte: u8) -> Option<SetId> {
        let closed = Rc::clone(&self.closed[set.0 as usize]);
        let mut moved = BTreeSet::new();
        for &item in &closed.letters {
            let Some(Part::Letters(letters)) = self.next_part(item) else {
                unreachable!("these items have letters after the dot")
            };
            for (number, sequence) in letters.iter().enumerate() {
                let written = match item.within {
                    None => 0,
                    Some((of, written)) if of == number => written,
                    Some(_) => continue,
                };
                let (first, last) = sequence[written];
                if !(first..=last).contains(&byte) {
                    continue;
                }
                moved.insert(if written + 1 == sequence.len() {
                    item.advanced()
                } else {
                    Item { within: Some((number, written + 1)), ..item }
                });
            }
        }
        (!moved.is_empty()).then(|| self.set(moved))
    }
}

fn part_of(symbol: &Symbol) -> Part {
    match symbol {
        Symbol::Rule(RuleId(rule)) => Part::Rule(*rule),
        Symbol::Chars(chars) => Part::Letters(
            chars
                .iter()
                .flat_map(|&(first, last)| Utf8Sequences::new(first, last))
                .map(|sequence| sequence.as_slice().iter().map(|range| (range.start, range.end)).collect())
                .collect(),
        ),
    }
}

/// The least set of rules that have a production of which every part `holds`, given that set.
fn least_rules(
    rules: usize,
    productions: &[Production],
    holds: impl Fn(&Part, &[bool]) -> bool,
) -> Vec<bool> {
    let mut least = vec![false; rules];
    loop {
        let before = least.clone();
        for production in productions {
            least[production.rule] |= production.parts.iter().all(|part| holds(part, &before));
        }
        if least == before {
            return least;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::{SortedTokens, Tokens};

    fn earley(grammar: &str) -> Earley {
        Earley::of(&Constraint::gbnf(grammar, "s")).unwrap()
    }

    fn check(grammar: &str, accept: &[&str], reject: &[&str], dead: &[&str]) {
        let mut earley = earley(grammar);
        for text in accept {
            assert!(earley.contains(text.as_bytes()), "{grammar:?} accepts {text:?}");
        }
        for text in reject {
            assert!(!earley.contains(text.as_bytes()), "{grammar:?} rejects {text:?}");
        }
        for text in dead {
            assert!(earley.walk(START, text.as_bytes()).is_none(), "no text of {grammar:?} begins {text:?}");
        }
    }

    #[test]
    fn recursion_to_the_left_is_direct_mutual_or_hidden() {
        check(r#"s ::= s "a" | "b""#, &["b", "ba", "baaa"], &["", "a"], &["a", "bb"]);
        check("s ::= t \"a\" | \"x\"\nt ::= s \"b\" | \"y\"", &["x", "ya", "xba", "yababa"], &["y"], &["xa"]);
        check(
            "s ::= b s \"x\" | \"y\"\nb ::= \"b\" |",
            &["y", "yx", "byx", "bbyxx", "byxx"],
            &["by"],
            &["x"],
        );
        check("s ::= b b s | \"y\"\nb ::=", &["y"], &[""], &["yy"]);
    }

    #[test]
    fn rules_that_may_be_empty_and_cycles() {
        check("s ::= s | \"a\"", &["a"], &[""], &["aa"]);
        check("s ::= t | \"a\"\nt ::= s | s s |", &["", "a", "aaa"], &[], &["b"]);
        check(
            "s ::= a b a\na ::= \"a\"?\nb ::= a a | \"b\"",
            &["", "a", "aaaa", "aba"],
            &[],
            &["aaaaa", "bb"],
        );
        check("s ::= (\"a\"*)*", &["", "aaa"], &[], &["b"]);
        check("s ::= s s | \"(\" s \")\" |", &["", "()", "(())()"], &["("], &[")", "())"]);
    }

    #[test]
    fn ambiguity_and_palindromes() {
        let sums = r#"s ::= s "+" s | s "*" s | "n""#;
        check(sums, &["n", "n+n*n", "n*n+n+n"], &["n+"], &["+", "nn"]);
        check(r#"s ::= "a" s "a" | "b" s "b" |"#, &["", "aa", "abba", "baab"], &["a", "ab", "aba"], &["c"]);
        check(r#"s ::= "a" s "b"? | "a""#, &["a", "aa", "aab", "aaabb"], &[""], &["ab", "aabb", "b"]);
    }

    #[test]
    fn what_has_no_text_is_struck_out() {
        check(
            "s ::= \"a\" | \"b\" dead | unreached-too\ndead ::= \"x\" dead\nunreached-too ::= [] dead\nu ::= \"z\"",
            &["a"],
            &[],
            &["b", "x", "z"],
        );
        for empty in ["s ::= s", "s ::= \"a\" s", "s ::= t \"a\"\nt ::= s t | s", "s ::= [b-a]"] {
            let mut earley = earley(empty);
            assert!(!earley.is_satisfiable() && !earley.accepts(START), "{empty}");
            assert!((0..=255).all(|byte| earley.step(START, byte).is_none()), "{empty}");
            assert!(earley.live_bytes().is_empty(), "{empty}");
        }
        assert_eq!(earley("s ::= \"a\" | \"b\" s s [b-a]\nt ::= \"c\"").live_bytes(), BTreeSet::from([b'a']));
    }

    #[test]
    fn characters_are_their_utf8_bytes() {
        let mut earley = earley(r#"s ::= [^a] "é" | "è""#);
        assert!(earley.contains("xé".as_bytes()) && earley.contains("éé".as_bytes()));
        let half = earley.step(START, 0xc3).unwrap();
        assert!(!earley.accepts(half));
        assert!(earley.contains("è".as_bytes()), "the whole text, and the first character of another");
        assert!(earley.contains("😀é".as_bytes()));
        assert_eq!(earley.step(half, b'a'), None);
        assert_eq!(earley.walk(START, b"\xed\xa0"), None, "surrogates are no characters");
    }

    #[test]
    fn a_loop_comes_back_to_its_set() {
        let mut earley = earley(r#"s ::= "x" [^"]* "y""#);
        let inside = earley.walk(START, b"xa").unwrap();
        assert_eq!(earley.walk(START, "xaé😀b".as_bytes()), Some(inside));
    }

    #[test]
    fn masks_are_those_of_each_token_alone() {
        let mut tokens =
            Tokens::of(&[b"b", b"a", b"ab", b"abc", b"", b"abd", b"b", b"aba", b"a\xc3", b"\xa9", b"\xc3"]);
        tokens.push(b"a", true);
        let sorted = SortedTokens::new(&tokens);
        let mut earley = earley(r#"s ::= "ab" s | "abd" | "aé""#);
        assert!(!sorted.have_each_of(&earley.live_bytes()), "there is no d");
        assert_eq!(sorted.allowed(&mut earley, START), [1, 2, 5, 7, 8]);
        let half = earley.walk(START, b"a\xc3").unwrap();
        assert_eq!(sorted.allowed(&mut earley, half), [9]);
    }

    /// What the rules of a grammar make of the pieces of one text, by trying everything until nothing new is found.
    struct Pieces<'a> {
        grammar: &'a Grammar,
        text: &'a [char],
        /// `[rule]`: whether it has any text.
        with_text: Vec<bool>,
        /// Rule, from, to: the piece is a text of the rule.
        whole: HashSet<(usize, usize, usize)>,
        /// Rule, from: some text of the rule begins with all that comes from there on.
        begun: HashSet<(usize, usize)>,
    }

    impl<'a> Pieces<'a> {
        fn of(grammar: &'a Grammar, text: &'a [char]) -> Self {
            let with_text = vec![false; grammar.rules.len()];
            let mut pieces = Self { grammar, text, with_text, whole: HashSet::new(), begun: HashSet::new() };
            while pieces.find_more() {}
            pieces
        }

        fn symbol_has_text(&self, symbol: &Symbol) -> bool {
            match symbol {
                Symbol::Rule(RuleId(rule)) => self.with_text[*rule],
                Symbol::Chars(chars) => !chars.is_empty(),
            }
        }

        /// Where texts of `symbol` that begin at `from` may end.
        fn ends(&self, symbol: &Symbol, from: usize) -> Vec<usize> {
            match symbol {
                Symbol::Rule(RuleId(rule)) => {
                    (from..=self.text.len()).filter(|&to| self.whole.contains(&(*rule, from, to))).collect()
                }
                Symbol::Chars(chars) => {
                    let char = self.text.get(from);
                    let found = char.is_some_and(|char| chars.iter().any(|(a, b)| (a..=b).contains(&char)));
                    if found { vec![from + 1] } else { vec![] }
                }
            }
        }

        fn find_more(&mut self) -> bool {
            let known = (self.with_text.clone(), self.whole.len(), self.begun.len());
            let end = self.text.len();
            for (rule, alternatives) in self.grammar.rules.iter().enumerate() {
                for alternative in alternatives {
                    let has_text = alternative.iter().all(|symbol| self.symbol_has_text(symbol));
                    self.with_text[rule] |= has_text;
                    for from in 0..=end {
                        let mut reached = BTreeSet::from([from]);
                        for symbol in alternative {
                            let goes_on = |&at: &usize| match symbol {
                                Symbol::Rule(RuleId(rule)) => self.begun.contains(&(*rule, at)),
                                Symbol::Chars(_) => at == end,
                            };
                            if has_text && reached.iter().any(goes_on) {
                                self.begun.insert((rule, from));
                            }
                            reached = reached.iter().flat_map(|&at| self.ends(symbol, at)).collect();
                        }
                        if reached.contains(&end) {
                            self.begun.insert((rule, from));
                        }
                        self.whole.extend(reached.into_iter().map(|to| (rule, from, to)));
                    }
                }
            }
            known != (self.with_text.clone(), self.whole.len(), self.begun.len())
        }
    }

    fn grammar() -> impl Strategy<Value = Grammar> {
        let chars = |text: &str| Symbol::Chars(text.chars().map(|char| (char, char)).collect());
        let symbol = prop_oneof![
            4 => (0..4_usize).prop_map(|rule| Symbol::Rule(RuleId(rule))),
            4 => select(vec![chars("a"), chars("b"), chars("ab"), chars("é")]),
            1 => Just(chars("")),
        ];
        vec(vec(vec(symbol, 0..4), 0..4), 4).prop_map(|rules| Grammar { rules })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        #[test]
        fn every_piece_of_the_text_tried_says_the_same(
            grammar in grammar(),
            text in vec(select(vec!['a', 'b', 'é']), 0..7),
        ) {
            let mut earley = Earley::new(&grammar, RuleId(0));
            let mut set = Some(START);
            for to in 0..=text.len() {
                let pieces = Pieces::of(&grammar, &text[..to]);
                let alive = if to == 0 { earley.is_satisfiable() } else { set.is_some() };
                prop_assert_eq!(alive, pieces.begun.contains(&(0, 0)), "after {} characters", to);
                let accepts = set.is_some_and(|set| earley.accepts(set));
                prop_assert_eq!(accepts, pieces.whole.contains(&(0, 0, to)), "after {} characters", to);
                let Some(char) = text.get(to) else { break };
                let bytes = char.to_string();
                set = set.and_then(|set| earley.walk(set, bytes.as_bytes()));
            }
        }
    }
}
