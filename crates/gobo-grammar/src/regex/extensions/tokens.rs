//! `TEXT_TOKEN`, `PARAGRAPH_TOKEN` and classes of tokens in a pattern.
//!
//! In the pattern each of the two is a token set by itself, and each part of a class one. Once its texts are an automaton, tokens of text are told apart
//! by the places of UTF-8 between which they lead, so that a run of them is valid as a whole, and each pair of places is a set of its own. Tokens of classes
//! are no text, and stand between characters.

use gobo_automata::{CharSet, Expr, Grammar, Language, Rule, RuleId, TokenItem, TokenSet};
use gobo_types::{
    Budget, CompileError, DenseId as _, IdRange, NamedClass, NamedClasses, RefusalKind, Utf8Place,
};

use super::{Extension, Node};
use crate::edges::{NoEdge, TokenSets};

/// The number of the token set that stands for a token of text.
pub(crate) const TEXT_TOKEN: usize = 0;
/// The same without line feed and carriage return in it.
pub(crate) const PARAGRAPH_TOKEN: usize = 1;

/// Looks for what makes no class of tokens, or none that can be named in a pattern. O(ranges log ranges).
///
/// # Errors
/// As [`NamedClasses::check`]; a refusal of a name that is an extension's.
pub fn check_classes(classes: &NamedClasses, budget: &Budget) -> Result<(), CompileError> {
    classes.check(budget)?;
    let is_taken = |name: &&str| {
        let extension = Extension::named(name, Some(Extension::List), classes);
        !matches!(extension, None | Some(Extension::OfTokens(_)))
    };
    match classes.iter().map(|class| class.0).find(is_taken) {
        Some(name) => {
            let reason = format!("{name} means something else in a regular expression");
            Err(CompileError::refuse(RefusalKind::Malformed, format!("token class {name}"), reason))
        }
        None => Ok(()),
    }
}

/// The tokens of the class of a name; `classes`: all that the pattern may name.
pub(crate) fn class(name: &str, class: &NamedClass, classes: &NamedClasses) -> Node {
    let first = PARAGRAPH_TOKEN + 1 + parts(classes).take_while(|part| part.0 != name).count();
    let part = |(set, (_, _, (min, max)))| Node::Chars(CharSet::token_set(set)).repeat(min, max);
    Node::Concat((first..).zip(class.parts()).map(part).collect())
}

/// The parts of all classes, in the order of their token sets: the name of the class, the word for the part, and its ids.
fn parts(classes: &NamedClasses) -> impl Iterator<Item = (&str, &'static str, &[IdRange])> {
    classes.iter().flat_map(|(name, class)| class.parts().map(move |(part, ids, _)| (name, part, ids)))
}

/// The token sets as a pattern numbers them: those of text without regard to places, and the parts of classes that are named. Other parts
/// stand for all tokens, and nowhere.
pub(crate) fn token_sets(classes: &NamedClasses, is_named: impl Fn(&str) -> bool) -> Vec<TokenSet> {
    let set = |items, place: String| TokenSet { items, is_complement: false, place, span: None };
    let of_text = [TEXT_TOKEN, PARAGRAPH_TOKEN].map(|number| {
        let is_one_line = number == PARAGRAPH_TOKEN;
        let pairs = Utf8Place::all().flat_map(|from| Utf8Place::all().map(move |to| (from, to)));
        let items = pairs.map(|(from, to)| TokenItem::Text { from, to, is_one_line });
        set(items.collect(), "the whole regex".to_owned())
    });
    let of_classes = parts(classes).map(|(name, part, ids)| {
        let items = if is_named(name) { of_ids(ids) } else { vec![TokenItem::All] };
        set(items, format!("token class {name}, {part}"))
    });
    of_text.into_iter().chain(of_classes).collect()
}

fn of_ids(ids: &[IdRange]) -> Vec<TokenItem> {
    ids.iter().map(|range| TokenItem::Ids(range.first, range.last)).collect()
}

/// The grammar of a pattern with tokens; `None` for one without. `classes`: those with which it was read.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub fn with_tokens(
    language: &Language,
    classes: &NamedClasses,
    budget: &Budget,
) -> Result<Option<Grammar>, CompileError> {
    if !language.has_token_sets() {
        return Ok(None);
    }
    let parts: Vec<_> = parts(classes).collect();
    let mut sets = TokenSets::of(None);
    let token = |number: usize, from: Utf8Place, to: Utf8Place| {
        let (items, place) = match number.checked_sub(PARAGRAPH_TOKEN + 1) {
            None => {
                let is_one_line = number == PARAGRAPH_TOKEN;
                (vec![TokenItem::Text { from, to, is_one_line }], "the whole regex".to_owned())
            }
            Some(_) if (from, to) != (Utf8Place::BETWEEN, Utf8Place::BETWEEN) => return Ok(None),
            Some(part) => {
                let (name, part, ids) = parts[part];
                (of_ids(ids), format!("token class {name}, {part}"))
            }
        };
        let edge = sets.edge(items, false, || (place, None)).ok_or(NoEdge::TooMany);
        let refuse = |kind, reason| CompileError::refuse(kind, "the whole regex", reason);
        edge.map(|set| Some(Expr::Chars(set))).map_err(|error| error.refusal(refuse))
    };
    let expr = language.with_text_tokens(token, budget)?;
    let rules = vec![Rule { name: "regex".to_owned(), expr, lengths: None }];
    let (start, called, families) = (RuleId::new(0), Vec::new(), Vec::new());
    Ok(Some(Grammar { rules, start, called, families, tokens: sets.sets }))
}
