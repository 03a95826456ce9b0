//! What the catalog has, a page at a time.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use gobo_engine::CachedVerdict;
use gobo_types::{CompileError, IndexKey, grouped, human_bytes};
use maud::{Markup, html};

use super::frame::{clipped, frame};
use super::shared::{Answer, Shown, Trouble};

/// Rows of a page.
const ROWS: usize = 100;

/// Most bytes of a reason in a row.
const REASON_SHOWN: usize = 400;

/// The key of `?after=`, if there is one.
fn after(query: Option<&str>) -> Result<Option<IndexKey>, Trouble> {
    let query = query.unwrap_or_default();
    let found = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "after");
    found
        .map(|(_, key)| key.parse().map_err(|_| Trouble::invalid("after= is no key of an index")))
        .transpose()
}

/// The way to the next page, where there is one.
fn next(path: &str, last: Option<&IndexKey>) -> Markup {
    html! { @if let Some(last) = last { p { a rel="next" href={ (path) "?after=" (last) } { "The next " (ROWS) } } } }
}

pub(super) async fn indices(State(shown): State<Arc<Shown>>, RawQuery(query): RawQuery) -> Answer {
    let after = after(query.as_deref())?;
    let rows = shown.on_engine(move |engine| engine.indices(after, ROWS + 1)).await?;
    let more = rows.get(ROWS - 1).filter(|_| rows.len() > ROWS).map(|(key, _)| *key);
    let content = html! {
        @if rows.is_empty() { p { "There are none." } } @else {
            div.scroll role="region" aria-label="Indices" tabindex="0" {
                table {
                    caption { "Indices by key" }
                    thead { tr {
                        th scope="col" { "Key" } th scope="col" { "Kind" } th scope="col" { "States" } th scope="col" { "Rows" }
                        th scope="col" { "Size" } th scope="col" { "Vocabulary" }
                    } }
                    tbody {
                        @for (key, record) in rows.iter().take(ROWS) {
                            tr {
                                th scope="row" { a href={ "/index/" (key) } { code { (short(&key.to_string())) } } }
                                td { (record.constraint_kind) }
                                td.number { (grouped(record.states.into())) }
                                td.number { (grouped(record.rows.into())) }
                                td.number { (human_bytes(record.bytes)) }
                                td { code { (short(&record.vocabulary.to_string())) } }
                            }
                        }
                    }
                }
            }
            (next("/indices", more.as_ref()))
        }
    };
    Ok(frame("/indices", "Indices", &content))
}

pub(super) async fn verdicts(State(shown): State<Arc<Shown>>, RawQuery(query): RawQuery) -> Answer {
    let after = after(query.as_deref())?;
    let rows = shown.on_engine(move |engine| engine.verdicts(after, ROWS + 1)).await?;
    let more = rows.get(ROWS - 1).filter(|_| rows.len() > ROWS).map(|(key, _)| *key);
    let reason = |verdict: &CachedVerdict| {
        let error: CompileError = match verdict.clone() {
            CachedVerdict::Refused(refusal) => refusal.into(),
            CachedVerdict::OverBudget(over) => over.into(),
        };
        error.to_string()
    };
    let kind = |verdict: &CachedVerdict| match verdict {
        CachedVerdict::Refused(_) => "refused",
        CachedVerdict::OverBudget(_) => "over budget",
    };
    let content = html! {
        p { "Constraints without an index, as far as they are remembered. A verdict has no text of its constraint but for the place that its reason names." }
        @if rows.is_empty() { p { "There are none." } } @else {
            div.scroll role="region" aria-label="Verdicts" tabindex="0" {
                table {
                    caption { "Verdicts by key" }
                    thead { tr { th scope="col" { "Key" } th scope="col" { "Verdict" } th scope="col" { "Reason" } } }
                    tbody {
                        @for (key, verdict) in rows.iter().take(ROWS) {
                            @let reason = reason(verdict);
                            @let (text, is_cut) = clipped(&reason, REASON_SHOWN);
                            tr {
                                th scope="row" { code { (short(&key.to_string())) } }
                                td { (kind(verdict)) }
                                td { (text) @if is_cut { "…" } }
                            }
                        }
                    }
                }
            }
            (next("/verdicts", more.as_ref()))
        }
    };
    Ok(frame("/verdicts", "Verdicts", &content))
}

/// The beginning of a digest: enough to tell it from others, and to name it in a command.
fn short(digest: &str) -> &str {
    digest.get(..16).unwrap_or(digest)
}
