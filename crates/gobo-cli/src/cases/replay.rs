//! A case, compiled and its texts walked.
use std::sync::Arc;
use std::time::Instant;

use gobo_artifact::{Index, Matcher, MatcherError, Vocabulary};
use gobo_schema::{PolicyForm, plain_text, yaml_text, yaml_text_as_written};
use gobo_tokenizer::Encoder;
use gobo_types::{Budget, CompileError, CompileLimits, Constraint, ErrorKind, Notation, Source};
use gobo_worker::compile_constraint;
use serde::Serialize;
use serde_json::Value;

use super::case::{Case, Expected};
use crate::inputs::{Loaded, Piece, Pieces};

/// The outcome of a case: a line of `gobo check`.
#[derive(Debug, Serialize)]
pub(crate) struct Replayed<'a> {
    pub(crate) id: &'a str,
    pub(crate) verdict: &'static str,
    pub(crate) reason: Option<String>,
    /// The place that a refusal names.
    #[serde(rename = "where")]
    place: Option<String>,
    compile_us: Option<u64>,
    /// Instances that the schema allows, and those that it does not.
    valid: u64,
    invalid: u64,
    /// Valid instances that are accepted with their properties in the order of the policy only.
    pub(crate) order: u64,
    /// Those that are accepted in its spelling only.
    pub(crate) spelling: u64,
    /// Those that are not accepted, and have numbers whose other spelling is too long to be tried: neither right nor wrong.
    pub(crate) not_respelled: u64,
    pub(crate) not_encodable: u64,
    pub(crate) wrong: Vec<Wrong<'a>>,
}

/// A text that is answered otherwise than its case says; without a text, the constraint itself.
#[derive(Debug, Serialize)]
pub(crate) struct Wrong<'a> {
    pub(crate) text: Option<&'a Pieces>,
    pub(crate) expected: &'static str,
}

/// The settings of a replay.
pub(crate) struct Replay<'a> {
    pub(crate) loaded: &'a Loaded,
    pub(crate) encoder: Option<&'a Encoder>,
    pub(crate) limits: CompileLimits,
    /// Threads of one compile.
    pub(crate) threads: usize,
}

impl Replay<'_> {
    /// Compiles the constraint of a case, and asks about each of its texts.
    pub(crate) fn replay<'a>(&self, case: &'a Case) -> anyhow::Result<Replayed<'a>> {
        let instances = |expected| {
            let of = case.texts.iter().filter(|text| text.is_instance && text.expected == expected);
            of.count() as u64
        };
        let mut replayed = Replayed {
            id: &case.id,
            verdict: "index",
            reason: None,
            place: None,
            compile_us: None,
            valid: instances(Expected::Accept),
            invalid: instances(Expected::Reject),
            order: 0,
            spelling: 0,
            not_respelled: 0,
            not_encodable: 0,
            wrong: Vec::new(),
        };
        let begin = Instant::now();
        let budget = Budget::new(self.limits);
        let vocabulary = &self.loaded.vocabulary;
        let compiled = match compile_constraint(vocabulary, &case.constraint, self.threads, &budget) {
            Ok(compiled) => compiled,
            Err(error) => {
                replayed.verdict = error.verdict();
                replayed.reason = Some(error.to_string());
                if let CompileError::Refused(refusal) = error {
                    replayed.place = Some(refusal.place.into());
                }
                return Ok(replayed);
            }
        };
        replayed.compile_us = Some(u64::try_from(begin.elapsed().as_micros())?);
        let index = Arc::new(Index::from_bytes(compiled.bytes())?);
        let is_word = |id: u32| index.may_read_whole(id) && !vocabulary.is_special(id);
        let reads_words = index.has_token_edges() && (0..vocabulary.len()).any(is_word);
        let matcher = Matcher::new(index, vocabulary.clone(), &self.loaded.binding)?;
        let (matcher, is_behind) = match matcher.clone().after_prompt(&case.prompt) {
            Ok(behind) => (behind, true),
            // Then there are no texts.
            Err(MatcherError::NothingFollows) => (matcher, false),
            Err(error) => return Err(error.into()),
        };
        let mut walker = Walker {
            matcher,
            prompt: &case.prompt,
            is_behind,
            replay: self,
            not_encodable: 0,
            reads_words,
            failure: None,
        };
        if case.invalid {
            replayed.wrong.push(Wrong { text: None, expected: "refused" });
        }
        let notation = notation(&case.constraint);
        let mut policy = Policy { constraint: &case.constraint, limits: self.limits, form: None };
        for text in &case.texts {
            let answer = match text.text.text().filter(|_| text.is_instance && notation == Notation::Yaml) {
                // What is forbidden may be so because of how a number is written.
                Some(json) => {
                    let is_forbidden = text.expected == Expected::Reject;
                    let text = if is_forbidden { yaml_text_as_written(json) } else { yaml_text(json) };
                    walker.answer(&Pieces::Text(text))?
                }
                None => walker.answer(&text.text)?,
            };
            let is_right = match text.expected {
                Expected::Accept => answer == Answer::Complete,
                Expected::Reject => answer != Answer::Complete,
                Expected::Incomplete => answer == Answer::Viable,
            };
            if is_right {
                continue;
            }
            if text.is_instance && text.expected == Expected::Accept {
                let written = text.text.text().unwrap_or_default();
                match policy.other_text(written, &mut walker) {
                    Ok(Some(Other::Order)) => {
                        replayed.order += 1;
                        continue;
                    }
                    Ok(Some(Other::Spelling)) => {
                        replayed.spelling += 1;
                        continue;
                    }
                    Ok(Some(Other::Unknown)) => {
                        replayed.not_respelled += 1;
                        continue;
                    }
                    Ok(None) => {}
                    Err(error) => walker.failure = Some(format!("the policy form: {error}")),
                }
            }
            replayed.wrong.push(Wrong { text: Some(&text.text), expected: text.expected.name() });
        }
        replayed.not_encodable = walker.not_encodable;
        if let Some(reason) = walker.failure {
            replayed.verdict = "failed";
            replayed.reason = Some(reason);
        }
        Ok(replayed)
    }
}

/// In which other text a valid value is accepted, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Other {
    /// With its properties in the order of the policy.
    Order,
    /// Respelled as well.
    Spelling,
    /// Maybe in one that is too long to be tried.
    Unknown,
}

/// How the values of a constraint are written.
fn notation(constraint: &Constraint) -> Notation {
    match &constraint.source {
        Source::Schema { options, .. } => options.notation,
        _ => Notation::Json,
    }
}

/// The texts that the policy of a schema allows for a value.
struct Policy<'a> {
    constraint: &'a Constraint,
    limits: CompileLimits,
    /// Built when the first text needs it.
    form: Option<PolicyForm>,
}

impl Policy<'_> {
    /// Tries the value of a text that is not accepted in policy form.
    fn other_text(&mut self, text: &str, walker: &mut Walker<'_>) -> anyhow::Result<Option<Other>> {
        // A value with half a character in it, or nested past reason, has no other text.
        let Ok(value) = serde_json::from_str::<Value>(text) else { return Ok(None) };
        let form = match (&mut self.form, &self.constraint.source) {
            (Some(form), _) => form,
            (form, Source::Schema { schema, options }) => {
                form.insert(PolicyForm::new(schema, options, &Budget::new(self.limits))?)
            }
            _ => return Ok(None),
        };
        let value = form.in_order(&value);
        let in_order = value.to_string();
        let texts = match notation(self.constraint) {
            Notation::Json => {
                vec![(Other::Order, plain_text(&in_order)), (Other::Spelling, form.spelled(&value))]
            }
            Notation::Yaml => vec![(Other::Order, yaml_text(&in_order))],
        };
        for (other, text) in texts {
            if walker.answer(&Pieces::Text(text))? == Answer::Complete {
                return Ok(Some(other));
            }
        }
        Ok((!PolicyForm::can_spell(&value)).then_some(Other::Unknown))
    }
}

/// The state at the end of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// A token was not allowed, or went past a limit of the matcher, or no tokens spell the text.
    Refused,
    /// Every token was allowed, and the text is not complete.
    Viable,
    /// Every token was allowed, and the text is complete.
    Complete,
}

/// Asks an index about texts.
struct Walker<'a> {
    matcher: Matcher,
    /// The tokens of the prompt, and whether some text may follow them.
    prompt: &'a [u32],
    is_behind: bool,
    replay: &'a Replay<'a>,
    /// Texts that were walked in small tokens only.
    not_encodable: u64,
    /// Whether the index reads ordinary tokens whole, so that it matters how a text is cut.
    reads_words: bool,
    failure: Option<String>,
}

impl Walker<'_> {
    /// Walks a text as its tokenizer cuts it, and as the index itself would; both have to be complete, or neither.
    fn answer_canonical(&mut self, text: &Pieces, own: Option<&[u32]>) -> anyhow::Result<Answer> {
        self.matcher.reset();
        if !self.is_behind {
            return Ok(Answer::Refused);
        }
        let mut bytes = text.text().unwrap_or_default().as_bytes().to_vec();
        let taken_back = &self.prompt[self.prompt.len() - self.matcher.taken_back()..];
        taken_back
            .iter()
            .rev()
            .for_each(|&id| drop(bytes.splice(..0, self.matcher.vocabulary().bytes(id).iter().copied())));
        let by_bytes = match self.matcher.advance_bytes(&bytes) {
            Ok(()) if self.matcher.is_complete() => Answer::Complete,
            Ok(()) => Answer::Viable,
            Err(_) => Answer::Refused,
        };
        // Behind a prompt a tokenizer may cut otherwise than at the beginning of a text, unless it ends in a special token.
        let begins_chunk = self.prompt.last().is_none_or(|&id| self.matcher.vocabulary().is_special(id));
        let Some(tokens) = own.filter(|_| begins_chunk) else { return Ok(by_bytes) };
        let answer = walk(&mut self.matcher, tokens)?;
        if (answer == Answer::Complete) != (by_bytes == Answer::Complete) {
            self.failure = Some(format!("the walks of {text} disagree"));
        }
        Ok(answer)
    }

    /// Walks a text as its tokenizer cuts it, and in the most tokens, with the tokens that stand in it; both have to end alike, unless the index
    /// reads ordinary tokens whole: then the first alone is asked for.
    fn answer(&mut self, text: &Pieces) -> anyhow::Result<Answer> {
        let loaded = self.replay.loaded;
        let (mut own, mut small) = (Some(Vec::new()), Some(Vec::new()));
        for piece in text.pieces() {
            let (as_cut, in_most) = match piece {
                Piece::Token { token } => {
                    let id = token.id(&loaded.vocabulary)?;
                    (Some(vec![id]), Some(vec![id]))
                }
                // An encoder that gives up on a text says nothing about the index.
                Piece::Text(text) => (
                    self.replay.encoder.and_then(|encoder| {
                        encoder.encode_continuation(&text, |id| loaded.ordinary_bytes(id)).ok().flatten()
                    }),
                    most_tokens(&loaded.vocabulary, text.as_bytes()),
                ),
            };
            own = own.zip(as_cut).map(|(before, more)| [before, more].concat());
            small = small.zip(in_most).map(|(before, more)| [before, more].concat());
        }
        self.not_encodable += u64::from(own.is_none());
        if self.matcher.index().encoder_digest().is_some() {
            return self.answer_canonical(text, own.as_deref());
        }
        let others = small.iter().filter(|_| !self.reads_words || own.is_none());
        let mut walks = own.iter().chain(others).map(|tokens| walk(&mut self.matcher, tokens));
        // No token sequence is this text: it is not accepted, and nothing can be walked.
        let Some(answer) = walks.next().transpose()? else { return Ok(Answer::Refused) };
        for other in walks {
            if other? != answer {
                self.failure = Some(format!("the walks of {text} disagree"));
            }
        }
        Ok(answer)
    }
}

fn walk(matcher: &mut Matcher, tokens: &[u32]) -> anyhow::Result<Answer> {
    let mut mask = vec![0_u32; matcher.mask_words()];
    matcher.reset();
    for &id in tokens {
        match matcher.fill(&mut mask) {
            // The constraint has the text, the matcher has not: one past its limits cannot be written.
            Err(error) if error.kind() == ErrorKind::Limit => return Ok(Answer::Refused),
            filled => filled?,
        };
        let bit = mask[(id >> 5) as usize] >> (id & 31) & 1 == 1;
        let taken = matcher.advance(id).is_ok();
        anyhow::ensure!(bit == taken, "mask and advance disagree about token {id}");
        if !taken {
            return Ok(Answer::Refused);
        }
    }
    Ok(if matcher.is_complete() { Answer::Complete } else { Answer::Viable })
}

/// The segmentation of `text` into the most ordinary tokens; `None` if no tokens spell it. O(text × longest token).
fn most_tokens(vocabulary: &Vocabulary, text: &[u8]) -> Option<Vec<u32>> {
    let trie = vocabulary.trie();
    // For each offset the number of tokens before it, and the last of them.
    let mut best: Vec<Option<(usize, u32)>> = vec![None; text.len() + 1];
    best[0] = Some((0, 0));
    for from in 0..text.len() {
        let Some((count, _)) = best[from] else { continue };
        for (length, ids) in trie.prefixes(&text[from..]) {
            let here = &mut best[from + length];
            if let Some(&id) = ids.first()
                && here.is_none_or(|(tokens, _)| tokens < count + 1)
            {
                *here = Some((count + 1, id));
            }
        }
    }
    let mut tokens = Vec::new();
    let mut at = text.len();
    while at > 0 {
        let (_, id) = best[at]?;
        tokens.push(id);
        at -= vocabulary.bytes(id).len();
    }
    tokens.reverse();
    Some(tokens)
}
