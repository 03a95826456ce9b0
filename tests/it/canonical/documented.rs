//! The worked example of `docs/semantics.md`.

use std::path::Path;
use std::sync::Arc;

use gobo_artifact::{Matcher, Vocabulary};
use gobo_tokenizer::builtin;
use gobo_types::{Constraint, Tokenization};

use super::{mask, matcher_of};

fn vocabulary(name: &str) -> Arc<Vocabulary> {
    Arc::new(Vocabulary::from_bytes(&builtin(name).unwrap().table.build().unwrap()).unwrap())
}

/// What `gobo mask` prints.
fn shown(matcher: &Matcher) -> String {
    let ids = mask(matcher);
    let token =
        |id: &u32| format!("{id:>9}  {:?}\n", String::from_utf8_lossy(matcher.vocabulary().bytes(*id)));
    let complete = if matcher.is_complete() { "yes" } else { "no" };
    format!(
        "complete  {complete}\nallowed   {} of 100,277 ids\n{}",
        ids.len(),
        ids.iter().map(token).collect::<String>()
    )
}

#[test]
fn the_documented_masks_are_those_of_today() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/semantics.md");
    let document = std::fs::read_to_string(path).unwrap();
    let (_, rest) = document.split_once("<!-- canonical example -->").unwrap();
    let (example, _) = rest.split_once("<!-- /canonical example -->").unwrap();
    let vocabulary = vocabulary("cl100k_base");
    let constraint = Constraint::regex("Diablo( II)?");
    for tokenization in [Tokenization::Any, Tokenization::Canonical] {
        let option =
            if tokenization.is_any() { String::new() } else { format!(" --tokenization {tokenization}") };
        let matcher = matcher_of(&vocabulary, &constraint.clone().cut(tokenization)).unwrap();
        let command = format!(
            "$ gobo mask --tokenizer cl100k_base --regex 'Diablo( II)?'{option}\n{}",
            shown(&matcher)
        );
        assert!(example.contains(&command), "{command}");
    }
}

#[test]
fn the_documented_refusal_names_the_merge_of_today() {
    let vocabulary = vocabulary("r50k_base");
    let constraint = Constraint::regex("[a-z\" :]+").cut(Tokenization::Canonical);
    let mut matcher = matcher_of(&vocabulary, &constraint).unwrap();
    matcher.advance(1).unwrap();
    assert!(!matcher.allows(25));
    assert_eq!(matcher.merge_before(25), Some((1, 1, 25)));
    assert_eq!((vocabulary.bytes(1), vocabulary.bytes(25)), (&b"\""[..], &b":"[..]));
}
