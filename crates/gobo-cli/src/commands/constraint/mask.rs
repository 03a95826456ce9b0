use gobo_explain::allowed;
use gobo_types::ErrorKind;
use serde_json::json;

use super::target::Target;
use crate::args::{Global, MaskArgs};
use crate::output::{self, Outcome, grouped};

const IDS_SHOWN: usize = 100;

pub(crate) fn run(global: &Global, args: &MaskArgs) -> anyhow::Result<Outcome> {
    let target = match Target::open(&args.target, global)? {
        Ok(target) => target,
        Err(outcome) => return Ok(outcome),
    };
    let mut matcher = target.matcher()?;
    // Of a text past a limit there is no mask either.
    let taken = args.tokens.as_ref().map_or(Ok(Ok(())), |tokens| tokens.take(&mut matcher))?;
    let taken = taken.and_then(|()| match args.text.as_str() {
        "" => Ok(()),
        text => matcher.advance_bytes(text.as_bytes()),
    });
    let next = taken.and_then(|()| match allowed(&matcher) {
        Err(error) if error.kind() != ErrorKind::Limit => Ok(Err(error)),
        ids => ids.map(Ok),
    });
    if let Err(refused) = &next {
        if global.json {
            output::line(json!({"complete": false, "allowed": 0, "ids": [], "reason": refused.to_string()}))?;
        } else {
            output::note(format_args!("the text is not allowed: {refused}"));
            output::note("hint: `gobo explain` shows what may come instead");
        }
        return Ok(Outcome::No);
    }
    let ids = next??;
    let shown = &ids[..if args.ids { ids.len() } else { ids.len().min(IDS_SHOWN) }];
    if global.json {
        let notes = target.index.report()?.notes;
        output::line(json!({
            "taken_back": matcher.taken_back(), "complete": matcher.is_complete(), "allowed": ids.len(), "ids": shown, "notes": notes,
        }))?;
        return Ok(Outcome::Yes);
    }
    if matcher.taken_back() > 0 {
        output::line(format_args!("taken back  {} token of the prompt", matcher.taken_back()))?;
    }
    output::line(format_args!("complete  {}", if matcher.is_complete() { "yes" } else { "no" }))?;
    output::line(format_args!(
        "allowed   {} of {} ids",
        grouped(ids.len() as u64),
        grouped(target.loaded.vocabulary.len().into())
    ))?;
    for &id in shown {
        let eos = if target.loaded.binding.is_eos(id) { "  EOS" } else { "" };
        let bytes = String::from_utf8_lossy(target.loaded.vocabulary.bytes(id));
        output::line(format_args!("{id:>9}  {bytes:?}{eos}"))?;
    }
    if shown.len() < ids.len() {
        output::note(format_args!(
            "hint: --ids shows the other {}",
            grouped((ids.len() - shown.len()) as u64)
        ));
    }
    Ok(Outcome::Yes)
}
