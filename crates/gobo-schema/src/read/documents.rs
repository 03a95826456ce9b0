//! Documents: the schema, those supplied with it, and the resolution of references between them.
//!
//! A walk over each document finds its schema resources (JSON Schema 2020-12, Core, section 4.3.5): the whole document and
//! every subschema with `$id`, each with its URI, its draft and its anchors. A reference is resolved against the URI of the
//! innermost resource around it (section 8.2.3); its fragment is a JSON pointer or an anchor. No document is fetched.
//! A `$dynamicRef` is followed if its target does not depend on the dynamic scope, that is if one resource alone has the
//! dynamic anchor.
//!
//! Cost: a step for each byte of the texts; for each subschema and keyword a constant, and the length of its pointer.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt, HashSet};
use gobo_types::{Budget, CompileError, Draft, SchemaOptions};

use crate::phase::READING;
use crate::read::location::Location;
use crate::read::parse::parse_json;
use crate::read::uri::{percent_decode, resolve, split_fragment};
use crate::read::value::Json;
use crate::read::vocabulary::{LISTS, MAPS, SCHEMAS, STEPS_PER_KEYWORD, STEPS_PER_SCHEMA};

/// A schema resource: a whole document, or a subschema with `$id`.
#[derive(Debug)]
struct Resource {
    location: Location,
    uri: Rc<str>,
    draft: Draft,
    /// Pointers by anchor name; the first anchor of a name counts.
    anchors: HashMap<String, String>,
    dynamic_anchors: HashSet<String>,
    is_recursive_anchor: bool,
}

/// The schema, and the documents that it may refer to.
#[derive(Debug)]
pub(crate) struct Documents {
    roots: Vec<Json>,
    resources: Vec<Resource>,
    /// The first resource of each URI.
    by_uri: HashMap<Rc<str>, usize>,
    /// `[documents]`: the last resource at each pointer.
    by_pointer: Vec<HashMap<String, usize>>,
    /// Number of resources with a dynamic anchor of each name.
    dynamic_anchors: HashMap<String, usize>,
    /// Number of resources with a recursive anchor.
    recursive_anchors: usize,
}

impl Documents {
    /// Reads the schema and the supplied documents.
    ///
    /// # Errors
    /// A refusal of a text that is no JSON; [`CompileError::OverBudget`].
    pub(crate) fn read(schema: &str, options: &SchemaOptions, budget: &Budget) -> Result<Self, CompileError> {
        let default = options.draft.unwrap_or(Draft::Draft202012);
        // One step for each byte.
        budget.charge_steps(READING, schema.len() as u64)?;
        let mut documents = Self {
            roots: vec![parse_json(schema)?],
            resources: Vec::new(),
            by_uri: HashMap::new(),
            by_pointer: Vec::new(),
            dynamic_anchors: HashMap::new(),
            recursive_anchors: 0,
        };
        let mut uris = vec![Rc::from("")];
        for document in &options.documents {
            budget.charge_steps(READING, document.document.len() as u64)?;
            let root = parse_json(&document.document).map_err(|error| match error {
                CompileError::Refused(mut refusal) => {
                    refusal.place = format!("document {:?}, {}", document.uri, refusal.place).into();
                    CompileError::Refused(refusal)
                }
                other => other,
            })?;
            documents.roots.push(root);
            uris.push(split_fragment(&document.uri).0.into());
        }
        for (document, uri) in uris.into_iter().enumerate() {
            let location = Location { document, pointer: String::new() };
            let root = &documents.roots[document];
            let draft = draft_of(root).unwrap_or(default);
            let mut search = Search { resources: Vec::new(), latest: HashMap::new(), budget };
            search.visit(root, &location, &Base { uri: Rc::clone(&uri), draft, is_root: true })?;
            let mut resources = search.resources;
            // A document is also known by the URI that it was supplied under.
            if document > 0 && resources.iter().all(|resource: &Resource| resource.uri != uri) {
                let Some(first) = resources.first() else { unreachable!("every document is a resource") };
                resources.push(Resource {
                    location,
                    uri,
                    draft: first.draft,
                    anchors: first.anchors.clone(),
                    dynamic_anchors: first.dynamic_anchors.clone(),
                    is_recursive_anchor: first.is_recursive_anchor,
                });
            }
            documents.by_pointer.push(HashMap::new());
            for resource in resources {
                documents.add(resource);
            }
        }
        Ok(documents)
    }

    fn add(&mut self, resource: Resource) {
        let number = self.resources.len();
        self.by_uri.entry(Rc::clone(&resource.uri)).or_insert(number);
        let Location { document, pointer } = &resource.location;
        self.by_pointer[*document].insert(pointer.clone(), number);
        for name in &resource.dynamic_anchors {
            *self.dynamic_anchors.entry(name.clone()).or_default() += 1;
        }
        self.recursive_anchors += usize::from(resource.is_recursive_anchor);
        self.resources.push(resource);
    }

    /// The value at a location.
    pub(crate) fn get(&self, location: &Location) -> Option<&Json> {
        let mut value = &self.roots[location.document];
        for token in location.pointer.split('/').skip(1) {
            value = value.step(&token.replace("~1", "/").replace("~0", "~"))?;
        }
        Some(value)
    }

    /// The draft of the resource that a location belongs to.
    pub(crate) fn draft(&self, location: &Location) -> Draft {
        self.resource(location).draft
    }

    fn resource(&self, location: &Location) -> &Resource {
        &self.resources[self.resource_number(location)]
    }

    /// The index of the resource that a location belongs to.
    pub(crate) fn resource_number(&self, location: &Location) -> usize {
        let Location { document, pointer } = location;
        let known = &self.by_pointer[*document];
        let mut around = pointer.as_str();
        loop {
            if let Some(&number) = known.get(around) {
                return number;
            }
            let Some(end) = around.rfind('/') else { unreachable!("every document is a resource") };
            around = if known.len() == 1 { "" } else { &around[..end] };
        }
    }

    /// The target of a `$ref` at `from`.
    ///
    /// # Errors
    /// The reason why it has no target.
    pub(crate) fn resolve(&self, from: &Location, reference: &str) -> Result<Location, String> {
        let base = self.resource(from);
        let (address, fragment) = split_fragment(reference);
        let resource = if address.is_empty() {
            base
        } else {
            let uri = resolve(&base.uri, address);
            let found = self.by_uri.get(uri.as_str()).map(|&number| &self.resources[number]);
            found.ok_or_else(|| format!("{uri} is no document that was supplied"))?
        };
        let fragment = percent_decode(fragment);
        let Location { document, pointer } = &resource.location;
        let pointer = if fragment.is_empty() || fragment.starts_with('/') {
            format!("{pointer}{fragment}")
        } else {
            let anchor = resource.anchors.get(&fragment);
            anchor.ok_or_else(|| format!("there is no anchor {fragment:?}"))?.clone()
        };
        let location = Location { document: *document, pointer };
        match self.get(&location) {
            Some(_) => Ok(location),
            None => Err(format!("there is nothing at {fragment:?}")),
        }
    }

    /// The target of a `$dynamicRef` at `from`, if it does not depend on the dynamic scope.
    ///
    /// # Errors
    /// The reason why it has no target, or no single one.
    pub(crate) fn resolve_dynamic(&self, from: &Location, reference: &str) -> Result<Location, String> {
        let location = self.resolve(from, reference)?;
        let name = percent_decode(split_fragment(reference).1);
        let target = self.resource(&location);
        let others = self.dynamic_anchors.get(&name).copied().unwrap_or_default();
        if target.dynamic_anchors.contains(&name) && others > 1 {
            return Err(format!(
                "{name:?} is a dynamic anchor of {others} schemas, and which is meant depends on the way"
            ));
        }
        Ok(location)
    }

    /// [`Self::resolve_dynamic`] for `$recursiveRef`, which is always `#`.
    ///
    /// # Errors
    /// The reason why it has no single target.
    pub(crate) fn resolve_recursive(&self, from: &Location) -> Result<Location, String> {
        let target = self.resource(from);
        let others = self.recursive_anchors;
        if target.is_recursive_anchor && others > 1 {
            return Err(format!(
                "there are {others} recursive anchors, and which is meant depends on the way"
            ));
        }
        Ok(target.location.clone())
    }
}

/// The draft that `$schema` names, if it is a known one.
fn draft_of(schema: &Json) -> Option<Draft> {
    let Some(Json::String(uri)) = schema.get("$schema") else { return None };
    let uri = uri.trim_end_matches('#');
    let name = uri.strip_prefix("http://").or_else(|| uri.strip_prefix("https://"))?;
    match name {
        "json-schema.org/draft-04/schema" => Some(Draft::Draft4),
        "json-schema.org/draft-06/schema" => Some(Draft::Draft6),
        "json-schema.org/draft-07/schema" => Some(Draft::Draft7),
        "json-schema.org/draft/2019-09/schema" => Some(Draft::Draft201909),
        "json-schema.org/draft/2020-12/schema" => Some(Draft::Draft202012),
        _ => None,
    }
}

/// The resource around a subschema.
struct Base {
    uri: Rc<str>,
    draft: Draft,
    is_root: bool,
}

/// The walk that finds the resources of one document.
struct Search<'a> {
    resources: Vec<Resource>,
    /// The last resource of each URI.
    latest: HashMap<Rc<str>, usize>,
    budget: &'a Budget,
}

impl Search<'_> {
    fn visit(&mut self, value: &Json, location: &Location, base: &Base) -> Result<(), CompileError> {
        self.budget.charge_steps(READING, STEPS_PER_SCHEMA + location.steps())?;
        let mut draft = base.draft;
        if let Some(own) = draft_of(value) {
            draft = own;
        }
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
                draft,
                anchors: HashMap::new(),
                dynamic_anchors: HashSet::default(),
                is_recursive_anchor: value.get("$recursiveAnchor") == Some(&Json::Bool(true)),
            });
        }
        let base = Base { uri, draft, is_root: false };
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
