//! The report of the keywords that were read: what became of each, at every location of the schema.
//!
//! Equal small subschemas share a node, which is read once, so entries are repeated for the other locations of it, and for
//! what stands in it. What canonical texts leave out (unknown keywords, remarks) may differ between the locations of a node;
//! it is looked for at each.
//!
//! An unknown keyword is a remark by the standard. One whose name is nearly that of a keyword was probably misspelt, and is
//! noted, as is a format. Names that begin with `x-` or `_` are somebody's own.
//!
//! Cost: linear in the report and in the keywords of the subschemas in it; a comparison of each unknown name with each
//! known one.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashSet};
use gobo_grammar::near::near;
use gobo_types::{CompileError, FormatMode, Report, ReportEntry};

use crate::formats::format_names;
use crate::read::entries::{Entries, Entry};
use crate::read::location::Location;
use crate::read::nodes::Nodes;
use crate::read::value::Json;
use crate::read::vocabulary::{
    ANCILLARY, Dialect, STEPS_PER_KEYWORD, STEPS_PER_SCHEMA, Vocabularies, is_known, is_remark,
};

/// The note on `nullable` where it is no keyword.
const NULLABLE: &str = "nullable is a keyword of OpenAPI 3.0 and says nothing here; write \"null\" beside the type, or name the \
     dialect (--dialect openapi-3.0, the field dialect)";

/// Steps of comparing a name with those that are known.
const STEPS_PER_COMPARISON: u64 = 512;

/// The most entries of one policy that the report has; what is beyond is counted.
const MAX_PLACES: usize = 64;

impl Nodes<'_> {
    /// The report of the keywords that were read, and of the policies that hold at single places.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn take_report(&mut self) -> Result<Report, CompileError> {
        let mut entries = std::mem::take(&mut self.entries);
        // A subschema is complete before it is repeated as a part of another: that has a longer text.
        self.copies.sort_by_key(|copy| copy.2);
        for list in [
            &mut entries.read,
            &mut entries.enforced,
            &mut entries.narrowed,
            &mut entries.annotations,
            &mut entries.widened,
            &mut entries.policies,
        ] {
            self.repeat(list)?;
        }
        let mut notes = Vec::new();
        for entry in &entries.read {
            self.find_remarks(&entry.location, &mut entries.annotations, &mut notes)?;
        }
        let shown = |location: &Location| self.documents.shown(location);
        let mut report = Report { enforced: enforced(&entries, &shown), ..Report::default() };
        let list = |entries: Vec<Entry>| -> Vec<ReportEntry> {
            let entries = entries.into_iter();
            entries
                .map(|entry| ReportEntry {
                    pointer: shown(&entry.location),
                    keyword: entry.keyword,
                    why: entry.why,
                })
                .collect()
        };
        report.narrowed = list(entries.narrowed);
        report.narrowed.extend(list(bounded(entries.policies)));
        report.annotations = list(entries.annotations);
        report.widened = list(entries.widened);
        report.notes = list(notes);
        Ok(report)
    }

    /// Repeats what is said of a node, and of what stands in it, for its other locations.
    fn repeat(&self, list: &mut Vec<Entry>) -> Result<(), CompileError> {
        if list.is_empty() || self.copies.is_empty() {
            return Ok(());
        }
        let mut by_location: BTreeMap<Location, Vec<usize>> = BTreeMap::new();
        for (at, entry) in list.iter().enumerate() {
            self.charge(entry.location.steps())?;
            by_location.entry(entry.location.clone()).or_default().push(at);
        }
        for (location, node, _) in &self.copies {
            let of_node = self.location(*node);
            self.charge(STEPS_PER_SCHEMA + of_node.steps())?;
            let own = by_location.get_key_value(of_node).into_iter();
            // Other pointers may stand between /a and /a/b, such as /a-b.
            let inside = Location { document: of_node.document, pointer: format!("{}/", of_node.pointer) };
            let is_inside = |other: &Location| {
                other.document == inside.document && other.pointer.starts_with(&inside.pointer)
            };
            let nested = by_location.range(&inside..).take_while(|(other, _)| is_inside(other));
            let mut copies: Vec<(Location, Vec<usize>)> = Vec::new();
            for (from, said) in own.chain(nested) {
                let pointer = format!("{}{}", location.pointer, &from.pointer[of_node.pointer.len()..]);
                let here = Location { document: location.document, pointer };
                let first = list.len();
                for &at in said {
                    let copy = Entry { location: here.clone(), ..list[at].clone() };
                    let bytes =
                        (72 + copy.location.pointer.len() + copy.keyword.len() + copy.why.len()) as u64;
                    self.charge(STEPS_PER_SCHEMA + bytes / 4)?;
                    self.charge_bytes(bytes)?;
                    list.push(copy);
                }
                copies.push((here, (first..list.len()).collect()));
            }
            for (here, said) in copies {
                by_location.entry(here).or_default().extend(said);
            }
        }
        Ok(())
    }

    /// Finds the keywords at a location that say nothing about values, and those among them that were probably misspelt.
    fn find_remarks(
        &self,
        location: &Location,
        annotations: &mut Vec<Entry>,
        notes: &mut Vec<Entry>,
    ) -> Result<(), CompileError> {
        let Some(Json::Object(schema)) = self.documents.get(location) else { return Ok(()) };
        let dialect = self.documents.dialect(location)?;
        self.charge(location.steps() + STEPS_PER_KEYWORD * STEPS_PER_KEYWORD * schema.len() as u64)?;
        let is_alone = dialect.ignores_siblings() && schema.get("$ref").is_some();
        let entry = |keyword: &str, why: String| Entry {
            location: location.clone(),
            keyword: keyword.to_owned(),
            why,
        };
        for (keyword, value) in schema.iter() {
            if is_alone {
                if keyword != "$ref" && !is_silent(keyword) {
                    annotations.push(entry(keyword, "up to draft 7, nothing beside $ref counts".to_owned()));
                }
                continue;
            }
            let why =
                match dialect.word(keyword) {
                    Some(word) if word.vocabulary == Vocabularies::OPENAPI && !dialect.has(keyword) => {
                        if *value == Json::Bool(true) {
                            notes.push(entry(keyword, NULLABLE.to_owned()));
                        }
                        "no keyword of this draft"
                    }
                    Some(_) if !dialect.has(keyword) && !is_silent(keyword) => {
                        "its meta-schema leaves out the vocabulary of this keyword"
                    }
                    Some(word) if word.vocabulary == Vocabularies::CONTENT => "an annotation by the standard",
                    Some(_) if matches!(keyword.as_str(), "then" | "else") && schema.get("if").is_none() => {
                        "without if it says nothing"
                    }
                    Some(_) => {
                        if let ("format", Json::String(name)) = (keyword.as_str(), value)
                            && self.options.format == FormatMode::Assert
                            && !format_names().any(|known| known == name)
                        {
                            self.charge(STEPS_PER_COMPARISON)?;
                            let near = near(name, format_names());
                            notes.extend(near.map(|near| {
                                entry(keyword, misspelt(&format!("{name:?} is no format"), near))
                            }));
                        }
                        continue;
                    }
                    None if is_silent(keyword) => continue,
                    None => {
                        if !is_known(keyword) {
                            self.charge(STEPS_PER_COMPARISON)?;
                            let near = near_keyword(keyword, dialect);
                            let what = format!("{} is no keyword", shortened(keyword));
                            notes.extend(near.map(|near| entry(keyword, misspelt(&what, near))));
                        }
                        "no keyword of this draft"
                    }
                };
            annotations.push(entry(keyword, why.to_owned()));
            self.charge_bytes(72 + (location.pointer.len() + keyword.len() + why.len()) as u64)?;
        }
        Ok(())
    }
}

fn misspelt(what: &str, near: &str) -> String {
    format!("{what} and says nothing; did you mean {near}?")
}

fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}

/// The keyword that an unknown one was probably meant to be, if it would say something.
fn near_keyword(keyword: &str, dialect: Dialect) -> Option<&'static str> {
    if keyword.starts_with("x-") || keyword.starts_with('_') {
        return None;
    }
    let near = near(keyword, dialect.words().map(|word| word.name))?;
    dialect.word(near).filter(|word| !word.is_annotation).map(|word| word.name)
}

/// Whether a keyword says nothing about values itself, which needs no mention.
fn is_silent(keyword: &str) -> bool {
    ANCILLARY.contains(&keyword) || is_remark(keyword)
}

/// What is enforced: an entry for each location, and one more for the keywords of it that shut out valid values. Keywords that
/// let invalid values through are left out.
fn enforced(entries: &Entries, shown: &impl Fn(&Location) -> String) -> Vec<ReportEntry> {
    let keywords_of = |list: &[Entry]| -> HashSet<(Location, String)> {
        list.iter().map(|entry| (entry.location.clone(), entry.keyword.clone())).collect()
    };
    let (widened, narrowed) = (keywords_of(&entries.widened), keywords_of(&entries.narrowed));
    // In the order in which the locations first appear: the keywords enforced exactly, and those that are narrowed.
    let mut order: Vec<(&Location, [Vec<&str>; 2])> = Vec::new();
    let mut places: HashMap<&Location, usize> = HashMap::default();
    for Entry { location, keyword, .. } in &entries.enforced {
        let named = (location.clone(), keyword.clone());
        if widened.contains(&named) {
            continue;
        }
        let at = *places.entry(location).or_insert_with(|| {
            order.push((location, [Vec::new(), Vec::new()]));
            order.len() - 1
        });
        order[at].1[usize::from(narrowed.contains(&named))].push(keyword);
    }
    let mut enforced = Vec::new();
    for (location, lists) in order {
        for (keywords, why) in lists.iter().zip(["exactly", "but for the values that are narrowed"]) {
            if !keywords.is_empty() {
                let (pointer, keyword) = (shown(location), keywords.join(", "));
                enforced.push(ReportEntry { pointer, keyword, why: why.to_owned() });
            }
        }
    }
    enforced
}

/// At most [`MAX_PLACES`] entries of each policy, and how many more there are.
fn bounded(entries: Vec<Entry>) -> Vec<Entry> {
    let mut kept: Vec<Entry> = Vec::new();
    let mut counts: Vec<(String, usize)> = Vec::new();
    for entry in entries {
        let count = match counts.iter_mut().find(|count| count.0 == entry.keyword) {
            Some(count) => &mut count.1,
            None => {
                counts.push((entry.keyword.clone(), 0));
                let Some(last) = counts.last_mut() else { unreachable!("it was pushed") };
                &mut last.1
            }
        };
        *count += 1;
        if *count <= MAX_PLACES {
            kept.push(entry);
        }
    }
    for (keyword, count) in counts.into_iter().filter(|count| count.1 > MAX_PLACES) {
        let location = Location { document: 0, pointer: String::new() };
        let why = format!("the same at {} more places", count - MAX_PLACES);
        kept.push(Entry { location, keyword, why });
    }
    kept
}
