//! Indices whose masks let through only what the tokenizer itself would write.
//!
//! The automaton is the product of the constraint's and that of the tokenizer's chunks ([`product`]); its rows are the first tokens of canonical ways to
//! the end ([`first`]), and the matcher takes those away that the last token joins. Tran-Thien 2024, *Fast, high-fidelity LLM decoding with regex
//! constraints*, has a state for each pair of a state and a token in their place.

mod calls;
mod first;
mod product;
mod rules;
mod tokens;
mod walk;

use std::collections::hash_map::Entry;

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::Vocabulary;
use gobo_artifact::layout::NO_STEP;
use gobo_artifact::write::{CallParts, CanonicalPart, IndexParts, RowEncoder, write_index};
use gobo_automata::{Calls, Dfa, Lowered};
use gobo_types::{
    Budget, CompileError, Constraint, RefusalKind, ReportEntry, TokenId, Tokenization, checked_u32,
};

use self::first::{List, Seeds};
use self::product::{DEAD, Product};
use self::rules::{Rules, Stacks};
use self::tokens::Tokens;
use self::walk::Walk;
use crate::compiled::{CompileStats, Compiled};
use crate::spell::{OTHER_VOCABULARY, Spelled, spell};

const PHASE: &str = "laying out rows";

/// Of one token in so many words of a row or fewer, the ids are sorted; else words are made.
const FEW: usize = 32;

/// So many words of two rows are united while one token is added to a row.
const WORDS_PER_TOKEN: usize = 8;

/// Compiles an index whose masks let through only what the tokenizer itself would write.
///
/// # Errors
/// [`RefusalKind::Unsupported`] where it is not known what the tokenizer would write, and for token edges, and for rules that nest without end and are ambiguous or have lengths that are counted;
/// [`RefusalKind::Unspellable`] if it would write no text of the constraint.
pub(crate) fn compile_canonical(
    vocabulary: &Vocabulary,
    constraint: &Constraint,
    lowered: &Lowered,
    budget: &Budget,
) -> Result<Compiled, CompileError> {
    const PLACE: &str = "tokenization";
    let unsupported = |reason: String| {
        let advice = "Leave the tokenization open (any), or choose a constraint and a vocabulary that have the canonical one.";
        Err(CompileError::refuse(RefusalKind::Unsupported, PLACE, reason).advising(advice))
    };
    let encoder = match vocabulary.encoder() {
        Ok(encoder) => encoder,
        Err(reason) => return unsupported(format!("it is not known how the tokenizer cuts texts: {reason}")),
    };
    if lowered.tokens.is_some() {
        return unsupported("token edges have no canonical tokenization yet".to_owned());
    }
    let mut report = lowered.report.clone();
    let Spelled { dfa, .. } = spell(vocabulary, constraint, &lowered.dfa, &mut report, budget)?;
    let found = match &dfa.calls {
        None => canonical(&dfa, vocabulary, &encoder, constraint.tokenization, budget)?,
        Some(calls) => match calls::unsupported(calls) {
            None => calls::canonical(&dfa, calls, vocabulary, &encoder, constraint.tokenization, budget)?,
            Some(reason) => match dfa.expand_calls(budget)? {
                Some(expanded) => {
                    canonical(&expanded, vocabulary, &encoder, constraint.tokenization, budget)?
                }
                None => return unsupported(reason.to_owned()),
            },
        },
    };
    let Some(found) = found else {
        let reason = "the tokenizer itself would write no text of it".to_owned();
        return Err(CompileError::refuse(RefusalKind::Unspellable, PLACE, reason).advising(OTHER_VOCABULARY));
    };
    let exactly = match constraint.tokenization {
        Tokenization::CanonicalStrict => {
            "texts are cut into tokens as the tokenizer itself cuts them behind the prompt"
        }
        Tokenization::CanonicalHeal => {
            "texts are cut into tokens as the tokenizer itself cuts them behind the prompt without its last token"
        }
        Tokenization::Any | Tokenization::Canonical => {
            "texts are cut into tokens as the tokenizer itself cuts them"
        }
    };
    let exactly = if encoder.only.is_empty() {
        exactly.to_owned()
    } else {
        format!("{exactly}, of texts {}", encoder.only)
    };
    report.enforced.push(ReportEntry::whole(PLACE, exactly));
    if !encoder.only.is_empty() {
        report.narrowed.push(ReportEntry::whole(PLACE, format!("exact of texts {}", encoder.only)));
    }
    let key = vocabulary.index_key(constraint);
    let (text, options) = (constraint.text(), constraint.options_json());
    let states = found.states.len();
    budget.charge_bytes(
        "writing the file",
        (found.deltas.len() * 4 + states * 16 + found.rows.bytes() + text.len()) as u64,
    )?;
    let (bytes, artifact_digest) = write_index(&IndexParts {
        key,
        vocabulary_digest: vocabulary.digest(),
        vocabulary_len: vocabulary.len(),
        constraint_digest: constraint.digest(),
        constraint_kind: constraint.kind(),
        constraint_text: &text,
        constraint_options: &options,
        report: &report,
        start: found.start,
        byte_classes: &found.classes,
        classes: checked_u32(found.stride),
        row_of: &found.row_of,
        deltas: &found.deltas,
        states: &found.states,
        rows: &found.rows,
        row_computations: checked_u32(found.computed),
        calls: found.calls.as_ref(),
        tokens: None,
        canonical: Some(CanonicalPart {
            encoder: encoder.digest,
            borders: &found.borders,
            starts: (!found.starts.is_empty()).then_some(&found.starts),
            heals: constraint.tokenization == Tokenization::CanonicalHeal,
        }),
    });
    let stats = CompileStats {
        states: checked_u32(states - 1),
        rows: checked_u32(found.computed),
        distinct_rows: checked_u32(found.rows.len()),
        steps: budget.steps(),
        bytes: budget.bytes(),
    };
    Ok(Compiled { key, artifact_digest, stats, bytes })
}

/// What a canonical index is written from.
struct Canonical<'v> {
    classes: [u8; 256],
    stride: usize,
    row_of: Vec<u32>,
    deltas: Vec<i32>,
    start: u32,
    /// `[states]`: the row, where a token can end; and whether the text may end.
    states: Vec<(Option<u32>, bool)>,
    /// `[states]`: the states behind the border of two tokens of a chunk, and of two chunks.
    borders: Vec<[u32; 2]>,
    /// `[states of chunks between characters]`: the state behind a prompt whose chunks stand there; empty without prompts.
    starts: Vec<u32>,
    rows: RowEncoder<'v>,
    computed: usize,
    calls: Option<CallParts>,
}

/// The parts of the index, or `None` if no text can be written in canonical form.
fn canonical<'v>(
    dfa: &Dfa,
    vocabulary: &'v Vocabulary,
    encoder: &gobo_artifact::layout::Encoder<'_>,
    tokenization: Tokenization,
    budget: &Budget,
) -> Result<Option<Canonical<'v>>, CompileError> {
    let product = Product::new(dfa, &encoder.chunks, tokenization.is_behind_prompt(), None, budget)?;
    let calls = Calls::none(dfa.len());
    let rules = Rules { dfa, calls: &calls };
    let walk = Walk { rules, product: &product, encoder, vocabulary, budget };
    let mut first = Tokens::reached(&walk, &mut Stacks::default())?.first;
    first.live = first.settle(&walk, Seeds { states: product.ends.clone(), escapes: None, known: None })?;
    if let Some(word) = first.stuck_word(&walk, |id| vocabulary.bytes(id).to_vec())? {
        return Err(stuck(vocabulary, &word));
    }
    let mut rows = Rows::new(RowEncoder::new(vocabulary.shared_rows()), vocabulary.row_words(), budget);
    let mut states = vec![(None, false); product.len()];
    for state in 1..checked_u32(product.len()) {
        let at = state as usize;
        states[at].1 = product.ends[at];
        if first.is_reached(state) && (product.ends[at] || first.tokens_of(state).next().is_some()) {
            let lists: Vec<List<'_>> = first.lists_of(state).collect();
            states[at].0 = Some(rows.push(&lists)?);
        }
    }
    if states[product.start as usize].0.is_none() {
        return Ok(None);
    }
    // A border before a state without a row is none.
    let border = |next: u32| if states[next as usize].0.is_some() { next } else { DEAD };
    let borders =
        product.within.iter().zip(&product.marked).map(|(&within, &marked)| [border(within), border(marked)]);
    let borders = borders.collect();
    budget.charge_bytes(PHASE, product.bytes())?;
    let (row_of, deltas) = relative(&product);
    Ok(Some(Canonical {
        classes: product.classes,
        stride: product.stride,
        row_of,
        deltas,
        start: product.start,
        states,
        borders,
        starts: product.starts,
        computed: rows.computed,
        rows: rows.all,
        calls: None,
    }))
}

/// The refusal of a text that would have to end behind a word that is spelled.
fn stuck(vocabulary: &Vocabulary, word: &[TokenId]) -> CompileError {
    let word: Vec<u8> = word.iter().flat_map(|&id| vocabulary.bytes(id)).copied().collect();
    let word = String::from_utf8_lossy(&word).into_owned();
    let reason = format!(
        "a text ends a word behind {word:?}, which the tokenizer writes as one token that no merges make"
    );
    CompileError::refuse(RefusalKind::Unsupported, "tokenization", reason)
        .advising("Leave the tokenization open (any), or let the text go on behind the word.")
}

/// The rows of an index while they are written.
struct Rows<'v, 'b> {
    all: RowEncoder<'v>,
    /// How many were asked for.
    computed: usize,
    row_words: usize,
    ids: Vec<TokenId>,
    words: Vec<u32>,
    united: LongLists,
    /// By the places of lists.
    known: HashMap<Vec<u32>, u32>,
    budget: &'b Budget,
}

impl<'v, 'b> Rows<'v, 'b> {
    fn new(all: RowEncoder<'v>, row_words: usize, budget: &'b Budget) -> Self {
        Self {
            all,
            computed: 0,
            row_words,
            ids: Vec::new(),
            words: vec![0; row_words],
            united: LongLists::default(),
            known: HashMap::new(),
            budget,
        }
    }

    /// The number of the row with the tokens of some lists.
    fn push(&mut self, lists: &[List<'_>]) -> Result<u32, CompileError> {
        self.computed += 1;
        // Strings have the same lists inside of their characters.
        let places: Option<Vec<u32>> = lists.iter().map(|list| list.place).collect();
        if let Some(&number) = places.as_ref().and_then(|places| self.known.get(places)) {
            return Ok(number);
        }
        let count: usize = lists.iter().map(|list| list.ids.len()).sum();
        let before = self.all.bytes();
        let number = if count <= self.row_words / FEW {
            self.budget.charge_steps(PHASE, 1 + count as u64)?;
            self.ids.clear();
            self.ids.extend(lists.iter().flat_map(|list| list.ids));
            self.all.push_sparse(&mut self.ids)
        } else {
            self.words.fill(0);
            self.budget.charge_steps(PHASE, self.row_words as u64 / 64)?;
            for list in lists {
                self.united.unite(list, &mut self.words, self.budget)?;
            }
            self.all.push(&self.words)
        };
        self.budget.charge_bytes(PHASE, (self.all.bytes() - before) as u64)?;
        if let Some(places) = places {
            self.known.insert(places, checked_u32(number));
        }
        Ok(checked_u32(number))
    }
}

/// Long lists of tokens as words: each is in the rows of many states, of all that are open while a text goes on with a string.
#[derive(Default)]
struct LongLists(HashMap<u32, Box<[u32]>>);

impl LongLists {
    /// Adds a list to a row: `[row words]`.
    fn unite(&mut self, list: &List<'_>, row: &mut [u32], budget: &Budget) -> Result<(), CompileError> {
        let set = |row: &mut [u32]| {
            list.ids.iter().for_each(|&id| row[(id >> 5) as usize] |= 1 << (id & 31));
            budget.charge_steps(PHASE, list.ids.len() as u64)
        };
        let Some(place) = list.place.filter(|_| list.ids.len() > row.len() / WORDS_PER_TOKEN) else {
            return set(row);
        };
        let words = match self.0.entry(place) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let mut words = vec![0; row.len()].into_boxed_slice();
                set(&mut words)?;
                budget.charge_bytes(PHASE, row.len() as u64 * 4)?;
                new.insert(words)
            }
        };
        budget.charge_steps(PHASE, row.len() as u64 / 64)?;
        row.iter_mut().zip(words).for_each(|(word, more)| *word |= *more);
        Ok(())
    }
}

/// The transitions as rows that states share: how far the next state is from the state at hand.
fn relative(product: &Product) -> (Vec<u32>, Vec<i32>) {
    let mut known: HashMap<Vec<i32>, u32> = HashMap::new();
    let (mut row_of, mut deltas) = (Vec::with_capacity(product.len()), Vec::new());
    for (state, steps) in (0_i64..).zip(product.steps.chunks_exact(product.stride)) {
        let delta = |&next: &u32| match next {
            DEAD => NO_STEP,
            next => i32::try_from(i64::from(next) - state).expect("the limit of states is below 2^31"),
        };
        let row: Vec<i32> = steps.iter().map(delta).collect();
        let new = checked_u32(known.len());
        let number = *known.entry(row).or_insert_with_key(|row| {
            deltas.extend_from_slice(row);
            new
        });
        row_of.push(number);
    }
    (row_of, deltas)
}
