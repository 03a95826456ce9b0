//! What the table asks of a contestant, one line of JSON each way.
//!
//! Each contestant answers in a process of its own, so that one that hangs, eats the memory or crashes ends its own
//! measurement and no other.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::cases::Case;

/// A constraint and the tokens of texts that it accepts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sequence {
    pub case: Case,
    pub texts: Vec<Vec<u32>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Ask {
    /// Compile up to `runs` times or until `spend_ms` is spent. Answers `compile_ns` and facts.
    Compile { case: Case, runs: usize, spend_ms: u64 },
    /// Walk the texts, once from cold and `rounds` times warm. Answers `cold_fill_ns`, `fill_ns`, `advance_ns` (for a
    /// token, one sample a text), and the fact `allocations_per_step`.
    Walk { sequence: Sequence, rounds: usize },
    /// Write all masks along the texts to a file, one after the other. Answers nothing.
    Masks { sequence: Sequence, to: PathBuf },
    /// Decode whole texts, whatever becomes of them. Answers `accepted`: 1 for each text whose tokens were all permitted and
    /// that may end, else 0.
    Accept { case: Case, texts: Vec<Vec<u32>> },
    /// Compile once and count. Answers the fact `peak_bytes`.
    Memory { case: Case },
    /// gobo: fills beside copies of the same rows. Answers `fill_ns` and `copy_ns`.
    FillBesideCopy { sequences: Vec<Sequence>, rounds: usize },
    /// gobo: what the masks along the texts are made of, one sample for each mask, text after text: `rows` united,
    /// `configurations`, `depth` of the stack. Answers the facts `class` (0 regular, 1 deterministic, 2 ambiguous) and
    /// `without_next_token`: masks that lack the text's next token.
    Stacks { sequence: Sequence },
    /// gobo: 16 KiB copied between two hot buffers. Answers `hot_copy_ns`.
    HotCopy { samples: usize },
    /// gobo: JSON texts with the members of their objects in the order of the schema. Answers `texts`, spaced as they came.
    InOrder { case: Case, texts: Vec<String> },
    /// gobo: one compile in a process that has compiled other constraints and kept their rows. Answers `after_others_ns`.
    AfterOthers { case: Case },
    /// gobo: a file opened up to its first mask, beside a bare map and copy. Answers `open_ns` and `map_and_copy_ns`.
    Open { case: Case, samples: usize },
    /// gobo: a library by one thread and by two. Answers `one_thread_ms` and `two_threads_ms`.
    Threads { cases: Vec<Case>, rounds: usize },
}

impl Ask {
    /// What is asked, in a word for a person.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Compile { .. } => "compile",
            Self::Walk { .. } => "walk",
            Self::Masks { .. } => "masks",
            Self::Accept { .. } => "accept",
            Self::Memory { .. } => "memory",
            Self::FillBesideCopy { .. } => "fill beside copy",
            Self::Stacks { .. } => "stacks",
            Self::HotCopy { .. } => "hot copy",
            Self::InOrder { .. } => "in order",
            Self::AfterOthers { .. } => "after others",
            Self::Open { .. } => "open",
            Self::Threads { .. } => "threads",
        }
    }
}

/// Samples and counts by name, and texts, or why there are none.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Answer {
    pub samples: BTreeMap<String, Vec<f64>>,
    pub facts: BTreeMap<String, f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
    pub refused: Option<String>,
}
