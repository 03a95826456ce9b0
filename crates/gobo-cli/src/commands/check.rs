use std::sync::Arc;
use std::time::Instant;

use gobo_artifact::{Index, Matcher, Vocabulary};
use gobo_engine::compile_constraint;
use gobo_tokenizer::Encoder;
use gobo_types::{Budget, CompileError, ErrorKind};
use serde_json::{Value, json};

use crate::args::{CheckArgs, Global};
use crate::case::{Case, Expected};
use crate::output::{self, Outcome};
use crate::vocabulary::Loaded;

/// Counts over a file: `cases` is the sum of the five verdicts, the others count texts.
#[derive(Debug, Default)]
struct Summary {
    cases: u64,
    index: u64,
    refused: u64,
    over_budget: u64,
    unavailable: u64,
    failed: u64,
    wrong: u64,
    not_encodable: u64,
}

pub(crate) fn run(global: &Global, args: &CheckArgs) -> anyhow::Result<Outcome> {
    let cases = Case::read_all(&args.file)?;
    let loaded = Loaded::open(&args.tokenizer.tokenizer, global)?;
    let encoder = loaded.encoder().unwrap_or_else(|error| {
        output::note(error);
        None
    });
    if encoder.is_none() {
        output::note(
            "there is no encoder of the tokenizer's own here: texts are walked in small tokens only",
        );
    }
    let mut summary = Summary::default();
    for case in &cases {
        let line = check(global, &loaded, encoder.as_ref(), case, &mut summary)?;
        let is_bad =
            line["verdict"] == "failed" || line["wrong"].as_array().is_some_and(|wrong| !wrong.is_empty());
        if global.json {
            output::line(&line)?;
        } else if is_bad {
            output::line(format_args!("{}: {} {}", case.id, line["verdict"], line["reason"]))?;
            for wrong in line["wrong"].as_array().into_iter().flatten() {
                output::line(format_args!("  {} should be {}", wrong["text"], wrong["expected"]))?;
            }
        }
    }
    let Summary { cases, index, refused, over_budget, unavailable, failed, wrong, not_encodable } = summary;
    if global.json {
        output::line(json!({"summary": {
            "cases": cases, "index": index, "refused": refused, "over_budget": over_budget,
            "unavailable": unavailable, "failed": failed, "wrong": wrong, "order": 0, "spelling": 0,
            "not_encodable": not_encodable,
        }}))?;
    } else {
        output::line(format_args!(
            "{cases} cases: {index} index, {refused} refused, {over_budget} over budget, {unavailable} unavailable, \
             {failed} failed; {wrong} texts wrong, {not_encodable} walked in small tokens only"
        ))?;
    }
    Ok(if wrong == 0 && failed == 0 { Outcome::Yes } else { Outcome::No })
}

fn check(
    global: &Global,
    loaded: &Loaded,
    encoder: Option<&Encoder>,
    case: &Case,
    summary: &mut Summary,
) -> anyhow::Result<Value> {
    summary.cases += 1;
    let mut line =
        json!({"id": case.id, "verdict": "refused", "reason": null, "compile_us": null, "wrong": []});
    let constraint = match &case.constraint {
        Ok(constraint) => constraint,
        Err(kind) => {
            summary.refused += 1;
            line["reason"] = json!(format!("constraints of kind {kind} are not supported"));
            return Ok(line);
        }
    };
    let begin = Instant::now();
    let budget = Budget::new(global.limits());
    let compiled = match compile_constraint(&loaded.vocabulary, constraint, global.threads_or(1), &budget) {
        Ok(compiled) => compiled,
        Err(verdict) => {
            match verdict {
                CompileError::Refused(_) => summary.refused += 1,
                CompileError::OverBudget(_) => summary.over_budget += 1,
                CompileError::Unavailable(_) => summary.unavailable += 1,
                _ => summary.failed += 1,
            }
            line["verdict"] = json!(verdict.verdict());
            line["reason"] = json!(verdict.to_string());
            return Ok(line);
        }
    };
    line["compile_us"] = json!(u64::try_from(begin.elapsed().as_micros())?);
    let index = Arc::new(Index::from_bytes(compiled.bytes())?);
    let mut matcher = Matcher::new(index, loaded.vocabulary.clone(), &loaded.binding)?;
    let mut wrong = Vec::new();
    if case.invalid {
        summary.wrong += 1;
        wrong.push(json!({"text": null, "expected": "refused"}));
    }
    let mut failure = None;
    for (text, expected) in &case.texts {
        // An encoder that gives up on a text says nothing about the index.
        let own = encoder.and_then(|encoder| {
            encoder.encode_continuation(text, |id| loaded.ordinary_bytes(id)).ok().flatten()
        });
        if own.is_none() {
            summary.not_encodable += 1;
        }
        let small = most_tokens(&loaded.vocabulary, text.as_bytes());
        let walks: Vec<Answer> =
            own.iter().chain(&small).map(|tokens| walk(&mut matcher, tokens)).collect::<Result<_, _>>()?;
        let Some(&answer) = walks.first() else {
            // No token sequence is this text: it is not accepted, and nothing can be walked.
            if *expected != Expected::Reject {
                summary.wrong += 1;
                wrong.push(json!({"text": text, "expected": expected.name()}));
            }
            continue;
        };
        if walks.iter().any(|other| *other != answer) {
            failure = Some(format!("the walks of {text:?} disagree"));
        }
        let right = match expected {
            Expected::Accept => answer == Answer::Complete,
            Expected::Reject => answer != Answer::Complete,
            Expected::Incomplete => answer == Answer::Viable,
        };
        if !right {
            summary.wrong += 1;
            wrong.push(json!({"text": text, "expected": expected.name()}));
        }
    }
    line["wrong"] = json!(wrong);
    if let Some(reason) = failure {
        summary.failed += 1;
        line["verdict"] = json!("failed");
        line["reason"] = json!(reason);
    } else {
        summary.index += 1;
        line["verdict"] = json!("index");
    }
    Ok(line)
}

/// Where a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// A token was not allowed, or went past a limit of the matcher.
    Refused,
    /// Every token was allowed, and the text is not complete.
    Viable,
    /// Every token was allowed, and the text is complete.
    Complete,
}

fn walk(matcher: &mut Matcher, tokens: &[u32]) -> anyhow::Result<Answer> {
    let mut mask = vec![0_u32; matcher.mask_words()];
    matcher.reset();
    for &id in tokens {
        matcher.fill(&mut mask)?;
        let bit = mask[(id >> 5) as usize] >> (id & 31) & 1 == 1;
        let taken = match matcher.advance(id) {
            // The constraint has the token, the matcher has not: a text past its limits cannot be written.
            Err(error) if error.kind() == ErrorKind::Limit => return Ok(Answer::Refused),
            taken => taken.is_ok(),
        };
        anyhow::ensure!(bit == taken, "mask and advance disagree about token {id}");
        if !taken {
            return Ok(Answer::Refused);
        }
    }
    Ok(if matcher.is_complete() { Answer::Complete } else { Answer::Viable })
}

/// The segmentation of `text` into the most ordinary tokens; `None` if no tokens spell it. O(text × longest token).
pub(crate) fn most_tokens(vocabulary: &Vocabulary, text: &[u8]) -> Option<Vec<u32>> {
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
