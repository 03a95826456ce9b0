//! Over budget: the counted repetition, or the part, of a text that multiplies states. For patterns and grammars alike.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::ops::Range;

use gobo_types::{Limit, grouped};

use super::finding::Finding;
use super::growth::{Growth, Need, growth, ratio};
use super::minimal::minimal;
use super::trials::{Cost, Ended, Stage, Stop, Trials};

/// Most counted repetitions that are tried; texts with more are long lists, in which none is the cause.
const MAX_COUNTED: usize = 64;

/// Share of the steps for a trial that may come to no end.
const SHARE: u64 = 8;

/// A counted repetition: `{m}`, `{m,}`, `{m,n}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counted {
    /// The whole of it.
    pub(super) span: Range<usize>,
    /// The bounds with their braces.
    pub(super) operator: Range<usize>,
    pub(super) min: u32,
    pub(super) max: Option<u32>,
}

/// A part of the text that can be left out, by what stands in its place then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) span: Range<usize>,
    pub(super) without: &'static str,
    /// What it is called.
    pub(super) name: String,
    /// Its own parts.
    pub(super) parts: Vec<Part>,
}

/// How an edited text is compiled.
pub(super) trait Compiler {
    /// Compiles it as far as a stage, with at most so many steps.
    fn compile(&mut self, text: String, to: Stage, most_steps: u64) -> Result<Ended, Stop>;
    /// The account.
    fn trials(&self) -> &Trials<'_>;
    /// A place as a person reads it.
    fn place(&self, at: usize) -> String;
}

type Edit = (Range<usize>, String);

/// The text with some ranges replaced; edits lie apart from each other.
pub(super) fn edited(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_unstable_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in edits {
        out.push_str(&text[at..range.start]);
        out.push_str(new);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

impl Counted {
    /// The number that counts the states.
    fn bound(&self) -> u32 {
        self.max.unwrap_or(self.min)
    }

    /// With another bound.
    fn bounded(&self, bound: u32) -> Edit {
        let min = self.min.min(bound);
        let max = self.max.map_or(String::new(), |max| max.min(bound).to_string());
        let new =
            if self.max == Some(self.min) { format!("{{{bound}}}") } else { format!("{{{min},{max}}}") };
        (self.operator.clone(), new)
    }

    fn holds(&self, other: &Self) -> bool {
        self != other && self.span.start <= other.span.start && other.span.end <= self.span.end
    }
}

/// Looks for what makes a text too large.
pub(super) fn over_budget(
    text: &str,
    mut counted: Vec<Counted>,
    parts: &[Part],
    need: Need,
    compiler: &mut impl Compiler,
    found: &mut Finding,
) -> Result<(), Stop> {
    counted.retain(|one| one.bound() > 1);
    // One that holds another comes before it.
    counted.sort_by_key(|one| (one.span.start, Reverse(one.span.end)));
    if (1..=MAX_COUNTED).contains(&counted.len()) {
        let once = |of: &[Counted]| edited(text, &of.iter().map(|one| one.bounded(1)).collect::<Vec<_>>());
        if fits(compiler, once(&counted))? {
            let culprits = minimal(&counted, |changed| fits(compiler, once(changed)))?;
            match &culprits[..] {
                [] => {}
                [culprit] => return one_repetition(text, culprit, &counted, need, compiler, found),
                several => return several_repetitions(text, several, &counted, need, compiler, found),
            }
        }
    }
    part(text, parts, compiler, found)
}

/// Whether the text compiles within a share of the steps.
fn fits(compiler: &mut impl Compiler, text: String) -> Result<bool, Stop> {
    let (to, most) = (compiler.trials().failed(), compiler.trials().steps_left() / SHARE);
    Ok(matches!(compiler.compile(text, to, most)?, Ended::Texts(_)))
}

fn one_repetition(
    text: &str,
    culprit: &Counted,
    counted: &[Counted],
    need: Need,
    compiler: &mut impl Compiler,
    found: &mut Finding,
) -> Result<(), Stop> {
    let bound = u64::from(culprit.bound());
    let shown = &text[culprit.operator.clone()];
    found.place = compiler.place(culprit.operator.start);
    found.span = Some(culprit.span.clone().into());
    let product = product_around(std::slice::from_ref(culprit), counted);
    found.reason = match &product {
        Some(product) => format!("repetitions in each other multiply: {product} copies"),
        None => format!("it fits with a lower bound than {shown}"),
    };
    found.help = format!("Lower the bound {shown}.");
    let limits = compiler.trials().limits();
    let growth = growth(bound, limits, |bound, share| {
        let bound = u32::try_from(bound).unwrap_or(u32::MAX);
        let most = compiler.trials().steps_left() / share;
        let changed = edited(text, &[culprit.bounded(bound)]);
        Ok(measured(compiler.compile(changed, Stage::Index, most)?))
    })?;
    told(growth, need, product.is_none(), shown, found);
    Ok(())
}

/// The cost of a trial that came to its end.
pub(super) fn measured(ended: Ended) -> Option<Cost> {
    match ended {
        Ended::Texts(cost) => Some(cost),
        Ended::NoText | Ended::Unclear => None,
    }
}

/// Writes down how costs grow with what `of` names.
pub(super) fn told(growth: Growth, need: Need, is_reason_open: bool, of: &str, found: &mut Finding) {
    match growth {
        Growth::Exponential { factor, at, states } => {
            found.reason = format!(
                "with each one more in {of} the states grow about {factor:.1} times: {} at {at}",
                grouped(states)
            );
            found.help = format!("A higher limit does not help: lower {of}.");
        }
        Growth::Polynomial { needed } => {
            let amounts: Vec<String> =
                needed.iter().map(|(limit, amount)| format!("about {}", limit.quantity(*amount))).collect();
            let amounts = amounts.join(" and ");
            let affordable = |limit: Limit, amount: u64| amount <= super::growth::affordable(limit);
            if !needed.is_empty() && is_reason_open {
                found.reason = format!("it needs {amounts}");
            }
            match needed[..] {
                [] => {}
                [(limit, amount)] if limit == need.limit && affordable(limit, amount) => {
                    found.needed = Some(amount);
                    found.help.clear();
                }
                _ if needed.iter().any(|&(limit, amount)| !affordable(limit, amount)) => {
                    found.help = format!("Lower {of}: it needs {amounts}, which no limit should allow.");
                }
                _ => found.help = format!("Lower {of}, or allow it {amounts}."),
            }
        }
        Growth::Unknown => {}
    }
}

/// The product of the bounds of all repetitions around some and inside them, where each of these holds the next one and there are
/// several: `1,000 × 1,000 = 1,000,000`.
fn product_around(culprits: &[Counted], counted: &[Counted]) -> Option<String> {
    let is_near = |one: &&Counted| {
        culprits.iter().all(|culprit| *one == culprit || one.holds(culprit) || culprit.holds(one))
    };
    let chain: Vec<&Counted> = counted.iter().filter(is_near).collect();
    if chain.len() < 2 || !chain.windows(2).all(|pair| pair[0].holds(pair[1])) {
        return None;
    }
    let bounds: Vec<u64> = chain.iter().map(|one| u64::from(one.bound())).collect();
    let product = bounds.iter().try_fold(1_u64, |product, bound| product.checked_mul(*bound))?;
    let bounds: Vec<String> = bounds.into_iter().map(grouped).collect();
    Some(format!("{} = {}", bounds.join(" × "), grouped(product)))
}

fn several_repetitions(
    text: &str,
    several: &[Counted],
    counted: &[Counted],
    need: Need,
    compiler: &mut impl Compiler,
    found: &mut Finding,
) -> Result<(), Stop> {
    let first = &several[0];
    let end = several.iter().map(|one| one.span.end).max().unwrap_or(first.span.end);
    found.place = compiler.place(first.operator.start);
    found.span = Some((first.span.start..end).into());
    let shown: Vec<&str> = several.iter().map(|one| &text[one.operator.clone()]).collect();
    let shown = list(&shown);
    let product = product_around(several, counted);
    found.reason = match &product {
        Some(product) => format!("repetitions in each other multiply: {product} copies"),
        None => format!("it fits with lower bounds than {shown} together"),
    };
    found.help = format!("Lower the bounds {shown}.");
    // From the lowest bounds up, because a trial that fits is cheaper than one that does not.
    let halved = |times: u32| -> Vec<Edit> {
        several.iter().map(|one| one.bounded((one.bound() >> times).max(1))).collect()
    };
    let most = several.iter().map(Counted::bound).max().unwrap_or(1).ilog2();
    let mut before: Option<Cost> = None;
    for times in (1..=most).rev() {
        let lower = halved(times);
        let steps = compiler.trials().steps_left() / 2;
        let Some(cost) = measured(compiler.compile(edited(text, &lower), Stage::Index, steps)?) else {
            break;
        };
        let lower: Vec<&str> = lower.iter().map(|(_, bounds)| bounds.as_str()).collect();
        let lower = list(&lower);
        let amount = cost.of(need.limit);
        if product.is_none() {
            found.reason = format!(
                "it fits with lower bounds than {shown}: {lower} need {}",
                need.limit.quantity(amount)
            );
            let grown = before.map(|before| ratio(amount, before.of(need.limit)));
            if let Some(factor) = grown.filter(|factor| *factor > 1.0) {
                write!(found.reason, ", {factor:.1} times as much as half of that").unwrap_or_default();
            }
        }
        found.help = format!("Lower the bounds {shown}, to {lower} for example.");
        before = Some(cost);
    }
    Ok(())
}

/// `a`, `a and b`, `a, b and c`; of many the first ones.
pub(super) fn list<T: AsRef<str>>(words: &[T]) -> String {
    const SHOWN: usize = 6;
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words[..] {
        [] => String::new(),
        [only] => only.to_owned(),
        ref many if many.len() > SHOWN => {
            format!("{} and {} more", many[..SHOWN].join(", "), many.len() - SHOWN)
        }
        [ref before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// The innermost part without which the rest fits.
fn part(text: &str, parts: &[Part], compiler: &mut impl Compiler, found: &mut Finding) -> Result<(), Stop> {
    let mut parts = parts;
    loop {
        let without = |of: &[&Part]| {
            edited(
                text,
                &of.iter().map(|part| (part.span.clone(), part.without.to_owned())).collect::<Vec<_>>(),
            )
        };
        let all: Vec<&Part> = parts.iter().collect();
        if all.is_empty() || !fits(compiler, without(&all))? {
            return Ok(());
        }
        let culprits = minimal(&all, |changed| fits(compiler, without(changed)))?;
        let [culprit] = culprits[..] else { return Ok(()) };
        found.place = compiler.place(culprit.span.start);
        found.span = Some(culprit.span.clone().into());
        found.reason = format!("without {} it fits", culprit.name);
        found.help = format!("Make {} smaller.", culprit.name);
        parts = &culprit.parts;
    }
}
