use gobo_artifact::{Matcher, Vocabulary};
use gobo_explain::allowed;
use gobo_types::ErrorKind;
use serde_json::json;

use super::target::Target;
use crate::args::{Global, SampleArgs};
use crate::inputs::{Piece, Pieces, TokenName};
use crate::output::{self, Outcome};

/// A text written under the masks.
pub(crate) struct Walk {
    pub(crate) text: Vec<u8>,
    pub(crate) tokens: Vec<u32>,
    pub(crate) complete: bool,
    /// The limit of the matcher that the last token has gone past.
    pub(crate) limit: Option<String>,
}

/// Writes one text: at each step one of the allowed tokens, each as likely as any other, until an EOS, the end, or the
/// limit, or where the text is past a limit of the matcher. A binding without EOS stops at a complete text as if it had one.
pub(crate) fn walk(
    matcher: &mut Matcher,
    max_tokens: u32,
    random: &mut fastrand::Rng,
) -> anyhow::Result<Walk> {
    let mut walk = Walk { text: Vec::new(), tokens: Vec::new(), complete: false, limit: None };
    while walk.tokens.len() < max_tokens as usize {
        let ids = match allowed(matcher) {
            Err(past) if past.kind() == ErrorKind::Limit => {
                walk.limit = Some(past.to_string());
                break;
            }
            ids => ids?,
        };
        let ends_here = matcher.is_complete() && matcher.binding().eos.is_empty();
        let choices = ids.len() + usize::from(ends_here);
        if choices == 0 {
            break;
        }
        let Some(&id) = ids.get(random.usize(..choices)) else { break };
        matcher.advance(id)?;
        walk.tokens.push(id);
        if matcher.is_ended() {
            break;
        }
        walk.text.extend_from_slice(matcher.vocabulary().bytes(id));
    }
    walk.complete = matcher.is_complete();
    Ok(walk)
}

/// The text with the special tokens in it.
fn pieces(vocabulary: &Vocabulary, walk: &Walk) -> Pieces {
    let mut pieces: Vec<Piece> = Vec::new();
    for run in walk.tokens.chunk_by(|&one, &next| vocabulary.is_special(one) == vocabulary.is_special(next)) {
        if vocabulary.is_special(run[0]) {
            pieces.extend(run.iter().map(|&id| Piece::Token { token: TokenName::of(vocabulary, id) }));
        } else {
            let bytes: Vec<u8> = run.iter().flat_map(|&id| vocabulary.bytes(id)).copied().collect();
            pieces.push(Piece::Text(String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    Pieces::Pieces(pieces)
}

pub(crate) fn run(global: &Global, args: &SampleArgs) -> anyhow::Result<Outcome> {
    let target = match Target::open(&args.target, global)? {
        Ok(target) => target,
        Err(outcome) => return Ok(outcome),
    };
    let mut random = fastrand::Rng::with_seed(args.seed);
    let mut matcher = target.matcher()?;
    for _ in 0..args.n {
        matcher.reset();
        let walk = walk(&mut matcher, args.max_tokens, &mut random)?;
        let text = String::from_utf8_lossy(&walk.text);
        let pieces = args.tokens.then(|| pieces(matcher.vocabulary(), &walk));
        if global.json {
            output::line(json!({
                "text": text, "token_ids": walk.tokens, "complete": walk.complete, "limit": walk.limit,
                "tokens": pieces,
            }))?;
        } else {
            let cut = match walk.limit {
                Some(limit) => format!("  (cut: {limit})"),
                None if walk.complete => String::new(),
                None => "  (cut at --max-tokens)".to_owned(),
            };
            match pieces {
                Some(pieces) => output::line(format_args!("{pieces}{cut}"))?,
                None => output::line(format_args!("{text:?}{cut}"))?,
            }
        }
    }
    Ok(Outcome::Yes)
}
