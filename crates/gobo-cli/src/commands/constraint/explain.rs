use gobo_explain::{Question, explain, token_of};

use super::target::Target;
use crate::args::{ExplainArgs, Global};
use crate::commands::report::print_report;
use crate::output::{self, Outcome};

/// Places that a person is shown of each list of the report.
const PLACES_SHOWN: usize = 12;

pub(crate) fn run(global: &Global, args: &ExplainArgs) -> anyhow::Result<Outcome> {
    let target = match Target::open(&args.target, global)? {
        Ok(target) => target,
        Err(outcome) => return Ok(outcome),
    };
    let mut matcher = target.matcher()?;
    if let Some(tokens) = &args.tokens
        && let Err(refused) = tokens.take(&mut matcher)?
    {
        output::note(format_args!("the tokens are not allowed: {refused}"));
        return Ok(Outcome::No);
    }
    let vocabulary = matcher.vocabulary().clone();
    let before = args.tokens.as_ref().map(|tokens| tokens.read(&vocabulary)).transpose()?.unwrap_or_default();
    let token = token_of(&vocabulary, args.token.as_deref(), args.token_text.as_deref())?;
    let question = Question { before: &before, text: args.text.as_bytes(), token, limits: global.limits() };
    let explanation = explain(&mut matcher, &question)?;
    if global.json {
        output::line(explanation.json())?;
    } else {
        output::line(explanation.to_string().trim_end())?;
        print_report(&explanation.report, PLACES_SHOWN)?;
    }
    Ok(if explanation.is_whole() { Outcome::Yes } else { Outcome::No })
}
