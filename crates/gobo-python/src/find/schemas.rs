//! The constraints of schemas by the texts that they were given as.
//!
//! An engine is handed the same few schemas with every request, each time in a new object. To compare a text costs a small part of
//! dropping its whitespace and hashing the rest. Everything here happens under the GIL, so that a fork finds no lock held.

use std::sync::{Arc, LazyLock};

use gobo_types::{Constraint, ConstraintDigest, Recent, SchemaOptions, TextStart};

/// Most texts that are remembered.
const MAX_TEXTS: usize = 512;

/// Most bytes of texts, as they were given and as constraints keep them.
const MAX_BYTES: usize = 8 << 20;

/// Longest text that is remembered. Others are read each time.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// All that decides about a constraint.
type Given = (Box<str>, SchemaOptions, TextStart);

/// A constraint and its digest.
pub(super) type Read = (Arc<Constraint>, ConstraintDigest);

static READ: LazyLock<Recent<Given, Read>> = LazyLock::new(|| Recent::new(MAX_TEXTS, MAX_BYTES));

/// Whether a schema is one of those that [`read`] is for: short, and without documents beside it.
pub(super) fn is_remembered(text: &str, options: &SchemaOptions) -> bool {
    text.len() <= MAX_TEXT_BYTES && options.documents.is_empty()
}

/// The constraint of a schema: that of an equal text under equal options, else read now. O(length).
pub(super) fn read(text: &str, options: SchemaOptions, text_start: TextStart) -> Read {
    let slot = READ.slot(text);
    let is_it =
        |(kept, under, starting): &Given| **kept == *text && *under == options && *starting == text_start;
    READ.get(slot, is_it).unwrap_or_else(|| {
        let constraint = Constraint::schema(text, options.clone()).starting(text_start);
        let bytes = text.len() + constraint.text_bytes();
        let digest = constraint.digest();
        let read = (Arc::new(constraint), digest);
        READ.keep(slot, (text.into(), options, text_start), bytes, read.clone());
        read
    })
}
