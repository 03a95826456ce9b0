//! Token edges meet a vocabulary: which ids their sets have, and the classes of ids that no set tells apart.
//!
//! A set is what it names, or all ids but these; ids without a token are in none. Classes are the coarsest division of which each set is a union
//! (the minterms of the sets), with what is named by number, name or range apart from what only complements have: an EOS of the model is
//! text where an edge names it. Ids that nothing names are one class. O(ids named + names × tokens of that text + special tokens).

use std::collections::BTreeMap;

use gobo_artifact::Vocabulary;
use gobo_automata::{Grammar, MAX_TOKEN_CLASSES, TokenClass, TokenClasses, TokenItem, TokenSet};
use gobo_grammar::near::near;
use gobo_types::{Budget, CompileError, RefusalKind, TokenId, Utf8Place};

const PHASE: &str = "dividing tokens into classes";

/// Steps of a look at an id in the time of one elsewhere.
const IDS_PER_STEP: u64 = 16;

/// Puts classes of tokens in the place of the token sets of a grammar; `None` if it has none. Without a vocabulary each set is a class of its
/// own, without ids.
///
/// # Errors
/// A refusal of ids and names that the vocabulary lacks, of a set without tokens, and of more than [`MAX_TOKEN_CLASSES`];
/// [`CompileError::OverBudget`].
pub(crate) fn resolve(
    grammar: &mut Grammar,
    vocabulary: Option<&Vocabulary>,
    budget: &Budget,
) -> Result<Option<TokenClasses>, CompileError> {
    if grammar.tokens.is_empty() {
        return Ok(None);
    }
    let (classes, classes_of) = match vocabulary {
        Some(vocabulary) => divide(&grammar.tokens, vocabulary, budget)?,
        None => {
            let sets = grammar.tokens.len();
            let class = |set: &TokenSet| TokenClass { is_spent: is_spent(set), ..TokenClass::default() };
            let classes: Vec<TokenClass> = grammar.tokens.iter().map(class).collect();
            (classes, (0..sets).map(|set| vec![set]).collect())
        }
    };
    if classes.len() > MAX_TOKEN_CLASSES {
        let reason = format!(
            "its token edges tell {} classes of tokens apart, the limit is {MAX_TOKEN_CLASSES}",
            classes.len()
        );
        return Err(CompileError::refuse(RefusalKind::Unsupported, "the whole grammar", reason)
            .advising("Name tokens that stand in the same places by one edge, as in <[5-900]>."));
    }
    grammar.put_letters(&classes_of, classes.len());
    Ok(Some(TokenClasses(classes)))
}

/// The classes of ids, and those of each set.
fn divide(
    sets: &[TokenSet],
    vocabulary: &Vocabulary,
    budget: &Budget,
) -> Result<(Vec<TokenClass>, Vec<Vec<usize>>), CompileError> {
    let named = named(sets, vocabulary, budget)?;
    // By the sets that name an id, ascending: the ids, ascending.
    let mut of_signature: BTreeMap<&[usize], Vec<TokenId>> = BTreeMap::new();
    for (&id, naming) in &named {
        of_signature.entry(naming.as_slice()).or_default().push(id);
    }
    let others: Vec<TokenId> = if sets.iter().any(is_open) {
        budget.charge_steps(PHASE, u64::from(vocabulary.len()) / IDS_PER_STEP)?;
        budget.charge_bytes(PHASE, u64::from(vocabulary.len()) * 4)?;
        (0..vocabulary.len()).filter(|id| is_token(vocabulary, *id) && !named.contains_key(id)).collect()
    } else {
        Vec::new()
    };
    let is_named =
        |signature: &[usize]| signature.iter().any(|&set| !sets[set].is_complement && !is_text(&sets[set]));
    let mut classes = Vec::new();
    let mut classes_of = vec![Vec::new(); sets.len()];
    let rest: &[usize] = &[];
    for (signature, ids) in of_signature.into_iter().chain([(rest, others)]) {
        let reads = |set: usize| is_open(&sets[set]) != signature.binary_search(&set).is_ok();
        let of: Vec<usize> = (0..sets.len()).filter(|&set| reads(set)).collect();
        budget.charge_steps(PHASE, (sets.len() + ids.len()) as u64 / IDS_PER_STEP)?;
        // What only complements name is in no set at all, if these are the only ones.
        if ids.is_empty() || of.is_empty() {
            continue;
        }
        of.iter().for_each(|&set| classes_of[set].push(classes.len()));
        classes.push(TokenClass { ids: ranges(&ids), is_named: is_named(signature), is_spent: false });
    }
    let spent = (0..sets.len()).filter(|&set| is_spent(&sets[set]));
    spent.for_each(|set| classes_of[set].push(classes.len()));
    if sets.iter().any(is_spent) {
        classes.push(TokenClass { is_spent: true, ..TokenClass::default() });
    }
    let is_missing = |set: &usize| classes_of[*set].is_empty() && !is_text(&sets[*set]);
    if let Some(set) = (0..sets.len()).find(is_missing) {
        return Err(refuse(&sets[set], "no token is left that this edge reads"));
    }
    Ok((classes, classes_of))
}

/// Whether it is read where a budget of tokens is spent, and by no token.
fn is_spent(set: &TokenSet) -> bool {
    set.items.contains(&TokenItem::Spent)
}

/// Whether it has tokens of text by their place, of which there may be none.
fn is_text(set: &TokenSet) -> bool {
    set.items.iter().all(|item| matches!(item, TokenItem::Text { .. }))
}

/// Whether a set has the ids that it does not name.
fn is_open(set: &TokenSet) -> bool {
    set.is_complement != set.items.contains(&TokenItem::All)
}

/// Whether an id stands for a token.
fn is_token(vocabulary: &Vocabulary, id: TokenId) -> bool {
    id < vocabulary.len() && (!vocabulary.bytes(id).is_empty() || vocabulary.is_special(id))
}

/// The ids that sets name, each with the numbers of these sets, ascending.
fn named(
    sets: &[TokenSet],
    vocabulary: &Vocabulary,
    budget: &Budget,
) -> Result<BTreeMap<TokenId, Vec<usize>>, CompileError> {
    let names = Names::of(vocabulary, budget)?;
    let mut places = Places::new(vocabulary);
    let mut named: BTreeMap<TokenId, Vec<usize>> = BTreeMap::new();
    for (number, set) in sets.iter().enumerate() {
        let mut add = |id: TokenId| -> Result<(), CompileError> {
            budget.charge_steps(PHASE, 1)?;
            let of = named.entry(id).or_default();
            if of.last() != Some(&number) {
                budget.charge_bytes(PHASE, 32)?;
                of.push(number);
            }
            Ok(())
        };
        for item in &set.items {
            match item {
                TokenItem::All | TokenItem::Spent => {}
                TokenItem::Text { from, to, is_one_line } => {
                    for id in places.leading(*from, *to, *is_one_line, budget)? {
                        add(id)?;
                    }
                }
                TokenItem::Name(name) => {
                    let ids = names.ids(name);
                    if ids.is_empty() {
                        let near = near(name, names.special());
                        let help = near.map_or_else(
                            || "gobo tokenizer show names the special tokens.".to_owned(),
                            |near| format!("Did you mean {near}?"),
                        );
                        let reason = format!("the vocabulary has no token {name:?}");
                        return Err(refuse(set, &reason).advising(help));
                    }
                    ids.into_iter().try_for_each(&mut add)?;
                }
                &TokenItem::Ids(first, last) => {
                    for id in first..=last {
                        if id >= vocabulary.len() {
                            let highest = vocabulary.len().saturating_sub(1);
                            let reason =
                                format!("token id {id} is beyond the vocabulary, whose last id is {highest}");
                            return Err(refuse(set, &reason));
                        }
                        if !is_token(vocabulary, id) {
                            return Err(refuse(set, &format!("the vocabulary has no token of id {id}")));
                        }
                        add(id)?;
                    }
                }
            }
        }
    }
    Ok(named)
}

fn refuse(set: &TokenSet, reason: &str) -> CompileError {
    let error = CompileError::refuse(RefusalKind::Malformed, set.place.clone(), reason);
    match &set.span {
        Some(span) => error.spanning(span.clone()),
        None => error,
    }
}

/// The texts of tokens.
struct Names<'a> {
    vocabulary: &'a Vocabulary,
    /// Of the special ones.
    special: BTreeMap<&'a [u8], Vec<TokenId>>,
}

impl<'a> Names<'a> {
    fn of(vocabulary: &'a Vocabulary, budget: &Budget) -> Result<Self, CompileError> {
        budget.charge_steps(PHASE, u64::from(vocabulary.len()) / IDS_PER_STEP)?;
        let mut special: BTreeMap<&[u8], Vec<TokenId>> = BTreeMap::new();
        for id in (0..vocabulary.len()).filter(|id| vocabulary.is_special(*id)) {
            budget.charge_bytes(PHASE, 64)?;
            special.entry(vocabulary.bytes(id)).or_default().push(id);
        }
        Ok(Self { vocabulary, special })
    }

    /// Every id with that text.
    fn ids(&self, name: &str) -> Vec<TokenId> {
        let mut ids = self.special.get(name.as_bytes()).cloned().unwrap_or_default();
        let of_text = self.vocabulary.trie().prefixes(name.as_bytes()).last();
        ids.extend(of_text.filter(|(length, _)| *length == name.len()).into_iter().flat_map(|(_, ids)| ids));
        ids
    }

    /// The texts of the special tokens.
    fn special(&self) -> impl Iterator<Item = &str> {
        self.special.keys().filter_map(|name| std::str::from_utf8(name).ok())
    }
}

/// Ids, ascending, as ranges.
fn ranges(ids: &[TokenId]) -> Vec<(TokenId, TokenId)> {
    let mut ranges: Vec<(TokenId, TokenId)> = Vec::new();
    for &id in ids {
        match ranges.last_mut() {
            Some(last) if last.1 + 1 == id => last.1 = id,
            _ => ranges.push((id, id)),
        }
    }
    ranges
}

/// Where tokens of text lead.
struct Places<'a> {
    vocabulary: &'a Vocabulary,
    /// By the place before: the place after each token, in the order of ids.
    after: BTreeMap<Utf8Place, Vec<Option<Utf8Place>>>,
}

impl<'a> Places<'a> {
    fn new(vocabulary: &'a Vocabulary) -> Self {
        Self { vocabulary, after: BTreeMap::new() }
    }

    /// The ordinary tokens that lead from one place to another, ascending.
    fn leading(
        &mut self,
        from: Utf8Place,
        to: Utf8Place,
        is_one_line: bool,
        budget: &Budget,
    ) -> Result<Vec<TokenId>, CompileError> {
        let vocabulary = self.vocabulary;
        budget.charge_steps(PHASE, u64::from(vocabulary.len()) / IDS_PER_STEP)?;
        let after = self.after.entry(from).or_insert_with(|| {
            let of = |id| {
                let bytes = vocabulary.bytes(id);
                let is_text = !bytes.is_empty() && !vocabulary.is_special(id);
                from.after(bytes).filter(|_| is_text)
            };
            (0..vocabulary.len()).map(of).collect()
        });
        let has_line_end = |id: TokenId| vocabulary.bytes(id).iter().any(|byte| b"\r\n".contains(byte));
        let found = (0..vocabulary.len()).zip(after.iter());
        let found = found.filter(|(id, after)| **after == Some(to) && !(is_one_line && has_line_end(*id)));
        Ok(found.map(|(id, _)| id).collect())
    }
}
