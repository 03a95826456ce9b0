//! The structures that C fills in and reads. Each begins with its size, so that a later version can have more fields.

use std::ffi::c_char;

/// The version of this interface. It is raised when a program that was built with an older header would break;
/// `gobo_abi_version()` says what the library has.
pub const GOBO_ABI_VERSION: u32 = 1;

/// How a model uses a vocabulary, and what a matcher remembers. Zero in a field, and NULL in eos, stand for the defaults:
/// `gobo_binding binding = { sizeof(gobo_binding) };` has all of them.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct gobo_binding {
    /// `sizeof(gobo_binding)`.
    pub size: usize,
    /// The ids that end a text, in any order; allowed exactly where the text so far is complete. NULL for those of the
    /// vocabulary; any other pointer with an `eos_count` of 0 for none.
    pub eos: *const u32,
    /// How many they are.
    pub eos_count: usize,
    /// Number of logits of the model, at least the length of the vocabulary. 0 for that of the vocabulary.
    pub logits_width: u32,
    /// How many tokens can be taken back, at 4 bytes each, up to 1,048,576. 0 for 256.
    pub max_rollback: u32,
    /// Most frames on the stack of a nested text, at 32 bytes each, up to 1,048,576. 0 for 65,536.
    pub max_stack_depth: u32,
}

/// What a vocabulary is.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct gobo_vocabulary_facts {
    /// `sizeof(gobo_vocabulary_facts)`, set before the call.
    pub size: usize,
    /// Its digest: 64 hexadecimal digits.
    pub digest: *const c_char,
    /// The ids that end a text by default, ascending: those of the name it was found by, else none.
    pub eos: *const u32,
    /// How many they are.
    pub eos_count: usize,
    /// Highest id + 1.
    pub length: u32,
    /// Number of logits by default: that of the name it was found by, else the length.
    pub logits_width: u32,
}

/// What an index is. `gobo_index_report` says what it enforces.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct gobo_index_facts {
    /// `sizeof(gobo_index_facts)`, set before the call.
    pub size: usize,
    /// Its key: 64 hexadecimal digits.
    pub key: *const c_char,
    /// The digest of its vocabulary: 64 hexadecimal digits.
    pub vocabulary: *const c_char,
    /// The kind of its constraint: regex, choice, grammar, json or schema.
    pub constraint_kind: *const c_char,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// Number of states of its automaton.
    pub states: u32,
    /// Number of distinct rows of allowed ids.
    pub rows: u32,
}
