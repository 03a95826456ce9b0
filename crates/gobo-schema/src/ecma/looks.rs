//! The look-aheads of a pattern, each as the language of the texts that may follow where it holds.

use gobo_automata::{CharState, Language};
use gobo_types::{Table, dense_id};

use super::context::Context;
use super::syntax::{Look, LookId, Node};

dense_id! {
    /// The language of a look-ahead after a context: an index in [`Looks`].
    pub(super) struct LookLanguage;
}

/// The look-aheads of a pattern as languages: the texts that may follow a position where they hold.
#[derive(Debug, Default)]
pub(super) struct Looks {
    languages: Table<LookLanguage, Language>,
    /// The language of each look-ahead after each context.
    of: Table<LookId, [LookLanguage; 3]>,
    /// The state of each language from which every text is accepted.
    everything: Table<LookLanguage, Option<CharState>>,
    /// See [`Look::needs_context`].
    needs_context: Table<LookId, bool>,
}

impl Looks {
    /// Adds a look-ahead: after those inside it, with its language after each context.
    pub(super) fn push(&mut self, look: &Look, languages: [LookLanguage; 3]) {
        self.of.push(languages);
        self.needs_context.push(look.needs_context);
    }

    /// Adds a language.
    pub(super) fn push_language(&mut self, language: Language) -> LookLanguage {
        self.everything.push(language.everything());
        self.languages.push(language)
    }

    /// Whether a node depends on what precedes the position where it is matched.
    pub(super) fn needs_context(&self, node: &Node) -> bool {
        node.needs_context(|look| self.needs_context[look])
    }

    /// The texts that may follow a position after `context` where the look-ahead holds.
    pub(super) fn language(&self, look: LookId, context: Context) -> &Language {
        self.get(self.index_of(look, context))
    }

    /// The index of the language of a look-ahead after `context`.
    pub(super) fn index_of(&self, look: LookId, context: Context) -> LookLanguage {
        self.of[look][context as usize]
    }

    pub(super) fn get(&self, language: LookLanguage) -> &Language {
        &self.languages[language]
    }

    /// All languages, in the order of their indices.
    pub(super) fn all(&self) -> &[Language] {
        &self.languages
    }

    /// The state of a language from which every text is accepted, if it has one.
    pub(super) fn everything(&self, language: LookLanguage) -> Option<CharState> {
        self.everything[language]
    }
}
