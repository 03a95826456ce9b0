//! Vocabularies with a token for each letter of token edges: those that rows of automata with such edges are computed over.
//!
//! The letters have ids behind all others. Tokens with a byte of a letter are left out: no text has such bytes, so none of them is ever
//! text. The table depends on the vocabulary alone, and making its file takes as long as an import, so the last ones are kept for
//! the compiles that follow.

use std::sync::{Arc, LazyLock};

use gobo_artifact::Vocabulary;
use gobo_automata::{Lowered, is_letter_byte, token_letters};
use gobo_compiler::{CompileOptions, Compiled};
use gobo_types::{Budget, CompileError, Constraint, Recent, RefusalKind, TokenId, VocabularyDigest};
use gobo_vocab::TokenTable;

/// Most vocabularies that are kept in a process, and their bytes. The file of 151,665 tokens has 13 MiB.
const MAX_KEPT: usize = 2;
const MAX_KEPT_BYTES: usize = 128 << 20;

/// Compiles what was lowered over the vocabulary ([`lower_over`](crate::lower_over)).
///
/// # Errors
/// As for [`compile_constraint`](crate::compile_constraint), without a diagnosis.
pub fn compile_lowered(
    vocabulary: &Vocabulary,
    constraint: &Constraint,
    lowered: &Lowered,
    options: &CompileOptions<'_>,
    budget: &Budget,
) -> Result<Compiled, CompileError> {
    let with_letters = lowered.tokens.as_ref().map(|_| lettered(vocabulary)).transpose()?;
    let options = CompileOptions { lettered: with_letters.as_deref(), ..*options };
    gobo_compiler::compile(vocabulary, constraint, lowered, &options, budget)
}

/// The vocabulary with letters, made or kept.
///
/// # Errors
/// A refusal where it has no room for more ids; [`CompileError::Failed`] where its file is damaged.
fn lettered(vocabulary: &Vocabulary) -> Result<Arc<Vocabulary>, CompileError> {
    static KEPT: LazyLock<Recent<VocabularyDigest, Arc<Vocabulary>>> =
        LazyLock::new(|| Recent::new(MAX_KEPT, MAX_KEPT_BYTES));
    let digest = vocabulary.digest();
    let slot = KEPT.slot(&digest);
    if let Some(known) = KEPT.get(slot, |of| *of == digest) {
        return Ok(known);
    }
    let made = Arc::new(make(vocabulary)?);
    KEPT.keep(slot, digest, made.file_bytes().len(), made.clone());
    Ok(made)
}

fn make(vocabulary: &Vocabulary) -> Result<Vocabulary, CompileError> {
    let mut table = TokenTable::with_capacity(vocabulary.len() as usize);
    let no_room = |error: gobo_vocab::VocabError| {
        let reason = format!("token edges need a vocabulary with room for more ids: {error}");
        CompileError::refuse(RefusalKind::Unsupported, "the whole grammar", reason)
    };
    for id in 0..vocabulary.len() {
        let bytes = vocabulary.bytes(id);
        let is_text = !bytes.is_empty() && !vocabulary.is_special(id);
        if is_text && !bytes.iter().any(|byte| is_letter_byte(*byte)) {
            table.insert(id, bytes.to_vec(), false).map_err(no_room)?;
        }
    }
    for (number, letter) in (0..).zip(token_letters()) {
        let id: TokenId = vocabulary.len() + number;
        table.insert(id, letter, false).map_err(no_room)?;
    }
    let file = table.build().map_err(no_room)?;
    let failed = |error: gobo_artifact::ArtifactError| CompileError::Failed(error.to_string().into());
    Vocabulary::from_bytes(&file).map_err(failed)
}
