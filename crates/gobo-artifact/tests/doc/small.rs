// Small files in memory, for the examples of the documentation, which include this file.

use std::sync::Arc;

use gobo_artifact::{Binding, Index, Matcher, TokenId, Vocabulary};
use gobo_compiler::{CompileOptions, compile};
use gobo_worker::lower;
use gobo_types::{Budget, CompileLimits, Constraint};
use gobo_vocab::TokenTable;

/// The files of a vocabulary of these tokens and one EOS after them, and of the index of a constraint over it.
pub fn files(tokens: &[&str], constraint: &Constraint) -> (Vec<u8>, Vec<u8>) {
    let mut table = TokenTable::new();
    for (id, token) in (0..).zip(tokens) {
        table.insert(id, token.as_bytes().to_vec(), false).unwrap();
    }
    table.insert(TokenId::try_from(tokens.len()).unwrap(), b"<eos>".to_vec(), true).unwrap();
    let file = table.build().unwrap();
    let vocabulary = Vocabulary::from_bytes(&file).unwrap();
    let budget = Budget::new(CompileLimits::default());
    let lowered = lower(constraint, &budget).unwrap();
    let compiled = compile(&vocabulary, constraint, &lowered, &CompileOptions::default(), &budget).unwrap();
    (file.to_vec(), compiled.bytes().to_vec())
}

/// The same, opened, with a binding of as many logits as ids.
pub fn open(tokens: &[&str], constraint: &Constraint) -> (Arc<Index>, Arc<Vocabulary>, Binding) {
    let (vocabulary, index) = files(tokens, constraint);
    let vocabulary = Arc::new(Vocabulary::from_bytes(&vocabulary).unwrap());
    let eos = TokenId::try_from(tokens.len()).unwrap();
    (Arc::new(Index::from_bytes(&index).unwrap()), vocabulary, Binding::new(vec![eos], eos + 1))
}

/// Ids 0 `a`, 1 `b`, 2 `ab`, 3 EOS; texts of `(ab)*`.
pub fn pattern() -> (Arc<Index>, Arc<Vocabulary>, Binding) {
    open(&["a", "b", "ab"], &Constraint::regex("(ab)*"))
}

/// Ids 0 `[`, 1 `]`, 2 EOS; texts of brackets within brackets.
pub fn brackets() -> (Arc<Index>, Arc<Vocabulary>, Binding) {
    open(&["[", "]"], &Constraint::gbnf(r#"root ::= "[" root? "]""#, "root"))
}

/// A matcher at the empty text of [`pattern`].
pub fn matcher() -> Matcher {
    let (index, vocabulary, binding) = pattern();
    Matcher::new(index, vocabulary, &binding).unwrap()
}
