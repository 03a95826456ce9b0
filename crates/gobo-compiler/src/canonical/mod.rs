//! Indices whose masks let through only what the tokenizer itself would write.
//!
//! A text stands in a state of the constraint, and its chunks in a state of theirs. Where texts go on, whatever their tokens are, is found first ([`texts`]), and then the tokens that may come
//! next at each border ([`fronts`]); where rules call themselves, some of them are left to the stack ([`calls`]). The matcher takes those away that the last token joins. Tran-Thien 2024, *Fast,
//! high-fidelity LLM decoding with regex constraints*, has a state for each pair of a state and a token in their place.

mod borders;
mod calls;
mod fronts;
mod lists;
mod parts;
mod rules;
mod texts;
mod walk;
mod words;

use std::borrow::Cow;

use gobo_artifact::Vocabulary;
use gobo_artifact::write::{CanonicalPart, IndexParts, RowEncoder, write_index};
use gobo_automata::{Calls, Dfa, Lowered, StateId};
use gobo_types::{
    Budget, CompileError, Constraint, DenseId as _, Phase, RefusalKind, ReportEntry, Tokenization,
    checked_u32,
};

use self::borders::{Behind, Borders};
use self::calls::{Below, SetId, Sets};
use self::fronts::{FrontId, Fronts, Joined};
use self::parts::{Canonical, List, Over, Rows};
use self::rules::{Rules, Stacks};
use self::texts::{Spot, Texts};
use self::walk::{PHASE, Walk};
use self::words::Spellings;
use crate::compiled::{CompileStats, Compiled};
use crate::rows::SharedRows;
use crate::spell::{OTHER_VOCABULARY, Spelled, spell};

/// Bytes of a border while borders are compared.
const BORDER_BYTES: u64 = 64;

/// Compiles an index whose masks let through only what the tokenizer itself would write.
///
/// # Errors
/// [`RefusalKind::Unsupported`] where it is not known what the tokenizer would write, and for token edges, and for rules that nest without end and are ambiguous;
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
    let Some(found) = canonical(&dfa, over)? else {
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
    let none;
    let calls = match &dfa.calls {
        Some(calls) => calls,
        None => {
            none = Calls::none(dfa.len());
            &none
        }
    };
    let rules = Rules { dfa, calls };
    let walk = Walk { rules, encoder, vocabulary, shared, budget };
    let texts = Texts::new(rules, encoder, tokenization, budget)?;
    let joined = Joined::new(&walk);
    let mut stacks = Stacks::default();
    let fronts = Fronts::new(&walk, &texts, &joined, &mut stacks)?;
    let after = |border: Spot, id| {
        let bytes = vocabulary.bytes(id);
        let chunk = bytes.iter().fold(border.chunk, |at, &byte| encoder.chunks.next(at, byte));
        let ends = calls::ends(&rules, &mut stacks, border.state, bytes);
        budget.charge_steps(PHASE, (bytes.len() + ends.len()) as u64)?;
        Ok(ends.into_iter().map(|state| Spot { state, chunk }).filter(|&at| texts.may_stand(at)).collect())
    };
    let spelled = Spellings::new(&walk, &texts, &fronts, after).find()?;
    let mut below = Below::new(&walk, &texts, &fronts, &joined, stacks);
    let sets = Sets::new(&mut below)?;
    let more = below.live;
    let row_encoder = match &dfa.calls {
        None => RowEncoder::new(vocabulary.shared_rows()),
        Some(_) => RowEncoder::with_calls(vocabulary.shared_rows()),
    };
    let mut rows = Rows::new(row_encoder, vocabulary.row_words(), budget);
    let lists_of = |front: FrontId| {
        let live =
            fronts.live(front).iter().map(|&list| List { ids: fronts.lists.get(list), number: Some(list) });
        live.chain(more.get(&front).map(|ids| List { ids, number: None }))
    };
    let mut behind: Vec<Option<Behind>> = Vec::with_capacity(fronts.len());
    for front in FrontId::range(0..fronts.len()) {
        let lists: Vec<List<'_>> = lists_of(front).collect();
        let set = sets.of_front[front.index()].number();
        let has_any = !lists.is_empty() || set != 0;
        behind.push(if has_any { Some(Behind { row: rows.push(&lists)?, set }) } else { None });
    }
    let start = Spot { state: dfa.start, chunk: encoder.chunks.start() };
    let begins = fronts.front(&texts, start).is_some_and(|front| behind[front.index()].is_some());
    if !begins && !texts.may_leave(start) {
        return Ok(None);
    }
    // Of each return state what all sets do there.
    let mut effects: Vec<Vec<[u32; 3]>> = vec![Vec::new(); calls.returns.len() + 1];
    for (set, of_set) in SetId::enumerate(&sets.effects) {
        for effect in of_set {
            let mut lists: Vec<List<'_>> = effect.front.into_iter().flat_map(lists_of).collect();
            lists.extend((!effect.live.is_empty()).then_some(List { ids: &effect.live, number: None }));
            if !lists.is_empty() || effect.left != SetId::new(0) {
                let row = rows.push(&lists)?;
                effects[effect.top.index()].push([set.number(), row, effect.left.number()]);
            }
        }
    }
    let states = dfa.len() + usize::from(dfa.calls.is_some());
    budget.charge_bytes(PHASE, fronts.len() as u64 * BORDER_BYTES)?;
    let borders = Borders::new(states, &texts, &fronts, &behind, &spelled);
    let parts = dfa.calls.as_ref().map(|calls| {
        calls::call_parts(dfa, calls, &texts.tops.is_below, borders.sets.clone(), sets.all.len(), &effects)
    });
    joined.share();
    Ok(Some(Canonical { borders, computed: rows.computed, rows: rows.all, calls: parts }))
}
