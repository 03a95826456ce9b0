mod json_scan;
mod place;
mod token;
mod ways;

use std::sync::Arc;

use gobo_artifact::layout::{CallRoot, DEAD};
use gobo_artifact::{ByteReader, Index, IndexClass, Matcher, MatcherError};
use gobo_types::{ErrorKind, LengthRange};
use serde_json::{Value, json};

use self::place::{Place, place};
use self::token::token_of;
use self::ways::ways;
use super::mask::allowed;
use super::target::Target;
use crate::args::{ExplainArgs, Global};
use crate::commands::report::print_report;
use crate::output::{self, Outcome, grouped};

/// Configurations that are shown, and frames of each that a person is shown.
const CONFIGURATIONS_SHOWN: usize = 16;
const FRAMES_SHOWN: usize = 8;

/// Places that a person is shown of each list of the report.
const PLACES_SHOWN: usize = 12;

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

/// A text read byte by byte.
enum Reader {
    /// Under an index without calls, where the bytes may end inside a character or a longer token: no matcher stands there.
    State { index: Arc<Index>, state: u32 },
    /// Under a canonical index, wherever tokens may end.
    Canonical(Box<ByteReader>),
    /// Under an index with calls, where only a matcher knows the stack, and each byte is a token.
    Stack(Box<Matcher>),
}

impl Reader {
    /// From where the matcher stands.
    fn at(matcher: &Matcher) -> Self {
        if let Some(reader) = matcher.byte_reader() {
            return Self::Canonical(Box::new(reader));
        }
        match (matcher.index().class(), matcher.state()) {
            (IndexClass::Regular, state) => {
                Self::State { index: matcher.index().clone(), state: state.unwrap_or(DEAD) }
            }
            _ => Self::Stack(Box::new(matcher.clone())),
        }
    }

    fn state(&self) -> u32 {
        match self {
            Self::State { state, .. } => *state,
            Self::Canonical(reader) => reader.state(),
            Self::Stack(matcher) => matcher.state().unwrap_or(DEAD),
        }
    }

    fn step(&mut self, byte: u8) -> Result<(), MatcherError> {
        match self {
            Self::State { index, state } => match index.next_state(*state, byte) {
                DEAD => Err(MatcherError::RefusedByte { offset: 0, byte }),
                next => {
                    *state = next;
                    Ok(())
                }
            },
            Self::Canonical(reader) => {
                if reader.step(byte) {
                    Ok(())
                } else {
                    Err(MatcherError::RefusedByte { offset: 0, byte })
                }
            }
            Self::Stack(matcher) => matcher.advance_bytes(&[byte]),
        }
    }

    /// The bytes that the constraint lets come next; none where the text is past a limit.
    fn live_bytes(&self) -> Vec<u8> {
        match self {
            Self::State { index, state } => {
                (0..=u8::MAX).filter(|&byte| index.next_state(*state, byte) != DEAD).collect()
            }
            Self::Canonical(reader) => reader.live_bytes().bytes().collect(),
            Self::Stack(matcher) => {
                let mut probe = matcher.clone();
                let mut is_live =
                    |byte: u8| probe.advance_bytes(&[byte]).is_ok() && probe.rollback(1).is_ok();
                (0..=u8::MAX).filter(|&byte| is_live(byte)).collect()
            }
        }
    }
}

/// Why a canonical index does not let a token come next whose bytes may.
fn not_canonical(matcher: &Matcher, id: u32) -> String {
    let vocabulary = matcher.vocabulary();
    let shown = |id: u32| format!("{:?}", String::from_utf8_lossy(vocabulary.bytes(id)));
    if vocabulary.encoder().is_ok_and(|encoder| !encoder.merges.is_proper(id)) {
        return "the tokenizer never writes it, whatever the text".to_owned();
    }
    match matcher.merge_before(id) {
        Some((last, left, right)) => format!(
            "the tokenizer would have merged {} and {} where it meets the last token {}",
            shown(left),
            shown(right),
            shown(last)
        ),
        None => "whatever follows, the tokenizer would merge it with that, or cut the text in another place"
            .to_owned(),
    }
}

/// Why a token may or may not come next, in one sentence; and how many of its bytes are taken, if another one is not.
fn why(matcher: &Matcher, id: u32) -> (String, Option<usize>) {
    let mut taken = None;
    (sentence(matcher, id, &mut taken), taken)
}

fn sentence(matcher: &Matcher, id: u32, refused_after: &mut Option<usize>) -> String {
    let vocabulary = matcher.vocabulary();
    let bytes = vocabulary.bytes(id);
    let shown = String::from_utf8_lossy(bytes);
    let has_edge = matcher.index().has_token_edges();
    if has_edge
        && matcher.allows(id)
        && (vocabulary.is_special(id) || matcher.binding().is_eos(id))
        && !matcher.is_complete()
    {
        return format!("token {id} {shown:?} is allowed: a token edge reads it");
    }
    if matcher.binding().is_eos(id) {
        return if matcher.is_complete() {
            format!("token {id} {shown:?} is allowed: it is an EOS, and the text is complete")
        } else {
            format!("token {id} {shown:?} is refused: it is an EOS, and the text is not complete")
        };
    }
    if id >= vocabulary.len() {
        let ids = grouped(vocabulary.len().into());
        return format!("token {id} is refused: it lies beyond the vocabulary of {ids} ids");
    }
    if vocabulary.is_special(id) {
        return match edges_of(matcher) {
            _ if !has_edge => {
                format!("token {id} {shown:?} is refused: special tokens are never reached by spelling")
            }
            _ if matcher.allows(id) => format!("token {id} {shown:?} is allowed: a token edge reads it"),
            edges if edges.is_empty() => {
                format!("token {id} {shown:?} is refused: no token edge leads on from here")
            }
            edges => format!(
                "token {id} {shown:?} is refused: the token edges that lead on from here read {}",
                edges.join(" ")
            ),
        };
    }
    if bytes.is_empty() {
        return format!("token {id} is refused: the id is a hole, it names no token");
    }
    let mut reader = Reader::at(matcher);
    for (offset, &byte) in bytes.iter().enumerate() {
        match reader.step(byte) {
            Ok(()) => {}
            Err(MatcherError::RefusedByte { .. }) => {
                *refused_after = Some(offset);
                let taken = String::from_utf8_lossy(&bytes[..offset]);
                let instead = byte_ranges(&reader.live_bytes());
                let instead = if instead.is_empty() { "nothing".to_owned() } else { instead };
                return format!(
                    "token {id} {shown:?} is refused: after its {taken:?} byte {} leads nowhere; there may come {instead}",
                    byte_ranges(&[byte])
                );
            }
            Err(limit) => return format!("token {id} {shown:?} cannot be taken: {limit}"),
        }
    }
    if matcher.allows(id) {
        return format!("token {id} {shown:?} is allowed");
    }
    if matcher.index().encoder_digest().is_some() {
        return format!("token {id} {shown:?} is refused: {}", not_canonical(matcher, id));
    }
    format!("token {id} {shown:?} is refused: no sequence of tokens leads from there to the end")
}

/// Some special tokens that may come next.
fn edges_of(matcher: &Matcher) -> Vec<String> {
    const SHOWN: usize = 8;
    let ids = allowed(matcher).unwrap_or_default();
    let vocabulary = matcher.vocabulary();
    let special = ids.into_iter().filter(|&id| vocabulary.is_special(id) && !matcher.binding().is_eos(id));
    let mut shown: Vec<String> = special
        .map(|id| String::from_utf8_lossy(vocabulary.bytes(id)).into_owned())
        .take(SHOWN + 1)
        .collect();
    if shown.len() > SHOWN {
        shown.truncate(SHOWN);
        shown.push("…".to_owned());
    }
    shown
}

/// The configurations of a text under an index with calls, for a person.
fn print_configurations(matcher: &Matcher, calls: &CallRoot) -> anyhow::Result<()> {
    let shown = matcher.configurations(CONFIGURATIONS_SHOWN);
    let states = grouped((matcher.index().states() - 1).into());
    for ((state, stack), count) in shown.iter().zip(matcher.counts(CONFIGURATIONS_SHOWN)) {
        let frames = match stack.len() {
            0 => "nothing on the stack".to_owned(),
            1 => "1 frame on the stack".to_owned(),
            more => format!("{} frames on the stack, innermost first", grouped(more as u64)),
        };
        output::line(format_args!("state     {state} of {states}, {frames}"))?;
        for &frame in stack.iter().take(FRAMES_SHOWN) {
            output::line(format_args!("          {}", frame_name(calls, frame)))?;
        }
        print_more(stack.len().saturating_sub(FRAMES_SHOWN) as u64, "")?;
        if let Some((chars, lengths)) = count {
            let (of, bounds) = match lengths.tokens {
                Some(most) => ("tokens of the region", format!("at most {}", grouped(most.into()))),
                None => ("characters of the string", bounds(lengths)),
            };
            output::line(format_args!("          {} {of}, of {bounds}", grouped(chars.into())))?;
        }
    }
    // Ways through the graph are counted, so that there may be more of them than distinct stacks.
    match matcher.configuration_count() {
        _ if shown.len() < CONFIGURATIONS_SHOWN => Ok(()),
        u64::MAX => output::line("          … more configurations than can be counted"),
        all => print_more(all.saturating_sub(CONFIGURATIONS_SHOWN as u64), " configurations"),
    }
}

/// Bounds of a length, for a person.
fn bounds(LengthRange { min, max, .. }: LengthRange) -> String {
    let at_least = || format!("at least {}", grouped(min.into()));
    match max {
        None => at_least(),
        Some(max) if min == 0 => format!("at most {}", grouped(max.into())),
        Some(max) => format!("{} and at most {}", at_least(), grouped(max.into())),
    }
}

fn print_more(more: u64, of: &str) -> anyhow::Result<()> {
    match more {
        0 => Ok(()),
        more => output::line(format_args!("          … {} more{of}", grouped(more))),
    }
}

/// The name of a frame: `in list, after item`.
fn frame_name(calls: &CallRoot, number: u32) -> String {
    match calls.returns.get(number as usize) {
        Some(name) => format!("in {}, after {}", name.caller, name.callee),
        None => format!("return state number {number}"),
    }
}

fn configurations_json(matcher: &Matcher, calls: &CallRoot) -> Value {
    let frame = |&number: &u32| {
        let name = calls.returns.get(number as usize);
        json!({"caller": name.map(|name| &name.caller), "callee": name.map(|name| &name.callee)})
    };
    let shown = matcher.configurations(CONFIGURATIONS_SHOWN);
    let counts = matcher.counts(CONFIGURATIONS_SHOWN);
    let shown = shown.iter().zip(counts).map(|((state, stack), count)| {
        let stack = json!({"state": state, "depth": stack.len(), "stack": stack.iter().map(frame).collect::<Vec<_>>()});
        match count {
            None => stack,
            Some((tokens, LengthRange { tokens: Some(most), .. })) => {
                let mut with = stack;
                with["count"] = json!({"tokens": tokens, "max": most});
                with
            }
            Some((chars, LengthRange { min, max, .. })) => {
                let mut with = stack;
                with["count"] = json!({"characters": chars, "min": min, "max": max});
                with
            }
        }
    });
    shown.collect()
}

/// The number of tokens that may come next, and the longest of them.
fn print_allowed(matcher: &Matcher, ids: &[u32]) -> anyhow::Result<()> {
    output::line(format_args!("tokens    {} allowed", grouped(ids.len() as u64)))?;
    let edges = if matcher.index().has_token_edges() { edges_of(matcher) } else { Vec::new() };
    if !edges.is_empty() {
        output::line(format_args!("edges     {}", edges.join(" ")))?;
    }
    let mut longest: Vec<u32> = ids.iter().copied().filter(|&id| !matcher.binding().is_eos(id)).collect();
    longest.sort_by_key(|&id| std::cmp::Reverse(matcher.vocabulary().bytes(id).len()));
    for &id in longest.iter().take(8) {
        output::line(format_args!("{id:>9} {:?}", String::from_utf8_lossy(matcher.vocabulary().bytes(id))))?;
    }
    if longest.len() > 8 {
        output::line(format_args!("          … the longest of them; `gobo mask` lists all"))?;
    }
    Ok(())
}

/// Reads a text as far as it is alive: how many bytes, and the limit that it goes past, if that ends it.
fn read(matcher: &Matcher, text: &[u8]) -> (Reader, usize, Option<String>) {
    let mut reader = Reader::at(matcher);
    for (taken, &byte) in text.iter().enumerate() {
        match reader.step(byte) {
            Ok(()) => {}
            Err(MatcherError::RefusedByte { .. }) => return (reader, taken, None),
            Err(past) => return (reader, taken, Some(past.to_string())),
        }
    }
    (reader, text.len(), None)
}

pub(crate) fn run(global: &Global, args: &ExplainArgs) -> anyhow::Result<Outcome> {
    let target = match Target::open(&args.target, global)? {
        Ok(target) => target,
        Err(outcome) => return Ok(outcome),
    };
    let mut matcher = target.matcher()?;
    let index = &target.index;
    let calls = index.call_root()?;
    if let Some(tokens) = &args.tokens
        && let Err(refused) = tokens.take(&mut matcher)?
    {
        output::note(format_args!("the tokens are not allowed: {refused}"));
        return Ok(Outcome::No);
    }
    // As far as the text is alive; the rest is what has to be explained.
    let text = args.text.as_bytes();
    let (reader, taken, mut limit) = read(&matcher, text);
    let (state, live) = (reader.state(), reader.live_bytes());
    let stands = taken == 0 || matcher.advance_bytes(&text[..taken]).is_ok();
    let ids = match stands.then(|| allowed(&matcher)).transpose() {
        // The text is taken, and has no mask.
        Err(past) if past.kind() == ErrorKind::Limit => {
            limit = Some(past.to_string());
            Vec::new()
        }
        ids => ids?.unwrap_or_default(),
    };
    let mut forced = Vec::new();
    if stands {
        matcher.forced(&mut forced);
    }
    let token = token_of(matcher.vocabulary(), args.token.as_deref(), args.token_text.as_deref())?;
    let explained = token.filter(|_| stands).map(|id| why(&matcher, id));
    // Of a refused token what is at work is found where it is refused.
    let place = match (&explained, token) {
        (Some((_, Some(offset))), Some(id)) if taken == text.len() => {
            let (fine, rest) = matcher.vocabulary().bytes(id).split_at(*offset);
            place(index, &[&text[..taken], fine].concat(), rest)
        }
        _ => place(index, &text[..taken], &text[taken..]),
    };
    let explained = explained.map(|(sentence, _)| sentence);
    let ways = ways((index, matcher.vocabulary()), (args.tokens.as_ref(), &text[..taken]), global.limits())?;
    let complete = stands && matcher.is_complete();
    if global.json {
        let configurations = calls.as_ref().map(|calls| configurations_json(&matcher, calls));
        output::line(json!({
            "taken": taken, "limit": limit, "class": index.class().name(),
            "state": state, "states": index.states() - 1, "complete": complete,
            "configurations": configurations, "configuration_count": matcher.configuration_count(), "stack_depth": matcher.stack_depth(),
            "bytes": byte_ranges(&live), "forced": String::from_utf8_lossy(&forced), "allowed": ids.len(),
            "token": explained, "ways": ways.json(), "schema": place.as_ref().map(Place::json), "report": index.report()?,
        }))?;
    } else {
        if taken < text.len() {
            let (fine, rest) =
                (String::from_utf8_lossy(&text[..taken]), String::from_utf8_lossy(&text[taken..]));
            let why_not = limit.take().unwrap_or_else(|| format!("{rest:?} cannot follow"));
            output::line(format_args!("the text is alive up to {fine:?} (byte {taken}); {why_not}"))?;
        }
        output::line(format_args!("class     {}", index.class().name()))?;
        match &calls {
            Some(calls) => print_configurations(&matcher, calls)?,
            None => {
                output::line(format_args!("state     {state} of {}", grouped((index.states() - 1).into())))?;
            }
        }
        ways.print()?;
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
            print_allowed(&matcher, &ids)?;
        }
        if let Some(limit) = &limit {
            output::line(format_args!("limit     {limit}"))?;
        }
        if let Some(explained) = &explained {
            output::line(format_args!("\n{explained}"))?;
        }
        if let Some(place) = &place {
            output::line(format_args!("schema    {place}"))?;
        }
        print_report(&index.report()?, PLACES_SHOWN)?;
    }
    Ok(if taken == text.len() && stands { Outcome::Yes } else { Outcome::No })
}
