//! Files whose exits and rows of return states contradict themselves.

use gobo_artifact::Fault;
use gobo_artifact::layout::section;

use super::EXITS;
use super::parts::Parts;

fn meaning(what: &str) -> Fault {
    Fault::Meaning { what: what.into() }
}

#[test]
fn exits_that_contradict_themselves_are_found() {
    let good = || Parts::of(&EXITS.index);
    let word = |kind: u32, word: usize, value: u32| good().with_word(kind, word, value).fault().unwrap();
    assert_eq!(good().fault(), None);
    let words = |kind: u32| -> Vec<u32> {
        let bytes = good().section(kind).clone();
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    };
    let (exits, starts, rows) =
        (words(section::EXITS), words(section::RETURN_ROW_STARTS), words(section::RETURN_ROWS));
    assert!(exits.contains(&1), "{exits:?}");
    let unknown = meaning("a rule ends at an exit that no return state has");
    for value in [u32::MAX, u32::try_from(rows.len()).unwrap()] {
        assert_eq!(word(section::EXITS, 1, value), unknown);
    }
    let apart = meaning("the rows of return states do not lie one after the other");
    assert_eq!(word(section::RETURN_ROW_STARTS, 0, 1), apart);
    assert_eq!(word(section::RETURN_ROW_STARTS, starts.len() - 1, 1), apart);
    assert_eq!(word(section::RETURN_ROW_STARTS, 1, u32::MAX), apart);
    let no_state = meaning("the row of a return state has what is no state, or ends with none");
    assert_eq!(word(section::RETURN_ROWS, 0, u32::try_from(exits.len()).unwrap()), no_state);
    assert_eq!(word(section::RETURN_ROWS, rows.len() - 1, 0), no_state);
    let first = rows.iter().position(|state| *state != 0).unwrap();
    let another = if rows[first] == 1 { 2 } else { 1 };
    assert_eq!(
        word(section::RETURN_ROWS, first, another),
        meaning("a return state is not the first of its row")
    );
    for kind in section::OF_EXITS {
        let mut parts = good();
        parts.sections.retain(|(of, ..)| of != kind);
        assert!(parts.fault().is_some(), "without section {kind}");
    }
    // Where each rule has one exit there are no such sections.
    let mut parts = good();
    let returns = starts.len() - 1;
    let one =
        |numbers: &mut dyn Iterator<Item = u32>| numbers.flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
    let firsts = words(section::RETURNS);
    *parts.section(section::EXITS) = one(&mut exits.iter().map(|_| 0));
    *parts.section(section::RETURN_ROW_STARTS) = one(&mut (0..=u32::try_from(returns).unwrap()));
    *parts.section(section::RETURN_ROWS) = one(&mut firsts.chunks(2).map(|of| of[0]));
    assert_eq!(parts.fault().unwrap(), meaning("no rule has a second exit"));
}
