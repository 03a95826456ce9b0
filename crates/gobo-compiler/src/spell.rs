//! Restricts an automaton to the texts that the tokens of a vocabulary can write.
//!
//! Invariant: a state is token-useful if some sequence of tokens leads from it to acceptance, the least fixpoint over tokens. O(states
//! × trie nodes) where not every live byte is a token, O(transitions) where it is.

use std::borrow::Cow;

use gobo_artifact::Vocabulary;
use gobo_automata::{Dfa, StateId};
use gobo_types::{
    Budget, ByteSet, CompileError, Constraint, DenseId as _, RefusalKind, Report, ReportEntry, Source,
    TextStart,
};

use crate::rows::{RuleView, Walker};

/// Where nothing of a constraint can be written.
pub(crate) const OTHER_VOCABULARY: &str =
    "Choose a vocabulary that can write it, or change the constraint to texts that this one can write.";

/// Where a constraint has calls that cannot be expanded.
fn without_recursion(source: &Source) -> &'static str {
    match source {
        Source::Schema { .. } => {
            "Bound the nesting: take objects without additionalProperties to be closed (--closed, the field closed), or limit \
             the nesting depth (--max-depth N, the field max_depth)."
        }
        Source::Json { .. } => "Bound the nesting (--max-objects N --max-arrays M, the field nesting).",
        _ => {
            "Write the rules that recur out to the depth that is needed, or choose a vocabulary with a token for each byte."
        }
    }
}

/// The refusal of a constraint each of whose texts has bytes that no token contains.
fn none_contains(constraint: &Constraint, needed: Vec<u8>) -> CompileError {
    let bytes = name_bytes(needed.into_iter());
    let reason = format!("no token contains {bytes}, without which no text can be written");
    let place = format!("the whole {}", constraint.kind());
    CompileError::refuse(RefusalKind::Unspellable, place, reason).advising(OTHER_VOCABULARY)
}

/// Of the bytes that no token contains, those without which the automaton accepts nothing. O(bytes × transitions).
///
/// # Errors
/// [`CompileError::OverBudget`].
fn indispensable(dfa: &Dfa, missing: &[u8], budget: &Budget) -> Result<Vec<u8>, CompileError> {
    let mut needed = Vec::new();
    for &byte in missing {
        if dfa.needs(byte, budget)? {
            needed.push(byte);
        }
    }
    Ok(needed)
}

/// The automaton, restricted to the texts that the vocabulary can write.
pub(crate) struct Spelled<'a> {
    pub(crate) dfa: Cow<'a, Dfa>,
    /// `[states]`: some sequence of tokens reaches the end from here. Written as token-useful in the documentation.
    pub(crate) useful: Vec<bool>,
    /// `[states]`: useful, and some sequence of tokens leads here.
    pub(crate) needs_row: Vec<bool>,
}

/// `0x7b "{", 0x7d "}"`.
fn name_bytes(bytes: impl Iterator<Item = u8>) -> String {
    let name = |byte: u8| match char::from(byte) {
        shown if shown.is_ascii_graphic() => format!("0x{byte:02x} {:?}", shown.to_string()),
        _ => format!("0x{byte:02x}"),
    };
    let all: Vec<String> = bytes.map(name).collect();
    match all.len() {
        0..=16 => all.join(", "),
        more => format!("{} and {} more", all[..16].join(", "), more - 16),
    }
}

/// Cuts the automaton down to what tokens can write, and finds the states where a token may end.
///
/// Usefulness is a least fixpoint over tokens, not over bytes: with the vocabulary `{ab}` and the constraint `(ab)*` the
/// state after `a` is not useful, yet no token may be lost for passing through it. Where every byte that is still live
/// is a token by itself, the two agree and no fixpoint is computed.
///
/// # Errors
/// [`RefusalKind::Unspellable`] if the start, or an item of a choice, cannot be written; [`CompileError::OverBudget`].
pub(crate) fn spell<'a>(
    vocabulary: &Vocabulary,
    constraint: &Constraint,
    dfa: &'a Dfa,
    report: &mut Report,
    budget: &Budget,
) -> Result<Spelled<'a>, CompileError> {
    let root = vocabulary.root();
    let live = dfa.live_bytes();
    let (spellable, single) = (ByteSet::from_words(root.spellable), ByteSet::from_words(root.single));
    let missing: Vec<u8> = live.bytes().filter(|&byte| !spellable.contains(byte)).collect();
    let mut dfa = Cow::Borrowed(dfa);
    if dfa.has_calls()
        && let Some(byte) = live.bytes().find(|&byte| !single.contains(byte))
    {
        // What tokens can reach through a stack is not worked out; where each byte is a token, it is what bytes can reach.
        let Some(expanded) = dfa.expand_calls(budget)? else {
            let needed = indispensable(&dfa, &missing, budget)?;
            if !needed.is_empty() {
                return Err(none_contains(constraint, needed));
            }
            return Err(CompileError::refuse(
                RefusalKind::Unspellable,
                format!("the whole {}", constraint.kind()),
                format!(
                    "it is recursive or counts tokens, which needs a vocabulary where each byte of its texts is a token by itself, and {} is none",
                    name_bytes(std::iter::once(byte))
                ),
            )
            .advising(without_recursion(&constraint.source)));
        };
        dfa = Cow::Owned(expanded);
    }
    let mut whole = None;
    if !missing.is_empty() {
        let restricted = dfa.restrict(&spellable, budget)?;
        whole = Some(std::mem::replace(&mut dfa, Cow::Owned(restricted)));
    }
    let all_single = dfa.live_bytes().is_subset(&single);
    if let Source::Choice { items } = &constraint.source
        && !(missing.is_empty() && all_single)
    {
        check_items(vocabulary, items, constraint.text_start, budget)?;
    }
    let refuse = |reason: String| {
        Err(CompileError::refuse(
            RefusalKind::Unspellable,
            format!("the whole {}", constraint.kind()),
            reason,
        )
        .advising(OTHER_VOCABULARY))
    };
    if dfa.is_empty() {
        let needed = indispensable(whole.as_deref().unwrap_or(&dfa), &missing, budget)?;
        if !needed.is_empty() {
            return Err(none_contains(constraint, needed));
        }
        return refuse(format!(
            "each text needs one of {}, which no token contains",
            name_bytes(missing.into_iter())
        ));
    }
    if !missing.is_empty() {
        let why = format!(
            "no token contains {}: texts with them are left out",
            name_bytes(missing.iter().copied())
        );
        report.unspellable.push(ReportEntry::whole("bytes", why));
    }
    if all_single {
        let useful: Vec<bool> = StateId::range(0..dfa.len()).map(|state| state != StateId::DEAD).collect();
        return Ok(Spelled { dfa, needs_row: useful.clone(), useful });
    }

    let (reached, useful) = {
        let view = RuleView::new(&dfa, vocabulary, budget)?;
        token_useful(&dfa, &Walker::new(&dfa, &view), budget)?
    };
    if !useful[dfa.start.index()] {
        return refuse("no sequence of tokens writes any text of it".to_owned());
    }
    let lost = reached.iter().filter(|&&state| !useful[state.index()]).count();
    if lost > 0 {
        let why = format!(
            "from {lost} states no sequence of tokens reaches the end: texts through them are left out"
        );
        report.unspellable.push(ReportEntry::whole("tokens", why));
    }
    let mut needs_row = vec![false; dfa.len()];
    reached.iter().for_each(|&state| needs_row[state.index()] = useful[state.index()]);
    Ok(Spelled { dfa, useful, needs_row })
}

/// The states that token sequences reach from the start, and which of all states are token-useful. A walk of the trie
/// for each reached state.
fn token_useful(
    dfa: &Dfa,
    walker: &Walker<'_>,
    budget: &Budget,
) -> Result<(Vec<StateId>, Vec<bool>), CompileError> {
    let mut seen = vec![false; dfa.len()];
    let mut is_reached = vec![false; dfa.len()];
    is_reached[dfa.start.index()] = true;
    let mut reached = vec![dfa.start];
    let mut sources: Vec<Vec<StateId>> = vec![Vec::new(); dfa.len()];
    let mut at = 0;
    while at < reached.len() {
        let from = reached[at];
        for target in walker.targets(from, &mut seen, budget)? {
            sources[target.index()].push(from);
            if !std::mem::replace(&mut is_reached[target.index()], true) {
                reached.push(target);
            }
        }
        at += 1;
    }
    let mut useful = vec![false; dfa.len()];
    let mut stack: Vec<StateId> = reached.iter().copied().filter(|&state| dfa.accepting[state]).collect();
    stack.iter().for_each(|&state| useful[state.index()] = true);
    while let Some(state) = stack.pop() {
        for &source in &sources[state.index()] {
            if !std::mem::replace(&mut useful[source.index()], true) {
                stack.push(source);
            }
        }
    }
    Ok((reached, useful))
}

/// Refuses a choice if tokens cannot write one of its items: an item is asked for, not only allowed.
fn check_items(
    vocabulary: &Vocabulary,
    items: &[String],
    text_start: TextStart,
    budget: &Budget,
) -> Result<(), CompileError> {
    let spellable = ByteSet::from_words(vocabulary.root().spellable);
    for item in items {
        let written = match text_start {
            TextStart::Exact => can_write(vocabulary, item.as_bytes(), budget)?,
            // A space before it is dropped, and so would be its own.
            TextStart::StripOneSpace => {
                can_write(vocabulary, format!(" {item}").as_bytes(), budget)?
                    || (!item.starts_with(' ') && can_write(vocabulary, item.as_bytes(), budget)?)
            }
        };
        if !written {
            let shown: String = item.chars().take(40).collect();
            let missing: ByteSet = item.bytes().filter(|&byte| !spellable.contains(byte)).collect();
            let reason = if missing.is_empty() {
                "no sequence of tokens writes it".to_owned()
            } else {
                format!("it needs {}, which no token contains", name_bytes(missing.bytes()))
            };
            return Err(CompileError::refuse(RefusalKind::Unspellable, format!("item {shown:?}"), reason)
                .advising("Leave the item out, spell it with other characters, or choose a vocabulary that can write it."));
        }
    }
    Ok(())
}

/// Whether some sequence of ordinary tokens is exactly `text`: from every offset that tokens reach, follow the trie.
fn can_write(vocabulary: &Vocabulary, text: &[u8], budget: &Budget) -> Result<bool, CompileError> {
    let trie = vocabulary.trie();
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for from in 0..text.len() {
        if !reached[from] {
            continue;
        }
        let mut steps = 1;
        for (length, ids) in trie.prefixes(&text[from..]) {
            reached[from + length] |= !ids.is_empty();
            steps += 1;
        }
        budget.charge_steps("spelling the choice", steps)?;
    }
    Ok(reached[text.len()])
}
