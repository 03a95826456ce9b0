//! A grammar before and after it is read.

use gobo_automata::{Dfa, Grammar, PushDown};
use gobo_types::{
    Budget, CompileError, Constraint, Dialect, GrammarDocument, Indentation, Lexer, NamedClasses, Report,
    ReportEntry, Source, TextStart,
};

/// A grammar as it is written, and its options.
#[derive(Debug, Clone, Copy)]
pub struct Written<'a> {
    /// How it is written.
    pub dialect: Dialect,
    /// Its text.
    pub grammar: &'a str,
    /// The name of the start rule.
    pub start: &'a str,
    /// How texts are split into lexemes.
    pub lexer: Option<Lexer>,
    /// How lines are indented, if it has tokens for that.
    pub indentation: Indentation,
    /// The grammars that it may import.
    pub documents: &'a [GrammarDocument],
    /// The classes of tokens that it may name.
    pub classes: &'a NamedClasses,
}

impl<'a> Written<'a> {
    /// That of a constraint; `None` if it is of another kind.
    pub fn of(constraint: &'a Constraint) -> Option<Self> {
        let classes = &constraint.token_classes;
        match &constraint.source {
            Source::Grammar { dialect, grammar, start, lexer, indentation, documents } => {
                let (dialect, lexer, indentation) = (*dialect, *lexer, *indentation);
                Some(Self { dialect, grammar, start, lexer, indentation, documents, classes })
            }
            _ => None,
        }
    }
}

/// What reads a JSON Schema that stands in a grammar: the grammar of its texts, and the report of what it enforces.
pub type SchemaReader<'a> = dyn Fn(&str, &Budget) -> Result<(Grammar, Report), CompileError> + 'a;

/// What texts under Lark's lexers become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Rules, unless they are too many.
    Smaller,
    /// The states of the parser, wherever that is possible.
    States,
}

/// The texts of a grammar.
#[derive(Debug)]
pub enum Texts {
    /// By rules.
    Rules(Grammar),
    /// By the states of its parser: the rules of a large grammar under Lark's lexers, each by its place and its ends, would be too many.
    States(PushDown),
}

impl Texts {
    /// Their automaton over bytes.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn dfa(&self, text_start: TextStart, budget: &Budget) -> Result<Dfa, CompileError> {
        match self {
            Self::Rules(grammar) => Dfa::grammar(grammar, text_start, budget),
            Self::States(push_down) => Dfa::push_down(push_down, text_start, budget),
        }
    }

    /// The rules, if they are what it is.
    pub fn rules(self) -> Option<Grammar> {
        match self {
            Self::Rules(grammar) => Some(grammar),
            Self::States(_) => None,
        }
    }
}

/// A grammar that was read.
#[derive(Debug)]
pub struct Read {
    /// Its texts.
    pub texts: Texts,
    /// Whether it has tokens for how lines are indented.
    pub is_indented: bool,
    /// Texts of its home that it leaves out.
    pub narrowed: Vec<ReportEntry>,
    /// What means nothing here.
    pub notes: Vec<ReportEntry>,
}
