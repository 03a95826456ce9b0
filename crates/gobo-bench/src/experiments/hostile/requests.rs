//! Attacks by ordinary calls, in closed loops with a pause after each answer: expensive schemas, full queues, lifted limits, long
//! refusals.
use std::future::Future;
use std::time::Duration;

use gobo_proto::v1::CompileLimits;
use gobo_types::{Constraint, SchemaOptions};
use tokio::task::JoinSet;
use tonic::Status;

use super::attacker::{Attacker, TENANTS, until_ended};
use super::tally::code;
use crate::subject::caller::{Answer, Caller};

/// Callers at once, each with a connection of its own.
const CALLERS: u32 = 9;

/// Most calls of each of them.
const CALLS: u64 = 1000;

/// Pause of a caller after an answer: the attack is the cost of a call, not the number of calls.
const PAUSE: Duration = Duration::from_millis(100);

/// One less than the compiles that a tenant may have waiting or running.
const WAITING: u32 = 511;

/// Streams on one connection of the queue's fillers: below every daemon's limit.
const STREAMS: u32 = 64;

/// Pause of the queue's fillers after an answer.
const QUEUE_PAUSE: Duration = Duration::from_secs(1);

/// All refusals together.
const REFUSALS: u32 = 80;

/// Bytes of an unresolvable reference.
const REFERENCE_BYTES: u32 = 7_000_000;

/// Each caller asks for one schema after the other, each with a number of its own.
pub(super) async fn schemas(
    attacker: &Attacker,
    text: impl Fn(u64) -> String + Clone + Send + 'static,
) -> anyhow::Result<()> {
    let mut callers = JoinSet::new();
    for at in 0..u64::from(CALLERS) {
        let (caller, text) = (attacker.caller(TENANTS[0])?, text.clone());
        callers.spawn(each(attacker.clone(), CALLS, PAUSE, move |nth| {
            let schema = Constraint::schema(&text(nth * u64::from(CALLERS) + at), SchemaOptions::default());
            let caller = caller.clone();
            async move { caller.resolve(&schema).await }
        }));
    }
    until_ended(callers).await;
    Ok(())
}

/// Three tenants, each with as many compiles waiting as its quota has room for.
pub(super) async fn full_queue(attacker: &Attacker) -> anyhow::Result<()> {
    let mut callers = JoinSet::new();
    for (tenant, name) in (0..).zip(TENANTS) {
        let waiting = attacker.scaled(WAITING);
        let connections: Vec<Caller> =
            (0..waiting.div_ceil(STREAMS)).map(|_| attacker.caller(name)).collect::<anyhow::Result<_>>()?;
        for at in 0..waiting {
            let caller = connections[(at / STREAMS) as usize].clone();
            callers.spawn(each(attacker.clone(), CALLS, QUEUE_PAUSE, move |nth| {
                let expensive = Constraint::regex(expensive(&format!("q{tenant}x{at}x{nth}")));
                let caller = caller.clone();
                async move { caller.resolve(&expensive).await }
            }));
        }
    }
    until_ended(callers).await;
    Ok(())
}

/// Requests with limits of their own, as high as a number goes.
pub(super) async fn lifted_limits(attacker: &Attacker) -> anyhow::Result<()> {
    let lifted =
        CompileLimits { max_states: Some(u64::MAX), max_steps: Some(u64::MAX), max_bytes: Some(u64::MAX) };
    let mut callers = JoinSet::new();
    for at in 0..CALLERS {
        let caller = attacker.caller(TENANTS[0])?;
        // The number of DFA states doubles with each character (the textbook's exponential blow-up of determinisation).
        let characters = attacker.scaled(60);
        callers.spawn(each(attacker.clone(), CALLS, PAUSE, move |nth| {
            let endless = Constraint::regex(format!("[ab]*a[ab]{{{characters}}}|l{at}x{nth}"));
            let caller = caller.clone();
            async move { caller.resolve_within(&endless, Some(lifted)).await }
        }));
    }
    until_ended(callers).await;
    Ok(())
}

/// Constraints whose refusal could quote a text as long as the request.
pub(super) async fn long_refusals(attacker: &Attacker) -> anyhow::Result<()> {
    let mut callers = JoinSet::new();
    let bytes = attacker.scaled(REFERENCE_BYTES) as usize;
    let at_once = 4;
    for at in 0..at_once {
        let caller = attacker.caller(TENANTS[0])?;
        let calls = u64::from(attacker.scaled(REFUSALS).div_ceil(at_once));
        callers.spawn(each(attacker.clone(), calls, PAUSE, move |nth| {
            let text = format!(r##"{{"$ref":"#/x{at}x{nth}{}"}}"##, "r".repeat(bytes));
            let refused = Constraint::schema(&text, SchemaOptions::default());
            let caller = caller.clone();
            async move { caller.resolve(&refused).await }
        }));
    }
    until_ended(callers).await;
    Ok(())
}

/// One caller: call after call, with a pause after each answer.
async fn each<F, C>(attacker: Attacker, calls: u64, pause: Duration, call: F)
where
    F: Fn(u64) -> C,
    C: Future<Output = Result<Answer, Status>>,
{
    for nth in 0..calls {
        match call(nth).await {
            Ok(Answer::Index(_)) => attacker.tally.add("index"),
            Ok(Answer::No) => attacker.tally.add("no"),
            Err(status) => attacker.tally.add(code(&status)),
        }
        tokio::time::sleep(pause).await;
    }
}

/// A regular expression whose automaton is far larger than any budget.
fn expensive(mark: &str) -> String {
    format!("(.*a.*b.*c.*d.*e.*f.*g.*h){{1,9}}|{mark}")
}
