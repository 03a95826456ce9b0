//! Operands of a comparison, opened: the automaton of a constraint or of an index.
use std::path::{Path, PathBuf};

use anyhow::bail;
use gobo_artifact::{Index, IndexClass};
use gobo_automata::{ByteAutomaton, Dfa, Lowered, StateId};
use gobo_types::{
    Budget, CompileError, Constraint, DEFAULT_START, DenseId as _, MatchMode, RefusalKind, SchemaOptions,
    TextStart,
};
use gobo_worker::{diagnose, lower};

use crate::args::{Global, Operand};
use crate::diagnostics::Written;
use crate::inputs::{self, Given, index_file, open_index, schema_file};

/// The meaning of an operand.
pub(crate) enum Opened {
    /// The automaton of a constraint, before it meets any vocabulary.
    Constraint { kind: &'static str, dfa: Box<Dfa> },
    /// A verified index.
    Index(Box<Index>),
}

/// Why an operand has no automaton, and its text where it is a constraint.
pub(crate) struct Verdict {
    pub(crate) error: CompileError,
    pub(crate) written: Option<Written>,
}

impl Operand {
    /// Lowers the constraint, or opens and verifies the index. The inner error is the verdict on the constraint, with its text.
    pub(crate) fn open(
        &self,
        text_start: TextStart,
        options: &SchemaOptions,
        global: &Global,
    ) -> anyhow::Result<Result<Opened, Verdict>> {
        if let Some(Given { constraint, written }) = self.constraint(options)? {
            let kind = constraint.kind();
            let budget = Budget::new(global.limits());
            let constraint = constraint.starting(text_start);
            let lowered = lower(&constraint, &budget)
                .map_err(|error| diagnose(&constraint, None, None, &budget, error));
            let opened = lowered.and_then(|Lowered { dfa, .. }| match dfa.expand_calls(&budget)? {
                Some(dfa) => Ok(Opened::Constraint { kind, dfa: dfa.into() }),
                None => Err(uncomparable(kind, "a rule of it calls itself")),
            });
            return Ok(opened.map_err(|error| Verdict { error, written: Some(written) }));
        }
        let index = open_index(&self.file(global)?)?;
        // Damaged tables would give a wrong answer.
        index.verify()?;
        if index.class() != IndexClass::Regular {
            let why = "it is an index with calls; give the constraint itself";
            return Ok(Err(Verdict { error: uncomparable(index.constraint_kind(), why), written: None }));
        }
        Ok(Ok(Opened::Index(Box::new(index))))
    }

    /// The constraint after `regex:`, `search:`, `choice:`, `grammar:`, `schema:` or `json:`.
    fn constraint(&self, options: &SchemaOptions) -> anyhow::Result<Option<Given>> {
        Ok(match self.as_str().split_once(':') {
            Some(("regex", pattern)) => Some(inputs::regex(pattern, MatchMode::Full)),
            Some(("search", pattern)) => Some(inputs::regex(pattern, MatchMode::Search)),
            Some(("choice", file)) => Some(inputs::choice_file(Path::new(file))?),
            Some(("grammar", file)) => Some(inputs::grammar_file(Path::new(file), DEFAULT_START)?),
            Some(("schema", file)) => Some(schema_file(Path::new(file), options.clone())?),
            Some(("json", whitespace)) => {
                let constraint = Constraint::json_with(whitespace.parse()?, options.numbers);
                Some(Given { constraint, written: Written::option("json", whitespace) })
            }
            _ => None,
        })
    }

    fn file(&self, global: &Global) -> anyhow::Result<PathBuf> {
        let path = index_file(Path::new(self.as_str()), global)?;
        if !path.exists() {
            bail!(
                "{:?} is no constraint, no index key and no file\n\
                 hint: a constraint is regex:PATTERN, search:PATTERN, choice:FILE, grammar:FILE or schema:FILE",
                self.as_str()
            );
        }
        Ok(path)
    }
}

/// Whether two sets of nested texts are equal cannot be decided in general.
fn uncomparable(kind: &str, why: &str) -> CompileError {
    CompileError::refuse(
        RefusalKind::Unsupported,
        format!("the whole {kind}"),
        format!("{why}; only regular constraints can be compared"),
    )
    .advising(match kind {
        "schema" => {
            "Compare with --closed, where objects without additionalProperties hold any value, or with --max-depth N."
        }
        _ => "Compare constraints whose rules do not recur.",
    })
}

impl Opened {
    pub(crate) fn index(&self) -> Option<&Index> {
        match self {
            Self::Constraint { .. } => None,
            Self::Index(index) => Some(index),
        }
    }
}

impl ByteAutomaton for Opened {
    fn start(&self) -> StateId {
        match self {
            Self::Constraint { dfa, .. } => dfa.start,
            Self::Index(index) => StateId::from_number(index.start()),
        }
    }

    fn next(&self, state: StateId, byte: u8) -> StateId {
        match self {
            Self::Constraint { dfa, .. } => dfa.next(state, byte),
            Self::Index(index) => StateId::from_number(index.next_state(state.number(), byte)),
        }
    }

    fn is_accepting(&self, state: StateId) -> bool {
        match self {
            Self::Constraint { dfa, .. } => dfa.is_accepting(state),
            Self::Index(index) => index.is_complete(state.number()),
        }
    }

    fn class(&self, byte: u8) -> u8 {
        match self {
            Self::Constraint { dfa, .. } => dfa.class(byte),
            Self::Index(index) => index.byte_class(byte),
        }
    }
}
