//! Files whose classes of tokens contradict themselves.

use gobo_artifact::layout::section;
use gobo_artifact::{Fault, Index, IndexClass};

use super::parts::Parts;
use super::{BOTH_WAYS, BUDGETED, EDGES, SMALL};

fn meaning(what: &str) -> Fault {
    Fault::Meaning { what: what.into() }
}

#[test]
fn classes_of_tokens_that_contradict_themselves_are_found() {
    let good = || Parts::of(&EDGES.index);
    assert_eq!(good().fault(), None);
    let word = |kind: u32, word: usize, value: u32| good().with_word(kind, word, value).fault().unwrap();
    let letters = meaning("the letters of token classes are no ascending numbers of one width");
    // A letter of text, of no byte, of two, with a byte after its end, equal to the next one; a flag that is none.
    for value in [0x61, 0, 0xF5F5, 0x00F5_00F5, 0xF6] {
        assert_eq!(word(section::TOKEN_CLASSES, 0, value), letters, "{value:x}");
    }
    assert_eq!(word(section::TOKEN_CLASSES, 1, 3), letters);
    // The flag of budgets at a class with ids.
    assert_eq!(word(section::TOKEN_CLASSES, 1, 2), meaning("a token class has no ids"));
    let apart = meaning("the ids of token classes do not lie one after the other");
    assert_eq!(word(section::TOKEN_RANGES, 0, 9), apart);
    assert_eq!(word(section::TOKEN_RANGES, 1, 99), apart);
    assert_eq!(word(section::TOKEN_RANGES, 2, 99), apart);
    assert_eq!(word(section::TOKEN_RANGES, 3, 0), apart);
    let mut parts = good();
    parts.section(section::TOKEN_RANGES).truncate(12);
    assert_eq!(parts.fault().unwrap(), meaning("a token class has no ids"));
    let mut parts = good();
    parts.section(section::TOKEN_RANGES).clear();
    parts.section(section::TOKEN_CLASSES).clear();
    assert_eq!(parts.fault().unwrap(), meaning("a token class has no ids"));
    for kind in section::OF_TOKENS {
        let mut parts = good();
        parts.sections.retain(|(of, ..)| of != kind);
        assert!(parts.fault().is_some(), "without section {kind}");
    }
}

#[test]
fn budgets_that_contradict_themselves_are_found() {
    let good = || Parts::of(&BUDGETED.index);
    assert_eq!(good().fault(), None);
    let budget = meaning("a return state has a budget of tokens that cannot be counted");
    for value in [0, 1 << 28, (1 << 28) - 1] {
        assert_eq!(good().with_word(section::BUDGETS, 0, value).fault().unwrap(), budget, "{value}");
    }
    let both = meaning("a return state counts both characters and tokens");
    assert_eq!(good().with_word(section::LENGTHS, 1, 9).fault().unwrap(), both);
    let mut parts = good();
    parts.section(section::BUDGETS).extend([0; 4]);
    assert_eq!(parts.fault().unwrap(), budget);
    // The class of budgets is the last, and there is one.
    let classes = good().section(section::TOKEN_CLASSES).len() / 8;
    assert_eq!(classes, 2);
    assert!(good().with_word(section::TOKEN_CLASSES, 1, 2).fault().is_some());
    assert!(good().with_word(section::TOKEN_CLASSES, 3, 0).fault().is_some());
}

#[test]
fn an_index_keeps_configurations_where_tokens_are_read_in_both_ways() {
    let class = |index: &[u8]| Index::from_bytes(index).unwrap().class();
    assert_eq!(class(&EDGES.index), IndexClass::Regular);
    assert_eq!(class(&BOTH_WAYS.index), IndexClass::Ambiguous);
    assert!(!Index::from_bytes(&SMALL.index).unwrap().has_token_edges());
}
