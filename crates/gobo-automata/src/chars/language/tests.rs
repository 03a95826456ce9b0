use gobo_types::{CompileLimits, TextStart};
use proptest::prelude::*;

use super::*;
use crate::chars::CharSet;
use crate::rtn::{Grammar, Rule};
use crate::{Dfa, RuleId};

fn budget() -> Budget {
    Budget::new(CompileLimits::default())
}

fn language(pattern: &str) -> Language {
    Language::regex(pattern, MatchMode::Full, &budget()).unwrap()
}

#[test]
fn what_no_part_reads_is_in_the_complement() {
    let rest = language("[ab]*").complement(&budget()).unwrap();
    for (text, expected) in [("", false), ("ab", false), ("abc", true), ("é", true), ("\u{10ffff}", true)] {
        assert_eq!(rest.accepts(text), expected, "{text}");
    }
    assert_eq!(rest.complement(&budget()).unwrap(), language("[ab]*"));
    assert_eq!(Language::none().complement(&budget()).unwrap(), language("(?s:.*)"));
    assert!(language("(?s:.*)").complement(&budget()).unwrap().is_empty());
}

#[test]
fn a_procedure_is_explored_to_its_end() {
    let even = Language::explore(
        &['b', 'a'],
        0,
        |count, char| (char == 'a' || *count == 0).then_some((count + 1) % 4),
        |count| count % 2 == 0,
        &budget(),
    );
    assert_eq!(even.unwrap(), language("([ab]aaa)*([ab]a)?"));
    let endless = Language::explore(&['a'], 0_u64, |n, _| Some(n + 1), |_| true, &budget());
    assert!(matches!(endless, Err(CompileError::OverBudget(_))));
}

#[test]
fn a_procedure_may_read_letters_that_sets_and_languages_tell_apart() {
    let sets = [CharSet::new([('a', 'c')])];
    let parts = [language("(?s:[^b]*)")];
    let minterms = Minterms::of(&sets, &parts, &budget()).unwrap();
    assert_eq!(minterms.all().len(), 3);
    // What the part accepts, with an odd number of characters of the set.
    let expand = |&(state, is_odd): &(CharState, bool), row: &mut Vec<(Symbol, (CharState, bool))>| {
        row.extend(minterms.all().filter_map(|minterm| {
            let state = minterms.step(minterm, 0, &parts[0], state);
            (state != CharState::DEAD).then_some((minterm, (state, is_odd != minterms.is_in(minterm, 0))))
        }));
        Ok(is_odd && parts[0].may_end(state))
    };
    let start = (parts[0].start(), false);
    let explored = Language::explore_minterms(&minterms, start, expand, &budget()).unwrap();
    assert_eq!(explored, language("(?s:[^abc]*[ac]([^abc]*[ac][^abc]*[ac])*[^abc]*)"));
}

/// In counted repetitions copies of a leaf stand in for each other: those of one expression in two places do not.
#[test]
fn what_is_shared_reads_as_its_copies_do() {
    let part = Expr::Alternate(vec![Expr::text("a"), Expr::text("ab"), Expr::text("é")]);
    let pair = |part: &Expr| Expr::Concat(vec![part.clone(), Expr::text("b"), part.clone()]);
    for (min, max) in [(0, None), (2, None), (0, Some(3)), (2, Some(5)), (3, Some(3))] {
        let whole = |pair: &Expr| {
            Expr::Concat(vec![pair.clone(), pair.clone().repeat(min, max), pair.clone()]).repeat(0, Some(2))
        };
        let copied = Language::expr(&whole(&pair(&part)), &budget()).unwrap();
        for shared in
            [pair(&part.clone().shared()), pair(&part).shared(), pair(&part.clone().shared()).shared()]
        {
            assert_eq!(Language::expr(&whole(&shared), &budget()).unwrap(), copied, "{min}, {max:?}");
        }
    }
}

/// What is refused ahead would be refused when it is written: the characters below U+0080 as themselves, doubled, or
/// half of them in two ways, as strings of JSON are.
#[test]
fn no_language_is_refused_ahead_that_can_be_written() {
    let written = |text: &Language, way: usize| {
        let spell = |set: &CharSet| match way {
            0 => Expr::Chars(set.clone()),
            1 => Expr::Concat(vec![Expr::Chars(set.clone()), Expr::text("~").repeat(1, Some(2))]),
            _ => {
                let [low, high] = [('\0', '\x7f'), ('\u{80}', char::MAX)].map(|range| CharSet::new([range]));
                let escaped = Expr::Concat(vec![Expr::text("\\"), Expr::Chars(set.and(&low))]);
                Expr::Alternate(vec![Expr::Chars(set.and(&high)), Expr::Chars(set.and(&low)), escaped])
            }
        };
        let rule = Rule { name: "text".into(), expr: text.to_expr(spell, &budget()).unwrap(), lengths: None };
        let grammar = Grammar {
            rules: vec![rule],
            start: RuleId::of(0),
            called: Vec::new(),
            families: Vec::new(),
            tokens: Vec::new(),
        };
        Dfa::grammar(&grammar, TextStart::Exact, &budget()).unwrap().len()
    };
    let patterns =
        [r"(?:\S+\s+){0,9}\S{1,9}", "(?s:.{1,300})", "[^日本]{5,90}|é*", "(?:ab|ü.){0,200}", r"\w{0,40}x?"];
    for pattern in patterns {
        let text = language(pattern);
        let check = |max_states: usize| {
            let max_states = max_states as u64;
            text.check_states(&Budget::new(CompileLimits { max_states, ..CompileLimits::default() }))
        };
        for way in 0..3 {
            assert_eq!(check(written(&text, way)), Ok(()), "{pattern} {way}");
        }
        assert!(matches!(check(text.len()), Err(CompileError::OverBudget(_))), "{pattern}");
    }
}

#[test]
fn everything_is_every_character_for_ever() {
    let everything = |pattern: &str| language(pattern).everything().is_some();
    assert!(everything("(?s:.*)") && everything("a(?s:.*)"));
    assert!(
        !everything("") && !everything(".*") && !everything("[^\\u{10ffff}]*") && !everything("a(?s:.+)b")
    );
    assert_eq!(Language::none().everything(), None);
    assert_eq!(language("(?s:.*)").everything(), Some(language("(?s:.*)").start()));
}

#[test]
fn anchors_of_an_expression_are_resolved() {
    let hir = regex_syntax::parse("(^a|b)(?:$|c)").unwrap();
    assert_eq!(Language::hir(&hir, &budget()).unwrap(), language("[ab]c?"));
}

proptest! {
    #[test]
    fn combinations_are_those_of_their_parts(
        patterns in prop::collection::vec(
            prop::sample::select(&["a*", "(ab|é)*", "[^a]{1,3}", ".*b.", "", "日?a+", "(?s:.{2})"][..]), 1..4),
        table in prop::collection::vec(any::<bool>(), 8),
        texts in prop::collection::vec("[abé日\n]{0,5}", 1..20),
    ) {
        let parts: Vec<Language> = patterns.iter().map(|pattern| language(pattern)).collect();
        let accepts = |is_in: &[bool]| table[is_in.iter().fold(0, |at, is_in| at * 2 + usize::from(*is_in))];
        let combined = Language::combine(&parts.iter().collect::<Vec<_>>(), accepts, &budget()).unwrap();
        // Written out and read again, it is the same.
        let expr = combined.to_expr(|chars| Expr::Chars(chars.clone()), &budget()).unwrap();
        prop_assert_eq!(&Language::expr(&expr, &budget()).unwrap(), &combined);
        for text in texts {
            let is_in: Vec<bool> = parts.iter().map(|part| part.accepts(&text)).collect();
            prop_assert_eq!(combined.accepts(&text), accepts(&is_in), "{:?}", text);
        }
    }
}
