//! Section numbers. Numbers are never used again for something else.

/// rkyv archive of the root: counts and digests.
pub const ROOT: u32 = 1;
/// rkyv archive of the enforcement report.
pub const REPORT: u32 = 2;
/// The canonical text of the constraint, UTF-8.
pub const CONSTRAINT: u32 = 3;
/// Everything of the constraint that is not in its text, JSON.
pub const CONSTRAINT_OPTIONS: u32 = 4;
/// u32 `[vocabulary length + 1]`: where each id's bytes begin in `TOKEN_BYTES`.
pub const TOKEN_OFFSETS: u32 = 16;
/// The bytes of all ids, in id order.
pub const TOKEN_BYTES: u32 = 17;
/// u32 `[row words]`: the special ids, as a row.
pub const SPECIAL: u32 = 18;
/// u32 pairs `[trie nodes]`, of the trie of all and of each slice: byte, end of block and first child; first id. Block by block, in preorder of the parents.
pub const TRIE: u32 = 19;
/// u32 `[2, ordinary tokens]`: ids by bytes, then by number; of all, then slice by slice.
pub const TRIE_ORDER: u32 = 20;
/// u16 `[trie nodes]`: which byte set covers all edges below a node; 0 where none is kept.
pub const TRIE_SET_IDS: u32 = 21;
/// u32 `[sets, 8]`: bit `b & 31` of word `b >> 5` is byte `b`.
pub const TRIE_SETS: u32 = 22;
/// 72 bytes `[slices]`: where the tables of each slice lie.
pub const SLICES: u32 = 23;
/// u32 pairs: ranges of characters, first and last.
pub const SLICE_CHARS: u32 = 24;
/// u32 `[bitmaps, row words]`: of each slice all tokens, then those of at most 1, 2, … characters.
pub const SLICE_ROWS: u32 = 25;
/// u32 pairs (characters, id) of tokens too long for a bitmap.
pub const SLICE_LONG: u32 = 26;
/// u32 `[shared rows, row words]`: rows that the indices of a vocabulary share.
pub const SHARED_ROWS: u32 = 27;
/// u8 `[256]`: the class of each byte.
pub const BYTE_CLASSES: u32 = 32;
/// `[states, classes]`: the next state; or i32 `[rows, classes]`: how far it is from the state at hand.
pub const TRANSITIONS: u32 = 33;
/// u32 `[states]`: row id and completeness.
pub const STATES: u32 = 34;
/// u32 quadruples `[rows]`: kind, offset, length, base.
pub const ROW_TABLE: u32 = 35;
/// u32 `[dense rows, row words]`.
pub const DENSE_ROWS: u32 = 36;
/// u32 pairs (word, bits), ascending by word within a row.
pub const ROW_PATCHES: u32 = 38;
/// u32 `[states]`: which row of shared transitions a state has; empty for the other storages.
pub const TRANSITION_ROWS: u32 = 39;

/// rkyv archive: the depths of an index with calls, and the names of its return states.
pub const CALLS: u32 = 40;
/// u32 `[states + 1]`: where the push transitions of each state begin.
pub const PUSH_TRANSITION_STARTS: u32 = 41;
/// u32 triples: entry state; where the pushed return states begin in [`PUSHED`], and where they end.
pub const PUSH_TRANSITIONS: u32 = 42;
/// u32: numbers of return states, outermost first within a push transition.
pub const PUSHED: u32 = 43;
/// u32 pairs `[returns]`: the return states, each with its class.
pub const RETURNS: u32 = 44;
/// u32 `[states]`: the pending-suffix set of each state; 0 is the empty one.
pub const SUFFIX_SETS: u32 = 45;
/// u32 `[suffix sets + 1]`: where the pairs of each set begin.
pub const PAIR_STARTS: u32 = 46;
/// u32 triples (return class, row, suffix set that is left), ascending by class within a set.
pub const PAIRS: u32 = 47;

/// u32 pairs `[returns]`: how many characters may be read until each return state is popped, at least and at most.
pub const LENGTHS: u32 = 48;
/// u32 triples (state, place in an escape, distance), ascending, after one for the dead state with the greatest distance.
pub const DISTANCES: u32 = 49;
/// u32 `[returns]`: how many characters may stand before the last `@` of what is read until each return state is popped.
pub const HEADS: u32 = 50;
/// As the distances: to the last `@`, of the states before it.
pub const HEAD_DISTANCES: u32 = 51;

/// u32 `[states]`: the exit of each state at which its rule may end; 0 of all others.
pub const EXITS: u32 = 52;
/// u32 `[returns + 1]`: where the row of each return state begins.
pub const RETURN_ROW_STARTS: u32 = 53;
/// u32: the states of the rows of return states, by exit; 0 where the caller has no way on.
pub const RETURN_ROWS: u32 = 54;

/// u32 triples (first id, last id, class): the ids of each class of tokens that edges read, ascending.
pub const TOKEN_RANGES: u32 = 55;
/// 8 bytes `[classes of tokens]`: the letter of each, and whether an edge names its ids.
pub const TOKEN_CLASSES: u32 = 56;

/// u32 `[returns]`: how many tokens may begin until each return state is popped; 0xFFFFFFFF where they are not counted.
pub const BUDGETS: u32 = 57;

/// rkyv archive: the counts of the tables of the encoder and their digest, or why there are none.
pub const ENCODER: u32 = 58;
/// 16 bytes `[vocabulary length + 1]`: right part, time of the last merge, number, and where the cuts of each token begin.
pub const MERGE_TOKENS: u32 = 59;
/// u32 `[proper tokens]`: ids by their numbers.
pub const MERGE_ORDER: u32 = 60;
/// u32 triples `[merges]`: time, and the numbers of the next tokens that a merge joins; by left part, then by time.
pub const MERGE_CUTS: u32 = 61;
/// u8 `[256]`: the class of each byte for the automaton of chunks.
pub const CHUNK_CLASSES: u32 = 62;
/// u16 `[chunk states, classes]`: the next state.
pub const CHUNK_STEPS: u32 = 63;
/// u16 quadruples `[chunk states]`: the state behind a border within a chunk, behind a mark, whether the text may end, zero.
pub const CHUNK_STATES: u32 = 64;
/// u16 `[vocabulary length]`: the class of each token: what it does to the states of chunks between characters.
pub const TOKEN_CHUNKS: u32 = 67;
/// u16 `[classes of tokens, chunk states between characters]`: the state after a token.
pub const TOKEN_CHUNK_STEPS: u32 = 68;
/// u32 triples: the trie of the spellings of tokens that are whole chunks although no merges make them: node, token, next node with its highest bit set where one ends.
pub const WORDS: u32 = 69;
/// 32 bytes: the digest of the encoder as whose tokens the texts of an index are cut.
pub const ENCODER_DIGEST: u32 = 65;
/// u32 pairs: the borders behind which tokens may begin, by class: where the chunks stand there, ascending, and the row. Border 0 is none.
pub const BORDERS: u32 = 66;
/// u32 `[states]`: the class of each state; states of one class have the same borders. Class 0 has none.
pub const BORDER_CLASSES: u32 = 73;
/// u32 `[classes + 1]`: where the borders of each class begin.
pub const BORDER_STARTS: u32 = 74;
/// u32: 1 if the last token of the prompt is taken back, else 0.
pub const HEALS: u32 = 71;
/// u32 triples: border, node of words, and token: behind that a chunk may have to end that spells a word; ascending.
pub const SPELLED_WORDS: u32 = 72;

/// Storage of a section whose layout needs no choice.
pub const PLAIN: u32 = 0;
/// Transitions as u16.
pub const DENSE_U16: u32 = 1;
/// Transitions as u32.
pub const DENSE_U32: u32 = 2;
/// Transitions as rows that states share: i32, relative to the state.
pub const SHARED: u32 = 3;

/// The name of a section in messages and listings.
pub fn name(kind: u32) -> Option<&'static str> {
    Some(match kind {
        ROOT => "root",
        REPORT => "report",
        CONSTRAINT => "constraint",
        CONSTRAINT_OPTIONS => "constraint options",
        TOKEN_OFFSETS => "token offsets",
        TOKEN_BYTES => "token bytes",
        SPECIAL => "special",
        TRIE => "trie",
        TRIE_ORDER => "trie order",
        TRIE_SET_IDS => "trie set ids",
        TRIE_SETS => "trie sets",
        SLICES => "slices",
        SLICE_CHARS => "slice characters",
        SLICE_ROWS => "slice rows",
        SLICE_LONG => "slice long tokens",
        SHARED_ROWS => "shared rows",
        BYTE_CLASSES => "byte classes",
        TRANSITIONS => "transitions",
        TRANSITION_ROWS => "transition rows",
        STATES => "states",
        ROW_TABLE => "row table",
        DENSE_ROWS => "dense rows",
        ROW_PATCHES => "row patches",
        CALLS => "calls",
        PUSH_TRANSITION_STARTS => "push transition starts",
        PUSH_TRANSITIONS => "push transitions",
        PUSHED => "pushed return states",
        RETURNS => "returns",
        SUFFIX_SETS => "suffix sets",
        PAIR_STARTS => "pair starts",
        PAIRS => "pairs",
        LENGTHS => "lengths",
        DISTANCES => "distances",
        HEADS => "heads",
        HEAD_DISTANCES => "head distances",
        EXITS => "exits",
        RETURN_ROW_STARTS => "return row starts",
        RETURN_ROWS => "return rows",
        TOKEN_RANGES => "token ranges",
        TOKEN_CLASSES => "token classes",
        BUDGETS => "budgets",
        ENCODER => "encoder",
        MERGE_TOKENS => "merge tokens",
        MERGE_ORDER => "merge order",
        MERGE_CUTS => "merge cuts",
        CHUNK_CLASSES => "chunk classes",
        CHUNK_STEPS => "chunk steps",
        CHUNK_STATES => "chunk states",
        TOKEN_CHUNKS => "token chunks",
        TOKEN_CHUNK_STEPS => "token chunk steps",
        WORDS => "words",
        ENCODER_DIGEST => "encoder digest",
        BORDERS => "borders",
        BORDER_CLASSES => "border classes",
        BORDER_STARTS => "border starts",
        HEALS => "heals",
        SPELLED_WORDS => "spelled words",
        _ => return None,
    })
}

/// The sections of a vocabulary, in file order.
pub const OF_VOCABULARY: &[u32] = &[
    ROOT,
    TOKEN_OFFSETS,
    TOKEN_BYTES,
    SPECIAL,
    TRIE,
    TRIE_ORDER,
    TRIE_SET_IDS,
    TRIE_SETS,
    SLICES,
    SLICE_CHARS,
    SLICE_ROWS,
    SLICE_LONG,
    SHARED_ROWS,
];
/// The sections that a vocabulary has after these if its tokenizer's encoder was looked at; without tables, the first one alone.
pub const OF_ENCODER: &[u32] = &[
    ENCODER,
    MERGE_TOKENS,
    MERGE_ORDER,
    MERGE_CUTS,
    CHUNK_CLASSES,
    CHUNK_STEPS,
    CHUNK_STATES,
    TOKEN_CHUNKS,
    TOKEN_CHUNK_STEPS,
    WORDS,
];
/// The sections of an index, in file order.
pub const OF_INDEX: &[u32] = &[
    ROOT,
    REPORT,
    CONSTRAINT,
    CONSTRAINT_OPTIONS,
    BYTE_CLASSES,
    TRANSITIONS,
    TRANSITION_ROWS,
    STATES,
    ROW_TABLE,
    DENSE_ROWS,
    ROW_PATCHES,
];
/// The sections that an index with calls has after these, in file order.
pub const OF_CALLS: &[u32] =
    &[CALLS, PUSH_TRANSITION_STARTS, PUSH_TRANSITIONS, PUSHED, RETURNS, SUFFIX_SETS, PAIR_STARTS, PAIRS];
/// The sections that an index with counted rules has after those of its calls, in file order.
pub const OF_LENGTHS: &[u32] = &[LENGTHS, DISTANCES];
/// The sections that an index has after these if some of its counted rules bound the heads of their texts.
pub const OF_HEADS: &[u32] = &[HEADS, HEAD_DISTANCES];
/// The section that an index has after these if some of its rules count tokens.
pub const OF_BUDGETS: &[u32] = &[BUDGETS];
/// The sections that an index has after these if some of its rules have several exits.
pub const OF_EXITS: &[u32] = &[EXITS, RETURN_ROW_STARTS, RETURN_ROWS];
/// The sections that an index has after all others if it has token edges.
pub const OF_TOKENS: &[u32] = &[TOKEN_RANGES, TOKEN_CLASSES];
/// The sections that an index has after all others if its texts are cut into tokens as the tokenizer cuts them.
pub const OF_CANONICAL: &[u32] = &[ENCODER_DIGEST, BORDER_CLASSES, BORDER_STARTS, BORDERS];
/// The section that a canonical index has after these if its texts go on with the last chunk of a prompt.
pub const OF_PROMPTS: &[u32] = &[HEALS];
/// The section that a canonical index has after these if a chunk may have to end that spells a word.
pub const OF_SPELLED: &[u32] = &[SPELLED_WORDS];
