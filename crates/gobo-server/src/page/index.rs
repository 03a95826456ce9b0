//! One index.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use gobo_artifact::Index;
use gobo_engine::Resolved;
use gobo_explain::write_dot;
use gobo_types::{IndexKey, Report, ReportEntry, error_chain, grouped, human_bytes};
use maud::{Markup, html};

use super::frame::{clipped, facts, frame};
use super::shared::{Shown, Trouble};

/// Most bytes of a constraint that are shown.
const CONSTRAINT_SHOWN: usize = 32 << 10;

/// Entries of each list of a report that are shown, and bytes of each.
const ENTRIES_SHOWN: usize = 30;
const ENTRY_SHOWN: usize = 200;

/// Most bytes of an automaton as DOT.
const MAX_DOT_BYTES: usize = 8 << 20;

/// The page of an index, or its automaton for a program.
pub(super) async fn page(
    State(shown): State<Arc<Shown>>,
    Path(name): Path<String>,
) -> Result<Response, Trouble> {
    let (key, is_dot) = match name.strip_suffix(".dot") {
        Some(key) => (key, true),
        None => (&*name, false),
    };
    let key: IndexKey =
        key.parse().map_err(|_| Trouble::invalid("that is no key of an index: 64 digits from 0 to f"))?;
    let (found, index) = shown.on_engine(move |engine| engine.index(&key)).await?;
    if !is_dot {
        let report = index.report().map_err(|error| Trouble::unavailable(error_chain(&error)))?;
        return Ok(described(&found, &index, &report).into_response());
    }
    let written = shown.on_engine(move |_| Ok(write_dot(&index, MAX_DOT_BYTES))).await?;
    let dot = written.map_err(|error| Trouble::invalid(error_chain(&error)))?;
    let name = format!("attachment; filename=\"{key}.dot\"");
    Ok(([(CONTENT_TYPE, "text/vnd.graphviz; charset=utf-8"), (CONTENT_DISPOSITION, &*name)], dot)
        .into_response())
}

fn described(found: &Resolved, index: &Index, report: &Report) -> Markup {
    let (text, is_cut) = clipped(index.constraint_text(), CONSTRAINT_SHOWN);
    let content = html! {
        p { code { (found.key) } }
        (facts(&[
            ("Kind", index.constraint_kind().to_owned()),
            ("Class", index.class().name().to_owned()),
            ("States", grouped(found.states.into())),
            ("Mask rows", grouped(found.rows.into())),
            ("Size", human_bytes(found.bytes)),
            ("Vocabulary", found.vocabulary.to_string()),
            ("File", found.path.display().to_string()),
        ]))
        p {
            a href={ "/explain?key=" (found.key) } { "Explain a text of it" } " · "
            a href={ "/index/" (found.key) ".dot" } download { "The automaton for Graphviz" }
        }
        section aria-labelledby="constraint" {
            h2 #constraint { "Constraint" }
            pre tabindex="0" role="region" aria-label="Constraint" { (text) @if is_cut { "…" } }
        }
        section aria-labelledby="report" { h2 #report { "Report" } (of_report(report)) }
    };
    frame("", "Index", &content)
}

/// The lists of a report.
pub(super) fn of_report(report: &Report) -> Markup {
    let Report { enforced, narrowed, unspellable, annotations, widened, notes } = report;
    html! {
        @for (name, entries) in [
            ("Enforced", enforced), ("Narrowed", narrowed), ("Unspellable", unspellable), ("Widened", widened), ("Notes", notes),
            ("Annotations", annotations),
        ] {
            @if !entries.is_empty() {
                h3 { (name) " (" (grouped(entries.len() as u64)) ")" }
                ul {
                    @for entry in entries.iter().take(ENTRIES_SHOWN) { li { (of_entry(entry)) } }
                    @if entries.len() > ENTRIES_SHOWN { li { "… " (grouped((entries.len() - ENTRIES_SHOWN) as u64)) " more" } }
                }
            }
        }
    }
}

fn of_entry(entry: &ReportEntry) -> Markup {
    let (pointer, is_cut) = clipped(&entry.pointer, ENTRY_SHOWN);
    let (why, is_why_cut) = clipped(&entry.why, ENTRY_SHOWN);
    html! {
        @if !pointer.is_empty() { code { (pointer) @if is_cut { "…" } } " " }
        strong { (clipped(&entry.keyword, ENTRY_SHOWN).0) } ": " (why) @if is_why_cut { "…" }
    }
}
