//! The readers of all dialects behind one call.

use gobo_types::{Budget, CompileError, Dialect, RefusalKind};

use crate::ebnf;
use crate::gbnf;
use crate::lark;
use crate::outline::Outline;
use crate::written::{Form, Read, SchemaReader, Texts, Written};

/// Steps of a byte of grammar that is read.
const STEPS_PER_BYTE: u64 = 2;

impl Written<'_> {
    /// Reads it. Linear in the text, terminals apart, whose automata are built.
    ///
    /// # Errors
    /// A refusal naming the construct, its line and its column in characters, both from 1; [`CompileError::OverBudget`].
    ///
    /// ```
    /// use gobo_grammar::Written;
    /// use gobo_types::{Budget, CompileLimits, Dialect, Indentation, NamedClasses};
    ///
    /// let (dialect, grammar, indentation) = (Dialect::Ebnf, "root ::= .", Indentation::default());
    /// let (classes, documents) = (NamedClasses::NONE, &[]);
    /// let written = Written { dialect, grammar, start: "root", lexer: None, indentation, documents, classes };
    /// let read = written.read(&Budget::new(CompileLimits::default())).unwrap();
    /// assert_eq!(read.texts.rules().unwrap().rules.len(), 1);
    /// ```
    pub fn read(&self, budget: &Budget) -> Result<Read, CompileError> {
        self.read_with(None, budget)
    }

    /// [`Self::read`], where schemas may stand in the grammar (`%json` of llguidance).
    ///
    /// # Errors
    /// As [`Self::read`]; a refusal of a schema has the place of the schema in the grammar, and its own place in its reason.
    pub fn read_with(
        &self,
        schemas: Option<&SchemaReader<'_>>,
        budget: &Budget,
    ) -> Result<Read, CompileError> {
        self.read_as(Form::Smaller, schemas, budget)
    }

    /// [`Self::read`], by the states of its parser however small it is, where it is one of Lark's under a lexer that finds lexemes, without blocks of
    /// lines: what tests compare with its rules.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_by_states(&self, budget: &Budget) -> Result<Read, CompileError> {
        self.read_as(Form::States, None, budget)
    }

    fn read_as(
        &self,
        form: Form,
        schemas: Option<&SchemaReader<'_>>,
        budget: &Budget,
    ) -> Result<Read, CompileError> {
        let bytes =
            self.documents.iter().map(|document| document.text.len()).sum::<usize>() + self.grammar.len();
        budget.charge_steps("reading the grammar", bytes as u64 * STEPS_PER_BYTE)?;
        let of = |grammar| {
            let texts = Texts::Rules(grammar);
            Read { texts, is_indented: false, narrowed: Vec::new(), notes: Vec::new() }
        };
        match self.dialect {
            Dialect::Gbnf => self
                .without_lexemes()
                .and_then(|()| gbnf::gbnf(self.grammar, self.start, self.classes))
                .map(of),
            Dialect::Ebnf => self
                .without_lexemes()
                .and_then(|()| ebnf::ebnf(self.grammar, self.start, self.classes, budget))
                .map(of),
            Dialect::Lark => lark::lark(self, form, schemas, budget),
        }
    }

    /// Where its rules and counted repetitions stand; `None` if it has no grammar's form, or its dialect no outlines. Linear in the
    /// text.
    pub fn outline(&self) -> Option<Outline> {
        match self.dialect {
            Dialect::Gbnf => gbnf::outline(self.grammar),
            Dialect::Ebnf => ebnf::outline(self.grammar),
            Dialect::Lark => None,
        }
    }

    /// Refuses options of dialects with lexemes.
    fn without_lexemes(&self) -> Result<(), CompileError> {
        let name = self.dialect.name();
        if let Some(lexer) = self.lexer {
            let reason = format!(
                "a grammar in {name} has no lexemes: the lexer {} is of other dialects",
                lexer.name()
            );
            return Err(refuse(reason).advising("Leave the lexer out."));
        }
        if !self.documents.is_empty() {
            let reason = format!("a grammar in {name} imports nothing: there are documents beside it");
            return Err(refuse(reason).advising("Leave the documents out."));
        }
        Ok(())
    }
}

fn refuse(reason: String) -> CompileError {
    CompileError::refuse(RefusalKind::Malformed, "the whole grammar", reason).spanning(0..0)
}
