//! The grammar of a constraint and those that it imports, and what names mean in each.
//!
//! Each grammar is a module with names of its own: a definition's names are looked up where it stands. A document of the request wins
//! over a built-in grammar of its name. Imports form no circle.

mod uses;

use std::collections::{BTreeSet, HashMap};

use gobo_automata::Grammar;
use gobo_types::{Budget, CompileError, Lexer, RefusalKind, Report, Table, dense_id};

use super::library;
use super::parse::parse;
use super::scan::refuse_at;
use super::syntax::{At, Attributes, Body, Definition, Home, Import, Mode, Statement, is_terminal};
use crate::bnf::{MAX_GRAMMAR_BYTES, shown};
use crate::edges::TokenSets;
use crate::near::near;
use crate::written::{SchemaReader, Written};

const PHASE: &str = "reading the grammar";

/// Most grammars that import one another in a row.
const NEST_LIMIT: usize = 64;

dense_id! {
    /// A grammar.
    pub(super) struct ModuleId;

    /// A definition of some grammar.
    pub(super) struct DefinitionId;
}

/// The grammar of the constraint.
pub(super) const MAIN: ModuleId = ModuleId(0);

/// What a name means in a module.
#[derive(Debug, Clone)]
enum Meaning {
    Own(DefinitionId),
    Imported(ModuleId, String),
    /// Declared: its texts come from elsewhere.
    Declared,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Definition(DefinitionId),
    Declared,
}

/// A rule or a terminal.
#[derive(Debug)]
pub(super) struct Defined {
    pub(super) name: String,
    pub(super) module: ModuleId,
    pub(super) at: usize,
    pub(super) parameters: Vec<String>,
    /// Whether it has a number for a parameter.
    pub(super) is_parametric: bool,
    pub(super) attributes: Attributes,
    pub(super) priority: i64,
    /// What it stands for, any of these, each with the module where its names are looked up.
    pub(super) bodies: Vec<(ModuleId, Body)>,
}

struct Module<'a> {
    /// Its name as a document; empty for the constraint's.
    document: String,
    text: &'a str,
    names: HashMap<String, Meaning>,
    /// Those that import from it.
    importers: BTreeSet<ModuleId>,
    is_built_in: bool,
}

/// All grammars of a constraint.
pub(super) struct Modules<'a> {
    written: &'a Written<'a>,
    all: Table<ModuleId, Module<'a>>,
    /// By name.
    known: HashMap<String, ModuleId>,
    pub(super) definitions: Table<DefinitionId, Defined>,
    /// What the constraint's own grammar ignores.
    pub(super) ignored: Vec<Body>,
    /// Whether ignored text may stand before the first terminal, where the grammar says so.
    pub(super) initial_skip: Option<bool>,
    /// What is written in the constraint's own grammar and means nothing here.
    pub(super) remarks: BTreeSet<&'static str>,
    /// The token sets that edges read.
    pub(super) tokens: TokenSets<'a>,
    schemas: Option<&'a SchemaReader<'a>>,
}

/// The name of the document that an import of a grammar names.
pub(super) fn path_of(import: &Import, document: &str) -> String {
    let folder = document.rsplit_once('/').map(|(folder, _)| folder).filter(|_| import.is_relative);
    let names = folder.into_iter().chain(import.path.iter().map(String::as_str));
    names.collect::<Vec<_>>().join("/")
}

impl<'a> Modules<'a> {
    /// Reads the grammar of a constraint and all that it imports.
    ///
    /// # Errors
    /// A refusal naming the construct, its line and its column; [`CompileError::OverBudget`].
    pub(super) fn load(
        written: &'a Written<'a>,
        schemas: Option<&'a SchemaReader<'a>>,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let mut modules = Self {
            written,
            all: Table::new(),
            known: HashMap::new(),
            definitions: Table::new(),
            ignored: Vec::new(),
            initial_skip: None,
            remarks: BTreeSet::new(),
            tokens: TokenSets::of(Some(written.classes)),
            schemas,
        };
        modules.add(String::new(), (written.grammar, false), &mut Vec::new(), budget)?;
        modules.check_names()?;
        Ok(modules)
    }

    /// Whose grammars these are: llguidance's where texts are split as it does.
    pub(super) fn home(&self) -> Home {
        if self.written.lexer == Some(Lexer::Longest) { Home::Llguidance } else { Home::Lark }
    }

    /// The grammar of a JSON Schema that stands at a place.
    ///
    /// # Errors
    /// A refusal of the schema; [`CompileError::OverBudget`].
    pub(super) fn schema(
        &self,
        module: ModuleId,
        at: usize,
        text: &str,
        budget: &Budget,
    ) -> Result<(Grammar, Report), CompileError> {
        let Some(schemas) = self.schemas else {
            return Err(self.refuse(
                RefusalKind::Unsupported,
                module,
                at,
                "%json: no schemas can be read here",
            ));
        };
        schemas(text, budget).map_err(|error| match error {
            CompileError::Refused(refusal) => {
                let reason = format!("the schema at {}: {}", refusal.place, refusal.reason);
                self.refuse(refusal.kind, module, at, reason).advising(refusal.help.to_string())
            }
            other => other,
        })
    }

    /// A refusal at a place of a module.
    pub(super) fn refuse(
        &self,
        kind: RefusalKind,
        module: ModuleId,
        at: usize,
        reason: impl Into<String>,
    ) -> CompileError {
        let module = &self.all[module];
        refuse_at((module.document.as_str(), module.text), kind, at, reason)
    }

    pub(super) fn malformed(&self, module: ModuleId, at: usize, reason: impl Into<String>) -> CompileError {
        self.refuse(RefusalKind::Malformed, module, at, reason)
    }

    /// Reads a grammar; `open` are the names of those that import it.
    fn add(
        &mut self,
        document: String,
        (text, is_built_in): (&'a str, bool),
        open: &mut Vec<String>,
        budget: &Budget,
    ) -> Result<ModuleId, CompileError> {
        if text.len() > MAX_GRAMMAR_BYTES {
            let reason = format!("the grammar has {} bytes, the limit is {MAX_GRAMMAR_BYTES}", text.len());
            let place = if document.is_empty() { "the whole grammar" } else { document.as_str() };
            return Err(CompileError::refuse(RefusalKind::Unsupported, place, reason).spanning(0..0));
        }
        let statements = parse(&document, text, self.home(), &mut self.tokens, budget)?;
        let (names, importers) = (HashMap::new(), BTreeSet::new());
        let id = self.all.push(Module { document: document.clone(), text, names, importers, is_built_in });
        self.known.insert(document.clone(), id);
        open.push(document);
        // Imports come before what overrides them, wherever they stand.
        for statement in &statements {
            if let Statement::Import(import) = statement {
                self.import(id, import, open, budget)?;
            }
        }
        let (new, changes): (Vec<_>, Vec<_>) = statements
            .into_iter()
            .partition(|statement| !matches!(statement, Statement::Define(Mode::Override | Mode::Extend, _)));
        for statement in new.into_iter().chain(changes) {
            budget.charge_steps(PHASE, 1)?;
            match statement {
                Statement::Define(Mode::New, definition) => self.define(id, definition)?,
                Statement::Define(mode, definition) => self.change(id, mode, definition)?,
                Statement::Declare(name) => self.name(id, &name, Meaning::Declared)?,
                Statement::Ignore(body) if id == MAIN => self.ignored.push(body),
                Statement::InitialSkip(skips) if id == MAIN => self.initial_skip = Some(skips),
                // Imports were read above; what an imported grammar ignores is its own.
                Statement::Import(_) | Statement::Ignore(_) | Statement::InitialSkip(_) => {}
            }
        }
        open.pop();
        Ok(id)
    }

    fn import(
        &mut self,
        id: ModuleId,
        import: &Import,
        open: &mut Vec<String>,
        budget: &Budget,
    ) -> Result<(), CompileError> {
        let path = path_of(import, &self.all[id].document);
        if open.contains(&path) {
            return Err(self.malformed(
                id,
                import.at,
                format!("the imports of {} are circular", shown(&path)),
            ));
        }
        let module = match self.known.get(&path) {
            Some(&module) => module,
            None => {
                if open.len() >= NEST_LIMIT {
                    let reason = format!("imports nest deeper than {NEST_LIMIT}");
                    return Err(self.refuse(RefusalKind::Unsupported, id, import.at, reason));
                }
                let documents = self.written.documents;
                let document =
                    documents.binary_search_by(|document| document.name.as_str().cmp(path.as_str()));
                let text = match document {
                    Ok(at) => Some((documents[at].text.as_str(), false)),
                    Err(_) if import.is_relative => None,
                    Err(_) => library::text(&path, self.written.lexer).map(|text| (text, true)),
                };
                let Some(text) = text else {
                    let known = documents.iter().map(|document| document.name.as_str()).chain(library::NAMES);
                    let help = match near(&path, known) {
                        Some(near) => format!("Did you mean {near}?"),
                        None => "Give it as a document, or name its folder with --import-dir.".to_owned(),
                    };
                    let reason = format!("there is no grammar {} to import", shown(&path));
                    return Err(self.malformed(id, import.at, reason).advising(help));
                };
                self.add(path.clone(), text, open, budget)?
            }
        };
        self.all[module].importers.insert(id);
        let of = &self.all[module].names;
        if !of.contains_key(&import.name) {
            let mut names: Vec<&str> = of.keys().map(String::as_str).collect();
            names.sort_unstable();
            let help = near(&import.name, names.into_iter());
            let help = help.map_or_else(String::new, |near| format!("Did you mean {near}?"));
            let reason = format!("{} has no {}", shown(&path), shown(&import.name));
            return Err(self.malformed(id, import.at, reason).advising(help));
        }
        let name = At { what: import.alias.clone(), at: import.at };
        self.name(id, &name, Meaning::Imported(module, import.name.clone()))
    }

    fn name(&mut self, id: ModuleId, name: &At<String>, meaning: Meaning) -> Result<(), CompileError> {
        let names = &mut self.all[id].names;
        match names.get(&name.what) {
            None => {
                names.insert(name.what.clone(), meaning);
                Ok(())
            }
            // The same import twice is one.
            Some(Meaning::Imported(module, known)) if matches!(&meaning, Meaning::Imported(other, name) if other == module && name == known) => {
                Ok(())
            }
            Some(_) => {
                let reason = format!("{} is defined twice", shown(&name.what));
                Err(self
                    .malformed(id, name.at, reason)
                    .advising("Write %override or %extend in front of it."))
            }
        }
    }

    fn define(&mut self, id: ModuleId, definition: Definition) -> Result<(), CompileError> {
        let Definition { name, parameters, is_parametric, attributes, remarks, priority, body } = definition;
        if id == MAIN {
            self.remarks.extend(remarks);
        }
        let (at, bodies) = (name.at, vec![(id, body)]);
        let defined = Defined {
            name: name.what.clone(),
            module: id,
            at,
            parameters,
            is_parametric,
            attributes,
            priority,
            bodies,
        };
        let definition = self.definitions.push(defined);
        self.name(id, &name, Meaning::Own(definition))
    }

    /// `%override` and `%extend`, which hold wherever the definition is used.
    fn change(&mut self, id: ModuleId, mode: Mode, definition: Definition) -> Result<(), CompileError> {
        let Definition { name, parameters, is_parametric, attributes, remarks: _, priority, body } =
            definition;
        let Some(Found::Definition(changed)) = self.find(id, &name.what) else {
            let reason = format!("{} is not defined, so nothing is changed", shown(&name.what));
            return Err(self.malformed(id, name.at, reason));
        };
        let of = self.definitions[changed].module;
        if of != id && self.all[of].importers.iter().any(|importer| *importer != id) {
            let reason = format!("{} is imported by several grammars, and changed in one", shown(&name.what));
            return Err(self.refuse(RefusalKind::Unsupported, id, name.at, reason));
        }
        let Defined { parameters: before, is_parametric: was_parametric, .. } = &self.definitions[changed];
        if *before != parameters || *was_parametric != is_parametric {
            let reason = format!("{} has other parameters where it is defined", shown(&name.what));
            return Err(self.malformed(id, name.at, reason));
        }
        if mode == Mode::Extend && (attributes.are_set() || self.definitions[changed].attributes.are_set()) {
            let reason = format!("{} has attributes, and cannot be extended", shown(&name.what));
            return Err(self.malformed(id, name.at, reason));
        }
        let bodies = &mut self.definitions[changed].bodies;
        if mode == Mode::Override {
            bodies.clear();
        }
        bodies.push((id, body));
        if mode == Mode::Override {
            self.definitions[changed].priority = priority;
            self.definitions[changed].attributes = attributes;
        }
        Ok(())
    }

    /// What a name stands for in a module.
    pub(super) fn find(&self, mut module: ModuleId, name: &str) -> Option<Found> {
        let mut name = name;
        loop {
            match self.all[module].names.get(name)? {
                Meaning::Own(definition) => return Some(Found::Definition(*definition)),
                Meaning::Declared => return Some(Found::Declared),
                Meaning::Imported(from, known) => {
                    module = *from;
                    name = known.as_str();
                }
            }
        }
    }

    /// [`Self::find`], where the name has to be there.
    pub(super) fn found(&self, module: ModuleId, name: &str, at: usize) -> Result<Found, CompileError> {
        self.find(module, name).ok_or_else(|| {
            let what = if is_terminal(name) { "terminal" } else { "rule" };
            let mut names: Vec<&str> = self.all[module].names.keys().map(String::as_str).collect();
            names.sort_unstable();
            let help = match near(name, names.into_iter()) {
                Some(near) => format!("Did you mean {near}?"),
                None => "Define it, or write it in double quotes if it is a text to match.".to_owned(),
            };
            let reason = format!("the {what} {} is not defined", shown(name));
            let error = self.malformed(module, at, reason);
            let error = if module == MAIN { error.spanning(at..at + name.len()) } else { error };
            error.advising(help)
        })
    }

    /// The name of a module that is built in.
    pub(super) fn built_in(&self, module: ModuleId) -> Option<&str> {
        let of = &self.all[module];
        of.is_built_in.then_some(of.document.as_str())
    }

    /// The name of a definition in Lark: imported ones that have no name in the constraint's own grammar are called after their
    /// grammar. O(names).
    pub(super) fn lark_name(&self, definition: DefinitionId) -> String {
        let defined = &self.definitions[definition];
        if defined.module == MAIN {
            return defined.name.clone();
        }
        let mut names: Vec<&String> = (self.all[MAIN].names.keys())
            .filter(|name| self.find(MAIN, name) == Some(Found::Definition(definition)))
            .collect();
        names.sort_unstable();
        if let Some(name) = names.first() {
            return (*name).clone();
        }
        let path = self.all[defined.module].document.replace('/', "__");
        match defined.name.strip_prefix('_') {
            Some(bare) => format!("_{path}__{bare}"),
            None => format!("{path}__{}", defined.name),
        }
    }

    /// The rules of the constraint's own grammar, in the order of their names in it.
    pub(super) fn own_rules(&self) -> impl Iterator<Item = (DefinitionId, &Defined)> {
        self.definitions
            .enumerate()
            .filter(|(_, defined)| defined.module == MAIN && !is_terminal(&defined.name))
    }
}
