//! The violations that still stand, each with its reason. A line that is needed no longer has to go.

/// Files of more than 500 lines.
pub(super) const LONG_FILES: &[(&str, &str)] = &[];

/// Folders of more than a dozen files.
pub(super) const FULL_FOLDERS: &[(&str, &str)] = &[];

/// Circles: the module of a folder, and the names in the circle.
pub(super) const CIRCLES: &[(&str, &str)] = &[];

const LOCAL: &str = "a number of one crate that has no type of its own yet";

/// Type aliases of integers.
pub(super) const BARE_INTEGERS: &[(&str, &str)] = &[
    ("crates/gobo-automata/src/bytes/expand_calls.rs StackId", LOCAL),
    ("crates/gobo-automata/src/chars/alphabet.rs SetId", LOCAL),
    ("crates/gobo-automata/src/chars/nfa.rs NodeId", LOCAL),
    ("crates/gobo-automata/src/chars/nfa.rs PositionId", LOCAL),
    ("crates/gobo-automata/src/ids.rs RuleId", LOCAL),
    ("crates/gobo-automata/src/ids.rs StateId", LOCAL),
    ("crates/gobo-automata/src/symbols/dfa.rs Symbol", LOCAL),
    ("crates/gobo-compiler/src/pairs.rs SuffixSetId", LOCAL),
    ("crates/gobo-compiler/src/rows/configuration_sets.rs SetId", LOCAL),
    ("crates/gobo-compiler/src/rows/configuration_sets.rs StacksId", LOCAL),
    ("crates/gobo-schema/src/ecma/nfa.rs SetId", LOCAL),
    ("crates/gobo-types/src/lib.rs TokenId", "inference engines index their logits by it"),
];
