//! How the cost of a compile grows with a number in the constraint.
//!
//! Costs are measured at a few small numbers and never guessed from the constraint's form. At consecutive numbers, increments whose
//! ratio is above one and does not fall are those of an exponential; those of a polynomial have a falling ratio. Otherwise costs are
//! measured at 8, 16, 32 … as far as steps go: if the parabola through three of these points meets the next one, the parabola through
//! the last three gives the cost at the number that was written (Lagrange's interpolation), or the line through the last two, if that
//! gives more. A cost that is no polynomial of degree
//! two at most, as far as was measured, is not foreseen.

use gobo_types::{CompileLimits, Limit};

use super::trials::{Cost, Stop};

/// Numbers from 2 on at which costs are measured first.
const FIRST: u64 = 9;

/// The first of the numbers that double.
const DOUBLING_FROM: u64 = 8;

/// Least ratio of two increments of an exponential.
const LEAST_RATIO: f64 = 1.5;

/// How far a measured cost may be from the foreseen one.
const CLOSE: f64 = 0.02;

/// How many times a cost that is not foreseen well has to go into its limit to be left alone.
const FAR: f64 = 4.0;

/// What is added to a foreseen cost, so that it suffices.
const MARGIN: f64 = 1.02;

/// Most that is foreseen of each limit: what a large machine can afford.
const AFFORDABLE: CompileLimits =
    CompileLimits { max_states: 1 << 24, max_steps: 200_000_000_000, max_bytes: 16 << 30 };

/// The most of a limit that a large machine can afford.
pub(super) fn affordable(limit: Limit) -> u64 {
    match limit {
        Limit::MaxStates => AFFORDABLE.max_states,
        Limit::MaxSteps => AFFORDABLE.max_steps,
        Limit::MaxBytes => AFFORDABLE.max_bytes,
    }
}

/// The limit that was reached.
#[derive(Debug, Clone, Copy)]
pub(super) struct Need {
    pub(super) limit: Limit,
}

/// How costs grow.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Growth {
    /// By this factor with each one more: measured with the last two states.
    Exponential { factor: f64, at: u64, states: u64 },
    /// As a polynomial: at the number asked for, each limit that is passed needs so much.
    Polynomial { needed: Vec<(Limit, u64)> },
    /// In no way that was recognised.
    Unknown,
}

/// How the cost grows up to `number`. `measure` compiles with another number in its place, and may use one part of so many of the steps
/// that are left; without a result it has come to no end.
pub(super) fn growth(
    number: u64,
    limits: CompileLimits,
    mut measure: impl FnMut(u64, u64) -> Result<Option<Cost>, Stop>,
) -> Result<Growth, Stop> {
    // A quarter of what is left for each small number, a half for each that doubles.
    let mut small = Vec::new();
    for at in 2..=FIRST.min(number) {
        let Some(cost) = measure(at, 4)? else { break };
        small.push((at, cost));
    }
    if let Some(growth) = exponential(&small) {
        return Ok(growth);
    }
    let mut costs: Vec<Cost> = Vec::new();
    let mut at = DOUBLING_FROM;
    while at <= number {
        let Some(cost) = measure(at, 2)? else { break };
        costs.push(cost);
        at *= 2;
    }
    let last = at / 2;
    let [.., before, first, second, third] = costs[..] else { return Ok(Growth::Unknown) };
    let mut needed = Vec::new();
    for (limit, given, most) in [
        (Limit::MaxStates, limits.max_states, AFFORDABLE.max_states),
        (Limit::MaxSteps, limits.max_steps, AFFORDABLE.max_steps),
        (Limit::MaxBytes, limits.max_bytes, AFFORDABLE.max_bytes),
    ] {
        let of = |cost: Cost| as_float(cost.of(limit));
        let line = of(third) + (of(third) - of(second)) * as_float(number - last) / as_float(last / 2);
        let cost = line.max(parabola(last / 4, [of(first), of(second), of(third)], number)) * MARGIN;
        let foreseen = parabola(last / 8, [of(before), of(first), of(second)], last);
        if (foreseen - of(third)).abs() > CLOSE * of(third) && cost * FAR > as_float(given) {
            return Ok(Growth::Unknown);
        }
        if cost > as_float(given) {
            if cost > as_float(most) {
                return Ok(Growth::Polynomial { needed: vec![(limit, rounded_up(cost))] });
            }
            needed.push((limit, rounded_up(cost)));
        }
    }
    Ok(Growth::Polynomial { needed })
}

/// The growth of states at consecutive numbers, if it is exponential. The states that a compile needs at once may be those of another part
/// of the constraint; all parts together have those of the automaton.
fn exponential(costs: &[(u64, Cost)]) -> Option<Growth> {
    let increments: Vec<f64> = costs
        .windows(2)
        .map(|pair| as_float(pair[1].1.automaton()) - as_float(pair[0].1.automaton()))
        .collect();
    let [.., a, b, c, d] = increments[..] else { return None };
    let (first, factor) = (b / a, d / c);
    let is_exponential = a > 0.0 && factor >= LEAST_RATIO && c / b >= LEAST_RATIO && factor >= 0.97 * first;
    let &(at, cost) = costs.last()?;
    let states = cost.of(Limit::MaxStates);
    is_exponential.then_some(Growth::Exponential { factor, at, states })
}

/// The value at `number` of the parabola through the points at `at`, twice and four times that.
fn parabola(at: u64, [first, second, third]: [f64; 3], number: u64) -> f64 {
    // In units of `at`: 1, 2, 4.
    let x = as_float(number) / as_float(at);
    first * (x - 2.0) * (x - 4.0) / 3.0 - second * (x - 1.0) * (x - 4.0) / 2.0
        + third * (x - 1.0) * (x - 2.0) / 6.0
}

/// How many times one cost is another.
pub(super) fn ratio(cost: u64, before: u64) -> f64 {
    as_float(cost) / as_float(before.max(1))
}

/// To three digits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are positive, and what is beyond u64 becomes its maximum"
)]
fn rounded_up(cost: f64) -> u64 {
    let cost = cost as u64;
    let unit = 10_u64.pow(cost.checked_ilog10().unwrap_or(0).saturating_sub(2));
    (cost / unit).saturating_add(1).saturating_mul(unit)
}

#[expect(clippy::cast_precision_loss, reason = "costs are foreseen to some percent")]
fn as_float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(number: u64, most_steps: u64, states: impl Fn(u64) -> u64) -> Growth {
        let limits = CompileLimits { max_states: 500, max_steps: u64::MAX, max_bytes: u64::MAX };
        let measure = |at: u64, _| {
            let states = states(at);
            Ok((states <= most_steps).then_some(Cost::new(states, states, states)))
        };
        growth(number, limits, measure).unwrap()
    }

    #[test]
    fn a_polynomial_gives_what_is_needed() {
        for (number, states) in [
            (5_000, &(|n: u64| 3 * n + 7) as &dyn Fn(u64) -> u64),
            (70, &|n| n * n / 8 + 1),
            (3_000, &|n| 2 * n + 40.min(n * n)),
        ] {
            let Growth::Polynomial { needed } = grown(number, 800, states) else { panic!("{number}") };
            let [(Limit::MaxStates, needed)] = needed[..] else { panic!("{number}: {needed:?}") };
            assert!((states(number)..states(number) * 21 / 20).contains(&needed), "{number}: {needed}");
        }
    }

    #[test]
    fn an_exponential_is_told_from_polynomials() {
        for (factor, states) in
            [(2.0, &(|n: u64| 1_u64 << n) as &dyn Fn(u64) -> u64), (4.0, &|n: u64| (1_u64 << (2 * n)) + 50)]
        {
            let Growth::Exponential { factor: found, at: 9, .. } = grown(25, 1 << 20, states) else {
                panic!("{factor}")
            };
            assert!((found - factor).abs() < 0.01, "{found}");
        }
        let limits = CompileLimits { max_states: 3_000, max_steps: u64::MAX, max_bytes: u64::MAX };
        let hidden = growth(25, limits, |at, _| Ok(Some(Cost::new(900, 1, 1).of_automaton(100 + (1 << at)))));
        assert!(matches!(hidden, Ok(Growth::Exponential { at: 9, states: 900, .. })), "{hidden:?}");
        assert_eq!(grown(500, 1 << 20, |n| n * n * n * n), Growth::Unknown);
        assert_eq!(grown(500, 30, |n| n), Growth::Unknown, "too few points");
    }
}
