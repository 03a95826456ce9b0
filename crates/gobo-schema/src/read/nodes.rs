//! The node table: interns subschemas by location, and equal small ones by their canonical text.
//!
//! Nodes are made as references and keywords reach them, and their keywords are read on demand, so a subschema that no
//! value can reach costs nothing and is never refused. Nodes of the table that are in no document stand for values of
//! `enum` and `const`, and for unions that lowering forms.

use std::rc::Rc;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};
use gobo_automata::Language;
use gobo_types::{Budget, CompileError, DenseId as _, Draft, RefusalKind, SchemaOptions};

use crate::advice::UNEVALUATED;
use crate::formats::Parts;
use crate::phase::{LOWERING, READING};
use crate::read::content::write_schema;
use crate::read::documents::Documents;
use crate::read::entries::Entries;
use crate::read::location::Location;
use crate::read::node::{FALSE, Keyword, NodeId, TRUE, TextId};
use crate::read::value::{Json, ValueSet};
use crate::read::vocabulary::STEPS_PER_SCHEMA;

/// Maximum length of a chain of references for one value.
const MAX_CHAIN: usize = 256;

/// Bytes of a node, its location apart.
const NODE_BYTES: u64 = 128;

/// A node of the table.
#[derive(Debug)]
struct Node {
    location: Location,
    /// `None` until they are read.
    keywords: Option<Rc<[Keyword]>>,
}

/// The node table: one node for each subschema that is reached.
#[derive(Debug)]
pub(crate) struct Nodes<'a> {
    pub(crate) documents: Rc<Documents>,
    pub(crate) options: &'a SchemaOptions,
    /// Whether lengths of strings may be counted beside the states.
    pub(crate) counts_lengths: bool,
    budget: &'a Budget,
    all: Vec<Node>,
    known: HashMap<Location, NodeId>,
    /// Of values of `enum` and `const`: by their schema, the keyword, the number of the value and the token of the part. No reference leads to them.
    known_constants: HashMap<(NodeId, &'static str, usize, String), NodeId>,
    /// Unions of subschemas.
    known_unions: HashMap<Box<[NodeId]>, NodeId>,
    /// Small subschemas, by resource and canonical text.
    known_contents: HashMap<(usize, String), NodeId>,
    /// Locations that share the node of an equal subschema elsewhere, with the length of its canonical text.
    pub(super) copies: Vec<(Location, NodeId, usize)>,
    texts: Vec<Rc<Language>>,
    /// Those that have parts whose lengths are counted.
    parts: HashMap<TextId, Arc<Parts>>,
    /// By keyword and text.
    known_texts: HashMap<(&'static str, String), TextId>,
    /// What became of the keywords that were read.
    pub(crate) entries: Entries,
}

impl<'a> Nodes<'a> {
    /// # Errors
    /// A refusal of a text that is no JSON; [`CompileError::OverBudget`].
    pub(crate) fn read(
        schema: &str,
        options: &'a SchemaOptions,
        budget: &'a Budget,
    ) -> Result<Self, CompileError> {
        let documents = Rc::new(Documents::read(schema, options, budget)?);
        let constant = || Node {
            location: Location { document: 0, pointer: String::new() },
            keywords: Some(Rc::new([])),
        };
        Ok(Self {
            documents,
            options,
            counts_lengths: true,
            budget,
            all: vec![constant(), constant()],
            known: HashMap::new(),
            known_constants: HashMap::new(),
            known_unions: HashMap::new(),
            known_contents: HashMap::new(),
            copies: Vec::new(),
            texts: Vec::new(),
            parts: HashMap::new(),
            known_texts: HashMap::new(),
            entries: Entries::default(),
        })
    }

    /// The whole schema.
    ///
    /// # Errors
    /// A refusal if it is no schema.
    pub(crate) fn root(&mut self) -> Result<NodeId, CompileError> {
        self.node(Location { document: 0, pointer: String::new() })
    }

    pub(crate) fn text(&self, text: TextId) -> &Rc<Language> {
        &self.texts[text.index()]
    }

    /// A set of strings in parts whose lengths are counted, if it has any.
    pub(crate) fn parts(&self, text: TextId) -> Option<&Arc<Parts>> {
        self.parts.get(&text)
    }

    /// Gives a set of strings its parts.
    pub(crate) fn set_parts(&mut self, text: TextId, parts: Arc<Parts>) {
        self.parts.insert(text, parts);
    }

    /// The location of a subschema.
    pub(crate) fn location(&self, node: NodeId) -> &Location {
        &self.all[node.index()].location
    }

    /// The location of a subschema as refusals and reports show it.
    pub(crate) fn place(&self, node: NodeId) -> String {
        self.documents.place(self.location(node))
    }

    /// Counts steps of reading the schema.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn charge(&self, steps: u64) -> Result<(), CompileError> {
        self.budget.charge_steps(LOWERING, steps)
    }

    /// Counts bytes of tables of reading the schema.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn charge_bytes(&self, bytes: u64) -> Result<(), CompileError> {
        self.budget.charge_bytes(READING, bytes)
    }

    /// The budget that is charged.
    pub(crate) fn budget(&self) -> &'a Budget {
        self.budget
    }

    /// Refuses chains of references for one value that are longer than [`MAX_CHAIN`]: they are followed by recursion.
    ///
    /// # Errors
    /// A refusal that names the last subschema of the chain.
    pub(crate) fn check_chain(&self, node: NodeId, length: usize) -> Result<(), CompileError> {
        if length <= MAX_CHAIN {
            return Ok(());
        }
        let pointer = self.place(node);
        let reason = format!("more than {MAX_CHAIN} subschemas refer to each other for the same value");
        Err(CompileError::refuse(RefusalKind::Unsupported, pointer, reason))
    }

    /// The refusal of a subschema that refers to itself for the same value.
    pub(crate) fn circular(&self, node: NodeId) -> CompileError {
        let pointer = self.place(node);
        CompileError::refuse(
            RefusalKind::Malformed,
            pointer,
            "it refers to itself without any step into a value",
        )
        .advising("Let it refer to itself from inside properties or items, or leave the reference out.")
    }

    /// The node of the union of subschemas.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn any_of(&mut self, of: &[NodeId]) -> Result<NodeId, CompileError> {
        self.charge(STEPS_PER_SCHEMA + 8 * of.len() as u64)?;
        if let Some(&known) = self.known_unions.get(of) {
            return Ok(known);
        }
        let names: Vec<String> = of.iter().map(NodeId::to_string).collect();
        let location = self.all[of[0].index()].location.at(&["any of", &names.join(" ")]);
        let id = NodeId::new(self.all.len());
        self.known_unions.insert(of.into(), id);
        self.all.push(Node { location, keywords: Some(Rc::new([Keyword::AnyOf(of.into())])) });
        Ok(id)
    }

    /// The refusal of a keyword of a subschema.
    pub(crate) fn unsupported(&self, node: NodeId, keyword: &str, reason: &str) -> CompileError {
        self.documents.refuse(RefusalKind::Unsupported, self.location(node), keyword, reason)
    }

    /// The draft of the schema itself.
    pub(crate) fn draft(&self) -> Draft {
        self.documents.draft()
    }

    /// The refusal of a keyword that depends on what was evaluated of a known value.
    pub(crate) fn cannot_evaluate(&self, node: NodeId, keyword: &str) -> CompileError {
        let pointer = self.place(node);
        CompileError::refuse(
            RefusalKind::Unsupported,
            pointer,
            format!("{keyword} beside listed objects or arrays"),
        )
        .advising(UNEVALUATED)
    }

    /// The node that allows exactly one value: the one at `token` inside value `at` of `values`, the `enum` or the `const` of `node`.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn constant(
        &mut self,
        node: NodeId,
        (values, at): (&ValueSet, usize),
        token: &str,
        value: &Json,
    ) -> Result<NodeId, CompileError> {
        self.charge(STEPS_PER_SCHEMA + self.location(node).steps() + token.len() as u64 / 4)?;
        let key = (node, values.keyword, at, token.to_owned());
        if let Some(&known) = self.known_constants.get(&key) {
            return Ok(known);
        }
        let location = self.all[node.index()].location.at(&["enum", &at.to_string(), token]);
        self.budget.charge_bytes(READING, NODE_BYTES + 2 * location.pointer.len() as u64)?;
        let id = NodeId::new(self.all.len());
        let keywords: Rc<[Keyword]> =
            Rc::new([Keyword::Values(Rc::new(ValueSet::new("const", Rc::new([value.clone()]))))]);
        self.known_constants.insert(key, id);
        self.all.push(Node { location, keywords: Some(keywords) });
        Ok(id)
    }

    /// The node of the subschema at a location.
    ///
    /// # Errors
    /// A refusal if there is none.
    pub(crate) fn node(&mut self, location: Location) -> Result<NodeId, CompileError> {
        self.charge(location.steps())?;
        let documents = Rc::clone(&self.documents);
        let schema = documents.get(&location);
        self.node_of(location, schema)
    }

    /// [`Self::node`] for a caller that has the value at the location.
    ///
    /// # Errors
    /// A refusal if it is no schema; [`CompileError::OverBudget`].
    pub(crate) fn node_of(
        &mut self,
        location: Location,
        schema: Option<&Json>,
    ) -> Result<NodeId, CompileError> {
        self.charge(STEPS_PER_SCHEMA + location.steps())?;
        let schema = match schema {
            Some(Json::Bool(true)) => return Ok(TRUE),
            Some(Json::Bool(false)) => return Ok(FALSE),
            Some(Json::Object(properties)) if properties.is_empty() => return Ok(TRUE),
            Some(schema @ Json::Object(_)) => schema,
            other => {
                let found = other.map_or("nothing", Json::kind);
                let reason = format!("a schema is an object or a boolean, not {found}");
                let place = self.documents.place(&location);
                return Err(CompileError::refuse(RefusalKind::Malformed, place, reason));
            }
        };
        if let Some(&known) = self.known.get(&location) {
            return Ok(known);
        }
        let id = NodeId::new(self.all.len());
        self.budget.charge_bytes(READING, NODE_BYTES + 2 * location.pointer.len() as u64)?;
        // Equal small schemas share a node, so that literals of one are seen to be literals of the other.
        let mut content = String::new();
        let is_small = write_schema(schema, &mut content, self.budget)?;
        self.charge(content.len() as u64 / 4)?;
        if is_small {
            let resource = self.documents.resource_number(&location);
            if let Some(&same) = self.known_contents.get(&(resource, content.clone())) {
                self.known.insert(location.clone(), same);
                self.copies.push((location, same, content.len()));
                return Ok(same);
            }
            self.known_contents.insert((resource, content), id);
        }
        self.known.insert(location.clone(), id);
        self.all.push(Node { location, keywords: None });
        Ok(id)
    }

    /// The keywords of a subschema, if they were read.
    pub(crate) fn known_keywords(&self, node: NodeId) -> Option<Rc<[Keyword]>> {
        self.all[node.index()].keywords.clone()
    }

    /// Stores the keywords of a subschema.
    pub(crate) fn set_keywords(&mut self, node: NodeId, keywords: Rc<[Keyword]>) {
        self.all[node.index()].keywords = Some(keywords);
    }

    /// The set of strings of a pattern or format, built once; `None` if `build` finds none.
    pub(crate) fn intern_text(
        &mut self,
        keyword: &'static str,
        text: &str,
        build: impl FnOnce(&Budget) -> Result<Option<Language>, CompileError>,
    ) -> Result<Option<TextId>, CompileError> {
        self.charge(text.len() as u64)?;
        if let Some(&known) = self.known_texts.get(&(keyword, text.to_owned())) {
            return Ok(Some(known));
        }
        let Some(language) = build(self.budget)? else { return Ok(None) };
        self.texts.push(Rc::new(language));
        let id = TextId::new(self.texts.len() - 1);
        self.known_texts.insert((keyword, text.to_owned()), id);
        Ok(Some(id))
    }
}
