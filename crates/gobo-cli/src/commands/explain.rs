use gobo_artifact::{DEAD, Index, Matcher};
use serde_json::json;

use super::inspect::print_report;
use super::mask::allowed;
use crate::args::{ExplainArgs, Global};
use crate::output::{self, Outcome, grouped};
use crate::target::Target;

/// Bytes as a person reads them: characters where they are ASCII, numbers otherwise, runs as ranges.
fn byte_ranges(bytes: &[u8]) -> String {
    let name = |byte: u8| match char::from(byte) {
        shown if shown.is_ascii_graphic() => shown.to_string(),
        ' ' => "space".into(),
        _ => format!("0x{byte:02x}"),
    };
    let runs: Vec<String> = bytes
        .chunk_by(|a, b| a + 1 == *b && (a.is_ascii_alphanumeric() == b.is_ascii_alphanumeric()))
        .map(|run| match run {
            [one] => name(*one),
            [first, second] => format!("{} {}", name(*first), name(*second)),
            [first, .., last] => format!("{}–{}", name(*first), name(*last)),
            [] => String::new(),
        })
        .collect();
    runs.join(" ")
}

fn live_bytes(index: &Index, state: u32) -> Vec<u8> {
    (0..=u8::MAX).filter(|&byte| index.next_state(state, byte) != DEAD).collect()
}

/// Why a token may or may not come next, in one sentence.
fn why(matcher: &Matcher, state: u32, id: u32) -> String {
    let vocabulary = matcher.vocabulary();
    let bytes = vocabulary.bytes(id);
    let shown = String::from_utf8_lossy(bytes);
    if matcher.binding().is_eos(id) {
        return if matcher.is_complete() {
            format!("token {id} {shown:?} is allowed: it is an EOS, and the text is complete")
        } else {
            format!("token {id} {shown:?} is refused: it is an EOS, and the text is not complete")
        };
    }
    if id >= vocabulary.len() {
        return format!("token {id} is refused: it lies beyond the vocabulary of {} ids", vocabulary.len());
    }
    if vocabulary.is_special(id) {
        return format!("token {id} {shown:?} is refused: special tokens are never reached by spelling");
    }
    if bytes.is_empty() {
        return format!("token {id} is refused: the id is a hole, it names no token");
    }
    let index = matcher.index();
    let mut at = state;
    for (offset, &byte) in bytes.iter().enumerate() {
        let next = index.next_state(at, byte);
        if next == DEAD {
            let taken = String::from_utf8_lossy(&bytes[..offset]);
            let instead = byte_ranges(&live_bytes(index, at));
            let instead = if instead.is_empty() { "nothing".to_owned() } else { instead };
            return format!(
                "token {id} {shown:?} is refused: after its {taken:?} byte {} leads nowhere; there may come {instead}",
                byte_ranges(&[byte])
            );
        }
        at = next;
    }
    if matcher.allows(id) {
        return format!("token {id} {shown:?} is allowed");
    }
    format!("token {id} {shown:?} is refused: no sequence of tokens leads from behind it to the end")
}

pub(crate) fn run(global: &Global, args: &ExplainArgs) -> anyhow::Result<Outcome> {
    let target = match Target::open(&args.target, global)? {
        Ok(target) => target,
        Err(verdict) => return output::verdict(&verdict, global.json),
    };
    let mut matcher = target.matcher()?;
    let index = &target.index;
    // As far as the text is alive; the rest is what has to be explained.
    let text = args.text.as_bytes();
    let mut state = index.start();
    let mut taken = 0;
    while let Some(&byte) = text.get(taken) {
        let next = index.next_state(state, byte);
        if next == DEAD {
            break;
        }
        state = next;
        taken += 1;
    }
    let live = live_bytes(index, state);
    let stands = matcher.advance_bytes(&text[..taken]).is_ok();
    let ids = if stands { allowed(&matcher)? } else { Vec::new() };
    let mut forced = Vec::new();
    if stands {
        matcher.forced(&mut forced);
    }
    let explained = args.token.filter(|_| stands).map(|id| why(&matcher, state, id));
    let complete = stands && matcher.is_complete();
    if global.json {
        output::line(json!({
            "taken": taken, "state": state, "states": index.states() - 1, "complete": complete,
            "bytes": byte_ranges(&live), "forced": String::from_utf8_lossy(&forced), "allowed": ids.len(),
            "token": explained, "report": index.report()?,
        }))?;
    } else {
        if taken < text.len() {
            let (fine, rest) =
                (String::from_utf8_lossy(&text[..taken]), String::from_utf8_lossy(&text[taken..]));
            output::line(format_args!(
                "the text is alive up to {fine:?} (byte {taken}); {rest:?} cannot follow"
            ))?;
        }
        output::line(format_args!("state     {state} of {}", grouped((index.states() - 1).into())))?;
        output::line(format_args!(
            "complete  {}",
            if complete { "yes: the text may end here" } else { "no" }
        ))?;
        if !stands {
            output::line(
                "tokens    none may end here: this is the middle of a character or of a longer token",
            )?;
        }
        output::line(format_args!(
            "bytes     {}",
            if live.is_empty() { "none".into() } else { byte_ranges(&live) }
        ))?;
        if !forced.is_empty() {
            output::line(format_args!("forced    {:?}", String::from_utf8_lossy(&forced)))?;
        }
        if stands {
            output::line(format_args!("tokens    {} allowed", grouped(ids.len() as u64)))?;
            let mut longest: Vec<u32> =
                ids.iter().copied().filter(|&id| !matcher.binding().is_eos(id)).collect();
            longest.sort_by_key(|&id| std::cmp::Reverse(matcher.vocabulary().bytes(id).len()));
            for &id in longest.iter().take(8) {
                output::line(format_args!(
                    "{id:>9} {:?}",
                    String::from_utf8_lossy(matcher.vocabulary().bytes(id))
                ))?;
            }
            if longest.len() > 8 {
                output::line(format_args!("          … the longest of them; `gobo mask` lists all"))?;
            }
        }
        if let Some(explained) = &explained {
            output::line(format_args!("\n{explained}"))?;
        }
        print_report(&index.report()?)?;
    }
    Ok(if taken == text.len() && stands { Outcome::Yes } else { Outcome::No })
}
