//! Lays out the rows of an index: of equal ones the first, each in the cheapest form.

use std::collections::hash_map::Entry;

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::Vocabulary;
use gobo_artifact::write::RowEncoder;
use gobo_types::{Budget, CompileError, TokenId, checked_u32};

use crate::rows::{RowTokens, RuleView, SliceSet};
use crate::tokens::TokenRows;

/// The rows of a file.
pub(crate) struct LaidOut<'v> {
    /// The distinct ones.
    pub(crate) rows: RowEncoder<'v>,
    /// The number of each computed one.
    pub(crate) numbers: Vec<u32>,
    /// The number of the row without tokens, if there is one under token edges.
    pub(crate) empty: Option<u32>,
    /// Whether some token of some row is read both by its bytes and by an edge.
    pub(crate) are_both: bool,
}

/// Stores the distinct rows, and tells the number of each computed one.
pub(crate) fn lay_out<'v>(
    view: &RuleView<'_>,
    has_calls: bool,
    vocabulary: &'v Vocabulary,
    tokens_of_edges: Option<&TokenRows>,
    computed: &[RowTokens],
    budget: &Budget,
) -> Result<LaidOut<'v>, CompileError> {
    const PHASE: &str = "laying out rows";
    let order = view.all().trie.order;
    let row_words = view.row_words();
    let shared = vocabulary.shared_rows();
    let mut rows = if has_calls { RowEncoder::with_calls(shared) } else { RowEncoder::new(shared) };
    let mut known: HashMap<&RowTokens, u32> = HashMap::new();
    // Most rows with slices have the same ones.
    let mut unions: HashMap<SliceSet, Vec<u32>> = HashMap::new();
    let mut numbers = Vec::with_capacity(computed.len());
    let mut words = vec![0; row_words];
    let mut ids: Vec<TokenId> = Vec::new();
    let (mut empty, mut are_both) = (None, false);
    // A row of ids, where edges make it another one.
    let mut words_of_ids = vec![0; vocabulary.row_words()];
    for tokens in computed {
        if let Some(&number) = known.get(tokens) {
            numbers.push(number);
            continue;
        }
        let before = rows.bytes();
        let walked: u32 = tokens.ranges.iter().map(|(from, to)| to - from).sum();
        budget.charge_steps(PHASE, u64::from(walked))?;
        let number = if tokens_of_edges.is_none()
            && tokens.whole.is_empty()
            && tokens.short.is_empty()
            && walked as usize <= row_words / FEW_IDS
        {
            ids.clear();
            ids.extend(tokens.ranges.iter().flat_map(|&(from, to)| &order[from as usize..to as usize]));
            rows.push_sparse(&mut ids)
        } else {
            budget
                .charge_steps(PHASE, row_words as u64 * (2 + tokens.short.len() as u64) / WORDS_PER_STEP)?;
            let union = match unions.entry(tokens.whole) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(fresh) => {
                    budget.charge_bytes(PHASE, row_words as u64 * 4)?;
                    fresh.insert(view.union(tokens.whole))
                }
            };
            words.copy_from_slice(union);
            view.add_bits(tokens, &mut words);
            match tokens_of_edges {
                None => rows.push(&words),
                Some(edges) => {
                    let merged = row_words as u64 * (1 + edges.len() as u64);
                    budget.charge_steps(PHASE, merged / WORDS_PER_STEP)?;
                    are_both |= edges.write(&words, &mut words_of_ids);
                    rows.push(&words_of_ids)
                }
            }
        };
        let number = checked_u32(number);
        if tokens_of_edges.is_some() && words_of_ids.iter().all(|&word| word == 0) {
            empty = Some(number);
        }
        budget.charge_bytes(PHASE, (rows.bytes() - before) as u64)?;
        known.insert(tokens, number);
        numbers.push(number);
    }
    Ok(LaidOut { rows, numbers, empty, are_both })
}

/// A row with at most one id for this many words is stored as sorted ids; others as words.
const FEW_IDS: usize = 32;

/// Words of a row that are copied or merged in the time of one step elsewhere.
const WORDS_PER_STEP: u64 = 32;
