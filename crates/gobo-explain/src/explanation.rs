//! Where a text stands: all that is known of it, for people and for scripts.

use std::fmt;

use gobo_artifact::layout::CallRoot;
use gobo_artifact::{ArtifactError, IndexClass, Matcher, MatcherError};
use gobo_automata::Piece;
use gobo_types::{CompileLimits, ErrorKind, LengthRange, Report, grouped};
use serde_json::{Value, json};

use crate::bytes::byte_ranges;
use crate::place::{Place, place};
use crate::reader::{allowed, read};
use crate::token::{edges_of, why};
use crate::ways::Ways;

/// Configurations that are shown, and frames of each that a person is shown.
const CONFIGURATIONS_SHOWN: usize = 16;
const FRAMES_SHOWN: usize = 8;

/// The longest tokens that a person is shown.
const TOKENS_SHOWN: usize = 8;

/// What is to be explained, from where a matcher stands.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// What the matcher has taken so far; only to say in which rules a text stands.
    pub before: &'a [Piece<'a>],
    /// The text that comes next.
    pub text: &'a [u8],
    /// A token that is to come after it.
    pub token: Option<u32>,
    /// What reading the text by its rules may use.
    pub limits: CompileLimits,
}

/// One of the ways in which a text can be read under an index with calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// Its state.
    pub state: u32,
    /// The numbers of the return states on its stack, innermost first.
    pub stack: Vec<u32>,
    /// What is counted there so far, and its bounds.
    pub count: Option<(u32, LengthRange)>,
}

/// Where a text stands, and what may come next.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The class of the index.
    pub class: IndexClass,
    /// Number of states of the index.
    pub states: u32,
    /// The text that was asked about.
    pub text: Vec<u8>,
    /// How many of its bytes are alive.
    pub taken: usize,
    /// The limit that it goes past there.
    pub limit: Option<String>,
    /// The state; of several configurations that of one.
    pub state: u32,
    /// The names of the return states, where the index has calls.
    pub calls: Option<CallRoot>,
    /// The first configurations, at most 16, where the index has calls.
    pub configurations: Vec<Configuration>,
    /// The number of all; `u64::MAX` for more than can be counted.
    pub configuration_count: u64,
    /// The depth of the deepest stack.
    pub stack_depth: u32,
    /// Whether a token may end where the text stands.
    pub stands: bool,
    /// Whether the text may end here.
    pub is_complete: bool,
    /// The bytes that the constraint lets come next, ascending.
    pub live: Vec<u8>,
    /// The bytes that have to come next.
    pub forced: Vec<u8>,
    /// The ids that may come next, ascending.
    pub allowed: Vec<u32>,
    /// The nine longest of them, EOS left out, with their bytes.
    pub longest: Vec<(u32, Vec<u8>)>,
    /// Special tokens that token edges read.
    pub edges: Vec<String>,
    /// Why the token may come next, or may not.
    pub token: Option<String>,
    /// The rules that have begun and not ended.
    pub ways: Ways,
    /// The place in the schema, and what is at work there.
    pub place: Option<Place>,
    /// What the index enforces.
    pub report: Report,
}

/// Why there is no explanation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// The index cannot be read.
    #[error(transparent)]
    Index(#[from] ArtifactError),
    /// The matcher cannot go on.
    #[error(transparent)]
    Matcher(#[from] MatcherError),
}

/// Reads a text as far as it is alive, and says where it stands. The matcher is left there, if a token may end there.
///
/// O(bytes of the text + words of a mask + ids), beside reading the text by its rules, which `limits` bound.
///
/// # Errors
/// [`ExplainError`] for an index that is damaged. A text past a limit is explained as far as it goes.
pub fn explain(matcher: &mut Matcher, question: &Question<'_>) -> Result<Explanation, ExplainError> {
    let Question { before, text, token, limits } = *question;
    let index = matcher.index().clone();
    let (reader, taken, mut limit) = read(matcher, text);
    let (state, live) = (reader.state(), reader.live_bytes());
    drop(reader);
    let stands = taken == 0 || matcher.advance_bytes(&text[..taken]).is_ok();
    let ids = match stands.then(|| allowed(matcher)).transpose() {
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
    let explained = token.filter(|_| stands).map(|id| why(matcher, id));
    // Of a refused token what is at work is found where it is refused.
    let place = match (&explained, token) {
        (Some((_, Some(offset))), Some(id)) if taken == text.len() => {
            let (fine, rest) = matcher.vocabulary().bytes(id).split_at(*offset);
            place(&index, &[&text[..taken], fine].concat(), rest)
        }
        _ => place(&index, &text[..taken], &text[taken..]),
    };
    let pieces = [before, &[Piece::Text(&text[..taken])]].concat();
    let calls = index.call_root()?;
    Ok(Explanation {
        class: index.class(),
        states: index.states() - 1,
        text: text.to_vec(),
        taken,
        limit,
        state,
        configurations: if calls.is_some() { configurations(matcher) } else { Vec::new() },
        configuration_count: matcher.configuration_count(),
        stack_depth: matcher.stack_depth(),
        calls,
        stands,
        is_complete: stands && matcher.is_complete(),
        live,
        forced,
        longest: if stands { longest(matcher, &ids) } else { Vec::new() },
        edges: if stands && index.has_token_edges() { edges_of(matcher) } else { Vec::new() },
        allowed: ids,
        token: explained.map(|(sentence, _)| sentence),
        ways: Ways::of(&index, matcher.vocabulary(), &pieces, limits),
        place,
        report: index.report()?,
    })
}

fn configurations(matcher: &Matcher) -> Vec<Configuration> {
    let shown = matcher.configurations(CONFIGURATIONS_SHOWN).into_iter();
    let counted = shown.zip(matcher.counts(CONFIGURATIONS_SHOWN));
    counted.map(|((state, stack), count)| Configuration { state, stack, count }).collect()
}

fn longest(matcher: &Matcher, ids: &[u32]) -> Vec<(u32, Vec<u8>)> {
    let vocabulary = matcher.vocabulary();
    let mut ids: Vec<u32> = ids.iter().copied().filter(|&id| !matcher.binding().is_eos(id)).collect();
    ids.sort_by_key(|&id| std::cmp::Reverse(vocabulary.bytes(id).len()));
    ids.iter().take(TOKENS_SHOWN + 1).map(|&id| (id, vocabulary.bytes(id).to_vec())).collect()
}

impl Explanation {
    /// Whether all of the text is alive, and a token may end behind it.
    pub fn is_whole(&self) -> bool {
        self.taken == self.text.len() && self.stands
    }

    /// For a person: where the text is no more alive, and why.
    pub fn dead_end(&self) -> Option<String> {
        if self.taken == self.text.len() {
            return None;
        }
        let (fine, rest) = self.text.split_at(self.taken);
        let (fine, rest) = (String::from_utf8_lossy(fine), String::from_utf8_lossy(rest));
        let why = self.limit.clone().unwrap_or_else(|| format!("{rest:?} cannot follow"));
        Some(format!("the text is alive up to {fine:?} (byte {}); {why}", self.taken))
    }

    /// The name of a frame: `in list, after item`.
    pub fn frame(&self, number: u32) -> String {
        match self.calls.as_ref().and_then(|calls| calls.returns.get(number as usize)) {
            Some(name) => format!("in {}, after {}", name.caller, name.callee),
            None => format!("return state number {number}"),
        }
    }

    /// For a script.
    pub fn json(&self) -> Value {
        let configurations = self.calls.as_ref().map(|calls| {
            let shown =
                self.configurations.iter().map(|configuration| configuration_json(calls, configuration));
            shown.collect::<Vec<_>>()
        });
        json!({
            "taken": self.taken, "limit": self.limit, "class": self.class.name(),
            "state": self.state, "states": self.states, "complete": self.is_complete,
            "configurations": configurations, "configuration_count": self.configuration_count, "stack_depth": self.stack_depth,
            "bytes": byte_ranges(&self.live), "forced": String::from_utf8_lossy(&self.forced), "allowed": self.allowed.len(),
            "token": self.token, "ways": self.ways.json(), "schema": self.place.as_ref().map(Place::json), "report": self.report,
        })
    }

    fn write_configurations(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states = grouped(self.states.into());
        for Configuration { state, stack, count } in &self.configurations {
            let frames = match stack.len() {
                0 => "nothing on the stack".to_owned(),
                1 => "1 frame on the stack".to_owned(),
                more => format!("{} frames on the stack, innermost first", grouped(more as u64)),
            };
            writeln!(f, "state     {state} of {states}, {frames}")?;
            for &frame in stack.iter().take(FRAMES_SHOWN) {
                writeln!(f, "          {}", self.frame(frame))?;
            }
            write_more(f, stack.len().saturating_sub(FRAMES_SHOWN) as u64, "")?;
            if let Some((chars, lengths)) = *count {
                let (of, bounds) = match lengths.tokens {
                    Some(most) => ("tokens of the region", format!("at most {}", grouped(most.into()))),
                    None => ("characters of the string", bounds(lengths)),
                };
                writeln!(f, "          {} {of}, of {bounds}", grouped(chars.into()))?;
            }
        }
        // Ways through the graph are counted, so that there may be more of them than distinct stacks.
        match self.configuration_count {
            _ if self.configurations.len() < CONFIGURATIONS_SHOWN => Ok(()),
            u64::MAX => writeln!(f, "          … more configurations than can be counted"),
            all => write_more(f, all.saturating_sub(CONFIGURATIONS_SHOWN as u64), " configurations"),
        }
    }

    fn write_allowed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "tokens    {} allowed", grouped(self.allowed.len() as u64))?;
        if !self.edges.is_empty() {
            writeln!(f, "edges     {}", self.edges.join(" "))?;
        }
        for (id, bytes) in self.longest.iter().take(TOKENS_SHOWN) {
            writeln!(f, "{id:>9} {:?}", String::from_utf8_lossy(bytes))?;
        }
        if self.longest.len() > TOKENS_SHOWN {
            writeln!(f, "          … the longest of them; `gobo mask` lists all")?;
        }
        Ok(())
    }
}

/// For a person, a line for each thing that is known; the report is left out.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dead_end = self.dead_end();
        if let Some(dead_end) = &dead_end {
            writeln!(f, "{dead_end}")?;
        }
        writeln!(f, "class     {}", self.class.name())?;
        match &self.calls {
            Some(_) => self.write_configurations(f)?,
            None => writeln!(f, "state     {} of {}", self.state, grouped(self.states.into()))?,
        }
        for (at, line) in self.ways.lines().iter().enumerate() {
            let is_more = at > 0 && line.starts_with('…');
            writeln!(f, "{} {line}", if is_more { "         " } else { "in       " })?;
        }
        writeln!(f, "complete  {}", if self.is_complete { "yes: the text may end here" } else { "no" })?;
        if !self.stands {
            writeln!(
                f,
                "tokens    none may end here: this is the middle of a character or of a longer token"
            )?;
        }
        let live = if self.live.is_empty() { "none".into() } else { byte_ranges(&self.live) };
        writeln!(f, "bytes     {live}")?;
        if !self.forced.is_empty() {
            writeln!(f, "forced    {:?}", String::from_utf8_lossy(&self.forced))?;
        }
        if self.stands {
            self.write_allowed(f)?;
        }
        // It has been said at the dead end.
        if let (Some(limit), None) = (&self.limit, dead_end) {
            writeln!(f, "limit     {limit}")?;
        }
        if let Some(token) = &self.token {
            writeln!(f, "\n{token}")?;
        }
        if let Some(place) = &self.place {
            writeln!(f, "schema    {place}")?;
        }
        Ok(())
    }
}

fn configuration_json(calls: &CallRoot, Configuration { state, stack, count }: &Configuration) -> Value {
    let frame = |&number: &u32| {
        let name = calls.returns.get(number as usize);
        json!({"caller": name.map(|name| &name.caller), "callee": name.map(|name| &name.callee)})
    };
    let stack =
        json!({"state": state, "depth": stack.len(), "stack": stack.iter().map(frame).collect::<Vec<_>>()});
    let count = match *count {
        None => return stack,
        Some((tokens, LengthRange { tokens: Some(most), .. })) => json!({"tokens": tokens, "max": most}),
        Some((chars, LengthRange { min, max, .. })) => json!({"characters": chars, "min": min, "max": max}),
    };
    let mut with = stack;
    with["count"] = count;
    with
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

fn write_more(f: &mut fmt::Formatter<'_>, more: u64, of: &str) -> fmt::Result {
    match more {
        0 => Ok(()),
        more => writeln!(f, "          … {} more{of}", grouped(more)),
    }
}
