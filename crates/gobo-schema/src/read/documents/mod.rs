//! Documents: the schema, those supplied with it, and the resolution of references between them.
//!
//! A walk over each document finds its schema resources (JSON Schema 2020-12, Core, section 4.3.5): the whole document and
//! every subschema with `$id`, each with its URI, its draft and its anchors. A reference is resolved against the URI of the
//! innermost resource around it (section 8.2.3); its fragment is a JSON pointer or an anchor. No document is fetched.
//! A `$dynamicRef` is followed if its target does not depend on the way ([`scopes`]). The meta-schemas of the standard are
//! there if something refers to them.
//!
//! Cost: a step for each byte of the texts; for each subschema and keyword a constant, and the length of its pointer.

mod dialects;
mod resource;
mod scopes;
mod search;

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, Draft, RefusalKind, SchemaOptions};

use crate::phase::READING;
use crate::read::location::Location;
use crate::read::meta_schemas::meta_schema;
use crate::read::parse::parse_json;
use crate::read::uri::{percent_decode, resolve, split_fragment};
use crate::read::value::Json;
use crate::read::vocabulary::{Dialect, STEPS_PER_SCHEMA};
use dialects::Dialects;
pub(crate) use dialects::Fault;
use resource::Resource;
use search::{find_references, find_resources};

/// The schema, and the documents that it may refer to.
#[derive(Debug)]
pub(crate) struct Documents {
    roots: Vec<Json>,
    /// `[documents]`: their URIs, as they were supplied.
    uris: Vec<Rc<str>>,
    resources: Vec<Resource>,
    /// The first resource of each URI.
    by_uri: HashMap<Rc<str>, usize>,
    /// `[documents]`: the last resource at each pointer.
    by_pointer: Vec<HashMap<String, usize>>,
    /// `[resources]`: those that each refers to, and those that stand in it.
    edges: Vec<Vec<usize>>,
    /// The resources with a dynamic anchor of each name.
    dynamic_anchors: HashMap<String, Anchored>,
    /// The resources with a recursive anchor.
    recursive_anchors: Anchored,
}

/// The resources with an anchor.
#[derive(Debug, Default)]
struct Anchored {
    resources: Vec<usize>,
    /// The one that every way to any of them passes first.
    outermost: Option<usize>,
}

impl Documents {
    /// Reads the schema and the supplied documents.
    ///
    /// # Errors
    /// A refusal of a text that is no JSON; [`CompileError::OverBudget`].
    pub(crate) fn read(schema: &str, options: &SchemaOptions, budget: &Budget) -> Result<Self, CompileError> {
        // One step for each byte.
        budget.charge_steps(READING, schema.len() as u64)?;
        let mut documents = Self {
            roots: vec![parse_json(schema)?],
            uris: vec![Rc::from("")],
            resources: Vec::new(),
            by_uri: HashMap::new(),
            by_pointer: Vec::new(),
            edges: Vec::new(),
            dynamic_anchors: HashMap::new(),
            recursive_anchors: Anchored::default(),
        };
        for document in &options.documents {
            budget.charge_steps(READING, document.document.len() as u64)?;
            let root = parse_json(&document.document).map_err(|error| match error {
                CompileError::Refused(mut refusal) => {
                    refusal.place = format!("document {:?}, {}", document.uri, refusal.place).into();
                    refusal.span = None;
                    CompileError::Refused(refusal)
                }
                other => other,
            })?;
            documents.roots.push(root);
            documents.uris.push(split_fragment(&document.uri).0.into());
        }
        let default = Dialect::by_default(options);
        let dialects = Dialects::new(&documents.uris, &documents.roots, options);
        for document in 0..documents.roots.len() {
            documents.add_resources(document, default, &dialects, budget)?;
        }
        let mut references = Vec::new();
        let mut document = 0;
        while document < documents.roots.len() {
            let has_parts = documents.by_pointer[document].len() > 1;
            let base = |location: &Location| {
                let from = documents.resource_number(location);
                (from, &*documents.resources[from].uri)
            };
            let found = find_references(&documents.roots[document], document, has_parts, base, budget)?;
            for (from, uri) in found {
                documents.add_meta_schema(&uri, &dialects, budget)?;
                references.push((from, uri));
            }
            document += 1;
        }
        documents.connect(&references, budget)?;
        Ok(documents)
    }

    /// Finds the resources of a document.
    fn add_resources(
        &mut self,
        document: usize,
        default: Dialect,
        dialects: &Dialects,
        budget: &Budget,
    ) -> Result<(), CompileError> {
        let uri = Rc::clone(&self.uris[document]);
        let resources = find_resources((&self.roots, document), &uri, default, dialects, budget)?;
        self.by_pointer.push(HashMap::new());
        // A document is also known by the URI that it was supplied under.
        if document > 0 {
            self.by_uri.entry(uri).or_insert(self.resources.len());
        }
        for resource in resources {
            self.add(resource);
        }
        Ok(())
    }

    /// Adds the meta-schema at a URI, if it is one of the standard and no document has that URI.
    fn add_meta_schema(
        &mut self,
        uri: &str,
        dialects: &Dialects,
        budget: &Budget,
    ) -> Result<(), CompileError> {
        if self.by_uri.contains_key(uri) {
            return Ok(());
        }
        let Some((own_uri, text)) = meta_schema(uri) else { return Ok(()) };
        if let Some(&known) = self.by_uri.get(own_uri.as_str()) {
            self.by_uri.insert(uri.into(), known);
            return Ok(());
        }
        budget.charge_steps(READING, text.len() as u64)?;
        let number = self.resources.len();
        self.roots.push(parse_json(text)?);
        self.uris.push(own_uri.into());
        self.add_resources(self.roots.len() - 1, Dialect::of(Draft::Draft202012), dialects, budget)?;
        self.by_uri.insert(uri.into(), number);
        Ok(())
    }

    fn add(&mut self, resource: Resource) {
        let number = self.resources.len();
        self.by_uri.entry(Rc::clone(&resource.uri)).or_insert(number);
        let Location { document, pointer } = &resource.location;
        let before = self.by_pointer[*document].insert(pointer.clone(), number);
        debug_assert!(before.is_none(), "a subschema is one resource");
        for name in &resource.dynamic_anchors {
            self.dynamic_anchors.entry(name.clone()).or_default().resources.push(number);
        }
        if resource.is_recursive_anchor {
            self.recursive_anchors.resources.push(number);
        }
        self.resources.push(resource);
    }

    /// Makes the graph of resources, and finds which of those with an anchor is the outermost.
    fn connect(&mut self, references: &[(usize, String)], budget: &Budget) -> Result<(), CompileError> {
        self.edges = vec![Vec::new(); self.resources.len()];
        for (from, uri) in references {
            if let Some(&to) = self.by_uri.get(uri.as_str()) {
                self.edges[*from].push(to);
            }
        }
        for inner in 0..self.resources.len() {
            let Location { document, pointer } = &self.resources[inner].location;
            budget.charge_steps(READING, STEPS_PER_SCHEMA + pointer.len() as u64)?;
            if let Some(end) = pointer.rfind('/') {
                let around = Location { document: *document, pointer: pointer[..end].to_owned() };
                let outer = self.resource_number(&around);
                self.edges[outer].push(inner);
            }
        }
        for edges in &mut self.edges {
            edges.sort_unstable();
            edges.dedup();
        }
        let mut dynamic = std::mem::take(&mut self.dynamic_anchors);
        let mut recursive = std::mem::take(&mut self.recursive_anchors);
        for anchored in dynamic.values_mut().chain([&mut recursive]) {
            anchored.outermost = self.outermost(&anchored.resources, budget)?;
        }
        (self.dynamic_anchors, self.recursive_anchors) = (dynamic, recursive);
        Ok(())
    }

    /// The value at a location.
    pub(crate) fn get(&self, location: &Location) -> Option<&Json> {
        let mut value = &self.roots[location.document];
        for token in location.pointer.split('/').skip(1) {
            value = value.step(&token.replace("~1", "/").replace("~0", "~"))?;
        }
        Some(value)
    }

    /// The location as reports and refusals show it: the pointer, in another document than the schema after its URI.
    pub(crate) fn shown(&self, location: &Location) -> String {
        match location.document {
            0 => location.pointer.clone(),
            document => format!("{}#{}", self.uris[document], location.pointer),
        }
    }

    /// The location without the steps at its end that lead to no value of the document. Locations of listed values and of
    /// unions have such steps.
    pub(crate) fn nearest(&self, location: &Location) -> Location {
        let mut around = location.clone();
        while self.get(&around).is_none() {
            let end = around.pointer.rfind('/').unwrap_or(0);
            around.pointer.truncate(end);
        }
        around
    }

    /// The nearest location as a refusal shows it.
    pub(crate) fn place(&self, location: &Location) -> String {
        self.shown(&self.nearest(location))
    }

    /// The refusal of a keyword of the subschema at a location.
    pub(crate) fn refuse(
        &self,
        kind: RefusalKind,
        location: &Location,
        keyword: &str,
        reason: impl Into<String>,
    ) -> CompileError {
        CompileError::refuse(kind, self.place(&location.at(&[keyword])), reason)
    }

    /// The dialect of the resource that a location belongs to.
    ///
    /// # Errors
    /// A refusal if the resource is of no dialect that is supported.
    pub(crate) fn dialect(&self, location: &Location) -> Result<Dialect, CompileError> {
        let resource = self.resource(location);
        match &resource.fault {
            None => Ok(resource.dialect),
            Some(Fault { reason, help }) => {
                let place = &resource.location;
                Err(self.refuse(RefusalKind::Unsupported, place, "$schema", reason).advising(*help))
            }
        }
    }

    /// The draft of the schema itself.
    pub(crate) fn draft(&self) -> Draft {
        self.resources[0].dialect.draft
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
    pub(crate) fn resolve(&self, from: &Location, reference: &str) -> Result<Location, Fault> {
        let base = self.resource(from);
        let (address, fragment) = split_fragment(reference);
        let resource = if address.is_empty() {
            base
        } else {
            let uri = resolve(&base.uri, address);
            let found = self.by_uri.get(uri.as_str()).map(|&number| &self.resources[number]);
            found.ok_or_else(|| Fault {
                reason: format!("{uri} is no document that was supplied"),
                help: "Supply the document with the schema (--documents FILE, the field documents); nothing is fetched.",
            })?
        };
        let fragment = percent_decode(fragment);
        let Location { document, pointer } = &resource.location;
        let pointer = if fragment.is_empty() || fragment.starts_with('/') {
            format!("{pointer}{fragment}")
        } else {
            let anchor = resource.anchors.get(&fragment);
            let nothing = || Fault {
                reason: format!("there is no anchor {fragment:?}"),
                help: "Write the JSON pointer of the schema that is meant, as in #/$defs/name, or give it that anchor.",
            };
            anchor.ok_or_else(nothing)?.clone()
        };
        let location = Location { document: *document, pointer };
        match self.get(&location) {
            Some(_) => Ok(location),
            None => Err(Fault {
                reason: format!("there is nothing at {fragment:?}"),
                help: "Write the JSON pointer of a schema that is there, as in #/$defs/name.",
            }),
        }
    }

    /// The target of a `$dynamicRef` at `from`, if it does not depend on the dynamic scope.
    ///
    /// # Errors
    /// The reason why it has no target, or no single one.
    pub(crate) fn resolve_dynamic(&self, from: &Location, reference: &str) -> Result<Location, Fault> {
        let location = self.resolve(from, reference)?;
        let name = percent_decode(split_fragment(reference).1);
        if !self.resource(&location).dynamic_anchors.contains(&name) {
            return Ok(location);
        }
        let anchored = &self.dynamic_anchors[&name];
        let Some(outermost) = anchored.outermost else {
            let schemas = anchored.resources.len();
            return Err(Fault {
                reason: format!(
                    "{name:?} is a dynamic anchor of {schemas} schemas, and which is meant depends on the way"
                ),
                help: "Write $ref with the address of the schema that is meant.",
            });
        };
        let resource = &self.resources[outermost];
        let pointer = resource.anchors[&name].clone();
        Ok(Location { document: resource.location.document, pointer })
    }

    /// [`Self::resolve_dynamic`] for `$recursiveRef`, which is always `#`.
    ///
    /// # Errors
    /// The reason why it has no single target.
    pub(crate) fn resolve_recursive(&self, from: &Location) -> Result<Location, Fault> {
        let target = self.resource(from);
        if !target.is_recursive_anchor {
            return Ok(target.location.clone());
        }
        let Anchored { resources, outermost } = &self.recursive_anchors;
        let outermost = outermost.ok_or_else(|| Fault {
            reason: format!(
                "there are {} recursive anchors, and which is meant depends on the way",
                resources.len()
            ),
            help: "Write $ref with the address of the schema that is meant.",
        })?;
        Ok(self.resources[outermost].location.clone())
    }
}
