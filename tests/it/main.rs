//! Tests that go through several crates: constraint to automaton to index file to masks, judged by the oracles.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    reason = "all of this binary is test code, also what stands outside of test functions"
)]

mod ambiguity;
mod ambiguity_counted;
mod blanks;
mod canonical;
mod cases;
mod classes;
mod data;
mod difference;
mod documents;
mod drafts;
mod exits;
mod explained;
mod fuzz;
mod history;
mod house;
mod json_nesting;
mod judge;
mod layers;
mod lexers;
mod lowering;
mod matcher_steps;
mod numbers;
mod open_rules;
mod oracle_agrees;
mod packages;
mod patterns;
mod prefixes;
mod proportion;
mod python;
mod records;
mod recursion;
mod recursion_data;
mod recursion_larger;
mod recursion_random;
mod recursion_self_embedding;
mod regressions;
mod schema;
mod schema_data;
mod schema_mail;
mod schema_notes;
mod schema_options;
mod schema_pydantic;
mod schema_random;
mod schema_traps;
mod schema_yaml;
mod structural_tags;
mod subject;
mod token_edges;
mod written;
mod written_masks;
