//! The walk that finds the schema resources of one document, and the references in it.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt, HashSet};
use gobo_types::{Budget, CompileError, Draft};

use super::dialects::{Dialects, Fault};
use super::resource::Resource;
use crate::phase::READING;
use crate::read::location::Location;
use crate::read::uri::{resolve, split_fragment};
use crate::read::value::Json;
use crate::read::vocabulary::{Dialect, LISTS, MAPS, SCHEMAS, STEPS_PER_KEYWORD, STEPS_PER_SCHEMA};

/// The schema resources of a document, the document itself first.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(super) fn find_resources(
    (roots, document): (&[Json], usize),
    uri: &Rc<str>,
    default: Dialect,
    dialects: &Dialects,
    budget: &Budget,
) -> Result<Vec<Resource>, CompileError> {
    let mut search = Search { resources: Vec::new(), latest: HashMap::new(), roots, dialects, budget };
    let base = Base { uri: Rc::clone(uri), dialect: default, fault: None, is_root: true };
    search.visit(&roots[document], &Location { document, pointer: String::new() }, &base)?;
    Ok(search.resources)
}

/// Every reference to another resource in a document: the number of the resource that it stands in, and the URI that it leads
/// to. Objects that are no schemas count: a reference may lead to one, and make it a schema.
///
/// `resource` has the number and the URI of the resource around a location, `has_parts` says whether the document has more than
/// one.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(super) fn find_references<'d>(
    root: &Json,
    document: usize,
    has_parts: bool,
    resource: impl Fn(&Location) -> (usize, &'d str),
    budget: &Budget,
) -> Result<Vec<(usize, String)>, CompileError> {
    let mut found = Vec::new();
    let mut open = vec![(root, Location { document, pointer: String::new() })];
    while let Some((value, location)) = open.pop() {
        budget.charge_steps(READING, STEPS_PER_KEYWORD + location.steps())?;
        // The pointer matters where it may lead into another resource.
        let inside = |token: &str| if has_parts { location.at(&[token]) } else { location.clone() };
        match value {
            Json::Object(properties) => {
                for (name, value) in properties.iter() {
                    match value {
                        Json::String(reference) if matches!(name.as_str(), "$ref" | "$dynamicRef") => {
                            let address = split_fragment(reference).0;
                            if !address.is_empty() {
                                let (from, base) = resource(&location);
                                budget.charge_steps(READING, (base.len() + address.len()) as u64)?;
                                found.push((from, resolve(base, address)));
                            }
                        }
                        Json::Object(_) | Json::Array(_) => open.push((value, inside(name))),
                        _ => {}
                    }
                }
            }
            Json::Array(items) => {
                let nested = items
                    .iter()
                    .enumerate()
                    .filter(|item| matches!(item.1, Json::Object(_) | Json::Array(_)));
                open.extend(nested.map(|(at, value)| (value, inside(&at.to_string()))));
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The resource around a subschema.
struct Base {
    uri: Rc<str>,
    dialect: Dialect,
    fault: Option<Fault>,
    is_root: bool,
}

/// The walk that finds the resources of one document.
struct Search<'a> {
    resources: Vec<Resource>,
    /// The last resource of each URI.
    latest: HashMap<Rc<str>, usize>,
    /// The documents, for the meta-schemas among them.
    roots: &'a [Json],
    dialects: &'a Dialects,
    budget: &'a Budget,
}

impl Search<'_> {
    fn visit(&mut self, value: &Json, location: &Location, base: &Base) -> Result<(), CompileError> {
        self.budget.charge_steps(READING, STEPS_PER_SCHEMA + location.steps())?;
        let (dialect, fault) = match self.dialects.of(value, self.roots) {
            Ok(Some(own)) => (own, None),
            Ok(None) => (base.dialect, base.fault.clone()),
            Err(fault) => (base.dialect, Some(fault)),
        };
        let draft = dialect.draft;
        let text = |key: &str| match value.get(key) {
            Some(Json::String(text)) => Some(text.as_str()),
            _ => None,
        };
        // Up to draft 7, siblings of $ref are ignored.
        let id = text(if draft == Draft::Draft4 { "id" } else { "$id" })
            .filter(|_| draft > Draft::Draft7 || value.get("$ref").is_none());
        let mut uri = Rc::clone(&base.uri);
        let mut name = None;
        if let Some(id) = id {
            let (address, fragment) = split_fragment(id);
            if !fragment.is_empty() && draft <= Draft::Draft7 {
                name = Some(fragment);
            }
            if !address.is_empty() {
                self.budget.charge_steps(READING, uri.len() as u64)?;
                self.budget.charge_bytes(READING, 256 + (uri.len() + id.len()) as u64)?;
                uri = resolve(&base.uri, address).into();
            }
        }
        let is_new = base.is_root || uri != base.uri;
        if is_new {
            self.latest.insert(Rc::clone(&uri), self.resources.len());
            self.resources.push(Resource {
                location: location.clone(),
                uri: Rc::clone(&uri),
                dialect,
                fault: fault.clone(),
                anchors: HashMap::new(),
                dynamic_anchors: HashSet::default(),
                is_recursive_anchor: value.get("$recursiveAnchor") == Some(&Json::Bool(true)),
            });
        }
        let base = Base { uri, dialect, fault, is_root: false };
        // Anchors belong to the innermost resource around them.
        let anchors =
            ["$anchor", "$dynamicAnchor"].map(|keyword| text(keyword).filter(|_| draft > Draft::Draft7));
        if let Some(&number) = self.latest.get(&base.uri) {
            let resource = &mut self.resources[number];
            for name in anchors.into_iter().chain([name]).flatten() {
                resource.anchors.entry(name.to_owned()).or_insert_with(|| location.pointer.clone());
            }
            resource.dynamic_anchors.extend(anchors[1].map(str::to_owned));
        }
        let Json::Object(properties) = value else { return Ok(()) };
        self.budget.charge_steps(READING, properties.len() as u64 * STEPS_PER_KEYWORD)?;
        for (key, value) in properties.iter() {
            match value {
                Json::Object(_) if SCHEMAS.contains(&key.as_str()) => {
                    self.visit(value, &location.at(&[key]), &base)?;
                }
                Json::Object(schemas) if MAPS.contains(&key.as_str()) => {
                    for (name, schema) in schemas.iter() {
                        self.visit(schema, &location.at(&[key, name]), &base)?;
                    }
                }
                Json::Array(schemas) if LISTS.contains(&key.as_str()) => {
                    for (at, schema) in schemas.iter().enumerate() {
                        self.visit(schema, &location.at(&[key, &at.to_string()]), &base)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
