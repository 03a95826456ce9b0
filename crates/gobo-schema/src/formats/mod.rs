//! The formats of JSON Schema (draft 2020-12, Validation, section 7.3) as regular sets of string values.
//!
//! Every set is that of its standard, or a subset if the standard's set is not regular or needs very many states: an
//! excluded text costs one way of writing a value, an included one would be a wrong answer. [`inexact`] states what is
//! excluded.

mod dates;
mod hosts;
mod labels;
mod mail;
mod parts;
mod pattern;
mod pointers;
mod uris;

use std::sync::{Arc, OnceLock};

use gobo_automata::Language;
use gobo_types::{Budget, CompileError, CompileLimits, DateTimes, Draft, RefusalKind};

use crate::advice::{ALLOW_WIDENING, NO_FORMAT};

pub(crate) use parts::{Capped, Part, Parts};

/// What builds a format in parts.
type BuildParts = fn(&Budget) -> Result<Parts, CompileError>;

/// A format with a language.
struct Definition {
    name: &'static str,
    /// The last draft in which the name has this meaning.
    until: Draft,
    narrowed: Option<&'static str>,
    /// What the language includes beyond the standard's: the format is refused unless the caller asks for that.
    undecided: Option<&'static str>,
    build: fn(&Budget) -> Result<Language, CompileError>,
    /// The greatest length of a text, which is counted apart from the language.
    longest: Option<u32>,
    /// The language, built once in a process: it is the same in every compile.
    built: OnceLock<Language>,
    /// The same language in parts whose lengths are counted.
    parts: Option<BuildParts>,
    /// The parts, built once in a process.
    built_parts: OnceLock<Arc<Parts>>,
}

/// What a format says.
#[derive(Debug)]
pub(crate) struct Format {
    /// The texts, but for their length: [`longest`].
    pub(crate) language: Language,
    /// The texts in parts whose lengths are counted.
    pub(crate) parts: Option<Arc<Parts>>,
}

impl Definition {
    const fn exact(name: &'static str, build: fn(&Budget) -> Result<Language, CompileError>) -> Self {
        Self::of(name, None, build)
    }

    const fn narrowed(
        name: &'static str,
        narrowed: &'static str,
        build: fn(&Budget) -> Result<Language, CompileError>,
    ) -> Self {
        Self::of(name, Some(narrowed), build)
    }

    const fn of(
        name: &'static str,
        narrowed: Option<&'static str>,
        build: fn(&Budget) -> Result<Language, CompileError>,
    ) -> Self {
        Self {
            name,
            until: Draft::Draft202012,
            narrowed,
            undecided: None,
            build,
            longest: None,
            built: OnceLock::new(),
            parts: None,
            built_parts: OnceLock::new(),
        }
    }

    const fn up_to(mut self, longest: u32) -> Self {
        self.longest = Some(longest);
        self
    }

    const fn in_parts(mut self, parts: BuildParts) -> Self {
        self.parts = Some(parts);
        self
    }

    const fn until(mut self, until: Draft) -> Self {
        self.until = until;
        self
    }

    const fn undecided(mut self, undecided: &'static str) -> Self {
        self.undecided = Some(undecided);
        self
    }
}

/// Definitions of one name are ordered by draft.
static FORMATS: [Definition; 20] = [
    Definition::exact("date", dates::date),
    Definition::narrowed("time", dates::NARROWED, dates::time),
    Definition::narrowed("date-time", dates::NARROWED, dates::date_time),
    Definition::narrowed("duration", "the letters of a duration are capitals", dates::duration),
    Definition::narrowed("email", mail::NARROWED, mail::email).in_parts(mail::email_parts),
    Definition::narrowed("idn-email", mail::IDN_NARROWED, mail::idn_email),
    Definition::exact("hostname", hosts::plain_hostname).until(Draft::Draft6).up_to(hosts::NAME),
    Definition::narrowed("hostname", hosts::NARROWED, hosts::hostname).undecided(hosts::UNDECIDED),
    Definition::narrowed("idn-hostname", hosts::IDN_NARROWED, hosts::idn_hostname)
        .undecided(hosts::UNDECIDED),
    Definition::exact("ipv4", hosts::ipv4),
    Definition::exact("ipv6", hosts::ipv6),
    Definition::exact("uri", uris::uri),
    Definition::exact("uri-reference", uris::uri_reference),
    Definition::exact("iri", uris::iri),
    Definition::exact("iri-reference", uris::iri_reference),
    Definition::exact("uri-template", uris::uri_template),
    Definition::exact("uuid", pointers::uuid),
    Definition::exact("json-pointer", pointers::json_pointer),
    Definition::narrowed(
        "relative-json-pointer",
        "a relative JSON pointer moves no array index (`0+1`), which drafts up to 7 do not know",
        pointers::relative_json_pointer,
    ),
    // ECMA-262, section 22.2.1: Disjunction stands inside groups without limit.
    Definition::exact("regex", pattern::any)
        .undecided("groups of a regular expression nest, so valid ones are not a regular set"),
];

/// The formats of texts that may have an offset from UTC, or none.
static NAIVE: [Definition; 2] = [
    Definition::narrowed("time", dates::NARROWED, dates::time_or_naive).undecided(dates::NAIVE),
    Definition::narrowed("date-time", dates::NARROWED, dates::date_time_or_naive).undecided(dates::NAIVE),
];

/// What is asked of a format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) name: &'a str,
    pub(crate) draft: Draft,
    /// Whether texts that no automaton decides are included, and the format is not refused for them.
    pub(crate) allow_widening: bool,
    pub(crate) date_times: DateTimes,
}

/// The texts of a format: string values, not their JSON spellings. `None` for a name that the standard does not define,
/// which is an annotation.
///
/// # Errors
/// A refusal with no place for a format without a language; [`CompileError::OverBudget`].
pub(crate) fn format(asked: Asked<'_>, budget: &Budget) -> Result<Option<Format>, CompileError> {
    const PHASE: &str = "reading a format";
    let Some(format) = definition(asked) else { return Ok(None) };
    let allows = asked.allow_widening || asked.is_naive();
    if let Some(undecided) = format.undecided.filter(|_| !allows) {
        let help = if asked.name == "regex" { NO_FORMAT } else { ALLOW_WIDENING };
        return Err(CompileError::refuse(RefusalKind::Unsupported, "", undecided).advising(help));
    }
    let language = format.built.get_or_init(|| {
        (format.build)(&Budget::new(CompileLimits::default())).expect("every format fits the default limits")
    });
    // The charge is for the language, not for the work, which only the first compile of a process does: verdicts must not
    // depend on earlier compiles.
    budget.check_states(PHASE, language.len())?;
    budget.charge_steps(PHASE, language.len() as u64)?;
    budget.charge_bytes(PHASE, language.len() as u64 * 64)?;
    let parts = format.parts.map(|build| {
        let build =
            || build(&Budget::new(CompileLimits::default())).expect("every format fits the default limits");
        Arc::clone(format.built_parts.get_or_init(|| Arc::new(build())))
    });
    Ok(Some(Format { language: language.clone(), parts }))
}

impl Asked<'_> {
    /// Whether it is a format of dates or times, and texts without an offset are asked for.
    fn is_naive(self) -> bool {
        self.date_times == DateTimes::Naive && NAIVE.iter().any(|format| format.name == self.name)
    }
}

fn definition(asked: Asked<'_>) -> Option<&'static Definition> {
    let mut formats = if asked.is_naive() { NAIVE.iter() } else { FORMATS.iter() };
    formats.find(|format| format.name == asked.name && asked.draft <= format.until)
}

/// The greatest number of characters of a format's texts, where it is no part of the language.
pub(crate) fn longest(asked: Asked<'_>) -> Option<u32> {
    definition(asked).and_then(|format| format.longest)
}

/// What the language of a format excludes of the standard's and what it includes beyond, as clauses.
pub(crate) fn inexact(asked: Asked<'_>) -> (Option<&'static str>, Option<&'static str>) {
    definition(asked).map_or((None, None), |format| (format.narrowed, format.undecided))
}

/// The names of all formats of the standard.
pub(crate) fn format_names() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.name)
}

#[cfg(test)]
mod tests;
