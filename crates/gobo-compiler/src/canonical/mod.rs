//! Indices whose masks let through only what the tokenizer itself would write.
//!
//! The automaton is the product of the constraint's and that of the tokenizer's chunks ([`product`]); its rows are the first tokens of canonical ways to
//! the end ([`first`]), and the matcher takes those away that the last token joins. Tran-Thien 2024, *Fast, high-fidelity LLM decoding with regex
//! constraints*, has a state for each pair of a state and a token in their place.

mod borders;
mod calls;
mod chains;
mod first;
mod inside;
mod numbers;
mod parts;
mod product;
mod rules;
mod tokens;
mod walk;
mod words;

use std::borrow::Cow;

use gobo_artifact::Vocabulary;
use gobo_artifact::write::{CanonicalPart, IndexParts, RowEncoder, write_index};
use gobo_automata::{Calls, Dfa, Lowered, StateId};
use gobo_types::{
    Budget, CompileError, Constraint, DenseId as _, Phase, RefusalKind, ReportEntry, Tokenization, checked_u32,
};

use self::borders::{Behind, Borders};
use self::first::{List, Seeds};
use self::parts::{Canonical, Over, Rows};
use self::product::{DEAD, Product};
use self::rules::{Rules, Stacks};
use self::tokens::Tokens;
use self::walk::{PHASE, Walk};
use self::words::Spellings;
use crate::compiled::{CompileStats, Compiled};
use crate::rows::SharedRows;
use crate::spell::{OTHER_VOCABULARY, Spelled, spell};

/// Compiles an index whose masks let through only what the tokenizer itself would write.
///
/// # Errors
/// [`RefusalKind::Unsupported`] where it is not known what the tokenizer would write, and for token edges, and for rules that nest without end and are ambiguous or have lengths that are counted;
/// [`RefusalKind::Unspellable`] if it would write no text of the constraint.
pub(crate) fn compile_canonical(
    vocabulary: &Vocabulary,
    constraint: &Constraint,
    lowered: &Lowered,
    shared: Option<&SharedRows<'_>>,
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
    budget.begin_phase(Phase::Spell);
    let Spelled { dfa, .. } = spell(vocabulary, constraint, &lowered.dfa, &mut report, budget)?;
    budget.begin_phase(Phase::Rows);
    let over = Over { vocabulary, encoder: &encoder, tokenization: constraint.tokenization, shared, budget };
    let dfa = match dfa.calls.as_ref().and_then(calls::unsupported) {
        None => dfa,
        Some(reason) => match dfa.expand_calls(budget)? {
            Some(expanded) => Cow::Owned(expanded),
            None => return unsupported(reason.to_owned()),
        },
    };
    let found = match &dfa.calls {
        None => canonical(&dfa, over)?,
        Some(calls) => calls::canonical(&dfa, calls, over)?,
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
    budget.begin_phase(Phase::Write);
    let key = vocabulary.index_key(constraint);
    let (text, options) = (constraint.text(), constraint.options_json());
    let mut states: Vec<(Option<u32>, bool)> =
        dfa.accepting.iter().map(|&is_complete| (None, is_complete)).collect();
    let mut row_of = dfa.row_of.clone();
    if found.calls.is_some() {
        // Behind the whole text.
        states.push((None, true));
        row_of.push(row_of[StateId::DEAD.index()]);
    }
    let (states_len, borders) = (states.len(), &found.borders.parts);
    budget.charge_bytes(
        "writing the file",
        (dfa.deltas.len() * 4 + states_len * 12 + borders.all.len() * 12 + found.rows.bytes() + text.len())
            as u64,
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
        start: dfa.start.number(),
        byte_classes: &dfa.classes,
        classes: checked_u32(dfa.stride),
        row_of: &row_of,
        deltas: &dfa.deltas,
        states: &states,
        rows: &found.rows,
        row_computations: checked_u32(found.computed),
        calls: found.calls.as_ref(),
        tokens: None,
        canonical: Some(CanonicalPart {
            encoder: encoder.digest,
            borders,
            heals: (constraint.tokenization.is_behind_prompt())
                .then_some(constraint.tokenization == Tokenization::CanonicalHeal),
            spelled: &found.borders.spelled,
        }),
    });
    let stats = CompileStats {
        states: checked_u32(states_len - 1),
        rows: checked_u32(found.computed),
        distinct_rows: checked_u32(found.rows.len()),
        shared_rows: 0,
        steps: budget.steps(),
        bytes: budget.bytes(),
    };
    Ok(Compiled { key, artifact_digest, stats, bytes })
}

/// The parts of the index, or `None` if no text can be written in canonical form.
fn canonical<'v>(dfa: &Dfa, over: Over<'_, 'v>) -> Result<Option<Canonical<'v>>, CompileError> {
    let Over { vocabulary, encoder, tokenization, shared, budget } = over;
    let product = Product::new(dfa, &encoder.chunks, tokenization.is_behind_prompt(), None, budget)?;
    let calls = Calls::none(dfa.len());
    let rules = Rules { dfa, calls: &calls };
    let walk = Walk { rules, product: &product, encoder, vocabulary, shared, budget };
    let mut first = Tokens::reached(&walk, &mut Stacks::default())?.first;
    first.live =
        first.settle(&walk, Seeds { states: product.ends.clone(), escapes: None, goes_on: false })?;
    let begins =
        |&state: &u32| first.is_reached(state) && encoder.chunks.begins(product.pairs[state as usize].1);
    let after = |border: u32, id| {
        let bytes = vocabulary.bytes(id);
        budget.charge_steps(PHASE, bytes.len() as u64)?;
        let end =
            bytes.iter().fold(border, |at, &byte| if at == DEAD { DEAD } else { product.next(at, byte) });
        Ok(if end == DEAD { Vec::new() } else { vec![end] })
    };
    let states = (1..checked_u32(product.len())).filter(begins);
    let spelled = Spellings::new(&walk, &first, None::<fn(u32) -> bool>, after).find(states)?;
    let mut rows = Rows::new(RowEncoder::new(vocabulary.shared_rows()), vocabulary.row_words(), budget);
    let mut behind = Vec::new();
    for pair in 1..checked_u32(product.len()) {
        if first.is_reached(pair) && first.tokens_of(pair).next().is_some() {
            let lists: Vec<List<'_>> = first.lists_of(pair).collect();
            behind.push(Behind { pair, row: rows.push(&lists)?, set: 0 });
        }
    }
    if first.tokens_of(product.start).next().is_none() && !product.ends[product.start as usize] {
        return Ok(None);
    }
    let borders = Borders::new(dfa.len(), &product, &behind, &spelled);
    Ok(Some(Canonical { borders, computed: rows.computed, rows: rows.all, calls: None }))
}
