//! Small real files: built and compiled as any other.

use gobo_artifact::Vocabulary;
use gobo_compiler::CompileOptions;
use gobo_types::{Budget, CompileLimits, Constraint, TokenId};
use gobo_vocab::TokenTable;
use gobo_worker::{compile_lowered, lower_over};

/// The file of a vocabulary, and of the index of a constraint over it. Tokens are bytes and whether they are special.
pub(crate) fn build(tokens: &[(&[u8], bool)], constraint: &Constraint) -> (Vec<u8>, Vec<u8>) {
    let mut table = TokenTable::new();
    for (id, &(bytes, special)) in tokens.iter().enumerate() {
        table.insert(TokenId::try_from(id).unwrap(), bytes.to_vec(), special).unwrap();
    }
    let vocabulary_file = table.build().unwrap();
    let vocabulary = Vocabulary::from_bytes(&vocabulary_file).unwrap();
    vocabulary.verify().unwrap();
    let budget = Budget::new(CompileLimits::default());
    let lowered = lower_over(&vocabulary, constraint, &budget).unwrap();
    let options = CompileOptions::default();
    let compiled = compile_lowered(&vocabulary, constraint, &lowered, &options, &budget).unwrap();
    (vocabulary_file.to_vec(), compiled.bytes().to_vec())
}
