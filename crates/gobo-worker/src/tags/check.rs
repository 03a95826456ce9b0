//! What formats ask of each other.

use gobo_automata::TokenItem;
use gobo_types::{Budget, CompileError, RefusalKind};

use super::PHASE;
use super::format::{Begin, End, Format, Placed, Tag};

fn refuse(pointer: &str, reason: impl Into<String>) -> CompileError {
    CompileError::refuse(RefusalKind::Malformed, pointer, reason)
}

/// Refuses what could never be written, or would go on without end.
///
/// # Errors
/// A refusal whose place is a JSON pointer; [`CompileError::OverBudget`].
pub(super) fn check(placed: &Placed, budget: &Budget) -> Result<(), CompileError> {
    let pairs = |one: usize, other: usize| budget.charge_steps(PHASE, 1 + (one as u64 * other as u64) / 8);
    let Placed { pointer, format } = placed;
    match format {
        Format::AnyText { excludes, .. } => no_empty(pointer, "an exclude", excludes),
        Format::Sequence(parts) | Format::Or(parts) => {
            if parts.is_empty() {
                return Err(refuse(pointer, format!("a format of type {} without elements", format.name())));
            }
            parts.iter().try_for_each(|part| check(part, budget))
        }
        Format::Repeat { content, .. } => check(content, budget),
        Format::Tag(tag) => check_tag(tag, budget),
        Format::Triggered { triggers, excludes, tags, .. } => {
            no_empty(pointer, "a trigger", triggers)?;
            no_empty(pointer, "an exclude", excludes)?;
            has_some(pointer, "tags", tags)?;
            has_some(pointer, "triggers", triggers)?;
            pairs(triggers.len(), 2 * tags.len() + excludes.len())?;
            hidden(pointer, "trigger", triggers, excludes)?;
            one_trigger_each(pointer, triggers, tags)?;
            tags.iter().try_for_each(|tag| check_tag(tag, budget))
        }
        Format::Separated { tags, .. } => {
            has_some(pointer, "tags", tags)?;
            tags.iter().try_for_each(|tag| check_tag(tag, budget))
        }
        Format::Dispatch { rules, excludes, .. } => {
            let patterns: Vec<String> = rules.iter().map(|rule| rule.0.clone()).collect();
            has_some(pointer, "rules", rules)?;
            no_empty(pointer, "a pattern", &patterns)?;
            no_empty(pointer, "an exclude", excludes)?;
            pairs(patterns.len(), excludes.len())?;
            hidden(pointer, "pattern", &patterns, excludes)?;
            rules.iter().try_for_each(|rule| check(&rule.1, budget))
        }
        Format::TokenTriggered { triggers, excludes, tags, .. } => {
            has_some(pointer, "tags", tags)?;
            has_some(pointer, "trigger_tokens", triggers)?;
            pairs(triggers.len(), 2 * tags.len() + excludes.len())?;
            for tag in tags {
                match &tag.begin {
                    Begin::Token(token) if triggers.contains(token) => {}
                    Begin::Token(token) => {
                        return Err(refuse(
                            &tag.pointer,
                            format!("no trigger is the token {}", named(token)),
                        ));
                    }
                    Begin::Text(_) => {
                        return Err(refuse(
                            &tag.pointer,
                            "a tag after a trigger that is a token begins with a token",
                        ));
                    }
                }
            }
            let begins = |trigger: &TokenItem| {
                tags.iter().any(|tag| matches!(&tag.begin, Begin::Token(token) if token == trigger))
            };
            if let Some(unused) = triggers.iter().find(|trigger| !begins(trigger)) {
                return Err(refuse(pointer, format!("no tag begins with the trigger {}", named(unused))));
            }
            if let Some(hidden) = triggers.iter().find(|trigger| excludes.contains(trigger)) {
                return Err(refuse(pointer, format!("the trigger {} is excluded", named(hidden))));
            }
            tags.iter().try_for_each(|tag| check_tag(tag, budget))
        }
        Format::TokenDispatch { rules, .. } => {
            has_some(pointer, "rules", rules)?;
            rules.iter().try_for_each(|rule| check(&rule.1, budget))
        }
        Format::Const(_)
        | Format::Schema(_)
        | Format::Grammar(_)
        | Format::Regex(_)
        | Format::Token(_)
        | Format::ExcludeToken(_)
        | Format::AnyTokens { .. } => Ok(()),
    }
}

/// Each begin has one trigger, and each trigger a begin.
fn one_trigger_each(pointer: &str, triggers: &[String], tags: &[Tag]) -> Result<(), CompileError> {
    let begins = tags.iter().map(|tag| match &tag.begin {
        Begin::Text(text) => Ok((tag, text)),
        Begin::Token(_) => {
            Err(refuse(&tag.pointer, "a tag after a trigger that is a text begins with a text"))
        }
    });
    let begins: Vec<(&Tag, &String)> = begins.collect::<Result<_, _>>()?;
    for (tag, begin) in &begins {
        let of: Vec<&String> = triggers.iter().filter(|trigger| begin.starts_with(*trigger)).collect();
        match of.as_slice() {
            [_] => {}
            [] => return Err(refuse(&tag.pointer, format!("no trigger begins {begin:?}"))),
            [one, two, ..] => {
                let reason = format!("{begin:?} begins with two triggers, {one:?} and {two:?}");
                return Err(refuse(&tag.pointer, reason));
            }
        }
    }
    let unused = triggers.iter().find(|trigger| !begins.iter().any(|(_, begin)| begin.starts_with(*trigger)));
    if let Some(unused) = unused {
        return Err(refuse(pointer, format!("no tag begins with the trigger {unused:?}")));
    }
    Ok(())
}

fn check_tag(tag: &Tag, budget: &Budget) -> Result<(), CompileError> {
    let has_no_end = matches!(&tag.end, End::Texts(texts) if texts.iter().any(String::is_empty));
    if has_no_end && tag.content.format.is_endless() {
        let reason = format!(
            "its content, of type {}, goes on without end, and the end of the tag is empty",
            tag.content.format.name()
        );
        return Err(refuse(&tag.pointer, reason)
            .advising("Give the tag an end, or excludes to the content, after which it cannot go on."));
    }
    check(&tag.content, budget)
}

fn named(token: &TokenItem) -> String {
    match token {
        TokenItem::Name(name) => format!("{name:?}"),
        TokenItem::Ids(id, _) => id.to_string(),
        TokenItem::All | TokenItem::Spent | TokenItem::Text { .. } => "*".to_owned(),
    }
}

fn has_some<T>(pointer: &str, field: &str, list: &[T]) -> Result<(), CompileError> {
    if list.is_empty() { Err(refuse(pointer, format!("the list {field} is empty"))) } else { Ok(()) }
}

fn no_empty(pointer: &str, what: &str, texts: &[String]) -> Result<(), CompileError> {
    if texts.iter().any(String::is_empty) {
        return Err(refuse(pointer, format!("{what} is the empty text, which is everywhere")));
    }
    Ok(())
}

/// No trigger holds an exclude, behind which it could not be written.
fn hidden(pointer: &str, what: &str, triggers: &[String], excludes: &[String]) -> Result<(), CompileError> {
    let mut pairs =
        triggers.iter().flat_map(|trigger| excludes.iter().map(move |exclude| (trigger, exclude)));
    match pairs.find(|(trigger, exclude)| trigger.contains(*exclude)) {
        None => Ok(()),
        Some((trigger, exclude)) => Err(refuse(
            pointer,
            format!("the exclude {exclude:?} hides the {what} {trigger:?}, in which it stands"),
        )),
    }
}
