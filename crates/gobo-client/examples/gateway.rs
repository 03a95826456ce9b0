//! A gateway: prewarms a library, then decides for each tenant's constraint whether it is let in, and answers its author.
//!
//! ```sh
//! gobo serve --store /tmp/gobo &
//! cargo run -p gobo-client --example gateway -- /tmp/gobo o200k_base
//! ```
//!
//! Each end of a resolve has one right answer, and its type says which: a verdict is the author's to mend, `Busy` is to be
//! tried again after the time that the daemon names, everything else is the operator's.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example says what it decides")]

use std::error::Error;
use std::time::Duration;

use gobo_client::{
    Client, ClientError, CompileError, CompileLimits, Constraint, ErrorKind, Resolved, SchemaOptions,
};

/// Attempts at one resolve.
const ATTEMPTS: u32 = 3;

/// How long a caller of this gateway waits for one attempt. The daemon knows, and turns away at once a call that it cannot
/// begin in time.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The wait before another attempt where the daemon names none.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// The account of the library.
const LIBRARY: &str = "library";

/// What the gateway answers.
enum Answer {
    /// The index is on this host.
    Accepted(Box<Resolved>),
    /// The constraint has to change: this message is for its author. The same on every host, so there is no other attempt.
    Rejected(String),
    /// The daemon is busy: try again after this time.
    Later(Duration),
    /// Neither the author nor the daemon's load is at fault: this message is for the operator.
    Broken(String),
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, vocabulary] = arguments.as_slice() else {
        return Err("usage: gateway STORE VOCABULARY".into());
    };

    prewarm(&client_of(store, LIBRARY)?, vocabulary).await?;

    // Tenants share the daemon's workers fairly, each on its own account. The gateway sets the name, not its callers.
    let options = SchemaOptions::default;
    let schema = r#"{"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}"#;
    let requests = [
        ("alice", Constraint::schema(schema, options())),
        ("alice", Constraint::regex(r"(a)\1")),
        ("bob", Constraint::regex("(a|b)*a(a|b){25}")),
        ("bob", Constraint::schema(r#"{"type": "string", "format": "regex"}"#, options())),
    ];
    for (tenant, constraint) in requests {
        let client = client_of(store, tenant)?;
        let said = match admit(&client, vocabulary, &constraint).await {
            Answer::Accepted(resolved) => format!("accepted: {} by {}", resolved.key, resolved.source.name()),
            Answer::Rejected(why) => format!("rejected: {why}"),
            Answer::Later(after) => format!("later: in {} ms", after.as_millis()),
            Answer::Broken(why) => format!("broken: {why}"),
        };
        println!("{tenant}: {} {said}", constraint.kind());
    }
    Ok(())
}

/// A client on a tenant's account, with less than the daemon's own limits for each compile. A real gateway keeps one for each
/// tenant: a client has a connection and maps of its own.
fn client_of(store: &str, tenant: &str) -> Result<Client, ClientError> {
    let limits = CompileLimits { max_steps: 200_000_000, ..CompileLimits::default() };
    Client::builder().store(store).tenant(tenant).timeout(TIMEOUT).limits(limits).connect()
}

/// Has a library compiled ahead of demand, after every interactive call. Answers come in the order in which they are done.
async fn prewarm(client: &Client, vocabulary: &str) -> Result<(), ClientError> {
    let library = [Constraint::regex("[0-9]{4}-[0-9]{2}"), Constraint::choice(["yes", "no"])];
    let mut batch = client.resolve_batch(vocabulary, &library, true).await?;
    while let Some(item) = batch.next().await? {
        let said = match &item.outcome {
            Ok(_) => "ready".to_owned(),
            Err(CompileError::Unavailable { why, .. }) => format!("to be prewarmed again: {why}"),
            Err(verdict) => verdict.to_string(),
        };
        println!("{LIBRARY}: constraint {} of {}: {said}", item.position + 1, item.total);
    }
    Ok(())
}

/// Resolves a constraint, and waits as long as the daemon advises where it is busy.
async fn admit(client: &Client, vocabulary: &str, constraint: &Constraint) -> Answer {
    let mut wait = RETRY_AFTER;
    for attempt in 1..=ATTEMPTS {
        let error = match client.resolve(vocabulary, constraint).await {
            Ok(resolved) => return Answer::Accepted(Box::new(resolved)),
            Err(error) => error,
        };
        match &error {
            ClientError::Verdict(CompileError::Refused(refusal)) => {
                return Answer::Rejected(format!("{} at {:?}", refusal.reason, &*refusal.place));
            }
            ClientError::Verdict(CompileError::OverBudget(over)) => {
                return Answer::Rejected(format!(
                    "too expensive: more than {} {}",
                    over.given,
                    over.limit.unit()
                ));
            }
            _ => {}
        }
        match error.kind() {
            ErrorKind::Busy | ErrorKind::Deadline => {
                wait = error.retry_after().unwrap_or(RETRY_AFTER);
                if attempt < ATTEMPTS {
                    tokio::time::sleep(wait).await;
                }
            }
            // An unknown vocabulary, another version, a damaged file, a bug: no other attempt helps.
            _ => return Answer::Broken(gobo_types::error_chain(&error)),
        }
    }
    Answer::Later(wait)
}
