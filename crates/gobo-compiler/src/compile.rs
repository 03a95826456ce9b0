//! Compiles an index: spelling, row classes, rows, then the file.
//!
//! States of one row class share a row; the row of each class is found by a walk of the vocabulary trie ([`crate::rows`]) or, with
//! calls, by the work list of pairs ([`crate::pairs`]). O(row classes × trie nodes) at worst. Willard & Louf 2023 (arXiv 2307.09702).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::Vocabulary;
use gobo_artifact::write::{CallParts, DistancePart, IndexParts, ReturnPart, write_index};
use gobo_automata::{
    Calls, Dfa, Distance, KEquivalence, Lowered, Return, ReturnId, RowClass, RowClasses, StateId,
};
use gobo_types::{Budget, CompileError, Constraint, DenseId as _, Phase, RefusalKind, checked_u32};

use crate::RowCache;
use crate::canonical::compile_canonical;
use crate::compiled::{CompileStats, Compiled};
use crate::lay_out::{LaidOut, lay_out};
use crate::pairs;
use crate::pairs::return_classes::{Asked, ReturnClassId, ReturnClasses, Under, Unders};
use crate::pairs::suffix_sets::{Pair, SuffixSetId};
use crate::rows::{Lengths, RowTokens, RuleView, SharedRows, SliceSet, Walker};
use crate::spell::{Spelled, spell};
use crate::tokens::{TokenRows, no_calls};

/// How to compile. Nothing here changes the bytes of the index.
#[derive(Debug, Clone, Copy)]
pub struct CompileOptions<'a> {
    /// Threads that compute rows, the caller's among them; at least 1. Default 1.
    pub threads: usize,
    /// Rows that this compile shares with others, of any vocabularies. Default none.
    pub cache: Option<&'a RowCache>,
    /// The vocabulary with a token for each letter behind its own ([`gobo_automata::token_letters`]), and without those that have a byte of
    /// letters: for automata with token edges, which cannot be compiled without. Default none.
    pub lettered: Option<&'a Vocabulary>,
}

impl Default for CompileOptions<'_> {
    fn default() -> Self {
        Self { threads: 1, cache: None, lettered: None }
    }
}

/// Compiles the index of one constraint over one vocabulary. The same inputs give the same bytes, on every machine, with
/// any number of threads and whatever a cache holds.
///
/// A row that is found in a cache is charged what it cost where it was computed. That depends a little on what was computed beside
/// it, so wherever a compile with a cache ends over budget, or near it, it is repeated without.
///
/// The rows are those of Willard & Louf 2023 (arXiv 2307.09702), Algorithm 4, without a step per token and state: states
/// that no token can tell apart share one walk of the vocabulary trie.
///
/// # Errors
/// [`CompileError::Refused`] if the vocabulary cannot write the constraint, [`CompileError::OverBudget`],
/// [`CompileError::Unavailable`] when cancelled; [`CompileError::Failed`] for token edges without a vocabulary with letters.
pub fn compile(
    vocabulary: &Vocabulary,
    constraint: &Constraint,
    lowered: &Lowered,
    options: &CompileOptions<'_>,
    budget: &Budget,
) -> Result<Compiled, CompileError> {
    if !constraint.tokenization.is_any() {
        let compile = |shared: Option<&SharedRows<'_>>| {
            compile_canonical(vocabulary, constraint, lowered, shared, budget)
        };
        return with_cache(options.cache, budget, compile);
    }
    let tokens = match (&lowered.tokens, options.lettered) {
        (None, _) => None,
        (Some(classes), Some(lettered)) => Some((TokenRows::new(classes, vocabulary, budget)?, lettered)),
        (Some(_), None) => {
            return Err(CompileError::Failed("token edges without a vocabulary with letters".into()));
        }
    };
    let input = Input { vocabulary, constraint, lowered, tokens, threads: options.threads };
    with_cache(options.cache, budget, |shared| compile_with(&input, shared, budget))
}

/// Compiles with the help of a cache; where that ends over budget, or near it, without.
fn with_cache(
    cache: Option<&RowCache>,
    budget: &Budget,
    compile: impl Fn(Option<&SharedRows<'_>>) -> Result<Compiled, CompileError>,
) -> Result<Compiled, CompileError> {
    let Some(cache) = cache else { return compile(None) };
    let mark = budget.mark();
    let shared = SharedRows::new(cache);
    let mut compiled = compile(Some(&shared));
    let is_near = match &mut compiled {
        Ok(compiled) => {
            compiled.stats.shared_rows = shared.found();
            budget.is_nearly_spent()
        }
        Err(error) => matches!(error, CompileError::OverBudget(_)),
    };
    if !(is_near && shared.found() > 0) {
        return compiled;
    }
    budget.rewind(mark);
    compile(None)
}

/// What is compiled.
struct Input<'a> {
    vocabulary: &'a Vocabulary,
    constraint: &'a Constraint,
    lowered: &'a Lowered,
    /// The classes of token edges, if there are any, and the vocabulary with letters.
    tokens: Option<(TokenRows, &'a Vocabulary)>,
    threads: usize,
}

/// Compiles with the help of rows that are `shared`.
fn compile_with(
    input: &Input<'_>,
    shared: Option<&SharedRows<'_>>,
    budget: &Budget,
) -> Result<Compiled, CompileError> {
    let &Input { vocabulary, constraint, lowered, ref tokens, threads } = input;
    // What rows are computed over.
    let read = tokens.as_ref().map_or(vocabulary, |(_, lettered)| lettered);
    let tokens = tokens.as_ref().map(|(tokens, _)| tokens);
    let mut report = lowered.report.clone();
    budget.begin_phase(Phase::Spell);
    let Spelled { dfa, useful, needs_row } = spell(read, constraint, &lowered.dfa, &mut report, budget)?;
    let root = read.root();
    budget.begin_phase(Phase::Rows);

    // One row for all states that no token can tell apart.
    let (chars, inner_chars) = (root.longest_token_chars, root.longest_inner_chars);
    let RowClasses { of: groups, count: group_count, equivalences } = budget.holding(
        || dfa.row_classes(&useful, root.longest_token_bytes, chars, inner_chars, budget),
        |groups| (1 + groups.equivalences.len() as u64) * groups.of.len() as u64 * 4,
    )?;
    let (group_row, representatives) = representatives(&groups, group_count, &needs_row);
    let all_useful = useful.iter().skip(1).all(|&useful| useful);
    let view = view_of(&dfa, read, all_useful, budget)?;
    // Of each representative: the place of its row in `computed`.
    let (computed, row_at, calls) = match &dfa.calls {
        Some(calls) => {
            let classes = ReturnClasses::new(calls, &groups);
            let asked = asked(calls, &classes, &representatives, &groups, &needs_row);
            let mut computed = pairs::rows(&view, calls, &classes, &equivalences, &asked, shared, budget)?;
            let (rows, row_at) =
                (std::mem::take(&mut computed.rows), std::mem::take(&mut computed.of_states));
            (rows, row_at, Some((calls, classes, computed)))
        }
        None => {
            let useful = (!all_useful).then_some(useful.as_slice());
            let walker = Walker::new(&dfa, &view);
            let (rows, row_at) = rows_without_calls(
                &walker,
                &groups,
                &equivalences,
                &representatives,
                useful,
                threads,
                budget,
            )?;
            (rows, row_at, None)
        }
    };
    budget.begin_phase(Phase::LayOut);
    let LaidOut { rows, numbers: row_numbers, empty, are_both } =
        lay_out(&view, dfa.has_calls(), vocabulary, tokens, &computed, budget)?;
    if are_both && !all_useful {
        return Err(read_in_both_ways(constraint));
    }

    let states: Vec<(Option<u32>, bool)> = StateId::enumerate(&needs_row)
        .map(|(state, &needs_row)| {
            let row = group_row[groups[state.index()].index()].filter(|_| needs_row);
            let row = row.map(|row| row_numbers[row_at[row]]);
            let is_complete = needs_row && dfa.accepting[state];
            // Inside of a letter no token ends.
            let is_inside = !dfa.has_calls() && !is_complete && row.is_some() && row == empty;
            (row.filter(|_| !is_inside), is_complete)
        })
        .collect();
    let mut calls = calls.map(|(calls, classes, computed)| {
        let pending_of = |state: StateId| {
            let row = group_row[groups[state.index()].index()].filter(|_| needs_row[state.index()]);
            row.map_or(SuffixSetId::EMPTY, |row| computed.pending[row])
        };
        call_parts(&dfa, calls, view.lengths(), &classes, &computed.pairs, pending_of, &row_numbers)
    });
    match &mut calls {
        Some(calls) => calls.is_deterministic &= !tokens.is_some_and(TokenRows::have_text),
        None => calls = are_both.then(|| no_calls(states.len())),
    }
    let tokens = tokens.map(TokenRows::parts);
    budget.begin_phase(Phase::Write);
    let key = vocabulary.index_key(constraint);
    let (text, options) = (constraint.text(), constraint.options_json());
    budget.charge_bytes(
        "writing the file",
        (dfa.deltas.len() * 4 + dfa.len() * 8 + rows.bytes() + text.len()) as u64,
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
        row_of: &dfa.row_of,
        deltas: &dfa.deltas,
        states: &states,
        rows: &rows,
        row_computations: checked_u32(computed.len()),
        calls: calls.as_ref(),
        tokens: tokens.as_deref(),
        canonical: None,
    });
    let stats = stats(dfa.len() - 1, computed.len(), rows.len(), budget);
    Ok(Compiled { key, artifact_digest, stats, bytes })
}

fn stats(states: usize, rows: usize, distinct_rows: usize, budget: &Budget) -> CompileStats {
    CompileStats {
        states: checked_u32(states),
        rows: checked_u32(rows),
        distinct_rows: checked_u32(distinct_rows),
        shared_rows: 0,
        steps: budget.steps(),
        bytes: budget.bytes(),
    }
}

/// Of each group of states that needs a row the place of its first state, and these states.
fn representatives(
    groups: &[RowClass],
    group_count: usize,
    needs_row: &[bool],
) -> (Vec<Option<usize>>, Vec<StateId>) {
    let mut group_row: Vec<Option<usize>> = vec![None; group_count];
    let mut representatives: Vec<StateId> = Vec::new();
    for (state, _) in StateId::enumerate(needs_row).filter(|(_, needs_row)| **needs_row) {
        group_row[groups[state.index()].index()].get_or_insert_with(|| {
            representatives.push(state);
            representatives.len() - 1
        });
    }
    (group_row, representatives)
}

/// What rows are computed from.
fn view_of<'a>(
    dfa: &'a Dfa,
    read: &'a Vocabulary,
    all_useful: bool,
    budget: &Budget,
) -> Result<RuleView<'a>, CompileError> {
    let mut view = RuleView::new(dfa, read, budget)?;
    if all_useful {
        view = view.with_slices(SliceSet::live(read, &dfa.live_bytes()), budget)?;
    }
    if dfa.has_calls() {
        // Without a cache nobody asks for keys. They are charged all the same, so that verdicts do not depend on a cache.
        view = view.with_keys(budget)?;
    }
    Ok(view)
}

/// States whose walks share a memo. It does not depend on the number of threads, because charges must not.
const STATES_PER_SHARE: usize = 512;

/// The rows of an automaton without calls, and for each of `states` the place of its row.
fn rows_without_calls(
    walker: &Walker<'_>,
    groups: &[RowClass],
    equivalences: &[KEquivalence],
    states: &[StateId],
    useful: Option<&[bool]>,
    threads: usize,
    budget: &Budget,
) -> Result<(Vec<RowTokens>, Vec<usize>), CompileError> {
    let view = walker.view();
    // States that take slices walk much the same rest of the trie, and so do states that only longer texts tell apart: these walks
    // share a memo.
    let is_like_another = like_another(states, equivalences);
    let (kept, walked): (Vec<usize>, Vec<usize>) =
        (0..states.len()).partition(|&at| is_like_another[at] || view.is_worth_it(&view.fates(states[at])));
    let states_of = |places: &[usize]| places.iter().map(|&at| states[at]).collect::<Vec<StateId>>();
    let calls = Calls::none(view.len());
    let classes = ReturnClasses::new(&calls, groups);
    // Where not every state is useful, neither slices nor short texts are known, so nothing is kept.
    debug_assert!(useful.is_none() || kept.is_empty(), "walks that are kept do not ask what is useful");
    let shares: Vec<&[usize]> = kept.chunks(STATES_PER_SHARE).collect();
    let of_kept = in_parallel(threads, &shares, |share| {
        let nothing = Arc::new(Under::default());
        let alone = |&at: &usize| Asked { state: states[at], under: Arc::clone(&nothing) };
        let asked: Vec<Asked> = share.iter().map(alone).collect();
        pairs::rows(view, &calls, &classes, equivalences, &asked, None, budget)
    })?;
    let batches: Vec<Vec<usize>> = (walker.batches(&states_of(&walked)).into_iter())
        .map(|batch| batch.into_iter().map(|at| walked[at]).collect())
        .collect();
    let of_walked = in_parallel(threads, &batches, |batch| walker.rows(&states_of(batch), useful, budget))?;
    let (mut rows, mut row_at) = (Vec::new(), vec![0; states.len()]);
    for (share, found) in shares.iter().zip(of_kept) {
        share.iter().zip(found.of_states).for_each(|(&at, row)| row_at[at] = rows.len() + row);
        rows.extend(found.rows);
    }
    for (&at, tokens) in batches.iter().flatten().zip(of_walked.into_iter().flatten()) {
        row_at[at] = rows.len();
        rows.push(tokens);
    }
    Ok((rows, row_at))
}

/// `[states]`: which of `states` no short text tells apart from another one of them.
fn like_another(states: &[StateId], equivalences: &[KEquivalence]) -> Vec<bool> {
    let Some(KEquivalence { representative: first, .. }) = equivalences.first() else {
        return vec![false; states.len()];
    };
    let mut count = vec![0_u32; first.len()];
    states.iter().for_each(|&state| count[first[state.index()].index()] += 1);
    states.iter().map(|&state| count[first[state.index()].index()] > 1).collect()
}

/// The tables of calls as they are written.
fn call_parts(
    dfa: &Dfa,
    calls: &Calls,
    lengths: &Lengths,
    classes: &ReturnClasses,
    pairs: &[Vec<Pair>],
    pending_of: impl Fn(StateId) -> SuffixSetId,
    row_numbers: &[u32],
) -> CallParts {
    let states = || StateId::range(0..dfa.len());
    let pushed = |of: &[ReturnId]| of.iter().map(|top| top.number()).collect();
    let openings_of = |state: StateId| {
        let push_transitions = calls.push_transitions(state).iter();
        push_transitions.map(|push| (push.entry.number(), pushed(calls.pushed(push)))).collect()
    };
    let merged = merged_classes(classes, pairs, row_numbers);
    let pairs_of = |pairs: &Vec<Pair>| {
        let kept = pairs.iter().filter(|pair| merged[pair.class.index()].is_first);
        kept.map(|pair| [merged[pair.class.index()].number, row_numbers[pair.row], pair.suffixes.number()])
            .collect()
    };
    let return_of = |(of, &class): (&Return, &ReturnClassId)| ReturnPart {
        row: of.row.iter().map(|&(exit, state)| (exit.number(), state.number())).collect(),
        class: merged[class.index()].number,
        caller: of.caller.clone(),
        callee: of.callee.clone(),
        lengths: of.lengths,
    };
    CallParts {
        is_deterministic: calls.is_deterministic,
        exits: states().filter(|_| calls.has_exits()).map(|state| calls.exit(state).number()).collect(),
        push_transitions: states().map(openings_of).collect(),
        returns: calls.returns.iter().zip(&classes.of).map(return_of).collect(),
        suffix_sets: states()
            .map(|state| (!calls.is_end(dfa, state)).then(|| pending_of(state).number()))
            .collect(),
        pairs: pairs.iter().map(pairs_of).collect(),
        distances: lengths.distances.iter().map(distance_part).collect(),
        head_distances: lengths.head_distances.iter().map(distance_part).collect(),
    }
}

/// The distance of a state as it is written.
fn distance_part(&Distance { state, place, distance }: &Distance) -> DistancePart {
    DistancePart { state: state.number(), place, distance }
}

/// The class of return states that is stored for one that was computed.
struct Merged {
    number: u32,
    /// Whether its pairs are those that are stored.
    is_first: bool,
}

/// `[classes]`: classes with the same pairs are stored as one, numbered as they are met. Suffix sets tell fewer return states apart
/// than tokens do.
fn merged_classes(classes: &ReturnClasses, pairs: &[Vec<Pair>], row_numbers: &[u32]) -> Vec<Merged> {
    let mut of_class: Vec<Vec<(SuffixSetId, u32, SuffixSetId)>> = vec![Vec::new(); classes.len()];
    for (suffixes, pairs) in SuffixSetId::enumerate(pairs) {
        for pair in pairs {
            of_class[pair.class.index()].push((suffixes, row_numbers[pair.row], pair.suffixes));
        }
    }
    let mut known: HashMap<Vec<(SuffixSetId, u32, SuffixSetId)>, u32> = HashMap::new();
    let merged = |pairs| {
        let fresh = checked_u32(known.len());
        let number = *known.entry(pairs).or_insert(fresh);
        Merged { number, is_first: number == fresh }
    };
    of_class.into_iter().map(merged).collect()
}

/// Each of `representatives` with what may lie under some state of its group.
fn asked(
    calls: &Calls,
    classes: &ReturnClasses,
    representatives: &[StateId],
    groups: &[RowClass],
    needs_row: &[bool],
) -> Vec<Asked> {
    let mut of_group: HashMap<RowClass, Vec<StateId>> = HashMap::new();
    for (state, &group) in StateId::enumerate(groups).filter(|(state, _)| needs_row[state.index()]) {
        of_group.entry(group).or_default().push(state);
    }
    let mut unders = Unders::default();
    let asked = |&state: &StateId| {
        let states = of_group.get(&groups[state.index()]).into_iter().flatten().copied();
        Asked { state, under: unders.of(classes, calls, states) }
    };
    representatives.iter().map(asked).collect()
}

/// The refusal of a constraint some of whose tokens are read both by their bytes and by an edge, where bytes may lead to a dead end.
fn read_in_both_ways(constraint: &Constraint) -> CompileError {
    CompileError::refuse(
        RefusalKind::Unspellable,
        format!("the whole {}", constraint.kind()),
        "it reads tokens both by their texts and by edges in one place, which needs a vocabulary where each byte of its texts is a \
         token by itself",
    )
    .advising("Name only special tokens by edges, or choose a vocabulary with a token for each byte.")
}

/// `work` on every item, on up to `threads` threads; the results in the order of the items, or the first error in that
/// order.
fn in_parallel<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R, CompileError> + Sync,
) -> Result<Vec<R>, CompileError> {
    let threads = threads.min(items.len());
    if threads <= 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            let result = work(item);
            let failed = result.is_err();
            done.push((at, result));
            if failed {
                // No item after this one is needed.
                next.store(items.len(), Ordering::Relaxed);
            }
        }
    };
    let mut done: Vec<(usize, Result<R, CompileError>)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(take)).collect();
        let mut done = take();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
